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
from result_doors import (
    compared,
    findings,
    history,
    kept_choice,
    page,
    rates,
    rows,
    scored,
    studied,
    trimmed,
    tuned,
    written,
)
from verb_calls import RECIPE, TREE, write_data, write_model

import isoglot as iso
from isoglot.aligners.options import LayerScoring, ModelScoring
from isoglot.options import option_names
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

POS = {"language": "en", "data": ["{language}.tsv", "dev={language}.tsv"], "epochs": 1, "batch_size": 4}
POS_FLAGS = "--task pos --data {language}.tsv --data dev={language}.tsv --epochs 1 --set batch_size=4"
GAP = {"data": "{language}.tsv", "languages": "en,xx", "split": "test", "epochs": 1, "batch_size": 4}
GAP_FLAGS = "--task pos --data {language}.tsv --languages en,xx --split test --epochs 1 --set batch_size=4"
RETRIEVAL = {"data": "tatoeba", "languages": "xx", "layer": 2}
CORPUS = {"corpus": "aligned.src-tgt", "languages": ("en", "xx"), "input_format": "bars"}
CORPUS_FLAGS = "--corpus aligned.src-tgt --source-lang en --target-lang xx --input-format bars"
COLUMNS = {"columns": [{"source": 0, "target": 1}, {"nonesuch": 1}], "input_format": ["bars", "nonesuch"]}


def analysed(name: str, model: str | list[str], **base: Any) -> Any:
    """A call of an analysis, given where to write and the option."""
    quiet = {} if name == "correlation" else QUIET
    return lambda out, **o: iso.analyse(name, model, out=out, **{**base, **quiet, **o})


MODEL_VERBS = [
    Verb(
        "score INPUT links.txt --gold gold.jsonl --json",
        scored,
        rates,
        prints=True,
        values={
            "format": ["pharaoh", "jsonl", "nonesuch"],
            "gold_format": ["jsonl", "nonesuch"],
            "sentences": ["each.tsv", "-"],
            "base": [0, 1, -3],
            "gold_base": [0, 1, -3],
        },
        one_door={
            **dict.fromkeys(
                option_names(ModelScoring, LayerScoring) - {"sentences"},
                "Python has tune, and evaluate(model, 'word_alignment')",
            ),
            "as_json": "how the score is printed",
        },
    ),
    Verb(
        "tune INPUT tuned --gold gold.jsonl --layers 1,2",
        tuned,
        kept_choice,
        values={"gold": ["other.jsonl", "nonesuch"], "layers": ["all", "1", "7", "nonesuch"]},
    ),
    Verb(
        "trim INPUT model --text en.txt --out OUT",
        trimmed,
        lambda out: written(out, "trim.json", "tokenizer.json"),
        values={"text": ["xx.txt", "nonesuch"], "held_out": ["xx.txt", "nonesuch"]},
    ),
    Verb(
        "export INPUT model --to sentence-transformers --out OUT",
        lambda out, **o: iso.export("model", out, **o),
        lambda out: (written(out, "export.json", "modules.json"), text(out / "README.md")),
        values={"to": ["sentence-transformers", "nonesuch"], "layer": [1, 0, 9]},
    ),
    Verb(
        "report page INPUT results.jsonl --out OUT",
        lambda out, **o: iso.report("results.jsonl", out=out, **o),
        page,
        file="page.html",
        values={
            "combine": ["both=de:a,es:b", "nonesuch"],
            "rename": [{"a": "ours"}, {"nonesuch": "ours"}],
            "title": ["Ours"],
            "introduction": ["What was run."],
            "baseline": ["a", "nonesuch"],
            "source": ["de", "nonesuch"],
            "gold": ["gold.jsonl", "nonesuch"],
            "tables": ["tables"],
        },
    ),
    Verb(
        "report compare INPUT results.jsonl",
        compared,
        text,
        prints=True,
        values={"combine": ["both=de:a,es:b", "nonesuch"], "rename": [{"a": "ours"}, {"nonesuch": "ours"}]},
        one_door={"form": "how tables are printed; Python has them as frames"},
    ),
    Verb(
        "analyse alignment INPUT model --lexicon en-xx.txt --source-lang en --target-lang xx --out OUT",
        analysed("alignment", "model", lexicon="en-xx.txt", languages=("en", "xx")),
        findings,
        values={
            "language_ids": [[0, 1], [0]],
            "device": ["cpu"],
            "labels": ["mine"],
            "name": ["en-x"],
            "columns": [{"source": 0, "target": 1}, {"nonesuch": 1}],
            "input_format": ["nonesuch"],
        },
    ),
    Verb(
        "analyse correlation INPUT gaps.jsonl --out OUT",
        analysed("correlation", "gaps.jsonl"),
        findings,
        values={"tasks": ["pos", "nonesuch"], "name": ["mine", "a/b"]},
    ),
    Verb(
        f"analyse map INPUT model {CORPUS_FLAGS} --count 5 --method pca --layer 2 --out OUT",
        analysed("map", "model", **CORPUS, count=5, method="pca", layer=2),
        findings,
        values={
            **COLUMNS,
            "corpus": ["nonesuch"],
            "labels": ["mine"],
            "name": ["mine", "a/b"],
            "layer": [1, 9],
            "method": ["pca", "nonesuch"],
        },
    ),
    Verb(
        "analyse layers INPUT model --gold gold.jsonl --out OUT",
        analysed("layers", "model", gold="gold.jsonl"),
        findings,
        values={
            "gold": ["nonesuch"],
            "methods": ["argmax", "nonesuch"],
            "layers": ["1,2", "9", "nonesuch"],
            "base": [0, 1, -3],
            "labels": ["mine"],
            "name": ["mine", "a/b"],
        },
    ),
    Verb(
        f"analyse similarity INPUT model {CORPUS_FLAGS} --neighbours 3 --out OUT",
        analysed("similarity", "model", **CORPUS, neighbours=3),
        findings,
        values={
            **COLUMNS,
            "corpus": ["nonesuch"],
            "measures": ["cka", "nonesuch"],
            "layers": ["1,2", "nonesuch"],
            "labels": ["mine"],
            "name": ["mine", "a/b"],
            "limit": [6, 2],
        },
    ),
    Verb(
        f"analyse geometry INPUT model {CORPUS_FLAGS} --neighbours 3 --out OUT",
        analysed("geometry", "model", **CORPUS, neighbours=3),
        findings,
        values={
            **COLUMNS,
            "corpus": ["nonesuch"],
            "measures": ["variance", "nonesuch"],
            "layers": ["1,2", "nonesuch"],
            "labels": ["mine"],
            "name": ["mine", "a/b"],
        },
    ),
    Verb(
        "analyse alignments INPUT model --gold gold.jsonl --limit 3 --out OUT",
        analysed("alignments", "model", gold="gold.jsonl", limit=3),
        findings,
        values={
            "gold": ["other.jsonl", "nonesuch"],
            "method": ["argmax", "nonesuch"],
            "layer": [1, 9],
            "base": [0, 1, -3],
            "labels": ["mine"],
            "name": ["mine", "a/b"],
        },
    ),
    Verb(
        "evaluate INPUT model --task tatoeba --data tatoeba --languages xx --set layer=2 --out OUT",
        lambda out, **o: iso.evaluate("model", **{"task": "tatoeba", **RETRIEVAL, **QUIET, "out": out, **o}),
        rows,
        file="results.jsonl",
        values={
            "task": ["nonesuch"],
            "data": ["nonesuch"],
            "languages": [["de"]],
            "split": ["test", "nonesuch"],
            "name": ["mine", "a/b"],
            "predictions": ["predictions"],
            "run": ["mine"],
        },
    ),
    Verb(
        f"finetune INPUT model {POS_FLAGS} --out OUT",
        lambda out, **o: iso.finetune("model", **{"task": "pos", **POS, **QUIET, "out": out, **o}),
        lambda out: (written(out, "manifest.json"), history(out)),
        names={"seeds": "seed"},
        values={
            "task": ["nonesuch"],
            "preset": ["weam", "nonesuch"],
            "seeds": [2, -3],
            "epochs": [0.5, -3.0],
        },
        one_door={"data": "another flag adds a place, another argument replaces all"},
    ),
    Verb(
        f"transfer INPUT model {GAP_FLAGS} --out OUT",
        lambda out, **o: iso.transfer("model", **{"task": "pos", **GAP, **QUIET, "out": out, **o}),
        rows,
        names={"seeds": "seed"},
        values={
            "task": ["nonesuch"],
            "preset": ["nonesuch"],
            "seeds": [2, -3],
            "epochs": [0.5, -3.0],
            "languages": [["en"], ["en", "nonesuch"]],
            "split": ["train", "nonesuch"],
            "name": ["mine", "a/b"],
            "run": ["mine"],
        },
        one_door={"data": "another flag adds a place, another argument replaces all"},
    ),
    Verb(
        "pretrain INPUT recipe.yaml --out OUT",
        lambda out, **o: iso.pretrain("recipe.yaml", out, **QUIET, **o),
        lambda out: (written(out, "manifest.json"), text(out / "recipe.yaml"), history(out)),
        values={"overrides": [["train.learning_rate=0.01"], ["nonesuch=1"]]},
        one_door={"check": "prints; Python has load_recipe"},
    ),
    Verb(
        "study INPUT weam/table2 --tables-only --format csv --out OUT-runs",
        studied,
        text,
        prints=True,
        values={
            "scale": ["small", "nonesuch"],
            "only": ["*:*", "1/2", "3/2", "nonesuch"],
            "seeds": [[1, 2], [-3]],
            "engine": ["local", "nonesuch"],
        },
        one_door={
            **dict.fromkeys(["dry_run", "show"], "prints; nothing is made"),
            "form": "how tables are printed; Python has them as frames",
        },
    ),
]
VERBS += MODEL_VERBS

ELSEWHERE = {
    "align": "tests/cli/test_aligner_options.py",
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
