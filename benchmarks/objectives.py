"""What a training step of each system costs, relative to TLM (or MLM) on the same pairs.

    ISOGLOT_DATA=... python benchmarks/objectives.py                # mBERT's shape: 12 layers of 768, V = 119,547
    python benchmarks/objectives.py --quick                         # a tiny encoder, to try the script

A step is the forward of all objectives, the backward, AdamW, and what an objective does after it (momentum averages).
Every system gets the same sentence pairs, encoder and number format. A system and its baseline take turns; the ratio is
the median over the rounds, so a machine that slows down in between slows both. Where other jobs take the cores' time,
``--clock cpu`` with ``OMP_NUM_THREADS=1`` counts only this process's.

Below the table: self-labelling's share of a step with denoising word alignment, next to the same links found sentence
by sentence with numpy, as the released training code does (same links, counted below); with ``--systems``, where
``tlm + dwa`` is among them.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor

from bitext import read_pairs
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.formats.schema import BITEXT, LEXICON
from isoglot.modules.encodings import Encodings
from isoglot.modules.load import load_masked_lm
from isoglot.modules.self_labelling import self_label
from isoglot.objectives import OBJECTIVES
from isoglot.training.collate import Collator
from isoglot.training.model import AlignmentModel
from isoglot.views import VIEWS

MBERT: dict[str, Any] = {"architecture": "bert", "vocab_size": 119_547}
TINY: dict[str, Any] = {"architecture": "bert", "vocab_size": 8_000, "hidden_size": 64, "num_hidden_layers": 4,
                        "num_attention_heads": 4, "intermediate_size": 256}  # fmt: skip
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
Batch = Mapping[str, Mapping[str, Tensor]]

Parts = dict[str, dict[str, Any]]

LM = {"type": "masked_lm"}
PAIR = {"pair": {"type": "masked_pair", "order": "shuffle"}}
SIDES = {
    "source": {"type": "masked_text", "side": "source"},
    "target": {"type": "masked_text", "side": "target"},
}
SENTENCES = {"sentences": {"type": "sentence_pair"}}
TEXT = {"text": {"type": "masked_text", "side": "first"}}
SIDES_LM: Parts = {"source_lm": {**LM, "view": "source"}, "target_lm": {**LM, "view": "target"}}
PAIR_LM = {"pair_lm": {**LM, "view": "pair"}}
MOCO = {"contrast": {"type": "sentence_contrast", "view": "sentences"}}
XLCO = {
    "layer": "8/12",
    "projection": "linear",
    "projection_size": 768,
    "normalize_h": False,
    "temperature": 0.25,
    "queue_size": 131_072,
    "momentum": 0.9999,
    "mixup": True,
}
DWA = {"alignment": {"type": "denoising_word_alignment", "view": "pair", "label_layer": "10/12"}}
DICTIONARY: Parts = {"dictionary": {"type": "embedding_alignment", "lexicon": "words", "share": 1.0}}


@dataclass(frozen=True)
class System:
    """Views and objectives as a recipe has them, what they are compared with, and the ratio aimed at."""

    views: Mapping[str, Mapping[str, Any]]
    objectives: Mapping[str, Mapping[str, Any]]
    baseline: str = "tlm"
    aim: float | None = None


SYSTEMS: dict[str, System] = {
    "tlm": System(PAIR, PAIR_LM),
    "mlm": System(SIDES, SIDES_LM),
    "align_mlm": System(SIDES, SIDES_LM | DICTIONARY, baseline="mlm", aim=1.05),
    "dict_mlm": System(
        {n: {**v, "type": "code_switched_text", "lexicon": "words"} for n, v in SIDES.items()},
        SIDES_LM,
        baseline="mlm",
    ),
    "xlm": System(PAIR | TEXT, PAIR_LM | {"text_lm": {**LM, "view": "text"}}),
    "weam": System(PAIR, PAIR_LM | {"exchange": {"type": "word_exchange", "view": "pair"}}, aim=1.15),
    "tlm + dwa": System(PAIR, PAIR_LM | DWA, aim=1.4),
    "tlm + dwa, corpus links": System(
        PAIR, PAIR_LM | {"alignment": {**DWA["alignment"], "labels": "corpus"}}
    ),
    "xlm_align": System(PAIR | TEXT, PAIR_LM | DWA | {"text_lm": {**LM, "view": "text"}}),
    "moco": System(SENTENCES, MOCO),
    "ppa": System(PAIR | SENTENCES, PAIR_LM | MOCO, aim=2.0),
    "ppa_mlm": System(SIDES | SENTENCES, SIDES_LM | MOCO),
    "in_batch": System(
        PAIR | SENTENCES, PAIR_LM | {"contrast": {"type": "in_batch_contrast", "view": "sentences"}}
    ),
    "xlco": System(
        PAIR | SENTENCES,
        PAIR_LM | {"contrast": {**MOCO["contrast"], **XLCO}},
    ),
    "word_l2": System(
        {"sentences": {"type": "sentence_pair", "order": "source_is_query"}},
        {
            "words": {"type": "contextual_alignment", "view": "sentences"},
            "anchor": {"type": "anchor", "view": "sentences"},
        },
    ),
    "self_training": System(
        {"sentences": {"type": "sentence_pair"}},
        {"links": {"type": "self_training", "view": "sentences", "labels": "corpus"}},
    ),
    "combined": System(
        PAIR | TEXT | SENTENCES, PAIR_LM | DWA | MOCO | DICTIONARY | {"text_lm": {**LM, "view": "text"}}
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--quick", action="store_true", help="a tiny encoder")
    parser.add_argument("--layers", type=int, help="fewer layers than mBERT has")
    parser.add_argument("--batch", type=int, default=32, help="pairs a step")
    parser.add_argument("--probability", type=float, default=0.15, help="share of masked tokens")
    parser.add_argument("--rounds", type=int, default=5, help="measured turns of a system and its baseline")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--clock", default="wall", choices=list(CLOCKS), help="wall, or this process's CPU time"
    )
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    args = parser.parse_args()
    bench = Bench(args)
    print(bench.describe())
    rows = [bench.row(name) for name in args.systems]
    show(rows)
    labels = bench.self_labelling() if "tlm + dwa" in args.systems else {}
    if labels:
        show_labels(labels, args.batch)
    if args.json:
        settings = {k: v for k, v in vars(args).items() if k not in ("json", "systems")}
        args.json.write_text(json.dumps({"settings": settings, "rows": rows, "labels": labels}, indent=1))


class Bench:
    """One encoder, one set of pairs, any system."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.device = torch.device(args.device)
        self.spec = dict(TINY if args.quick else MBERT)
        if args.layers:
            self.spec["num_hidden_layers"] = args.layers
        pairs = list(read_pairs(400 if args.quick else 4_000))
        self.tokenizer = train_tokenizer(
            [side for pair in pairs for side in pair],
            algorithm="wordpiece",
            vocab_size=2_000 if args.quick else 16_000,
        )
        bitext = Dataset.from_dict(
            {
                "source": [p[0] for p in pairs],
                "target": [p[1] for p in pairs],
                "source_language": ["en"] * len(pairs),
                "target_language": ["de"] * len(pairs),
            },
            features=BITEXT,
        )
        aligner = StatisticalAligner("fast_align", symmetrisation="intersect").fit(bitext)
        stream = encode_stream(aligner.align(bitext), self.tokenizer, options=EncodeOptions(max_length=128))
        order = np.argsort(stream.with_format("numpy")["length"][:], kind="stable")
        middle = len(order) // 2  # pairs of the middling length, alike as in a bucket
        rows = order[middle : middle + args.batch]
        self.examples = [stream[int(i)] for i in rows]
        self.lexicon = self._lexicon(pairs)
        self.model = load_masked_lm(self.spec, tokenizer=self.tokenizer, seed=1).train()
        self.model.to(self.device)

    def _lexicon(self, pairs: list[tuple[str, str]]) -> Dataset:
        """10,000 entries, as many as a quarter of ALIGN-MLM's vocabulary."""
        count = 500 if self.args.quick else 10_000
        sides = [sorted({w for pair in pairs for w in pair[s].split()})[:count] for s in (0, 1)]
        size = min(map(len, sides))
        columns = {"source": sides[0][:size], "target": sides[1][:size]}
        columns |= {"source_language": ["en"] * size, "target_language": ["de"] * size}
        return Dataset.from_dict(columns, features=LEXICON)

    def describe(self) -> str:
        """Sizes, in one line."""
        tokens = sum(e["length"] + 3 for e in self.examples)
        parameters = sum(p.numel() for p in self.model.parameters()) / 1e6
        return (
            f"{parameters:.0f}M parameters, {len(self.examples)} pairs of {tokens / len(self.examples):.0f} tokens, "
            f"{self.args.probability:.0%} masked, {self.args.precision} on {self.device}, "
            f"{torch.get_num_threads()} threads\n"
        )

    def stepper(self, system: System) -> Callable[[], None]:
        """A function that takes one optimiser step."""
        batch = self.batch(system)
        objectives = {}
        for name, section in system.objectives.items():
            options = {k: self._value(v) for k, v in section.items() if k != "type"}
            if options.get("lexicon") is not None:
                options["tokenizer"] = self.tokenizer
            objectives[name] = OBJECTIVES[section["type"]](self.model, **options)
        whole = AlignmentModel(self.model, objectives).train()
        self.model.to(self.device)
        # Each stepper has AdamW moments of its own for the shared encoder: few of them live at a time.
        trained = [p for p in whole.parameters() if p.requires_grad]
        optimiser = torch.optim.AdamW(trained, lr=1e-6, fused=True)

        def step() -> None:
            with self.autocast():
                loss = whole(batch)["loss"]
            loss.backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            whole.after_step()

        return step

    def batch(self, system: System) -> Batch:
        """The pairs as a system's views."""
        views = {}
        for name, section in system.views.items():
            options = {k: self._value(v) for k, v in section.items() if k != "type"}
            if section["type"] != "sentence_pair":
                options["probability"] = self.args.probability
            views[name] = ("bitext", VIEWS[section["type"]](self.tokenizer, **options))
        collate = Collator(views, seed=1, pad_token_id=int(self.tokenizer.pad_token_id))
        items = [{"position": i, "bitext": example} for i, example in enumerate(self.examples)]
        return {
            view: {key: tensor.to(self.device) for key, tensor in tensors.items()}
            for view, tensors in collate(items).items()
        }

    def _value(self, value: Any) -> Any:
        """``words`` is the lexicon, ``10/12`` the layer that far up."""
        if value == "words":
            return self.lexicon
        if isinstance(value, str) and "/" in value:
            part, of = map(int, value.split("/"))
            return round(self.model.config.num_hidden_layers * part / of)
        return value

    def autocast(self) -> torch.autocast:
        """The number format of the forward."""
        return torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=self.args.precision == "bf16", cache_enabled=True
        )

    def timed(self, run: Callable[[], Any]) -> float:
        """Seconds of one call."""
        clock = CLOCKS[self.args.clock]
        self.wait()
        start = clock()
        run()
        self.wait()
        return clock() - start

    def wait(self) -> None:
        """Until the device has done what was asked of it."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def row(self, name: str) -> dict[str, Any]:
        """Median seconds of a system, and of the ratio to its baseline and to TLM."""
        system = SYSTEMS[name]
        compared = dict.fromkeys([system.baseline, "tlm"])
        steppers = {n: self.stepper(SYSTEMS[n]) for n in [name, *compared] if n != name}
        steppers[name] = self.stepper(system)
        for step in steppers.values():
            step()
        times = [{n: self.timed(step) for n, step in steppers.items()} for _ in range(self.args.rounds)]
        row: dict[str, Any] = {"system": name, "baseline": system.baseline, "aim": system.aim}
        row["seconds"] = statistics.median(t[name] for t in times)
        for key, other in (("ratio", system.baseline), ("to_tlm", "tlm")):
            row[key] = statistics.median(t[name] / t[other] for t in times)
        del steppers
        gc.collect()
        return row

    @torch.no_grad()
    def self_labelling(self) -> dict[str, float]:
        """Seconds of finding the links of a batch, batched and in a loop, and of what surrounds it."""
        system = SYSTEMS["tlm + dwa"]
        batch = self.batch(system)
        layer = self._value(DWA["alignment"]["label_layer"])
        side_ids = batch["pair"]["side_ids"]

        def forward() -> Tensor:
            with self.autocast():
                return Encodings(self.model, batch).layer("pair", layer, clean=True)

        states = forward()
        with torch.enable_grad():
            step = self.stepper(system)
            step()
            whole = statistics.median(self.timed(step) for _ in range(self.args.rounds))
        grid = self_label(states, side_ids)
        found = {
            (int(b), int(i), int(j)) for b, i, j in zip(*(t.tolist() for t in grid.tensors()), strict=True)
        }
        looped = loop(states, side_ids)
        runs: dict[str, Callable[[], Any]] = {
            "batched": lambda: self_label(states, side_ids),
            "loop": lambda: loop(states, side_ids),
            "forward": forward,
        }
        seconds = {
            n: statistics.median(self.timed(run) for _ in range(self.args.rounds)) for n, run in runs.items()
        }
        return {**seconds, "step": whole, "links": len(looped), "equal": len(found & looped)}


def loop(states: Tensor, side_ids: Tensor) -> set[tuple[int, int, int]]:
    """Links found one sentence pair at a time on the CPU with numpy (XLM-Align's training code, from its semantics)."""
    links: set[tuple[int, int, int]] = set()
    for row, (state, side) in enumerate(zip(states, side_ids, strict=True)):
        hidden, sides = state.float().cpu().numpy().astype(np.float64), side.cpu().numpy()
        first = 2 if (sides[sides > 0][:1] == 2).any() else 1  # the sentence that stands first has the rows
        source, target = (np.flatnonzero(sides == s) for s in (first, 3 - first))
        similarity = hidden[source] @ hidden[target].T
        plan = np.where(similarity > 0, similarity, 1e-6)
        for _ in range(2):
            plan = plan / plan.sum(axis=0, keepdims=True)
            plan = plan / plan.sum(axis=1, keepdims=True)
        links |= {(row, int(source[i]), int(target[j])) for i, j in itermax(plan)}
    return links


def itermax(plan: np.ndarray[Any, Any], alpha: float = 0.9, passes: int = 2) -> set[tuple[int, int]]:
    """SimAlign's itermax on one matrix, cell by cell where its code is."""
    n, m = plan.shape

    def mutual(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        forward, backward = np.zeros((n, m)), np.zeros((n, m))
        forward[np.arange(n), scores.argmax(axis=1)] = 1
        backward[scores.argmax(axis=0), np.arange(m)] = 1
        return forward * backward

    links = mutual(plan)
    if min(n, m) > 2:
        for _ in range(1, passes):
            rows, columns = 1.0 - links.max(axis=1), 1.0 - links.max(axis=0)
            factor = np.clip(alpha * rows[:, None] + alpha * columns[None], 0, 1)
            if rows.sum() < 1 or columns.sum() < 1:
                break
            new = mutual(plan * factor) * (rows[:, None] + columns[None] > 0)
            if not (new * (1 - links)).any():
                break
            links = np.maximum(links, new)
    return {(i, j) for i in range(n) for j in range(m) if links[i, j] > 0}


def show_labels(labels: dict[str, float], pairs: int) -> None:
    print(
        f"\nself-labelling of {pairs} pairs: {1e3 * labels['batched']:.1f} ms, "
        f"{100 * labels['batched'] / labels['step']:.1f} % of a step of tlm + dwa (aim: 10 %); "
        f"sentence by sentence {1e3 * labels['loop']:.1f} ms, {labels['loop'] / labels['batched']:.1f} times as long; "
        f"{labels['equal']:,} of {labels['links']:,} links equal; the forward to its layer takes "
        f"{100 * labels['forward'] / labels['step']:.0f} % of the step"
    )


def show(rows: list[dict[str, Any]]) -> None:
    print(f"{'system':26}{'s/step':>9}{'to TLM':>9}   compared with")
    for row in rows:
        own = f"{row['baseline']} {row['ratio']:.2f}" if row["baseline"] != "tlm" else ""
        aim = f"aim ≤ {row['aim']:.2f}" if row["aim"] else ""
        print(
            f"{row['system']:26}{row['seconds']:9.3f}{row['to_tlm']:9.2f}   {own:12}{aim}".rstrip(),
            flush=True,
        )


if __name__ == "__main__":
    main()
