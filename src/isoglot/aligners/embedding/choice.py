"""Layer and method of an encoder as an aligner: chosen on gold links, kept beside its weights, read by every verb."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from isoglot.aligners.embedding.options import MEASURED, Attach, EmbeddingOptions
from isoglot.checkpoints.folder import BOX, checkpoint_folder, packed_file
from isoglot.checkpoints.reading import ALIGNER_FILE
from isoglot.errors import ConfigurationError
from isoglot.runs.files import read_json, write_json
from isoglot.runs.listed import add_to_list

if TYPE_CHECKING:  # they import numpy and more, which --help does without
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.link_counts import AlignmentScore

Choice = dict[str, Any]
"""Options of an embedding aligner by name, ``method`` and ``layer`` among them."""


class Tried(NamedTuple):
    """A choice with its mean alignment error rate (%), and its score on each set of gold links."""

    choice: Choice
    aer: float
    scores: dict[str, AlignmentScore]


CANDIDATES: tuple[Choice, ...] = (
    {"method": "argmax"},
    {"method": "itermax"},
    *(
        {"method": "softmax", "compare": "cosine", "temperature": 0.05, "min_probability": least, **how}
        for how in (
            {},
            {"word_weights": True},
            {"alone": 0.5},
            {"word_weights": True, "alone": 0.5},
            {"word_weights": True, "adjacent": 2.0},
            {"word_weights": True, "adjacent": 2.0, "alone": 0.5},
        )
        for least in (0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
    ),
)
"""What :func:`best_choice` tries at each layer."""
ATTACHED: tuple[Choice, ...] = tuple({"attach": how} for how in get_args(Attach))
"""What :func:`~isoglot.aligners.tuning.tune` tries with the best of these: where annotators put unlinked words."""
UNTUNED: Mapping[str, Choice] = {
    "softmax": {
        "compare": "cosine",
        "temperature": 0.05,
        "word_weights": True,
        "adjacent": 2.0,
        "min_probability": 0.35,
    }
}
"""Options of a method with an encoder that was not tuned for it, in place of those of its source.

The dot product depends on how long the states are; ``docs/results/untuned_methods.md`` has the errors of both.
"""
_DENSITY = "links_per_word"
_WHERE = ("device", "dtype", "max_tokens")
"""Options that say how links are computed, not which ones they are."""


def kept_choice(model: str | Path) -> Choice:
    """What ``aligner.json`` in an encoder's folder says; nothing for one without it, or of the hub."""
    return _read(model)[0]


def kept_density(model: str | Path, options: EmbeddingOptions) -> float | None:
    """Links per word on the development set that had the fewest, if the options are those that were chosen on it."""
    choice, density = _read(model)
    where: Any = set(_WHERE)
    same = density is not None and EmbeddingOptions.build(**choice).model_dump(exclude=where)
    return density if same == options.model_dump(exclude=where) else None


def _read(model: str | Path) -> tuple[Choice, float | None]:
    if (file := packed_file(model)) is not None:
        from isoglot.checkpoints.packed_file import read_packed  # noqa: PLC0415 - loads numpy

        choice = json.loads(read_packed(file, texts_alone=True).texts[ALIGNER_FILE])
    else:
        place = checkpoint_folder(model)
        file = place / ALIGNER_FILE if isinstance(place, Path) else None
        if file is None or not file.is_file():
            return {}, None
        choice = read_json(file)
    if choice is None:
        raise ConfigurationError(f"{file}: not a JSON object; delete it, or choose again with `isoglot tune`")
    density = choice.pop(_DENSITY, None)
    try:
        EmbeddingOptions.build(**choice)
    except ConfigurationError as error:
        raise ConfigurationError([f"{file}: {problem}" for problem in error.problems]) from error
    if density is not None and not (isinstance(density, int | float) and 0 < density < float("inf")):
        raise ConfigurationError(f"{file}: {_DENSITY} must be a number above 0, got {density!r}")
    return choice, density


def with_kept(model: str | Path, options: Mapping[str, Any]) -> Choice:
    """Options for an encoder: those given, then those that it keeps.

    For another method only the layer is taken, and nothing for a pointer network, which reads the layer it was
    trained on; the rest is :func:`untuned`.
    """
    kept = kept_choice(model)
    if (method := options.get("method", kept.get("method"))) != kept.get("method"):
        kept = {name: value for name, value in kept.items() if name == "layer" and method != "pointer"}
        return {**kept, **untuned(options)}
    return {**kept, **options}


def untuned(options: Mapping[str, Any]) -> Choice:
    """Options for an encoder that keeps none for this method: those given, then :data:`UNTUNED`.

    With ``compare="dot"`` they are those of the method's source, awesome-align.

    Example:
        >>> untuned({"method": "softmax", "compare": "dot"})
        {'method': 'softmax', 'compare': 'dot'}
    """
    usual = {} if options.get("compare") == "dot" else UNTUNED.get(options.get("method", ""), {})
    return {**usual, **options}


def choice_file(model: str | Path) -> Path:
    """Where a choice is kept beside an encoder's weights."""
    if (file := packed_file(model)) is not None:
        from isoglot.checkpoints.packed_file import choice_beside  # noqa: PLC0415 - loads numpy

        if str(model) == BOX:
            raise ConfigurationError(
                f"{model} is part of isoglot, and its choice stays; first run `isoglot pack {model} --out FOLDER`"
            )
        return choice_beside(file)
    place = checkpoint_folder(model)
    if not isinstance(place, Path):
        raise ConfigurationError(
            f"{model} is not a folder to save the choice in; first run `hf download {model} --local-dir FOLDER`"
        )
    return place / ALIGNER_FILE


def keep_choice(model: str | Path, choice: Choice, *, density: float | None = None) -> Path:
    """Write a choice beside an encoder's weights, and the links per word that it gave where it was chosen."""
    known = {} if density is None else {_DENSITY: round(density, 4)}
    write_json(file := choice_file(model), {**choice, **known})
    add_to_list(file)
    return file


def best_choice(
    model: str | Path | PreTrainedModel,
    gold: Mapping[str, Any],
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    layers: Sequence[int] | None = None,
    weights: Mapping[str, float] | None = None,
    candidates: Sequence[Choice] = CANDIDATES,
    with_best: Sequence[Choice] = (),
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> list[Tried]:
    """Every method and layer, from the least mean AER over sets of gold links to the largest.

    ``gold`` maps the name of each set to :class:`~isoglot.aligners.files.gold.GoldPairs`. ``options`` are of every
    candidate, such as ``level``, and part of the choice but for device and precision. ``with_best`` are options that
    are tried with the best candidate as well, unless they are given. ``weights`` are of sets in the mean, 1 where none
    is given.
    """
    from isoglot.aligners.embedding.aligner import UNLINKED, EmbeddingAligner  # noqa: PLC0415 - loads torch
    from isoglot.aligners.embedding.layer_error import layer_errors, wanted_layers  # noqa: PLC0415
    from isoglot.corpus.encode.unknown import OnUnknown, UnknownWords, ignored  # noqa: PLC0415

    if given := sorted({"layer", *(name for one in candidates for name in one)} & set(options)):
        raise ConfigurationError(f"this command chooses {', '.join(given)} itself; leave it out")
    options = {**MEASURED, **options}
    encoder = EmbeddingAligner(model, tokenizer=tokenizer, options=EmbeddingOptions.build(**options))
    kept = {name: value for name, value in options.items() if name not in _WHERE}
    shares = [(weights or {}).get(name, 1.0) for name in gold]
    shares = [share / max(shares) for share in shares]  # the sum of very large ones is not a number

    unknown = UnknownWords(UNLINKED)

    def in_set(name: str) -> OnUnknown:
        return lambda number, words, whole: unknown.add(f"pair {number} of {name}", words, whole)

    def measured(
        candidates: Sequence[Choice], layers: Sequence[int], receiver: Callable[[str], OnUnknown]
    ) -> list[Tried]:
        aligners = [encoder.with_options(EmbeddingOptions.build(**{**one, **options})) for one in candidates]
        errors = {}
        for done, (name, pairs) in enumerate(gold.items()):
            if progress is not None:
                progress(name, done, len(gold))
            errors[name] = layer_errors(aligners, pairs, layers=layers, unknown=receiver(name))
        tried = []
        for number, candidate in enumerate(candidates):
            for layer in layers:
                scores = {name: found[number][layer] for name, found in errors.items()}
                mean = fmean((100 * score.aer for score in scores.values()), shares)
                tried.append(Tried({**candidate, **kept, "layer": layer}, mean, scores))
        return tried

    tried = measured(candidates, wanted_layers(encoder.model, layers), in_set)
    unknown.warn()
    if more := [one for one in with_best if not set(one) & set(options)]:
        best = min(tried, key=lambda one: one.aer).choice
        tried += measured([{**best, **one} for one in more], [best["layer"]], lambda _: ignored)
    return sorted(tried, key=lambda one: one.aer)
