"""Pairs of sentences to align, read so that every input line has its place in the output."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from isoglot.aligners.alignment import LINK_ITEM
from isoglot.corpus.encode.words import (
    BLANKS,
    WordMode,
    locate_words,
    note_of_spaces,
    other_space,
    split_words,
)
from isoglot.corpus.open_corpus import Corpus, CorpusInput, corpus_sources, open_corpus
from isoglot.corpus.read.cells import wrong_width
from isoglot.corpus.read.line_files import refuse_bare_returns
from isoglot.corpus.read.readers import READERS, read, row_objects
from isoglot.corpus.read.records import from_rows
from isoglot.corpus.read.sources import UNNAMED, Source, by_suffix
from isoglot.corpus.read.tmx import Tags
from isoglot.errors import ConfigurationError, InputError

_LOG = logging.getLogger(__name__)
Spans = list[tuple[int, int]]
Warn = Callable[[int, str], None]

_MOST_WARNINGS = 20
_LINE_FORMATS = ("bars", "moses", "tsv")
_SAMPLE, _GLUED_SHARE = 1000, 0.3
"""Pairs that decide whether text is tokenised, and the share of glued ones in running text.

Abbreviations end some sentences of tokenised text, so a few glued pairs prove nothing.
"""
_GLUED = re.compile(r"\w[.,;:!?…。，！？।؟]+(?:\s|$)")


class _Row(NamedTuple):
    """Both sides of a row, each a text or its words, and what else the row says."""

    source: str | list[str]
    target: str | list[str]
    id: str | int | None = None
    tags: tuple[Tags, Tags] = ((), ())


@dataclass(frozen=True, slots=True)
class RawPair:
    """One sentence pair."""

    texts: tuple[str, str]
    words: tuple[list[str], list[str]]
    languages: tuple[str, str] = ("", "")
    id: str | int | None = None  # what the input calls it
    tags: tuple[Tags, Tags] = ((), ())  # in-line tags of TMX
    spans: tuple[Spans, Spans] | None = None  # characters of the words, where the text alone does not say it

    @property
    def placed(self) -> tuple[tuple[str, str], tuple[Spans, Spans]]:
        """Both texts and the characters of each word in them; a text that the words do not spell is joined anew."""
        if self.spans is not None:
            return self.texts, self.spans
        (source, one), (target, other) = (
            _placed(text, words) for text, words in zip(self.texts, self.words, strict=True)
        )
        return (source, target), (one, other)


def read_pairs(
    corpus: Corpus, *, mode: WordMode, warn: Warn | None = None, split: bool = False
) -> Iterator[RawPair]:
    """Sentence pairs in the order of the inputs, in bounded memory.

    A line of a Moses pair, a TSV or a ``source ||| target`` file that cannot be read (invalid UTF-8, a missing
    separator) keeps its place, and ``warn`` is called with its number. Other formats, and tables with a header, are
    read strictly; a blank line of JSON lines or of a table is a pair without words. Words of a prepared folder that
    has word links are kept, and lists of words in JSON lines. Without ``warn`` nothing is reported, as in a second
    loop over a corpus. ``split`` takes what is split into words as it is, which ``mode`` unicode otherwise refuses.
    """
    number = 0
    noticed = _Notices() if warn is not None and mode == "whitespace" else None
    for given in corpus.inputs:
        if given.manifest is not None:
            for pair in prepared_pairs(given, mode=mode, split=split):
                number += 1
                yield pair
            continue
        source, target = given.source.languages("bitext")
        for row in given.loop(_rows(given.source, number, warn or silent, mode, split)):
            number += 1
            if noticed is not None and isinstance(row.source, str) and isinstance(row.target, str):
                noticed.look((row.source, row.target))
            yield _with_words(row, mode, (source, target))
    if noticed is not None:
        noticed.end()


def more_bitext(paths: Sequence[str], languages: Sequence[str]) -> Corpus:
    """Bitext to learn from beside another of these languages, whose direction it must have."""
    tags = [tag or unnamed for tag, unnamed in zip(languages, UNNAMED, strict=False)]
    if set(tags) & set(UNNAMED) and (unsure := [path for path in paths if by_suffix(path) == "tmx"]):
        raise ConfigurationError(
            f"{unsure[0]}: which of its languages is the source? Add --source-lang en --target-lang de"
        )
    return open_corpus([one for path in paths for one in corpus_sources([path], languages=tags)], "bitext")


def prepared_pairs(
    given: CorpusInput, *, mode: WordMode, start: int = 0, stop: int | None = None, split: bool = False
) -> Iterator[RawPair]:
    """The pairs ``start`` to ``stop`` − 1 of a prepared folder; ``split`` as in :func:`read_pairs`."""
    aligned = given.manifest is not None and given.manifest.kind == "aligned"
    if mode == "unicode" and aligned and not split:
        path = given.source.path
        raise InputError(
            "is already split into words, and its links count them; leave --words out", path=path
        )
    for row in given.rows(start, stop):
        texts = (row["source"], row["target"])
        languages = (row["source_language"] or "", row["target_language"] or "")
        if aligned:
            yield RawPair(texts, (row["source_words"], row["target_words"]), languages)
        else:
            yield _with_words(_Row(*texts), mode, languages)


def _rows(source: Source, before: int, warn: Warn, mode: WordMode, split: bool) -> Iterator[_Row]:
    """Each row, in its place; ``before`` pairs have been read of other inputs."""
    if source.format in _LINE_FORMATS and not (source.header or _named(source)):
        return (_Row(*both) for both in _tolerant(source, before, warn))
    if source.format == "jsonl":
        return _objects(source, refuse_split=mode == "unicode" and not split)
    if source.format == "tmx":
        return _units(source)
    return (_Row(row["source"], row["target"]) for row in read(source))


def silent(number: int, message: str) -> None:
    """Report nothing."""


class Warnings:
    """Reports what is wrong with pairs: one message per pair, and of very many only the first."""

    def __init__(self) -> None:
        self._reported: set[int] = set()

    def __call__(self, number: int, message: str) -> None:
        """Report what is wrong with the pair of this 1-based number."""
        if number in self._reported or len(self._reported) > _MOST_WARNINGS:
            return
        self._reported.add(number)
        if len(self._reported) > _MOST_WARNINGS:
            _LOG.warning("more warnings of this kind follow; check the input")
        else:
            _LOG.warning("pair %d: %s", number, message)


class _Notices:
    """Warns if text that is cut at spaces and tabs looks like running text, or has spaces of other kinds."""

    def __init__(self) -> None:
        self._running: list[bool] = []  # of the first pairs, whether a word ends in a punctuation mark
        self._spaced, self._space = 0, ""  # pairs with other spaces, and the first of these

    def look(self, texts: tuple[str, str]) -> None:
        """Look at a pair."""
        if (space := other_space(*texts)) is not None:
            self._spaced, self._space = self._spaced + 1, self._space or space
        if len(self._running) < _SAMPLE:
            self._running.append(any(map(_GLUED.search, texts)))
            if len(self._running) == _SAMPLE:
                self._warn_of_running_text()

    def end(self) -> None:
        """All pairs have been looked at."""
        if len(self._running) < _SAMPLE:
            self._warn_of_running_text()
        if self._spaced:
            _LOG.warning("%s", note_of_spaces(self._spaced, self._space))

    def _warn_of_running_text(self) -> None:
        if sum(self._running) >= max(_GLUED_SHARE * len(self._running), 1):
            _LOG.warning(
                "punctuation stays part of words; for text that is not tokenised, use "
                "--words unicode (%d of the first %d pairs)",
                sum(self._running),
                len(self._running),
            )


def _placed(text: str, words: list[str]) -> tuple[str, list[tuple[int, int]]]:
    """Where the words stand in the text; if they do not spell it, in the words joined by spaces."""
    spans = locate_words(text, words)
    if spans is None:
        text = " ".join(words)
        spans = locate_words(text, words) or []
    return text, spans


def _with_words(row: _Row, mode: WordMode, languages: tuple[str, str]) -> RawPair:
    (source, one), (target, other) = (
        (side, split_words(side, mode=mode)) if isinstance(side, str) else (" ".join(side), side)
        for side in (row.source, row.target)
    )
    return RawPair((source, target), (one, other), languages, row.id, row.tags)


def _named(source: Source) -> bool:
    """Whether columns are named, which requires a header."""
    return any(isinstance(source.columns.get(role), str) for role in ("source", "target"))


def _tolerant(source: Source, before: int, warn: Warn) -> Iterator[tuple[str, str]]:
    """Both sides of each line, of two files or cut at a separator; what cannot be read keeps its place."""
    separator = {"bars": "|||", "tsv": "\t"}.get(str(source.format))
    columns = [int(source.columns.get(role, at)) for role, at in (("source", 0), ("target", 1))]
    whole = number = 0
    for chunk in READERS[str(source.format)].chunks(source, "bitext", None):
        files = [
            _texts(data, path, chunk.first_line, before, warn)
            for data, path in zip(chunk.payload, source.files(), strict=True)
        ]
        for number, line in enumerate(zip(*files, strict=True), before + chunk.first_line):
            fields = line if separator is None else line[0].split(separator)
            if len(fields) <= max(columns):
                warn(number, f"no {separator!r} between two sentences; it gets no links")
                yield "", ""
            elif separator == "\t" and len(fields) != chunk.width:
                warn(
                    number, f"{len(fields)} columns, but {wrong_width(chunk.width, source)}; it gets no links"
                )
                yield "", ""
            else:
                whole += 1
                if separator == "|||" and not all(
                    map(LINK_ITEM.fullmatch, split_words(" ".join(fields[2:]), mode="whitespace"))
                ):
                    warn(number, "has more than two sentences; what follows the second is left out")
                yield fields[columns[0]].strip(BLANKS), fields[columns[1]].strip(BLANKS)
    if number and not whole:
        raise InputError(
            f"no line has {separator!r} between two sentences; give a second file, or name the --input-format",
            path=source.path,
            line=1,
        )


def _objects(source: Source, *, refuse_split: bool) -> Iterator[_Row]:
    """Each line of JSON, of which a side may be a list of words; of a blank one both are empty: it keeps its place."""
    for chunk in READERS["jsonl"].chunks(source, "bitext", None):
        rows, numbers = row_objects(source, chunk)
        found: dict[int, _Row] = {}
        if rows:
            values, _ = from_rows(rows, numbers, chunk.names or (), source, "bitext", words=True)
            for line, one, other, row in zip(numbers, values["source"], values["target"], rows, strict=True):
                wrong = _wrong_row(one, other, row.get("id"), refuse_split)
                if wrong is not None:
                    raise InputError(wrong, path=source.path, line=line)
                found[line] = _Row(one, other, row.get("id"))
        data = chunk.payload[0]
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        yield from (
            found.get(line, _Row("", "")) for line in range(chunk.first_line, chunk.first_line + lines)
        )


def _wrong_row(one: str | list[str], other: str | list[str], name: Any, refuse_split: bool) -> str | None:
    """What is wrong with a line of JSON whose sides can be read."""
    lists = [side for side in (one, other) if not isinstance(side, str)]
    if lists and refuse_split:
        return "is already split into words; leave --words out"
    if any(not word.strip() for words in lists for word in words):
        return "a word is empty; leave it out, and count the links without it"
    if name is not None and type(name) not in (int, str):
        return f"the id is {name!r}, but a number or a text is needed"
    return None


def _units(source: Source) -> Iterator[_Row]:
    """Each translation unit of a TMX file that has both languages."""
    reader = READERS["tmx"]
    for chunk in reader.chunks(source, "bitext", None):
        values, _ = reader.fields(source, "bitext", chunk)
        tags = zip(values["source_tags"], values["target_tags"], strict=True)
        yield from map(_Row, values["source"], values["target"], values["id"], tags)


def _texts(data: bytes, path: str, first: int, before: int, warn: Warn) -> Iterator[str]:
    if first == 1:
        refuse_bare_returns(data, path)
    for at, line in enumerate(data.removesuffix(b"\n").split(b"\n"), first):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            warn(before + at, f"{path}:{at}: invalid UTF-8 ({error.reason}); bad bytes are replaced")
            text = line.decode("utf-8", errors="replace")
        yield (text.removeprefix("\ufeff") if at == 1 else text).removesuffix("\r")
