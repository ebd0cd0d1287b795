"""Word alignments to look at: one sentence pair a line of JSON, with gold links where there are any.

In the page's viewer, pointing at a word, tapping it or moving to it by keyboard lights its links.
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
from isoglot.reports.table import shown_number
from isoglot.results.link_counts import AlignmentScore
from isoglot.runs.json_lines import parse_object, read_records

LinkClass = Literal["sure", "possible", "error", "missed", "plain"]
"""A link in the gold's sure links, in its possible ones, in neither; a sure one not found; one without gold."""

KEYS: Mapping[LinkClass, tuple[str, str]] = {
    "sure": ("✓", "found, a sure gold link"),
    "possible": ("○", "found, a possible gold link"),
    "error": ("✗", "found, not in the gold links"),
    "missed": ("…", "sure gold link, not found"),
    "plain": ("–", "found, no gold links to judge by"),
}
"""Sign and meaning of each class; signs tell classes apart without colours."""
_RIGHT_TO_LEFT = frozenset(["ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"])
"""ISO 639 codes of languages written from right to left."""
_WORST_FIRST: tuple[LinkClass, ...] = ("error", "missed", "possible", "sure", "plain")


_Position = Annotated[int, Field(ge=0)]
_Links = Annotated[
    list[tuple[_Position, _Position]],
    BeforeValidator(lambda v: [link.split("-") for link in v.split()] if isinstance(v, str) else v),
]


class AlignmentRecord(BaseModel):
    """One line of the file: words, and links as 0-based pairs or as Pharaoh text.

    With neither list of gold links, links are shown without judgement; possible ones need not repeat the sure ones.
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
        size = (len(self.src), len(self.tgt))
        for name, links in (("links", self.links), ("sure", self.sure), ("possible", self.possible)):
            outside = [link for link in links or [] if link[0] >= size[0] or link[1] >= size[1]]
            if outside:
                raise ValueError(
                    f"{name} has {list(outside[0])}, and there are {size[0]} source and {size[1]} target words; "
                    "links count words from 0, source first"
                )
        return self

    @cached_property
    def classes(self) -> dict[tuple[int, int], LinkClass]:
        """Class of each link; missed sure ones are among them."""
        links, sure, possible = set(self.links), set(self.sure or ()), set(self.possible or ())
        if self.sure is None and self.possible is None:
            return dict.fromkeys(sorted(links), "plain")
        classes: dict[tuple[int, int], LinkClass] = {}
        for link in sorted(links | sure):
            if link not in links:
                classes[link] = "missed"
            else:
                classes[link] = "sure" if link in sure else "possible" if link in possible else "error"
        return classes

    @property
    def errors(self) -> int:
        """How many links are wrong or missed."""
        return sum(c in ("error", "missed") for c in self.classes.values())


def holds_alignments(path: Path) -> bool:
    """Whether a file has sentence pairs with links, as ``align --format jsonl`` and then ``filter`` write them."""
    if path.suffix != ".jsonl":
        return False
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    names = set(parse_object(first, path=path, line=1)) if first.startswith("{") else set()
    return {"src", "tgt"} <= names or {"source_words", "target_words", "links"} <= names


def read_alignments(path: str | Path, gold: Path | None = None) -> list[AlignmentRecord]:
    """The pairs of a file, judged by the links of a file of gold links where there is one.

    Pairs match by their ids where both files have them, else by their place.
    """
    records = read_records(Path(path), AlignmentRecord, what="sentence pair", wrong="no aligned pair")
    if gold is None:
        return records
    pairs = [right for _, right in matched(LinkReader(path), LinkReader(gold, gold=True))]
    judged = (
        {**record.model_dump(), "sure": sorted(links.sure or ()), "possible": sorted(links.possible)}
        for record, links in zip(records, pairs, strict=True)
    )
    try:
        return [AlignmentRecord.model_validate(record) for record in judged]
    except ValidationError as error:
        raise InputError(
            f"{problems_of(error)[0]}; give the gold links of these sentences", path=gold
        ) from error


def quality(pairs: Sequence[AlignmentRecord]) -> AlignmentScore | None:
    """Scores over the pairs that have gold links; ``None`` where none has a sure one."""
    kinds = Counter(kind for pair in pairs for kind in pair.classes.values())
    right, sure = kinds["sure"] + kinds["possible"], kinds["sure"] + kinds["missed"]
    return AlignmentScore(right + kinds["error"], sure, kinds["sure"], right) if sure else None


class Word(NamedTuple):
    """A word with its links."""

    text: str
    links: str  # place in the other sentence and class of each, as the page's script reads them: `0:sure 2:error`
    worst: str
    label: str


class SentenceView(NamedTuple):
    """The ``source`` or ``target`` of a pair."""

    name: str
    words: Sequence[Word]
    language: str
    direction: str


class Viewer:
    """What the page shows of one file: at most ``most`` pairs.

    They are evenly spread over the file; with ``worst`` they are those with the most wrong and missed links, or without
    gold links those of the lowest score, the worst first.
    """

    def __init__(
        self, title: str, pairs: Sequence[AlignmentRecord], *, most: int, worst: bool = False
    ) -> None:
        self.title, self.pairs = title, pairs
        if worst:
            linkable = [pair for pair in pairs if pair.src and pair.tgt]
            # among equals, those whose score is far below 1
            scores = {id(pair): -1.0 if pair.score is None else 1.0 - pair.score for pair in linkable}
            linkable.sort(key=lambda pair: (pair.errors, scores[id(pair)]), reverse=True)
            self.sample, how = linkable[:most], "the {} worst shown"
        else:
            step = max(1.0, len(pairs) / most)
            self.sample = [pairs[int(i * step)] for i in range(min(most, len(pairs)))]
            how = "{} of them shown"
        self._count = f"{len(pairs):,} pair{'s' * (len(pairs) != 1)}"
        if len(self.sample) < len(pairs):
            self._count += f", {how.format(len(self.sample))}"

    @property
    def keys(self) -> list[tuple[LinkClass, str, str]]:
        """Class, sign and meaning of the links shown."""
        kinds = {kind for pair in self.sample for kind in pair.classes.values()}
        return [(kind, *KEYS[kind]) for kind in KEYS if kind in kinds]

    @property
    def summary(self) -> str:
        """How many pairs, and their scores against gold links; over all of the file."""
        score = quality(self.pairs)
        if score is None:
            return f"{self._count}."
        precision, recall, aer = (shown_number(part) for part in (score.precision, score.recall, score.aer))
        return f"{self._count}; over all pairs precision {precision}, recall {recall}, AER {aer} (percent)."

    def sides(self, pair: AlignmentRecord) -> list[SentenceView]:
        """Source and target of a pair."""
        turned = {(j, i): kind for (i, j), kind in pair.classes.items()}
        return [
            _side("source", pair.src, pair.tgt, pair.src_language, pair.classes),
            _side("target", pair.tgt, pair.src, pair.tgt_language, turned),
        ]


def _side(
    name: str,
    words: Sequence[str],
    translation: Sequence[str],
    language: str,
    links: Mapping[tuple[int, int], LinkClass],
) -> SentenceView:
    views = []
    for position, word in enumerate(words):
        linked = [(j, kind) for (i, j), kind in links.items() if i == position]
        kinds = {kind for _, kind in linked}
        label = "; ".join(f"{translation[j]} ({KEYS[kind][1]})" for j, kind in linked) or "no link"
        coded = " ".join(f"{j}:{kind}" for j, kind in linked)
        views.append(Word(word, coded, next((k for k in _WORST_FIRST if k in kinds), ""), f"{word}: {label}"))
    rightwards = language.replace("_", "-").partition("-")[0].lower() not in _RIGHT_TO_LEFT
    if not language:  # of the first strong letter: ``dir=auto`` would not look into buttons
        strong = (unicodedata.bidirectional(letter) for letter in "".join(words))
        rightwards = next((kind for kind in strong if kind in ("L", "R", "AL")), "L") == "L"
    return SentenceView(name, views, language, "ltr" if rightwards else "rtl")
