"""Read pairs of sentences to align, so that every input line has its place in the output; report what is wrong."""

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
"""Receives the 1-based number of a pair, and what is wrong with it."""

_MOST_WARNINGS = 20
"""Pairs that are warned of; after these one line says that there are more."""
_SAMPLE = 1000
"""Number of first pairs by which text is judged to be running text or tokenised."""
_GLUED_SHARE = 0.3
"""Text is running text if in this share of the pairs punctuation is glued to a word: ``end.``

Abbreviations (``etc.``) end some sentences of tokenised text, so a few such pairs prove nothing.
"""
_TAG = re.compile(r"</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*[\"'][^<>]*)?\s*/?>")
"""An inline tag of HTML or XML."""
_GLUED = re.compile(r"\w[.,;:!?…。，！？।؟]+(?:\s|$)")
"""A punctuation mark at the end of a word."""


class PairsInFiles(Iterable[SentencePair]):
    """The pairs of a bitext, which are read again in each loop; only the first loop reports what is wrong with them.

    Args:
        read: Function that reads the pairs. It is called with ``mode``, how text is cut, and with ``warn``, a function
            for reports, or None in later loops.

    Attributes:
        word_mode: How text is cut into words; may be set before the first loop.
        warnings: Reports what is wrong with pairs; an aligner uses it too.
    """

    def __init__(self, read: Callable[..., Iterator[SentencePair]]) -> None:
        self.word_mode: WordMode = "whitespace"
        self.warnings = Warnings()
        self._read = read
        self._is_first = True

    def __iter__(self) -> Iterator[SentencePair]:
        warn, self._is_first = self.warnings if self._is_first else None, False
        yield from self._read(mode=self.word_mode, warn=warn)


def read_pairs(
    corpus: Corpus,
    *,
    mode: WordMode,
    warn: Warn | None = None,
    accept_words: bool = False,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[SentencePair]:
    """Read sentence pairs in the order of the inputs, and cut them into words, in bounded memory.

    A line that cannot be read (a missing separator, another number of columns, invalid UTF-8) keeps its place, as a
    pair with the text that could be read, and ``warn`` is called with its number.

    Args:
        corpus: The inputs.
        mode: How text is cut. Rows that have words keep them.
        warn: Receives what is wrong with a pair; without it nothing is reported, as in a second loop over a corpus.
        accept_words: Accept rows that have words with ``mode="unicode"`` too, which otherwise refuses them.
        start: First row of a prepared folder.
        stop: Row of a prepared folder after the last one.
    """
    notices = _Notices() if warn is not None and mode == "whitespace" else None
    refuse_words = mode == "unicode" and not accept_words
    read = _readable_or_not(corpus, warn, start, stop)
    pairs = read if warn is None else tags_noticed(read)
    for number, pair in enumerate(pairs, 1):
        # Only rows that have words or an id can be wrong in themselves.
        if pair.has_words or pair.id is not None:
            problem = _problem(pair, refuse_words)
            if problem is not None:
                raise InputError(problem, path=pair.path, line=pair.line)
        if notices is not None and pair.line is not None and not any(pair.words):
            notices.look(pair.texts)
        if isinstance(warn, Warnings):
            warn.places.append((number, pair.path, pair.line))
        yield pair.cut(mode)
    if notices is not None:
        notices.end()


def _readable_or_not(
    corpus: Corpus, warn: Warn | None, start: int, stop: int | None
) -> Iterator[SentencePair]:
    """Yield the pairs of a corpus; ``warn`` receives rows that could not be read, or only in part."""
    number = 0
    for corpus_input in corpus.inputs:
        for pair, problem in corpus_input.pairs(start, stop):
            number += 1
            if problem is not None and warn is not None:
                consequence = "" if any(pair.texts) else "; it gets no links"
                warn(number, f"{problem}{consequence}")
            yield pair


def tags_noticed(pairs: Iterator[SentencePair]) -> Iterator[SentencePair]:
    """Pass pairs on, and warn of the first whose text has inline tags, which are cut into words and linked."""
    noticed = False
    for number, pair in enumerate(pairs, 1):
        if not noticed and not any(pair.words):
            # Most texts have no "<", which is found out faster than by the expression.
            found = None
            for text in pair.texts:
                if found is None and "<" in text:
                    found = _TAG.search(text)
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
    """Open further bitext to learn from, in the same direction as a text in these languages.

    A TMX file has no source side, so the languages must be known to choose one.
    """
    tags = [tag or unnamed for tag, unnamed in zip(languages, UNNAMED, strict=False)]
    if set(tags) & set(UNNAMED):
        translation_memories = [path for path in paths if by_suffix(path) == "tmx"]
        if translation_memories:
            raise ConfigurationError(
                f"{translation_memories[0]}: which of its languages is the source? Add [[languages=('en', 'de')]]"
            )
    sources = []
    for path in paths:
        sources += corpus_sources([path], languages=tags)
    return open_corpus(sources, "bitext")


def silent(number: int, message: str) -> None:
    """Report nothing."""


class Warnings:
    """Report what is wrong with pairs: one message a pair, and of very many pairs only the first ones."""

    def __init__(self) -> None:
        self._reported: set[int] = set()
        self.places: deque[tuple[int, str | None, int | None]] = deque(maxlen=2 * WINDOW)
        """Number, file and line of the pairs that were read last; there are more than an aligner reads ahead."""

    def __call__(self, number: int, message: str) -> None:
        """Report what is wrong with the pair of this 1-based number."""
        if number in self._reported or len(self._reported) > _MOST_WARNINGS:
            return
        self._reported.add(number)
        if len(self._reported) > _MOST_WARNINGS:
            _LOG.warning("more warnings of this kind follow; check the input")
        else:
            _LOG.warning("pair %d: %s%s", number, self._place_of(number), message)

    def _place_of(self, number: int) -> str:
        """Return the place of a pair for a message, ``en-de.tsv:7: ``; empty if the place is not known any more."""
        for pair_number, path, line in self.places:
            if pair_number == number and line is not None:
                return f"{path}:{line}: "
        return ""


class _Notices:
    """Warn if text that is cut at spaces and tabs looks like running text, or has spaces of other kinds."""

    def __init__(self) -> None:
        # Whether a word ends in a punctuation mark, for each of the first pairs.
        self._is_running: list[bool] = []
        # How many pairs have other spaces (no-break, ideographic), and the first such space.
        self._spaced, self._space = 0, ""

    def look(self, texts: tuple[str, str]) -> None:
        """Look at a pair."""
        space = other_space(*texts)
        if space is not None:
            self._spaced += 1
            self._space = self._space or space
        if len(self._is_running) < _SAMPLE:
            self._is_running.append(any(map(_GLUED.search, texts)))
            if len(self._is_running) == _SAMPLE:
                self._warn_of_running_text()

    def end(self) -> None:
        """Warn after the last pair of what is known then."""
        if len(self._is_running) < _SAMPLE:
            self._warn_of_running_text()
        if self._spaced:
            _LOG.warning("%s", note_of_spaces(self._spaced, self._space))

    def _warn_of_running_text(self) -> None:
        """Warn if enough of the first pairs look like running text."""
        if sum(self._is_running) >= max(_GLUED_SHARE * len(self._is_running), 1):
            _LOG.warning(
                spelled(
                    "punctuation stays part of words; for text that is not tokenised, use "
                    "[[words='unicode']] (%d of the first %d pairs)"
                ),
                sum(self._is_running),
                len(self._is_running),
            )


def _problem(pair: SentencePair, refuse_words: bool) -> str | None:
    """Say what is wrong with the words or the id of a row, None if nothing is; readers accept more than aligners."""
    if any(pair.words) and refuse_words:
        return "is already split into words; leave [[words]] out"
    source, target = pair.words
    if not all(word.strip() for word in (*source, *target)):
        return "a word is empty; leave it out, and count the links without it"
    if pair.id is not None and type(pair.id) not in (int, str):
        return f"the id is {pair.id!r}, but a number or a text is needed"
    return None
