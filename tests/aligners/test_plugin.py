"""A class of the user's own is an aligner everywhere: align, score, filter and project."""

from __future__ import annotations

import json
import sys

import pytest
from commands import run
from refusals import refused

import isoglot as iso
from isoglot.core.errors import ConfigurationError

_CLASS = '''
import isoglot as iso

class Copies(iso.Aligner):
    """Links equal words.

    Args:
        most: Most links of a pair.
    """

    def __init__(self, *, most: int = 9) -> None:
        self.most = most

    def align(self, pairs):
        for pair in pairs:
            source, target = pair.words
            pair.links = [(i, j) for i, s in enumerate(source) for j, t in enumerate(target) if s == t][: self.most]
            yield pair
'''


@pytest.fixture
def copies(tmp_path, monkeypatch):
    (tmp_path / "own_copies.py").write_text(_CLASS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_copies", raising=False)
    return "own_copies:Copies"


def test_one_class_suffices_for_align_score_filter_and_project(tmp_path, copies):
    pairs, links, tagged = tmp_path / "pairs.txt", tmp_path / "links", tmp_path / "tagged"
    pairs.write_text("a b ||| b a\nc ||| d\n")
    run("align", pairs, "--method", copies, "--set", "most=1", "-o", links)
    assert links.read_text() == "0-1\n\n"
    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps({"src": ["a", "b"], "tgt": ["b", "a"], "sure": [[0, 1], [1, 0]]}) + "\n")
    scored = json.loads(run("score", "--gold", gold, "--method", copies, "--set", "most=1", "--json"))
    assert (scored["precision"], scored["recall"]) == (100, 50)
    kept = tmp_path / "kept.tsv"
    run("filter", pairs, "--aligner", copies, "--min-coverage", 0.5, "-o", kept)
    assert [line.split("\t")[0] for line in kept.read_text().splitlines()] == ["a b"]
    (tmp_path / "source").write_text("<b>a</b> b\n")
    (tmp_path / "target").write_text("b a\n")
    asked = ("--kind", "markup", "--model", copies, "-o", tagged)
    run("project", tmp_path / "source", tmp_path / "target", *asked)
    assert tagged.read_text() == "b <b>a</b>\n"


class Learner(iso.Aligner):
    """Links words that are paired in the text more often than once."""

    learns = True
    languages = ("en", "")

    def align(self, pairs):
        seen = [set(zip(*pair.words, strict=False)) for pair in pairs]
        for pair in pairs:
            often = [both for both in zip(*pair.words, strict=False) if sum(both in s for s in seen) > 1]
            pair.links = [(pair.words[0].index(a), pair.words[1].index(b)) for a, b in often]
            yield pair


def test_an_object_that_learns_reads_text_twice_and_links_its_languages_alone():
    stream = (pair for pair in [("the house", "das Haus"), ("the book", "das Buch")])
    linked = list(iso.align_many(stream, model=Learner(), progress=False))
    assert [pair.word_pairs for pair in linked] == [[("the", "das")]] * 2
    french = iso.SentencePair.of("la", "das", languages=("fr", "de"))
    with refused(ConfigurationError, "Learner ", "en-?", "fr-de", "any_language=True"):
        list(iso.load_aligner(Learner()).align([french]))
    with refused(ConfigurationError, "layer: Learner "):
        iso.align("a", "b", model=Learner(), layer=2)


def test_links_are_checked(copies):
    class Wrong(iso.Aligner):
        def align(self, pairs):
            for pair in pairs:
                pair.links = [(0, 5)]
                if pair.source != "lost":
                    yield pair

    with pytest.raises(ConfigurationError, match=r"Wrong: pair 1 .*\(0, 5\).* 1 and 1 words"):
        iso.align("a", "b", model=Wrong())
    with refused(ConfigurationError, "Wrong: ", "0 of 1 pairs"):
        list(iso.align_many([("lost", "b")], model=Wrong(), progress=False))
    with refused(ConfigurationError, "languages, learns, values, words; ", "isoglot.Aligner"):
        iso.align("a", "b", model=type("object", (), {"align": print})())
    with refused(ConfigurationError, "`mots`: own_copies:Copies ", "'most'"):
        iso.load_aligner(method=copies, mots=1)


def test_an_encoder_beside_a_class_is_an_option_of_the_class(tmp_path, copies):
    """It ended in a TypeError."""
    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps({"src": ["a"], "tgt": ["a"], "sure": [[0, 0]]}) + "\n")
    for command in (("score", "--gold", gold), ("align", gold, "-o", tmp_path / "links")):
        said = run(*command, "--method", copies, "--model", "box", fails=ConfigurationError)
        assert "model: own_copies:Copies does not have this option" in said
    said = run("score", "--gold", gold, "--model", copies, "--method", "hmm", fails=ConfigurationError)
    assert "method: own_copies:Copies does not have this option" in said
