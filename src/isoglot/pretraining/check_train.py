"""Check the section ``train`` of a recipe: settings of ``TrainingArguments`` that this machine can follow."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from isoglot.core.checks import closest, did_you_mean, missing_package
from isoglot.core.errors import ConfigurationError, Location, Problem
from isoglot.recipe.document import Document, variables_in
from isoglot.recipe.spec import spec_of

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
"""Settings of ``TrainingArguments`` that a recipe does not have, and what to write instead: another part of the recipe
decides them, or they could only break a run."""

_SECRET = re.compile(
    r"(^|_)(token|secret|password|passwd|credentials?|(api|access|auth|private|secret)_?key)$", re.IGNORECASE
)
"""Names of settings and variables whose values must not be written to any file: ``hub_token``, ``WANDB_API_KEY``."""
_FROM_ENVIRONMENT = (
    "leave it out, and set the environment variable that the library reads: HF_TOKEN, WANDB_API_KEY"
)
_MAY_BE_NEGATIVE = ("local_rank", "ddp_timeout")


def train_problems(document: Document) -> Iterator[Problem]:
    """Check the settings of the trainer.

    1. Neither a setting of the trainer nor an environment variable in the recipe is a secret: all values are recorded.
    2. A setting that another part of the recipe decides is refused, with the line to write instead.
    3. A setting is known, and its value has the right type.
    4. A number is not negative, and a decay rate of Adam is below 1: the library would find out at the first step.
    5. The packages that ``report_to`` names are installed.
    """
    for location, text in document.raw.items():  # 1
        secrets_named = [name for name in variables_in(text) if _SECRET.search(name)]
        if secrets_named:
            yield Problem(f"${{{secrets_named[0]}}} is a secret; {_FROM_ENVIRONMENT}", location)
    settings = document.values.get("train")
    if not isinstance(settings, dict):
        return
    secrets = list(_secrets(settings, ("train",)))
    for location in secrets:
        yield Problem(f"is a secret; {_FROM_ENVIRONMENT}", location)
    settings = {name: value for name, value in settings.items() if ("train", name) not in secrets}
    from transformers import TrainingArguments  # noqa: PLC0415 - a second of import that other checks do without

    for name in settings:  # 2
        if name in ELSEWHERE:
            yield Problem(f"not a setting of a recipe; {ELSEWHERE[name]}", ("train", name))
    # `fsdp: true` is right, though the library's type hint says it is a text.
    trainer_settings = {
        name: value
        for name, value in settings.items()
        if name not in ELSEWHERE and (name, value) != ("fsdp", True)
    }
    # Without the parameters that ELSEWHERE names.
    spec = spec_of(TrainingArguments, *ELSEWHERE)
    wrong: set[Any] = set()
    try:
        spec.of(trainer_settings)  # 3
    except ConfigurationError as error:
        for problem in error.problems:
            text, name = problem.text, problem.location[0]
            wrong.add(name)
            if problem.kind == "extra_forbidden":
                close = closest(name, spec.model_fields)
                hint = f"did you mean {close!r}?" if close else "see transformers.TrainingArguments"
                text = f"not a setting of TrainingArguments; {hint}"
            yield Problem(text, ("train", *problem.location))
    of_right_type = {name: value for name, value in trainer_settings.items() if name not in wrong}
    yield from _range_problems(of_right_type)  # 4
    yield from _reporter_problems(settings.get("report_to"))  # 5


def _range_problems(settings: Mapping[str, Any]) -> Iterator[Problem]:
    """Check that numbers are not negative, and decay rates of Adam below 1."""
    for name, value in settings.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name in _MAY_BE_NEGATIVE or not is_number:
            continue
        if not value >= 0:  # also true for NaN
            yield Problem(f"got {value!r}; it must be 0 or more", ("train", name))
        elif name in ("adam_beta1", "adam_beta2") and value >= 1:
            yield Problem(f"got {value!r}; it must be below 1, for example 0.98", ("train", name))


def _secrets(settings: Mapping[str, Any], location: Location) -> Iterator[Location]:
    """Find the settings, also nested ones, whose names say that they hold a secret."""
    for name, value in settings.items():
        if _SECRET.search(name) and value is not None:
            yield (*location, name)
        elif isinstance(value, Mapping):
            yield from _secrets(value, (*location, name))


def _reporter_problems(reporters: Any) -> Iterator[Problem]:
    """Check that the packages that ``report_to`` needs are installed."""
    from transformers.integrations import integration_utils  # noqa: PLC0415 - as TrainingArguments above

    for name in reporters if isinstance(reporters, list) else [reporters]:
        if name in (None, "all", "none"):
            continue
        if name not in integration_utils.INTEGRATION_TO_CALLBACK:
            hint = did_you_mean(name, integration_utils.INTEGRATION_TO_CALLBACK)
            yield Problem(f"got {name!r}; {hint}", ("train", "report_to"))
        elif name not in integration_utils.get_available_reporting_integrations():
            yield Problem(str(missing_package(repr(name), name)), ("train", "report_to"))
