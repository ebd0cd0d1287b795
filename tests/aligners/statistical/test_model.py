from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from repeated_bitext import SOURCE, TARGET, bitext
from small_bitext import words

from isoglot.aligners import alignment
from isoglot.aligners.statistical.methods import METHODS
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.aligners.statistical.saved_models import load_model
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.schema import ALIGNED, require


def test_a_threshold_is_accepted_where_the_default_symmetrisation_is_agreement(tmp_path):
    """``symmetrisation=None`` stands for the default of the method, as in the constructor."""
    StatisticalAligner("hmm", symmetrisation="union").fit_words([["das", "haus"]], [["the", "house"]]).save(
        tmp_path / "hmm"
    )
    loaded = StatisticalAligner.load(tmp_path / "hmm", symmetrisation=None, threshold=0.5)
    assert (loaded.symmetrisation, loaded.threshold) == ("agreement", 0.5)


def test_a_threshold_of_none_is_the_default(tmp_path):
    """``threshold=None`` stands for the default, as in the constructor, whatever the saved model had."""
    hmm = StatisticalAligner("hmm", threshold=0.5).fit_words([["das", "haus"]], [["the", "house"]])
    hmm.save(tmp_path / "hmm")
    assert StatisticalAligner.load(tmp_path / "hmm").threshold == 0.5
    assert StatisticalAligner.load(tmp_path / "hmm", threshold=None).threshold == 0.3
    assert StatisticalAligner.load(tmp_path / "hmm", symmetrisation="union", threshold=None).threshold == 0.3


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None, max_examples=10)
@given(
    rows=st.lists(st.tuples(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("xyz"))), min_size=1)
)
def test_a_sentence_is_aligned_alike_alone_and_in_company(method, rows):
    aligner = StatisticalAligner(method).fit_words(*zip(*rows, strict=True))
    together = aligner.tables(*zip(*rows, strict=True))
    for k, (source, target) in enumerate(rows):
        alone = aligner.tables([source], [target])
        assert alone.score[0] == pytest.approx(together.score[k], rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_aligned_corpus_keeps_rows_and_columns(method):
    corpus = bitext(origin=[str(k) for k in range(len(SOURCE))])
    aligner = StatisticalAligner(method, symmetrisation="union").fit(corpus)
    aligned = aligner.align(corpus, batch_size=4)
    require(aligned, ALIGNED, role="test")
    assert aligned["origin"][:] == corpus["origin"][:]
    assert aligned[3]["links"] == []
    assert aligned[3]["source_words"] == []
    assert aligned["links"][:] == aligner.align(corpus, batch_size=100)["links"][:]
    for row in aligned:
        assert len(row["links"]) == len(row["link_probabilities"])
        assert row["links"] == sorted(row["links"])
        assert all(0 < p <= 1 for p in row["link_probabilities"])


def test_given_words_are_used_instead_of_white_space():
    corpus = bitext(
        ["ab", "a"], ["xy", "x"], source_words=[["a", "b"], ["a"]], target_words=[["x", "y"], ["x"]]
    )
    aligned = StatisticalAligner().fit(corpus).align(corpus)
    assert aligned["links"][:] == [[[0, 0], [1, 1]], [[0, 0]]]


@pytest.mark.parametrize("method", METHODS)
def test_new_text_with_unknown_words(method):
    aligner = StatisticalAligner(method, symmetrisation="intersect").fit_words(words(SOURCE), words(TARGET))
    result = aligner.tables(
        words(["das buch", "xyz qqq", "das xyz", ""]), words(["the book", "neu", "the neu", ""])
    )
    assert result.links.to_pharaoh()[0] == "0-0 1-1"
    assert len(result.links) == 4
    assert result.score[0] > result.score[1]
    assert result.score[3] == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_a_pair_that_is_too_long_gets_no_links_by_any_way(method, monkeypatch, caplog):
    """Rows of a corpus and lists of words were learned from and linked at any length, and ran out of memory."""
    corpus = bitext(["das haus", "das buch", "a b c"], ["the house", "the book", "x y z"])
    source, target = words(corpus["source"]), words(corpus["target"])
    monkeypatch.setattr(alignment, "MOST_ENTRIES", 8)
    learned = [
        StatisticalAligner(method).fit(corpus),
        StatisticalAligner(method).fit_words(source, target),
        StatisticalAligner(method).fit_pairs(zip(source, target, strict=True)),
    ]
    assert len({aligner.model.digest() for aligner in learned}) == 1
    assert "a" not in learned[0].model.source_words
    caplog.clear()
    linked = learned[0].align(corpus, batch_size=2)
    assert "pair 3: 3 × 3 words are too long for one pair" in caplog.text
    assert linked[2]["links"] == [] and linked[2]["source_words"] == ["a", "b", "c"]
    by_pair = learned[0].align_pairs(zip(source, target, strict=True))
    assert [[list(link) for link in pair.links] for pair in by_pair] == linked["links"][:]
    assert not learned[0].tables(source, target).links.lists()[2]


def test_lowercase_joins_the_spellings():
    assert "Haus" in StatisticalAligner().fit(bitext()).model.source_words
    assert "Haus" not in StatisticalAligner(lowercase=True).fit(bitext()).model.source_words


def test_symmetrisation_can_be_changed_when_loaded(tmp_path):
    aligner = StatisticalAligner().fit(bitext())
    aligner.save(tmp_path)
    other = StatisticalAligner.load(tmp_path, symmetrisation="forward")
    links = other.tables(words(SOURCE), words(TARGET))
    assert links.links.to_pharaoh() == links.forward.to_pharaoh()
    assert other.model.digest() == aligner.model.digest()


@pytest.mark.parametrize("method", ["fast_align", "hmm"])
def test_a_text_without_pairs_has_no_links(method):
    found = StatisticalAligner(method).fit_words([], []).tables([], [])
    assert (len(found.links), len(found.forward), len(found.score)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: StatisticalAligner("giza"), "'giza'.*fast_align"),
        (lambda: StatisticalAligner(symmetrisation="grow"), "'grow'; did you mean 'grow-diag'"),
        (lambda: StatisticalAligner(tensoin=3.0), "`tensoin`.*did you mean 'tension'"),
        (lambda: StatisticalAligner().align(bitext()), r"aligner\.fit\("),
        (lambda: StatisticalAligner().fit_words([["a"]], []), "1 source but 0 target"),
        (lambda: StatisticalAligner().fit_words([["a"], "a b"], [["c"], ["d"]]), "'a b'"),
        (lambda: StatisticalAligner().fit(bitext().remove_columns("target_language")), "'target_language'"),
    ],
    ids=["method", "symmetrisation", "option", "not trained", "lengths", "text for words", "column"],
)
def test_statistical_aligner_refuses(call, named):
    with pytest.raises(ConfigurationError, match=named):
        call()


def test_load_model_refuses_a_folder_without_a_model(tmp_path):
    with refused(InputError, f"{tmp_path.name}: ", "`isoglot align --save`"):
        load_model(tmp_path)


def test_load_model_refuses_another_format(tmp_path):
    StatisticalAligner().fit(bitext()).save(tmp_path)
    about = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**about, "format": 99}))
    with refused(InputError, "model.json: ", "format", " 3"):
        StatisticalAligner.load(tmp_path)
