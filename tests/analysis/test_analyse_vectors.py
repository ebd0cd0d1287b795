from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from figures import figure
from refusals import refused

from isoglot.analysis.analyse import Job, corpus_rows
from isoglot.analysis.analyse_map import analyse_map
from isoglot.analysis.analyse_vectors import analyse_geometry, analyse_similarity
from isoglot.analysis.options import (
    GeometryRequest,
    MapRequest,
    SimilarityRequest,
)
from isoglot.analysis.similarity import linear_cka
from isoglot.analysis.vectors import linked_vectors, sentence_vectors
from isoglot.core.errors import InputError
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source
from isoglot.testing import tiny_model, tiny_tokenizer


def test_similarity_by_sentences_is_that_of_the_parts(world: Path, tmp_path: Path) -> None:
    request = SimilarityRequest(corpus=[str(world / "aligned.jsonl")], languages=("en", "xx"), neighbours=4)
    written = analyse_similarity(Job([world / "before", world / "after"], out=tmp_path), request)
    assert [p.stem for p in written] == ["similarity-cka", "similarity-neighbours", "similarity-retrieval"]
    rows = list(corpus_rows([str(world / "aligned.jsonl")], "bitext", languages=("en", "xx")))
    model, tokenizer = tiny_model("bert", seed=1), tiny_tokenizer("bert")
    sides = [
        sentence_vectors(model, tokenizer, [r[side] for r in rows], layers=[0, 1, 2, 3])
        for side in ("source", "target")
    ]
    cka = figure(written[0])
    assert [s.label for s in cka.series] == ["before", "after"]
    expected = [linear_cka(sides[0][n], sides[1][n]) for n in range(4)]
    assert cka.series[1].y == pytest.approx(expected, abs=1e-4)
    assert all(0 <= y <= 100 for path in written[1:] for s in figure(path).series for y in s.y)


def test_similarity_refuses_two_pairs_of_languages(world: Path, tmp_path: Path) -> None:
    path = str(world / "aligned.jsonl")
    sources = [
        Source(path=path, format="jsonl", source_language="en", target_language=code) for code in ("de", "fr")
    ]
    prepare(sources, tmp_path / "two", options=PrepareOptions(kind="aligned"))
    job = Job([world / "after"], out=tmp_path)
    corpus = [str(tmp_path / "two")]
    for analyse, request in (
        (analyse_similarity, SimilarityRequest(corpus=corpus)),
        (analyse_geometry, GeometryRequest(corpus=corpus)),
        (analyse_map, MapRequest(corpus=corpus)),
    ):
        with refused(InputError, "/two: ", "en-de", "en-fr"):
            analyse(job, request)


def test_similarity_by_linked_words(world: Path, tmp_path: Path) -> None:
    request = SimilarityRequest(
        corpus=[str(world / "aligned.jsonl")],
        languages=("en", "xx"),
        level="word",
        measures=["retrieval"],
        limit=30,
    )
    (path,) = analyse_similarity(Job([world / "after"], out=tmp_path), request)
    assert "30 pairs of linked words" in figure(path).note


def test_the_note_has_the_pairs_of_every_checkpoint(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tokenizer that does not know a word leaves its links out."""
    known = iter((28, 30))

    def fewer(*given: Any, **options: Any) -> tuple[Any, ...]:
        count = next(known)
        sides = linked_vectors(*given, **options)
        return tuple({layer: vectors[:count] for layer, vectors in side.items()} for side in sides)

    monkeypatch.setattr("isoglot.analysis.analyse_vectors.linked_vectors", fewer)
    request = SimilarityRequest(
        corpus=[str(world / "aligned.jsonl")],
        languages=("en", "xx"),
        level="word",
        measures=["neighbours"],
        limit=30,
        neighbours=2,
    )
    (path,) = analyse_similarity(Job([world / "before", world / "after"], out=tmp_path), request)
    note = figure(path).note
    assert "28 to 30 pairs of linked words" in note
    assert f"By chance {200 / 27:.1f} %" in note


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize("unit", ["sentence", "word", "piece"])
def test_geometry_has_a_line_a_language_or_direction(world: Path, tmp_path: Path, unit: str) -> None:
    request = GeometryRequest(
        corpus=[str(world / "aligned.jsonl")],
        languages=("en", "xx"),
        unit=unit,
        neighbours=3,
        limit=40,
        layers="0,-1",
    )
    written = analyse_geometry(Job([world / "before", world / "after"], out=tmp_path), request)
    figures = {path.stem: figure(path) for path in written}
    assert list(figures) == [f"geometry-{m}" for m in ("anisotropy", "variance", "hubness", "anti-hubs")]
    assert [s.label for s in figures["geometry-anisotropy"].series] == [
        "before, en", "before, xx", "after, en", "after, xx",
    ]  # fmt: skip
    assert figures["geometry-hubness"].series[3].label == "after, xx to en"
    assert all(s.x == [0, 3] for f in figures.values() for s in f.series)
    assert all(-1 <= y <= 1 for s in figures["geometry-anisotropy"].series for y in s.y)
