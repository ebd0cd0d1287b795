"""The functions of Python: ``align`` links the words of two sentences, ``align_many`` those of many pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from isoglot.aligners.aligner import Aligner
from isoglot.aligners.load_aligner import load_aligner
from isoglot.aligners.options import STATISTICAL, is_saved_model
from isoglot.aligners.pairs_in_files import tags_noticed
from isoglot.checkpoints.folder import BOX
from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import ResultList
from isoglot.core.options import name_of_torch
from isoglot.formats.pairs_in_memory import Sentence, pair_of, pairs_in_memory, with_links, without_results
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode
from isoglot.runs.reporter import AnyReporter, reporter_of, with_progress

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

DEFAULT_MODEL = BOX
"""The encoder that is used if no model is named: the aligner that comes with isoglot."""


def align(  # noqa: PLR0913 - the face names what users look for
    source: Sentence,
    target: Sentence,
    *,
    model: str | Path | PreTrainedModel | Aligner | None = None,
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
        model: Folder or hub name of an encoder, a loaded one, the folder of a saved statistical aligner, or an aligner
            (:class:`isoglot.Aligner`); :data:`isoglot.aligners.api.DEFAULT_MODEL` by default.
        method: One of :data:`isoglot.aligners.embedding.options.METHODS`; by default the one that the model keeps, as
            the aligner of the package does, else ``itermax``; of a saved statistical aligner its own.
        words: How text is cut: ``unicode`` for running text (Han, Kana, Thai and Khmer by character, which an encoder
            links as the pieces that they stand in), ``whitespace`` for tokenised text. By default ``unicode``; of a
            saved statistical aligner the way it was trained.
        tokenizer: Tokenizer of a loaded encoder.
        layer: Hidden states to compare: 0 is the embeddings, negative counts from the end; by default the
            layer that the model keeps, else 8.
        threshold: Probability above which softmax, entmax and statistical aligners (with
            ``symmetrisation="agreement"``) link.
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
    options = _with_named(options, layer, threshold, max_tokens, device, dtype)
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
    model: str | Path | PreTrainedModel | Aligner | None = None,
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
    model: str | Path | PreTrainedModel | Aligner | None = None,
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
    model: str | Path | PreTrainedModel | Aligner | None = None,
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
    returned, a window ahead: 256 pairs on a CPU, 4096 elsewhere. Results come in the order of the input. A method that
    learns from the pairs reads all of them first, and holds them.

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
    options = _with_named(options, layer, threshold, max_tokens, device, dtype)
    linked = _links(sentences, model, method, words, tokenizer, options, overwrite=overwrite)
    if held.length is None:
        return with_progress(linked, reporter_of(progress), "align")
    # A frame that was given comes back from `to_frame()`, with the links as more columns.
    names = ("source" if source is None else source, "target" if target is None else target)
    to_frame = None if held.table is None else partial(with_links, held.table, names)
    return ResultList(with_progress(linked, reporter_of(progress), "align", total=held.length), to_frame)


def _with_named(
    options: Mapping[str, Any],
    layer: int | None,
    threshold: float | None,
    max_tokens: int | None,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
) -> dict[str, Any]:
    """Add the named arguments that were given to the other options; objects of torch become their names."""
    named = {
        "layer": layer, "threshold": threshold, "max_tokens": max_tokens, "device": device, "dtype": dtype
    }  # fmt: skip
    given = {name: name_of_torch(value) for name, value in named.items() if value is not None}
    return {**options, **given}


def _links(
    pairs: Iterator[SentencePair],
    model: str | Path | PreTrainedModel | Aligner | None,
    method: str | None,
    words: WordMode | None,
    tokenizer: PreTrainedTokenizerBase | None,
    options: dict[str, Any],
    *,
    overwrite: bool = False,
) -> Iterator[SentencePair]:
    """Load the aligner that the options describe, and link the pairs; pairs with text are cut into words."""
    aligner = load_aligner(model, method, words=words, tokenizer=tokenizer, overwrite=overwrite, **options)
    return aligner.align(tags_noticed(pairs))
