"""Merge statistical aligners that were trained on parts of a text, by adding their expected counts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from isoglot.aligners.statistical.counts import CountSum
from isoglot.aligners.statistical.methods import METHODS
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.checks import shortened
from isoglot.errors import ConfigurationError
from isoglot.languages import same_language

_FEWEST = 2


def merge(models: Iterable[str | Path | StatisticalAligner]) -> StatisticalAligner:
    """Merge statistical aligners that were trained on parts of a text into one.

    Adds the expected counts of links, of words without a link and of jumps, and computes probabilities from the sums.
    After one update of ``fast_align`` (``iterations=2``) the result is the model of the whole text. Later updates of a
    part do not see the counts of the other parts, so the result is close to the model of the whole text. Models are
    loaded one at a time.

    Args:
        models: Two or more folders that ``isoglot align --save`` wrote, or trained aligners, all with the same method
            and options.

    Raises:
        ConfigurationError: Fewer than two models, a model given twice, models with different options, or a model
            without counts.
        InputError: A folder without a model.

    Example:
        >>> source, target = [["das", "haus"], ["das", "buch"]], [["the", "house"], ["the", "book"]]
        >>> parts = [StatisticalAligner("hmm").fit_words([s], [t]) for s, t in zip(source, target)]
        >>> merge(parts).align_words(["das", "haus"], ["the", "house"]).to_pharaoh()
        '0-0 1-1'
    """
    total, names, settings = CountSum(), dict[Any, str](), dict[str, Any]()
    same: Any
    if isinstance(models, str | Path) or not isinstance(models, Iterable):
        raise ConfigurationError(f"models must be a list of two or more, got {shortened(models)}")
    for number, given in enumerate(models, 1):
        if isinstance(given, StatisticalAligner):
            same, name = given, f"model {number}"
        elif isinstance(given, str | Path):
            same, name = Path(given).resolve(), str(given)
        else:
            raise ConfigurationError(
                f"model {number}: expected a folder or a trained aligner, got {shortened(given)}"
            )
        if same in names:
            raise ConfigurationError(f"{name}: got this model twice; give each model once")
        names[same] = name
        settings = _add(total, name, given, settings, next(iter(names.values())))
    if len(names) < _FEWEST:
        raise ConfigurationError(f"merge: two or more models are needed, got {len(names)}")
    kind = METHODS[settings["method"]]
    return StatisticalAligner.of_settings(
        settings, kind.of_counts(total, kind.options(**settings["options"]))
    )


def _add(
    total: CountSum, name: str, given: str | Path | StatisticalAligner, wanted: dict[str, Any], first: str
) -> dict[str, Any]:
    """Add a model's counts and return its settings, which must be the ``wanted`` ones unless it is the first."""
    aligner = given if isinstance(given, StatisticalAligner) else StatisticalAligner.load(given)
    settings = aligner.settings
    if wanted:
        pairs = [*zip(settings["languages"], wanted["languages"], strict=True)]
        if not all(not tag or not before or same_language(tag, before) for tag, before in pairs):
            raise ConfigurationError(
                f"{name}: is a model of {_named(settings)}, but {first} is one of {_named(wanted)}; merge models of "
                "the same languages"
            )
        settings["languages"] = wanted["languages"] = tuple(before or tag for tag, before in pairs)
    for key, value in wanted.items():
        if settings[key] != value:
            own, others = _shown(settings[key], value), _shown(value, settings[key])
            raise ConfigurationError(
                f"{name}: {key} {own}, but {others} in {first}; train all parts with the same options"
            )
    model = aligner.trained()
    source, target = model.types
    ahead, back = model.forward.additive(source, target), model.reverse.additive(target, source)
    if ahead is None or back is None:
        raise ConfigurationError(
            f"{name}: has no expected counts, because it made no update (iterations=1) or was saved by an earlier "
            "version; train it again"
        )
    total.add(model.words, model.types, ahead, back)
    return settings


def _named(settings: dict[str, Any]) -> str:
    return "-".join(tag or "?" for tag in settings["languages"])


def _shown(own: Any, other: Any) -> str:
    """A value to show beside another one; of options only those that differ."""
    if not isinstance(own, dict):
        return repr(own)
    return ", ".join(f"{name}={value}" for name, value in own.items() if value != other[name])
