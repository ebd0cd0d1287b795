"""Pack streams into blocks: running text cut every N tokens, whole documents, or XLM's instances.

The same stream gives the same blocks. A *block* is one row of a packed stream, one input of the encoder; an *instance*
is XLM's word for a padded block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from datasets import Dataset, Features, List, Value
from pydantic import Field, model_validator
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options
from isoglot.corpus.encode.store import cached_stream, content_hash, list_array, write_batches
from isoglot.corpus.encode.templates import Template, single_template
from isoglot.corpus.pack.blocks import Block, Text, fill_blocks, renumbered_words, slice_text, texts_of

PackMode = Literal["group_texts", "documents", "xlm_text", "xlm_pairs"]
"""Ways in which texts share blocks: see :class:`PackOptions`."""

_VERSION = 2  # raise when the same stream gives other blocks
_MAP_ROWS = 1_000
"""Rows of a batch of Hugging Face's ``map``; the tokens behind the last whole block of each batch are dropped."""
_WRITE_ROWS = 500
"""Blocks that are written at a time."""


class PackOptions(Options):
    """Options by which a stream is packed.

    Attributes:
        mode: ``group_texts``: all texts in sequence, cut every ``block`` tokens (Hugging Face's recipe for MLM: the
            tokens behind the last whole block of every 1,000 rows are dropped). ``documents``: as many whole texts as
            fit; a text that exceeds a block is split. ``xlm_text``: XLM's MLM instances, whole sentences up to
            ``block``, padded. ``xlm_pairs``: XLM's TLM instances, source sentences up to ``block / 2``, padded to it,
            then their translations likewise; a pair goes to the next instance as soon as either side would exceed its
            half.
        block: Tokens in a block, special tokens included; 512 in all the papers, so halves of 256.
        isolate: Number the texts of a block (``document_ids``), so that attention stays inside each, and let positions
            restart; ``None``: for ``documents`` only. XLM's sentences are never isolated.
        language_ids: Id of each language, written for every token, such as {en: 1, de: 2}.
        language_padding: Language id of padding: 0, or the padding index of RoBERTa-style embeddings.
    """

    mode: PackMode = "documents"
    block: int = Field(default=512, ge=8)
    isolate: bool | None = None
    language_ids: dict[str, int] | None = None
    language_padding: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _xlm_is_never_isolated(self) -> PackOptions:
        if self.isolate and self.mode.startswith("xlm"):
            raise ValueError(
                f"isolate: true is not possible with mode {self.mode}, whose sentences see each other: leave it out"
            )
        return self

    @property
    def isolated(self) -> bool:
        """Whether attention stays inside each text."""
        return self.mode == "documents" if self.isolate is None else self.isolate


def pack_stream(
    stream: Dataset,
    tokenizer: PreTrainedTokenizerBase,
    *,
    options: PackOptions | None = None,
    cache_dir: str | Path | None = None,
) -> Dataset:
    """Pack an encoded stream into blocks, or open what an earlier call packed.

    A block has one language, except with ``group_texts``, which keeps the order of the rows: there, the ``language`` of
    a block is that of its first token. Word ids are unique in a block.

    Args:
        stream: A text stream, or for ``xlm_pairs`` a pair stream, as
            :func:`~isoglot.corpus.encode.encode.encode_stream` makes it, best without a length limit.
        tokenizer: The tokenizer with which the stream was encoded.
        options: Defaults of :class:`PackOptions` if not given.
        cache_dir: Folder of the streams, as for ``encode_stream``.

    Returns:
        A stream of ``input_ids`` with special tokens, ``word_ids``, ``length`` and the languages. Isolated texts have
        ``document_ids`` (from 1) and restarting ``position_ids``, others an ``attention_mask``. XLM's instances have
        ``position_ids`` (restarting at the second half, 0 at padding) and, for pairs, ``side_ids``.

    Raises:
        ConfigurationError: The stream is of another kind, a language has no id, or nothing could be packed.

    Example:
        >>> blocks = pack_stream(stream, tokenizer, options=PackOptions(mode="documents"))  # doctest: +SKIP

    Source: Tang et al. 2022, G.3 (XLM's instances, 512-token chunks).
    """
    options = options or PackOptions()
    needed = ["input_ids", "word_ids", "language"]
    if options.mode == "xlm_pairs":
        needed = [
            f"{side}_{name}" for side in ("source", "target") for name in ("ids", "word_ids", "language")
        ]
    missing = [column for column in needed if column not in stream.column_names]
    if missing:
        raise ConfigurationError(
            f"pack: mode {options.mode!r} needs columns {', '.join(needed)}, this stream lacks {', '.join(missing)}"
        )
    template = single_template(tokenizer)
    if tokenizer.pad_token_id is None:
        raise ConfigurationError("pack: the tokenizer has no padding token; set tokenizer.pad_token")
    packer = _Packer(options, template, int(tokenizer.pad_token_id))
    # The values on which the blocks depend, for their name in the cache.
    made_from = (
        f"isoglot-pack-{_VERSION}",
        content_hash(stream, needed),
        options.model_dump_json(),
        repr((template.prefix.tolist(), template.suffix.tolist(), tokenizer.pad_token_id)),
    )

    def make(folder: Path) -> dict[str, Any]:
        blocks = packer.blocks(stream)
        first = next(blocks, None)  # its columns are those of the stream
        if first is None:
            raise ConfigurationError(
                f"pack: {len(stream)} examples gave no block of {options.block} tokens ({packer.counts}); add text"
            )
        all_blocks = chain([first], blocks)
        groups = iter(lambda: list(islice(all_blocks, _WRITE_ROWS)), [])
        written = write_batches(map(_table_of, groups), folder / "data-00000.arrow", _features_of(first))
        counts = packer.counts | {"blocks": written}  # complete now that all blocks have been drawn
        return {"kind": "packed", "options": options.model_dump(), "counts": counts}

    return cached_stream("packed", made_from, make, cache_dir=cache_dir)


Columns = dict[str, Any]
"""The columns of one block: an array with a value for each token, or the name of a language."""


def _features_of(block: Columns) -> Features:
    """The types of a stream's columns, from its first block."""
    features = Features()
    for name, values in block.items():
        features[name] = List(Value("int32")) if isinstance(values, np.ndarray) else Value("string")
    features["length"] = Value("int32")
    return features


def _table_of(blocks: Sequence[Columns]) -> dict[str, Any]:
    """The columns of several blocks, with a row for each block."""
    table: dict[str, Any] = {"length": [len(block["input_ids"]) for block in blocks]}
    for name, first in blocks[0].items():
        values = [block[name] for block in blocks]
        if isinstance(first, np.ndarray):
            lengths = np.array([len(array) for array in values])
            values = list_array(np.concatenate(values), lengths)
        table[name] = values
    return table


@dataclass
class _Packer:
    """Packs a stream in one of the modes.

    1. Texts get their special tokens; texts that are too long are dropped or split.
    2. Texts are gathered in blocks (:func:`~isoglot.corpus.pack.blocks.fill_blocks`).
    3. Each block becomes the columns of a row.

    ``group_texts`` is otherwise: all texts become one sequence, which is cut (:meth:`_equal_blocks`).
    """

    options: PackOptions
    template: Template
    pad: int
    counts: dict[str, int] = field(
        default_factory=lambda: {
            "dropped": 0,  # texts or pairs that are too long (XLM)
            "split": 0,  # texts longer than a block (documents)
            "remainder_tokens": 0,  # tokens behind the last whole block of 1,000 rows (group_texts)
        }
    )

    def blocks(self, stream: Dataset) -> Iterator[Columns]:
        """Yield the columns of each block of a stream."""
        if self.options.mode == "group_texts":
            for block in self._equal_blocks(stream):
                yield self._columns(block)
        elif self.options.mode == "xlm_pairs":
            # Each side of a row fills a block of its own, which is half of an instance.
            half = self.options.block // 2
            rows = zip(texts_of(stream, "source_"), texts_of(stream, "target_"), strict=True)
            for source, target in fill_blocks(self._short_pairs(rows, half), half):
                yield self._columns_of_halves(source, target)
        else:
            texts = ((text,) for text in self._fitting_texts(texts_of(stream)))
            for (block,) in fill_blocks(texts, self.options.block):
                columns = self._columns(block)
                if self.options.mode == "xlm_text":
                    columns = self._padded(columns, self.options.block)
                yield columns

    def _short_pairs(self, rows: Iterable[tuple[Text, Text]], half: int) -> Iterator[tuple[Text, Text]]:
        """Yield pairs with special tokens whose sides both fit half a block; others are dropped.

        A side that would fill its half exactly is dropped too, as in Tang et al. 2022, G.3.
        """
        for row in rows:
            source, target = map(self._with_specials, row)
            if max(len(source.ids), len(target.ids)) >= half:
                self.counts["dropped"] += 1
            else:
                yield source, target

    def _fitting_texts(self, texts: Iterable[Text]) -> Iterator[Text]:
        """Yield texts with special tokens that fit a block.

        1. ``documents`` splits a longer text into several, each with special tokens of its own.
        2. ``xlm_text`` drops a longer text, and also one that would fill the block exactly.
        """
        room = self.options.block - self.template.size
        for text in texts:
            length = len(text.ids)
            if self.options.mode == "xlm_text" and length >= room:
                self.counts["dropped"] += 1  # 2
                continue
            if length > room:
                self.counts["split"] += 1  # 1
            for start in range(0, max(length, 1), room):  # a text without pieces is its special tokens
                yield self._with_specials(slice_text(text, start, start + room))

    def _with_specials(self, text: Text) -> Text:
        word_ids = self.template.surround(text.word_ids, fill=-1)
        return text._replace(ids=self.template.sequence(text.ids), word_ids=word_ids)

    def _equal_blocks(self, stream: Dataset) -> Iterator[Block]:
        """Yield equal blocks of the concatenated texts, as the function ``group_texts`` of Hugging Face's examples.

        There ``Dataset.map`` gives the function 1,000 rows at a time, and the tokens behind the last whole block of
        these rows are dropped.
        """
        for start in range(0, len(stream), _MAP_ROWS):
            rows = stream.select(range(start, min(start + _MAP_ROWS, len(stream))))
            block = Block()
            for bare in texts_of(rows):
                text = self._with_specials(bare)
                # Fill the block with the beginning of the text, then the next one, until the text is used up.
                while block.size + len(text.ids) >= self.options.block:
                    room = self.options.block - block.size
                    block.add(slice_text(text, 0, room))
                    yield block
                    block = Block()
                    text = slice_text(text, room, len(text.ids))
                if len(text.ids):
                    block.add(text)
            self.counts["remainder_tokens"] += block.size

    def _columns(self, block: Block) -> Columns:
        """Turn the texts of a block into its columns.

        Two texts of 4 and 3 tokens, special tokens included, if texts are isolated from each other::

            document_ids    1 1 1 1 2 2 2
            position_ids    0 1 2 3 0 1 2

        and if they are not::

            attention_mask  1 1 1 1 1 1 1
            position_ids    0 1 2 3 4 5 6
        """
        sizes = np.array([len(text.ids) for text in block.texts])
        text_of_token = np.repeat(np.arange(len(sizes)), sizes)
        columns: Columns = {
            "input_ids": np.concatenate([text.ids for text in block.texts]),
            "word_ids": renumbered_words(block.texts, text_of_token),
            "language": block.texts[0].language,
        }
        if self.options.isolated:
            starts = np.cumsum(sizes) - sizes
            columns["document_ids"] = text_of_token + 1
            columns["position_ids"] = np.arange(block.size) - starts[text_of_token]
        else:
            columns["attention_mask"] = np.ones(block.size, dtype=np.int64)
            columns["position_ids"] = np.arange(block.size)
        if self.options.language_ids is not None:
            ids = [language_id(self.options.language_ids, text.language) for text in block.texts]
            columns["language_ids"] = np.repeat(ids, sizes)
        return columns

    def _columns_of_halves(self, source_block: Block, target_block: Block) -> Columns:
        """Turn sentences and their translations into the columns of one instance: two padded halves side by side.

        With halves of five tokens, and one sentence and its translation of two pieces each::

            input_ids     [CLS] a b [SEP] [PAD]   [CLS] A B [SEP] [PAD]
            position_ids    0   1 2   3     0       0   1 2   3     0
            word_ids       -1   0 1  -1    -1      -1   2 3  -1    -1
            side_ids        0   1 1   0     0       0   2 2   0     0
        """
        half = self.options.block // 2
        source = self._padded(self._columns(source_block), half)
        target = self._padded(self._columns(target_block), half)
        languages = {"source_language": source.pop("language"), "target_language": target.pop("language")}

        # Words of the target get the numbers behind those of the source.
        source_words = source["word_ids"].max(initial=-1) + 1
        target["word_ids"][target["word_ids"] >= 0] += source_words

        columns: Columns = {name: np.concatenate([source[name], target[name]]) for name in source}
        special = [*self.template.prefix, *self.template.suffix, self.pad]
        side_of_token = np.repeat([1, 2], half)
        side_ids = np.where(np.isin(columns["input_ids"], special), 0, side_of_token)
        return columns | languages | {"side_ids": side_ids}

    def _padded(self, columns: Columns, length: int) -> Columns:
        """Pad the arrays of a block at the end; the names of languages stay."""
        fill = {"input_ids": self.pad, "word_ids": -1, "language_ids": self.options.language_padding}
        missing = length - len(columns["input_ids"])
        padded: Columns = {}
        for name, values in columns.items():
            if isinstance(values, np.ndarray):
                values = np.pad(values, (0, missing), constant_values=fill.get(name, 0))  # noqa: PLW2901
            padded[name] = values
        return padded


def language_id(language_ids: Mapping[str, int], language: Any) -> int:
    """Look up the id of a language; refuse one without an id."""
    if language is None:
        raise ConfigurationError(
            "language_ids needs a 'language' column, which the stream does not have; encode it with its language"
        )
    if language not in language_ids:
        raise ConfigurationError(
            f"language_ids: no id for {language!r}, the language of the stream, in {dict(language_ids)}; "
            f"add `{language}: {max(language_ids.values(), default=-1) + 1}`"
        )
    return int(language_ids[language])
