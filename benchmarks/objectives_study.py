"""Every objective on the same real pairs: one small encoder, the same start, the same number of steps, one table.

    ISOGLOT_DATA=... python benchmarks/objectives_study.py --steps 3000 --out study.jsonl

Each of the small recipes trains from scratch on en-de pairs (`parallel/en-de.tsv.gz` without Tatoeba's sentences,
linked by fast_align). All of them read one word-aligned corpus, so tokenizer, first weights, pairs and their order are
the same; a step is the same pairs for all, whatever a recipe makes of them. Recipes that are in the output file
already (with these settings) are not run again; a run that was cut off is gone on with.

Measured on each end, and on the start (row `start`):

* retrieval: Tatoeba deu-eng, the share of the 1,000 sentences whose nearest neighbour by cosine is their translation,
  from German and from English, with mean-pooled states of the last and of the middle layer;
* lexicon: pairs of the MUSE test half (no recipe sees it; `words` streams read the other half), the share of entries
  whose nearest target entry by cosine of mean input embeddings is a translation, and the mean cosine;
* AER: gold links of wordalign/de-en.jsonl by itermax, at the layer with the lowest AER (chosen on the same sentences).

A checkpoint with language embeddings gets language ids in retrieval; its links are found without them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import normalize
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import logging

from isoglot.align.align_file import align_file
from isoglot.align.embedding.options import EmbeddingOptions
from isoglot.align.options import AlignRequest, FastAlign, Gold, LayerScoring
from isoglot.align.score_file import score_layers
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.corpus.read.sources import Source
from isoglot.modules.encoder import encode, input_embeddings, num_layers
from isoglot.pretraining.build import build_model
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.pretrain import pretrain
from isoglot.pretraining.streams import cache_folder, load_tokenizer, prepared
from isoglot.recipe.source import read_document
from isoglot.runs.reporter import Silent

RECIPES = (
    "mlm_sides", "tlm", "xlm", "dict_mlm", "dict_mlm_label", "align_mlm", "weam", "xlm_align_no_dwa",
    "xlm_align_no_tlm", "xlm_align", "moco", "ppa", "ppa_mlm", "in_batch", "xlco", "word_l2", "combined",
)  # fmt: skip
LANGUAGES = {"en": 1, "de": 2}


@dataclass(frozen=True)
class Settings:
    """What rows must have in common to stand in one table."""

    steps: int
    pairs: int
    seed: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--pairs", type=int, default=64, help="sentence pairs a step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES), choices=RECIPES)
    parser.add_argument("--out", type=Path, default=Path("objectives_study.jsonl"), help="rows, added to")
    parser.add_argument("--work", type=Path, default=Path("runs/objectives_study"), help="corpora and runs")
    parser.add_argument(
        "--keep", action="store_true", help="keep the checkpoints of finished recipes' training"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for every recipe")
    args = parser.parse_args()
    if "ISOGLOT_DATA" not in os.environ:
        parser.error("set ISOGLOT_DATA to the folder with parallel/, lexicon/, tatoeba/ and wordalign/")
    logging.set_verbosity_error()
    study = Study(Settings(args.steps, args.pairs, args.seed), args.work, tuple(args.set))
    study.prepare()
    held = {row["recipe"] for row in rows_of(args.out, study.settings)}
    for name in ["start", *args.recipes]:
        if name in held:
            continue
        row = study.start() if name == "start" else study.run(name, keep=args.keep)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with args.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{name}: {row['seconds_per_step']:.3f} s a step, losses {row['losses']}", flush=True)
    show(list(rows_of(args.out, study.settings)), study.settings)


def rows_of(path: Path, settings: Settings) -> Iterator[dict[str, Any]]:
    """The rows of a file that were made with these settings; a cut-off last line is none."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row["settings"] == asdict(settings):
            yield row


class Study:
    """Corpora, runs and measurements."""

    def __init__(self, settings: Settings, work: Path, overrides: tuple[str, ...]) -> None:
        self.settings, self.work, self.overrides = settings, work, overrides
        self.data = Path(os.environ["ISOGLOT_DATA"])
        self.aligned, self.lexicon = work / "aligned-en-de", work / "lexicon.train.txt"
        os.environ.setdefault("ISOGLOT_RUNS", str(work))

    def prepare(self) -> None:
        """The word-aligned corpus and the two halves of the lexicon, made once."""
        self.work.mkdir(parents=True, exist_ok=True)
        if not self.aligned.is_dir():
            plain = self.work / "en-de"
            source = Source(
                path=str(self.data / "parallel" / "en-de.tsv.gz"),
                columns={"source": 0, "target": 1, "flags": 3},
                source_language="en",
                target_language="de",
            )
            options = PrepareOptions(
                held_out_flags=("laser_tatoeba",), duplicates="pair", max_length_ratio=3.0
            )
            prepare(source, plain, options=options)
            shards = Source(path=str(plain / "*.parquet"), source_language="en", target_language="de")
            request = AlignRequest(
                aligner=FastAlign(symmetrisation="intersect"), words="unicode", output="corpus"
            )
            print(f"aligned {align_file([shards], self.aligned, request):,} pairs", flush=True)
        train, self.test = self._halves()
        self.lexicon.write_text("".join(f"{s}\t{t}\n" for s, t in train), encoding="utf-8")

    def _halves(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Entries by source word, equal pairs left out."""
        lines = (self.data / "lexicon" / "muse.en-de.txt").read_text(encoding="utf-8").splitlines()
        entries = [tuple(line.split()) for line in lines if len(line.split()) == 2]
        words = sorted({e[0] for e in entries})
        random.Random(0).shuffle(words)
        held_out = set(words[: len(words) // 2])
        different = [(e[0], e[1]) for e in entries if e[0] != e[1]]
        return [e for e in different if e[0] not in held_out], [e for e in different if e[0] in held_out]

    def recipe(self, name: str) -> Any:
        """A small recipe with the study's pairs, steps and batch."""
        path = f"small/{name}_en_de"
        values = read_document(path).values
        steps = self.settings.steps
        changes = [
            f"streams.bitext={{kind: aligned, path: {self.aligned}}}",
            f"batch={{examples: {self.settings.pairs}, bucket: 50}}",
            "epochs=null",
            f"steps={steps}",
            f"seed={self.settings.seed}",
            f"train.save_steps={max(1, min(500, steps // 4))}",
            f"train.logging_steps={max(1, min(50, steps // 10))}",
        ]
        if "words" in values["streams"]:
            changes.append(f"streams.words.path={self.lexicon}")
        for objective, section in values["objectives"].items():
            if "self_after_step" in section:
                changes.append(f"objectives.{objective}.self_after_step={max(1, steps // 2)}")
        return load_recipe(path, [*changes, *self.overrides])

    def start(self) -> dict[str, Any]:
        """Measurements of the first weights."""
        recipe = self.recipe("tlm")
        corpora = prepared(recipe, cache_folder(), Silent())
        tokenizer = load_tokenizer(recipe, corpora, cache_folder(), Silent())
        folder = self.work / "start"
        build_model(recipe, tokenizer, corpora).model.model.save_pretrained(folder)
        tokenizer.save_pretrained(str(folder))
        return self._row("start", folder) | {"seconds_per_step": 0.0, "losses": {}}

    def run(self, name: str, *, keep: bool) -> dict[str, Any]:
        """Train a recipe and measure its end."""
        recipe = self.recipe(name)
        out = self.work / f"{name}-{recipe.hash}"
        checkpoint = pretrain(recipe, out, resume=out.exists())
        manifest = json.loads((out / "manifest.json").read_text())
        newest = max(out.glob("checkpoint-*"), key=lambda p: int(p.name.split("-")[1]))
        history = json.loads((newest / "trainer_state.json").read_text())["log_history"]
        row = self._row(name, checkpoint) | {
            "seconds_per_step": manifest["metrics"]["train_runtime"] / self.settings.steps,
            "losses": last_losses(history),
            "recipe_hash": recipe.hash,
        }
        if not keep:
            for folder in out.glob("checkpoint-*"):
                shutil.rmtree(folder)
        return row

    def _row(self, name: str, checkpoint: Path) -> dict[str, Any]:
        model = AutoModelForMaskedLM.from_pretrained(checkpoint).eval()
        tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        layers = {"last": num_layers(model), "middle": num_layers(model) // 2}
        sides = {
            code: (self.data / "tatoeba" / f"tatoeba.deu-eng.{file}").read_text(encoding="utf-8").splitlines()
            for code, file in (("de", "deu"), ("en", "eng"))
        }
        table = language_table(checkpoint)
        found = {which: retrieval(model, tokenizer, sides, layer, table) for which, layer in layers.items()}
        gold = Gold(gold=self.data / "wordalign" / "de-en.jsonl")
        scores = score_layers(
            gold, LayerScoring(model=str(checkpoint), layers="all", options=EmbeddingOptions.build())
        )
        layer, best = min(scores, key=lambda pair: pair[1].aer)
        return {
            "recipe": name,
            "settings": asdict(self.settings),
            "retrieval": found,
            "lexicon": lexicon_score(model, tokenizer, self.test),
            "aer": best.aer,
            "aer_layer": layer,
        }


def last_losses(history: list[dict[str, float]]) -> dict[str, float]:
    """Mean of each objective's loss over the last tenth of the logs."""
    logs = [entry for entry in history if "loss" in entry]
    logs = logs[-max(1, len(logs) // 10) :]
    names = {n for entry in logs for n in entry if n.endswith("/loss")}
    values = {n: [entry[n] for entry in logs if n in entry] for n in sorted(names)}
    return {n.removesuffix("/loss"): round(sum(v) / len(v), 4) for n, v in values.items()}


def language_table(checkpoint: Path) -> nn.Embedding | None:
    """The language embeddings that training left beside the encoder."""
    path = checkpoint / "objectives.safetensors"
    state = load_file(path) if path.exists() else {}
    weights = [value for key, value in state.items() if "language_embeddings" in key]
    return nn.Embedding.from_pretrained(weights[0]) if weights else None


@torch.inference_mode()
def retrieval(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    sides: Mapping[str, list[str]],
    layer: int,
    table: nn.Embedding | None = None,
) -> dict[str, float]:
    """Share of sentences whose nearest neighbour on the other side is their translation, from each language.

    Args:
        model: the encoder.
        tokenizer: its tokenizer.
        sides: language to sentences; line i of one translates line i of the other.
        layer: whose states are averaged over the tokens, specials included.
        table: language embeddings, added where there are any.
    """
    vectors = {
        code: normalize(pooled(model, tokenizer, texts, layer, code, table)) for code, texts in sides.items()
    }
    first, second = vectors
    similarity = vectors[first] @ vectors[second].T
    right = torch.arange(len(similarity))
    return {
        first: float((similarity.argmax(1) == right).float().mean()),
        second: float((similarity.argmax(0) == right).float().mean()),
    }


def pooled(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    texts: list[str],
    layer: int,
    language: str,
    table: nn.Embedding | None,
) -> Tensor:
    """Mean states of each sentence, (sentences, hidden)."""
    parts = []
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # little padding
    for start in range(0, len(order), 100):
        some = [texts[i] for i in order[start : start + 100]]
        inputs = dict(tokenizer(some, padding=True, truncation=True, max_length=128, return_tensors="pt"))
        if table is not None:
            inputs["language_ids"] = torch.full_like(inputs["input_ids"], LANGUAGES[language])
        states = encode(model, inputs, layers=(layer,), language_embeddings=table)[layer]
        mask = inputs["attention_mask"][..., None]
        parts.append((states * mask).sum(1) / mask.sum(1))
    return torch.cat(parts)[torch.tensor(order).argsort()]


@torch.inference_mode()
def lexicon_score(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, entries: list[tuple[str, str]]
) -> dict[str, float]:
    """Nearest-neighbour accuracy and mean cosine of dictionary entries by their mean input embeddings."""
    weight = input_embeddings(model).weight
    sides: list[list[str]] = [sorted({entry[side] for entry in entries}) for side in (0, 1)]
    vectors = []
    for words in sides:
        pieces = tokenizer(words, add_special_tokens=False)["input_ids"]
        vectors.append(normalize(torch.stack([weight[p].mean(0) for p in pieces])))
    place = [{word: i for i, word in enumerate(words)} for words in sides]
    gold: dict[int, set[int]] = defaultdict(set)
    for source, target in entries:
        gold[place[0][source]].add(place[1][target])
    similarity = vectors[0] @ vectors[1].T
    nearest = similarity.argmax(1).tolist()
    right = sum(nearest[i] in targets for i, targets in gold.items())
    cosines = torch.stack([similarity[place[0][s], place[1][t]] for s, t in entries])
    return {"accuracy": right / len(gold), "cosine": float(cosines.mean()), "entries": len(gold)}


def show(rows: list[dict[str, Any]], settings: Settings) -> None:
    """The table."""
    print(
        f"\n{settings.steps:,} steps of {settings.pairs} pairs, seed {settings.seed}; percentages but s/step"
    )
    print(
        f"{'':18}{'retrieval, last':>17}{'retrieval, middle':>19}{'lexicon':>9}{'cosine':>8}{'AER':>7}{'layer':>6}"
        f"{'s/step':>8}  losses"
    )
    print(f"{'':18}{'de→en':>9}{'en→de':>8}{'de→en':>11}{'en→de':>8}")
    for row in rows:
        last, middle, lexicon = row["retrieval"]["last"], row["retrieval"]["middle"], row["lexicon"]
        losses = ", ".join(f"{n} {v:.3f}" for n, v in row["losses"].items())
        print(
            f"{row['recipe']:18}{100 * last['de']:9.1f}{100 * last['en']:8.1f}{100 * middle['de']:11.1f}"
            f"{100 * middle['en']:8.1f}{100 * lexicon['accuracy']:9.1f}{100 * lexicon['cosine']:8.1f}"
            f"{100 * row['aer']:7.1f}{row['aer_layer']:6d}{row['seconds_per_step']:8.3f}  {losses}"
        )


if __name__ == "__main__":
    main()
