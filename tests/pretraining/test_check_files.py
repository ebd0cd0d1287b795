"""The files of a recipe's streams are checked before any is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from recipe_world import complaints

from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source
from isoglot.pretraining.check import load_recipe


def test_a_missing_file_is_told_beside_other_mistakes_of_its_stream(tiny_recipe: Path) -> None:
    told = complaints(tiny_recipe, "streams.bitext.path=nowhere.tsv", "streams.bitext.encode={max_lenght: 4}")
    assert "nowhere.tsv: no such file" in told and "max_lenght" in told


def test_a_prepared_corpus_keeps_its_filters(tiny_recipe: Path, tmp_path: Path) -> None:
    raw = load_recipe(tiny_recipe).streams["bitext"].inputs[0].path
    source = Source(path=raw, source_language="en", target_language="xx")
    prepare([source], tmp_path / "made", options=PrepareOptions(duplicates="pair"))
    path = f"streams.bitext.path={tmp_path / 'made'}"
    load_recipe(tiny_recipe, [path, "streams.bitext.duplicates=pair"])
    assert "was prepared with ()" in complaints(tiny_recipe, path, "streams.bitext.held_out_flags=[xnli]")
    assert "holds a prepared bitext corpus" in complaints(tiny_recipe, path, "streams.bitext.kind=aligned")
    assert "was prepared with en-xx" in complaints(tiny_recipe, path, "streams.bitext.target_language=de")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "runs/aligned",
            "runs/aligned: no such file or folder; make it with `isoglot align BITEXT --format corpus",
        ),
        ("aligned", "aligned: no such file or folder; make it with"),
    ],
)
def test_an_aligned_folder_that_is_missing_is_missing(tiny_recipe: Path, path: str, told: str) -> None:
    found = complaints(tiny_recipe, f"streams.bitext={{kind: aligned, path: {path}}}")
    assert f"streams.bitext.path: {told}" in found
    assert "language" not in found


def test_a_missing_file_in_a_folder_is_no_data_set_of_the_hub(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    assert "data/train: no such file or folder" in complaints(tiny_recipe, "streams.bitext.path=data/train")
