"""Sentences in, word links out: the aligners behind two functions that remember what they have loaded.

A statistical aligner runs without torch and an encoder without numba, so each is imported when it is first needed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from isoglot.aligners.embedding.choice import untuned, with_kept
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.running_text import align_running
from isoglot.aligners.options import STATISTICAL, is_saved_model
from isoglot.aligners.pairs_in_files import tags_noticed
from isoglot.checkpoints.folder import BOX, checkpoint_folder, packed_file
from isoglot.errors import ConfigurationError
from isoglot.formats.pairs_in_memory import Sentence, pair_of, pairs_in_memory
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode, require_mode
from isoglot.frames import ResultList
from isoglot.options import name_of_torch
from isoglot.python_messages import names_arguments
from isoglot.runs.fingerprint import FileState, files_of, states
from isoglot.runs.reporter import AnyReporter, reporter_of, with_progress

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.aligners.embedding.aligner import EmbeddingAligner
    from isoglot.aligners.statistical.model import StatisticalAligner

DEFAULT_MODEL = BOX
"""The encoder where no model is named: the aligner that comes with isoglot."""

_CAPACITY = 4
_LOADING = threading.Lock()
"""Threads that need the same model wait for one of them to load it."""


@names_arguments
def align(  # noqa: PLR0913 - the face names what users look for
    source: Sentence,
    target: Sentence,
    *,
    model: str | Path | PreTrainedModel | None = None,
    method: str | None = None,
    words: WordMode | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    layer: int | None = None,
    threshold: float | None = None,
    max_tokens: int | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    **options: Any,
) -> SentencePair:
    """Link the words of two sentences.

    The first call with a model loads it, later ones find it loaded (a checkpoint that has changed on disk is loaded
    again). Threads may call it at the same time. For more than a few pairs use :func:`align_many`, which encodes them
    in batches.

    Args:
        source: A sentence as text, or its words.
        target: Its translation.
        model: Folder or hub name of an encoder, a loaded one, or the folder of a saved statistical aligner;
            :data:`isoglot.aligners.api.DEFAULT_MODEL` by default.
        method: One of :data:`isoglot.aligners.embedding.options.METHODS`; by default the one that the model keeps, as
            the aligner of the package does, else ``itermax``; of a saved statistical aligner its own.
        words: How text is cut: ``unicode`` for running text (Han, Kana, Thai and Khmer by character, which an encoder
            links as the pieces that they stand in), ``whitespace`` for tokenised text. By default ``unicode``; of a
            saved statistical aligner the way it was trained.
        tokenizer: Tokenizer of a loaded encoder.
        layer: Hidden states to compare: 0 is the embeddings, negative counts from the end; 8 by default.
        threshold: Probability above which softmax, entmax, ot and statistical aligners link.
        max_tokens: Padded tokens of one batch: 2048 on a CPU, 32768 elsewhere.
        device: ``cpu``, ``cuda``, ``cuda:1``, ``mps`` or a ``torch.device``; by default the fastest.
        dtype: ``float32``, ``bfloat16``, ``float16`` or a ``torch.dtype``.
        **options: More options of :class:`isoglot.EmbeddingOptions`, such as ``level="word"``; of a statistical aligner
            ``symmetrisation``, and ``any_language=True`` to link text of other languages than it was trained on.

    Returns:
        The links, their probabilities, and where the words stand in the text.

    Raises:
        ConfigurationError: An option or method that does not exist, a model that cannot be loaded, or a list of
            sentences in the place of words.

    Example:
        >>> align("The house is small.", "Das Haus ist klein.").word_pairs
        [('The', 'Das'), ('house', 'Haus'), ('is', 'ist'), ('small', 'klein'), ('.', '.')]
        >>> from isoglot.testing import tiny_model, tiny_tokenizer
        >>> encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
        >>> pair = align("The river.", "Ta potamo.", **encoder)
        >>> pair.source_words, pair.source_spans
        (['The', 'river', '.'], [(0, 3), (4, 9), (9, 10)])
    """
    options = _chosen(options, layer, threshold, max_tokens, device, dtype)
    aligner, mode = _aligner(model, method, words, tokenizer, options)
    (pair,) = _linked(aligner, iter([pair_of(source, target)]), mode)
    return pair


@overload
def align_many(
    pairs: Iterator[tuple[Sentence, Sentence]] | Iterator[Mapping[str, Any]] | Iterator[SentencePair],
    *,
    source: str | None = None,
    target: str | None = None,
    model: str | Path | PreTrainedModel | None = None,
    method: str | None = None,
    words: WordMode | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    progress: AnyReporter = True,
    layer: int | None = None,
    threshold: float | None = None,
    max_tokens: int | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    **options: Any,
) -> Iterator[SentencePair]: ...


@overload
def align_many(
    pairs: Any = None,
    *,
    source: Any = None,
    target: Any = None,
    model: str | Path | PreTrainedModel | None = None,
    method: str | None = None,
    words: WordMode | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    progress: AnyReporter = True,
    layer: int | None = None,
    threshold: float | None = None,
    max_tokens: int | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    **options: Any,
) -> ResultList[SentencePair]: ...


@names_arguments
def align_many(  # noqa: PLR0913
    pairs: Any = None,
    *,
    source: Any = None,
    target: Any = None,
    model: str | Path | PreTrainedModel | None = None,
    method: str | None = None,
    words: WordMode | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    progress: AnyReporter = True,
    layer: int | None = None,
    threshold: float | None = None,
    max_tokens: int | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    **options: Any,
) -> ResultList[SentencePair] | Iterator[SentencePair]:
    """Link the words of many sentence pairs, in batches.

    What has no length (a generator, a streamed data set) is read as results are taken from the iterator that is
    returned, some hundred pairs ahead; results come in the order of the input. A method that learns from the pairs
    reads all of them first, and holds them.

    Args:
        pairs: Pairs of sentences (each as text or as words) or of :class:`SentencePair`, which keep what they hold; or
            a ``datasets.Dataset``, a pandas frame, a dictionary of lists or any dictionaries, of which the columns
            ``source`` and ``target`` are read.
        source: Name of the source column; without ``pairs`` the source sentences.
        target: Name of the target column; without ``pairs`` the target sentences.
        model: As in :func:`align`.
        method: As in :func:`align`, or one that learns from the pairs: ``hmm`` or ``fast_align``.
        words: How text is cut, as in :func:`align`.
        tokenizer: Tokenizer of a loaded encoder.
        progress: A bar in notebooks and on terminals (``True``), or none.
        layer: As in :func:`align`, and so the next four.
        threshold: Probability above which links are kept.
        max_tokens: Padded tokens of one batch.
        device: Where the encoder computes.
        dtype: What it computes in.
        **options: As in :func:`align`; of a method that learns, those of
            :class:`isoglot.aligners.statistical.model.StatisticalAligner`, such as ``lowercase=True``.

    Returns:
        A list; an iterator for input without a length.

    Raises:
        ConfigurationError: An option or column that does not exist, sides of different lengths, a pair that is
            neither text nor words.

    Example:
        >>> pairs = [("the house", "das Haus"), ("a house", "ein Haus"), ("the book", "das Buch")]
        >>> [pair.to_pharaoh() for pair in align_many(pairs, method="hmm")]
        ['0-0 1-1', '0-0 1-1', '0-0 1-1']
        >>> frame = {"en": ["the house", "a house"], "de": ["das Haus", "ein Haus"]}
        >>> align_many(frame, source="en", target="de", method="fast_align")[1].word_pairs
        [('a', 'ein'), ('house', 'Haus')]
    """
    sentences = pairs_in_memory(pairs, source, target)
    options = _chosen(options, layer, threshold, max_tokens, device, dtype)
    aligner: EmbeddingAligner | StatisticalAligner
    if method in STATISTICAL and model is None:
        _refuse_tokenizer(tokenizer)
        from isoglot.aligners.statistical.model import StatisticalAligner  # noqa: PLC0415 - loads numba

        every = list(sentences)
        sentences = iter(every)
        text = any(not all(pair.words) for pair in every)
        mode = words if words is not None else "unicode" if text or not every else "whitespace"
        aligner = StatisticalAligner(str(method), words=mode, **options)
        aligner.fit_pairs(pair.cut(mode) for pair in every)
    else:
        aligner, mode = _aligner(model, method, words, tokenizer, options)
    linked, data = _linked(aligner, sentences, mode), source if pairs is None else pairs
    if not hasattr(data, "__len__"):
        return with_progress(linked, reporter_of(progress), "align")
    column = next(iter(data.values()), ()) if isinstance(data, Mapping) else data
    return ResultList(with_progress(linked, reporter_of(progress), "align", total=len(column)))


def _chosen(
    options: Mapping[str, Any],
    layer: int | None,
    threshold: float | None,
    max_tokens: int | None,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
) -> dict[str, Any]:
    """The options with those of the named ones that were given."""
    named = {
        "layer": layer, "threshold": threshold, "max_tokens": max_tokens, "device": device, "dtype": dtype
    }  # fmt: skip
    return {**options, **{name: name_of_torch(value) for name, value in named.items() if value is not None}}


def _linked(
    aligner: EmbeddingAligner | StatisticalAligner, pairs: Iterator[SentencePair], mode: WordMode
) -> Iterator[SentencePair]:
    """The pairs, cut into words, with their links."""
    cut = (pair.cut(mode) for pair in tags_noticed(pairs))
    if hasattr(aligner, "tokenizer"):
        return align_running(cast("EmbeddingAligner", aligner), cut, mode=mode)
    return aligner.align_pairs(cut)


def _aligner(
    model: str | Path | PreTrainedModel | None,
    method: str | None,
    words: WordMode | None,
    tokenizer: PreTrainedTokenizerBase | None,
    options: dict[str, Any],
) -> tuple[EmbeddingAligner | StatisticalAligner, WordMode]:
    """The aligner, and how text is cut for it."""
    if words is not None:
        require_mode(words)
    if not isinstance(model, (str, Path)) or not is_saved_model(model):
        return _encoder_aligner(model, method, tokenizer, options), words or "unicode"
    _refuse_tokenizer(tokenizer)
    if unknown := sorted(set(options) - {"symmetrisation", "threshold", "any_language"}):
        raise ConfigurationError(
            f"{model} holds a statistical aligner, which does not take {', '.join(unknown)}; leave them out"
        )
    with _LOADING:
        aligner = _saved(Path(model), _identity(Path(model)), **options)
    if method not in (None, aligner.method):
        raise ConfigurationError(
            f"got method {method!r}, but {model} holds a trained {aligner.method} aligner; leave method out"
        )
    trained = aligner.words or words or "whitespace"
    if words not in (None, trained):
        raise ConfigurationError(
            f"{model} was trained on text split into {trained} words; pass words={trained!r}"
        )
    return aligner, trained


def _encoder_aligner(
    model: str | Path | PreTrainedModel | None,
    method: str | None,
    tokenizer: PreTrainedTokenizerBase | None,
    options: dict[str, Any],
) -> EmbeddingAligner:
    if method in STATISTICAL:
        raise ConfigurationError(
            f"method {method!r} learns from many pairs; call isoglot.align_many(pairs, method='hmm') without a model, "
            "or give model=FOLDER of an aligner that `isoglot align BITEXT -m hmm --save FOLDER` kept"
        )
    requested = options if method is None else {"method": method, **options}
    if model is None and tokenizer is not None:
        raise ConfigurationError(
            "got a tokenizer without its model; add model=, or leave it out: the aligner of the package has its own"
        )
    name = DEFAULT_MODEL if model is None else model
    requested = with_kept(name, requested) if isinstance(name, (str, Path)) else untuned(requested)
    chosen = EmbeddingOptions.build(**requested)
    if not isinstance(name, (str, Path)) or tokenizer is not None:
        from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

        return EmbeddingAligner(name, tokenizer=tokenizer, options=chosen)
    path = packed_file(name) or checkpoint_folder(name)
    with _LOADING:
        return _embedding(str(name), _identity(path) if isinstance(path, Path) else (), chosen)


def _refuse_tokenizer(tokenizer: object) -> None:
    if tokenizer is not None:
        raise ConfigurationError("tokenizer: a statistical aligner has none; leave it out")


def _identity(path: Path) -> tuple[FileState, ...]:
    """What tells a model that is loaded from one that has replaced it in its place."""
    return tuple(states(files_of(path)))


@lru_cache(_CAPACITY)
def _saved(folder: Path, identity: tuple[FileState, ...], **options: Any) -> StatisticalAligner:
    del identity
    from isoglot.aligners.statistical.model import StatisticalAligner  # noqa: PLC0415 - loads numba

    return StatisticalAligner.load(folder, **options)


@lru_cache(_CAPACITY)
def _embedding(name: str, identity: tuple[FileState, ...], options: EmbeddingOptions) -> EmbeddingAligner:
    """Kept beside the encoder, because a pointer network is read from the disk for each."""
    from isoglot.modules.devices import compute_dtype, resolve_device  # noqa: PLC0415 - loads torch

    dtype = compute_dtype(options.resolved_dtype(), resolve_device(options.device))
    return _encoder(name, identity, str(dtype).removeprefix("torch."), options.device).with_options(options)


@lru_cache(_CAPACITY)
def _encoder(name: str, identity: tuple[FileState, ...], dtype: str, device: str) -> EmbeddingAligner:
    del identity
    from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

    any_layer = EmbeddingOptions.build(layer=0, dtype=dtype, device=device)  # the caller has its own options
    return EmbeddingAligner(name, options=any_layer)
