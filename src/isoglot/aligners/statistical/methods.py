"""The statistical models: one class a method, which estimates, decodes, saves and loads, and writes a lexicon.

A model has two directions, *forward*, which generates target words, and *reverse*, which generates source words. All
that depends on the method is in the class of a direction (``ibm2.DiagonalDirection``, ``hmm.HmmDirection``).
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from isoglot.aligners.alignment import column
from isoglot.aligners.statistical import diagonal, ibm2, text_passes
from isoglot.aligners.statistical.bitext import BitextSide, Vocabularies, Vocabulary, locate_words
from isoglot.aligners.statistical.counts import CountSum, Pairs
from isoglot.aligners.statistical.decoding import (
    BestWords,
    Decoded,
    Doubles,
    PairBatch,
    agreeing,
    in_threads,
    parts,
    require_possible,
)
from isoglot.aligners.statistical.hmm import HmmDirection
from isoglot.aligners.statistical.hmm_training import estimate, estimate_and_decode
from isoglot.aligners.statistical.markov import BothDirections
from isoglot.aligners.statistical.options import DiagonalOptions, HmmOptions, Symmetrisation
from isoglot.aligners.statistical.pair_table import PairTable
from isoglot.aligners.statistical.text_passes import WordTables
from isoglot.core.checks import problems_of, shortened
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.options import Options
from isoglot.runs.files import read_json, whole_path, write_json, write_text
from isoglot.runs.listed import damage, read_whole, require_own, whole_folder

FORMAT = 3
"""Version of the format of saved models."""


class TranslationModel(ABC):
    """A trained model: both vocabularies, and both directions' translation tables and more, as the method needs it."""

    options: ClassVar[type[Options]]
    symmetrisation: ClassVar[Symmetrisation]  # the default, with which links are most accurate
    direction: ClassVar[Any]  # class of one direction

    def __init__(self, words: Vocabularies, forward: Any, reverse: Any) -> None:
        self.source_words, self.target_words = self.words = words
        self.forward, self.reverse = forward, reverse

    @classmethod
    @abstractmethod
    def estimate(
        cls, source: BitextSide, target: BitextSide, options: Any, start: Self | None = None
    ) -> Self:
        """Learn both directions, from nothing or beginning with the model ``start``."""

    @classmethod
    def of_counts(cls, total: CountSum, options: Any) -> Self:
        """Make the model of counts that were added up over several models."""
        words, (source, target), kind = total.words, total.types, cls.direction
        forward = kind.of_counts(total.forward, words, (source, target), options)
        return cls(words, forward, kind.of_counts(total.reverse, words[::-1], (target, source), options))

    @classmethod
    @abstractmethod
    def estimate_and_decode(
        cls, source: BitextSide, target: BitextSide, options: Any, threshold: float | None
    ) -> Decoded:
        """Learn from a text, and decode the same text as :meth:`decode` does; the model is not kept, to save memory."""

    @abstractmethod
    def decode(
        self, source: BitextSide, target: BitextSide, options: Any, threshold: float | None
    ) -> Decoded:
        """Find the best words of a text by both directions, and the links on which both agree.

        ``threshold``: Of the agreeing links; None leaves them out.
        """

    @cached_property
    def types(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Source and target word of each pair in the translation tables, sorted by source, then target word."""
        source, target, _ = self.forward.table.pairs()
        return source, target

    @property
    def known(self) -> tuple[Set[str], Set[str]]:
        """The words of both sides."""
        return self.source_words.numbers.keys(), self.target_words.numbers.keys()

    def digest(self) -> str:
        """Return a hash of everything that the model has learned."""
        state = hashlib.blake2b(digest_size=16)
        state.update(json.dumps(self.words).encode())
        for name, array in sorted(self._arrays().items()):
            state.update(name.encode())
            state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        source, target = self.types
        return {
            "types.source": source,
            "types.target": target,
            **{f"forward.{name}": array for name, array in self.forward.arrays(source, target).items()},
            **{f"reverse.{name}": array for name, array in self.reverse.arrays(target, source).items()},
        }

    def save(self, path: str | Path, *, about: Mapping[str, Any]) -> None:
        """Write ``tables.safetensors``, ``vocabulary.json`` and ``model.json`` as a folder.

        ``about`` is what the aligner was made with: ``method``, ``options``, ``lowercase`` and any more, such as
        ``made_from``, see :func:`require_room`.
        """
        require_room(path)
        with whole_folder(path) as folder:
            arrays = {name: np.ascontiguousarray(a) for name, a in self._arrays().items()}
            with whole_path(folder / "tables.safetensors") as tables:
                save_file(arrays, tables)
            vocabulary = {"source": self.source_words, "target": self.target_words}
            write_text(folder / "vocabulary.json", json.dumps(vocabulary, ensure_ascii=False))
            write_json(folder / "model.json", {"format": FORMAT, **about})

    def write_lexicon(self, path: str | Path, *, minimum: float = 0.05) -> None:
        """Write lines of source, tab, target, tab, probability, the best translations of a word first.

        A probability is √(p(target | source) · p(source | target)), so that a frequent word does not become everybody's
        translation. Before, each direction is normalised to a sum of 1 over the translations of a word, which
        variational Bayes leaves a little short of it. Entries below ``minimum`` are left out; 0 keeps the whole table.
        """
        source, target = self.types
        forward = _shares(self.forward.probabilities(source, target), source)
        reverse = _shares(self.reverse.probabilities(target, source), target)
        probability = np.sqrt(forward * reverse)
        order = np.lexsort((target, -probability, source))
        likely = order[probability[order] >= minimum]
        columns = (array[likely].tolist() for array in (source, target, probability))
        rows = zip(*columns, strict=True)
        source_words, target_words = ([*map(column, words)] for words in self.words)
        lines = (f"{source_words[s]}\t{target_words[t]}\t{value!r}\n" for s, t, value in rows)
        write_text(path, "".join(lines))


def require_room(path: str | Path, made_from: str | None = None) -> None:
    """Refuse to save a model over anything but another one.

    ``made_from``: A key of what it is learned from; a model that was made from something else is refused too.
    """
    about = read_whole(path, _record)
    if made_from is not None and about is not None and about.get("made_from") != made_from:
        raise ConfigurationError(
            f"{path}: holds a model of another text or with other options; choose another folder, or add "
            "[[overwrite=True]]"
        )


def _record(folder: Path) -> dict[str, Any] | None:
    """The record of the model in a folder; a folder of anything else is refused."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "model.json").is_file():
        raise ConfigurationError(
            f"{folder}: is not empty and does not hold an alignment model; choose another folder"
        )
    require_own(folder)
    return read_json(folder / "model.json")


class FastAlignModel(TranslationModel):
    """fast_align's model; see :mod:`isoglot.aligners.statistical.ibm2`."""

    options = DiagonalOptions
    symmetrisation = "grow-diag-final-and"
    direction = ibm2.DiagonalDirection

    @classmethod
    def estimate(
        cls, source: BitextSide, target: BitextSide, options: DiagonalOptions, start: Self | None = None
    ) -> Self:
        """Learn both directions, one after the other."""
        source_numbers = target_numbers = None
        if start is not None:  # the number that each word of the text has in `start`
            source_numbers = locate_words(start.source_words, source.words)
            target_numbers = locate_words(start.target_words, target.words)

        def learn(
            condition: BitextSide, generated: BitextSide, known: Any, numbers: tuple[Any, Any]
        ) -> ibm2.DiagonalDirection:
            """Learn one direction, from nothing or from the direction ``known``."""
            table = PairTable.of(condition, generated)
            begin = None if known is None else known.known(table, *numbers)
            return ibm2.estimate(condition, generated, table, options, keep_counts=True, start=begin)

        forward = learn(source, target, start and start.forward, (source_numbers, target_numbers))
        reverse = learn(target, source, start and start.reverse, (target_numbers, source_numbers))
        return cls((source.words, target.words), forward, reverse)

    @classmethod
    def estimate_and_decode(
        cls, source: BitextSide, target: BitextSide, options: DiagonalOptions, threshold: float | None
    ) -> Decoded:
        """Learn and decode; without a threshold one direction after the other, so that one model is in memory."""
        if threshold is not None:
            return cls.estimate(source, target, options).decode(source, target, options, threshold)
        forward, reverse = (
            _best(*sides, options, ibm2.estimate(*sides, PairTable.of(*sides), options))
            for sides in ((source, target), (target, source))
        )
        return forward, reverse, None

    def decode(
        self, source: BitextSide, target: BitextSide, options: DiagonalOptions, threshold: float | None
    ) -> Decoded:
        """Decode each direction by itself."""
        source, target = (
            # The text in word numbers of the model, −1 for words that it does not know.
            BitextSide(words, locate_words(words, side.words).astype(np.int32)[side.ids], side.offsets)
            for side, words in zip((source, target), self.words, strict=True)
        )
        models = self.forward, self.reverse
        forward = _best(source, target, options, self.forward)
        reverse = _best(target, source, options, self.reverse)
        if threshold is None:
            return forward, reverse, None

        def posteriors(batch: PairBatch) -> tuple[Doubles, Doubles]:
            by_source, by_target = (
                diagonal.posteriors(
                    diagonal.DirectionText(condition, generated, model.table.flat),
                    model.learned,
                    options.positions,
                )
                for model, (condition, generated, _) in zip(models, batch.directions, strict=True)
            )
            return by_source, by_target

        return forward, reverse, agreeing(source, target, threshold, posteriors)


def _best(
    condition: BitextSide, generated: BitextSide, options: DiagonalOptions, model: ibm2.DiagonalDirection
) -> BestWords:
    """Find the best words of a text by one direction of fast_align's model."""
    best = BestWords.empty(generated)
    text = diagonal.DirectionText(condition.flat, generated.flat, model.table.flat)
    positions = text.positions(options.positions, model.tension)
    decode = partial(diagonal.decode, text, model.learned, positions, best)
    in_threads(decode, parts(condition, generated), words=len(generated.ids))
    require_possible(best.score)
    return best


class HmmModel(TranslationModel):
    """The Bayesian HMM; see :mod:`isoglot.aligners.statistical.hmm`."""

    options = HmmOptions
    symmetrisation = "agreement"
    direction = HmmDirection

    @classmethod
    def estimate(
        cls, source: BitextSide, target: BitextSide, options: HmmOptions, start: Self | None = None
    ) -> Self:
        """Learn both directions together."""
        known = None if start is None else (start.forward, start.reverse)
        return cls((source.words, target.words), *estimate(source, target, options, known))

    @classmethod
    def estimate_and_decode(
        cls, source: BitextSide, target: BitextSide, options: HmmOptions, threshold: float | None
    ) -> Decoded:
        """Learn and decode, by the counts of the last update, without making a model of them."""
        return estimate_and_decode(source, target, options, threshold)

    def decode(
        self, source: BitextSide, target: BitextSide, options: HmmOptions, threshold: float | None
    ) -> Decoded:
        """Decode both directions by forward–backward, in one pass over the text."""
        del options
        table = PairTable.of(source, target)
        source_word, target_word, slots = table.pairs()
        tables = []
        for model, words, pairs in (
            (self.forward, (source.words, target.words), (source_word, target_word)),
            (self.reverse, (target.words, source.words), (target_word, source_word)),
        ):
            translation = np.zeros(len(table.key))
            translation[slots], null = model.project(words, pairs)
            tables.append(WordTables(translation, null))
        jumps = BothDirections(self.forward.jumps, self.reverse.jumps)
        return text_passes.decode(source, target, table.flat, BothDirections(*tables), jumps, threshold)


METHODS: dict[str, type[TranslationModel]] = {"fast_align": FastAlignModel, "hmm": HmmModel}
"""Method to its model."""


def load_model(path: str | Path) -> tuple[TranslationModel, dict[str, Any]]:
    """Read a folder that :meth:`TranslationModel.save` wrote: the model, and what ``about`` held."""
    return read_whole(path, _load)


def _load(folder: Path) -> tuple[TranslationModel, dict[str, Any]]:
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
        types = arrays["types.source"], arrays["types.target"]
        _require_sound(words, types, arrays)
        forward, reverse = (
            kind.direction.from_arrays(
                {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)},
                words[::turn],
                types[::turn],
                options,
            )
            for prefix, turn in (("forward.", 1), ("reverse.", -1))
        )
    except (SafetensorError, KeyError, TypeError, ValueError, IndexError) as error:
        problem = problems_of(error)[0] if isinstance(error, ValidationError) else error
        raise InputError(
            f"the alignment model is damaged ({type(error).__name__}: {problem}); train it again", path=folder
        ) from error
    return kind(words, forward, reverse), about


def _word_list(vocabulary: Any) -> Vocabulary:
    """Return a list as a vocabulary, and refuse any other value."""
    if not isinstance(vocabulary, list):
        raise TypeError(f"a list of words is needed, got {shortened(vocabulary)}")
    return Vocabulary(vocabulary)


def _require_sound(words: Vocabularies, types: Pairs, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse words, pairs of words and counts that do not belong together.

    Raises:
        ValueError: with what is wrong.
    """
    for side, vocabulary in zip(("source", "target"), words, strict=True):
        if not all(isinstance(word, str) for word in vocabulary) or len(set(vocabulary)) != len(vocabulary):
            raise ValueError(f"{side} words are repeated or are not texts")
    for name, values in arrays.items():
        side, _, kind = name.partition(".")
        dtypes = (
            ("int32",) if side == "types" else ("float64", "float32") if kind == "counts" else ("float64",)
        )
        if values.ndim != 1 or values.dtype.name not in dtypes:
            raise ValueError(
                f"{name} is {values.dtype} of shape {values.shape}, and a list of {dtypes[0]} is needed"
            )
        if values.size and not 0 <= values.min() <= values.max() < np.inf:
            raise ValueError(f"{name} has numbers that are negative or not finite")
        generated = len(words[1] if side == "forward" else words[0])
        jumps = len(arrays.get(f"{side}.jump_start", ()))
        needed = {"null": generated, "null_counts": generated, "frequency": generated, "tension": 1,
                  "jump_start": max(jumps, 1), "jump_width": 2 * jumps - 1}.get(kind, len(types[0]))  # fmt: skip
        if len(values) != needed:
            raise ValueError(f"{name} has {len(values)} numbers, and {needed} are needed")
    for side, vocabulary, numbers in zip(("source", "target"), words, types, strict=True):
        if len(numbers) and numbers.max() >= len(vocabulary):
            raise ValueError(f"pairs name a {side} word that is not there")
    if not (np.diff(types[0].astype(np.int64) << 32 | types[1]) > 0).all():
        raise ValueError("pairs are repeated or not in order")


def _shares(values: npt.NDArray[np.float64], group: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """Divide each value by the sum of the values of its group."""
    total = np.bincount(group, values)
    return np.asarray(values / np.where(total > 0, total, 1.0)[group])
