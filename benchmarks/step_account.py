"""Where the time of a training step on a CPU goes: whole steps of isoglot's trainer under torch's profiler.

    ISOGLOT_DATA=... python benchmarks/step_account.py --shape mbert --batch 16 --steps 4

The encoder, the pairs and the batches are those of `pretraining.py`, TLM in bf16. First the process's CPU seconds and
page faults a step without the profiler, then the steps that follow by kind of work. An operation counts for the first
kind that it or an operation around it belongs to; `between operations` is what the profiler does not name.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile
from transformers import AutoTokenizer, TrainerCallback

import pretraining
from isoglot.modules.load import load_masked_lm
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.training.model import AlignmentModel
from isoglot.training.trainer import AlignmentTrainer

KINDS = {
    "vocabulary: logits, loss, their gradients": ("_Loss",),
    "gradient of the word embeddings": ("_ProductBackward", "_RowsBackward", "EmbeddingBackward0"),
    "optimiser": ("Optimizer.step",),
    "gradient norm and clipping": ("aten::_foreach_norm", "aten::_foreach_mul_", "aten::linalg_vector_norm"),
    "data": ("enumerate(DataLoader)",),
    "matrix products of layers": ("aten::mm", "aten::addmm", "aten::bmm"),
    "dropout": ("aten::dropout", "aten::bernoulli_", "aten::native_dropout"),
    "weights to bf16, their gradients to fp32": ("aten::_to_copy", "aten::copy_"),
    "GELU, norms, softmax": (
        "aten::gelu",
        "aten::native_layer_norm",
        "aten::_softmax",
        "aten::_safe_softmax",
    ),
    "sums and other element-wise work": ("aten::",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="mbert", choices=list(pretraining.SHAPES))
    parser.add_argument("--batch", type=int, default=16, help="pairs a step, about")
    parser.add_argument("--steps", type=int, default=4, help="steps without, and with the profiler")
    parser.add_argument("--pairs", type=int, default=6_000, help="pairs of the corpus")
    args = parser.parse_args()
    args.shapes, args.warmup, args.workers = [args.shape], 2, 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pretraining.prepare(work, args)
        account(work, args)


def account(work: Path, args: argparse.Namespace) -> None:
    """Train a little and print both tables."""
    tokenizer = AutoTokenizer.from_pretrained(work / args.shape)
    pairs = json.loads((work / "pairs-bert.json").read_text())
    model = load_masked_lm(work / args.shape, tokenizer=tokenizer)
    tokens = pretraining.mean_length(work, args.shape) * args.batch
    mixture, batch, collator = pretraining.isoglot_data(tokenizer, pairs, tokens)
    first, last = args.warmup, args.warmup + args.steps
    settings = argparse.Namespace(**{**vars(args), "steps": 2 * args.steps})
    watch = Watch(first, last, last + args.steps)
    AlignmentTrainer(
        AlignmentModel(model, {"tlm": MaskedLMObjective(model)}),
        pretraining.training_arguments("bf16", settings),
        mixture=mixture,
        batch=batch,
        collator=collator,
        callbacks=[watch],
    ).train()
    user, system, faults = (value / args.steps for value in watch.used)
    print(
        f"{args.shape}, {args.batch} pairs: {user:.2f} s user and {system:.2f} s system CPU time a step,",
        end=" ",
    )
    print(f"{faults:,.0f} page faults; peak {pretraining.peak_gb():.2f} GB")
    print(f"profiled: {watch.seconds / args.steps:.2f} s a step")
    spent = watch.spent()
    spent["between operations"] = watch.seconds - sum(spent.values())
    for kind, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"{kind:<44}{seconds / watch.seconds:>6.1%}")


class Watch(TrainerCallback):
    """Reads the process's counters between two steps, and profiles from the second to a third."""

    def __init__(self, first: int, second: int, third: int) -> None:
        self.first, self.second, self.third = first, second, third
        self.used: tuple[float, ...] = (0.0, 0.0, 0.0)
        self.profile, self.seconds = profile(activities=[ProfilerActivity.CPU]), 0.0

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """At the marks."""
        if state.global_step in (self.first, self.second):
            use = resource.getrusage(resource.RUSAGE_SELF)
            now = use.ru_utime, use.ru_stime, use.ru_minflt
            self.used = tuple(new - old for new, old in zip(now, self.used, strict=True))
        if state.global_step == self.second:
            self.profile.__enter__()
            self.seconds = -time.perf_counter()
        elif state.global_step == self.third:
            self.seconds += time.perf_counter()
            self.profile.__exit__(None, None, None)

    def spent(self) -> dict[str, float]:
        """Seconds by kind."""
        found: defaultdict[str, float] = defaultdict(float)
        for event in self.profile.events():
            found[kind_of(event)] += event.self_cpu_time_total / 1e6
        found.pop("", None)
        return found


def kind_of(event: Any) -> str:
    """The first kind that the event or one around it is of; empty for autograd's own and the profiler's."""
    names = []
    while event is not None:
        names.append(event.name)
        event = event.cpu_parent
    return next((k for k, starts in KINDS.items() if any(n.startswith(starts) for n in names)), "")


if __name__ == "__main__":
    main()
