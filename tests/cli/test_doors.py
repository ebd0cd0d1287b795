"""Each declared option does the same on the command line and in Python, or is refused by both in the same words."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cli_outcome import Isoglot
from commands import COMMANDS
from doors import Verb, at_both, derived, grouped, kept_pairs, mined, shards, sides, text
from model_verbs import MODEL_VERBS
from verb_calls import RECIPE, TREE, write_data, write_model

import isoglot as iso
from isoglot.testing import tiny_bitext

QUIET: dict[str, Any] = {"progress": False}
PROJECT: dict[str, Any] = {"target_language": "de", "method": "hmm"}
ROWS = tiny_bitext(12)
PAIRS = [*zip(ROWS["source"], ROWS["target"], strict=True)]
FILE = "pairs.tsv"
VERBS = [
    Verb(
        "prepare INPUT pairs.tsv --source-lang en --target-lang de --processes 1 --out OUT",
        lambda out, **o: iso.prepare(FILE, out, languages=("en", "de"), processes=1, **QUIET, **o),
        shards,
        values={
            "engine": ["local", "nonesuch"],
            "kind": ["bitext", "nonesuch"],
            "scripts": [{"en": "Latin"}, {"en": "nonesuch"}],
            "columns": [{"source": 1, "target": 0}, {"source": "x"}],
        },
    ),
    Verb(
        "derive INPUT en.txt --transform trans --lang en --out OUT",
        lambda out, **o: iso.derive("en.txt", out, **{"transform": "trans", "languages": "en", **QUIET, **o}),
        derived,
        names={"split": "split_sentences"},
        values={"columns": [{"text": 0}, {"text": "x"}], "transform": ["inv", "trans+inv", "nonesuch"]},
    ),
    Verb(
        "filter INPUT pairs.tsv --aligner none --source-lang en --target-lang de --out OUT",
        lambda out, **o: kept_pairs(out, rows=PAIRS, **{"languages": "en,de", **o}),
        sides,
        file="out.tsv",
        values={"aligner": [], "scripts": [{"en": "Latin"}, {"en": "nonesuch"}]},
        one_door={
            "columns": "how a file is read; the pairs are in memory",
            "delimiter": "how a file is read; the pairs are in memory",
            "header": "how a file is read; the pairs are in memory",
            "input_format": "how a file is read; the pairs are in memory",
            "dropped": "the pairs that Python gets hold their reasons",
            "report": "the pairs that Python gets hold their scores",
        },
    ),
    Verb(
        "mine INPUT en.txt xx.txt --model model --out OUT",
        mined,
        sides,
        file="out.tsv",
        values={"search": ["exact", "nonesuch"]},
    ),
    Verb("align-sentences INPUT en.txt xx.txt --model model --out OUT", grouped, sides, file="out.tsv"),
    Verb(
        "project INPUT en.conllu de.txt --target-lang de --method hmm --out OUT",
        lambda out, **o: iso.project("en.conllu", "de.txt", out, **{**PROJECT, **QUIET, **o}),
        text,
        values={
            "save": ["saved-model"],
            "lexicon": ["saved-lexicon"],
            "links_file": ["en.txt"],
            "device": ["cpu"],
        },
    ),
    Verb(
        "init INPUT pairs.tsv --model model --source-lang en --target-lang de --out OUT",
        lambda out, **o: iso.init(FILE, out, **{"model": "model", "languages": "en,de", **o}),
        text,
        file="recipe.yaml",
        values={"columns": [{"source": 1, "target": 0}, {"source": "x"}]},
    ),
]

VERBS += MODEL_VERBS

ELSEWHERE = {
    "align": "tests/cli/test_aligner_options.py",
    **dict.fromkeys(["predict", "report confusion"], "tests/cli/test_classifiers.py"),
    **dict.fromkeys(["inspect", "recipes", "demo"], "prints; Python has objects in place of the text"),
    **dict.fromkeys(["world", "fit-order"], "the command alone"),
    **dict.fromkeys(["pack", "merge"], "nothing but inputs and an output"),
    "report papers": "prints a table, which Python has as a frame",
}
"""Verbs that are compared elsewhere or have one door, and why; a new verb belongs in `VERBS`."""


def test_every_verb_is_compared_or_listed() -> None:
    commands = {
        " ".join(words) for words, command in COMMANDS.items() if words and not hasattr(command, "commands")
    }
    assert commands == {verb.name for verb in VERBS} | {*ELSEWHERE}


def write_gaps(path: Path) -> None:
    """Write alignment scores of four runs, and what transfer lost."""
    rows = []
    for number, run in enumerate("abcd"):
        measured = {"run": run, "language": "xx", "seed": 1, "examples": 8}
        score = {"task": "embedding_alignment", "metric": "alignment_score", "value": 20.0 * number}
        gap = {"task": "pos", "metric": "accuracy_delta", "value": 30.0 - number**2}
        rows += [{**measured, **score}, {**measured, **gap}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the calls read."""
    folder = tmp_path_factory.mktemp("doors")
    write_data(folder)
    for name in ("model", "tuned"):
        write_model(folder / name)
    (folder / "recipe.yaml").write_text(RECIPE.replace("MODEL", "model").replace("FOLDER/", ""))
    (folder / "other.jsonl").write_text((folder / "gold.jsonl").read_text())
    measured = {"task": "pos", "metric": "accuracy", "examples": 3}
    results = [
        {**measured, "run": run, "language": code, "value": 0.5} for run in "ab" for code in ("de", "es")
    ]
    write_gaps(folder / "gaps.jsonl")
    (folder / "results.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in results))
    (folder / FILE).write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    for name, side in (("en.txt", "source"), ("xx.txt", "target")):
        (folder / name).write_text("".join(f"{line}\n" for line in ROWS[side]))
    (folder / "en.conllu").write_text(TREE * 4)
    (folder / "de.txt").write_text("Alte Voegel singen\n" * 4)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_an_option_does_the_same_at_both_doors(
    verb: Verb, inputs: Path, isoglot: Isoglot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs)
    counts: Counter[str] = Counter()
    table, differing = list[str](), list[str]()
    for number, given in enumerate(verb.given()):
        by_command, by_python = at_both(verb, given, isoglot, tmp_path / str(number))
        assert given.flags or by_command[0] == "made", (
            by_command
        )  # else every refusal could be that of the call
        counts[by_command[0]] += 1
        same = by_command[0] if by_command == by_python else "DIFFERS"
        table.append(f"{verb.name:20} {' '.join(given.flags):50} {same}")
        if by_command != by_python:
            differing.append(f"{' '.join(given.flags)}: {str(by_command)[:300]}\n    {str(by_python)[:300]}")
    print("\n".join(table))  # shown by pytest -rP
    assert not differing, "\n".join([f"{len(differing)} differ of {dict(counts)}", *differing])
    assert counts["made"] and counts["refused"], counts
