"""``isoglot score`` as users call it, on files."""

from __future__ import annotations

import json

import pytest
from commands import invoke, run

from isoglot.core.errors import ConfigurationError, InputError

LINES = 40


def test_statistical_links_score_well_against_the_gold(tmp_path, bitext, gold):
    out = tmp_path / "links.txt"
    run("align", bitext, "-m", "fast_align", "-o", out, "--symmetrise", "intersect", "--lowercase")
    assert len(out.read_text().splitlines()) == LINES
    report = json.loads(run("score", out, "--gold", gold, "--json", "--sentences", tmp_path / "each.tsv"))
    assert report["aer"] < 35
    assert report["hint"] is None
    each = (tmp_path / "each.tsv").read_text().splitlines()
    assert len(each) == LINES + 1
    assert each[0].startswith("sentence\tprecision")


def test_layers_are_scored(gold, encoder):
    rows = json.loads(run("score", "--gold", gold, "--layers", "all", "--model", encoder, "--json"))
    assert [row["layer"] for row in rows] == [0, 1, 2, 3]
    one = json.loads(run("score", "--gold", gold, "--layers", "2", "--model", encoder, "--json"))
    for flags, said in (
        (
            (gold, "--base", 1, "--layers", "2", "--model", encoder),
            "--layers: scores an encoder, and LINKS is a file; leave one of the two out",
        ),
        (("--layers", "2", "--model", encoder, "--set", "layer=1"), "--layer: --layers says"),
        ((gold, "--model", encoder, "-m", "argmax"), "--model: scoring a file does not have this option"),
    ):
        assert said in run("score", "--gold", gold, *flags, fails=ConfigurationError)
    assert "threshold: method itermax does not have this option" in run(
        "score", "--gold", gold, "--layers", "2", "--model", encoder, "--set", "threshold=0.1",
        fails=ConfigurationError,
    )  # fmt: skip
    assert one == [rows[2]]


def test_a_wrong_base_is_said_loudly(tmp_path, gold, corpus):
    shifted = tmp_path / "one-based.txt"
    shifted.write_text(
        "".join(" ".join(f"{i + 1}-{j + 1}" for i, j in links) + "\n" for links in corpus["links"])
    )
    assert "--base 1" in run("score", shifted, "--gold", gold, fails=InputError)
    bare = tmp_path / "gold.txt"
    bare.write_text("".join(" ".join(f"{i}-{j}" for i, j in links) + "\n" for links in corpus["links"]))
    result = invoke("score", shifted, "--gold", bare)
    assert "Warning:" in result.stderr
    assert "--base 1" in result.stderr
    right = json.loads(run("score", shifted, "--gold", gold, "--base", 1, "--json"))
    assert right["aer"] == 0
    assert right["hint"] is None


@pytest.mark.parametrize("links", ["\n\n", "0p0\n1p1\n"])
def test_gold_without_a_sure_link_gives_no_figure(tmp_path, links):
    (tmp_path / "gold.txt").write_text(links)
    (tmp_path / "links.txt").write_text("0-0\n\n")
    said = run("score", tmp_path / "links.txt", "--gold", tmp_path / "gold.txt", fails=ConfigurationError)
    assert "gold.txt: has no sure link to measure against" in said


def test_links_of_other_words_than_the_gold_ones_are_refused(tmp_path, bitext, gold):
    out = tmp_path / "links.jsonl"
    run("align", bitext, "-m", "fast_align", "-o", out, "-f", "jsonl")
    assert json.loads(run("score", out, "--gold", gold, "--json"))["aer"] < 50
    rows = out.read_text().splitlines()
    first = json.loads(rows[0])
    last = next(row for row in rows if len(json.loads(row)["src"]) != len(first["src"]))
    place = rows.index(last)
    rows[0], rows[place] = rows[place], rows[0]
    out.write_text("\n".join(rows) + "\n")
    assert "sentence 1 has" in run("score", out, "--gold", gold, fails=InputError)


def test_links_outside_the_gold_sentences_are_refused(tmp_path):
    gold, links = tmp_path / "gold.jsonl", tmp_path / "links.txt"
    row = {"src": ["a", "b"], "tgt": ["x", "y"], "sure": [[0, 0], [1, 1]]}
    gold.write_text(f"{json.dumps(row)}\n{json.dumps(row)}\n")
    links.write_text("0-0\n0-0 2-1\n")
    said = run("score", links, "--gold", gold, fails=InputError)
    assert "sentence 2 has the link 2-1, counted from 0, but 2 and 2 words in" in said


def test_found_links_are_scored_though_the_gold_ones_stand_beside_them(tmp_path):
    """As in the files of `isoglot analyse alignments`, which scored 0 % AER."""
    gold, both = tmp_path / "gold.jsonl", tmp_path / "alignments.jsonl"
    row = {"src": ["a", "b"], "tgt": ["x", "y"], "sure": [[0, 0], [1, 1]], "possible": []}
    gold.write_text(f"{json.dumps(row)}\n")
    both.write_text(f"{json.dumps({**row, 'links': [[0, 1]]})}\n")
    assert json.loads(run("score", both, "--gold", gold, "--json"))["aer"] == 100
    assert json.loads(run("score", gold, "--gold", both, "--json"))["aer"] == 0


def test_all_pairs_of_a_folder_are_scored(tmp_path, encoder, monkeypatch):
    text = tmp_path / "pairs.txt"
    text.write_text("a ||| x\n" * 501)
    run("align", text, "-m", "fast_align", "-f", "corpus", "-o", tmp_path / "aligned")
    seen = []

    def layer_error(aligner, pairs, *, layers):
        seen.append(len(pairs))
        return {}

    monkeypatch.setattr("isoglot.aligners.embedding.score_layers.layer_error", layer_error)
    run("score", "--gold", tmp_path / "aligned", "--layers", "1", "--model", encoder)
    assert seen == [501]


def test_an_encoder_has_no_scores_of_sentences(tmp_path, gold, encoder):
    """The message said that the method did not have the option."""
    for flags in ((), ("--model", encoder), ("--model", encoder, "--layers", "all")):
        said = run("score", "--gold", gold, "--sentences", tmp_path / "s", *flags, fails=ConfigurationError)
        assert "--sentences: an encoder is scored layer by layer" in said
