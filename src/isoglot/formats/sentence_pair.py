"""A sentence pair and all that is known of it: readers make it, aligners add links, writers write it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import Tabular
from isoglot.formats.given_row import GivenRow, with_values
from isoglot.formats.inline_tags import Tags, are_inline_tags, offsets_and_xml
from isoglot.formats.links import Alignment, Link, link_set
from isoglot.formats.markup_lines import tags_of_items
from isoglot.formats.sources import UNNAMED
from isoglot.formats.tmx_unit import TmxPair
from isoglot.formats.words import WordMode, locate_words, sentence_words

if TYPE_CHECKING:
    import pandas as pd

Span = tuple[int, int]
WordPair = tuple[Sequence[str], Sequence[str]]
"""Source and target words."""
_WORD_NAMES = (("source_words", "target_words"), ("src", "tgt"))
"""Names of the columns that may hold the words of both sides; the first pair that does counts."""
_TAG_NAMES = (("source_tags", "target_tags"), ("src_tags", "tgt_tags"))
_SIDES = ("source", "target")
_OTHER_SIDE = {"source": "target", "target": "source"}


@dataclass(slots=True)
class SentencePair(Tabular):
    """Two sentences that translate each other, their word links, gold links, and what else their row says.

    Args:
        texts: Source and target as they stand in the row. If the row has words and no text, the words joined by spaces.
        words: The words of both sides, if the row has them; else none until :meth:`cut` cuts the texts.
        links: 0-based ``(source word, target word)``, sorted until :meth:`transpose` exchanges the sides.
        probabilities: Probability of each link, in [0, 1], in the order of ``links``; of ``argmax``, ``itermax``,
            ``match``, ``forward`` and ``backward`` the similarity ``(cosine + 1) / 2``, which is not a probability;
            empty if the aligner has none.
        score: Mean over both sides' words of their best link's probability, 0 for an unaligned word; not a number if
            there are no probabilities.
        sure: Gold links on which annotators agree; None where no gold links are known.
        possible: Gold links that may be right. Sure links are always among them, even if they are not given here.
        languages: Codes by which the pair is read; a row's own label (``en-US``) is in ``more``.
        id: What the row is called: ``id`` of JSON lines, ``tuid`` of TMX.
        tags: Inline tags of both texts (:class:`isoglot.formats.inline_tags.Tag`), which TMX and JSON lines have.
        spans: Characters ``[start, end)`` of the words in the texts, if finding the words in the texts would not tell.
        path: File that the pair was read from.
        line: Line of the file where the row begins, from 1; None of data that has no lines.
        more: What else the row says, by name: keys of JSON lines, columns, notes and properties of TMX.
        given: The row as it was read, so that it is written with the same columns, in the same form of table.
        unit: The two translations of a TMX unit that the pair was read from; TMX is written from that unit,
            ``unit.unit``.

    Raises:
        ConfigurationError: Gold links that are not pairs of whole numbers.

    Example:
        >>> pair = SentencePair.of(["the", "house"], ["das", "Haus"], links=[(1, 1)])
        >>> pair.word_pairs, pair.source_spans[1], pair.to_pharaoh()
        ([('house', 'Haus')], (4, 9), '1-1')
    """

    texts: tuple[str, str] = ("", "")
    words: WordPair = ((), ())
    links: list[Link] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    score: float = math.nan
    sure: frozenset[Link] | None = None
    possible: frozenset[Link] = frozenset()
    languages: tuple[str, str] = ("", "")
    id: Any = None
    tags: tuple[Tags, Tags] = ((), ())
    spans: tuple[list[Span], list[Span]] | None = None
    path: str | None = None
    line: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    given: GivenRow | None = None
    unit: TmxPair | None = None

    def __post_init__(self) -> None:
        if self.sure is not None or self.possible:
            self.sure = link_set(self.sure or ())
            self.possible = link_set(self.possible) | self.sure

    @classmethod
    def of(cls, source: str | Sequence[str], target: str | Sequence[str], **known: Any) -> SentencePair:
        """Make a pair of sides that are given as text or as words; ``known`` are further fields of the pair."""
        source_text, source_words = text_and_words(source)
        target_text, target_words = text_and_words(target)
        return cls((source_text, target_text), (source_words, target_words), **known)

    @classmethod
    def of_gold(cls, sure: Iterable[Sequence[int]], possible: Iterable[Sequence[int]] = ()) -> SentencePair:
        """Make a pair of which only the gold links are known, as lists of ``[source, target]``."""
        return cls(sure=link_set(sure), possible=link_set(possible))

    def __iter__(self) -> Iterator[Link]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)

    def __bool__(self) -> bool:
        """A pair without links is a pair too."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """The row of the pair, then its links, probabilities and score, by name."""
        links: dict[str, Any] = {"links": list(self.links)}
        if self.probabilities:
            links |= {"probabilities": list(self.probabilities), "score": self.score}
        return with_values(self.row(), links)

    def to_frame(self) -> pd.DataFrame:
        """Make a frame with a row for each link: its words, their numbers, and its probability."""
        import pandas as pd  # noqa: PLC0415 - only for those who want a frame

        table: dict[str, list[Any]] = {
            "source_word": [source for source, _ in self.word_pairs],
            "target_word": [target for _, target in self.word_pairs],
            "source": [source for source, _ in self.links],
            "target": [target for _, target in self.links],
        }
        if self.probabilities:
            table["probability"] = self.probabilities
        return pd.DataFrame(table)

    @property
    def has_words(self) -> bool:
        """Whether the words are known; a side may have none."""
        return self.words != ((), ())

    @property
    def source(self) -> str:
        """The source text."""
        return self.texts[0]

    @property
    def target(self) -> str:
        """The target text."""
        return self.texts[1]

    @property
    def source_words(self) -> Sequence[str]:
        """Words of the source side."""
        return self.words[0]

    @property
    def target_words(self) -> Sequence[str]:
        """Words of the target side."""
        return self.words[1]

    @property
    def alignment(self) -> Alignment:
        """The links as a set that can be intersected, transposed and written."""
        return Alignment(frozenset(self.links))

    @property
    def word_pairs(self) -> list[tuple[str, str]]:
        """The linked words."""
        source, target = self.words
        return [(source[i], target[j]) for i, j in self.links]

    @property
    def source_spans(self) -> list[Span]:
        """Characters ``[start, end)`` of each source word in ``source``; ``[]`` if the words do not spell the text."""
        return self.spans[0] if self.spans is not None else locate_words(self.source, self.source_words) or []

    @property
    def target_spans(self) -> list[Span]:
        """Characters ``[start, end)`` of each target word in ``target``; ``[]`` if the words do not spell the text."""
        return self.spans[1] if self.spans is not None else locate_words(self.target, self.target_words) or []

    @property
    def texts_and_spans(self) -> tuple[tuple[str, str], tuple[list[Span], list[Span]]]:
        """Both texts, and the characters of each of their words.

        Words that do not spell their text are joined by spaces, and this text takes its place: the words ``it``, ``is``
        of the text ``it's`` are at the characters (0, 2) and (3, 5) of ``it is``.
        """
        if self.spans is not None:
            return self.texts, self.spans
        texts: list[str] = []
        spans: list[list[Span]] = []
        for text, words in zip(self.texts, self.words, strict=True):
            located = locate_words(text, words)
            if located is None:
                text = " ".join(words)  # noqa: PLW2901 - the text that the words spell
                located = locate_words(text, words) or []
            texts.append(text)
            spans.append(located)
        return (texts[0], texts[1]), (spans[0], spans[1])

    def to_pharaoh(self) -> str:
        """``"0-0 1-2"``."""
        return self.alignment.to_pharaoh()

    def cut(self, mode: WordMode) -> SentencePair:
        """Cut the text of each side that has no words yet; the pair itself is changed and returned."""
        source_words, target_words = self.words
        self.words = (
            source_words or sentence_words(self.source, mode=mode),
            target_words or sentence_words(self.target, mode=mode),
        )
        return self

    def transpose(self) -> SentencePair:
        """Make the pair with its sides exchanged; the links keep their order.

        What the row says of a side goes with the side: ``source_notes`` becomes ``target_notes``.
        """
        more = {}
        for name, value in self.more.items():
            side, underscore, rest = name.partition("_")
            if underscore and side in _OTHER_SIDE:
                name = f"{_OTHER_SIDE[side]}_{rest}"  # noqa: PLW2901 - the same value, under its new name
            more[name] = value
        return replace(
            self,
            texts=self.texts[::-1],
            words=self.words[::-1],
            links=[(j, i) for i, j in self.links],
            sure=None if self.sure is None else frozenset((j, i) for i, j in self.sure),
            possible=frozenset((j, i) for i, j in self.possible),
            languages=self.languages[::-1],
            tags=self.tags[::-1],
            spans=self.spans and self.spans[::-1],
            more=more,
            given=self.given and self.given.transpose(),
            unit=self.unit and self.unit.transpose(),
        )

    def row(self) -> dict[str, Any]:
        """The pair, without its links, as an object of JSON lines.

        A row that named its columns keeps them, in their order (:meth:`_given_row`). Any other row has the columns
        ``id, source, target, source_words, target_words, source_tags, target_tags``, as far as they are known, and then
        :meth:`row_values`.
        """
        if self.given is not None and self.given.row is not None:
            return self._given_row(self.given)
        row: dict[str, Any] = {} if self.id is None else {"id": self.id}
        row |= {"source": self.source, "target": self.target}
        if any(self.words):
            row |= self._word_columns()
        if any(self.tags):
            source_tags, target_tags = self.tags
            row["source_tags"] = offsets_and_xml(source_tags)
            row["target_tags"] = offsets_and_xml(target_tags)
        return row | self.row_values()

    def _given_row(self, given: GivenRow) -> dict[str, Any]:
        """Add words and languages to the row that was given, if it lacks them.

        After :meth:`cut`, ``{"en": "a b", "de": "c"}`` becomes ``{"en": "a b", "de": "c", "source_words": ["a", "b"],
        ...}``. If the row has a column ``source_words`` with something else, ours is called ``source_words_2``.
        """
        row = given.row_with_texts(self.texts)
        added: dict[str, Any] = {}
        # A row that has the words of both sides as lists, whatever the columns are called, does not need them twice.
        if any(words and list(words) not in row.values() for words in self.words):
            added |= self._word_columns()
        values = self.row_values()
        for name in ("source_language", "target_language"):
            if name in values and name not in row:
                added[name] = values[name]
        return with_values(row, added)

    def _word_columns(self) -> dict[str, list[str]]:
        """The words of both sides, by the names of their columns."""
        return {"source_words": list(self.source_words), "target_words": list(self.target_words)}

    def row_values(self) -> dict[str, Any]:
        """The values of ``more``, and both languages where they are known.

        The row's own label (``source_language`` in ``more``, such as ``de-AT``) wins over the language by which the
        pair is read.
        """
        languages = {}
        for side, language in zip(_SIDES, self.languages, strict=True):
            if language and language not in UNNAMED:
                languages[f"{side}_language"] = language
        return {**languages, **self.more}


def text_and_words(side: str | Sequence[str]) -> tuple[str, Sequence[str]]:
    """Tell whether a side is a text or words; a text has no words yet, words are joined to a text.

    Example:
        >>> text_and_words("a house"), text_and_words(["a", "house"])
        (('a house', ()), ('a house', ['a', 'house']))
    """
    return (side, ()) if isinstance(side, str) else (" ".join(side), side)


def require_words(pair: SentencePair | WordPair) -> SentencePair:
    """Copy a pair whose words are known, so that links can be added; the caller's pair stays as it was.

    A text in the place of words is refused: its characters would be linked.

    Raises:
        ConfigurationError: A side is a text, or a list of sentences.
    """
    words = pair.words if isinstance(pair, SentencePair) else pair
    for side in words:
        if isinstance(side, str) or (len(side) and not isinstance(side[0], str)):
            raise ConfigurationError(
                f"got {shortened(side)}, but a sentence is a list of words here; call isoglot.align or "
                "isoglot.align_many for text, align_pairs for many sentences"
            )
    return replace(pair) if isinstance(pair, SentencePair) else SentencePair.of(*map(list, words))


def take_row_values(pair: SentencePair, more: dict[str, Any]) -> None:
    """Give a pair the values that its row has beside both sides; ``more`` is changed.

    1. ``id`` is the id of the pair.
    2. ``source_words`` and ``target_words``, or ``src`` and ``tgt`` (as gold link files say), are its words, if both
       are lists of strings and the pair has no words yet.
    3. ``source_tags`` and ``target_tags``, or ``src_tags`` and ``tgt_tags``, are its inline tags, if both can be read.
    4. Everything else stays in ``pair.more``, also a ``src`` that is no list of strings, and tags that cannot be read.
    """
    pair.id = more.pop("id", None)  # 1
    pair.more = more
    for source_name, target_name in _WORD_NAMES:  # 2
        source_words, target_words = more.get(source_name), more.get(target_name)
        if any(pair.words) or not (_is_words(source_words) and _is_words(target_words)):
            continue
        pair.words = more.pop(source_name), more.pop(target_name)
    for source_name, target_name in _TAG_NAMES:  # 3
        if source_name not in more or target_name not in more:
            continue
        source_tags = _tags(more[source_name], pair.source)
        target_tags = _tags(more[target_name], pair.target)
        if source_tags is not None and target_tags is not None:
            pair.tags = source_tags, target_tags
            del more[source_name], more[target_name]


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _tags(value: Any, text: str) -> Tags | None:
    """Read the inline tags of a text, ``[[0, "<b>"], [5, "</b>"]]``; None for anything else.

    The offsets must ascend and be inside the text, and the tags together must be well-formed XML.
    """
    if not are_inline_tags(value):
        return None
    if isinstance(value, tuple):
        return value
    offsets = [offset for offset, _ in value]
    if offsets != sorted(offsets):
        return None
    if offsets and not (offsets[0] >= 0 and offsets[-1] <= len(text)):
        return None
    all_tags = "".join(xml for _, xml in value)
    try:
        ElementTree.fromstring(f"<seg>{all_tags}</seg>")  # noqa: S314 - no declarations inside
    except ElementTree.ParseError:
        return None
    return tags_of_items(value)
