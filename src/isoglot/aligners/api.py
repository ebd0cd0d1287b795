"""Two sentences in, word links out: the aligners behind one function that remembers what it has loaded.

A statistical aligner runs without torch and an encoder without numba, so each is imported when it is first needed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from isoglot.aligners.alignment import Alignment, PairLinks, pair_links
from isoglot.aligners.embedding.choice import with_kept
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.options import STATISTICAL
from isoglot.corpus.encode.words import WordMode, locate_words, split_words
from isoglot.errors import ConfigurationError
from isoglot.runs.checkpoint import BOX, checkpoint_folder, packed_file
from isoglot.runs.fingerprint import FileState, files_of, states

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.aligners.embedding.aligner import EmbeddingAligner
    from isoglot.aligners.statistical.model import StatisticalAligner

DEFAULT_MODEL = BOX
"""The encoder where no model is named: the aligner that comes with isoglot."""

_CAPACITY = 4
_LOADING = threading.Lock()
"""Threads that need the same model wait for one of them to load it."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Two sentences and their word links.

    Args:
        source_words: words of the source side.
        target_words: words of the target side.
        links: 0-based ``(source word, target word)``, sorted.
        probabilities: of each link, in [0, 1]; none from a statistical model without them.
        score: mean over both sides' words of their best link's probability, 0 for an unaligned word.
        source_spans: characters ``[start, end)`` of each source word in the text as given (of words joined by single
            spaces, if words were given).
        target_spans: the same of the target side.
    """

    source_words: list[str]
    target_words: list[str]
    links: list[tuple[int, int]]
    probabilities: list[float]
    score: float
    source_spans: list[Span]
    target_spans: list[Span]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)

    @property
    def alignment(self) -> Alignment:
        """The links as a set that can be intersected, transposed and written."""
        return Alignment(frozenset(self.links))

    @property
    def word_pairs(self) -> list[tuple[str, str]]:
        """The linked words."""
        return [(self.source_words[i], self.target_words[j]) for i, j in self.links]

    def to_pharaoh(self) -> str:
        """``"0-0 1-2"``."""
        return self.alignment.to_pharaoh()


def align(
    source: str | Sequence[str],
    target: str | Sequence[str],
    *,
    model: str | Path | PreTrainedModel | None = None,
    method: str | None = None,
    words: WordMode | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    **options: Any,
) -> AlignedPair:
    """Link the words of two sentences.

    The first call with a model loads it, later ones find it loaded (a checkpoint that has changed on disk is loaded
    again). Threads may call it at the same time. For more than a few pairs use
    :meth:`isoglot.aligners.embedding.aligner.EmbeddingAligner.align_pairs`, which encodes them in batches.

    Args:
        source: A sentence as text, or its words.
        target: Its translation.
        model: Folder or hub name of an encoder, a loaded one, or the folder of a saved statistical aligner;
            :data:`isoglot.aligners.api.DEFAULT_MODEL` by default.
        method: One of :data:`isoglot.aligners.embedding.options.METHODS`; by default the one that the model keeps, as
            the aligner of the package does, else ``itermax``; of a saved statistical aligner its own.
        words: How text is cut: ``unicode`` for running text (Han, Kana, Thai and Khmer by character), ``whitespace``
            for tokenised text. By default ``unicode``; of a saved statistical aligner the way it was trained.
        tokenizer: Tokenizer of a loaded encoder.
        **options: Options of :class:`isoglot.aligners.embedding.options.EmbeddingOptions`, such as ``layer=8``; of a
            statistical aligner ``symmetrisation``.

    Returns:
        The links, their probabilities, and where the words stand in the text.

    Raises:
        ConfigurationError: An option or method that does not exist, or a model that cannot be loaded.

    Example:
        >>> align("The house is small.", "Das Haus ist klein.").word_pairs
        [('The', 'Das'), ('house', 'Haus'), ('is', 'ist'), ('small', 'klein'), ('.', '.')]
        >>> from isoglot.testing import tiny_model, tiny_tokenizer
        >>> encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
        >>> pair = align("The river.", "Ta potamo.", **encoder)
        >>> pair.source_words, pair.source_spans
        (['The', 'river', '.'], [(0, 3), (4, 9), (9, 10)])
    """
    if isinstance(model, (str, Path)) and (Path(model) / "model.json").is_file():
        aligner = _statistical(Path(model), method, options)
        text = isinstance(source, str) or isinstance(target, str)
        mode = _trained_words(aligner, words, model) if text else "whitespace"
        sides = _cut(source, mode), _cut(target, mode)
        found = _linked(aligner, sides[0][0], sides[1][0])
    else:
        encoder = _encoder_aligner(model, method, tokenizer, options)
        sides = _cut(source, words or "unicode"), _cut(target, words or "unicode")
        found = encoder.align_words(sides[0][0], sides[1][0])
    (source_words, source_spans), (target_words, target_spans) = sides
    links = found.links, found.probabilities, found.score
    return AlignedPair(source_words, target_words, *links, source_spans, target_spans)


def _cut(side: str | Sequence[str], mode: WordMode) -> tuple[list[str], list[Span]]:
    if isinstance(side, str):
        found = split_words(side, mode=mode)
        return found, locate_words(side, found) or []
    if wrong := [word for word in side if not isinstance(word, str)]:
        raise ConfigurationError(
            f"{wrong[0]!r} given as a word; for many sentences use EmbeddingAligner(model).align_pairs(pairs)"
        )
    words = list(side)
    return words, locate_words(" ".join(words), words) or []


def _encoder_aligner(
    model: str | Path | PreTrainedModel | None,
    method: str | None,
    tokenizer: PreTrainedTokenizerBase | None,
    options: dict[str, Any],
) -> EmbeddingAligner:
    if method in STATISTICAL:
        raise ConfigurationError(
            f"method {method!r} learns from bitext; run `isoglot align BITEXT -m {method}`, or give model=FOLDER "
            "of an aligner that was kept with --save FOLDER"
        )
    wanted = options if method is None else {"method": method, **options}
    name = DEFAULT_MODEL if model is None else model
    if isinstance(name, (str, Path)):
        wanted = with_kept(name, wanted)
    chosen = EmbeddingOptions.build(**wanted)
    if not isinstance(name, (str, Path)) or tokenizer is not None:
        from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

        return EmbeddingAligner(name, tokenizer=tokenizer, options=chosen)
    place = packed_file(name) or checkpoint_folder(name)
    with _LOADING:
        return _embedding(str(name), _identity(place) if isinstance(place, Path) else (), chosen)


def _statistical(folder: Path, method: str | None, options: dict[str, Any]) -> StatisticalAligner:
    if unknown := sorted(set(options) - {"symmetrisation"}):
        raise ConfigurationError(
            f"options {', '.join(unknown)} given, but {folder} holds a statistical aligner; leave them out"
        )
    with _LOADING:
        aligner = _saved(folder, _identity(folder), **options)
    if method not in (None, aligner.method):
        raise ConfigurationError(
            f"method {method!r} given, but {folder} holds a trained {aligner.method} aligner; leave method out"
        )
    return aligner


def _trained_words(aligner: StatisticalAligner, words: WordMode | None, model: str | Path) -> WordMode:
    """How text is cut for an aligner: as that which it was trained on."""
    trained = aligner.words or words or "whitespace"
    if words not in (None, trained):
        raise ConfigurationError(
            f"{model} was trained on text cut into {trained} words; give words={trained!r}"
        )
    return cast(WordMode, trained)


def _linked(aligner: StatisticalAligner, source: list[str], target: list[str]) -> PairLinks:
    table = aligner.align_words([source], [target]).links
    return next(pair_links(table, [len(source)], [len(target)]))


def _identity(place: Path) -> tuple[FileState, ...]:
    """What tells a model that is loaded from one that has replaced it in its place."""
    return tuple(states(files_of(place)))


@lru_cache(_CAPACITY)
def _saved(folder: Path, identity: tuple[FileState, ...], **options: Any) -> StatisticalAligner:
    del identity
    from isoglot.aligners.statistical.model import StatisticalAligner  # noqa: PLC0415 - loads numba

    return StatisticalAligner.load(folder, **options)


@lru_cache(_CAPACITY)
def _embedding(name: str, identity: tuple[FileState, ...], options: EmbeddingOptions) -> EmbeddingAligner:
    """Kept beside the encoder, because a pointer network is read from the disk for each."""
    return _encoder(name, identity, options.dtype, options.device).with_options(options)


@lru_cache(_CAPACITY)
def _encoder(name: str, identity: tuple[FileState, ...], dtype: str, device: str) -> EmbeddingAligner:
    del identity
    from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

    return EmbeddingAligner(name, layer=0, dtype=dtype, device=device)
