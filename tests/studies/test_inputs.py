"""What steps read from outside is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from study_steps import Add

from isoglot.studies.inputs import Input, outside


def test_inputs_that_a_step_reads_from_outside_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part-1.txt").touch()
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.delenv("NOWHERE", raising=False)
    found = Add(log="${HERE}/part-*.txt", number=1, to="/studies/data/a-1/x", label="/no/path").files(
        "/studies/"
    )
    assert found == [Input("${HERE}/part-*.txt", there=True)]
    assert not Input.of("${HERE}/part-2.txt").there
    assert not Input.of("${NOWHERE}/part-1.txt").there
    assert Input.of("bert-base/cased").there, "the hub's names cannot be checked from here"


def test_a_name_with_brackets_is_a_file_before_it_is_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("one")
    bracketed = Input.of(f"{tmp_path}/a[1].txt")
    assert bracketed.there
    (tmp_path / "a1.txt").write_text("another")
    assert bracketed.content == Input.of(f"{tmp_path}/a[[]1].txt").content


def test_inputs_in_the_folder_of_the_studies_alone_come_from_steps() -> None:
    inside = ["/studies/data/a-1/x", "train=/studies/data/a-1/x", "/studies//x"]
    elsewhere = ["/mnt/studies/data/x", "${DATA}/studies/x", "../studies/x"]
    assert [entry.path for entry in outside([*inside, *elsewhere], "/studies/")] == elsewhere
