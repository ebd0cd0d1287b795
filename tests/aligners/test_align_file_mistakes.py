"""Mistakes and odd lines of ``isoglot align``, on files."""

from __future__ import annotations

import pytest
from commands import run
from refusals import refused

from isoglot.aligners.pairs_in_files import read_pairs
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.open_corpus import open_corpus
from isoglot.formats.sources import Source

LINES = 40


def test_a_pair_that_is_too_long_is_reported_and_keeps_its_place(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("isoglot.aligners.alignment.MOST_ENTRIES", 8)
    path, saved = tmp_path / "long.txt", tmp_path / "model"
    path.write_text("a b ||| c d\na b a b ||| c d c d\nb a ||| d c\n")
    for flags in (("-m", "fast_align", "--save", saved), ("--load", saved)):
        caplog.clear()
        with caplog.at_level("WARNING", logger="isoglot"):
            lines = run("align", path, *flags).splitlines()
        assert [bool(line) for line in lines] == [True, False, True]
        assert [f"pair 2: {path}:2: 4 × 4 words" in record.getMessage() for record in caplog.records] == [
            True
        ]


def test_running_text_is_reported_once(tmp_path, caplog):
    path = tmp_path / "running.txt"
    path.write_text("The river. ||| Ta potamo.\nA boat ||| Un skif\n")
    for words, told in (("whitespace", 1), ("unicode", 0)):
        caplog.clear()
        with caplog.at_level("WARNING", logger="isoglot"):
            run("align", path, "-m", "fast_align", "--words", words)
        found = [record.getMessage() for record in caplog.records]
        assert len(found) == told
        assert all("--words unicode" in message and "1 of the first 2 pairs" in message for message in found)


def test_a_third_sentence_is_reported_and_a_third_field_of_links_is_not(tmp_path, caplog):
    path = tmp_path / "three.txt"
    path.write_text("a b ||| c d\na b ||| c d ||| e f\nb a ||| d c ||| 0-0 1?1\na ||| c ||| 0-0 ||| x\n")
    with caplog.at_level("WARNING", logger="isoglot"):
        assert len(run("align", path, "-m", "fast_align").splitlines()) == 4
    found = [record.getMessage() for record in caplog.records]
    assert [message.partition(":")[0] for message in found] == ["pair 2", "pair 4"]
    assert all("more than two sentences" in message for message in found)


def test_an_output_that_is_an_input_is_refused(tmp_path, bitext):
    before = bitext.read_bytes()
    more = tmp_path / "more.txt"
    more.write_bytes(before)
    (pieces := tmp_path / "pieces.model").write_bytes(before)
    for flags in (
        ("-o", bitext),
        ("--lexicon", bitext),
        ("--train-on", more, "-o", more),
        ("--pieces", pieces, "-o", pieces),
    ):
        assert "input" in run("align", bitext, "-m", "fast_align", *flags, fails=ConfigurationError)
    assert bitext.read_bytes() == more.read_bytes() == pieces.read_bytes() == before


@pytest.mark.parametrize(
    "flags", [("-o", "a", "--lexicon", "a"), ("-o", "m/x", "--save", "m"), ("-o", "m", "--lexicon", "m/x")]
)
def test_outputs_of_which_one_would_destroy_another_are_refused(tmp_path, bitext, flags):
    placed = [tmp_path / flag if number % 2 else flag for number, flag in enumerate(flags)]
    assert "one would overwrite the other" in run(
        "align", bitext, "-m", "fast_align", *placed, fails=ConfigurationError
    )


def test_a_folder_of_something_else_is_refused_before_any_work(tmp_path, bitext, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    monkeypatch.setattr("isoglot.aligners.with_statistics.ModelLearner", None)
    message = run(
        "align",
        bitext,
        "-m",
        "fast_align",
        "-f",
        "corpus",
        "-o",
        tmp_path / "other",
        fails=ConfigurationError,
    )
    assert "other: is not empty and holds no aligned corpus; choose another --out, or empty it" in message


def test_flags_that_would_do_nothing_are_refused(tmp_path, bitext, encoder):
    saved = tmp_path / "model"
    run("align", bitext, "-m", "fast_align", "--save", saved)
    for flags, named in (
        (("-m", "argmax", "--model", encoder, "--symmetrise", "union"), "--symmetrisation"),
        (("-m", "fast_align", "--layer", 3), "--layer"),
        (
            ("--lowercase", "--save", "x"),
            "--save, --lowercase: only a method that learns from the bitext reads this",
        ),
        (("--set", "alpha=0.1", "--symmetrise", "union"), "add --method hmm"),
        (("-m", "hmm", "--precision", "float32"), "--dtype"),
        (("--load", saved, "--lowercase"), "--lowercase"),
        (("--load", saved, "--set", "iterations=3"), "iterations"),
        (("--load", saved, "-m", "hmm"), "--method hmm: "),
        (("--load", saved, "--set", "threshold=0.5"), "is read by grow-diag-final-and"),
        (("-m", "fast_align", "--set", "threshold=0.5"), "--symmetrisation agreement"),
        (("-m", "hmm", "--symmetrise", "union", "--set", "threshold=0.5"), "--symmetrisation agreement"),
        (
            ("-m", "argmax", "--model", encoder, "--set", "threshold=0.5"),
            "threshold: method argmax does not have this option",
        ),
        (("-m", "ot", "--model", encoder, "--set", "passes=3"), "only links=itermax"),
        (("--min-score", 2), "--min-score: got 2.0"),
        (("-f", "words", "--base", 1), "--base"),
        (("-f", "offsets", "--base", 0), "--base"),
        (("-f", "corpus", "--base", 1), "--base"),
        (("-m", "hmm", "--set", "method=fast_align"), "--set method: method has its own flag"),
        (("-f", "corpus", "--reverse"), "--reverse"),
        (("--phrase-length", 3), "--phrase-length: has an effect only with --phrases"),
    ):
        assert named in run("align", bitext, *flags, fails=ConfigurationError)


def test_odd_lines_keep_their_place(tmp_path, caplog):
    path = tmp_path / "odd.txt"
    path.write_bytes(b"a b ||| c d\nno bars\n\xff ||| c\n ||| d\na ||| c\n")
    with caplog.at_level("WARNING", logger="isoglot"):
        lines = run("align", path, "-m", "fast_align").splitlines()
    assert len(lines) == 5
    assert lines[1] == lines[3] == ""
    numbered = [record.getMessage() for record in caplog.records]
    assert any(f"pair 2: {path}:2: no '|||'" in m for m in numbered)
    assert any("pair 3" in m and "odd.txt:3: byte 0xff is not valid UTF-8" in m for m in numbered)
    assert any(f"pair 4: {path}:4: the source side is empty" in m for m in numbered)


def test_tables_with_a_header_are_read_by_its_names(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("id\tde\ten\n1\tdas haus\tthe house\n2\tein haus\ta house\n", encoding="utf-8")
    source = Source(path=str(path), header=True, columns={"source": "en", "target": "de"}, source_language="en",
                    target_language="de")  # fmt: skip
    pairs = list(read_pairs(open_corpus([source], "bitext"), mode="whitespace"))
    assert [pair.texts for pair in pairs] == [("the house", "das haus"), ("a house", "ein haus")]
    with refused(InputError, "pairs.tsv:1: ", "'en'", "header=True", "columns="):
        list(
            read_pairs(
                open_corpus([source.model_copy(update={"header": False})], "bitext"), mode="whitespace"
            )
        )


def test_mistakes_are_named_and_leave_nothing(tmp_path, bitext, gold):
    out = tmp_path / "out.txt"
    assert "did you mean 'itermax'" in run("align", bitext, "-m", "itermaxx", fails=ConfigurationError)
    assert "--method hmm: learns from many pairs, without a model; leave --model out" in run(
        "align", bitext, "-m", "hmm", "--model", "x", fails=ConfigurationError
    )
    assert "did you mean" in run(
        "align", bitext, "-m", "argmax", "--model", "x", "--set", "levle=word", fails=ConfigurationError
    )
    assert "no such file" in run(
        "align", tmp_path / "none.txt", "-m", "fast_align", "-o", out, fails=(InputError, ConfigurationError)
    )
    short = tmp_path / "short"
    short.write_text("a\n")
    (tmp_path / "long").write_text("b\nc\n")
    assert "short:2" in run(
        "align", short, "-m", "fast_align", tmp_path / "long", "-o", out, fails=InputError
    )
    assert not out.exists()
    assert not list(tmp_path.glob(".*tmp"))
    links = tmp_path / "links.txt"
    links.write_text("0-0\n")
    assert f"{gold} has {LINES}" in run("score", links, "--gold", gold, fails=InputError)
