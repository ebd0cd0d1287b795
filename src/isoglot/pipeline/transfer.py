"""Supervised, zero-shot and the gap between them, for a derived language or any other (ALIGN-MLM §4).

SUP: fine-tuned and tested on the derived language
ZS:  fine-tuned on the source language, tested on the derived one
Δ  = SUP − ZS   (in Result rows: ``METRIC_supervised``, ``METRIC_zero_shot``, ``METRIC_delta``)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from isoglot.errors import ConfigurationError
from isoglot.pipeline.evaluate import EvaluateOptions, evaluate
from isoglot.pipeline.finetune import finetune
from isoglot.pipeline.finetune_options import FinetuneOptions
from isoglot.pipeline.reporting import Reporter
from isoglot.results import Result, append, read
from isoglot.tasks.base import TrainableTask

__all__ = ["transfer"]


def transfer(
    checkpoint: str | Path,
    build: Callable[[], TrainableTask],
    *,
    languages: tuple[str, str],
    seed: int = 1,
    train: FinetuneOptions | None = None,
    split: str = "dev",
    out: str | Path,
    progress: Reporter | None = None,
) -> list[Result]:
    """Fine-tune on both languages, test on the second, and report the gap.

    Args:
        checkpoint: pre-trained.
        build: makes the task, with data of both languages; called once a model.
        languages: source (``en``) and derived (``en-inv``).
        seed: of both fine-tunings.
        train: settings of both.
        split: to test on; the paper reports dev.
        out: folder; ``zero_shot/`` and ``supervised/`` are runs, ``results.jsonl`` holds the rows.
        progress: told about the work.

    Returns:
        Three rows, by the task's primary metric, in per cent.

    Raises:
        ConfigurationError: one language given twice, or as :func:`finetune`.
    """
    source, derived = languages
    if source == derived:
        raise ConfigurationError(f"languages {source!r} and {derived!r} given; two different ones are needed")
    folder = Path(out)
    found: dict[str, Result] = {}
    for setting, language in (("zero_shot", source), ("supervised", derived)):
        task = build()
        own = finetune(
            checkpoint, task, language=language, seed=seed, train=train, out=folder / setting, progress=progress
        )  # fmt: skip
        options = EvaluateOptions(out=folder / setting / "results.jsonl")
        rows = evaluate(own, build(), languages=[derived], split=split, options=options, progress=progress)
        found[setting] = next(row for row in rows if row.metric == task.primary_metric)
    zero, supervised = found["zero_shot"], found["supervised"]
    result = [row.model_copy(update={"metric": f"{row.metric}_{setting}"}) for setting, row in found.items()]
    result.append(
        supervised.model_copy(
            update={"metric": f"{supervised.metric}_delta", "value": supervised.value - zero.value,
                    "checkpoint_hash": ""}
        )
    )  # fmt: skip
    results = folder / "results.jsonl"
    held = read(results) if results.is_file() else []
    append(results, [row for row in result if row not in held])
    return result
