"""The verbs around models and results, each as a small call from both doors."""

from __future__ import annotations

from typing import Any

from doors import Verb, text
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

import isoglot as iso
from isoglot.aligners.options import LayerScoring, ModelScoring
from isoglot.core.options import option_names

QUIET: dict[str, Any] = {"progress": False}
POS = {"language": "en", "data": ["{language}.tsv", "dev={language}.tsv"], "epochs": 1, "batch_size": 4}
POS_FLAGS = "--task pos --data {language}.tsv --data dev={language}.tsv --epochs 1 --set batch_size=4"
GAP = {"data": "{language}.tsv", "languages": "en,xx", "split": "test", "epochs": 1, "batch_size": 4}
GAP_FLAGS = "--task pos --data {language}.tsv --languages en,xx --split test --epochs 1 --set batch_size=4"
RETRIEVAL = {"data": "tatoeba", "languages": "xx", "layer": 2}
CORPUS = {"corpus": "aligned.src-tgt", "languages": ("en", "xx"), "input_format": "bars"}
CORPUS_FLAGS = "--corpus aligned.src-tgt --source-lang en --target-lang xx --input-format bars"
COLUMNS: dict[str, list[Any]] = {
    "columns": [{"source": 0, "target": 1}, {"nonesuch": 1}],
    "input_format": ["bars", "nonesuch"],
}


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
        lambda out: written(out, "manifest.json", "tokenizer.json"),
        values={"text": ["xx.txt", "nonesuch"], "held_out": ["xx.txt", "nonesuch"]},
    ),
    Verb(
        "export INPUT model --to sentence-transformers --out OUT",
        lambda out, **o: iso.export("model", out, **o),
        lambda out: (written(out, "manifest.json", "modules.json"), text(out / "README.md")),
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
        values={
            "task": ["nonesuch"],
            "preset": ["weam", "nonesuch"],
            "seed": [2, -3],
            "sweep": [{"nonesuch": [1, 2]}],
            "epochs": [0.5, -3.0],
        },
        one_door={"data": "another flag adds a place, another argument replaces all"},
    ),
    Verb(
        f"transfer INPUT model {GAP_FLAGS} --out OUT",
        lambda out, **o: iso.transfer("model", **{"task": "pos", **GAP, **QUIET, "out": out, **o}),
        rows,
        values={
            "task": ["nonesuch"],
            "preset": ["nonesuch"],
            "seed": [2, -3],
            "sweep": [{"nonesuch": [1, 2]}],
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
        values={
            "overrides": [["train.learning_rate=0.01"], ["nonesuch=1"]],
            "seed": [2, -3],
            "sweep": [{"nonesuch": [1, 2]}],
        },
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
