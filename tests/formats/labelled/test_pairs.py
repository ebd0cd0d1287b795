from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_files import text_file
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.labelled.pairs import NLI_LABELS, PARAPHRASE_LABELS, read_pairs
from isoglot.tasks import build_task


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "p\th\tneutral\nq\ti\tcontradiction\n"),
        ("a.tsv", "premise\thypothesis\tlabel\np\th\t1\nq\ti\t2\n"),
        ("a.tsv", "premise\thypo\tlabel\np\th\tneutral\nq\ti\tcontradictory\n"),
        ("a.csv", 'premise,hypothesis,label\np,h,neutral\n"q",i,contradiction\nx,y,-\n'),
        ("a.tsv", "language\tgold_label\tsentence1\tsentence2\tpairID\nfr\tneutral\tz\tz\t1\n"
                  "de\tneutral\tp\th\t1\nde\tcontradiction\tq\ti\t2\n"),
        ("a.jsonl", '{"language": "de", "gold_label": "neutral", "label": "x", "sentence1": "p", "sentence2": "h"}\n'
                    '{"language": "de", "gold_label": "contradiction", "sentence1": "q", "sentence2": "i"}\n'),
    ],
)  # fmt: skip
def test_nli_formats(tmp_path: Path, name: str, text: str) -> None:
    found = read_pairs(text_file(tmp_path, name, text), language="de", labels=NLI_LABELS)
    rows = [(r["first"], r["second"], r["label"], r["language"]) for r in found]
    assert rows == [("p", "h", "neutral", "de"), ("q", "i", "contradiction", "de")]


@pytest.mark.parametrize("premise", [None, ["a"], {}])
def test_premise_must_be_text(tmp_path: Path, premise: object) -> None:
    row = {"premise": premise, "hypothesis": "b", "label": 1}
    path = text_file(tmp_path, "a.jsonl", json.dumps(row))
    with refused(InputError, "a.jsonl:1: premise is ", "text", "label"):
        read_pairs(path, language="de", labels=NLI_LABELS)


def test_three_letters_are_the_same_language(tmp_path: Path) -> None:
    rows = [{"first": c, "second": "b", "label": 1, "language": c} for c in ("deu", "DE", "en", "de")]
    path = text_file(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert read_pairs(path, language="de", labels=NLI_LABELS)["first"][:] == ["deu", "DE", "de"]


def test_quoted_line_breaks_keep_line_numbers(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.csv", 'premise,hypothesis,label\n"a\nb",c,neutral\nd,e,wrong\n')
    with refused(InputError, "a.csv:4: ", "'wrong'", "contradiction, contradictory, entailment, neutral"):
        read_pairs(path, language="en", labels=NLI_LABELS)


def test_untranslated_paraphrases_are_left_out_and_ids_kept(tmp_path: Path) -> None:
    text = "id\tsentence1\tsentence2\tlabel\n1\tNS\tx\t0\n2\ta\tNS\t0\n7\ta\tb\t1\n"
    found = read_pairs(text_file(tmp_path, "a.tsv", text), language="de", labels=PARAPHRASE_LABELS)
    assert [(r["id"], r["label"]) for r in found] == [("7", "1")]
    data = [str(tmp_path / "a.tsv")]
    for task, options, ids in [("pawsx", {}, ["7"]), ("pawsx", {"untranslated": "keep"}, ["1", "2", "7"]),
                               ("xnli", {}, ["1", "2", "7"])]:  # fmt: skip
        assert list(build_task(task, data, **options).load("de", "test")["id"]) == ids
    with refused(ConfigurationError, "untranslated: ", "'NS'", "drop, keep"):
        build_task("pawsx", data, untranslated="NS")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tneutral\na\tneutral\n", r"a\.tsv:2: 2 columns"),
        ("a\tb\n", r"a\.tsv: no pair has a label"),
        ("premise\tlabel\na\tneutral\n", r"a\.tsv:2: column second .*is missing"),
        ("label\tpremise\thypothesis\tlabel\n", r"a\.tsv:1: the header has column 'label' twice"),
        ("language\tlabel\tsentence1\tsentence2\nfr\t0\ta\tb\n", "languages there are fr"),
    ],
)
def test_bad_pairs_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_pairs(text_file(tmp_path, "a.tsv", text), language="de", labels=NLI_LABELS)


def test_a_name_that_stands_twice_in_a_pair_is_refused(tmp_path: Path) -> None:
    text = '{"premise": "a", "hypothesis": "b", "label": "0", "label": "1"}\n'
    with refused(InputError, "p.jsonl:1: ", "'label'"):
        read_pairs(text_file(tmp_path, "p.jsonl", text), language="de", labels=NLI_LABELS)
