"""Layer and method of an encoder as an aligner, kept beside its weights and read by every verb."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from isoglot.aligners.embedding.options import Attach, EmbeddingOptions
from isoglot.checkpoints.folder import BOX, checkpoint_folder, packed_file
from isoglot.checkpoints.reading import ALIGNER_FILE
from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import read_json, write_json
from isoglot.runs.fingerprint import FileState, states
from isoglot.runs.listed import add_to_list

if TYPE_CHECKING:
    from isoglot.results.link_counts import AlignmentScore

Choice = dict[str, Any]
"""Options of an embedding aligner by name, ``method`` and ``layer`` among them."""


class RatedChoice(NamedTuple):
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
"""What :func:`~isoglot.aligners.embedding.layer_error.best_choice` tries at each layer."""
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
_REMEMBERED = 8
"""Choices in memory."""
WHERE = ("device", "dtype", "max_tokens")
"""Options that say how links are computed, not which ones they are."""


def kept_choice(model: str | Path) -> Choice:
    """What ``aligner.json`` in an encoder's folder says; nothing for one without it, or of the hub."""
    return _read(model)[0]


def kept_density(model: str | Path, options: EmbeddingOptions) -> float | None:
    """Links per word on the development set that had the fewest, if the options are those that were chosen on it."""
    choice, density = _read(model)
    where: Any = set(WHERE)
    chosen = EmbeddingOptions.build(**choice).model_dump(exclude=where)
    return density if chosen == options.model_dump(exclude=where) else None


def _read(model: str | Path) -> tuple[Choice, float | None]:
    """The choice and its links per word; both are read once, and again where a file has changed."""
    packed = packed_file(model)
    if packed is not None:
        from isoglot.checkpoints.packed_file import choice_beside  # noqa: PLC0415 - loads numpy

        files = [packed, choice_beside(packed)]
    else:
        folder = checkpoint_folder(model)
        files = [folder / ALIGNER_FILE] if isinstance(folder, Path) else []
    state = tuple(states([file for file in files if file.is_file()]))
    if packed is None and not state:
        return {}, None
    choice, density = _parsed(files[0], packed is not None, state)
    return dict(choice), density


@lru_cache(_REMEMBERED)
def _parsed(file: Path, is_packed: bool, state: tuple[FileState, ...]) -> tuple[Choice, float | None]:
    """The choice and the links per word in a file, checked."""
    del state
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
    """Options for an encoder: those given, then those that it keeps.

    For another method only the layer is taken, and nothing for a pointer network, which reads the layer it was
    trained on; the rest is :func:`untuned`.
    """
    choice = kept_choice(model)
    if (method := options.get("method", choice.get("method"))) != choice.get("method"):
        layer = {"layer": choice["layer"]} if "layer" in choice and method != "pointer" else {}
        return {**layer, **untuned(options)}
    return {**choice, **options}


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
    folder = checkpoint_folder(model)
    if not isinstance(folder, Path):
        raise ConfigurationError(
            f"{model} is not a folder to save the choice in; first run `hf download {model} --local-dir FOLDER`"
        )
    return folder / ALIGNER_FILE


def keep_choice(model: str | Path, choice: Choice, *, density: float | None = None) -> Path:
    """Write a choice beside an encoder's weights, and the links per word that it gave where it was chosen."""
    known = {} if density is None else {_DENSITY: round(density, 4)}
    write_json(file := choice_file(model), {**choice, **known})
    add_to_list(file)
    return file
