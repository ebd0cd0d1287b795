"""Load a statistical model from the folder that :meth:`TranslationModel.save` wrote, and refuse a damaged one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load_file

from isoglot.aligners.statistical.bitext import Vocabularies, Vocabulary
from isoglot.aligners.statistical.counts import Pairs
from isoglot.aligners.statistical.methods import FORMAT, METHODS, TranslationModel
from isoglot.core.checks import problems_of, shortened
from isoglot.core.errors import InputError
from isoglot.runs.files import read_json
from isoglot.runs.listed import damage, read_whole


def load_model(path: str | Path) -> tuple[TranslationModel, dict[str, Any]]:
    """Read a folder that :meth:`TranslationModel.save` wrote: the model, and what ``about`` held."""
    return read_whole(path, _load)


def _load(folder: Path) -> tuple[TranslationModel, dict[str, Any]]:
    """Read a folder and check it: format and method, hashes of the files, then what the files say."""
    about, vocabulary = read_json(folder / "model.json"), read_json(folder / "vocabulary.json")
    if about is None or vocabulary is None or not (folder / "tables.safetensors").is_file():
        raise InputError(
            "no complete alignment model; write one with `isoglot align --save` (StatisticalAligner.save)",
            path=folder,
        )
    about.pop("made_from", None)
    if about.pop("format", None) != FORMAT or str(about.get("method")) not in METHODS:
        raise InputError(
            f"an alignment model of another format than {FORMAT}, or of another method; train it again",
            path=folder / "model.json",
        )
    if (changed := damage(folder, remembered=True)) is not None:
        raise InputError(
            f"the alignment model is damaged ({changed} was changed after it was saved); restore the file, or train "
            "the model again",
            path=folder,
        )
    try:
        arrays = load_file(folder / "tables.safetensors")
        about["lowercase"] = bool(about["lowercase"])
        kind = METHODS[about["method"]]
        options = kind.options(**about["options"])
        words = _word_list(vocabulary["source"]), _word_list(vocabulary["target"])
        word_pairs = arrays["types.source"], arrays["types.target"]
        _require_sound(words, word_pairs, arrays)
        forward = kind.direction.from_arrays(_arrays_of("forward.", arrays), words, word_pairs, options)
        reverse = kind.direction.from_arrays(
            _arrays_of("reverse.", arrays), words[::-1], word_pairs[::-1], options
        )
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError) as error:
        problem = problems_of(error)[0] if isinstance(error, ValidationError) else error
        raise InputError(
            f"the alignment model is damaged ({type(error).__name__}: {problem}); train it again", path=folder
        ) from error
    return kind(words, forward, reverse), about


def _arrays_of(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    chosen = {}
    for name, array in arrays.items():
        if name.startswith(prefix):
            chosen[name.removeprefix(prefix)] = array
    return chosen


def _word_list(vocabulary: Any) -> Vocabulary:
    """Return a list as a vocabulary, and refuse any other value."""
    if not isinstance(vocabulary, list):
        raise TypeError(f"a list of words is needed, got {shortened(vocabulary)}")
    return Vocabulary(vocabulary)


def _require_sound(words: Vocabularies, word_pairs: Pairs, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse words, pairs of words and counts that do not belong together.

    Raises:
        ValueError: with what is wrong.
    """
    for side, vocabulary in zip(("source", "target"), words, strict=True):
        if not all(isinstance(word, str) for word in vocabulary) or len(set(vocabulary)) != len(vocabulary):
            raise ValueError(f"{side} words are repeated or are not texts")
    for name, values in arrays.items():
        _require_sound_array(name, values, words, arrays)
    for side, vocabulary, numbers in zip(("source", "target"), words, word_pairs, strict=True):
        if len(numbers) and numbers.max() >= len(vocabulary):
            raise ValueError(f"pairs name a {side} word that is not there")
    if not (np.diff(word_pairs[0].astype(np.int64) << 32 | word_pairs[1]) > 0).all():
        raise ValueError("pairs are repeated or not in order")


def _require_sound_array(
    name: str, values: npt.NDArray[Any], words: Vocabularies, arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Refuse an array of another type or length than its name says, or with negative or infinite numbers.

    1. Pairs of words are integers, counts may be in single precision, everything else is in double precision.
    2. All of these numbers are probabilities, counts, weights or numbers of words, none of which is below 0.
    3. An array has a number for each pair of words, unless its kind is listed with another length.

    ``name``: ``types.source`` or ``types.target``, or a direction and a kind, such as ``forward.null``.

    Raises:
        ValueError: with what is wrong.
    """
    side, _, kind = name.partition(".")
    dtypes: tuple[str, ...] = ("float64",)  # 1
    if side == "types":
        dtypes = ("int32",)
    elif kind == "counts":
        dtypes = ("float64", "float32")
    if values.ndim != 1 or values.dtype.name not in dtypes:
        raise ValueError(
            f"{name} is {values.dtype} of shape {values.shape}, and a list of {dtypes[0]} is needed"
        )
    if values.size and not 0 <= values.min() <= values.max() < np.inf:  # 2
        raise ValueError(f"{name} has numbers that are negative or not finite")
    generated = len(words[1] if side == "forward" else words[0])
    jumps = len(arrays.get(f"{side}.jump_start", ()))
    lengths = {  # 3
        "null": generated,
        "null_counts": generated,
        "frequency": generated,
        "tension": 1,
        "jump_start": max(jumps, 1),
        "jump_width": 2 * jumps - 1,
    }
    needed = lengths.get(kind, len(arrays["types.source"]))
    if len(values) != needed:
        raise ValueError(f"{name} has {len(values)} numbers, and {needed} are needed")
