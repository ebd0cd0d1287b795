"""A viewer of word alignments: pointing at a word, tapping it or moving to it by keyboard lights its links."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isoglot.report.alignment_files import LinkClass, Sentence, quality
from isoglot.report.languages import direction
from isoglot.report.table import Column, Row, Table, TableCell, figure, slug

KEYS: Mapping[LinkClass, tuple[str, str]] = {
    "sure": ("✓", "found, a sure gold link"),
    "possible": ("○", "found, a possible gold link"),
    "error": ("✗", "found, not in the gold links"),
    "missed": ("…", "sure gold link, not found"),
    "plain": ("–", "found, no gold links to judge by"),
}
"""Sign and meaning of each class; signs tell classes apart without colours."""
_WORST_FIRST: tuple[LinkClass, ...] = ("error", "missed", "possible", "sure", "plain")


@dataclass(frozen=True)
class Word:
    """A word with its links.

    Args:
        links: place in the other sentence and class of each, as the page's script reads them (``0:sure 2:error``).
    """

    text: str
    links: str
    worst: str
    label: str


@dataclass(frozen=True)
class Side:
    """One sentence of a pair: ``source`` or ``target``."""

    name: str
    words: Sequence[Word]
    language: str
    direction: str


class Viewer:
    """What the page shows of one file of aligned pairs.

    Args:
        most: pairs shown, evenly spread over the file where there are more.
    """

    def __init__(self, title: str, sentences: Sequence[Sentence], *, most: int) -> None:
        self.title, self.sentences = title, sentences
        step = max(1.0, len(sentences) / most)
        self.shown = [sentences[int(i * step)] for i in range(min(most, len(sentences)))]

    @property
    def keys(self) -> list[tuple[LinkClass, str, str]]:
        """Class, sign and meaning of the links shown."""
        there = {kind for sentence in self.shown for kind in sentence.classes.values()}
        return [(kind, *KEYS[kind]) for kind in KEYS if kind in there]

    @property
    def has_errors(self) -> bool:
        """Whether there is any link to filter by."""
        return any(sentence.errors for sentence in self.shown)

    @property
    def summary(self) -> str:
        """How many pairs, and their scores against gold links; over all of the file."""
        count = f"{len(self.sentences):,} pair{'s' * (len(self.sentences) != 1)}"
        if len(self.shown) < len(self.sentences):
            count += f", {len(self.shown)} of them shown"
        found = quality(self.sentences)
        if found is None:
            return f"{count}."
        scores = (
            f"precision {figure(found.precision)}, recall {figure(found.recall)}, AER {figure(found.aer)}"
        )
        return f"{count}; over all pairs {scores} (percent)."

    def sides(self, sentence: Sentence) -> list[Side]:
        """Source and target of a pair."""
        pair = sentence.pair
        turned = {(j, i): kind for (i, j), kind in sentence.classes.items()}
        return [
            _side("source", pair.src, pair.tgt, pair.src_language, sentence.classes),
            _side("target", pair.tgt, pair.src, pair.tgt_language, turned),
        ]


def alignment_table(title: str, sentences: Sequence[Sentence]) -> Table:
    """All links of a file as a table, for export."""
    columns = [Column(name) for name in ("source position", "target position", "source", "target", "class")]
    table = Table(slug(["links", title]), f"Links: {title}", "Positions count from 0.", "pair", columns)
    for number, sentence in enumerate(sentences, 1):
        for (i, j), kind in sentence.classes.items():
            words = (TableCell(sentence.pair.src[i]), TableCell(sentence.pair.tgt[j]))
            cells = (TableCell(str(i), float(i)), TableCell(str(j), float(j)), *words, TableCell(kind))
            table.rows.append(Row(str(sentence.pair.id or number), cells, "plain"))
    return table


def _side(
    name: str,
    words: Sequence[str],
    others: Sequence[str],
    language: str,
    links: Mapping[tuple[int, int], LinkClass],
) -> Side:
    shown = []
    for place, word in enumerate(words):
        found = [(j, kind) for (i, j), kind in links.items() if i == place]
        kinds = {kind for _, kind in found}
        label = "; ".join(f"{others[j]} ({KEYS[kind][1]})" for j, kind in found) or "no link"
        coded = " ".join(f"{j}:{kind}" for j, kind in found)
        shown.append(Word(word, coded, next((k for k in _WORST_FIRST if k in kinds), ""), f"{word}: {label}"))
    return Side(name, shown, language, _direction(language, words))


def _direction(language: str, words: Sequence[str]) -> str:
    """Of the language, or of the first strong letter: ``dir=auto`` would not look into buttons."""
    if language:
        return direction(language)
    kinds = (unicodedata.bidirectional(letter) for letter in "".join(words))
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"
