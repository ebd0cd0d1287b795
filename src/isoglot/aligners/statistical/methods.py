"""The statistical models: one class per method, which estimates, decodes, saves, and writes a lexicon.

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
from safetensors.numpy import save_file

from isoglot.aligners.alignment import column
from isoglot.aligners.statistical import diagonal, hmm_training, ibm2, text_passes
from isoglot.aligners.statistical.bitext import BitextSide, FlatSide, Vocabularies, Vocabulary, locate_words
from isoglot.aligners.statistical.counts import CountSum
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
from isoglot.aligners.statistical.markov import BothDirections
from isoglot.aligners.statistical.options import DiagonalOptions, HmmOptions, Symmetrisation
from isoglot.aligners.statistical.pair_table import PairTable
from isoglot.aligners.statistical.text_passes import WordTables
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options
from isoglot.runs.files import read_json, whole_path, write_json, write_text
from isoglot.runs.listed import read_whole, require_own, whole_folder

FORMAT = 3
"""Version of the format of saved models."""


class TranslationModel(ABC):
    """A trained model: both vocabularies, and both directions' translation tables and more, as the method needs it.

    Both directions are of one class and get the same options, and a direction does not know which of the two it is. So
    whatever differs between them, beside the order of the sides, belongs in the class of the model: in ``__init__`` for
    every model that was learned, merged or loaded, and in ``estimate_and_decode``, which makes no model.
    """

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
        words, (source, target) = total.words, total.word_pairs
        forward = cls.direction.of_counts(total.forward, words, (source, target), options)
        reverse = cls.direction.of_counts(total.reverse, words[::-1], (target, source), options)
        return cls(words, forward, reverse)

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
    def word_pairs(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Source and target word of each pair in the translation tables, sorted by source, then target word."""
        source, target, _ = self.forward.table.pairs()
        return source, target

    @property
    def word_sets(self) -> tuple[Set[str], Set[str]]:
        """The words of the source side and those of the target side."""
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
        """Return everything that the model has learned as arrays by the names that a saved model has for them.

        :mod:`~isoglot.aligners.statistical.saved_models` has the rules for the type, length and numbers of each array.
        """
        source, target = self.word_pairs
        arrays = {"types.source": source, "types.target": target}
        for name, array in self.forward.arrays(source, target).items():
            arrays[f"forward.{name}"] = array
        for name, array in self.reverse.arrays(target, source).items():
            arrays[f"reverse.{name}"] = array
        return arrays

    def save(self, path: str | Path, *, about: Mapping[str, Any]) -> None:
        """Write ``tables.safetensors``, ``vocabulary.json`` and ``model.json`` as a folder.

        What the model has learned goes into the tables. ``about`` goes into `model.json`: ``made_from``, which
        :func:`require_replaceable` compares, and the settings of the aligner (``method``, ``options``, ``lowercase``
        and more). Loading hands all of these settings to the aligner's constructor.
        """
        require_replaceable(path)
        with whole_folder(path) as folder:
            arrays = {name: np.ascontiguousarray(array) for name, array in self._arrays().items()}
            with whole_path(folder / "tables.safetensors") as tables:
                save_file(arrays, tables)
            vocabulary = {"source": self.source_words, "target": self.target_words}
            write_text(folder / "vocabulary.json", json.dumps(vocabulary, ensure_ascii=False))
            write_json(folder / "model.json", {"format": FORMAT, **about})

    def write_lexicon(self, path: str | Path, *, minimum: float = 0.05) -> None:
        """Write a line for each pair of words: source, target and probability, the best translations of a word first.

        A probability is √(p(target | source) · p(source | target)). With one direction alone a frequent word would
        become everybody's translation. Each direction is first normalised, so that the translations of a word add up to
        1: with variational Bayes they add up to a little less.

        ``minimum``: Pairs below this probability are left out; 0 keeps all.
        """
        source, target = self.word_pairs
        forward = _shares(self.forward.probabilities(source, target), source)
        reverse = _shares(self.reverse.probabilities(target, source), target)
        probability = np.sqrt(forward * reverse)
        order = np.lexsort((target, -probability, source))
        likely = order[probability[order] >= minimum]
        source_words = [column(word) for word in self.source_words]
        target_words = [column(word) for word in self.target_words]
        lines = []
        for s, t, value in zip(
            source[likely].tolist(), target[likely].tolist(), probability[likely].tolist(), strict=True
        ):
            lines.append(f"{source_words[s]}\t{target_words[t]}\t{value!r}\n")
        write_text(path, "".join(lines))


def require_replaceable(path: str | Path, made_from: str | None = None) -> None:
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

        def learn(condition: BitextSide, generated: BitextSide, *, reverse: bool) -> ibm2.DiagonalDirection:
            """Learn one direction, from nothing or from the same direction of the model ``start``."""
            table = PairTable.of(condition, generated)
            probabilities = None
            if start is not None:
                known: ibm2.DiagonalDirection = start.reverse if reverse else start.forward
                known_condition, known_generated = start.words[::-1] if reverse else start.words
                # The number that each word of the text has in `start`.
                condition_numbers = locate_words(known_condition, condition.words)
                generated_numbers = locate_words(known_generated, generated.words)
                probabilities = known.probabilities_of_text(table, condition_numbers, generated_numbers)
            return ibm2.estimate(condition, generated, table, options, keep_counts=True, start=probabilities)

        forward = learn(source, target, reverse=False)
        reverse = learn(target, source, reverse=True)
        return cls((source.words, target.words), forward, reverse)

    @classmethod
    def estimate_and_decode(
        cls, source: BitextSide, target: BitextSide, options: DiagonalOptions, threshold: float | None
    ) -> Decoded:
        """Learn and decode; without a threshold one direction after the other, so that one model is in memory."""
        if threshold is not None:
            return cls.estimate(source, target, options).decode(source, target, options, threshold)
        best = []
        for condition, generated in ((source, target), (target, source)):
            table = PairTable.of(condition, generated)
            direction = ibm2.estimate(condition, generated, table, options)
            best.append(_best(condition, generated, options, direction))
            del table, direction  # before the other direction is learned
        forward, reverse = best
        return forward, reverse, None

    def decode(
        self, source: BitextSide, target: BitextSide, options: DiagonalOptions, threshold: float | None
    ) -> Decoded:
        """Decode each direction by itself."""
        source = _renumbered(source, self.source_words)
        target = _renumbered(target, self.target_words)
        forward = _best(source, target, options, self.forward)
        reverse = _best(target, source, options, self.reverse)
        if threshold is None:
            return forward, reverse, None

        def posteriors(batch: PairBatch) -> tuple[Doubles, Doubles]:
            by_source = _posteriors(batch.source, batch.target, options, self.forward)
            by_target = _posteriors(batch.target, batch.source, options, self.reverse)
            return by_source, by_target

        return forward, reverse, agreeing(source, target, threshold, posteriors)


def _renumbered(side: BitextSide, known: Vocabulary) -> BitextSide:
    """Return a side of a text in the word numbers of a model, −1 for words that the model does not know."""
    numbers = locate_words(known, side.words).astype(np.int32)
    return BitextSide(known, numbers[side.ids], side.offsets)


def _posteriors(
    condition: FlatSide, generated: FlatSide, options: DiagonalOptions, model: ibm2.DiagonalDirection
) -> Doubles:
    """Compute the posteriors of a text by one direction. **Shape** of each pair: (condition, generated)."""
    text = diagonal.DirectionText(condition, generated, model.table.flat)
    return diagonal.posteriors(text, model.learned, options.position_options)


def _best(
    condition: BitextSide, generated: BitextSide, options: DiagonalOptions, model: ibm2.DiagonalDirection
) -> BestWords:
    """Find the best words of a text by one direction of fast_align's model."""
    best = BestWords.empty(generated)
    text = diagonal.DirectionText(condition.flat, generated.flat, model.table.flat)
    positions = text.position_table(options.position_options, model.tension)
    decode = partial(diagonal.decode, text, model.learned, positions, best)
    in_threads(decode, parts(condition, generated), words=len(generated.ids))
    require_possible(best.log_likelihood)
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
        start_directions = None if start is None else (start.forward, start.reverse)
        forward, reverse = hmm_training.estimate(source, target, options, start_directions)
        return cls((source.words, target.words), forward, reverse)

    @classmethod
    def estimate_and_decode(
        cls, source: BitextSide, target: BitextSide, options: HmmOptions, threshold: float | None
    ) -> Decoded:
        """Learn and decode, by the counts of the last update, without making a model of them."""
        return hmm_training.estimate_and_decode(source, target, options, threshold)

    def decode(
        self, source: BitextSide, target: BitextSide, options: HmmOptions, threshold: float | None
    ) -> Decoded:
        """Decode both directions by forward–backward, in one pass over the text."""
        del options  # each direction keeps its own
        table = PairTable.of(source, target)
        source_word, target_word, slots = table.pairs()
        tables = []
        for model, words, pairs in (
            (self.forward, (source.words, target.words), (source_word, target_word)),
            (self.reverse, (target.words, source.words), (target_word, source_word)),
        ):
            translation = np.zeros(len(table.key))
            translation[slots], null = model.probabilities_of_text(words, pairs)
            tables.append(WordTables(translation, null))
        jumps = BothDirections(self.forward.jumps, self.reverse.jumps)
        return text_passes.decode(source, target, table.flat, BothDirections(*tables), jumps, threshold)


METHODS: dict[str, type[TranslationModel]] = {"fast_align": FastAlignModel, "hmm": HmmModel}
"""Method to its model."""


def _shares(values: npt.NDArray[np.float64], group: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """Divide each value by the sum of the values of its group."""
    total = np.bincount(group, values)
    return np.asarray(values / np.where(total > 0, total, 1.0)[group])
