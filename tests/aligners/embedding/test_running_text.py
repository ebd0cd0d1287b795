"""Characters of scripts without spaces have the links of the tokenizer's pieces that they stand in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unspaced import with_pieces

import isoglot as iso
from isoglot.aligners.align_file import align_file
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.running_text import align_running
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import LinkFormat
from isoglot.corpus.open_corpus import corpus_sources
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import split_words

TEXT = ("Beijing sees 漢字", "北京在x漢字。 北京")
PIECES = ["Beijing", "sees", "漢字"], ["北京", "在", "x", "漢字", "。", "北京"]
GROUPS = [[0], [1], [2, 3]], [[0, 1], [2], [3], [4, 5], [6], [7, 8]]
"""Words of each unit."""


@pytest.fixture
def chinese(tmp_path: Path, encoder: Path) -> Path:
    """A tiny encoder whose tokenizer has 北京 and 漢字 as pieces."""
    pieces = ["▁", "北京", "漢字", "北", "在", "。", "x", "Beijing", "sees"]
    return with_pieces(encoder, tmp_path / "chinese", pieces)


def naive(found: iso.SentencePair) -> dict[tuple[int, int], float]:
    """The links of units as links of words, one loop after the other."""
    return {
        (source, target): value
        for (i, j), value in zip(found.links, found.probabilities, strict=True)
        for source in GROUPS[0][i]
        for target in GROUPS[1][j]
    }


@pytest.mark.parametrize("method", ["itermax", "argmax"])
def test_characters_have_the_links_of_their_piece(chinese: Path, tmp_path: Path, method: str) -> None:
    options: dict[str, Any] = {"layer": 2, "method": method}
    aligner = EmbeddingAligner(chinese, **options)
    units = aligner.align_words(*PIECES)
    wanted = naive(units)
    assert len(wanted) > len(units.links)

    words = split_words(TEXT[0]), split_words(TEXT[1])
    (own,) = align_running(aligner, [SentencePair(TEXT, words)])
    assert own.links == sorted(wanted) and dict(zip(own.links, own.probabilities, strict=True)) == wanted
    assert own.score == units.score

    pair = iso.align(*TEXT, model=str(chinese), **options)
    assert (pair.source_words, pair.target_words) == words and pair.links == own.links
    assert (pair.source, pair.target) == TEXT
    (same,) = iso.align_many([TEXT], model=str(chinese), **options)
    assert same == pair

    (tmp_path / "pairs.tsv").write_text("\t".join(TEXT) + "\n", encoding="utf-8")
    out = tmp_path / "links.jsonl"
    encoder = aligner_request(model=str(chinese), **options)
    chosen = encoder, LinkFormat(words="unicode", output="jsonl")
    align_file(corpus_sources([str(tmp_path / "pairs.tsv")], languages=["en", "zh"]), out, *chosen)
    row = json.loads(out.read_text(encoding="utf-8"))
    assert [tuple(link) for link in row["links"]] == own.links and row["tgt"] == words[1]


def test_words_that_are_given_stay_as_they_are(chinese: Path) -> None:
    aligner = EmbeddingAligner(chinese, layer=2)
    words = (["Beijing"], ["北", "京"])
    (own,) = align_running(aligner, [SentencePair(("Beijing", "北 京"), words)])
    assert own.links == aligner.align_words(*words).links
    assert iso.align(*words, model=str(chinese), layer=2).links == own.links
    words = (["Beijing", "sees"], ["x", "sees"])
    (pair,) = align_running(aligner, [SentencePair(("Beijing sees", "x sees"), words)])
    assert pair.links == aligner.align_words(*words).links
