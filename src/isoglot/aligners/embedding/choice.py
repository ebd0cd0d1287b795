"""Read and write the options with which an encoder aligns best: method, layer and more, as ``isoglot tune`` finds them.

They are kept in ``aligner.json`` beside the encoder's weights, where every verb that loads the encoder finds them::

    {"method": "softmax", "layer": 8, "min_probability": 0.3, "links_per_word": 0.92}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from isoglot.aligners.embedding.options import Attach, EmbeddingOptions
from isoglot.checkpoints.folder import BOX, checkpoint_folder, packed_path
from isoglot.checkpoints.reading import ALIGNER_FILE
from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import read_json, write_json
from isoglot.runs.fingerprint import FileState
from isoglot.runs.fingerprint import states as file_states
from isoglot.runs.listed import add_to_list

if TYPE_CHECKING:
    from isoglot.results.link_counts import AlignmentScore

Choice = dict[str, Any]
"""Options of an embedding aligner by name, ``method`` and ``layer`` among them.

The layer is one whole number. A kept layer is read here by :func:`with_kept`, which gives it to the aligner; by
``scoring_of`` in ``aligners/options.py``, which scores this layer if no other is named; and by
``isoglot.checkpoints``: ``packed.py`` packs no layer above it, ``packed_file.py`` checks it when a packed file is read.
"""
_LAYER_OPTIONS = ("layer",)
"""Options that say which states of the encoder are compared. They stay when the user names another method.

A new option that belongs to the layer, such as one for the mean of two layers, must be added here.
"""


class RatedChoice(NamedTuple):
    """A choice with its mean alignment error rate (%), and its score on each set of gold links."""

    choice: Choice
    aer: float
    scores: dict[str, AlignmentScore]


def _candidates() -> tuple[Choice, ...]:
    """Return argmax, itermax, and softmax with each combination of its options and each minimum probability."""
    candidates: list[Choice] = [{"method": "argmax"}, {"method": "itermax"}]
    # `adjacent` compares words, so it is only tried with `word_weights`.
    for further_options in (
        {},
        {"word_weights": True},
        {"alone": 0.5},
        {"word_weights": True, "alone": 0.5},
        {"word_weights": True, "adjacent": 2.0},
        {"word_weights": True, "adjacent": 2.0, "alone": 0.5},
    ):
        for minimum in (0.2, 0.25, 0.3, 0.35, 0.4, 0.45):
            softmax = {"method": "softmax", "compare": "cosine", "temperature": 0.05}
            candidates.append({**softmax, "min_probability": minimum, **further_options})
    return tuple(candidates)


CANDIDATES = _candidates()
"""Choices that :func:`~isoglot.aligners.embedding.score_layers.best_choice` tries at each layer."""
ATTACHED: tuple[Choice, ...] = tuple({"attach": how} for how in get_args(Attach))
"""Choices that :func:`~isoglot.aligners.tuning.tune` tries with the best candidate: where annotators link articles."""
UNTUNED: Mapping[str, Choice] = {
    "softmax": {
        "compare": "cosine",
        "temperature": 0.05,
        "word_weights": True,
        "adjacent": 2.0,
        "min_probability": 0.35,
    }
}
"""Method to its default options with an encoder that was not tuned for it.

Softmax comes from awesome-align, whose own options compare dot products. These depend on how long the states are, so
they suit an encoder that was trained with them. ``docs/results/untuned_methods.md`` has the error rates of both.
"""
_DENSITY = "links_per_word"
"""Key of the density in ``aligner.json``: links per word, on the development set where that number is lowest."""
_REMEMBERED = 8
"""Files whose choices are kept in memory."""
HARDWARE_OPTIONS = ("device", "dtype", "max_tokens")
"""Options for speed and memory, which are not part of a choice."""


def kept_choice(model: str | Path) -> Choice:
    """Return the options in an encoder's ``aligner.json``; none if it has no such file, or is named on the hub."""
    return _read(model)[0]


def kept_density(model: str | Path, options: EmbeddingOptions) -> float | None:
    """Return the kept density, links per word on the development set where they are fewest; None if none is kept.

    Also None if ``options`` are not the kept choice, for then another number is usual.
    """
    choice, density = _read(model)
    hardware: Any = set(HARDWARE_OPTIONS)
    chosen = EmbeddingOptions.build(**choice).model_dump(exclude=hardware)
    return density if chosen == options.model_dump(exclude=hardware) else None


def _read(model: str | Path) -> tuple[Choice, float | None]:
    """Return the choice and its links per word; a file is read again only after it has changed."""
    packed = packed_path(model)
    if packed is not None:
        from isoglot.checkpoints.packed_file import choice_beside  # noqa: PLC0415 - loads numpy

        files = [packed, choice_beside(packed)]
    else:
        folder = checkpoint_folder(model)
        files = [folder / ALIGNER_FILE] if isinstance(folder, Path) else []
    state = tuple(file_states([file for file in files if file.is_file()]))
    if packed is None and not state:
        return {}, None
    choice, density = _parsed(files[0], packed is not None, state)
    return dict(choice), density


@lru_cache(_REMEMBERED)
def _parsed(file: Path, is_packed: bool, state: tuple[FileState, ...]) -> tuple[Choice, float | None]:
    """Read a file, and check what it says."""
    del state  # part of the key of the cache: another state of the file is another call
    if is_packed:
        from isoglot.checkpoints.packed_file import read_packed  # noqa: PLC0415 - loads numpy

        choice = json.loads(read_packed(file, texts_alone=True).texts[ALIGNER_FILE])
    else:
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
    """Complete the options that a user gives for an encoder by those that the encoder keeps.

    1. Options that are given stay.
    2. Without ``method``, or with the one that the encoder keeps, its other options are added.
    3. With another method only the kept layer (``_LAYER_OPTIONS``) is added, and :data:`UNTUNED`. So it is with another
       ``compare``, because a temperature that suits cosines does not suit dot products; if ``compare`` is given without
       a method, the kept method stays. With ``method="pointer"`` not even the layer is added: a pointer network reads
       the layer that it was trained on.

    An encoder keeps softmax at layer 8 with ``compare="cosine"`` and ``min_probability=0.3``: ``{"method": "argmax"}``
    becomes ``{"layer": 8, "method": "argmax"}``, and ``{"compare": "dot"}`` becomes ``{"layer": 8, "method": "softmax",
    "compare": "dot"}``. If the encoder keeps nothing, ``{"compare": "dot"}`` stays without a method; the options are
    then built with the default, itermax.
    """
    choice = kept_choice(model)
    kept_method = choice.get("method")
    method = options.get("method", kept_method)
    if method == kept_method and not _compares_otherwise(options, choice):  # 2
        return {**choice, **options}
    # 3
    if "method" not in options and kept_method is not None:
        options = {"method": kept_method, **options}
    completed = untuned(options)
    if method == "pointer":
        return completed
    kept_layer = {name: choice[name] for name in _LAYER_OPTIONS if name in choice}
    return {**kept_layer, **completed}


def _compares_otherwise(options: Mapping[str, Any], choice: Choice) -> bool:
    """Whether options that are given compare states in another way than the kept ones: by dot products, not cosines."""
    if "compare" not in options:
        return False
    kept_compare = getattr(EmbeddingOptions.build(**choice), "compare", None)
    return bool(options["compare"] != kept_compare)


def untuned(options: Mapping[str, Any]) -> Choice:
    """Complete the options that a user gives for an encoder that was not tuned, by :data:`UNTUNED`.

    With ``compare="dot"`` nothing is added: these are the options of awesome-align, from which softmax comes.

    Example:
        >>> untuned({"method": "softmax", "compare": "dot"})
        {'method': 'softmax', 'compare': 'dot'}
    """
    defaults = {} if options.get("compare") == "dot" else UNTUNED.get(options.get("method", ""), {})
    return {**defaults, **options}


def choice_file(model: str | Path) -> Path:
    """Return the file in which the choice of an encoder is kept.

    Raises:
        ConfigurationError: An encoder beside which nothing can be kept.
    """
    if (file := packed_path(model)) is not None:
        from isoglot.checkpoints.packed_file import choice_beside  # noqa: PLC0415 - loads numpy

        if str(model) == BOX:
            raise ConfigurationError(
                f"{model} is part of isoglot, and its choice stays; first run `isoglot pack {model} --out FOLDER`"
            )
        return choice_beside(file)
    folder = checkpoint_folder(model)
    if not isinstance(folder, Path):
        raise ConfigurationError(
            f"{model} is not a folder to save the choice in; first run `hf download {model} --local-dir FOLDER`"
        )
    return folder / ALIGNER_FILE


def keep_choice(model: str | Path, choice: Choice, *, density: float | None = None) -> Path:
    """Write a choice beside an encoder's weights; returns the file.

    ``density``: Links per word that the choice gave, on the development set where that number is lowest.
    """
    known: dict[str, float] = {}
    if density is not None:
        # A density that would be rounded to 0, which is refused when the file is read, is written unrounded.
        known[_DENSITY] = round(density, 4) or density
    file = choice_file(model)
    write_json(file, {**choice, **known})
    add_to_list(file)
    return file
