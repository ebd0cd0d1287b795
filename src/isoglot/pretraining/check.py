"""Load a recipe with every mistake listed, those included that only files, encoder or objectives show."""

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from torch import nn

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import (
    MISSING_FILE,
    ConfigurationError,
    IsoglotError,
    Location,
    Problem,
    collected,
)
from isoglot.corpus.manifest import is_prepared
from isoglot.corpus.open_corpus import prepared_input
from isoglot.corpus.options import PrepareOptions
from isoglot.formats.sources import Source, expand
from isoglot.modules.adapter import add_adapter
from isoglot.modules.load import empty_masked_lm, longest_input
from isoglot.pretraining.check_train import train_problems
from isoglot.pretraining.recipe import (
    MADE,
    ObjectiveSection,
    Recipe,
    StreamSection,
    ViewSection,
    typed,
)
from isoglot.recipe.document import overridden
from isoglot.recipe.sections import PartsSection
from isoglot.recipe.source import read_document
from isoglot.training.parts import frozen_layers, require_thaw

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Sections = Mapping[Location, Any]
"""Typed sections by location; ``None`` for one with a mistake."""


def load_recipe(path_or_name: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and find all its mistakes before any data or model is touched.

    Each section is read once, as what its ``kind`` or ``type`` says it is. Beside its shape are checked: that names
    refer to something and are read; that ``train`` holds settings of ``TrainingArguments`` that this machine can
    follow; that files exist; that the encoder, which is built without weights, takes its settings, and objectives the
    encoder.

    Args:
        path_or_name: a YAML file, the name of a built-in recipe, or what a file would hold as dictionaries.
        overrides: ``section.key=value`` each.

    Raises:
        ConfigurationError: all mistakes, each with its line and the closest known name.
        InputError: the file is not YAML.
    """
    return _load(path_or_name, overrides)


def load_run_recipe(
    path_or_name: str | Path | Mapping[str, Any], overrides: Sequence[str] = (), *, keep_adapter: bool = False
) -> Recipe:
    """Read a recipe as :func:`load_recipe` does; with ``keep_adapter`` its adapter is also written separately."""
    recipe = _load(path_or_name, overrides, keep_adapter=keep_adapter)
    if keep_adapter and recipe.model.adapter is None:
        raise ConfigurationError(
            "[[keep_adapter]] needs an adapter; add [[model.adapter={'type': 'lora', 'rank': 8}]]"
        )
    return recipe


def _load(
    path_or_name: str | Path | Mapping[str, Any], overrides: Sequence[str], *, keep_adapter: bool = False
) -> Recipe:
    document = read_document(path_or_name, overrides)
    if keep_adapter and "adapter" in _entries(document.values, "model"):
        overrides = [*overrides, "model.adapter.keep=true"]
        document = overridden(document, overrides[-1])
    recipe, sections = typed(document)
    parts = None if recipe is None else recipe.parts
    filled_in, refused = try_encoder(sections, parts)
    problems = [
        *_name_problems(document.values, sections),
        *_pieces_problems(document.values, sections),
        *refused,
        *train_problems(document),
    ]
    for name, entry in _entries(document.values, "streams").items():
        if not any(location[:2] == ("streams", name) for location in document.unset()):
            file_mistakes = file_problems(sections.get(("streams", name)), entry)
            problems += [problem.below("streams", name) for problem in file_mistakes]
    if recipe is not None and parts is not None and recipe.steps is not None:
        with collected(problems):
            require_thaw(parts, recipe.steps, bool(recipe.train.get("warmup_steps")))
    if recipe is None or problems or document.problems:
        document.add(problems)
        raise document.error("recipe" if isinstance(path_or_name, Mapping) else f"recipe {path_or_name}")
    recipe.remember(document.raw, overrides, filled_in)
    return recipe


def _name_problems(values: Mapping[str, Any], sections: Sections) -> Iterator[Problem]:
    """Names are names, refer to something, and what has one is read; one of epochs and steps is given."""
    if (values.get("epochs") is None) == (values.get("steps") is None):
        yield Problem("it needs exactly one of `epochs: {stream: NAME, count: 2}` and `steps: 1000`")
    known = {
        key: list(v) if isinstance(v := values.get(key), dict) else []
        for key in ("streams", "views", "objectives")
    }
    reserved = {
        "streams": {"position"},
        "objectives": {n for n in known["objectives"] if hasattr(nn.ModuleDict(), n)},
    }
    for key, name in ((key, name) for key, names in known.items() for name in names):
        if not _NAME.fullmatch(name):
            yield Problem("names are letters, digits, _ and -, and begin with a letter", (key, name))
        elif name in reserved.get(key, ()):
            yield Problem(f"{name!r} is already in use; choose another", (key, name))
    references: list[tuple[Location, str, Any]] = [
        (("views", name, "stream"), "streams", view.get("stream"))
        for name, view in _entries(values, "views").items()
    ]
    for name, objective in _entries(values, "objectives").items():
        read = (key for key in objective if key == "view" or key.endswith("_view"))
        references += [(("objectives", name, key), "views", objective[key]) for key in read]
    if isinstance(epochs := values.get("epochs"), dict):
        references.append((("epochs", "stream"), "streams", epochs.get("stream")))
    for location, kind, value in references:
        if isinstance(value, str) and known[kind] and value not in known[kind]:
            text = f"no {kind.removesuffix('s')} is named {value!r}; {did_you_mean(value, known[kind])}"
            yield Problem(text, location)
    yield from _unread(values, sections, known)


def _unread(
    values: Mapping[str, Any], sections: Sections, known: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Streams and views are read, and what objectives read by default is there."""
    read = {text for key in MADE for text in _strings(values.get(key))}
    for location, section in sections.items():
        if not isinstance(section, ViewSection | ObjectiveSection):
            continue
        options = section.options
        for option in options.corpora & options.model_fields_set:
            stream = getattr(options, option)
            if stream is not None and stream not in known["streams"]:
                hint = did_you_mean(stream, known["streams"])
                text = f"{stream!r} is not a stream, and a corpus is needed; {hint}"
                yield Problem(text, (*location, option))
        named = {*type(options).model_fields, *options.model_fields_set}
        for option in named if isinstance(section, ObjectiveSection) else ():
            view = getattr(options, option)
            if not (option == "view" or option.endswith("_view")) or not isinstance(view, str):
                continue
            read.add(view)
            if option not in options.model_fields_set and view not in known["views"]:
                text = f"reads view {view!r} by default, and there is none; add `{option}: VIEW`"
                yield Problem(text, location)
    for name in (name for name in known["streams"] if name not in read):
        text = "no view or objective reads this stream; name it in one or delete it"
        yield Problem(text, ("streams", name))
    if all(section is not None for (key, *_), section in sections.items() if key == "objectives"):
        for name in (name for name in known["views"] if name not in read):
            yield Problem("no objective reads this view; name it in one or delete it", ("views", name))


def _entries(values: Mapping[str, Any], section: str) -> dict[str, dict[str, Any]]:
    """The entries of a section that are sections themselves; empty where its shape is wrong."""
    entries = values.get(section)
    return {k: v for k, v in entries.items() if isinstance(v, dict)} if isinstance(entries, dict) else {}


def _strings(tree: object) -> list[str]:
    if isinstance(tree, dict | list):
        return [s for value in (tree.values() if isinstance(tree, dict) else tree) for s in _strings(value)]
    return [tree] if isinstance(tree, str) else []


def _pieces_problems(values: Mapping[str, Any], sections: Sections) -> Iterator[Problem]:
    """An encoder from scratch has a tokenizer, and one from a checkpoint the tokenizer that it was trained with."""
    model, tokenizer = sections.get(("model",)), sections.get(("tokenizer",))
    if model is None:
        return
    if model.path is not None and tokenizer is not None and tokenizer.path is None:
        text = (
            "the encoder of model.path was not trained on the pieces of a new tokenizer; leave it out "
            "([[tokenizer=None]])"
        )
        yield Problem(text, ("tokenizer",))
    if model.path is None and values.get("tokenizer") is None:
        text = "a model from scratch needs a tokenizer; add `tokenizer: {algorithm: wordpiece, vocab_size: 16000}`"
        yield Problem(text, ("model",))


def try_encoder(
    sections: Sections, parts: PartsSection | None = None
) -> tuple[dict[Location, Any], list[Problem]]:
    """Make the objectives on the encoder's real architecture without its weights, which takes no memory.

    Returns:
        By section and name, the options that views and objectives fill in; and what the encoder, its views, parts and
        objectives refuse. An objective is left out that takes a corpus or the tokenizer, which are not there yet, or
        that reads weights.
    """
    model, tokenizer = sections.get(("model",)), sections.get(("tokenizer",))
    filled_in: dict[Location, Any] = {}
    problems: list[Problem] = []
    if model is None:
        return filled_in, problems
    config: Any = None
    encoder: Any = None
    with collected(problems):
        config = model.config(training=None if tokenizer is None else tokenizer.training)
    if config is None:  # what is wrong with a checkpoint is reported when it is loaded
        return filled_in, [] if model.path is not None else problems
    longest = longest_input(config)
    for location, section in sections.items():
        if isinstance(section, ViewSection):
            filled_in[location] = SimpleNamespace(max_length=longest)
            with collected(problems, *location):
                section.require_room(longest)
    refused: list[Problem] = []
    with collected(refused):
        encoder = empty_masked_lm(config, model.settings.get("attention"))
    if encoder is None:
        return filled_in, problems if model.path is not None else [*problems, *refused]
    if model.adapter is not None:
        with collected(problems, "model", "adapter"):
            add_adapter(encoder, model.adapter)
    with collected(problems):
        frozen_layers(encoder, parts or PartsSection())
    for location, section in sections.items():
        if not isinstance(section, ObjectiveSection):
            continue
        if section.options.takes("tokenizer") or section.options.corpora & section.options.model_fields_set:
            continue
        with suppress(RuntimeError), collected(problems, *location):  # without weights to read
            objective = section.build(encoder, {}, tokenizer=None, seed=0)
            filled_in[location] = SimpleNamespace(**section.in_use(objective))
    return filled_in, problems


def file_problems(stream: StreamSection | None, values: Mapping[str, Any]) -> Iterator[Problem]:
    """The files exist, also those of a stream with mistakes; without mistakes, their format is detected too.

    A prepared corpus is read as it is: filters that the stream names must be those that it was made with.

    Args:
        stream: The stream, ``None`` where it has mistakes.
        values: The stream as it is written.
    """
    inputs = [] if stream is None else stream.inputs
    if stream is None:
        with suppress(ConfigurationError):  # reported already
            inputs = StreamSection.sources_of(values)
    if any(is_prepared(source.path) for source in inputs):
        if len(inputs) > 1:
            yield Problem("a prepared folder cannot be combined with other files; name it as the only path")
            return
        if stream is None:
            return
        try:
            corpus = prepared_input(inputs[0], stream.kind)
        except IsoglotError as error:
            yield Problem(str(error), ("path",))
            return
        made_with = corpus.manifest and corpus.manifest.options
        for key in (key for key in PrepareOptions.model_fields if key in stream.model_fields_set):
            value, before = getattr(stream.prepare, key), getattr(made_with, key)
            if key not in ("kind", "tokenizer", "seed", "shard_rows") and value != before:
                text = f"got {getattr(stream, key)!r}, but {inputs[0].path} was prepared with {before!r}"
                yield Problem(f"{text}; delete the key", (key,))
        return
    aligned = values.get("kind") == "aligned"
    missing = [p for s in inputs for p in s.files() if _is_missing(p, s, aligned=aligned)]
    for path in missing:
        hint = f"make it with `isoglot align BITEXT --format corpus --out {path}`, or " if aligned else ""
        yield Problem(f"{path}: no such file or folder; {hint}check the path", ("path",), MISSING_FILE)
    if stream is not None and not missing:
        problems: list[Problem] = []
        with collected(problems):
            expand(inputs, stream.kind)
        yield from problems


def _is_missing(path: str, source: Source, *, aligned: bool) -> bool:
    """Whether a path names a file or folder that is not there, and not a data set of the hub (``owner/name``)."""
    if path == "-" or glob.has_magic(path) or Path(path).exists():
        return False
    if source.format == "huggingface":
        return False
    rooted = bool(Path(path).suffix) or path.startswith((".", "/", "~")) or path.count("/") > 1
    return rooted or aligned or ("/" in path and Path(path).parent.is_dir())
