"""Streams packed into blocks, always the same for one stream: equal chunks, whole documents, or XLM's instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from datasets import Dataset, Features, List, Value
from numpy.typing import NDArray
from pydantic import Field, model_validator
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options
from isoglot.corpus.encode.store import cached_stream, content_hash, list_array, write_batches
from isoglot.corpus.encode.templates import Template, single_template

Ints = NDArray[np.int64]
PackMode = Literal["group_texts", "documents", "xlm_text", "xlm_pairs"]
"""How examples share a block: see :class:`PackOptions`."""

_VERSION = 2
_MAP_ROWS = 1_000  # rows a batch of Hugging Face's map has, after each of which the remainder is dropped
_WRITE_ROWS = 500


class PackOptions(Options):
    """Options by which a stream is packed.

    Attributes:
        mode: ``group_texts``: all texts in sequence, cut every ``block`` tokens (Hugging Face's recipe for MLM:
            what is left of every 1,000 rows is dropped). ``documents``: as many whole texts as fit; one that exceeds a
            block is split. ``xlm_text``: XLM's MLM instances, whole sentences up to
            ``block``, padded. ``xlm_pairs``: XLM's TLM instances, source sentences up to ``block / 2``, padded to it,
            then their translations likewise; a pair goes to the next instance as soon as either side would exceed
            its half.
        block: tokens in a block, specials included; 512 in all the papers, so halves of 256.
        isolate: number the texts of a block (``document_ids``), so attention stays inside each, and let positions
            restart; ``None``: for ``documents`` only. XLM's sentences are never isolated.
        language_ids: id of each language, written for every token, such as {en: 1, de: 2}.
        language_padding: language id of padding: 0, or the padding index of RoBERTa-style embeddings.
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

    A block never mixes languages, except with ``group_texts``, which keeps the order of the rows and whose ``language``
    is then that of a block's first token. Word ids are unique in a block.

    Args:
        stream: a text stream, or for ``xlm_pairs`` a pair stream, as
            :func:`~isoglot.corpus.encode.encode.encode_stream` makes it, best without a length limit.
        tokenizer: the one it was encoded with.
        options: defaults of :class:`PackOptions` if not given.
        cache_dir: as for ``encode_stream``.

    Returns:
        A stream of ``input_ids`` with specials, ``word_ids``, ``length`` and the languages; isolated texts have
        ``document_ids`` (from 1) and restarting ``position_ids``, others an ``attention_mask``; XLM's instances have
        ``position_ids`` (restarting at the second half, 0 at padding) and, for pairs, ``side_ids``.

    Raises:
        ConfigurationError: the stream is of another kind, a language has no id, or nothing could be packed.

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
    parts = (
        f"isoglot-pack-{_VERSION}",
        content_hash(stream, needed),
        options.model_dump_json(),
        repr((template.prefix.tolist(), template.suffix.tolist(), tokenizer.pad_token_id)),
    )

    def batch(blocks: list[dict[str, Any]]) -> dict[str, Any]:
        columns: dict[str, Any] = {"length": [len(block["input_ids"]) for block in blocks]}
        for name, first in blocks[0].items():
            values = [block[name] for block in blocks]
            if isinstance(first, np.ndarray):
                values = list_array(np.concatenate(values), np.array([len(v) for v in values]))
            columns[name] = values
        return columns

    def make(folder: Path) -> dict[str, Any]:
        blocks = packer.blocks(stream)
        if (first := next(blocks, None)) is None:
            raise ConfigurationError(
                f"pack: {len(stream)} examples gave no block of {options.block} tokens ({packer.counts}); add text"
            )
        features = Features(
            {
                name: List(Value("int32")) if isinstance(value, np.ndarray) else Value("string")
                for name, value in first.items()
            }
            | {"length": Value("int32")}
        )
        every = chain([first], blocks)
        groups = iter(lambda: list(islice(every, _WRITE_ROWS)), [])
        written = write_batches((batch(group) for group in groups), folder / "data-00000.arrow", features)
        counts = packer.counts | {"blocks": written}
        return {"kind": "packed", "options": options.model_dump(), "counts": counts}

    return cached_stream("packed", parts, make, cache_dir=cache_dir)


class Text(NamedTuple):
    """Pieces of one text (or row), with specials or not; words count from 0."""

    ids: Ints
    words: Ints
    language: str


@dataclass
class Block:
    """Texts gathered for one block (or half); ``size`` counts their tokens."""

    texts: list[Text] = field(default_factory=list)
    size: int = 0

    def add(self, text: Text) -> None:
        """Put a text at the end."""
        self.texts.append(text)
        self.size += len(text.ids)


@dataclass
class _Packer:
    """The packing modes; ``counts`` says what was dropped and cut."""

    options: PackOptions
    template: Template
    pad: int
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("dropped", "split", "remainder_tokens"), 0)
    )

    def blocks(self, stream: Dataset) -> Iterator[dict[str, Any]]:
        """The columns of each block of a stream."""
        if self.options.mode == "group_texts":
            yield from map(self._finished, self._chunks(stream))
        elif self.options.mode == "xlm_pairs":
            half = self.options.block // 2
            rows = zip(rows_of(stream, "source_"), rows_of(stream, "target_"), strict=True)
            yield from map(self._joined, _filled(self._short(rows, half), half))
        else:
            texts = ((text,) for text in self._sized(rows_of(stream)))
            yield from (self._finished(block) for (block,) in _filled(texts, self.options.block))

    def _short(self, rows: Iterable[tuple[Text, Text]], half: int) -> Iterator[tuple[Text, ...]]:
        """Both sides of each pair, with specials, neither longer than half a block."""
        for row in rows:
            sides = tuple(map(self._surround, row))
            if max(len(side.ids) for side in sides) >= half:
                self.counts["dropped"] += 1
            else:
                yield sides

    def _sized(self, texts: Iterator[Text]) -> Iterator[Text]:
        """Texts with specials, none longer than a block."""
        room = self.options.block - self.template.size
        for text in texts:
            if self.options.mode == "xlm_text" and len(text.ids) >= room:
                self.counts["dropped"] += 1
                continue
            self.counts["split"] += len(text.ids) > room
            for start in range(0, max(len(text.ids), 1), room):
                yield self._surround(slice_text(text, start, start + room))

    def _surround(self, text: Text) -> Text:
        words = self.template.surround(text.words, fill=-1)
        return text._replace(ids=self.template.sequence(text.ids), words=words)

    def _chunks(self, stream: Dataset) -> Iterator[Block]:
        """Equal chunks of the concatenated texts."""
        for start in range(0, len(stream), _MAP_ROWS):
            block = Block()
            for text in rows_of(stream.select(range(start, min(start + _MAP_ROWS, len(stream))))):
                rest = self._surround(text)
                while block.size + len(rest.ids) >= self.options.block:
                    here = self.options.block - block.size
                    block.add(slice_text(rest, 0, here))
                    yield block
                    block, rest = Block(), slice_text(rest, here, len(rest.ids))
                if len(rest.ids):
                    block.add(rest)
            self.counts["remainder_tokens"] += block.size

    def _finished(self, block: Block) -> dict[str, Any]:
        """One block's columns."""
        sizes = np.array([len(text.ids) for text in block.texts])
        number = np.repeat(np.arange(len(sizes)), sizes)
        columns: dict[str, Any] = {
            "input_ids": np.concatenate([text.ids for text in block.texts]),
            "word_ids": renumbered(block.texts, number),
            "language": block.texts[0].language,
        }
        if self.options.isolated:
            columns["document_ids"] = number + 1
            columns["position_ids"] = np.arange(block.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        else:
            columns["attention_mask"] = np.ones(block.size, dtype=np.int64)
            columns["position_ids"] = np.arange(block.size)
        if self.options.language_ids is not None:
            ids = [language_id(self.options.language_ids, text.language) for text in block.texts]
            columns["language_ids"] = np.repeat(ids, sizes)
        return self._padded(columns, self.options.block) if self.options.mode == "xlm_text" else columns

    def _joined(self, blocks: tuple[Block, ...]) -> dict[str, Any]:
        """One XLM instance's columns from its two halves."""
        half = self.options.block // 2
        source, target = (self._padded(self._finished(block), half) for block in blocks)
        target["word_ids"][target["word_ids"] >= 0] += source["word_ids"].max(initial=-1) + 1
        languages = {"source_language": source.pop("language"), "target_language": target.pop("language")}
        special = [*self.template.prefix, *self.template.suffix, self.pad]
        sides = [
            np.where(np.isin(side["input_ids"], special), 0, number)
            for number, side in ((1, source), (2, target))
        ]
        joined = {name: np.concatenate([source[name], target[name]]) for name in source}
        return joined | languages | {"side_ids": np.concatenate(sides)}

    def _padded(self, columns: dict[str, Any], length: int) -> dict[str, Any]:
        fill = {"input_ids": self.pad, "word_ids": -1, "language_ids": self.options.language_padding}
        missing = length - len(columns["input_ids"])
        return {
            name: np.pad(values, (0, missing), constant_values=fill.get(name, 0))
            if isinstance(values, np.ndarray)
            else values
            for name, values in columns.items()
        }


def _filled(rows: Iterator[tuple[Text, ...]], room: int) -> Iterator[tuple[Block, ...]]:
    """A block for each side of rows in the same languages, with as many rows as fit into all of them."""
    opened: dict[tuple[str, ...], tuple[Block, ...]] = {}
    for sides in rows:
        languages, empty = tuple(side.language for side in sides), tuple(Block() for _ in sides)
        blocks = opened.setdefault(languages, empty)
        if any(block.size + len(side.ids) > room for block, side in zip(blocks, sides, strict=True)):
            yield blocks
            blocks = opened[languages] = empty
        for block, side in zip(blocks, sides, strict=True):
            block.add(side)
    yield from opened.values()


def rows_of(stream: Dataset, side: str = "") -> Iterator[Text]:
    """The examples of a stream (or of one side of it)."""
    ids_name = f"{side}ids" if side else "input_ids"
    names = [ids_name, f"{side}word_ids", f"{side}language"]
    for table in stream.select_columns(names).with_format("arrow").iter(batch_size=1_000):
        yield from map(Text, *(table.column(name).to_numpy() for name in names))  # lists as arrays


def slice_text(text: Text, start: int, stop: int) -> Text:
    """The tokens from ``start`` to before ``stop``."""
    return text._replace(ids=text.ids[start:stop], words=text.words[start:stop])


def renumbered(texts: list[Text], number: Ints) -> Ints:
    """Word ids counted through the whole block, from 0 and without gaps."""
    words = np.concatenate([text.words for text in texts])
    has_word = words >= 0
    stride = int(words.max(initial=-1)) + 1
    keys = number[has_word] * stride + words[has_word]
    words = words.copy()
    words[has_word] = np.unique(keys, return_inverse=True)[1]
    return words


def language_id(language_ids: Mapping[str, int], language: Any) -> int:
    """The id of a language."""
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
