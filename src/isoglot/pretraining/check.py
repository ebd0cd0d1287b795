"""Load a recipe with every mistake listed, those included that only the callables themselves can tell."""

import dataclasses
import inspect
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from torch import nn

from isoglot.checks import closest, did_you_mean, missing_package
from isoglot.corpus.encode.tokenizer import TokenizerOptions
from isoglot.errors import ConfigurationError, IsoglotError, Location
from isoglot.modules.checkpoint import load_config
from isoglot.modules.load import longest_input, model_config
from isoglot.pretraining.constructors import (
    KEYS,
    Constructor,
    constructor,
    make_view,
    stand_in_encoder,
    stand_in_tokenizer,
)
from isoglot.pretraining.stream_options import check_streams
from isoglot.recipe.document import Document
from isoglot.recipe.load import problems
from isoglot.recipe.sections import ModelSection, Recipe, validate
from isoglot.recipe.signatures import mismatch
from isoglot.recipe.source import read_document

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
_LAYERS = 12
"""Layers of a stand-in for an encoder that is not known before it is loaded: those of the base models."""


def load_recipe(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and find all its mistakes before any data or model is touched.

    Beside what :mod:`isoglot.recipe.load` checks: that each view and objective exists, takes the options that
    it is given and can be made from them; that preparing and encoding take theirs; that ``train`` holds settings of
    ``TrainingArguments`` that this machine can follow; that files exist.

    Args:
        path_or_name: a YAML file, or the name of a built-in recipe.
        overrides: ``section.key=value`` each.

    Raises:
        ConfigurationError: all mistakes, each with its line and the closest known name.
        InputError: the file is not YAML.
    """
    document = read_document(path_or_name, overrides)
    recipe = problems(document)
    check_streams(document)
    made_by = _constructors(document)
    _check_views_read(document, made_by)
    _check_train(document)
    _make(document, made_by, _check_encoder(document))
    if recipe is None or document.problems:
        raise document.error(f"recipe {path_or_name}")
    return recipe


def explicit(recipe: Recipe, made: Mapping[Location, Any] | None = None) -> dict[str, Any]:
    """The recipe with the values that will be used, of the views and objectives ``made`` or of stand-ins."""
    values = recipe.model_dump(mode="json", exclude_none=True)
    if made is None:
        document = Document(values=values)
        made = _make(document, _constructors(document), _check_encoder(document))
    for section in KEYS:
        for name, entry in values[section].items():
            options = constructor(section, entry["type"]).options
            for option, parameter in options.items():
                value = entry.get(option, parameter.default)
                if value is None or value is inspect.Parameter.empty:
                    value = getattr(made.get((section, name)), option, None)
                if option not in entry and option != "seed" and isinstance(value, str | int | float | bool):
                    entry[option] = value
    return values


def _constructors(document: Document) -> dict[Location, Constructor]:
    """The constructors of the views and objectives, by section and name; mistakes are added to the document."""
    found: dict[Location, Constructor] = {}
    for section, keys in KEYS.items():
        for name, entry in document.entries(section).items():
            if section == "objectives" and hasattr(nn.ModuleDict(), name):
                document.problem((section, name), f"{name!r} is the name of something else; choose another")
            if not isinstance(entry.get("type"), str):
                continue
            location: Location = (section, name)
            try:
                made_by = found[location] = constructor(section, entry["type"])
            except ConfigurationError as error:
                document.problem((*location, "type"), str(error))
                continue
            options = {k: v for k, v in entry.items() if k not in keys}
            made_by.check(document, location, options)
    return found


def _check_views_read(document: Document, made_by: Mapping[Location, Constructor]) -> None:
    """Every view that an objective reads by default exists, and every view is read, by name or by default."""
    views, read, unknown = document.entries("views"), set[str](), False
    for name, entry in document.entries("objectives").items():
        read |= {value for value in entry.values() if isinstance(value, str)}
        maker = made_by.get(("objectives", name))
        if maker is None:
            unknown = True  # told already; what it would read is not known
            continue
        for option, default in ((n, p.default) for n, p in maker.options.items() if n not in entry):
            if isinstance(default, str):
                read.add(default)
                if (option == "view" or option.endswith("_view")) and default not in views:
                    document.problem(
                        ("objectives", name),
                        f"reads view {default!r} by default, and there is none; add `{option}: VIEW`",
                    )
    for name in views if not unknown else ():
        if name not in read:
            document.problem(("views", name), "no objective reads this view; name it in one or delete it")


def _make(document: Document, made_by: Mapping[Location, Constructor], config: Any) -> dict[Location, Any]:
    """Make each view and objective with stand-ins; what they refuse is added to the document.

    One with a mistake that is known already is left out, and so is one that takes a corpus, which is not read yet.
    """
    found: dict[Location, Any] = {}
    tokenizer, encoder = stand_in_tokenizer(), None
    longest = None if config is None else longest_input(config)
    layers = None if config is None else getattr(config, "num_hidden_layers", None)
    for location, maker in made_by.items():
        section, name = str(location[0]), str(location[1])
        entry = document.entries(section)[name]
        options = {k: v for k, v in entry.items() if k not in KEYS[section]}
        if document.is_told(location) or any(options.get(corpus) is not None for corpus in maker.corpora):
            continue
        try:
            if section == "views":
                found[location] = make_view(maker, options, tokenizer, {}, longest)
            else:
                encoder = encoder or stand_in_encoder(layers or _LAYERS)
                made = maker.build(encoder, options, {}, tokenizer=tokenizer)
                found[location] = made if layers is not None else None
        except ConfigurationError as error:
            if section == "objectives" and layers is None and not isinstance(error.__cause__, TypeError):
                continue  # it may be right for the encoder that is not known yet
            document.add(problem.below(*location) for problem in error.problems)
    return found


def _check_encoder(document: Document) -> Any:
    """A tokenizer that can be trained, and an encoder from scratch whose sizes its family takes.

    Its configuration, where that takes no download and has no mistake.
    """
    tokenizer, model = document.values.get("tokenizer"), document.values.get("model")
    if isinstance(tokenizer, dict) and "path" not in tokenizer:
        validate(document, ("tokenizer",), TokenizerOptions, tokenizer)
    if not isinstance(model, dict):
        return None
    if model.get("path") is not None or "architecture" not in model:
        if isinstance(tokenizer, dict) and tokenizer.get("algorithm") is not None:
            document.problem(
                ("tokenizer",),
                "a new tokenizer given, whose pieces the encoder of model.path was not trained on; leave it out (--set "
                "tokenizer=null)",
            )
        try:
            place = ModelSection.model_validate(model).path
            return load_config(place) if place is not None and Path(place).is_dir() else None
        except (IsoglotError, ValidationError):
            return None  # told where sections are checked, or when it is loaded
    if tokenizer is None:
        document.problem(
            ("model",),
            "a model from scratch needs a tokenizer; add `tokenizer: {algorithm: wordpiece, vocab_size: 16000}`",
        )
    try:
        return model_config({"vocab_size": 1000, **{k: v for k, v in model.items() if v is not None}})
    except ConfigurationError as error:
        document.add(error.problems)
        return None


def _check_train(document: Document) -> None:
    """The settings of the trainer: known ones, with values of their type, not decided elsewhere."""
    settings = document.values.get("train")
    if not isinstance(settings, dict):
        return
    from transformers import TrainingArguments  # noqa: PLC0415 - a second of import that other checks do without

    hints = typing.get_type_hints(TrainingArguments)
    hints["fsdp"] = bool | str | None  # its own leaves out true
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
