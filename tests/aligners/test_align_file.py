"""``isoglot align`` as users call it, on files."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from commands import invoke, run

from isoglot.aligners.align_file import align_file
from isoglot.aligners.options import FastAlign, LinkFormat
from isoglot.aligners.pairs_in_files import read_pairs
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.manifest import load_corpus
from isoglot.corpus.open_corpus import open_corpus
from isoglot.corpus.prepare import prepare
from isoglot.formats.links import Alignment
from isoglot.formats.sources import Source

LINES = 40


def test_two_files_and_one_are_the_same(tmp_path, bitext, corpus):
    for side in ("source", "target"):
        text = "".join(" ".join(words) + "\n" for words in corpus[f"{side}_words"])
        (tmp_path / side).write_text(text, encoding="utf-8")
    assert run("align", tmp_path / "source", "-m", "fast_align", tmp_path / "target") == run(
        "align", bitext, "-m", "fast_align"
    )


def test_saved_model_gives_the_same_links_and_a_lexicon(tmp_path, bitext):
    saved, table = tmp_path / "model", tmp_path / "lexicon.tsv"
    first = run("align", bitext, "-m", "fast_align", "--save", saved, "--lexicon", table)
    assert run("align", bitext, "--load", saved) == first
    word, translation, probability = table.read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert word
    assert translation
    assert 0 < float(probability) <= 1


def test_a_model_replaces_only_what_was_saved(tmp_path, bitext):
    models = tmp_path / "models"
    for saved in (models, models, models / "en-de"):
        run("align", bitext, "-m", "fast_align", "--save", saved)
    (models / "notes").write_text("mine")
    assert "en-de" in run("align", bitext, "-m", "fast_align", "--save", models, fails=ConfigurationError)
    assert (models / "notes").exists() and (models / "en-de" / "model.json").exists()


def test_saved_model_of_another_text_is_replaced_with_overwrite_alone(tmp_path, bitext):
    saved, other, few = tmp_path / "model", tmp_path / "other", tmp_path / "few.txt"
    few.write_text("a b ||| x y\n" * 9, encoding="utf-8")
    learn = ("-m", "fast_align", "--save", saved)
    for _ in range(2):
        run("align", bitext, *learn)
        run("align", bitext, "--load", saved, "--save", other)
    before = {path: path.read_bytes() for path in sorted(saved.iterdir())}
    copy = ("--load", other, "--save", saved)
    for asked in (
        (few, *learn),
        (bitext, *learn, "--lowercase"),
        (bitext, *learn, "--start", other),
        (few, *copy),
    ):
        refused = run("align", *asked, fails=ConfigurationError)
        assert f"{saved}: holds a model of another text or with other options" in refused
    assert before == {path: path.read_bytes() for path in sorted(saved.iterdir())}
    for asked in ((few, *learn), (bitext, *learn), (few, *copy)):
        run("align", *asked, "--overwrite")


def test_more_training_text_is_learned_from_but_not_written(tmp_path, bitext, corpus):
    few = tmp_path / "few.txt"
    few.write_text(
        "".join(bitext.read_text(encoding="utf-8").splitlines(keepends=True)[:3]), encoding="utf-8"
    )
    alone, helped = (
        run("align", few, "-m", "fast_align"),
        run("align", few, "-m", "fast_align", "--train-on", bitext),
    )
    assert len(alone.splitlines()) == len(helped.splitlines()) == 3
    whole = run("align", few, "-m", "fast_align", "--train-on", bitext, "--train-on", bitext)
    links = [Alignment.from_pharaoh(line) for line in whole.splitlines()]
    assert all(i < len(corpus["source_words"][n]) for n, a in enumerate(links) for i, _ in a.links)


def test_an_encoder_streams_in_every_format(tmp_path, bitext, encoder, corpus):
    plain = run("align", bitext, "-m", "argmax", "--model", encoder, "--layer", 2, "--precision", "float32")
    rows = [json.loads(line) for line in run(
        "align", bitext, "-m", "argmax", "--model", encoder, "--layer", 2, "-f", "jsonl", "--precision", "float32",
    ).splitlines()]  # fmt: skip
    assert [Alignment.from_pharaoh(line) for line in plain.splitlines()] == [
        Alignment(frozenset(map(tuple, row["links"]))) for row in rows
    ]
    assert [row["src"] for row in rows] == corpus["source_words"]
    spans = [json.loads(line) for line in run(
        "align", bitext, "-m", "argmax", "--model", encoder, "--layer", 2, "-f", "offsets", "--words", "unicode"
    ).splitlines()]  # fmt: skip
    first = spans[0]
    a, b, c, d = first["spans"][0]
    assert first["source"][a:b] in corpus["source_words"][0]
    assert first["target"][c:d] in corpus["target_words"][0]
    pairs = run("align", bitext, "-m", "fast_align", "-f", "words").splitlines()[0].split("\t")
    assert all(pair.count("|||") == 1 for pair in pairs)


def test_parquet_and_prepared_folders_are_read(tmp_path, bitext, corpus, encoder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    method = ("-m", "argmax", "--model", encoder, "--layer", 2, "--precision", "float32")
    expected = run("align", bitext, *method)
    sides = {side: [" ".join(words) for words in corpus[f"{side}_words"]] for side in ("source", "target")}
    pq.write_table(pa.table(sides), tmp_path / "pairs.parquet")
    assert run("align", tmp_path / "pairs.parquet", *method) == expected
    run(
        "align",
        bitext,
        "-m",
        "fast_align",
        "-f",
        "corpus",
        "-o",
        tmp_path / "one",
        "--source-lang",
        "en",
        "--target-lang",
        "xx",
    )
    assert run("align", tmp_path / "one", *method) == expected
    both = run("align", tmp_path / "one", bitext, *method, "--input-format", "bars")
    assert both == expected * 2
    (tmp_path / "one" / next(p.name for p in (tmp_path / "one").glob("*.parquet"))).write_bytes(b"PAR1")
    assert "--overwrite" in run("align", tmp_path / "one", *method, fails=InputError)


def test_a_range_of_a_prepared_folder_is_its_rows(tmp_path, bitext):
    run(
        "align",
        bitext,
        "-m",
        "fast_align",
        "-f",
        "corpus",
        "-o",
        tmp_path / "one",
        "--source-lang",
        "en",
        "--target-lang",
        "xx",
    )
    folder = open_corpus([tmp_path / "one"], "bitext")
    every = list(read_pairs(folder, mode="whitespace"))
    assert len(every) == LINES
    assert every[0].languages == ("en", "xx")
    for start, stop in ((0, 7), (7, 8), (8, LINES), (LINES - 3, LINES + 9), (5, 5)):
        assert list(read_pairs(folder, mode="whitespace", start=start, stop=stop)) == every[start:stop]


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize("command", ["align", "score"])
def test_commands_that_need_no_encoder_import_no_torch(tmp_path, bitext, command):
    links = tmp_path / "links.txt"
    links.write_text("0-0\n" * LINES)
    arguments = (
        [bitext, "-m", "hmm", "-o", tmp_path / "out.txt"] if command == "align" else [links, "--gold", links]
    )
    code = (
        "import sys\nfrom isoglot.cli import app\n"
        f"app({[command, *map(str, arguments)]!r}, standalone_mode=False)\n"
        "print([name for name in ('torch', 'transformers', 'datasets', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shown", ["jsonl", "offsets", "words"])
def test_standard_input_is_kept_where_its_words_are_shown(tmp_path, bitext, monkeypatch, shown):
    languages = ("--source-lang", "en", "--target-lang", "xx")
    expected = run("align", bitext, "-m", "fast_align", "-f", shown, *languages)
    with bitext.open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        source = Source(path="-", format="bars", source_language="en", target_language="xx")
        assert align_file([source], tmp_path / "out.txt", FastAlign(), LinkFormat(output=shown)) == LINES
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    "change", [lambda text: text + "a ||| b\n", lambda text: text.replace(" ||| ", " x ||| ", 1)]
)
def test_an_input_that_changes_while_it_is_aligned_is_refused(tmp_path, bitext, monkeypatch, change):
    fit = StatisticalAligner.fit_align_sides
    text = bitext.read_text(encoding="utf-8")

    def fit_and_change(*sides, **options):
        bitext.write_text(change(text), encoding="utf-8")
        return fit(*sides, **options)

    monkeypatch.setattr(StatisticalAligner, "fit_align_sides", fit_and_change)
    out = tmp_path / "out.jsonl"
    said = run("align", bitext, "-m", "fast_align", "-f", "jsonl", "-o", out, fails=InputError)
    assert re.search(r"pair \d+ was changed while the input was aligned; align it again", said)
    assert not out.exists()


def test_an_encoder_alone_stands_for_itermax(bitext, encoder):
    flags = (bitext, "--model", encoder, "--layer", 2)
    result = invoke("align", *flags)
    assert "itermax" in result.stderr
    assert result.stdout == run("align", *flags, "-m", "itermax")


def test_standard_input_is_read(tmp_path, bitext, monkeypatch):
    with bitext.open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        source = Source(path="-", format="bars", source_language="en", target_language="xx")
        assert align_file([source], tmp_path / "out.txt", FastAlign()) == LINES
    assert (tmp_path / "out.txt").read_text() == run("align", bitext, "-m", "fast_align")


def test_a_corpus_folder_is_written_for_training(tmp_path, bitext, corpus):
    out = tmp_path / "aligned"
    run(
        "align",
        bitext,
        "-m",
        "fast_align",
        "-f",
        "corpus",
        "-o",
        out,
        "--source-lang",
        "en",
        "--target-lang",
        "xx",
    )
    loaded = load_corpus(out)
    assert loaded["source_words"][:] == corpus["source_words"]
    assert sum(map(len, loaded["links"])) > LINES
    assert set(loaded["target_language"]) == {"xx"}


def test_a_finished_corpus_is_recognised_before_any_work(tmp_path, bitext, monkeypatch):
    out = tmp_path / "aligned"
    asked = (
        "align",
        bitext,
        "-m",
        "fast_align",
        "-f",
        "corpus",
        "-o",
        out,
        "--source-lang",
        "en",
        "--target-lang",
        "xx",
    )
    run(*asked)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    monkeypatch.setattr(
        "isoglot.aligners.with_statistics.ModelLearner", None
    )  # from here on nothing is aligned
    result = invoke(*asked)
    assert result.exception is None, result.output
    assert f"{out}: already exists for the same input" in result.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    message = run(*asked, "--lowercase", fails=ConfigurationError)
    assert "holds another aligned corpus (different: request.aligner.lowercase)" in message
    assert "choose another --out, or add --overwrite" in message
    bitext.write_text(bitext.read_text(encoding="utf-8") + "a ||| b\n", encoding="utf-8")
    assert f"inputs.{bitext}.size" in run(*asked, fails=ConfigurationError)


def test_a_finished_corpus_whose_model_was_replaced_is_not_passed_over(tmp_path, bitext):
    few, saved, out = tmp_path / "few.txt", tmp_path / "model", tmp_path / "all"
    few.write_text("a b ||| x y\n" * 9, encoding="utf-8")
    asked = ("-f", "corpus", "--source-lang", "en", "--target-lang", "xx", "--save", saved)
    run("align", bitext, "-m", "fast_align", *asked, "--out", out)
    run("align", bitext, "-m", "fast_align", *asked, "--out", out)
    run("align", few, "-m", "fast_align", *asked, "--out", tmp_path / "few", "--overwrite")
    message = run("align", bitext, "-m", "fast_align", *asked, "--out", out, fails=ConfigurationError)
    assert f"{saved}: was changed, and {out}, which was made with it, is finished" in message


@pytest.mark.parametrize("form", ["pharaoh", "corpus"])
def test_a_changed_shard_of_a_prepared_folder_is_noticed(tmp_path, bitext, form):
    source = Source(path=str(bitext), format="bars", source_language="en", target_language="xx")
    prepare(source, tmp_path / "one")
    prepare(source.model_copy(update={"source_language": "de"}), tmp_path / "other")
    shard = tmp_path / "one" / "data-00000.parquet"
    run("align", tmp_path / "one", "-m", "fast_align", "-f", form, "-o", tmp_path / "links")
    shard.write_bytes((tmp_path / "other" / shard.name).read_bytes())
    message = run(
        "align", tmp_path / "one", "-m", "fast_align", "-f", form, "-o", tmp_path / "links", fails=InputError
    )
    assert "data-00000.parquet was changed after it was written; restore it" in message


def test_a_finished_corpus_whose_lexicon_is_gone_is_not_passed_over(tmp_path, bitext):
    out, table = tmp_path / "aligned", tmp_path / "lexicon.tsv"
    asked = ("align", bitext, "-m", "fast_align", "-f", "corpus", "-o", out, "--lexicon", table)
    run(*asked)
    run(*asked)
    table.unlink()
    assert f"lexicon.tsv: is missing, and {out}" in run(*asked, fails=ConfigurationError)


EFLOMAL = """#!{python}
import sys
values = dict(a.split("=", 1) for a in sys.argv[1:] if "=" in a)
pairs = list(zip(open(values["--source"]), open(values["--target"])))
for side in ("--forward-links", "--reverse-links"):
    with open(values[side], "w") as file:
        for source, target in pairs:
            print(*[f"{{k}}-{{k}}" for k in range(min(len(source.split()), len(target.split())))], file=file)
"""


def test_eflomal_is_a_method_like_the_others(tmp_path, bitext, corpus):
    program = tmp_path / "eflomal-align"
    program.write_text(EFLOMAL.format(python=sys.executable))
    program.chmod(0o755)
    method = ("-m", "eflomal", "--set", f"program={program}")
    assert "eflomal" in run("align", bitext, "--methods")
    lines = run("align", bitext, *method, "--train-on", bitext).splitlines()
    shortest = [
        min(map(len, pair)) for pair in zip(corpus["source_words"], corpus["target_words"], strict=True)
    ]
    assert lines == [" ".join(f"{k}-{k}" for k in range(n)) for n in shortest]
    rows = [json.loads(line) for line in run("align", bitext, *method, "-f", "jsonl").splitlines()]
    assert all(row["score"] is None and row["probabilities"] == [] for row in rows)
    missing = run("align", bitext, "-m", "eflomal", "--set", "program=none", fails=ConfigurationError)
    assert "pip install eflomal" in missing
    assert "modle" in run("align", bitext, *method, "--set", "modle=2", fails=ConfigurationError)
    assert "--save" in run("align", bitext, *method, "--save", tmp_path / "m", fails=ConfigurationError)
    assert "--engine: method eflomal" in run(
        "align", bitext, *method, "--engine", "ray", fails=ConfigurationError
    )


@pytest.mark.parametrize("by_encoder", [False, True])
def test_improbable_links_and_pairs_are_left_out(bitext, encoder, by_encoder):
    method = ("-m", "argmax", "--model", encoder, "--layer", 2) if by_encoder else ("-m", "hmm")
    name = "similarities" if by_encoder else "probabilities"

    def rows(*flags):
        return [
            json.loads(line) for line in run("align", bitext, *method, "-f", "jsonl", *flags).splitlines()
        ]

    whole = rows()
    probabilities = sorted(p for row in whole for p in row[name])
    middle = probabilities[len(probabilities) // 2]
    for row, kept in zip(whole, rows("--min-probability", middle), strict=True):
        pairs = zip(row["links"], row[name], strict=True)
        assert kept["links"] == [link for link, p in pairs if p > middle or link in kept["links"]]
        assert all(p >= middle - 1e-6 for p in kept[name])
        assert kept["score"] <= row["score"]
    limit = sorted(row["score"] for row in whole)[LINES // 2]
    sure = rows("--min-score", limit + 1e-5)
    assert [bool(row["links"]) for row in sure] == [row["score"] > limit + 1e-5 for row in whole]
    assert 0 < sum(bool(row["links"]) for row in sure) < LINES


@pytest.mark.parametrize("method", ["fast_align", "hmm"])
def test_links_in_windows_are_those_of_the_whole(monkeypatch, bitext, method):
    arguments = ("align", bitext, "-m", method, "-f", "jsonl", "--min-score", "0.3")
    whole = run(*arguments)
    monkeypatch.setattr("isoglot.aligners.alignment.WINDOW", 7)
    assert run(*arguments) == whole


def test_a_loaded_model_streams(tmp_path, bitext, monkeypatch):
    saved = tmp_path / "model"
    expected = run("align", bitext, "-m", "hmm", "--save", saved)
    monkeypatch.setattr("isoglot.aligners.statistical.model.WINDOW", 7)
    assert run("align", bitext, "--load", saved) == expected
    precise = run("align", bitext, "--load", saved, "--set", "threshold=0.9")
    assert len(precise.split()) < len(expected.split())


def test_a_prepared_folder_alone_becomes_a_corpus(tmp_path):
    (tmp_path / "a.tsv").write_text("a b\tc d\nq r\ts t\n")
    run(
        "prepare",
        tmp_path / "a.tsv",
        "--source-lang",
        "en",
        "--target-lang",
        "de",
        "--out",
        tmp_path / "corpus",
    )
    run("align", tmp_path / "corpus", "-m", "fast_align", "-f", "corpus", "-o", tmp_path / "aligned")
    assert load_corpus(tmp_path / "aligned")["links"][0] == [[0, 0], [1, 1]]
    said = run("align", tmp_path / "aligned", "-m", "fast_align", "--words", "unicode", fails=InputError)
    assert "is already split into words" in said


def test_a_finished_corpus_is_not_said_to_be_aligned_again(tmp_path, bitext):
    call = ["align", str(bitext), "-m", "fast_align", "-f", "corpus", "-o", str(tmp_path / "out")]
    first, second = (invoke(*call).stderr for _ in range(2))
    assert f"{LINES} pairs aligned: {tmp_path / 'out'}" in first and "nothing to do" not in first
    assert f"already exists for the same input ({LINES} pairs); nothing to do" in second
    assert "pairs aligned" not in second
