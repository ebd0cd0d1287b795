"""Many pairs in, links out: whatever holds the pairs, whatever links them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from datasets import Dataset, DatasetDict
from refusals import refused

import isoglot as iso
from isoglot.aligners.align_file import align_file
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import LinkFormat
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.open_corpus import corpus_sources
from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer

PAIRS = [("the river.", "ta potamo."), ("", "ta"), ("the captain sings", "ta 大河 canta"), ("a", "un")]
SOURCES, TARGETS = map(list, zip(*PAIRS, strict=True))


@pytest.fixture
def how(encoder):
    return {"model": encoder, "method": "itermax", "layer": 2, "dtype": "float32"}


@pytest.fixture
def expected(how):
    return [iso.align(*pair, **how) for pair in PAIRS]


HOLDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "pairs": lambda: {"pairs": PAIRS},
    "two lists": lambda: {"source": SOURCES, "target": TARGETS},
    "rows": lambda: {"pairs": [{"source": s, "target": t, "id": 1} for s, t in PAIRS]},
    "columns": lambda: {"pairs": {"en": SOURCES, "xx": TARGETS}, "source": "en", "target": "xx"},
    "dataset": lambda: {
        "pairs": Dataset.from_dict({"xx": TARGETS, "en": SOURCES}),
        "source": "en",
        "target": "xx",
    },
    "frame": lambda: {"pairs": pd.DataFrame({"en": SOURCES, "xx": TARGETS}), "source": "en", "target": "xx"},
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_each_pair_is_linked_as_alone_whatever_holds_it(holder, how, expected):
    found = iso.align_many(**HOLDERS[holder](), **how)
    assert isinstance(found, list)
    assert [pair.links for pair in found] == [pair.links for pair in expected]
    assert [pair.score for pair in found] == pytest.approx([pair.score for pair in expected], abs=1e-5)
    for pair, texts in zip(found, PAIRS, strict=True):
        assert (pair.source, pair.target) == texts
        for text, words, spans in (
            (pair.source, pair.source_words, pair.source_spans),
            (pair.target, pair.target_words, pair.target_spans),
        ):
            assert [text[a:b] for a, b in spans] == words


def test_words_stay_words_and_text_is_cut_as_asked(how):
    pairs = [(["the", "river."], "ta potamo."), ("the river.", ["ta", "potamo."])]
    found = iso.align_many(pairs, **how)
    assert [pair.source_words for pair in found] == [["the", "river."], ["the", "river", "."]]
    spaced = iso.align_many(pairs, words="whitespace", **how)
    assert [pair.target_words for pair in spaced] == [["ta", "potamo."], ["ta", "potamo."]]
    assert (
        iso.align_many([(pair.source_words, pair.target_words) for pair in found], **how)[1].links
        == found[1].links
    )


def test_a_model_object_with_its_tokenizer_aligns(encoder, how, expected):
    own = {**how, "model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
    found = iso.align_many(PAIRS, **own)
    alone = [iso.align(*pair, **own) for pair in PAIRS]
    assert [pair.links for pair in found] == [pair.links for pair in alone]
    for pair, other in zip(found, alone, strict=True):  # the last bits depend on the batch
        assert pair.probabilities == pytest.approx(other.probabilities, abs=1e-5)


def test_a_stream_is_read_as_it_is_taken_and_comes_in_order(how):
    taken = 0

    def endless():
        nonlocal taken
        for pair in itertools.cycle(PAIRS):
            taken += 1
            yield pair

    found = iso.align_many(endless(), **how)
    assert taken == 0
    first = list(itertools.islice(found, 1000))
    assert taken == 1024, "two windows of 512"
    assert [(pair.source, pair.target) for pair in first] == list(
        itertools.islice(itertools.cycle(PAIRS), 1000)
    )
    streamed = Dataset.from_dict({"source": SOURCES, "target": TARGETS}).to_iterable_dataset()
    few = iso.align_many(streamed, **how)
    assert not isinstance(few, list)
    assert [pair.source for pair in few] == SOURCES


def test_align_many_does_not_decode_other_columns(how, expected):
    corpus = Dataset.from_dict({"source": SOURCES, "target": TARGETS, "audio": [b"no sound"] * 4})
    corpus = corpus.with_transform(lambda rows: {n: v for n, v in rows.items() if n != "audio" or 1 / 0})
    found = iso.align_many(corpus, **how)
    assert [pair.links for pair in found] == [pair.links for pair in expected]


@pytest.mark.parametrize("method", ["hmm", "fast_align"])
def test_learning_gives_the_links_of_the_command(method, tmp_path):
    corpus = tiny_aligned(80)
    (tmp_path / "text").write_text(
        "".join(f"{s} ||| {t}\n" for s, t in zip(corpus["source"], corpus["target"], strict=True))
    )
    chosen = aligner_request(method=method, lowercase=True), LinkFormat(output="jsonl")
    align_file(
        corpus_sources([str(tmp_path / "text")], languages=["en", "xx"]), tmp_path / "links.jsonl", *chosen
    )
    rows = [json.loads(line) for line in (tmp_path / "links.jsonl").read_text().splitlines()]
    options = {"method": method, "lowercase": True, "words": "whitespace"}
    found = iso.align_many(corpus, **options)
    assert [[list(link) for link in pair.links] for pair in found] == [row["links"] for row in rows]
    assert [pair.score for pair in found] == pytest.approx([row["score"] for row in rows], abs=1e-6)
    assert [pair.source_words for pair in found] == [row["src"] for row in rows]
    lazy = iso.align_many(zip(corpus["source"], corpus["target"], strict=True), **options)
    assert [next(lazy).links, *(pair.links for pair in lazy)] == [pair.links for pair in found]
    words = [(pair.source_words, pair.target_words) for pair in found]
    aligner = iso.StatisticalAligner(method, lowercase=True, words="whitespace").fit_pairs(words)
    aligner.save(tmp_path / "model")
    assert iso.align_many(corpus, model=tmp_path / "model") == found


def test_no_pairs_have_no_links(how):
    assert iso.align_many([], **how) == iso.align_many([], method="hmm") == []
    assert iso.align_many(source=[], target=[], **how) == []


TWINS = pd.DataFrame([["a", "b", "c"]], columns=["source", "target", "target"])
SPLITS = DatasetDict(train=Dataset.from_dict({}), test=Dataset.from_dict({}))


@pytest.mark.parametrize(
    ("pairs", "columns", "named"),
    [
        (None, {"source": "the river", "target": "ta potamo"}, r"align_many\(source=\[...\], target=\["),
        (None, {"source": SOURCES}, r"align_many\(source=\[...\], target=\["),
        (SOURCES, {}, "pair 1: .*'the river.'"),
        ([("a", "b", "c")], {}, r"pair 1: .*\('a', 'b', 'c'\)"),
        (TWINS, {}, "2 columns .*'target'"),
        ({"source": "ab", "target": "cd"}, {}, r"'source' is 'ab'.*\[\{\.\.\.\}\]"),
        ([(b"\xff", "b")], {}, r"pair 1: .*b'\\xff'.*value\.decode\('cp1252'\)"),
        ({"t": [{"en": "a"}]}, {"source": "t.en", "target": "t.fr"}, "row 1: .*'fr'.*en"),
        ("mem.tmx", {}, r"isoglot align mem\.tmx"),
        (None, {"source": ["a"] * 3, "target": ["x", "y"]}, "pair 3: .*target.* 2 "),
        ({"src": [], "tgt": []}, {"source": "src", "target": "trg"}, "'trg'; did you mean 'tgt'"),
        (SPLITS, {}, r"train, test; .*data\['train'\]"),
        (PAIRS, {"source": SOURCES}, "source and target .*column names"),
        ([(["the river", "a"], ["ta"])], {}, "pair 1: 'the river'"),
    ],
)
def test_align_many_refuses_data(how, pairs, columns, named):
    with pytest.raises(ConfigurationError, match=named):
        iso.align_many(pairs, **columns, **how)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"method": "hmm", "lowercas": True}, "`lowercas`: .*hmm.* did you mean 'lowercase'"),
        ({"method": "hmm", "model": "FOLDER"}, 'method="hmm": .*`model`'),
        ({"method": "eflomal"}, "eflomal-align.*`pip install eflomal`.*hmm"),
        ({"layr": 2}, "`layr`: .*did you mean 'layer'"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value),
)
def test_align_many_refuses_options(how, options, named):
    """Before it asks for the first pair."""
    options = {**how, **options} if "layr" in options else options
    if options.get("model") == "FOLDER":
        options = {**options, "model": how["model"]}
    with pytest.raises(ConfigurationError, match=named):
        iso.align_many(iter(PAIRS), **options)


def test_aligners_refuse_text_and_lists_of_sentences_as_words(encoder):
    statistical = iso.StatisticalAligner().fit(tiny_aligned(20))
    for aligner in (iso.EmbeddingAligner(encoder), statistical):
        with refused(ConfigurationError, "'the river'", "isoglot.align_many"):
            list(aligner.align_pairs([("the river", "ta potamo")]))
        with refused(ConfigurationError, "['the', 'river']", "align_pairs"):
            aligner.align_words([["the", "river"]], [["ta", "potamo"]])  # type: ignore[list-item]
        words = ["the", "river"], ["ta", "potamo"]
        assert next(iter(aligner.align_pairs([words]))) == aligner.align_words(*words)


def test_columns_inside_columns_are_named_with_a_dot() -> None:
    rows = [{"id": n, "translation": {"en": "the house", "de": "das Haus"}} for n in range(3)]
    names: dict[str, Any] = {"source": "translation.en", "target": "translation.de", "method": "hmm"}
    dataset = Dataset.from_list(rows)
    for data in (rows, dataset, dataset.to_pandas(), {"translation": [row["translation"] for row in rows]}):
        assert [pair.texts for pair in iso.align_many(data, **names)] == [("the house", "das Haus")] * 3
    assert [pair.source for pair in iso.align_many(iter(rows), **names)] == ["the house"] * 3
    with refused(ConfigurationError, "pair 1: ", "'fr'"):
        iso.align_many(rows, source="translation.en", target="translation.fr", method="hmm")
