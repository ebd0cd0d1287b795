"""Sentences in, word links out: the aligners behind two functions that remember what they have loaded.

A statistical aligner runs without torch and an encoder without numba, so each is imported when it is first needed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from isoglot.aligners.align_pairs import align_pairs
from isoglot.aligners.embedding.choice import untuned
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.running_text import align_running
from isoglot.aligners.options import (
    STATISTICAL,
    Eflomal,
    Encoder,
    FastAlign,
    Hmm,
    SavedModel,
    aligner_of,
    is_saved_model,
    paths_of,
)
from isoglot.aligners.pairs_in_files import Warn, more_bitext, read_pairs, tags_noticed
from isoglot.aligners.phrases import counted
from isoglot.checkpoints.folder import BOX, checkpoint_folder, packed_file
from isoglot.errors import ConfigurationError
from isoglot.formats.pairs_in_memory import Sentence, pair_of, pairs_in_memory, with_links, without_results
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode, require_mode
from isoglot.frames import ResultList
from isoglot.options import name_of_torch
from isoglot.runs.files import check_outputs
from isoglot.runs.fingerprint import FileState, files_of, states
from isoglot.runs.reporter import AnyReporter, reporter_of, with_progress

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.aligners.embedding.aligner import EmbeddingAligner

DEFAULT_MODEL = BOX
"""The encoder where no model is named: the aligner that comes with isoglot."""

_CAPACITY = 4
_LOADING = threading.Lock()
"""Threads that need the same model wait for one of them to load it."""


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
            ``symmetrisation``, ``min_probability``, ``min_score``, and ``any_language=True`` to link text of other
            languages than it was trained on.

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
    if method in STATISTICAL and not is_saved_model(model):
        raise ConfigurationError(
            f"method {method!r} learns from many pairs; call isoglot.align_many(pairs, method='hmm') without a model, "
            "or give model=FOLDER of an aligner that `isoglot align BITEXT -m hmm --save FOLDER` kept"
        )
    (pair,) = _links(iter([pair_of(source, target)]), model, method, words, tokenizer, options)
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
    overwrite: bool = False,
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
    overwrite: bool = False,
    **options: Any,
) -> ResultList[SentencePair]: ...


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
    overwrite: bool = False,
    **options: Any,
) -> ResultList[SentencePair] | Iterator[SentencePair]:
    """Link the words of many sentence pairs, in batches.

    What has no length (a generator, a streamed data set) is read as results are taken from the iterator that is
    returned, some hundred pairs ahead; results come in the order of the input. A method that learns from the pairs
    reads all of them first, and holds them.

    Args:
        pairs: Pairs of sentences (each as text or as words) or of :class:`SentencePair`, which keep what they hold; or
            a pandas or polars frame, a ``pyarrow.Table``, a ``datasets.Dataset``, a dictionary of lists or any
            dictionaries, of which the columns ``source`` and ``target`` are read. Missing values are empty sentences.
        source: Name of the source column; without ``pairs`` the source sentences.
        target: Name of the target column; without ``pairs`` the target sentences.
        model: As in :func:`align`.
        method: As in :func:`align`, or one that learns from the pairs: ``hmm``, ``fast_align`` or, if the program is
            installed, ``eflomal``.
        words: How text is cut, as in :func:`align`.
        tokenizer: Tokenizer of a loaded encoder.
        progress: A bar in notebooks and on terminals (``True``), or none.
        layer: As in :func:`align`, and so the next four.
        threshold: Probability above which links are kept.
        max_tokens: Padded tokens of one batch.
        device: Where the encoder computes.
        dtype: What it computes in.
        overwrite: Replace a model in the folder ``save`` that was learned from other pairs or with other options.
        **options: As in :func:`align`; of a method that learns, those of `isoglot align`: ``lowercase=True``,
            ``save="models/en-de"``, ``train_on="more.tsv"``, ``iterations=3``.

    Returns:
        A list; an iterator for input without a length. ``to_frame()`` of the list gives the frame that was given, with
        its index, order and types, and the links as more columns.

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
    held = pairs_in_memory(pairs, source, target)
    sentences = without_results(held)
    options = _chosen(options, layer, threshold, max_tokens, device, dtype)
    linked = _links(sentences, model, method, words, tokenizer, options, overwrite=overwrite)
    if held.length is None:
        return with_progress(linked, reporter_of(progress), "align")
    names = ("source" if source is None else source, "target" if target is None else target)
    frame = None if held.table is None else partial(with_links, held.table, names)
    return ResultList(with_progress(linked, reporter_of(progress), "align", total=held.length), frame)


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


def _links(
    pairs: Iterator[SentencePair],
    model: str | Path | PreTrainedModel | None,
    method: str | None,
    words: WordMode | None,
    tokenizer: PreTrainedTokenizerBase | None,
    options: dict[str, Any],
    *,
    overwrite: bool = False,
) -> Iterator[SentencePair]:
    """The pairs, cut into words, with their links, by the aligner that these options describe."""
    pairs = tags_noticed(pairs)
    if words is not None:
        require_mode(words)
    if model is not None and not isinstance(model, str | Path):
        chosen = EmbeddingOptions.build(
            **untuned(options if method is None else {"method": method, **options})
        )
        return _links_of_encoder(pairs, Encoder(options=chosen), words, model, tokenizer)
    named = {"model": model, "method": method}
    request = aligner_of(**options, **{name: value for name, value in named.items() if value is not None})
    if isinstance(request, Encoder):
        if model is None and tokenizer is not None:
            raise ConfigurationError(
                "got a tokenizer without its model; add model=, or leave it out: the aligner of the package has its own"
            )
        return _links_of_encoder(pairs, request, words, request.model, tokenizer)
    if tokenizer is not None:
        raise ConfigurationError("tokenizer: a statistical aligner has none; leave it out")
    return _links_by_statistics(pairs, request, words, overwrite)


def _links_by_statistics(
    pairs: Iterator[SentencePair],
    request: FastAlign | Hmm | Eflomal | SavedModel,
    words: WordMode | None,
    overwrite: bool,
) -> Iterator[SentencePair]:
    """The pairs with the links of a statistical model, as ``isoglot align`` makes them."""
    saved = paths_of(request, "save")
    check_outputs(
        [*saved, *paths_of(request, "lexicon")], paths_of(request, "train_on", "load", "start"), folders=saved
    )
    mode, sentences, languages = words, pairs, ("", "")
    if not isinstance(request, SavedModel):
        every = list(pairs)  # the method reads them twice: to learn, and to write their links
        languages = every[0].languages if every else languages
        text = any(not all(pair.words) for pair in every)
        if mode is None and not paths_of(request, "start"):
            mode = "unicode" if text or not every else "whitespace"

    def read(cut: WordMode, warn: Warn | None) -> Iterator[SentencePair]:
        return (pair.cut(cut) for pair in (sentences if isinstance(request, SavedModel) else every))

    def more(cut: WordMode, warn: Warn | None) -> Iterator[SentencePair]:
        bitext = more_bitext(getattr(request, "train_on", ()), languages)
        return read_pairs(bitext, mode=cut, warn=warn, split=words is None)

    return align_pairs(read, request, more=more, words=mode, overwrite=overwrite)


def _links_of_encoder(
    pairs: Iterator[SentencePair],
    request: Encoder,
    words: WordMode | None,
    model: str | Path | PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
) -> Iterator[SentencePair]:
    """The pairs with the links of an encoder, which stays in memory for the next call if it has a name."""
    if request.engine != "local":
        raise ConfigurationError(
            f"--engine {request.engine}: is for a prepared folder; run `isoglot align FOLDER --engine ray`"
        )
    lexicon = paths_of(request, "lexicon")
    check_outputs(lexicon, [])
    aligner, mode = _encoder_aligner(model, tokenizer, request.options), words or "unicode"
    linked = align_running(aligner, (pair.cut(mode) for pair in pairs), mode=mode)
    return counted(linked, lexicon=lexicon[0]) if lexicon else linked


def _encoder_aligner(
    model: str | Path | PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    options: EmbeddingOptions,
) -> EmbeddingAligner:
    """An encoder with its options; one with a name is loaded once."""
    if not isinstance(model, str | Path) or tokenizer is not None:
        from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

        return EmbeddingAligner(model, tokenizer=tokenizer, options=options)
    path = packed_file(model) or checkpoint_folder(model)
    with _LOADING:
        return _embedding(str(model), _identity(path) if isinstance(path, Path) else (), options)


def _identity(path: Path) -> tuple[FileState, ...]:
    """What tells a model that is loaded from one that has replaced it in its place."""
    return tuple(states(files_of(path)))


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
