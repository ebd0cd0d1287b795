"""Pairs of sentences to align, read so that every input line has its place in the output."""

import logging
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from isoglot.aligners.alignment import WINDOW
from isoglot.corpus.open_corpus import Corpus, CorpusInput, corpus_sources, input_pairs, open_corpus
from isoglot.errors import ConfigurationError, InputError
from isoglot.formats.cells import wrong_width
from isoglot.formats.line_files import bar_fields, refuse_bare_returns
from isoglot.formats.links import LINK_ITEM
from isoglot.formats.pair_rows import chunk_pairs, source_pairs
from isoglot.formats.readers import PAIR_READERS
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED, Source, by_suffix
from isoglot.formats.words import WordMode, note_of_spaces, other_space, split_words

_LOG = logging.getLogger(__name__)
Warn = Callable[[int, str], None]
ReadPairs = Callable[[WordMode, Warn | None], Iterator[SentencePair]]
"""Reads pairs from the first one on, cut into words as the mode says; what is wrong with them is reported if asked."""

_MOST_WARNINGS = 20
_LINE_FORMATS = ("bars", "moses", "tsv")
_SAMPLE, _GLUED_SHARE = 1000, 0.3
"""Pairs that decide whether text is tokenised, and the share of glued ones in running text.

Abbreviations end some sentences of tokenised text, so a few glued pairs prove nothing.
"""
_GLUED = re.compile(r"\w[.,;:!?…。，！？।؟]+(?:\s|$)")


def read_pairs(
    corpus: Corpus, *, mode: WordMode, warn: Warn | None = None, split: bool = False
) -> Iterator[SentencePair]:
    """Sentence pairs in the order of the inputs, in bounded memory.

    A line of a Moses pair, a TSV or a ``source ||| target`` file that cannot be read (invalid UTF-8, a missing
    separator) keeps its place, and ``warn`` is called with its number. Other formats, and tables with a header, are
    read strictly; a blank line of JSON lines or of a table is a pair without words. Words of a prepared folder that
    has word links are kept, and lists of words in JSON lines. Without ``warn`` nothing is reported, as in a second
    loop over a corpus. ``split`` takes what is split into words as it is, which ``mode`` unicode otherwise refuses.
    """
    number = 0
    noticed = _Notices() if warn is not None and mode == "whitespace" else None
    for corpus_input in corpus.inputs:
        if corpus_input.manifest is not None:
            for pair in prepared_pairs(corpus_input, mode=mode, split=split):
                number += 1
                yield pair
            continue
        for pair in corpus_input.loop(_rows(corpus_input.source, number, warn or silent, mode, split)):
            number += 1
            if noticed is not None and not any(pair.words):
                noticed.look(pair.texts)
            if isinstance(warn, Warnings):
                warn.places.append((number, pair.path, pair.line))
            yield pair.cut(mode)
    if noticed is not None:
        noticed.end()


def more_bitext(paths: Sequence[str], languages: Sequence[str]) -> Corpus:
    """Bitext to learn from beside another of these languages, whose direction it must have."""
    tags = [tag or unnamed for tag, unnamed in zip(languages, UNNAMED, strict=False)]
    if set(tags) & set(UNNAMED) and (unsure := [path for path in paths if by_suffix(path) == "tmx"]):
        raise ConfigurationError(
            f"{unsure[0]}: which of its languages is the source? Add --source-lang en --target-lang de"
        )
    return open_corpus(
        [source for path in paths for source in corpus_sources([path], languages=tags)], "bitext"
    )


def prepared_pairs(
    corpus_input: CorpusInput, *, mode: WordMode, start: int = 0, stop: int | None = None, split: bool = False
) -> Iterator[SentencePair]:
    """The pairs ``start`` to ``stop`` − 1 of a prepared folder; ``split`` as in :func:`read_pairs`."""
    aligned = corpus_input.manifest is not None and corpus_input.manifest.kind == "aligned"
    if mode == "unicode" and aligned and not split:
        path = corpus_input.source.path
        raise InputError(
            "is already split into words, and its links count them; leave --words out", path=path
        )
    return (pair.cut(mode) for pair in input_pairs(corpus_input, start, stop))


def _rows(source: Source, before: int, warn: Warn, mode: WordMode, split: bool) -> Iterator[SentencePair]:
    """Each row, in its place; ``before`` pairs have been read of other inputs."""
    if source.format in _LINE_FORMATS and not (source.header or _named(source)):
        return _tolerant(source, before, warn)
    if source.format == "jsonl":
        return _objects(source, refuse_split=mode == "unicode" and not split)
    return source_pairs(source)


def silent(number: int, message: str) -> None:
    """Report nothing."""


class Warnings:
    """Reports what is wrong with pairs: one message per pair, and of very many only the first."""

    def __init__(self) -> None:
        self._reported: set[int] = set()
        self.places: deque[tuple[int, str | None, int | None]] = deque(maxlen=2 * WINDOW)
        """Number, file and line of the pairs read last, more than an aligner reads ahead."""

    def __call__(self, number: int, message: str) -> None:
        """Report what is wrong with the pair of this 1-based number."""
        if number in self._reported or len(self._reported) > _MOST_WARNINGS:
            return
        self._reported.add(number)
        if len(self._reported) > _MOST_WARNINGS:
            _LOG.warning("more warnings of this kind follow; check the input")
        else:
            positions = (
                f"{path}:{line}: " for n, path, line in self.places if n == number and line is not None
            )
            _LOG.warning("pair %d: %s%s", number, next(positions, ""), message)


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


def _named(source: Source) -> bool:
    """Whether columns are named, which requires a header."""
    return any(isinstance(source.columns.get(role), str) for role in ("source", "target"))


def _tolerant(source: Source, before: int, warn: Warn) -> Iterator[SentencePair]:
    """The pair of each line, of two files or cut at a separator; what cannot be read keeps its place."""
    separator = {"bars": "|||", "tsv": "\t"}.get(str(source.format))
    columns = [int(source.columns.get(role, at)) for role, at in (("source", 0), ("target", 1))]
    source_language, target_language = source.languages("bitext")
    whole = line = 0
    for chunk in PAIR_READERS[str(source.format)].chunks(source, "bitext", None):
        files = [
            _texts(data, path, chunk.first_line, before, warn)
            for data, path in zip(chunk.payload, source.files(), strict=True)
        ]
        for line, texts in enumerate(zip(*files, strict=True), chunk.first_line):
            fields = (
                bar_fields(texts[0]) if separator == "|||" else texts[0].split("\t") if separator else texts
            )
            pair = SentencePair(
                ("", ""), languages=(source_language, target_language), path=source.path, line=line
            )
            problem = ""
            if len(fields) <= max(columns):
                problem = f"no {separator!r} between two sentences; it gets no links"
            elif separator == "\t" and len(fields) != chunk.width:
                problem = f"{len(fields)} columns, but {wrong_width(chunk.width, source)}; it gets no links"
            else:
                whole += 1
                pair.texts = fields[columns[0]], fields[columns[1]]
                rest = [field for n, field in enumerate(fields) if n not in columns]
                if separator == "\t" and rest:
                    pair.cells, pair.more = rest, {"columns": rest}
                elif not all(map(LINK_ITEM.fullmatch, split_words(" ".join(rest), mode="whitespace"))):
                    problem = "has more than two sentences; what follows the second is left out"
            if problem:
                warn(before + line, f"{source.path}:{line}: {problem}")
            yield pair
    if line and not whole:
        raise InputError(
            f"no line has {separator!r} between two sentences; give a second file, or name the --input-format",
            path=source.path,
            line=1,
        )


def _objects(source: Source, *, refuse_split: bool) -> Iterator[SentencePair]:
    """Each line of JSON, of which a side may be a list of words; of a blank one both are empty: it keeps its place."""
    source_language, target_language = source.languages("bitext")
    blank = SentencePair(("", ""), languages=(source_language, target_language), path=source.path)
    for chunk in PAIR_READERS["jsonl"].chunks(source, "bitext", None):
        pairs = {pair.line: pair for pair in chunk_pairs(source, chunk)}
        for line, pair in pairs.items():
            if (problem := _problem(pair, refuse_split)) is not None:
                raise InputError(problem, path=source.path, line=line)
        data = chunk.payload[0]
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        for line in range(chunk.first_line, chunk.first_line + lines):
            yield pairs[line] if line in pairs else replace(blank, line=line)


def _problem(pair: SentencePair, refuse_split: bool) -> str | None:
    """What is wrong with a line of JSON whose sides can be read."""
    if any(pair.words) and refuse_split:
        return "is already split into words; leave --words out"
    if any(not word.strip() for words in pair.words for word in words):
        return "a word is empty; leave it out, and count the links without it"
    if pair.id is not None and type(pair.id) not in (int, str):
        return f"the id is {pair.id!r}, but a number or a text is needed"
    return None


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
