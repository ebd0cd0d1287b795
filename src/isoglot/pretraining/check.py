"""Load a recipe with every mistake listed, those included that only the callables themselves can tell."""

from __future__ import annotations

import dataclasses
import glob
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from isoglot.checks import did_you_mean, resolve
from isoglot.corpus.encode.encode import EncodeOptions
from isoglot.corpus.encode.tokenizer import TokenizerOptions
from isoglot.corpus.manifest import read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.pack.packing import PackOptions
from isoglot.corpus.read.sources import Source, expand
from isoglot.errors import ConfigurationError
from isoglot.modules.load import model_config
from isoglot.objectives import OBJECTIVES
from isoglot.pretraining.check_values import check_view_values
from isoglot.pretraining.streams import is_prepared, prepare_values, stream_sources
from isoglot.recipe.load import mistakes, read
from isoglot.recipe.problems import problems, validate
from isoglot.recipe.sections import Recipe, StreamSection
from isoglot.recipe.signatures import check_options, dataset_options, mismatch, options_of
from isoglot.recipe.source import Document, Location
from isoglot.views import VIEWS

__all__ = ["OWNED_SETTINGS", "explicit", "load_recipe"]

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

_ALWAYS_SUPPLIED = ("self", "tokenizer", "model", "encoder")
_SECTION_KEYS = {
    "streams": ("kind", "path", "sources", "encode", "pack"),
    "views": ("type", "stream"),
    "objectives": ("type", "weight"),
}


def load_recipe(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and find all its mistakes before any data or model is touched.

    Beside what :func:`isoglot.recipe.load.load` checks: that each view and objective exists and takes the options that
    it is given, with values of the right type; that preparing and encoding take theirs; that ``train`` holds
    settings of ``TrainingArguments``; that files exist.

    Args:
        path_or_name: a YAML file, or the name of a built-in recipe.
        overrides: ``section.key=value`` each.

    Raises:
        ConfigurationError: all mistakes, each with its line and the closest known name.
        InputError: the file is no YAML.
    """
    document = read(path_or_name, overrides)
    recipe = problems(document)
    _check_streams(document)
    _check_typed(document, "views", VIEWS)
    _check_typed(document, "objectives", OBJECTIVES)
    _check_used_views(document)
    _check_train(document)
    _check_encoder(document)
    check_view_values(document)
    if recipe is None or document.problems:
        raise mistakes(document, path_or_name)
    return recipe


def explicit(recipe: Recipe) -> dict[str, Any]:
    """The resolved recipe with the defaults of every view and objective filled in from their signatures."""
    values = recipe.model_dump(mode="json")
    for section, registry in (("views", VIEWS), ("objectives", OBJECTIVES)):
        for entry in values[section].values():
            callable_ = resolve(registry, entry["type"], kind=section.removesuffix("s"))
            for name, parameter in options_of(callable_, supplied=_ALWAYS_SUPPLIED).items():
                if isinstance(parameter.default, str | int | float | bool | None):
                    entry.setdefault(name, parameter.default)
    return values


def _entries(document: Document, section: str) -> dict[str, dict[str, Any]]:
    values = document.values.get(section)
    return {k: v for k, v in values.items() if isinstance(v, dict)} if isinstance(values, dict) else {}


def _check_typed(document: Document, section: str, registry: Mapping[str, Any]) -> None:
    """The views or the objectives: their types exist, and take their options."""
    streams = _entries(document, "streams")
    for name, entry in _entries(document, section).items():
        kind = entry.get("type")
        if not isinstance(kind, str):
            continue
        location: Location = (section, name)
        try:
            callable_ = resolve(registry, kind, kind=section.removesuffix("s"))
        except ConfigurationError as error:
            document.problem((*location, "type"), str(error))
            continue
        options = {k: v for k, v in entry.items() if k not in _SECTION_KEYS[section]}
        others = _SECTION_KEYS[section]
        check_options(document, location, callable_, options, supplied=_ALWAYS_SUPPLIED, others=others)
        if section == "objectives":
            _check_default_views(document, location, callable_, options)
        for option in dataset_options(callable_) & set(options):
            value = options[option]
            if value is not None and value not in streams:
                hint = did_you_mean(value, streams)
                document.problem(
                    (*location, option), f"{value!r} is no stream, and a corpus is needed; {hint}"
                )


def _check_default_views(
    document: Document, location: Location, callable_: Callable[..., Any], options: dict[str, Any]
) -> None:
    """A view that an objective reads because none was named."""
    views = _entries(document, "views")
    for name, parameter in options_of(callable_, supplied=_ALWAYS_SUPPLIED).items():
        reads = name == "view" or name.endswith("_view")
        if (
            reads
            and name not in options
            and isinstance(parameter.default, str)
            and parameter.default not in views
        ):
            document.problem(
                location,
                f"reads view {parameter.default!r} by default, and there is none; add `{name}: VIEW`",
            )


def _check_used_views(document: Document) -> None:
    """Every view is read by an objective, by name or by default; one that is not would be built for nothing."""
    read: set[str] = set()
    for entry in _entries(document, "objectives").values():
        read |= {value for value in entry.values() if isinstance(value, str)}
        try:
            callable_ = resolve(OBJECTIVES, str(entry.get("type")), kind="objective")
        except ConfigurationError:
            return  # told already; what it would read is not known
        parameters = options_of(callable_, supplied=_ALWAYS_SUPPLIED)
        read |= {
            p.default for name, p in parameters.items() if name not in entry and isinstance(p.default, str)
        }
    for name in _entries(document, "views"):
        if name not in read:
            document.problem(("views", name), "no objective reads this view; name it in one or delete it")


def _check_streams(document: Document) -> None:
    """The streams: their sources exist and say what they are; preparing, encoding and packing take their options."""
    for name, entry in _entries(document, "streams").items():
        location: Location = ("streams", name)
        values = {k: v for k, v in entry.items() if k not in _SECTION_KEYS["streams"]}
        known = {*Source.model_fields, *PrepareOptions.model_fields}
        for key in [k for k in values if k not in known]:
            document.problem((*location, key), f"unknown key; {did_you_mean(key, known)}")
        if any(place[:2] == location for place in document.unset()):
            continue  # paths with unset variables would only repeat that they are missing
        before = len(document.problems)
        sources = _sources(document, location, entry)
        options = prepare_values(document.values, entry.get("kind"), values)
        validate(document, location, PrepareOptions, options)
        for key, model in (("encode", EncodeOptions), ("pack", PackOptions)):
            if isinstance(entry.get(key), dict):
                validate(document, (*location, key), model, entry[key])
        if sources:
            sound = len(document.problems) == before
            _check_files(document, location, sources, entry.get("kind") if sound else None)


def _sources(document: Document, location: Location, entry: dict[str, Any]) -> list[Source]:
    """The sources of a stream, each entry's mistakes with its own line."""
    shared = {k: v for k, v in entry.items() if k in Source.model_fields and k != "path"}
    several = entry.get("sources")
    if isinstance(several, list):
        found = [
            validate(
                document,
                (*location, "sources", i),
                Source,
                {**shared, **one} if isinstance(one, dict) else one,
            )
            for i, one in enumerate(several)
        ]
        return found if all(found) else []
    try:
        return stream_sources(StreamSection.model_validate(entry))
    except ValidationError:
        checked = {"path": "-", **shared}
        validate(document, location, Source, checked)  # what is wrong with the shape itself is known already
        return []


def _check_files(document: Document, location: Location, sources: list[Source], kind: Any) -> None:
    """The files are there, and of a format that can be told; ``kind`` is ``None`` where the options are wrong."""
    if any(is_prepared(source.path) for source in sources):
        if len(sources) > 1:
            document.problem(location, "a prepared folder stands alone; name it as the only path")
        elif kind is not None:
            _check_prepared(document, location, sources[0])
        return
    missing = [path for source in sources for path in source.files() if _is_missing(path)]
    for path in missing:
        parent = Path(path).parent
        siblings = sorted(p.name for p in parent.iterdir()) if parent.is_dir() else []
        close = did_you_mean(Path(path).name, siblings)
        hint = close if close.startswith("did") else "check the path"
        document.problem((*location, "path"), f"{path}: no such file; {hint}")
    if missing or kind is None:
        return
    try:
        expand(sources, kind)
    except ConfigurationError as error:
        for message in error.problems:
            document.problem(location, message)


def _check_prepared(document: Document, location: Location, source: Source) -> None:
    """A prepared corpus is read as it is: filters that the stream names must be those it was made with."""
    manifest = read_manifest(source.path)
    entry = _entries(document, "streams")[str(location[-1])]
    if manifest is None:
        return
    if manifest.kind != entry.get("kind"):
        document.problem(
            (*location, "kind"),
            f"{entry.get('kind')!r} given, {source.path} holds a prepared {manifest.kind} corpus; "
            f"write `kind: {manifest.kind}`, or name another path",
        )
        return
    wanted = PrepareOptions.model_validate(prepare_values(document.values, manifest.kind, entry))
    for key in PrepareOptions.model_fields:
        held = getattr(manifest.options, key)
        if (
            key in entry
            and key not in ("kind", "tokenizer", "seed", "shard_rows")
            and getattr(wanted, key) != held
        ):
            document.problem(
                (*location, key),
                f"{entry[key]!r} given, but {source.path} is prepared already, with {held!r}; a prepared corpus is "
                "read as it is: delete the key, or run `isoglot prepare` again with it",
            )
    spoken = {count.languages for count in manifest.languages}
    named = source.languages(manifest.kind)
    if any(named) and named not in spoken:
        document.problem(
            location,
            f"language {'-'.join(named)} given, {source.path} is prepared with "
            f"{', '.join('-'.join(s) for s in sorted(spoken))}; delete the languages, or name another path",
        )


def _is_missing(path: str) -> bool:
    """Whether a path names a file that is not there; a data-set name (no suffix, not rooted) may be elsewhere."""
    if path == "-" or glob.has_magic(path) or Path(path).exists():
        return False
    return bool(Path(path).suffix) or path.startswith((".", "/", "~")) or path.count("/") > 1


def _check_encoder(document: Document) -> None:
    """A tokenizer that can be trained, and an encoder from scratch whose sizes its family takes."""
    tokenizer, model = document.values.get("tokenizer"), document.values.get("model")
    if isinstance(tokenizer, dict) and "path" not in tokenizer:
        validate(document, ("tokenizer",), TokenizerOptions, tokenizer)
    if not isinstance(model, dict) or "architecture" not in model or "path" in model:
        return
    if tokenizer is None:
        document.problem(
            ("model",),
            "a model from scratch needs a tokenizer; add `tokenizer: {algorithm: wordpiece, vocab_size: 16000}`",
        )
    try:
        model_config({"vocab_size": 1000, **model})
    except ConfigurationError as error:
        for message in error.problems:
            place, _, rest = message.partition(": ")
            parts: Location = tuple(place.split("."))
            document.problem(
                parts if parts[0] == "model" else ("model",), rest if parts[0] == "model" else message
            )


def _check_train(document: Document) -> None:
    """The settings of the trainer: known ones, with values of their type, not decided elsewhere."""
    settings = document.values.get("train")
    if not isinstance(settings, dict):
        return
    from transformers import TrainingArguments  # noqa: PLC0415 - a second of import that other checks do without

    if settings.get("eval_strategy", "no") != "no" or settings.get("load_best_model_at_end"):
        key = "load_best_model_at_end" if settings.get("load_best_model_at_end") else "eval_strategy"
        document.problem(
            ("train", key),
            "pre-training does not evaluate, its loss is no measure of transfer; keep checkpoints "
            "(save_total_limit) and run `isoglot evaluate` on them",
        )
    fields = {f.name for f in dataclasses.fields(TrainingArguments) if f.init} - set(OWNED_SETTINGS)
    hints = typing.get_type_hints(TrainingArguments)
    for name, value in settings.items():
        location: Location = ("train", name)
        if name in OWNED_SETTINGS:
            document.problem(location, f"another part of a recipe decides this; {OWNED_SETTINGS[name]}")
        elif name not in fields:
            document.problem(location, f"no setting of TrainingArguments; {_short_hint(name, fields)}")
        elif (reason := mismatch(hints[name], value)) is not None:
            document.problem(location, f"{value!r} given; {reason}")


def _short_hint(name: str, known: set[str]) -> str:
    hint = did_you_mean(name, known)
    return hint if hint.startswith("did") else "see the documentation of transformers.TrainingArguments"
