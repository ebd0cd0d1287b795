"""``isoglot finetune``: a pre-trained checkpoint and a task in, a fine-tuned checkpoint out."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.errors import ConfigurationError
from isoglot.pipeline.finetune_data import dev_sets, training_rows
from isoglot.pipeline.finetune_inputs import describe_task, identify, key_of
from isoglot.pipeline.finetune_options import FinetuneOptions
from isoglot.pipeline.finetune_train import Outcome, TrainingData, train_head
from isoglot.pipeline.reporting import Reporter, Silent
from isoglot.pipeline.run_folder import CHECKPOINT, MANIFEST, RUN, hash_checkpoint, read_json, versions
from isoglot.tasks.base import Probe, Task, TrainableTask
from isoglot.tasks.files import write_text
from isoglot.tasks.heads import load_tokenizer

__all__ = ["TASK_FILE", "checkpoint_folder", "finetune", "origin"]

TASK_FILE = "isoglot_task.json"
"""Beside a fine-tuned model: what it was made from."""


def finetune(
    checkpoint: str | Path,
    task: Task,
    *,
    language: str,
    seed: int = 1,
    train: FinetuneOptions | None = None,
    out: str | Path,
    resume: bool = True,
    progress: Reporter | None = None,
) -> Path:
    """Fine-tune an encoder on a task's training data.

    Args:
        checkpoint: a pre-trained checkpoint (a plain folder or hub name; the folder of a ``pretrain`` run works too).
            Language embeddings that it was trained with are left out.
        task: one with a head.
        language: of the training data; several with commas (translate-train of all). With setting ``code_switch``,
            the language whose translations are mixed with the originals in ``train.pivot``.
        seed: of the head, the order of examples and dropout.
        train: settings; by default XTREME's would be ``preset("xtreme", kind)``.
        out: folder of the run: ``checkpoint/``, ``manifest.json``, and ``grid/`` where several settings were tried.
        resume: go on with an unfinished run in ``out``.
        progress: told about the work.

    Returns:
        The fine-tuned checkpoint. A finished run with the same inputs is not run again.

    Raises:
        ConfigurationError: a task without a head, no data, another run in ``out``, or settings that do not fit.
        InputError: data that cannot be read.
    """
    if not isinstance(task, TrainableTask):
        kind = "needs no fine-tuning: run `isoglot evaluate`" if isinstance(task, Probe) else "has no head"
        raise ConfigurationError(f"task {getattr(task, 'name', task)} {kind}")
    report = progress or Silent()
    options = train or FinetuneOptions.build()
    folder = Path(out)
    source = checkpoint_folder(checkpoint)
    if options.max_length is not None:
        task.max_length = options.max_length
    languages = [code.strip() for code in language.split(",") if code.strip()]
    key = _key(source, task, languages, seed, options)
    if _finished(folder, key, resume=resume):
        report.note(f"{folder}: already done")
        return folder / CHECKPOINT
    about = {**origin(source), **({} if options.run is None else {"run": options.run})}
    card = {
        **about,
        "task": task.name,
        "languages": languages,
        "setting": options.setting,
        "seed": seed,
        "key": key,
        "options": {**describe_task(task), "data": list(task.data.specs)},
    }
    _write_json(folder / RUN, card)
    best = _best_of_grid(source, task, languages, seed, options, folder, card, report)
    values = {"selection": best.value, "steps": best.steps, "settings": best.options.model_dump(mode="json")}
    _write_json(folder / MANIFEST, {**card, **values, "versions": versions(), "checkpoint": CHECKPOINT})
    return folder / CHECKPOINT


def checkpoint_folder(checkpoint: str | Path) -> Path | str:
    """A checkpoint's own folder, from it or the run's folder around it; a hub name stays as it is."""
    folder = Path(checkpoint).expanduser()
    if (folder / "config.json").is_file():
        return folder
    if (folder / CHECKPOINT / "config.json").is_file():
        return folder / CHECKPOINT
    name = str(checkpoint)
    if folder.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ConfigurationError(
            f"{checkpoint}: {'holds no config.json' if folder.exists() else 'does not exist'}; a checkpoint's folder, "
            "the folder of a finished run, or a hub name is needed"
        )
    return name


def origin(checkpoint: Path | str) -> dict[str, Any]:
    """What is known of a checkpoint: ``run``, ``checkpoint_hash``, ``recipe_hash`` and, if it was fine-tuned, more."""
    if isinstance(checkpoint, str):
        digest = hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()
        return {"run": checkpoint, "pretrained_hash": digest, "recipe_hash": ""}
    own = read_json(checkpoint / TASK_FILE)
    if own is not None:
        return own
    around = read_json(checkpoint.parent / MANIFEST) or read_json(checkpoint.parent / RUN) or {}
    name = checkpoint.parent.name if checkpoint.name == CHECKPOINT else checkpoint.name
    return {
        "run": str(around.get("name") or name or "checkpoint"),
        "pretrained_hash": hash_checkpoint(checkpoint),
        "recipe_hash": str(around.get("recipe_hash", "")),
    }


def _best_of_grid(
    source: Path | str,
    task: TrainableTask,
    languages: Sequence[str],
    seed: int,
    options: FinetuneOptions,
    folder: Path,
    card: Mapping[str, Any],
    report: Reporter,
) -> Outcome:
    """Train once for each combination of settings; the best one's checkpoint is moved to its place."""
    tokenizer = load_tokenizer(source)
    dataset, held_out = training_rows(task, languages, options, seed=seed)
    grid = options.grid()
    if len(grid) > 1 and options.select == "last":
        raise ConfigurationError(
            f"{len(grid)} combinations of settings given and select=last; choose by dev data: --set select=source"
        )
    outcomes: list[Outcome] = []
    for number, single in enumerate(grid, 1):
        place = folder if len(grid) == 1 else folder / "grid" / f"{number}"
        done = Outcome.read(place, single)
        if done is None:
            model = task.head(source, labels=task.labels(dataset), seed=seed, dropout=single.dropout)
            dev = dev_sets(task, languages, single, held_out)
            if len(grid) > 1:
                report.note(f"settings {number} of {len(grid)}: lr {single.learning_rate:g}, "
                            f"batch {single.batch_size}, {single.epochs:g} epochs")  # fmt: skip
            done = train_head(
                model,
                tokenizer,
                task,
                TrainingData(dataset, dev),
                single,
                seed=seed,
                folder=place,
                progress=report,
            )
            _write_json(place / CHECKPOINT / TASK_FILE, {**card, "selection": done.value})
            done.write()
        outcomes.append(done)
    best = max(outcomes, key=lambda outcome: -1.0 if outcome.value is None else outcome.value)
    if best.folder != folder:
        shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
        shutil.copytree(best.folder / CHECKPOINT, folder / CHECKPOINT)
    return best


def _key(
    source: Path | str, task: TrainableTask, languages: Sequence[str], seed: int, options: FinetuneOptions
) -> str:
    """Names everything that the result depends on."""
    pivot = [options.pivot] if options.setting == "code_switch" else []
    chosen_by = {"source": languages, "joint": options.select_languages, "last": ()}[options.select]
    return key_of(
        {
            "checkpoint": origin(source),
            "task": describe_task(task),
            "languages": list(languages),
            "seed": seed,
            "train": options.model_dump(mode="json", exclude={"run"}),
            "data": [identify(task, code, "train") for code in (*languages, *pivot)],
            "dev": [identify(task, code, "dev") for code in chosen_by if task.data.has(code, "dev")],
        }
    )


def _finished(folder: Path, key: str, *, resume: bool) -> bool:
    if not folder.exists() or not any(folder.iterdir()):
        return False
    manifest, started = read_json(folder / MANIFEST), read_json(folder / RUN)
    held = (manifest or started or {}).get("key")
    if held is None:
        raise ConfigurationError(f"{folder}: is not empty and holds no fine-tuning run; choose another --out")
    if held != key:
        raise ConfigurationError(
            f"{folder}: holds another fine-tuning run (other checkpoint, data, seed or settings); choose another "
            "--out, or delete it"
        )
    if manifest is None and not resume:
        raise ConfigurationError(f"{folder}: holds an unfinished run; add --resume, or delete it")
    return manifest is not None


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False, default=str) + "\n")
