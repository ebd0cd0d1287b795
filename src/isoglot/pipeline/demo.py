"""``isoglot demo``: the main job offline, on generated text, from bitext to measured encoders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from isoglot.align.alignment import Alignment
from isoglot.align.embedding import EmbeddingAligner
from isoglot.align.scoring import GoldAlignment, score
from isoglot.analysis.translation_gap import translation_gap
from isoglot.derive.alphabet import Transliteration
from isoglot.derive.base import Sentence, compose
from isoglot.derive.order import Inversion
from isoglot.modules.encoder import num_layers
from isoglot.pipeline.check import load_recipe
from isoglot.pipeline.pretrain import pretrain
from isoglot.synthetic import World

__all__ = ["Demo", "Measured", "run_demo"]

HELD_OUT = 300


@dataclass(frozen=True)
class Measured:
    """One encoder on pairs that it has not seen.

    Args:
        name: how it was trained.
        translated: accuracy on masked words of the derived side beside the English sentence, in per cent.
        shuffled: the same beside another English sentence.
        aer: alignment error rate of mutual argmax of the layer that is best for this encoder, in per cent.
        layer: that layer.
    """

    name: str
    translated: float
    shuffled: float
    aer: float
    layer: int


@dataclass(frozen=True)
class Demo:
    """What the demo made.

    Args:
        rows: one an encoder.
        example: a sentence and its derived form.
        out: the folder with data, runs and ``results.json``.
    """

    rows: list[Measured]
    example: tuple[str, str]
    out: Path


def run_demo(
    out: Path, *, pairs: int = 12_000, steps: int | None = None, seed: int = 1, progress: Any = None
) -> Demo:
    """Generate English and a derived language, train MLM and TLM from scratch, measure both.

    The derived language is English letter by letter in another script, with every sentence's words in reverse: it
    shares no word and no word order with English, so whatever links the two was learned from the pairs.

    Args:
        out: folder for data and runs; finished runs in it are not run again.
        pairs: sentence pairs to train on.
        steps: optimiser steps of each run, instead of the recipes' own.
        seed: of the text and of the runs.
        progress: as for :func:`isoglot.pipeline.pretrain.pretrain`.
    """
    bitext, gold, example = _write_data(out / "data", pairs, seed)
    overrides = [f"streams.bitext.path={bitext}", f"seed={seed}"] + (
        [] if steps is None else [f"steps={steps}"]
    )
    checkpoints = {
        name: pretrain(load_recipe(f"demo/{name}", overrides), out / name, progress=progress)
        for name in ("mlm", "tlm")
    }
    rows: list[Measured] = []
    for name, checkpoint in checkpoints.items():
        tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        trained = AutoModelForMaskedLM.from_pretrained(checkpoint)
        if not rows:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                untrained = AutoModelForMaskedLM.from_config(trained.config)
            rows.append(_measure("untrained", untrained, tokenizer, gold))
        rows.append(_measure(name.upper(), trained, tokenizer, gold))
    results = out / "results.json"
    results.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return Demo(rows, example, out)


def _write_data(folder: Path, pairs: int, seed: int) -> tuple[Path, list[dict[str, Any]], tuple[str, str]]:
    folder.mkdir(parents=True, exist_ok=True)
    world = World(seed=seed)
    transform = compose(Transliteration(), Inversion())

    def derived(sentences: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        rows = []
        for key, sentence in enumerate(sentences):
            own = transform(Sentence(tuple(sentence["words"])), key=key)
            rows.append({"src": list(sentence["words"]), "tgt": list(own.words), "sure": own.links()})
        return rows

    train = derived(world.pos(pairs, split="train"))
    gold = derived(world.pos(HELD_OUT, split="test"))
    bitext = folder / "bitext.tsv"
    bitext.write_text(
        "".join(f"{' '.join(r['src'])}\t{' '.join(r['tgt'])}\n" for r in train), encoding="utf-8"
    )
    held_out = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in gold)
    (folder / "gold.jsonl").write_text(held_out, encoding="utf-8")
    return bitext, gold, (" ".join(gold[0]["src"]), " ".join(gold[0]["tgt"]))


def _measure(
    name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, gold: list[dict[str, Any]]
) -> Measured:
    source, target = ([" ".join(row[side]) for row in gold] for side in ("src", "tgt"))
    gap = translation_gap(model, tokenizer, target, source, probability=0.15)
    right = [GoldAlignment.of(row["sure"]) for row in gold]
    words = [(row["src"], row["tgt"]) for row in gold]
    aligner = EmbeddingAligner(model, tokenizer=tokenizer, method="argmax", layer=0, warn=lambda *_: None)
    rates = []
    for layer in range(num_layers(model) + 1):
        found = [Alignment(frozenset(f.links)) for f in aligner.at_layer(layer).align_pairs(words)]
        rates.append(score(found, right).aer)
    best = min(range(len(rates)), key=rates.__getitem__)
    return Measured(name, 100 * gap.translated, 100 * gap.shuffled, 100 * rates[best], best)
