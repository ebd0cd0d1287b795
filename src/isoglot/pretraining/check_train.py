"""The section ``train`` of a recipe: settings of ``transformers.TrainingArguments``, known and possible here."""

import dataclasses
import typing
from typing import Any

from isoglot.checks import did_you_mean, missing_package
from isoglot.recipe.document import Document, Location
from isoglot.recipe.signatures import mismatch

OWNED_SETTINGS: dict[str, str] = {
    "output_dir": "give `isoglot pretrain --out DIR`",
    "per_device_train_batch_size": "write `batch: {examples: 32}`",
    "max_steps": "write `steps: 1000`",
    "num_train_epochs": "write `epochs: {stream: NAME, count: 2}`",
    "seed": "write `seed: 1` at the top",
    "data_seed": "write `seed: 1` at the top",
    "remove_unused_columns": "isoglot's views choose the columns",
    "resume_from_checkpoint": "give `isoglot pretrain --resume`",
}
"""Settings of ``TrainingArguments`` that another part of a recipe decides."""

_LEFT_OUT: dict[str, str] = {
    "label_smoothing_factor": "objectives have their own losses; leave it out",
    "neftune_noise_alpha": "views make the inputs of the encoder; leave it out",
    "use_liger_kernel": "objectives have their own losses; leave it out",
    "train_sampling_strategy": "write `batch: {bucket: 50}` for batches of similar lengths",
    "dataloader_drop_last": "every example is in a batch; leave it out",
    "auto_find_batch_size": "write a smaller `batch: {examples: 16}` and train.gradient_accumulation_steps",
    "ignore_data_skip": "a resumed run goes on with the next batch; leave it out",
    "eval_on_start": "pre-training does not evaluate; leave it out",
}
"""Settings of ``TrainingArguments`` that have no effect here, or none but to break the run."""

_BELOW_ONE = ("adam_beta1", "adam_beta2")
_MAY_BE_NEGATIVE = ("max_steps", "local_rank", "ddp_timeout")


def check_train(document: Document) -> None:
    """The settings of the trainer: known ones, with values of their type, not decided elsewhere."""
    settings = document.values.get("train")
    if not isinstance(settings, dict):
        return
    from transformers import TrainingArguments  # noqa: PLC0415 - a second of import that other checks do without

    if settings.get("eval_strategy", "no") != "no" or settings.get("load_best_model_at_end"):
        key = "load_best_model_at_end" if settings.get("load_best_model_at_end") else "eval_strategy"
        document.problem(
            ("train", key),
            "pre-training does not evaluate; keep checkpoints (save_total_limit) and run `isoglot evaluate` on them",
        )
    if settings.get("save_strategy") == "best":
        document.problem(
            ("train", "save_strategy"), "'best' given; pre-training does not evaluate: write steps or epoch"
        )
    defaults = {f.name: f.default for f in dataclasses.fields(TrainingArguments) if f.init}
    fields = set(defaults) - set(OWNED_SETTINGS)
    hints = {
        **typing.get_type_hints(TrainingArguments),
        "fsdp": bool | str | None,
    }  # its own hint leaves out true
    for name, value in settings.items():
        location: Location = ("train", name)
        if name in OWNED_SETTINGS:
            document.problem(location, f"another part of a recipe decides this; {OWNED_SETTINGS[name]}")
        elif name not in fields:
            document.problem(location, f"no setting of TrainingArguments; {_short_hint(name, fields)}")
        elif name in _LEFT_OUT and value not in (defaults[name], 0):
            document.problem(location, f"{value!r} given, which has no effect here; {_LEFT_OUT[name]}")
        elif (reason := mismatch(hints[name], value) or _out_of_range(name, value)) is not None:
            document.problem(location, f"{value!r} given; {reason}")
    _check_reporters(document, settings.get("report_to"))


def _short_hint(name: str, known: set[str]) -> str:
    hint = did_you_mean(name, known)
    return hint if hint.startswith("did") else "see the documentation of transformers.TrainingArguments"


def _out_of_range(name: str, value: Any) -> str | None:
    """Why a number makes no sense: below 0, or an average of moments that never forgets."""
    if isinstance(value, bool) or not isinstance(value, int | float) or name in _MAY_BE_NEGATIVE:
        return None
    if not value >= 0:  # not a number is not, either
        return "it is 0 or more"
    if name in _BELOW_ONE and value >= 1:
        return "it is below 1, for example 0.98"
    return None


def _check_reporters(document: Document, wanted: Any) -> None:
    """The packages that ``report_to`` needs are installed."""
    from transformers.integrations.integration_utils import (  # noqa: PLC0415 - as TrainingArguments above
        INTEGRATION_TO_CALLBACK,
        get_available_reporting_integrations,
    )

    names = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    for name in (n for n in names if n not in ("all", "none")):
        if name not in INTEGRATION_TO_CALLBACK:
            hint = did_you_mean(name, INTEGRATION_TO_CALLBACK)
            document.problem(("train", "report_to"), f"{name!r} given; {hint}")
        elif name not in get_available_reporting_integrations():
            document.problem(("train", "report_to"), str(missing_package(repr(name), name)))
