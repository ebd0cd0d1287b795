"""Every reader on mutilated files: what comes out is a value or an `IsoglotError`, never another exception."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_recipes import load

from isoglot.core.errors import IsoglotError
from isoglot.corpus.labelled_tables import read_table
from isoglot.derivation.order_model import OrderModel
from isoglot.formats.labelled.pairs import read_pairs
from isoglot.formats.labelled.questions import read_questions
from isoglot.formats.labelled.tags import read_tags
from isoglot.formats.link_files import read_links
from isoglot.formats.readers import read
from isoglot.formats.schema import LEXICON, TAGGED
from isoglot.formats.sources import Kind, Source
from isoglot.results.rows import read as read_results
from isoglot.results.rows import read_cells

SENTENCES = (
    ("the house is old", "das Haus ist alt"),
    ("a dog", "ein Hund"),
    ("she sings well", "sie singt gut"),
)
TREE = """\
# sent_id = 1
# text = Dogs can't bark
1\tDogs\tdog\tNOUN\t_\tNumber=Plur\t4\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\t_\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\t_\t_\t4\tadvmod\t_\t_
4\tbark\tbark\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No

1\tBirds\tbird\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tsing\tsing\tVERB\t_\t_\t0\troot\t_\t_

"""
SQUAD = {
    "data": [
        {
            "title": "t",
            "paragraphs": [
                {
                    "context": "Anna lives in Ulm.",
                    "qas": [
                        {"id": "1", "question": "Where?", "answers": [{"text": "Ulm", "answer_start": 14}]}
                    ],
                }
            ],
        }
    ]
}
RESULT = {"run": "a", "task": "pos", "language": "de", "metric": "accuracy", "value": 0.5, "examples": 3}
ENTRY = {"target": "Hund", "source_language": "en", "target_language": "de"}
CELL = {"table": "mine:Table1", "row": ["a", "b"], "column": ["xnli", "zs"], "value": 71.3, "seed": 1}
RECIPE = """\
name: fuzzed
model: {path: some/encoder}
streams:
  bitext: {kind: bitext, path: a.tsv, source_language: en, target_language: de, columns: {source: 0, target: 1}}
views:
  pair: &pair {type: masked_pair, stream: bitext, probability: 0.3}
objectives:
  lm: {type: masked_lm, view: pair, weight: {value: 1.0, ramp_steps: 3}}
batch: {examples: 4}
steps: 2
train: {learning_rate: 1e-3, bf16: false, report_to: [none]}
"""


def lines(rows: Iterable[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def corpus(kind: Kind, **options: Any) -> Callable[[Path], object]:
    tags = (
        {"language": "en"}
        if kind in ("text", "treebank")
        else {"source_language": "en", "target_language": "de"}
    )
    return lambda path: list(read(Source(path=str(path), **tags, **options), kind=kind))


def links(name: str) -> Callable[[Path], object]:
    return lambda path: read_links(path, name=name)


def pairs(path: Path) -> object:
    return read_pairs(path, language="de", labels={"yes": "yes", "1": "yes", "no": "no"})


def dictionary(path: Path) -> object:
    return read_table(str(path), LEXICON, language="en", split="test", role="a dictionary")


def tagged(path: Path) -> object:
    return read_table(str(path), TAGGED, language="en", split="test", role="tagged sentences")


def tags(path: Path) -> object:
    return read_tags(path, language="en")


_TABS = lines("\t".join(pair) for pair in SENTENCES)
_OBJECTS = lines(json.dumps({"source": s, "target": t}) for s, t in SENTENCES)
_LINKED = [(*pair, [[0, 0], [1, 1]]) for pair in SENTENCES]
READERS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "TSV": ("a.tsv", _TABS, corpus("bitext")),
    "TSV with a heading": ("a.tsv", f"source\ttarget\tflags\n{lines(f'{s}	{t}	x' for s, t in SENTENCES)}",
                           corpus("bitext", header=True, columns={"flags": "flags"})),
    "CSV": ("a.csv", lines(f'"{s}","{t}"' for s, t in SENTENCES), corpus("bitext")),
    "CSV with a heading": ("a.csv", "source,target\n" + lines(f'"{s}",{t}' for s, t in SENTENCES),
                           corpus("bitext", header=True)),
    "JSON lines": ("a.jsonl", _OBJECTS, corpus("bitext")),
    "JSON lines, columns inside": ("a.jsonl", lines(json.dumps({"t": {"en": s, "de": t}}) for s, t in SENTENCES),
                                   corpus("bitext", columns={"source": "t.en", "target": "t.de"})),
    "JSON lines, text": ("a.jsonl", lines(json.dumps({"text": s}) for s, _ in SENTENCES), corpus("text")),
    "JSON lines, linked": ("a.jsonl", lines(json.dumps({"source": s.split(), "target": t.split(), "links": a})
                                            for s, t, a in _LINKED), corpus("aligned")),
    "bars": ("a.src-tgt", lines(f"{s} ||| {t} ||| 0-0 1p1" for s, t in SENTENCES), corpus("aligned")),
    "text": ("a.txt", lines(s for s, _ in SENTENCES), corpus("text")),
    "text, documents": ("a.txt", "\n\n".join(s for s, _ in SENTENCES), corpus("text", documents=True)),
    "TMX": ("a.tmx", "<tmx><header srclang='en'/><body><tu><tuv xml:lang='en'><seg>a dog</seg></tuv>"
            "<tuv xml:lang='de'><seg>ein <b>Hund</b></seg></tuv></tu></body></tmx>", corpus("bitext")),
    "lexicon": ("a.txt", lines(("dog Hund", "house\tHaus", "old alt")), corpus("lexicon")),
    "dictionary": ("a.jsonl", lines(json.dumps(ENTRY | {"source": s}) for s in ("dog", "hound")), dictionary),
    "tagged JSON lines": ("a.jsonl", lines(json.dumps({"words": ["a", "b"], "tags": ["X", t]}) for t in "YZ"), tagged),
    "treebank": ("a.conllu", TREE, corpus("treebank")),
    "CoNLL-U tags": ("a.conllu", TREE, tags),
    "WikiANN": ("a.txt", "en:Anna\tB-PER\nen:sings\tO\n\nen:Ulm\tB-LOC\n", tags),
    "XTREME tags": ("a.tsv", "Anna\tB-PER\nsings\tO\n\nUlm\tI-LOC\n", tags),
    "SQuAD": ("a.json", json.dumps(SQUAD), lambda path: read_questions(path, language="en")),
    "labelled TSV": ("a.tsv", "sentence1\tsentence2\tlabel\na dog\tein Hund\tyes\nb\tc\tno\n", pairs),
    "labelled CSV": ("a.csv", 'sentence1,sentence2,label\n"a dog","ein Hund",yes\nb,c,no\n', pairs),
    "labelled JSON lines": ("a.jsonl", lines(json.dumps({"sentence1": "a", "sentence2": "b", "gold_label": x})
                                             for x in ("yes", "no")), pairs),
    "order model": ("a.orm", "AFT_NOUN&nmod_PRON&nmod -0.82\nBI_X&conj_PUNCT&punct -1.5E-4\n", OrderModel.load),
    "results": ("a.jsonl", lines([json.dumps(RESULT)] * 2), read_results),
    "cells": ("a.jsonl", lines([json.dumps(CELL)] * 2), read_cells),
    "recipe": ("a.yaml", RECIPE, load),
    **{f"links, {name}": (f"a.{name}", text, links(name)) for name, text in {
        "pharaoh": "0-0 1p1 2-2\n\n0-1\n", "talp": "1-1 2p2\n\n", "naacl": "1 1 1 S\n1 2 2 P\n0002 1 1\n",
        "alignv2": "1 1 1\n1 2 2 P\n2 1 1 S\n",
        "jsonl": lines([json.dumps({"src": ["a", "b"], "tgt": ["c"], "sure": [[0, 0]], "possible": [[1, 0]]})] * 2),
    }.items()},
}  # fmt: skip
NASTY = [
    "", "\x00", "\t", "\n", "\r", "\r\n", " ", "\u2028", "\x85", "\ufeff", '"', "'", "\\", "\\ud800", "\\u0000",
    "{", "}", "[", "]", ":", ",", "|||", "-", "-1", "0-", "1-1-1", "99999999999", "1" * 5000, "1e999", "NaN",
    "Infinity", "null", "true", "[]", "{}", '""', "[" * 20_000, '{"a":' * 20_000, "&x", "*x",
    "!!python/object:os.system",
    "<<", "<!DOCTYPE a>", "&lol;", "<", ">", "</body>", "1.5", "²", "٣", "\u200b", "a" * 3000, "S", "P", "_",
    "B-", "I-PER",
    "O", "2.1", "1-2", "2-999999999",
]  # fmt: skip


@st.composite
def mutilated(draw: st.DrawFn, text: str) -> bytes:
    """A valid file with some parts replaced, and sometimes cut, repeated or with broken bytes."""
    parts = list(text)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(parts)))
        end = min(len(parts), start + draw(st.sampled_from((0, 0, 1, 2, 5, 20, 100))))
        parts[start:end] = draw(st.sampled_from(NASTY) | st.text(max_size=4))
    data = "".join(parts).encode("utf-8", "surrogatepass")
    how = draw(st.sampled_from(("whole", "whole", "whole", "cut", "byte", "packed", "wide")))
    if how == "cut":
        return data[: draw(st.integers(0, len(data)))]
    if how == "byte":
        place = draw(st.integers(0, len(data)))
        return data[:place] + bytes([draw(st.integers(0, 255))]) + data[place:]
    if how == "packed":
        packed = gzip.compress(data, 1)
        return packed[: draw(st.integers(0, len(packed)))]
    return data.decode("utf-8", "replace").encode("utf-16") if how == "wide" else data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzzed")


@pytest.mark.parametrize("name", READERS)
def test_the_file_is_read_before_it_is_mutilated(name: str, folder: Path) -> None:
    file, text, call = READERS[name]
    (folder / file).write_text(text, encoding="utf-8")
    assert call(folder / file)


@pytest.mark.parametrize("name", READERS)
def test_a_mutilated_file_is_read_or_refused(name: str, folder: Path) -> None:
    file, text, call = READERS[name]

    @settings(max_examples=20, database=None)
    @given(mutilated(text))
    def check(data: bytes) -> None:
        (folder / file).write_bytes(data)
        try:
            call(folder / file)
        except IsoglotError as error:
            assert str(error).strip()

    check()


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_every_part_may_be_replaced_by_anything(name: str, folder: Path) -> None:
    file, text, call = READERS[name]
    parts = [match.span() for match in re.finditer(r"[\w.&@-]+|[^\w\s]|\s", text)]
    for nasty in NASTY:
        for start, end in parts[:: max(1, len(parts) // 10)]:
            (folder / file).write_bytes((text[:start] + nasty + text[end:]).encode("utf-8", "surrogatepass"))
            with contextlib.suppress(IsoglotError):
                call(folder / file)
