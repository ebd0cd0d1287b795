"""Word alignments to look at: a file has one sentence pair per line of JSON, with gold links if there are any.

The page's viewer shows the words of both sentences. A word's links light up when a reader points at the word, taps it,
or moves to it by keyboard.

- *links*: found by an aligner. *Gold* links are those to judge by, some of them sure, the others possible.
- *class*: the judgement of a link, such as ``missed`` (:data:`LinkClass`).
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from isoglot.core.checks import problems_of
from isoglot.core.errors import InputError
from isoglot.formats.link_files import LinkReader
from isoglot.formats.link_matching import matched
from isoglot.reports.table import decimals, shown_number
from isoglot.results.link_counts import AlignmentScore
from isoglot.runs.json_lines import parse_object, read_objects

LinkClass = Literal["sure", "possible", "error", "missed", "plain"]
"""Judgement of a link.

- ``sure``, ``possible``: found, and a sure or possible gold link.
- ``error``: found, and not a gold link.
- ``missed``: a sure gold link that was not found.
- ``plain``: found, in a pair without gold links.
"""

KEYS: Mapping[LinkClass, tuple[str, str]] = {
    "sure": ("✓", "found, a sure gold link"),
    "possible": ("○", "found, a possible gold link"),
    "error": ("✗", "found, not in the gold links"),
    "missed": ("…", "sure gold link, not found"),
    "plain": ("–", "found, no gold links to judge by"),
}
"""Sign and meaning of each class. The signs tell the classes apart where colours cannot be seen."""
_RIGHT_TO_LEFT = frozenset(["ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"])
"""ISO 639 codes of languages written from right to left."""
_WORST_FIRST: tuple[LinkClass, ...] = ("error", "missed", "possible", "sure", "plain")
"""Order in which a word with links of several classes takes the colour of one of them."""


def _split_pharaoh(links: object) -> object:
    """Split links in Pharaoh's format, ``0-0 1-2``, into pairs; leave a list of pairs unchanged."""
    return [link.split("-") for link in links.split()] if isinstance(links, str) else links


_Position = Annotated[int, Field(ge=0)]
_Links = Annotated[list[tuple[_Position, _Position]], BeforeValidator(_split_pharaoh)]


class AlignmentRecord(BaseModel):
    """One line of the file: the words of a sentence pair and their links.

    Links count words from 0, source first. They are pairs, ``[[0, 0], [1, 2]]``, or text in Pharaoh's format,
    ``0-0 1-2``. ``sure`` and ``possible`` are gold links; ``possible`` need not repeat the sure ones. Without both, the
    links are shown without a judgement.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    src: list[str] = Field(validation_alias=AliasChoices("src", "source_words"))
    tgt: list[str] = Field(validation_alias=AliasChoices("tgt", "target_words"))
    links: _Links = []
    sure: _Links | None = None
    possible: _Links | None = None
    src_language: str = Field("", validation_alias=AliasChoices("src_language", "source_language"))
    tgt_language: str = Field("", validation_alias=AliasChoices("tgt_language", "target_language"))
    id: str | int = ""
    score: float | None = None

    @model_validator(mode="after")
    def _links_are_between_words(self) -> Self:
        source_length, target_length = len(self.src), len(self.tgt)
        for name, links in (("links", self.links), ("sure", self.sure), ("possible", self.possible)):
            for i, j in links or []:
                if i >= source_length or j >= target_length:
                    raise ValueError(
                        f"{name} has {[i, j]}, and there are {source_length} source and {target_length} target words; "
                        "links count words from 0, source first"
                    )
        return self

    @cached_property
    def classes(self) -> dict[tuple[int, int], LinkClass]:
        """The class of each link that was found, and of each sure gold link that was missed."""
        links, sure, possible = set(self.links), set(self.sure or ()), set(self.possible or ())
        if self.sure is None and self.possible is None:
            return dict.fromkeys(sorted(links), "plain")
        classes: dict[tuple[int, int], LinkClass] = {}
        for link in sorted(links | sure):
            if link not in links:
                classes[link] = "missed"
            elif link in sure:
                classes[link] = "sure"
            elif link in possible:
                classes[link] = "possible"
            else:
                classes[link] = "error"
        return classes

    @property
    def errors(self) -> int:
        """The number of links that are wrong or missed."""
        return sum(link_class in ("error", "missed") for link_class in self.classes.values())


def holds_alignments(path: Path) -> bool:
    """Whether a file has sentence pairs with links; its first line tells.

    ``align --format jsonl`` writes such files, and ``filter`` keeps the names of their columns.
    """
    if path.suffix != ".jsonl":
        return False
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    names = set(parse_object(first, path=path, line=1)) if first.startswith("{") else set()
    return {"src", "tgt"} <= names or {"source_words", "target_words", "links"} <= names


def read_alignments(path: str | Path, gold: Path | None = None) -> list[AlignmentRecord]:
    """Read the sentence pairs of a file; with ``gold``, judge their links by those of a file of gold links.

    The pairs of both files are matched by their ids if both files have ids, and otherwise by their order.
    """
    records = read_objects(Path(path), AlignmentRecord, what="sentence pair", wrong="no aligned pair")
    if gold is None:
        return records
    gold_links = [links for _, links in matched(LinkReader(path), LinkReader(gold, gold=True))]
    judged = []
    try:
        for record, links in zip(records, gold_links, strict=True):
            fields = record.model_dump()
            fields |= {"sure": sorted(links.sure or ()), "possible": sorted(links.possible)}
            # Validated again: gold links of other sentences point behind the last word.
            judged.append(AlignmentRecord.model_validate(fields))
        return judged
    except ValidationError as error:
        raise InputError(
            f"{problems_of(error)[0]}; give the gold links of these sentences", path=gold
        ) from error


def quality(pairs: Sequence[AlignmentRecord]) -> AlignmentScore | None:
    """Score the links of all pairs that have gold links; ``None`` if there is no sure gold link."""
    counts: Counter[LinkClass] = Counter()
    for pair in pairs:
        counts.update(pair.classes.values())
    sure_gold = counts["sure"] + counts["missed"]
    if not sure_gold:
        return None
    right = counts["sure"] + counts["possible"]
    found = right + counts["error"]
    return AlignmentScore(links=found, sure=sure_gold, sure_hits=counts["sure"], possible_hits=right)


class Word(NamedTuple):
    """A word as a button of the page, with the word's links."""

    text: str
    # For the page's script: position in the other sentence and class of each link, `0:sure 2:error`.
    links: str
    worst: str  # the worst class of the links, which colours the word; empty without links
    label: str  # for screen readers: `Haus: house (found, a sure gold link)`


class SentenceView(NamedTuple):
    """One sentence of a pair."""

    name: str  # source or target
    words: Sequence[Word]
    language: str
    direction: str  # of the script, as HTML has it: ltr or rtl


class Viewer:
    """The part of a page that shows one file of alignments.

    Args:
        title: Heading above the pairs.
        pairs: All sentence pairs of the file.
        most: Most pairs to show.
        worst: Whether to show the worst pairs in place of pairs spread over the file.
    """

    def __init__(
        self, title: str, pairs: Sequence[AlignmentRecord], *, most: int, worst: bool = False
    ) -> None:
        self.title, self.pairs = title, pairs
        self.sample = worst_pairs(pairs, most) if worst else spread_pairs(pairs, most)
        self._worst = worst

    @property
    def keys(self) -> list[tuple[LinkClass, str, str]]:
        """The legend: class, sign and meaning of the links that are shown."""
        shown_classes = {link_class for pair in self.sample for link_class in pair.classes.values()}
        return [(link_class, *KEYS[link_class]) for link_class in KEYS if link_class in shown_classes]

    @property
    def summary(self) -> str:
        """The number of pairs in the file, and the scores of all their links against gold links."""
        count = f"{len(self.pairs):,} pair{'s' * (len(self.pairs) != 1)}"
        shown = len(self.sample)
        if shown < len(self.pairs):
            count += f", the {shown} worst shown" if self._worst else f", {shown} of them shown"
        score = quality(self.pairs)
        if score is None:
            return f"{count}."
        precision, recall = shown_number(score.precision), shown_number(score.recall)
        aer = shown_number(score.aer, digits=decimals("aer"))
        return f"{count}; over all pairs precision {precision}, recall {recall}, AER {aer} (percent)."

    def sides(self, pair: AlignmentRecord) -> list[SentenceView]:
        """Return the source and the target sentence of a pair, each with the links of its words."""
        from_target = {(j, i): link_class for (i, j), link_class in pair.classes.items()}
        return [
            _sentence_view("source", pair.src, pair.tgt, pair.src_language, pair.classes),
            _sentence_view("target", pair.tgt, pair.src, pair.tgt_language, from_target),
        ]


def spread_pairs(pairs: Sequence[AlignmentRecord], most: int) -> list[AlignmentRecord]:
    """Choose at most ``most`` pairs, evenly spread over the file: pairs 0, 2 and 4 for three of six."""
    step = max(1.0, len(pairs) / most)
    return [pairs[int(i * step)] for i in range(min(most, len(pairs)))]


def worst_pairs(pairs: Sequence[AlignmentRecord], most: int) -> list[AlignmentRecord]:
    """Choose at most ``most`` pairs that have words on both sides, the worst first.

    1. The pair with the most wrong and missed links is the worst.
    2. Among equals, such as pairs without gold links, the pair with the lowest score is worse. Pairs without a score
       come last.
    3. Otherwise pairs keep the order of the file.
    """

    def badness(pair: AlignmentRecord) -> tuple[int, float]:
        # A score is at most 1, so -1 stands behind all scores.
        return pair.errors, -1.0 if pair.score is None else 1.0 - pair.score

    with_words = [pair for pair in pairs if pair.src and pair.tgt]
    return sorted(with_words, key=badness, reverse=True)[:most]


def _sentence_view(
    name: str,
    words: Sequence[str],
    translation: Sequence[str],
    language: str,
    links: Mapping[tuple[int, int], LinkClass],
) -> SentenceView:
    """Describe the words of a sentence for the page.

    ``links``: Class by position in this sentence and position in the translation.
    """
    views = []
    for position, word in enumerate(words):
        linked = [(j, link_class) for (i, j), link_class in links.items() if i == position]
        classes = {link_class for _, link_class in linked}
        worst = next((link_class for link_class in _WORST_FIRST if link_class in classes), "")
        coded = " ".join(f"{j}:{link_class}" for j, link_class in linked)
        spoken = [f"{translation[j]} ({KEYS[link_class][1]})" for j, link_class in linked]
        views.append(Word(word, coded, worst, f"{word}: {'; '.join(spoken) or 'no link'}"))
    return SentenceView(name, views, language, _direction(words, language))


def _direction(words: Sequence[str], language: str) -> Literal["ltr", "rtl"]:
    """Return the direction in which a sentence is written: that of the language, or of the first letter.

    The page needs it, because HTML's ``dir=auto`` does not look into buttons, and words are buttons.
    """
    if language:
        code = language.replace("_", "-").partition("-")[0].lower()
        return "rtl" if code in _RIGHT_TO_LEFT else "ltr"
    for character in "".join(words):
        # Unicode's strong directions are L, R, and AL for Arabic letters; digits and punctuation have none.
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return "ltr" if direction == "L" else "rtl"
    return "ltr"
