"""What steps read from outside is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from study_steps import Add

from isoglot.studies.inputs import Input


def test_what_a_step_reads_from_outside_is_looked_for(
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
