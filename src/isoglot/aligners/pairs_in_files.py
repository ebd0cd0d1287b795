"""Pairs of sentences to align, read so that every input line has its place in the output."""

import logging
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from isoglot.aligners.alignment import WINDOW
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.named_options import spelled
from isoglot.corpus.open_corpus import Corpus, corpus_sources, open_corpus
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED, by_suffix
from isoglot.formats.words import WordMode, note_of_spaces, other_space

_LOG = logging.getLogger(__name__)
Warn = Callable[[int, str], None]

_MOST_WARNINGS = 20
_SAMPLE, _GLUED_SHARE = 1000, 0.3
"""Pairs that decide whether text is tokenised, and the share of glued ones in running text.

Abbreviations end some sentences of tokenised text, so a few glued pairs prove nothing.
"""
_TAG = re.compile(r"</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*[\"'][^<>]*)?\s*/?>")
"""An inline tag of HTML or XML."""
_GLUED = re.compile(r"\w[.,;:!?…。，！？।؟]+(?:\s|$)")


class PairsInFiles(Iterable[SentencePair]):
    """The pairs of a bitext, which are read again in each loop; only the first loop reports what is wrong with them.

    Args:
        read: Reads the pairs: called with ``mode``, how text is cut, and ``warn``, which receives what is wrong with a
            pair, by its number.

    Attributes:
        words: How text is cut.
        warnings: What is wrong with pairs; an aligner reports to it too.
    """

    def __init__(self, read: Callable[..., Iterator[SentencePair]]) -> None:
        self.words: WordMode = "whitespace"
        self.warnings = Warnings()
        self._read = read
        self._is_first = True

    def __iter__(self) -> Iterator[SentencePair]:
        warn, self._is_first = self.warnings if self._is_first else None, False
        yield from self._read(mode=self.words, warn=warn)


def read_pairs(
    corpus: Corpus,
    *,
    mode: WordMode,
    warn: Warn | None = None,
    split: bool = False,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[SentencePair]:
    """Sentence pairs in the order of the inputs, cut into words, in bounded memory.

    A line that cannot be read (a missing separator, another number of columns, invalid UTF-8) keeps its place, and
    ``warn`` is called with its number; without ``warn`` nothing is reported, as in a second loop over a corpus. Words
    that a row has are kept; ``split`` takes them as they are, which ``mode`` unicode otherwise refuses.

    ``start``, ``stop``: Rows of a prepared folder.
    """
    noticed = _Notices() if warn is not None and mode == "whitespace" else None
    refuse_split = mode == "unicode" and not split
    read = _readable_or_not(corpus, warn, start, stop)
    pairs = read if warn is None else tags_noticed(read)
    for number, pair in enumerate(pairs, 1):
        if (pair.has_words or pair.id is not None) and (problem := _problem(pair, refuse_split)):
            raise InputError(problem, path=pair.path, line=pair.line)
        if noticed is not None and pair.line is not None and not any(pair.words):
            noticed.look(pair.texts)
        if isinstance(warn, Warnings):
            warn.places.append((number, pair.path, pair.line))
        yield pair.cut(mode)
    if noticed is not None:
        noticed.end()


def _readable_or_not(
    corpus: Corpus, warn: Warn | None, start: int, stop: int | None
) -> Iterator[SentencePair]:
    """The pairs of a corpus; ``warn`` hears of rows that could not be read, or not all of them."""
    number = 0
    for corpus_input in corpus.inputs:
        for pair, problem in corpus_input.pairs(start, stop):
            number += 1
            if problem is not None and warn is not None:
                warn(number, f"{problem}{'' if any(pair.texts) else '; it gets no links'}")
            yield pair


def tags_noticed(pairs: Iterator[SentencePair]) -> Iterator[SentencePair]:
    """Pass pairs on, and warn of the first whose text has inline tags, which are cut into words and linked."""
    noticed = False
    for number, pair in enumerate(pairs, 1):
        if not noticed and not any(pair.words):
            found = next((tag for text in pair.texts if "<" in text and (tag := _TAG.search(text))), None)
            if found is not None:
                noticed = True
                _LOG.warning(
                    "pair %d: the tag %s is text here, and its characters are linked as words; leave tags out before "
                    "aligning, or carry them to a translation: `isoglot project --kind markup`, isoglot.project_tags",
                    number,
                    found[0],
                )
        yield pair


def more_bitext(paths: Sequence[str], languages: Sequence[str]) -> Corpus:
    """Bitext to learn from beside another of these languages, whose direction it must have."""
    tags = [tag or unnamed for tag, unnamed in zip(languages, UNNAMED, strict=False)]
    if set(tags) & set(UNNAMED) and (unsure := [path for path in paths if by_suffix(path) == "tmx"]):
        raise ConfigurationError(
            f"{unsure[0]}: which of its languages is the source? Add [[languages=('en', 'de')]]"
        )
    return open_corpus(
        [source for path in paths for source in corpus_sources([path], languages=tags)], "bitext"
    )


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
                spelled(
                    "punctuation stays part of words; for text that is not tokenised, use "
                    "[[words='unicode']] (%d of the first %d pairs)"
                ),
                sum(self._running),
                len(self._running),
            )


def _problem(pair: SentencePair, refuse_split: bool) -> str | None:
    """What is wrong with a row that has words or an id, of which an aligner takes fewer than a row may have."""
    if any(pair.words) and refuse_split:
        return "is already split into words; leave [[words]] out"
    if any(not word.strip() for words in pair.words for word in words):
        return "a word is empty; leave it out, and count the links without it"
    if pair.id is not None and type(pair.id) not in (int, str):
        return f"the id is {pair.id!r}, but a number or a text is needed"
    return None
