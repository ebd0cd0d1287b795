"""``isoglot merge``: merge statistical aligners that were trained on parts of a text, by adding expected counts."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from isoglot.aligners.statistical.counts import Counts, CountSum
from isoglot.aligners.statistical.methods import METHODS, TranslationModel
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import same_language

_LOG = logging.getLogger(__name__)
_FEWEST = 2
_HALF = 0.5
"""The share of unknown words above which two models are hardly of one language."""


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
    if isinstance(models, str | Path) or not isinstance(models, Iterable):
        raise ConfigurationError(f"models must be a list of two or more, got {shortened(models)}")
    total, settings = CountSum(), dict[str, Any]()
    names = dict[Any, str]()  # what messages call each model, by its path or, of one in memory, by itself
    key: Any
    for number, model in enumerate(models, 1):
        # Each model must be given once.
        if isinstance(model, StatisticalAligner):
            key, name = model, f"model {number}"
        elif isinstance(model, str | Path):
            key, name = Path(model).resolve(), str(model)
        else:
            raise ConfigurationError(
                f"model {number}: expected a folder or a trained aligner, got {shortened(model)}"
            )
        if key in names:
            raise ConfigurationError(f"{name}: got this model twice; give each model once")
        names[key] = name
        # All models need the same settings.
        aligner = model if isinstance(model, StatisticalAligner) else StatisticalAligner.load(model)
        first_name = next(iter(names.values()))
        settings = _joined(settings, first_name, aligner.settings, name)
        # All need counts that add up.
        trained = aligner.trained()
        source, target = trained.word_pairs
        forward, reverse = trained.forward.additive(source, target), trained.reverse.additive(target, source)
        if forward is None or reverse is None:
            raise ConfigurationError(
                f"{name}: has no expected counts, because it made no update (iterations=1) or was saved by an earlier "
                "version; train it again"
            )
        if len(names) > 1 and forward.rest.shape != total.forward.rest.shape:
            raise ConfigurationError(
                f"{name}: has a table of {len(forward.rest):,} jumps, and {first_name} has one of "
                f"{len(total.forward.rest):,}, so their counts do not add up; train both again with one version"
            )
        _warn_of_unknown_words(total, trained, (forward, reverse), name)
        total.add(trained.words, trained.word_pairs, forward, reverse)
        del aligner, trained  # before the next one is loaded
    if len(names) < _FEWEST:
        raise ConfigurationError(f"merge: two or more models are needed, got {len(names)}")
    kind = METHODS[settings["method"]]
    return StatisticalAligner.of_settings(
        settings, kind.of_counts(total, kind.options(**settings["options"]))
    )


def _joined(settings: dict[str, Any], first: str, new: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the common settings of the models so far and a new one; different settings are refused.

    A language that some of the models do not name is taken from the others.

    ``settings``: Those of the models so far; empty before the first. ``first``: Name of the first model. ``new``,
    ``name``: Settings and name of the new one.
    """
    if not settings:
        return new
    pairs = [*zip(settings["languages"], new["languages"], strict=True)]
    for before, tag in pairs:
        if before and tag and not same_language(before, tag):
            of_first = "-".join(language or "?" for language in settings["languages"])
            of_new = "-".join(language or "?" for language in new["languages"])
            raise ConfigurationError(
                f"{name}: is a model of {of_new}, but {first} is one of {of_first}; merge models of the same languages"
            )
    languages = tuple(before or tag for before, tag in pairs)
    for key, value in settings.items():
        if key != "languages" and new[key] != value:
            after, before = new[key], value
            if isinstance(value, dict):  # the options of the method: name only those that differ
                differing = [option for option in value if after[option] != before[option]]
                after = ", ".join(f"{option}={new[key][option]}" for option in differing)
                before = ", ".join(f"{option}={value[option]}" for option in differing)
            else:
                after, before = repr(after), repr(before)
            raise ConfigurationError(
                f"{name}: {key} {after}, but {before} in {first}; train all parts with the same options"
            )
    return {**settings, "languages": languages}


def _warn_of_unknown_words(
    total: CountSum, model: TranslationModel, counts: tuple[Counts, Counts], name: str
) -> None:
    """Warn if on some side most linked words of a model are unknown to the models before it."""
    shares = total.unknown_shares(model.words, model.word_pairs, *counts)
    for side, unknown in zip(("source", "target"), shares, strict=True):
        if unknown > _HALF:
            _LOG.warning(
                "%s: %.0f %% of its %s words are unknown to the models before it; merge models of the same languages, "
                "trained on text that is split into words and cased alike", name, 100 * unknown, side,
            )  # fmt: skip
