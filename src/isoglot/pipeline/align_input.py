"""Pairs of sentences to align, read so that every input line has its place in the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from isoglot.corpus.readers import read
from isoglot.corpus.sources import Source, expand
from isoglot.corpus.streams import LineFile
from isoglot.corpus.words import locate_words, word_spans
from isoglot.errors import InputError

__all__ = ["RawPair", "WordMode", "read_pairs"]

WordMode = Literal["whitespace", "unicode"]
Warn = Callable[[int, str], None]

_LINE_FORMATS = ("bars", "moses", "tsv")


@dataclass(frozen=True, slots=True)
class RawPair:
    """One sentence pair and where its words stand.

    Args:
        texts: source and target text as read.
        words: source and target words.
        spans: character span of each word in its text.
    """

    texts: tuple[str, str]
    words: tuple[list[str], list[str]]
    spans: tuple[list[tuple[int, int]], list[tuple[int, int]]]


def read_pairs(sources: Sequence[Source], *, mode: WordMode, warn: Warn) -> Iterator[RawPair]:
    """Pairs in the order of the inputs, in bounded memory.

    A line of a Moses pair, a TSV or a ``source ||| target`` file that cannot be read (invalid UTF-8, a missing
    separator) keeps its place: what can be saved of it is aligned, an empty side gets no links, and ``warn`` is
    called with its number. Other formats are read strictly.

    Args:
        sources: what to read.
        mode: ``whitespace`` for text that is tokenised already, ``unicode`` for running text.
        warn: called with the 1-based number of a pair and what is wrong with it.

    Raises:
        InputError: a file is missing or empty, or two files of a pair have different numbers of lines.
    """
    number = 0
    for source in expand(sources, "bitext"):
        if source.format in _LINE_FORMATS:
            texts = _tolerant(source, number, warn)
        else:
            texts = ((row["source"], row["target"]) for row in read(source))
        for pair in texts:
            number += 1
            yield _with_words(pair, mode)


def _with_words(texts: tuple[str, str], mode: WordMode) -> RawPair:
    if mode == "whitespace":
        words = (texts[0].split(), texts[1].split())
        spans = tuple(locate_words(t, w) or [] for t, w in zip(texts, words, strict=True))
    else:
        spans = tuple(word_spans(text) for text in texts)
        words = tuple([t[a:b] for a, b in own] for t, own in zip(texts, spans, strict=True))  # type: ignore[assignment]
    return RawPair(texts, words, (spans[0], spans[1]))


def _tolerant(source: Source, before: int, warn: Warn) -> Iterator[tuple[str, str]]:
    if source.format == "moses" and source.target_path is not None:
        yield from _two_files(source.path, source.target_path, before, warn)
        return
    separator = "|||" if source.format == "bars" else "\t"
    first, second = (source.columns.get(role, at) for role, at in (("source", 0), ("target", 1)))
    for number, line in enumerate(_texts(source.path, before, warn), before + 1):
        fields = line.split(separator)
        columns = [c if isinstance(c, int) else 0 for c in (first, second)]
        if len(fields) <= max(columns):
            warn(number, f"no {separator!r} between two sentences; it gets no links")
            yield "", ""
        else:
            yield fields[columns[0]].strip(), fields[columns[1]].strip()


def _two_files(one: str, other: str, before: int, warn: Warn) -> Iterator[tuple[str, str]]:
    pairs = zip_longest(_texts(one, before, warn), _texts(other, before, warn))
    for line, (source, target) in enumerate(pairs, 1):
        if source is None or target is None:
            short, long = (one, other) if source is None else (other, one)
            raise InputError(
                f"no line here, but {long} goes on; the files must have a line each for every pair: "
                "find where they part",
                path=short,
                line=line,
            )
        yield source.strip(), target.strip()


def _texts(path: str, before: int, warn: Warn) -> Iterator[str]:
    with LineFile(path) as file:
        for first, data in file.chunks():
            for at, line in enumerate(data.removesuffix(b"\n").split(b"\n"), first):
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    warn(before + at, f"{path}:{at}: invalid UTF-8 ({error.reason}); bad bytes are replaced")
                    text = line.decode("utf-8", errors="replace")
                yield text.removesuffix("\r")
