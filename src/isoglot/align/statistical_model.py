"""Statistical aligners: estimate a model from bitext, align that text or new text, save, load, export a lexicon.

    aligner = StatisticalAligner("fast_align", symmetrisation="intersect").fit(bitext)
    aligned = aligner.align(bitext)
    aligner.save("en-de")
    StatisticalAligner.load("en-de").align(new_bitext)

A model saved and loaded has the very numbers that it was trained to, so it aligns its training text as before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file

from isoglot.align import ibm2
from isoglot.align.alignment import LinkTable
from isoglot.align.cooccurrence import DirectedBitext, Side, Types, directed, encode
from isoglot.align.symmetrise import SYMMETRISERS, Symmetriser, symmetrise_table
from isoglot.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["METHODS", "SentenceAlignments", "StatisticalAligner", "TranslationModel"]

Sentences = Sequence[Sequence[str]]
FORMAT = 1


class Direction(Protocol):
    """What a method has learned about one direction; see :class:`isoglot.align.ibm2.DiagonalDirection`."""

    @property
    def translation(self) -> npt.NDArray[np.float64]: ...

    @property
    def null(self) -> npt.NDArray[np.float64]: ...

    def project(self, types: npt.NDArray[np.int64], words: npt.NDArray[np.int64]) -> Self: ...

    def arrays(self) -> dict[str, npt.NDArray[np.float64]]: ...


Decoded = tuple[LinkTable, npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Method:
    """One statistical model: its options and four functions.

    Args:
        options: dataclass of the options.
        read: arrays to a direction.
        estimate: forward and reverse bitext, options, workers to both directions.
        decode: forward and reverse bitext, their directions, options, workers to links and sentence scores of both.
    """

    options: type[Any]
    read: Callable[[Mapping[str, npt.NDArray[np.float64]]], Any]
    estimate: Callable[[DirectedBitext, DirectedBitext, Any, int], tuple[Any, Any]]
    decode: Callable[[DirectedBitext, DirectedBitext, tuple[Any, Any], Any, int], tuple[Decoded, Decoded]]


def _estimate_ibm2(
    forward: DirectedBitext, reverse: DirectedBitext, options: ibm2.DiagonalOptions, workers: int
) -> tuple[ibm2.DiagonalDirection, ibm2.DiagonalDirection]:
    with ThreadPoolExecutor(workers) as pool:
        one, other = pool.map(lambda bitext: ibm2.estimate(bitext, options), (forward, reverse))
    return one, other


def _decode_ibm2(
    forward: DirectedBitext,
    reverse: DirectedBitext,
    models: tuple[ibm2.DiagonalDirection, ibm2.DiagonalDirection],
    options: ibm2.DiagonalOptions,
    workers: int,
) -> tuple[Decoded, Decoded]:
    with ThreadPoolExecutor(workers) as pool:
        one, other = pool.map(lambda b, m: ibm2.decode(b, m, options), (forward, reverse), models)
    return one, other


METHODS: dict[str, Method] = {
    "fast_align": Method(
        ibm2.DiagonalOptions, ibm2.DiagonalDirection.from_arrays, _estimate_ibm2, _decode_ibm2
    ),
}
"""Method name to its functions."""


@dataclass(frozen=True, slots=True)
class SentenceAlignments:
    """Links of some sentence pairs.

    Args:
        forward: links of the model that generates target words: each target word has one link at most.
        reverse: links of the model that generates source words, as (source, target) too.
        links: the two symmetrised.
        score: mean log probability of a word (natural logarithm), over the words of both sides given the other side; 0
            for a pair with an empty side. A high one speaks for a translation. Shape: (sentences).
    """

    forward: LinkTable
    reverse: LinkTable
    links: LinkTable
    score: npt.NDArray[np.float64]


@dataclass(frozen=True)
class TranslationModel:
    """Vocabularies, translation tables and whatever else a method has learned, both directions.

    Args:
        method: key of :data:`METHODS`.
        lowercase: words are compared without case.
        source_words: source vocabulary.
        target_words: target vocabulary.
        types: the word pairs of the translation tables.
        forward: p(target word | source word) and so on.
        reverse: p(source word | target word) and so on.
    """

    method: str
    lowercase: bool
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    types: Types
    forward: Direction
    reverse: Direction

    def project(self, source: Side, target: Side, types: Types) -> tuple[Direction, Direction]:
        """Both directions on another text's numbers for words and types."""
        source_ids, target_ids = (
            np.array([known.get(word, -1) for word in words], np.int64).astype(np.int32)
            for known, words in (
                ({word: k for k, word in enumerate(self.source_words)}, source.words),
                ({word: k for k, word in enumerate(self.target_words)}, target.words),
            )
        )
        index = self.types.find(source_ids[types.source], target_ids[types.target])
        return (
            self.forward.project(index, target_ids.astype(np.int64)),
            self.reverse.project(index, source_ids.astype(np.int64)),
        )

    def digest(self) -> str:
        """A hash of all that the model has learned."""
        state = hashlib.blake2b(digest_size=16)
        state.update(json.dumps([self.method, self.lowercase, self.source_words, self.target_words]).encode())
        for name, array in sorted(self._arrays().items()):
            state.update(name.encode())
            state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "types.source": self.types.source,
            "types.target": self.types.target,
            **{f"forward.{name}": array for name, array in self.forward.arrays().items()},
            **{f"reverse.{name}": array for name, array in self.reverse.arrays().items()},
        }

    def save(self, path: str | Path, *, options: Mapping[str, Any]) -> None:
        """Write ``tables.safetensors``, ``vocabulary.json`` and, last, ``model.json`` into a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        save_file(
            {name: np.ascontiguousarray(a) for name, a in self._arrays().items()},
            folder / "tables.safetensors",
        )
        vocabulary = {"source": self.source_words, "target": self.target_words}
        (folder / "vocabulary.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
        about = {"format": FORMAT, "method": self.method, "lowercase": self.lowercase, **options}
        (folder / "model.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> tuple[Self, dict[str, Any]]:
        """Read a folder that :meth:`save` wrote: the model, and what ``options`` held.

        Raises:
            InputError: no model there, or one of another format.
        """
        folder = Path(path)
        try:
            about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            vocabulary = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
            arrays = load_file(folder / "tables.safetensors")
        except (FileNotFoundError, json.JSONDecodeError) as error:
            raise InputError(
                f"no complete alignment model ({error}), but a folder with model.json, vocabulary.json and "
                "tables.safetensors is needed; write one with StatisticalAligner.save(path)",
                path=folder,
            ) from error
        if about.pop("format", None) != FORMAT or about.get("method") not in METHODS:
            raise InputError(
                f"an alignment model of another format or method, but format {FORMAT} and one of "
                f"{', '.join(METHODS)} are needed; train it again with this version",
                path=folder / "model.json",
            )
        name, lowercase = about.pop("method"), about.pop("lowercase")
        read = METHODS[name].read
        forward, reverse = (
            read({key.removeprefix(f"{side}."): a for key, a in arrays.items() if key.startswith(f"{side}.")})
            for side in ("forward", "reverse")
        )
        types = Types(arrays["types.source"], arrays["types.target"])
        words = tuple(vocabulary["source"]), tuple(vocabulary["target"])
        return cls(name, lowercase, *words, types, forward, reverse), about


class StatisticalAligner:
    """Learns word alignment from the bitext itself, without a compiler or an encoder.

    Args:
        method: ``fast_align`` (IBM 2 with a diagonal prior, the links of the C++ program).
        symmetrisation: how the two directions become one; see :mod:`isoglot.align.symmetrise`.
        lowercase: compare words without case.
        workers: threads; the result does not depend on them.
        **options: of the method, for example those of :class:`isoglot.align.ibm2.DiagonalOptions`.

    Raises:
        ConfigurationError: an unknown method, symmetrisation or option.

    Example:
        >>> source = [["das", "haus"], ["das", "buch"], ["ein", "buch"]]
        >>> target = [["the", "house"], ["the", "book"], ["a", "book"]]
        >>> aligner = StatisticalAligner(symmetrisation="intersect").fit_words(source, target)
        >>> aligner.align_words([["das", "buch"]], [["the", "book"]]).links.to_pharaoh()
        ['0-0 1-1']
    """

    def __init__(
        self,
        method: str = "fast_align",
        *,
        symmetrisation: Symmetriser = "grow-diag-final-and",
        lowercase: bool = False,
        workers: int = 2,
        **options: Any,
    ) -> None:
        if method not in METHODS:
            raise ConfigurationError(
                f"method {method!r} given; one of {', '.join(METHODS)} is needed; pass for example 'fast_align'"
            )
        if symmetrisation not in SYMMETRISERS:
            raise ConfigurationError(
                f"symmetrisation {symmetrisation!r} given; one of {', '.join(SYMMETRISERS)} is needed; "
                "pass for example 'intersect'"
            )
        known = METHODS[method].options.__dataclass_fields__
        if unknown := sorted(set(options) - set(known)):
            raise ConfigurationError(
                f"options {', '.join(unknown)} given, but {method} has {', '.join(known)}; correct the name"
            )
        self.method = method
        self.symmetrisation: Symmetriser = symmetrisation
        self.lowercase = lowercase
        self.workers = workers
        self.options = METHODS[method].options(**options)
        self.model: TranslationModel | None = None

    def fit(self, bitext: Dataset) -> Self:
        """Estimate the model from a BITEXT corpus (**columns** as :class:`isoglot.align.alignment.Aligner` says)."""
        from isoglot.align.words import bitext_words  # noqa: PLC0415 - `datasets` is slow to import

        return self.fit_words(*bitext_words(bitext))

    def fit_words(self, source: Sentences, target: Sentences) -> Self:
        """Estimate the model from lists of words."""
        self._fit(source, target)
        return self

    def fit_align_words(self, source: Sentences, target: Sentences) -> SentenceAlignments:
        """Estimate the model and align the same text; the links that :meth:`align_words` would give, in less time."""
        forward, reverse, models = self._fit(source, target)
        return self._decode(forward, reverse, models)

    def align(self, bitext: Dataset, *, batch_size: int = 8192) -> Dataset:
        """Align a BITEXT corpus with the model as it is.

        Args:
            bitext: rows to align. Words and word pairs that the model has not seen have a small constant probability.
            batch_size: pairs at a time; bounds the memory, not the result.

        Returns:
            An ALIGNED corpus with two more columns, ``link_probabilities`` (posterior probability of each link) and
            ``alignment_score`` (see :class:`SentenceAlignments`).

        Raises:
            ConfigurationError: not trained, or a column of BITEXT is missing.
        """
        from isoglot.align.words import add_links  # noqa: PLC0415 - `datasets` is slow to import

        def run(source: list[list[str]], target: list[list[str]]) -> dict[str, list[Any]]:
            result = self.align_words(source, target)
            probability = result.links.probability
            values = [] if probability is None else probability.tolist()
            bounds = result.links.offsets.tolist()
            return {
                "links": result.links.lists(),
                "link_probabilities": [values[a:b] for a, b in pairwise(bounds)],
                "alignment_score": result.score.tolist(),
            }

        key = f"{self._trained().digest()} {self.symmetrisation} {asdict(self.options)}"
        return add_links(bitext, run, batch_size=batch_size, key=key)

    def align_words(self, source: Sentences, target: Sentences) -> SentenceAlignments:
        """Align lists of words with the model as it is.

        Raises:
            ConfigurationError: not trained, or sides of different length.
        """
        model = self._trained()
        one, other = self._encode(source, target)
        types, forward, reverse = directed(one, other)
        return self._decode(forward, reverse, model.project(one, other, types))

    def save(self, path: str | Path) -> None:
        """Write the trained aligner into a folder, without loss.

        Raises:
            ConfigurationError: not trained.
        """
        about = {"symmetrisation": self.symmetrisation, "options": asdict(self.options)}
        self._trained().save(path, options=about)

    @classmethod
    def load(cls, path: str | Path, *, symmetrisation: Symmetriser | None = None, workers: int = 2) -> Self:
        """Read an aligner that :meth:`save` wrote.

        Args:
            path: the folder.
            symmetrisation: another one than it was saved with.
            workers: threads.

        Raises:
            InputError: no model there, or one of another format.
        """
        model, about = TranslationModel.load(path)
        aligner = cls(
            model.method,
            symmetrisation=symmetrisation or about["symmetrisation"],
            lowercase=model.lowercase,
            workers=workers,
            **about["options"],
        )
        aligner.model = model
        return aligner

    def _trained(self) -> TranslationModel:
        if self.model is None:
            raise ConfigurationError(
                f"a {self.method} aligner that has seen no text given, but it must be trained first; "
                "call aligner.fit(bitext) or StatisticalAligner.load(path)"
            )
        return self.model

    def _encode(self, source: Sentences, target: Sentences) -> tuple[Side, Side]:
        if len(source) != len(target):
            raise ConfigurationError(
                f"{len(source)} source and {len(target)} target sentences given, but sentence k of one must translate "
                "sentence k of the other; check the files for a lost line"
            )
        return encode(source, lowercase=self.lowercase), encode(target, lowercase=self.lowercase)

    def _fit(
        self, source: Sentences, target: Sentences
    ) -> tuple[DirectedBitext, DirectedBitext, tuple[Direction, Direction]]:
        one, other = self._encode(source, target)
        types, forward, reverse = directed(one, other)
        models = METHODS[self.method].estimate(forward, reverse, self.options, self.workers)
        self.model = TranslationModel(self.method, self.lowercase, one.words, other.words, types, *models)
        return forward, reverse, models

    def _decode(
        self, forward: DirectedBitext, reverse: DirectedBitext, models: tuple[Direction, Direction]
    ) -> SentenceAlignments:
        decode = METHODS[self.method].decode
        (links, scores), (mirrored, other_scores) = decode(
            forward, reverse, models, self.options, self.workers
        )
        turned = mirrored.transpose()
        words = np.maximum(forward.given.lengths + forward.generated.lengths, 1)
        both = symmetrise_table(links, turned, self.symmetrisation)
        return SentenceAlignments(links, turned, both, (scores + other_scores) / words)

    def with_symmetrisation(self, symmetrisation: Symmetriser) -> StatisticalAligner:
        """The same trained aligner with another symmetrisation."""
        aligner = StatisticalAligner(
            self.method,
            symmetrisation=symmetrisation,
            lowercase=self.lowercase,
            workers=self.workers,
            **asdict(self.options),
        )
        aligner.model = None if self.model is None else replace(self.model)
        return aligner
