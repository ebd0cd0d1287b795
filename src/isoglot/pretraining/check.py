"""Load a recipe, with all its mistakes in one list, also those that only the files or the encoder show."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from torch import nn

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError, Location, Problem, collected
from isoglot.modules.adapter import add_adapter
from isoglot.modules.load import empty_masked_lm, longest_input
from isoglot.pretraining.check_files import file_problems
from isoglot.pretraining.check_train import train_problems
from isoglot.pretraining.recipe import BUILT, ObjectiveSection, Recipe, ViewSection, typed_recipe
from isoglot.recipe.document import overridden
from isoglot.recipe.sections import PartsSection
from isoglot.recipe.source import read_document
from isoglot.training.parts import frozen_layers, require_thaw

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Sections = Mapping[Location, Any]
"""Typed sections by location; ``None`` for one with a mistake."""


def load_recipe(path_or_name: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and find all its mistakes before any data or model is touched.

    All of these are checked, and all mistakes are reported together:

    - the shape of each section: its keys, and the types of their values;
    - names: each stream and view that is named exists, and each one that exists is read;
    - ``train``: settings of ``TrainingArguments`` that this machine can follow;
    - files: they exist, and have a format that can be read;
    - the encoder, made without its weights: it takes the settings, and the objectives take the encoder.

    Args:
        path_or_name: a YAML file, the name of a built-in recipe, or the content of such a file as dictionaries.
        overrides: ``section.key=value`` each.

    Raises:
        ConfigurationError: all mistakes, each with its line and the closest known name.
        InputError: the file is not YAML.

    Example:
        >>> from isoglot.pretraining.check import load_recipe
        >>> load_recipe("mlm_scratch", ["seed=2"]).seed  # doctest: +SKIP
        2
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
    """Read a recipe, collect its mistakes, and raise them all together."""
    document = read_document(path_or_name, overrides)
    if keep_adapter and "adapter" in _entries(document.values, "model"):
        keep = "model.adapter.keep=true"
        overrides, document = [*overrides, keep], overridden(document, keep)
    recipe, sections = typed_recipe(document)
    parts = None if recipe is None else recipe.parts
    filled_in, encoder_problems = try_encoder(sections, parts)
    problems = [
        *_name_problems(document.values, sections),
        *_tokenizer_problems(document.values, sections),
        *encoder_problems,
        *train_problems(document),
    ]
    for name, entry in _entries(document.values, "streams").items():
        # A path with an environment variable that is not set is reported as that, not as a missing file.
        if any(location[:2] == ("streams", name) for location in document.unset()):
            continue
        mistakes = file_problems(sections.get(("streams", name)), entry)
        problems += [problem.below("streams", name) for problem in mistakes]
    if recipe is not None and parts is not None and recipe.steps is not None:
        with collected(problems):
            require_thaw(parts, recipe.steps, bool(recipe.train.get("warmup_steps")))
    if recipe is None or problems or document.problems:
        document.add(problems)
        raise document.error("recipe" if isinstance(path_or_name, Mapping) else f"recipe {path_or_name}")
    recipe.remember(document.raw, overrides, filled_in)
    return recipe


def _name_problems(values: Mapping[str, Any], sections: Sections) -> Iterator[Problem]:
    """Check how the sections of a recipe refer to each other.

    1. Either ``epochs`` or ``steps`` is given, not both.
    2. A stream, view or objective has a name that can be written in an override: ``my-view`` but not ``my view``.
    3. A reference finds its section: ``view: pair`` needs ``views.pair``.
    4. Every stream and view is read by somebody (:func:`_unread_or_missing`).
    """
    if (values.get("epochs") is None) == (values.get("steps") is None):  # 1
        yield Problem("it needs exactly one of `epochs: {stream: NAME, count: 2}` and `steps: 1000`")
    known: dict[str, list[str]] = {}
    for key in ("streams", "views", "objectives"):
        entries = values.get(key)
        known[key] = list(entries) if isinstance(entries, dict) else []
    # A mixture's item has the key `position` beside its streams, and torch's ModuleDict, which holds the objectives,
    # refuses the names of its own attributes, such as `train`.
    reserved = {
        "streams": {"position"},
        "objectives": {name for name in known["objectives"] if hasattr(nn.ModuleDict(), name)},
    }
    for key, names in known.items():  # 2
        for name in names:
            if not _NAME.fullmatch(name):
                yield Problem("names are letters, digits, _ and -, and begin with a letter or _", (key, name))
            elif name in reserved.get(key, ()):
                yield Problem(f"{name!r} is already in use; choose another", (key, name))
    for location, key, name in _references(values):  # 3
        # A section that is missing altogether is reported once, and not for each reference to it.
        if isinstance(name, str) and known[key] and name not in known[key]:
            text = f"no {key.removesuffix('s')} is named {name!r}; {did_you_mean(name, known[key])}"
            yield Problem(text, location)
    yield from _unread_or_missing(values, sections, known)  # 4


def _references(values: Mapping[str, Any]) -> Iterator[tuple[Location, str, Any]]:
    """Find the values that name a stream or a view: where each stands, the section of the name, and the name.

    ``objectives: {contrast: {view: pair}}`` gives ``(("objectives", "contrast", "view"), "views", "pair")``.
    """
    for name, view in _entries(values, "views").items():
        yield ("views", name, "stream"), "streams", view.get("stream")
    for name, objective in _entries(values, "objectives").items():
        for option, value in objective.items():
            if _names_view(option):
                yield ("objectives", name, option), "views", value
    epochs = values.get("epochs")
    if isinstance(epochs, dict):
        yield ("epochs", "stream"), "streams", epochs.get("stream")


def _names_view(option: str) -> bool:
    """Whether an option of an objective names a view that the objective reads: ``view``, ``clean_view``."""
    return option == "view" or option.endswith("_view")


def _unread_or_missing(
    values: Mapping[str, Any], sections: Sections, known: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Report streams and views that nobody reads, and corpora and views that are missing though options need them.

    A stream or view counts as read if its name stands anywhere in a view or objective: user-defined classes may name
    theirs in any option.

    ``known``: The names in each of the sections ``streams``, ``views`` and ``objectives``.
    """
    read: set[str] = set()
    for key in BUILT:
        read.update(_strings(values.get(key)))
    for location, section in sections.items():
        if isinstance(section, ViewSection | ObjectiveSection):
            # Also the views that an objective reads by default.
            views_read = _views_read(section) if isinstance(section, ObjectiveSection) else {}
            read.update(views_read.values())
            yield from _option_problems(location, section, views_read, known)
    for name in known["streams"]:
        if name not in read:
            text = "no view or objective reads this stream; name it in one or delete it"
            yield Problem(text, ("streams", name))
    # An objective with a mistake has no options, so the views that it reads by default are not known.
    objectives = [section for (key, *_), section in sections.items() if key == "objectives"]
    if all(section is not None for section in objectives):
        for name in known["views"]:
            if name not in read:
                text = "no objective reads this view; name it in one or delete it"
                yield Problem(text, ("views", name))


def _option_problems(
    location: Location,
    section: ViewSection | ObjectiveSection,
    views_read: Mapping[str, str],
    known: Mapping[str, Sequence[str]],
) -> Iterator[Problem]:
    """Check one view or objective: each corpus that it takes and each view that it reads by default must exist.

    Args:
        location: The place of the section in the recipe.
        section: The view or objective.
        views_read: The views that it reads, by option (:func:`_views_read`).
        known: As in :func:`_unread_or_missing`.
    """
    options = section.options
    # An option that takes a corpus, such as the lexicon of an objective, is written as the name of a stream.
    for option in options.corpus_options & options.model_fields_set:
        stream = getattr(options, option)
        if stream is not None and stream not in known["streams"]:
            hint = did_you_mean(stream, known["streams"])
            text = f"{stream!r} is not a stream, and a corpus is needed; {hint}"
            yield Problem(text, (*location, option))
    for option, view in views_read.items():
        # A view that the recipe names itself was checked with the other references.
        if option not in options.model_fields_set and view not in known["views"]:
            text = f"reads view {view!r} by default, and there is none; add `{option}: VIEW`"
            yield Problem(text, location)


def _views_read(objective: ObjectiveSection) -> dict[str, str]:
    """Return the views that an objective reads, by option: ``{"view": "pair"}``, also where that is the default."""
    options = objective.options
    views: dict[str, str] = {}
    for option in {*type(options).model_fields, *options.model_fields_set}:
        value = getattr(options, option)
        if _names_view(option) and isinstance(value, str):
            views[option] = value
    return views


def _entries(values: Mapping[str, Any], section: str) -> dict[str, dict[str, Any]]:
    """Return the entries of a section that are dictionaries; nothing if the section itself is no dictionary.

    The recipe may be wrong in any way: ``views: {pair: {...}, text: 5}`` gives ``{"pair": {...}}``.
    """
    entries = values.get(section)
    if not isinstance(entries, dict):
        return {}
    return {name: entry for name, entry in entries.items() if isinstance(entry, dict)}


def _strings(tree: object) -> list[str]:
    """Return all strings in nested dictionaries and lists; keys do not count."""
    if isinstance(tree, str):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    if not isinstance(tree, list):
        return []
    strings: list[str] = []
    for value in tree:
        strings += _strings(value)
    return strings


def _tokenizer_problems(values: Mapping[str, Any], sections: Sections) -> Iterator[Problem]:
    """Check that encoder and tokenizer fit: a new encoder needs a tokenizer, a trained one keeps its own.

    ``model: {path: xlm-r}`` with ``tokenizer: {algorithm: wordpiece}`` is a mistake: the word embeddings of the encoder
    belong to other pieces.
    """
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
    """Make the objectives on the encoder's real architecture, but without weights, which takes no memory.

    An objective is not tried if it takes a corpus or the tokenizer, which do not exist yet, or if it reads weights.
    Mistakes in a checkpoint (``model.path``) are left to the loading of the checkpoint, which describes them better.

    Returns:
        Two things: option values that views and objectives fill in where the recipe has none, by the location of the
        section (of every view the encoder's length: ``{("views", "pair"): SimpleNamespace(max_length=512)}``); and the
        mistakes that the encoder, its adapter, ``parts``, the views or the objectives report.
    """
    filled_in: dict[Location, Any] = {}
    model, tokenizer = sections.get(("model",)), sections.get(("tokenizer",))
    if model is None:
        return filled_in, []
    is_checkpoint = model.path is not None

    # Read the encoder's configuration. There is none if it would have to be downloaded, or if the section is wrong.
    config: Any = None
    config_problems: list[Problem] = []
    with collected(config_problems):
        config = model.config(training=None if tokenizer is None else tokenizer.training)
    if config is None:
        config_problems = [] if is_checkpoint else config_problems
        return filled_in, config_problems

    # Check the views: their inputs must not be longer than the encoder's.
    problems: list[Problem] = []
    longest = longest_input(config)
    for location, section in sections.items():
        if isinstance(section, ViewSection):
            # For every view, also one that gives `max_length` itself: `in_use` reads this only if the option is None.
            filled_in[location] = SimpleNamespace(max_length=longest)
            with collected(problems, *location):
                section.require_room(longest)

    # Make the encoder itself on torch's meta device, with its adapter and its frozen layers.
    encoder: Any = None
    encoder_problems: list[Problem] = []
    with collected(encoder_problems):
        encoder = empty_masked_lm(config, model.settings.get("attention"))
    if encoder is None:
        if not is_checkpoint:
            problems += encoder_problems
        return filled_in, problems
    if model.adapter is not None:
        with collected(problems, "model", "adapter"):
            add_adapter(encoder, model.adapter)
    with collected(problems):
        frozen_layers(
            encoder, parts or PartsSection()
        )  # only for its mistakes: layers that the encoder does not have

    # Make the objectives on it.
    for location, section in sections.items():
        if not isinstance(section, ObjectiveSection):
            continue
        # The tokenizer and the corpora do not exist yet.
        reads_corpus = bool(section.options.corpus_options & section.options.model_fields_set)
        if section.options.takes("tokenizer") or reads_corpus:
            continue
        # torch raises RuntimeError if an objective reads weights of the meta device: it cannot be tried.
        with suppress(RuntimeError), collected(problems, *location):
            objective = section.build(encoder, {}, tokenizer=None, seed=0)
            filled_in[location] = SimpleNamespace(**section.in_use(objective))
    return filled_in, problems
