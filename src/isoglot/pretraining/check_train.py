"""The section ``train`` of a recipe: settings of ``transformers.TrainingArguments``, known and possible here."""

import dataclasses
import typing
from typing import Any

from isoglot.checks import closest, did_you_mean, missing_package
from isoglot.recipe.document import Document, Location
from isoglot.recipe.signatures import mismatch

ELSEWHERE: dict[str, str] = {
    "output_dir": "give `isoglot pretrain --out DIR`",
    "per_device_train_batch_size": "write `batch: {examples: 32}`",
    "max_steps": "write `steps: 1000`",
    "num_train_epochs": "write `epochs: {stream: NAME, count: 2}`",
    "seed": "write `seed: 1` at the top",
    "data_seed": "write `seed: 1` at the top",
    "remove_unused_columns": "isoglot's views choose the columns",
    "resume_from_checkpoint": "give `isoglot pretrain --resume`",
    "eval_strategy": "pre-training does not evaluate: run `isoglot evaluate` on checkpoints",
    "eval_on_start": "pre-training does not evaluate: run `isoglot evaluate` on checkpoints",
    "load_best_model_at_end": "pre-training does not evaluate: run `isoglot evaluate` on checkpoints",
    "label_smoothing_factor": "objectives have their own losses",
    "use_liger_kernel": "objectives have their own losses",
    "neftune_noise_alpha": "views make the inputs of the encoder",
    "train_sampling_strategy": "write `batch: {bucket: 50}` for batches of similar lengths",
    "dataloader_drop_last": "every example is in a batch",
    "auto_find_batch_size": "write a smaller `batch: {examples: 16}` and train.gradient_accumulation_steps",
    "ignore_data_skip": "a resumed run goes on with the next batch",
}
"""Settings of ``TrainingArguments`` that another part of a recipe decides, or that could only break a run."""

_MAY_BE_NEGATIVE = ("local_rank", "ddp_timeout")


def check_train(document: Document) -> None:
    """The settings of the trainer: known ones, with values of their type, not decided elsewhere."""
    settings = document.values.get("train")
    if not isinstance(settings, dict):
        return
    from transformers import TrainingArguments  # noqa: PLC0415 - a second of import that other checks do without

    hints = typing.get_type_hints(TrainingArguments) | {
        "fsdp": bool | str | None
    }  # its own hint leaves out true
    fields = {f.name for f in dataclasses.fields(TrainingArguments) if f.init} - ELSEWHERE.keys()
    for name, value in settings.items():
        location: Location = ("train", name)
        if name in ELSEWHERE:
            document.problem(location, f"not a setting of a recipe; {ELSEWHERE[name]}")
        elif name not in fields:
            close = closest(name, fields)
            hint = f"did you mean {close!r}?" if close else "see transformers.TrainingArguments"
            document.problem(location, f"no setting of TrainingArguments; {hint}")
        elif (reason := mismatch(hints[name], value) or _out_of_range(name, value)) is not None:
            document.problem(location, f"{value!r} given; {reason}")
    _check_reporters(document, settings.get("report_to"))


def _out_of_range(name: str, value: Any) -> str | None:
    """Why a number makes no sense: below 0, not a number, or an average of moments that never forgets."""
    if isinstance(value, bool) or not isinstance(value, int | float) or name in _MAY_BE_NEGATIVE:
        return None
    if not value >= 0:
        return "it is 0 or more"
    return "it is below 1, for example 0.98" if name in ("adam_beta1", "adam_beta2") and value >= 1 else None


def _check_reporters(document: Document, wanted: Any) -> None:
    """The packages that ``report_to`` needs are installed."""
    from transformers.integrations import integration_utils  # noqa: PLC0415 - as TrainingArguments above

    for name in wanted if isinstance(wanted, list) else [wanted]:
        if name in (None, "all", "none"):
            continue
        if name not in integration_utils.INTEGRATION_TO_CALLBACK:
            hint = did_you_mean(name, integration_utils.INTEGRATION_TO_CALLBACK)
            document.problem(("train", "report_to"), f"{name!r} given; {hint}")
        elif name not in integration_utils.get_available_reporting_integrations():
            document.problem(("train", "report_to"), str(missing_package(repr(name), name)))
