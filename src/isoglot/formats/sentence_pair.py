"""A sentence pair and all that is known of it: readers yield it, aligners add links, filters and writers pass it on."""

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
from isoglot.formats.inline_tags import Tags, offsets_and_xml
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
_TAG_NAMES = (("source_tags", "target_tags"), ("src_tags", "tgt_tags"))
_SIDES = {"source": "target", "target": "source"}


@dataclass(slots=True)
class SentencePair(Tabular):
    """Two sentences that translate each other, their word links, gold links, and what else their row says.

    Args:
        texts: Source and target as they stand in the row; words that were given without a text are joined by spaces.
        words: The words of both sides, where the row has them or the text was cut; else none.
        links: 0-based ``(source word, target word)``, sorted.
        probabilities: Probability of each link, in [0, 1]; of ``argmax``, ``itermax``, ``match``, ``forward`` and
            ``backward`` the similarity ``(cosine + 1) / 2``, which is not a probability; empty if the aligner has none.
        score: Mean over both sides' words of their best link's probability, 0 for an unaligned word; not a number if
            there are no probabilities.
        sure: Gold links on which annotators agree; None where no gold links are known.
        possible: Gold links that are not wrong, the sure ones among them, whether they are given or not.
        languages: Codes by which the pair is read; a row's own label (``en-US``) is in ``more``.
        id: What the row is called: ``id`` of JSON lines, ``tuid`` of TMX.
        tags: Inline tags of both texts (:class:`isoglot.formats.inline_tags.Tag`), which TMX and JSON lines have.
        spans: Characters of the words, where the text alone does not say it.
        path: File that has the row.
        line: Line of the file where the row begins, from 1; None of data that has no lines.
        more: What else the row says, by name: keys of JSON lines, columns, notes and properties of TMX.
        given: The row as it was read, which writers give back: names and order of its columns, form of its table.
        unit: The unit of a translation memory that the pair is from, with all its translations; TMX is written from it.

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
        """A pair whose sides are given as text or as words, and what is known of it."""
        sides = [(side, ()) if isinstance(side, str) else (" ".join(side), side) for side in (source, target)]
        texts, words = zip(*sides, strict=True)
        return cls(texts, words, **known)

    @classmethod
    def of_gold(cls, sure: Iterable[Sequence[int]], possible: Iterable[Sequence[int]] = ()) -> SentencePair:
        """A pair of which nothing is known but its gold links, as lists of ``[source, target]``."""
        return cls(sure=link_set(sure), possible=link_set(possible))

    def __iter__(self) -> Iterator[Link]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)

    def __bool__(self) -> bool:
        """A pair without links is a pair too."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """The row of the pair and its links, by name."""
        links: dict[str, Any] = {"links": list(self.links)}
        if self.probabilities:
            links |= {"probabilities": list(self.probabilities), "score": self.score}
        return with_values(self.row(), links)

    def to_frame(self) -> pd.DataFrame:
        """A row for each link: its words, their numbers, and its probability."""
        import pandas as pd  # noqa: PLC0415 - only for those who want a frame

        table: dict[str, list[Any]] = {
            "source_word": [source for source, _ in self.word_pairs],
            "target_word": [target for _, target in self.word_pairs],
            "source": [source for source, _ in self.links],
            "target": [target for _, target in self.links],
        }
        return pd.DataFrame(table | ({"probability": self.probabilities} if self.probabilities else {}))

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
        """Characters ``[start, end)`` of each source word in ``source``."""
        return locate_words(self.source, self.source_words) or []

    @property
    def target_spans(self) -> list[Span]:
        """Characters ``[start, end)`` of each target word in ``target``."""
        return locate_words(self.target, self.target_words) or []

    @property
    def texts_and_spans(self) -> tuple[tuple[str, str], tuple[list[Span], list[Span]]]:
        """Both texts and the characters of each word in them; a text that the words do not spell is joined anew."""
        if self.spans is not None:
            return self.texts, self.spans
        texts, spans = [], []
        for text, words in zip(self.texts, self.words, strict=True):
            located = locate_words(text, words)
            texts.append(" ".join(words) if located is None else text)
            spans.append(locate_words(texts[-1], words) or [] if located is None else located)
        return (texts[0], texts[1]), (spans[0], spans[1])

    def to_pharaoh(self) -> str:
        """``"0-0 1-2"``."""
        return self.alignment.to_pharaoh()

    def cut(self, mode: WordMode) -> SentencePair:
        """Cut the text of a side that has no words yet."""
        source, target = (
            words or sentence_words(text, mode=mode)
            for text, words in zip(self.texts, self.words, strict=True)
        )
        self.words = source, target
        return self

    def transpose(self) -> SentencePair:
        """The pair with its sides exchanged; its links keep their order."""
        more = {}
        for name, value in self.more.items():  # of a value of a side, that is a value of the other one now
            side, line, rest = name.partition("_")
            more[f"{_SIDES.get(side, side)}_{rest}" if line else name] = value
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
        """The pair, without its links, as an object of JSON lines; a row that names its columns as it was given."""
        if self.given is not None and self.given.row is not None:
            return self._given_row(self.given)
        row: dict[str, Any] = {} if self.id is None else {"id": self.id}
        row |= zip(_SIDES, self.texts, strict=True)
        if any(self.words):
            row |= {f"{side}_words": list(words) for side, words in zip(_SIDES, self.words, strict=True)}
        if any(self.tags):
            row |= {
                f"{side}_tags": offsets_and_xml(tags) for side, tags in zip(_SIDES, self.tags, strict=True)
            }
        return row | self.row_values()

    def _given_row(self, given: GivenRow) -> dict[str, Any]:
        """The row that was given, and what has become known of it, under names that are free."""
        row, known = given.named(self.texts), dict[str, Any]()
        if any(self.words) and list(self.words[0]) not in row.values():
            known |= {f"{side}_words": list(words) for side, words in zip(_SIDES, self.words, strict=True)}
        values = self.row_values()
        labels = [f"{side}_language" for side in _SIDES]
        known |= {name: values[name] for name in labels if name in values and name not in row}
        return with_values(row, known)

    def row_values(self) -> dict[str, Any]:
        """What the row says beside texts, words, links, id and tags, and both languages where they are known."""
        tags = zip(_SIDES, self.languages, strict=True)
        return {**{f"{side}_language": tag for side, tag in tags if tag and tag not in UNNAMED}, **self.more}


def require_words(pair: SentencePair | WordPair) -> SentencePair:
    """A new pair whose words are known, to be given links; the caller's pair stays as it was.

    Text in the place of words, whose characters would be linked, is refused.

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
    """Give a pair what its row says beside both sides: id, words and in-line tags, and the rest by name."""
    pair.id, pair.more = more.pop("id", None), more
    for names in _WORD_NAMES:
        sides = [more.get(name) for name in names]
        if not any(pair.words) and all(
            isinstance(side, list) and all(isinstance(word, str) for word in side) for side in sides
        ):
            pair.words = more.pop(names[0]), more.pop(names[1])
    for names in _TAG_NAMES:
        if names[0] in more and names[1] in more:
            first, second = (_tags(more[name], text) for name, text in zip(names, pair.texts, strict=True))
            if first is not None and second is not None:
                pair.tags = first, second
                del more[names[0]], more[names[1]]


def _tags(value: Any, text: str) -> Tags | None:
    """In-line tags of a text; None for what is not."""
    if isinstance(value, tuple):  # of the reader of TMX
        return value
    match value:
        case [*items] if all(
            isinstance(item, list) and list(map(type, item)) == [int, str] for item in items
        ):
            positions = [position for position, _ in items]
        case _:
            return None
    if positions != sorted(positions) or not 0 <= min(positions, default=0) <= max(
        positions, default=0
    ) <= len(text):
        return None
    try:
        ElementTree.fromstring(f"<seg>{''.join(xml for _, xml in items)}</seg>")  # noqa: S314 - no declarations inside
    except ElementTree.ParseError:
        return None
    return tags_of_items(items)
