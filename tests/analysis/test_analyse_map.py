"""Maps of words: what is written is what the report reads."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isoglot.analysis import analyse_map as analyse_map_module
from isoglot.analysis.analyse import Job
from isoglot.analysis.analyse_map import analyse_map
from isoglot.analysis.options import MapRequest, Projection
from isoglot.core.errors import ConfigurationError
from isoglot.reports.figure_files import EmbeddingMap
from isoglot.reports.figure_files import read_figure as figure
from isoglot.testing import tiny_aligned, tiny_lexicon, tiny_tokenizer


@pytest.mark.parametrize("layer", [None, 2])
def test_map_has_a_panel_each_checkpoint(world: Path, tmp_path: Path, layer: int | None) -> None:
    request = MapRequest(
        corpus=[str(world / "aligned.jsonl")], languages=("en", "xx"), count=6, layer=layer, distinct=True,
        projection=Projection(method="tsne" if layer is None else "pca"),
    )  # fmt: skip
    (path,) = analyse_map(Job([world / "before", world / "after"], out=tmp_path), request)
    found = figure(path)
    assert isinstance(found, EmbeddingMap)
    assert [panel.title for panel in found.panels] == ["before", "after"]
    lexicon = dict(zip(tiny_lexicon()["source"], tiny_lexicon()["target"], strict=True))
    for panel in found.panels:
        assert len(panel.pairs) == 6
        words = [[panel.points[i].word for i in pair] for pair in panel.pairs]
        assert all(lexicon[source] == target for source, target in words)
        assert not {"the", "a", "every", "this", "."} & {source for source, _ in words}
        assert {point.language for point in panel.points} == {"en", "xx"}
    assert found.panels[0].points != found.panels[1].points


@pytest.mark.parametrize("labels", [(), ("a", "a")])
def test_map_refuses_a_checkpoint_or_label_twice(
    tmp_path: Path, world: Path, labels: tuple[str, ...]
) -> None:
    checkpoints = [world / "before", world / "after"] if labels else [world / "after"] * 2
    with pytest.raises(ConfigurationError, match="give each once"):
        _ = Job(checkpoints, out=tmp_path, labels=labels).subjects


def test_map_reads_its_corpus_row_by_row(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Row(dict[str, Any]):
        __hash__ = object.__hash__  # type: ignore[assignment]

    alive: weakref.WeakSet[Row] = weakref.WeakSet()
    most = []

    def rows(*_: object, **__: object) -> Iterator[dict[str, Any]]:
        for row in tiny_aligned():
            alive.add(one := Row(row))
            most.append(len(alive))
            yield one

    monkeypatch.setattr(analyse_map_module, "corpus_rows", rows)
    for layer in (None, 1):
        request = MapRequest(corpus=["aligned"], projection=Projection(method="pca"), layer=layer)
        analyse_map(Job([world / "after"], out=tmp_path), request)
    assert len(most) > 2 * len(tiny_aligned())
    assert max(most) <= 3
    request = MapRequest(corpus=["aligned"], projection=Projection(method="pca"), layer=9)
    with pytest.raises(ConfigurationError, match=r"`layer`.*: got 9"):
        analyse_map(Job([world / "after"], out=tmp_path), request)


def test_stop_words_of_each_kind(world: Path, tmp_path: Path) -> None:
    own = tmp_path / "stop.txt"
    own.write_text("\ufeffThe\nriver\n", encoding="utf-8")
    notes = {}
    for wanted in ("frequent:3", "none", str(own), "english"):
        request = MapRequest(
            corpus=[str(world / "aligned.jsonl")], languages=("en", "xx"), stop_words=wanted, count=60,
            projection=Projection(method="pca"),
        )  # fmt: skip
        (path,) = analyse_map(
            Job([world / "after"], out=tmp_path / f"map {wanted.rpartition('/')[2]}"), request
        )
        found = figure(path)
        notes[wanted] = (found.note, {p.word for p in found.panels[0].points})
    assert "the" in notes["none"][1]
    assert "the" not in notes[str(own)][1] | notes["english"][1]
    assert "river" not in notes[str(own)][1]
    assert "river" in notes["english"][1]
    assert "3 most frequent" in notes["frequent:3"][0]
    for wanted, message in (
        ("nowhere.txt", "a file of one word per line"),
        ("english", "does not fit a xx-yy corpus"),
    ):
        request = MapRequest(corpus=[str(world / "aligned.jsonl")], languages=("xx", "yy"), stop_words=wanted)
        with pytest.raises(ConfigurationError, match=message):
            analyse_map(Job([world / "after"], out=tmp_path), request)


def test_map_pieces_single_are_those_of_all_checkpoints(world: Path, tmp_path: Path) -> None:
    request = MapRequest(
        corpus=[str(world / "aligned.jsonl")], languages=("en", "xx"), pieces="single", stop_words="none",
        count=60, projection=Projection(method="pca"),
    )  # fmt: skip
    (path,) = analyse_map(Job([world / "after"], out=tmp_path), request)
    tokenizer = tiny_tokenizer("bert")
    words = {p.word for p in figure(path).panels[0].points}
    assert words
    assert all(len(tokenizer(w, add_special_tokens=False)["input_ids"]) == 1 for w in words)
