"""Real tokens a second and peak memory of TLM training: isoglot against Hugging Face's Trainer.

    ISOGLOT_DATA=... python benchmarks/pretraining.py --shapes mbert xlmr --steps 4

Both train the same encoder (same random weights) on the same real en-de pairs (`parallel/en-de.tsv.gz`; generated ones
without ISOGLOT_DATA), with the same loss, checked on one batch, and about as many real tokens an optimiser step:

* `hf-max`: Trainer, one pair a line, padded to 128, DataCollatorForLanguageModeling, full logits (as run_mlm.py does);
* `hf-longest`: the same, padded to the longest of the batch;
* `hf-group`: the same, in batches of pairs of about equal length (`group_by_length`);
* `hf-no-cudnn`: the same, with attention by torch's own kernels on a GPU, as isoglot has it;
* `isoglot`: AlignmentTrainer, batches by token budget and length, logits at masked positions only;
* `compiled`: the same with `torch_compile`.

On a CPU each variant runs in a process of its own, whose peak of memory is its own. Ratios compare equal number
formats: fp32 with fp32, bf16 autocast with bf16 autocast. On a machine that others use, `--clock cpu` with
`OMP_NUM_THREADS=1` counts only the process's own time. `parts` says where isoglot's time goes, what the device can do
at most, and what such a step takes there at least: the time of its matrix products, and that of reading and writing
weights, gradients and optimiser state once.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, redirect_stdout, suppress
from itertools import product
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import (
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

import limits
from bitext import read_pairs
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.modules.encoder import num_layers
from isoglot.modules.encodings import Encodings
from isoglot.modules.isolation import isolated_state
from isoglot.modules.load import load_masked_lm
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.training.batches import BatchOptions, bucket_positions
from isoglot.training.callbacks import real_tokens
from isoglot.training.collate import Collator
from isoglot.training.mixture import Mixture
from isoglot.training.model import AlignmentModel
from isoglot.training.trainer import AlignmentTrainer
from isoglot.views.masked_pair import MaskedPair

LENGTH = 128
E5 = {"architecture": "bert", "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536}
"""multilingual-e5-small."""
SHAPES: dict[str, dict[str, Any]] = {
    "mbert": {"architecture": "bert", "vocab_size": 119_547},
    "xlmr": {"architecture": "xlm-roberta", "vocab_size": 250_002},
    "e5": {**E5, "vocab_size": 250_037},
    "e5-trimmed": {**E5, "vocab_size": 61_595},
    "tiny": {"architecture": "bert", "vocab_size": 20_000, "hidden_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 2, "intermediate_size": 128},
}  # fmt: skip
VARIANTS = ("hf-max", "hf-longest", "hf-group", "hf-no-cudnn", "isoglot", "compiled")
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", default=["mbert", "xlmr"], choices=list(SHAPES))
    usual = ["hf-max", "hf-longest", "hf-group", "isoglot"]
    parser.add_argument("--variants", nargs="+", default=usual, choices=VARIANTS)
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--steps", type=int, default=10, help="measured optimiser steps")
    parser.add_argument("--warmup", type=int, default=1, help="steps before measuring")
    parser.add_argument("--batch", type=int, nargs="+", default=[32], help="pairs a step of the Trainer's")
    parser.add_argument("--workers", type=int, default=0, help="processes that make batches")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of the corpus")
    parser.add_argument(
        "--clock", default="wall", choices=list(CLOCKS), help="wall, or the process's CPU time"
    )
    parser.add_argument(
        "--child", nargs=4, metavar=("WORK", "SHAPE", "VARIANT", "PRECISION"), help=argparse.SUPPRESS
    )
    args = parser.parse_args()
    if args.child:
        work, shape, variant, precision = args.child
        args.batch = args.batch[0]
        print(json.dumps(child(Path(work), shape, variant, precision, args)))
        return
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        prepare(work, args)
        for shape in args.shapes:
            measure(work, shape, args)


def prepare(work: Path, args: argparse.Namespace) -> None:
    """Pairs of at most 128 tokens, a tokenizer for each family, and the models' first weights."""
    pairs = list(read_pairs(args.pairs))
    texts = [side for pair in pairs for side in pair]
    families = {SHAPES[s]["architecture"]: s for s in args.shapes}
    for architecture in families:
        roberta = architecture != "bert"
        tokenizer = train_tokenizer(
            texts,
            algorithm="unigram" if roberta else "wordpiece",
            family="roberta" if roberta else "bert",
            vocab_size=16_000,
            model_max_length=LENGTH,
        )
        tokenizer.save_pretrained(work / f"tokenizer-{architecture}")
        encoded = tokenizer([p[0] for p in pairs], [p[1] for p in pairs])["input_ids"]
        short = [pair for pair, ids in zip(pairs, encoded, strict=True) if len(ids) <= LENGTH]
        lengths = [len(ids) for ids in encoded if len(ids) <= LENGTH]
        (work / f"pairs-{architecture}.json").write_text(json.dumps(short))
        (work / f"mean-{architecture}.json").write_text(json.dumps(sum(lengths) / len(lengths)))
    for shape in args.shapes:
        spec = SHAPES[shape]
        saved = AutoTokenizer.from_pretrained(work / f"tokenizer-{spec['architecture']}")
        for part in (load_masked_lm(spec, tokenizer=saved, seed=1), saved):
            part.save_pretrained(work / shape)


def measure(work: Path, shape: str, args: argparse.Namespace) -> None:
    """Every variant of one shape, printed as a table."""
    print(f"\n{shape}: {SHAPES[shape]}, mean real tokens a pair {mean_length(work, shape):.1f}", flush=True)
    heads = ("variant", "format", "pairs", "real tok/s", "ratio", "s/step", "tok/step", "padding", "peak GB")
    print("{:<12}{:<8}{:>6}{:>12}{:>8}{:>9}{:>10}{:>9}{:>9}".format(*heads), flush=True)
    base: dict[tuple[str, int], float] = {}
    for precision, variant in product(args.precisions, args.variants):
        for batch, row in run(work, shape, variant, precision, args):
            if row is None:
                print(f"{variant:<12}{precision:<8}{batch:>6}  out of memory", flush=True)
                continue
            ratio = row["rate"] / base.setdefault((precision, batch), row["rate"])
            print(
                f"{variant:<12}{precision:<8}{batch:>6}{row['rate']:>12,.0f}{ratio:>7.2f}x{row['seconds']:>9.3f}"
                f"{row['tokens']:>10,.0f}{row['padding']:>8.0%} {row['peak_gb']:>8.2f}",
                flush=True,
            )
    for precision in args.precisions:
        for batch, row in run(work, shape, "parts", precision, args):
            print(
                f"{'parts':<12}{precision:<8}{batch:>6}  {row['text'] if row else 'out of memory'}",
                flush=True,
            )


def run(
    work: Path, shape: str, variant: str, precision: str, args: argparse.Namespace
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Sizes and rows of one variant; none where memory does not suffice."""
    for batch in args.batch:
        own = argparse.Namespace(**{**vars(args), "batch": batch})
        if not torch.cuda.is_available():
            yield batch, run_child(work, shape, variant, precision, own)
            continue
        row = None
        surroundings = nullcontext() if variant.startswith("hf") else isolated_state()
        with surroundings, suppress(torch.OutOfMemoryError), redirect_stdout(sys.stderr):
            row = child(work, shape, variant, precision, own)
        yield batch, row
        gc.collect()
        torch.cuda.empty_cache()


def run_child(
    work: Path, shape: str, variant: str, precision: str, args: argparse.Namespace
) -> dict[str, Any]:
    """One variant in a process of its own, so that peaks of memory are its own."""
    options = ["--steps", args.steps, "--warmup", args.warmup, "--batch", args.batch]
    options += ["--workers", args.workers, "--clock", args.clock]
    options += ["--child", work, shape, variant, precision]
    command = [sys.executable, __file__, *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{variant} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def mean_length(work: Path, shape: str) -> float:
    return float(json.loads((work / f"mean-{SHAPES[shape]['architecture']}.json").read_text()))


def child(work: Path, shape: str, variant: str, precision: str, args: argparse.Namespace) -> dict[str, Any]:
    architecture = SHAPES[shape]["architecture"]
    tokenizer = AutoTokenizer.from_pretrained(work / shape)
    pairs = json.loads((work / f"pairs-{architecture}.json").read_text())
    model = load_masked_lm(work / shape, tokenizer=tokenizer)
    if variant.startswith("hf"):
        trainer, count = hf_trainer(model, tokenizer, pairs, variant, precision, args)
    else:
        mixture, batch, collator = isoglot_data(tokenizer, pairs, mean_length(work, shape) * args.batch)
        if variant == "parts":
            return parts(model, mixture, batch, collator, precision, args)
        alignment = AlignmentModel(model, {"tlm": MaskedLMObjective(model)})
        arguments = training_arguments(precision, args, torch_compile=variant == "compiled")
        trainer = AlignmentTrainer(alignment, arguments, mixture=mixture, batch=batch, collator=collator)
        count = real_tokens
    return timed(trainer, count, args)


def isoglot_data(
    tokenizer: Any, pairs: list[list[str]], tokens: float
) -> tuple[Mixture, BatchOptions, Collator]:
    """The stream in batches that hold about as many real tokens as the Trainer's."""
    corpus = Dataset.from_dict(
        {
            "source": [p[0] for p in pairs],
            "target": [p[1] for p in pairs],
            "source_language": ["en"] * len(pairs),
            "target_language": ["de"] * len(pairs),
        }
    )
    stream = encode_stream(
        corpus, tokenizer, options=EncodeOptions(max_length=LENGTH), cache_dir=tempfile.mkdtemp()
    )
    batch = BatchOptions(tokens=round(tokens * 1.03))  # the budget counts the little padding that is left
    probe = Mixture({"bitext": stream}, primary="bitext", seed=1)
    bucket = bucket_positions(probe.lengths, batch, steps=50)
    mixture = Mixture({"bitext": stream}, primary="bitext", seed=1, bucket=bucket)
    view = MaskedPair(tokenizer, max_length=LENGTH)
    return mixture, batch, Collator({"pair": ("bitext", view)}, seed=1, pad_token_id=tokenizer.pad_token_id)


def hf_trainer(
    model: Any, tokenizer: Any, pairs: list[list[str]], variant: str, precision: str, args: argparse.Namespace
) -> tuple[Trainer, Callable[[Any], int]]:
    """run_mlm.py's line-by-line set-up."""
    padding = "max_length" if variant == "hf-max" else False
    encoded = tokenizer(
        [p[0] for p in pairs], [p[1] for p in pairs], truncation=True, max_length=LENGTH, padding=padding,
        return_special_tokens_mask=True,
    )  # fmt: skip
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    dataset = Dataset.from_dict(dict(encoded))
    torch.backends.cuda.enable_cudnn_sdp(variant != "hf-no-cudnn")
    order = "group_by_length" if variant in ("hf-group", "hf-no-cudnn") else "random"
    arguments = training_arguments(precision, args, train_sampling_strategy=order)
    trainer = Trainer(model, arguments, train_dataset=dataset, data_collator=collator)
    return trainer, lambda batch: int(batch["attention_mask"].sum())


def training_arguments(precision: str, args: argparse.Namespace, **more: Any) -> TrainingArguments:
    return TrainingArguments(
        output_dir=tempfile.mkdtemp(), max_steps=args.warmup + args.steps, per_device_train_batch_size=args.batch,
        bf16=precision == "bf16", save_strategy="no", report_to=[], logging_strategy="no", disable_tqdm=True, seed=1,
        learning_rate=1e-5, use_cpu=not torch.cuda.is_available(), dataloader_num_workers=args.workers, **more,
    )  # fmt: skip


class Clock(TrainerCallback):
    """Times the steps after the warm-up."""

    def __init__(self, warmup: int, now: Callable[[], float]) -> None:
        self.warmup, self.now, self.start, self.end = warmup, now, 0.0, 0.0

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Read the clock."""
        limits.synchronise()
        if state.global_step == self.warmup:
            self.start = self.now()
        self.end = self.now()


def timed(trainer: Trainer, count: Callable[[Any], int], args: argparse.Namespace) -> dict[str, Any]:
    """Real tokens a second over the measured steps."""
    clock, seen = Clock(args.warmup, CLOCKS[args.clock]), []
    trainer.add_callback(clock)
    plain = trainer.training_step

    def training_step(model: Any, inputs: Any, *rest: Any, **more: Any) -> Any:
        ids = inputs["input_ids"] if "input_ids" in inputs else inputs["pair"]["input_ids"]
        seen.append((count(inputs), ids.numel()))
        return plain(model, inputs, *rest, **more)

    trainer.training_step = training_step  # type: ignore[method-assign]
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    trainer.train()
    seconds = clock.end - clock.start
    real, held = (sum(column) for column in zip(*seen[args.warmup :], strict=True))
    return {
        "rate": real / seconds,
        "seconds": seconds / args.steps,
        "tokens": real / args.steps,
        "padding": 1 - real / held,
        "peak_gb": peak_gb(),
    }


def check(model: Any, mixture: Mixture, collator: Collator) -> str:
    """Isoglot's loss of one batch is the library's own."""
    model.eval()
    batch = collator([mixture[i] for i in range(8)])
    with torch.no_grad():
        view = batch["pair"]
        own = model(
            input_ids=view["input_ids"], attention_mask=view["attention_mask"], labels=view["labels"]
        ).loss
        ours = AlignmentModel(model, {"tlm": MaskedLMObjective(model)})(batch)["loss"]
    model.train()
    if abs(float(own) - float(ours)) > 1e-4:
        raise SystemExit(f"the losses differ: {float(own)} (library) and {float(ours)} (isoglot)")
    return f"loss of one batch: library {float(own):.6f}, isoglot {float(ours):.6f}: equal to 1e-4"


def parts(
    model: Any,
    mixture: Mixture,
    batch: BatchOptions,
    collator: Collator,
    precision: str,
    args: argparse.Namespace,
) -> dict[str, Any]:
    """Seconds of isoglot's step by part, and how near its products come to what the machine can do."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    checked = check(model, mixture, collator)
    model.to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    objective = MaskedLMObjective(model)
    size = max(1, int((batch.tokens or 0) / (float(mixture.lengths["bitext"].mean()) + 3)))
    spent = dict.fromkeys(
        ("data", "encoder forward", "head and loss, both ways", "encoder backward", "optimiser"), 0.0
    )
    flops = 0.0
    for step in range(args.warmup + args.steps):
        clock = Laps()
        batches = collator([mixture[step * size + i] for i in range(size)])
        views = {"pair": {k: v.to(device) for k, v in batches["pair"].items()}}
        clock.lap("data")
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16"):
            encodings = Encodings(model, views)
            hidden = encodings.last("pair")
            leaf = hidden.detach().requires_grad_()
            clock.lap("encoder forward")
            encodings._cache["pair", None, num_layers(model)] = leaf
            output = objective(encodings, views)
        output.loss.backward()
        clock.lap("head and loss, both ways")
        hidden.backward(leaf.grad)
        clock.lap("encoder backward")
        optimiser.step()
        optimiser.zero_grad()
        clock.lap("optimiser")
        if step >= args.warmup:
            spent = {name: spent[name] + clock.laps[name] / args.steps for name in spent}
            flops += (
                limits.step_flops(model, views["pair"]["input_ids"].shape, int(output.count)) / args.steps
            )
    total = sum(spent.values())
    shares = ", ".join(f"{name} {seconds:.4f} s ({seconds / total:.0%})" for name, seconds in spent.items())
    most = limits.limits(device.type, torch.bfloat16 if precision == "bf16" else torch.float32)
    # 4 bytes: weights read by both passes, gradients written and read, weights and both moments read and written
    moved = 4 * 10 * sum(parameter.numel() for parameter in model.parameters())
    return {
        "text": f"{shares}; {flops / total / 1e9:,.0f} GFLOP/s over the whole step\n"
        f"    limits: {most}; such a step takes at least {most.least(flops, moved)}\n    {checked}"
    }


class Laps:
    """A stopwatch with named laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.last = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a lap."""
        limits.synchronise()
        now = time.perf_counter()
        self.laps[name], self.last = now - self.last, now


def peak_gb() -> float:
    """Peak memory of this process: the accelerator's if there is one."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
