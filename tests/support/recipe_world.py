"""Small stand-ins for everything that the shipped recipes read: corpora, links, lexicons, encoders."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source
from isoglot.pretraining.check import load_recipe
from isoglot.recipe.source import builtin_recipes, read_document
from isoglot.testing import tiny_aligned, tiny_lexicon, tiny_model, tiny_tokenizer

PAIRS = 48
_PARALLEL = ("ar", "bg", "de", "el", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")
_PPA = ("europarl.en-fr", "europarl.en-es", "europarl.en-de", "europarl-eubookshop.en-bg", "multiun.en-ar",
        "multiun.en-zh", "iitb.en-hi")  # fmt: skip
_ALIGNED = ("ar", "bg", "de", "el", "es", "fr", "hi", "ru", "th", "tr", "vi", "zh")
_SMALL = ("de", "es", "fr", "hi", "ro", "zh")
_SIZES = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}


def build_world(folder: Path) -> dict[str, str]:
    """Write the files; the environment that makes recipes find them."""
    data, corpora, runs = (folder / name for name in ("data", "corpora", "runs"))
    for place in (data / "parallel", data / "lexicon", corpora, runs):
        place.mkdir(parents=True)
    pairs = tiny_aligned(PAIRS, seed=1)
    source, target = list(pairs["source"]), list(pairs["target"])
    table = "".join(f"{s}\t{t}\n" for s, t in zip(source, target, strict=True))
    entries = "".join(f"{row['source']}\t{row['target']}\n" for row in tiny_lexicon())
    for code in _SMALL:
        with gzip.open(data / "parallel" / f"en-{code}.tsv.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{s}\t{t}\tnews\t\n" for s, t in zip(source, target, strict=True))
        (data / "lexicon" / f"muse.en-{code}.txt").write_text(entries)
    amounts = ("", "_1", "_10", "_100")
    for name in [
        *(f"parallel.en-{code}" for code in _PARALLEL),
        *_PPA,
        *(f"wikitext103.pairs{a}" for a in amounts),
    ]:
        (corpora / f"{name}.tsv").write_text(table)
    for name in ("wikitext103.lexicon", "muse.en-de"):
        (corpora / f"{name}.txt").write_text(entries)
    for name, lines in (
        ("text.en", source),
        ("text.de", target),
        ("wikitext103", source),
        ("wikitext103.derived", target),
    ):
        (corpora / f"{name}.txt").write_text("\n".join(lines) + "\n")
    rows = [
        {"source": row["source_words"], "target": row["target_words"], "links": row["links"]} for row in pairs
    ]
    jsonl = folder / "aligned.jsonl"
    jsonl.write_text("".join(json.dumps(row) + "\n" for row in rows))
    aligned = {corpora / f"aligned.en-{code}": code for code in _ALIGNED} | {runs / "aligned-hmm-en-de": "de"}
    for out, code in (aligned | {runs / f"aligned-en-{code}": code for code in _SMALL}).items():
        one = Source(path=str(jsonl), format="jsonl", source_language="en", target_language=code)
        prepare([one], out, options=PrepareOptions(kind="aligned"))
    for family, name in (("bert", "mbert"), ("xlm-roberta", "xlmr")):
        tokenizer = tiny_tokenizer(family)
        tiny_model(family, tokenizer=tokenizer, num_hidden_layers=12).save_pretrained(folder / name)
        tokenizer.save_pretrained(str(folder / name))
    return {
        "ISOGLOT_DATA": str(data),
        "ISOGLOT_CORPORA": str(corpora),
        "ISOGLOT_RUNS": str(runs),
        "ISOGLOT_ENCODER": str(folder / "mbert"),
        "ISOGLOT_ALIGNED": str(corpora / "aligned.en-de"),
        "ISOGLOT_CACHE": str(folder / "cache"),
        "TOKENIZERS_PARALLELISM": "false",
    }


def smaller(name: str, folder: Path) -> list[str]:
    """Overrides that leave a recipe's objectives, views and streams alone and make the rest small."""
    values = read_document(name).values
    path = values["model"].get("path")
    changes = [
        "batch={examples: 4}",
        "epochs=null",
        "steps=2",
        "train.fp16=false",
        "train.bf16=false",
        "train.use_cpu=true",
    ]
    changes += ["train.gradient_accumulation_steps=1", "train.save_steps=100", "train.warmup_steps=0"]
    if path is None:
        changes += [f"model.{key}={size}" for key, size in _SIZES.items()]
        changes += ["tokenizer.vocab_size=330"]
        if "num_hidden_layers" in values["model"] and values["model"]["num_hidden_layers"] > 4:
            changes += ["model.num_hidden_layers=2"]
    else:
        encoder = folder / ("xlmr" if "xlm-roberta" in path else "mbert")
        changes += [f"model.path={encoder}"]
    if "parts" in values:
        changes += ["parts=null"]
    for stream, section in values["streams"].items():
        if section.get("tokenizer"):
            changes += [f"streams.{stream}.tokenizer={folder / 'mbert'}"]
        if section.get("pack"):
            changes += [f"streams.{stream}.pack.block=64"]
    for objective, section in values["objectives"].items():
        if section.get("teacher"):
            changes += [f"objectives.{objective}.teacher={folder / 'mbert'}"]
        if section.get("queue_size"):
            changes += [f"objectives.{objective}.queue_size=16"]
    return changes


RECIPES = tuple(builtin_recipes())


def complaints(path: Path, *overrides: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_recipe(path, overrides)
    return "\n".join(map(str, caught.value.problems))
