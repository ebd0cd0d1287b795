"""`isoglot derive` and `isoglot fit-order` from the command line: every kind of input, and mistakes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_outcome import Isoglot

from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.corpus.manifest import load_corpus
from isoglot.derivation.api import derive
from isoglot.synthetic.options import WorldRequest
from isoglot.synthetic.write_world import write_world

CONLLU = """\
1\tthe\t_\tDET\t_\t_\t3\tdet\t_\t_
2\told\t_\tADJ\t_\t_\t3\tamod\t_\t_
3\tcat\t_\tNOUN\t_\t_\t4\tnsubj\t_\t_
4\tsees\t_\tVERB\t_\t_\t0\troot\t_\t_
5\tmice\t_\tNOUN\t_\t_\t4\tobj\t_\t_

"""
HEAD_FINAL = ("--syntax", "en~head-final@N~head-final@V", "--models", "built-in", "--best")
FILES = {
    "text.txt": "the old cat sees mice .\nit rains .\n",
    "pairs.tsv": "the cat sees .\tdie Katze sieht .\nit rains .\tes regnet .\n",
    "trees.conllu": CONLLU,
    "dev": "en:New\tB-LOC\nen:York\tI-LOC\nen:won\tO\nen:.\tO\n\n",
    "tags.jsonl": json.dumps({"words": ["it", "rains", "."], "tags": ["PRON", "VERB", "PUNCT"]}) + "\n",
    "nli.tsv": "premise\thypothesis\tlabel\nA dog barks.\tIt sleeps.\tneutral\n",
    "paws.tsv": "id\tsentence1\tsentence2\tlabel\n1\tA met B.\tB met A.\t0\n",
    "squad.json": json.dumps(
        {"data": [{"paragraphs": [{"context": "Ann Lee won.", "qas": [
            {"id": "1", "question": "Who won?", "answers": [{"text": "Ann Lee", "answer_start": 0}]}]}]}]}
    ),
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def inverted(isoglot: Isoglot, data: Path, name: str, *arguments: str) -> Path:
    done = isoglot("derive", data / name, "-t", "inv", "--out", data / "out", "--lang", "en", *arguments)
    assert done.returncode == 0, done.stderr
    assert "aligned pairs" in done.stderr
    return data / "out"


def test_text(isoglot: Isoglot, data: Path) -> None:
    out = inverted(isoglot, data, "text.txt")
    assert (out / "derived.txt").read_text() == "mice sees cat old the .\nrains it .\n"
    assert (out / "original.txt").read_text() == FILES["text.txt"]
    assert load_corpus(out / "aligned")[1]["links"] == [[0, 1], [1, 0], [2, 2]]


def test_text_with_letters_that_change_has_a_lexicon(isoglot: Isoglot, data: Path) -> None:
    done = isoglot(
        "derive", data / "text.txt", "-t", "trans+inv", "-o", data / "out", "--lang", "en", "--lexicon", "0.5"
    )
    assert done.returncode == 0, done.stderr
    assert "en-x-trans-inv" in done.stderr
    lines = (data / "out" / "lexicon.txt").read_text().splitlines()
    assert len(lines) == 4 == len({line.split("\t")[0] for line in lines})


def test_bitext(isoglot: Isoglot, data: Path) -> None:
    out = inverted(isoglot, data, "pairs.tsv", "--kind", "bitext", "--target-lang", "de", "--side", "target")
    row = rows(out / "derived.jsonl")[0]
    assert (row["source"], row["target"]) == ("the cat sees .", "sieht Katze die .")
    assert (row["source_language"], row["target_language"]) == ("en", "de-x-inv")


def test_treebank_gives_trees_text_and_links(isoglot: Isoglot, data: Path) -> None:
    out = data / "out"
    done = isoglot("derive", data / "trees.conllu", "-t", "trans+syn", *HEAD_FINAL, "-o", out, "--lang", "en")
    assert done.returncode == 0, done.stderr
    words = [x.split("\t") for x in (out / "derived.conllu").read_text().splitlines() if "\t" in x]
    assert [(w[3], w[6], w[7]) for w in words] == [
        ("NOUN", "5", "nsubj"), ("ADJ", "1", "amod"), ("DET", "1", "det"), ("NOUN", "5", "obj"), ("VERB", "0", "root"),
    ]  # fmt: skip
    assert (out / "original.txt").read_text() == "the old cat sees mice\n"
    assert (out / "derived.txt").read_text().split() == [w[1] for w in words]
    row = load_corpus(out / "aligned")[0]
    assert row["links"] == [[0, 2], [1, 1], [2, 0], [3, 4], [4, 3]]


@pytest.mark.parametrize(
    ("name", "kind", "words", "tags"),
    [
        ("dev", "tagged", ["won", "York", "New", "."], ["O", "B-LOC", "I-LOC", "O"]),
        ("tags.jsonl", None, ["rains", "it", "."], ["VERB", "PRON", "PUNCT"]),
    ],
)
def test_tagged(
    isoglot: Isoglot, data: Path, name: str, kind: str | None, words: list[str], tags: list[str]
) -> None:
    out = inverted(isoglot, data, name, *(() if kind is None else ("--kind", kind)))
    assert rows(out / "derived.jsonl") == [{"words": words, "tags": tags, "language": "en-x-inv"}]


@pytest.mark.parametrize(
    ("name", "kind", "first", "second", "label"),
    [
        ("nli.tsv", "nli", "barks dog A.", "sleeps It.", "neutral"),
        ("paws.tsv", "paws", "B met A.", "A met B.", "0"),
    ],
)
def test_pairs(
    isoglot: Isoglot, data: Path, name: str, kind: str, first: str, second: str, label: str
) -> None:
    row = rows(inverted(isoglot, data, name, "--kind", kind) / "derived.jsonl")[0]
    assert (row["first"], row["second"], row["label"]) == (first, second, label)


def test_questions(isoglot: Isoglot, data: Path) -> None:
    row = rows(inverted(isoglot, data, "squad.json") / "derived.jsonl")[0]
    assert (row["context"], row["question"]) == ("won Lee Ann .", "won Who ?")
    assert row["answers"] == {"text": ["Lee Ann"], "start": [4]}


def test_labels_of_a_treebank_by_word_form(isoglot: Isoglot, tmp_path: Path) -> None:
    """The command, and the call that does the same, give both *can* of `I can see the can` the first one's tag."""
    lines = (
        "1 I PRON 3 nsubj",
        "2 can AUX 3 aux",
        "3 see VERB 0 root",
        "4 the DET 5 det",
        "5 can NOUN 3 obj",
    )
    rows = ("{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_".format(*line.split()) for line in lines)
    (tmp_path / "trees.conllu").write_text("\n".join(rows) + "\n\n")
    done = isoglot(
        "derive", tmp_path / "trees.conllu", "-t", "syn", *HEAD_FINAL, "-o", tmp_path / "command", "--lang", "en",
        "--labels", "first_match",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    syntax = {"syntax": "en~head-final@N~head-final@V", "models": "built-in", "best": True}
    options: dict[str, Any] = {**syntax, "languages": "en", "labels": "first_match"}
    derive(tmp_path / "trees.conllu", tmp_path / "call", transform="syn", **options)
    texts = [(tmp_path / name / "derived.conllu").read_text() for name in ("command", "call")]
    assert texts[0] == texts[1]
    assert re.findall(r"\tcan\t_\t(\w+)", texts[0]) == ["AUX", "AUX"]


def test_questions_by_syntax_with_parses(isoglot: Isoglot, data: Path) -> None:
    trees = (
        "1\tAnn\t_\tPROPN\t_\t_\t3\tnsubj\t_\t_\n2\tLee\t_\tPROPN\t_\t_\t1\tflat\t_\t_\n"
        "3\twon\t_\tVERB\t_\t_\t0\troot\t_\t_\n4\t.\t_\tPUNCT\t_\t_\t3\tpunct\t_\t_\n\n"
        "1\tWho\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\twon\t_\tVERB\t_\t_\t0\troot\t_\t_\n3\t?\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n"
    )
    (data / "qa.conllu").write_text(trees)
    done = isoglot(
        "derive", data / "squad.json", "-t", "syn", *HEAD_FINAL, "-o", data / "out", "--lang", "en",
        "--parses", data / "qa.conllu",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = rows(data / "out" / "derived.jsonl")[0]
    assert row["context"] == "Ann Lee won ."
    assert row["answers"] == {"text": ["Ann Lee"], "start": [0]}


@pytest.mark.parametrize(
    "algorithm", ["byte_bpe", *(pytest.param(a, marks=pytest.mark.slow) for a in ("unigram", "wordpiece"))]
)
def test_vocabulary_overlap_of_any_tokenizer(isoglot: Isoglot, tmp_path: Path, algorithm: str) -> None:
    """What is written is read by the plain tokenizer in the folder as the shifted ids of the original."""
    from transformers import AutoTokenizer

    from isoglot.derivation.vocabulary import VocabularyCopy

    world = tmp_path / "world"
    write_world(world, WorldRequest(text=200, pos=0, ner=0, nli=0, paws=0, qa=0, dev=0, test=0))
    lines = (world / "text/en.train.txt").read_text().splitlines()
    family = "bert" if algorithm == "wordpiece" else "roberta"
    original = train_tokenizer(lines, algorithm=algorithm, vocab_size=500, family=family)
    original.save_pretrained(tmp_path / "tokenizer")
    out = tmp_path / "out"
    done = isoglot(
        "derive", world / "text/en.train.txt", "-t", "trans", "--tokenizer", tmp_path / "tokenizer",
        "--overlap", "0.25", "-o", out, "--lang", "en",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    doubled, copy = AutoTokenizer.from_pretrained(out / "tokenizer"), VocabularyCopy.load(out / "tokenizer")
    assert len(copy.shared) == round(0.25 * (len(original) - len(original.all_special_ids)))
    derived = (out / "derived.txt").read_text().splitlines()
    for before, after in zip(lines, derived, strict=True):
        assert doubled(after)["input_ids"] == copy.shift(original(before)["input_ids"]).tolist()
    entries = load_corpus(out / "lexicon")
    for entry in entries:
        ids, image = (
            doubled(f"x {w}", add_special_tokens=False)["input_ids"][1:]
            for w in (entry["source"], entry["target"])
        )
        assert image != ids


def test_models_are_fitted_and_used(isoglot: Isoglot, data: Path) -> None:
    models = data / "models"
    for language in ("fr", "en"):
        done = isoglot("fit-order", data / "trees.conllu", "--lang", language, "--out", models, "--l2", "0.1")
        assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in models.iterdir()) == ["en@N.orm", "en@V.orm", "fr@N.orm", "fr@V.orm"]
    assert "bits an order before" in done.stderr
    before = {path: path.read_bytes() for path in models.iterdir()}
    fit = ("fit-order", data / "trees.conllu", "--lang", "en", "--out", models, "--l2")
    assert isoglot(*fit, "0.1").returncode == 0  # the same again
    done = isoglot(*fit, "0.2")
    assert done.returncode == 2 and "en@N.orm: is another model; choose another --out, or add" in done.stderr
    assert {path: path.read_bytes() for path in models.iterdir()} == before
    assert isoglot(*fit, "0.2", "--overwrite").returncode == 0
    out = data / "out"
    spec = ("--syntax", "en~fr@N~fr@V", "--models", models, "--best")
    done = isoglot("derive", data / "trees.conllu", "-t", "syn", *spec, "-o", out, "--lang", "en")
    assert done.returncode == 0, done.stderr
    assert (out / "derived.txt").read_text() == (out / "original.txt").read_text()


WRONG = {
    "a.conllu": ("1\tthe\t_\tDET\t_\t_\t0\troot\t_\t_\n2\tcat\n\n", None, r"a\.conllu:2"),
    "b.conllu": ("1\tthe\t_\tDET\t_\t_\tx\troot\t_\t_\n\n", None, r"b\.conllu:1"),
    "ner": ("en:New\tB-LOC\nen:York\tPLACE\n\n", "tagged", r"ner:2: unknown tag 'PLACE'"),
    "nli.tsv": ("premise\thypothesis\tlabel\na\tb\tneutral\nc\td\tmaybe\n", "nli", r"nli\.tsv:3: unknown label"),
    "paws.tsv": ("sentence1\tsentence2\tlabel\na\tb\n", "paws", r"paws\.tsv:2: 2 columns"),
    "qa.json": ('{"data": [\n{"paragraphs": ]}', "qa", r"qa\.json:2"),
    "qa2.json": ('{"data": [{"paragraphs": [{"context": "a"}]}]}', "qa", r"qa2\.json: is not.*no 'qas'"),
    "pairs.tsv": ("a\tb\nc\n", "bitext", r"pairs\.tsv:2"),
    "tags.jsonl": (FILES["tags.jsonl"] + '{"words": ["a", "b"], "tags": ["X"]}\n', None, r"jsonl:2: 2 words and 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_name_file_and_line_and_leave_nothing(isoglot: Isoglot, tmp_path: Path, name: str) -> None:
    text, kind, said = WRONG[name]
    (tmp_path / name).write_text(text)
    more = ["--kind", kind] if kind else []
    more += ["--target-lang", "de"] if kind == "bitext" else []
    done = isoglot("derive", tmp_path / name, "-t", "inv", "-o", tmp_path / "out", "--lang", "en", *more)
    assert done.returncode == 2
    assert re.search(said, done.stderr), done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_text_that_is_no_text_names_its_line(isoglot: Isoglot, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"good\nb\xff\xfe\n")
    done = isoglot("derive", tmp_path / "x.txt", "-t", "inv", "-o", tmp_path / "out", "--lang", "en")
    assert done.returncode == 2 and "x.txt:2" in done.stderr
    assert not (tmp_path / "out").exists()


def test_syntax_of_data_without_trees_says_what_to_do(isoglot: Isoglot, data: Path) -> None:
    for name, kind in (("text.txt", "text"), ("nli.tsv", "nli"), ("dev", "tagged"), ("squad.json", "qa")):
        done = isoglot(
            "derive",
            data / name,
            "-t",
            "syn",
            *HEAD_FINAL,
            "-o",
            data / "out",
            "--lang",
            "en",
            "--kind",
            kind,
        )
        assert done.returncode == 2
        assert f"{name}: syn orders the words of trees, but {kind} data has none" in done.stderr
        assert "stanza" in done.stderr and "--parses FILE.conllu" in done.stderr
    done = isoglot("derive", data / "trees.conllu", "-t", "syn", "-o", data / "out", "--lang", "en")
    assert done.returncode == 2 and "--models built-in" in done.stderr
    assert not (data / "out").exists()


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--transform", "rot13", "'rot13' is unknown"),
        ("--level", "letter", "--level: got 'letter'; known: token, word"),
        ("--repair", "some", "--repair: got 'some'"),
        ("--overlap", "1.5", "--overlap: got 1.5"),
        ("--lexicon", "2", "--lexicon: got 2.0"),
        ("--alphabet", "greek", "unknown alphabet 'greek'; known: armenian"),
        ("--kind", "poem", "--kind: got 'poem'; known: aligned, bitext"),
    ],
)
def test_flags_out_of_range(isoglot: Isoglot, data: Path, flag: str, value: str, said: str) -> None:
    arguments = ["derive", str(data / "text.txt"), "-o", str(data / "out"), "--lang", "en", flag, value]
    done = isoglot(*arguments, *(() if flag == "--transform" else ("-t", "trans")))
    assert done.returncode == 2 and said in done.stderr
    assert not (data / "out").exists() and not list(data.glob(".*"))


def test_flags_that_would_do_nothing_are_refused(isoglot: Isoglot, data: Path) -> None:
    (data / "copy").mkdir()
    (data / "copy" / "vocabulary_copy.json").write_text("{}")
    for name, spec, flags, said in (
        ("text.txt", "inv", ("--overlap", "0.5", "--best", "--split-sentences", "--lexicon", "0"),
         ["--overlap is for trans, but --transform is inv", "--best is for syn"]),
        ("text.txt", "trans", ("--target-lang", "de", "--end-marks", "."),
         ["--lang: two are for bitext and aligned data, got text", "--end-marks is for inv and --split-sentences"]),
        ("text.txt", "trans", ("--kind", "tagged", "--format", "tsv"), ["--format is for text, bitext, aligned"]),
        ("text.txt", "trans", ("--tokenizer", "x", "--alphabet", "armenian", "--with-replacement"),
         ["--alphabet changes letters", "--with-replacement needs --overlap"]),
        ("text.txt", "trans", ("--tokenizer", data / "copy", "--overlap", "0.5"), ["--overlap is fixed in the copy"]),
        ("text.txt", "inv", ("--kind", "nli", "--literal", "--level", "token", "--tokenizer", "x"),
         ["--literal inverts words, and --level token inverts pieces"]),
        ("text.txt", "perm", ("--tokenizer", "x", "--literal", "--first-parse-only"),
         ["--tokenizer is for trans", "--literal is for inv", "--first-parse-only is for syn",
          "--first-parse-only needs --parses"]),
        ("trees.conllu", "inv", ("--split-sentences", "--side", "source", "--repair", "flip", "--lambda", "0.1"),
         ["--split-sentences is for text data, got treebank", "--side is for bitext and aligned data",
          "--repair is for tagged data", "--rate is for syn"]),
    ):  # fmt: skip
        done = isoglot("derive", data / name, "-t", spec, "-o", data / "out", "--lang", "en", *flags)
        assert done.returncode == 2
        for part in said:
            assert part in done.stderr
        assert done.stderr.count("leave it out") == len(said)
        assert not (data / "out").exists()


def test_a_model_or_treebank_that_does_not_do(isoglot: Isoglot, data: Path) -> None:
    models = data / "models"
    models.mkdir()
    spec = ("-t", "syn", "--syntax", "en~fr@N", "--models", models, "-o", data / "out", "--lang", "en")
    done = isoglot("derive", data / "trees.conllu", *spec)
    assert (
        done.returncode == 2
        and "fr@N.orm: file not found" in done.stderr
        and "isoglot fit-order" in done.stderr
    )
    (models / "fr@N.orm").write_text("BI_a_b 1.0\nBI_a_c high\n")
    done = isoglot("derive", data / "trees.conllu", *spec)
    assert done.returncode == 2 and "fr@N.orm:2" in done.stderr
    (data / "nouns.conllu").write_text("1\tcat\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n")
    done = isoglot("fit-order", data / "nouns.conllu", "--lang", "xx", "--out", data / "fits")
    assert (
        done.returncode == 2
        and "nouns.conllu: no noun, name or pronoun with one to five dependents" in done.stderr
    )
    assert not (data / "fits").exists()
    (data / "bad.conllu").write_text("1\tcat\n\n")
    done = isoglot("fit-order", data / "bad.conllu", "--lang", "xx", "--out", data / "fits")
    assert done.returncode == 2 and "bad.conllu:1" in done.stderr


@pytest.mark.slow
def test_derived_text_needs_no_torch(data: Path) -> None:
    arguments = [
        "derive",
        str(data / "text.txt"),
        "-t",
        "trans+inv",
        "--lang",
        "en",
        "--out",
        str(data / "out"),
    ]
    code = (
        "import sys\nfrom isoglot.cli import app\n"
        f"try: app({arguments!r})\nexcept SystemExit: pass\n"
        "print('HEAVY', sorted({'torch', 'transformers', 'scipy'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "HEAVY []"
    assert (data / "out" / "derived.txt").is_file()
