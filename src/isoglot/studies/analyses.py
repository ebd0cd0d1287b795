"""Measurements of a checkpoint that are no tasks, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from isoglot.errors import ConfigurationError
from isoglot.recipe.source import did_you_mean

__all__ = ["ANALYSES", "Analysis", "check_analysis", "find_analysis"]

Analysis = Callable[..., Mapping[str, float]]
"""``(checkpoint: str | None, *, language: str, **options) -> metric -> value``; the first metric is the primary one."""


def _alignment_score(checkpoint: str | None, *, language: str, **options: Any) -> dict[str, float]:
    """ALIGN-MLM's alignment score, and its parts inside and outside the dictionary trained on, in per cent."""
    from isoglot.analysis.alignment_score import Subset  # noqa: PLC0415
    from isoglot.analysis.checkpoint_score import ScoreOptions, checkpoint_alignment_score  # noqa: PLC0415
    from isoglot.corpus.manifest import load_corpus  # noqa: PLC0415

    del language
    if checkpoint is None:
        raise ConfigurationError("alignment_score measures an encoder; the system has none")
    what: dict[str, Any] = {k: options.pop(k) for k in ("vocabulary", "copied_from") if k in options}
    if lexicon := options.pop("lexicon", None):
        what["lexicon"] = load_corpus(lexicon)
    if options.get("language_ids") is not None:
        options["language_ids"] = tuple(options["language_ids"])
    if (share := options.get("subset")) is not None:
        options["subset"] = Subset(**share) if isinstance(share, Mapping) else Subset(share)
    known = [*what, *ScoreOptions.__dataclass_fields__]
    if unknown := sorted(set(options) - set(known)):
        raise ConfigurationError(
            f"alignment_score has no option {unknown[0]!r}; {did_you_mean(unknown[0], known)}"
        )
    found = checkpoint_alignment_score(checkpoint, **what, options=ScoreOptions(**options))
    values = {
        "alignment_score": found.total.score,
        "alignment_trained": found.trained,
        "alignment_held_out": found.held_out,
        "alignment_backward": found.total.backward,
    }
    return {name: value for name, value in values.items() if value is not None}


def _word_alignment(
    checkpoint: str | None,
    *,
    language: str,
    gold: str,
    method: str = "fast_align",
    train: list[dict[str, Any]] | None = None,
    symmetrisation: str | None = None,
    base: int | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, float]:
    """AER of a statistical aligner on gold links (``{language}`` in ``gold`` is the pair, ``en-de``), in per cent.

    It learns from the gold file's own sentences and from ``train``: recipe sources, whose paths may have the pair too.
    """
    from isoglot.align.files.formats import read_links  # noqa: PLC0415
    from isoglot.align.files.pairs import read_pairs  # noqa: PLC0415
    from isoglot.align.scoring import score  # noqa: PLC0415
    from isoglot.align.statistical.model import StatisticalAligner  # noqa: PLC0415
    from isoglot.corpus.read.sources import Source  # noqa: PLC0415

    if checkpoint is not None:
        raise ConfigurationError(
            "analysis word_alignment trains a statistical aligner; measure an encoder by the task word_alignment"
        )
    found = read_links(gold.replace("{language}", language), base=base)
    if found.words is None:
        raise ConfigurationError(f"{gold}: has links without words; JSON lines with src and tgt are needed")
    pairs = [(list(s), list(t)) for s, t in found.words]
    for given in train or []:
        filled = {k: v.replace("{language}", language) if isinstance(v, str) else v for k, v in given.items()}
        more = read_pairs([Source.model_validate(filled)], mode="unicode", warn=lambda *_: None)
        pairs += [(list(pair.words[0]), list(pair.words[1])) for pair in more]
    settings: dict[str, Any] = {} if symmetrisation is None else {"symmetrisation": symmetrisation}
    aligner = StatisticalAligner(method, **settings, **(options or {}))
    links = aligner.fit_align_words([s for s, _ in pairs], [t for _, t in pairs]).links
    own = links.alignments()[: len(found.gold)]
    total = score(own, list(found.gold))
    return {name: 100 * getattr(total, name) for name in ("aer", "precision", "recall", "f1")}


ANALYSES: dict[str, Analysis] = {
    "alignment_score": _alignment_score,
    "word_alignment": _word_alignment,
}
"""``type:`` -> what measures it."""


def find_analysis(name: str) -> Analysis:
    """An analysis by name, or ``package.module:function``.

    Raises:
        ConfigurationError: there is none.
    """
    if name in ANALYSES:
        return ANALYSES[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ConfigurationError(
            f"analysis {name!r} given; {did_you_mean(name, ANALYSES)} (or package.module:function for your own)"
        )
    try:
        found: Analysis = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"analysis {name!r} cannot be imported ({error})") from error
    return found


def check_analysis(name: str, options: Mapping[str, Any]) -> None:
    """Refuse an analysis that is not there, or an option it does not take.

    Raises:
        ConfigurationError: one of the two.
    """
    signature = inspect.signature(find_analysis(name))
    parameters = signature.parameters.values()
    known = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY and p.name != "language"]
    unknown = sorted(set(options) - set(known))
    if unknown and not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        raise ConfigurationError(
            f"analysis {name} has no option {unknown[0]!r}; {did_you_mean(unknown[0], known)}"
        )
    try:
        signature.bind("", language="", **options)
    except TypeError as error:
        raise ConfigurationError(f"analysis {name}: {error}") from error
