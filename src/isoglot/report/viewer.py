"""A viewer of word alignments: pointing at a word, tapping it or moving to it by keyboard lights its links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from isoglot.report.alignment_files import LinkClass, Sentence, quality
from isoglot.report.html import Markup, element, join
from isoglot.report.languages import direction
from isoglot.report.table import Column, Row, Table, TableCell, figure, slug

__all__ = ["KEYS", "alignment_table", "alignment_viewer"]

KEYS: dict[LinkClass, tuple[str, str]] = {
    "sure": ("✓", "found, a sure gold link"),
    "possible": ("○", "found, a possible gold link"),
    "error": ("✗", "found, not in the gold links"),
    "missed": ("…", "sure gold link, not found"),
    "plain": ("–", "found, no gold links to judge by"),
}
"""Sign and meaning of each class; signs tell classes apart without colours."""
_WORST_FIRST: tuple[LinkClass, ...] = ("error", "missed", "possible", "sure", "plain")


def alignment_viewer(title: str, sentences: Sequence[Sentence], *, most: int, number: int) -> Markup:
    """A section with the first ``most`` pairs; its heading counts all of them.

    Args:
        title: heading.
        sentences: of one file.
        most: pairs shown, evenly spread over the file where there are more.
        number: of the viewer on its page, for names of its elements.
    """
    shown = _spread(sentences, most)
    classes = list(dict.fromkeys(c for s in shown for c in s.classes.values()))
    pairs = [_pair(sentence, f"v{number}-{i}") for i, sentence in enumerate(shown)]
    only = None
    if any(sentence.errors for sentence in shown):
        box = element("input", type="checkbox", class_="only-errors")
        only = element("label", box, " only pairs with errors", class_="control")
    hint = (
        "Point at a word, tap it, or move with the arrow keys: its links light up; up and down follow a link."
    )
    return element(
        "section", element("h3", element("bdi", title)),
        element("p", _summary(sentences, shown), class_="caption"),
        element("div", _key(classes), only, class_="viewer-tools"),
        element("p", hint, class_="hint screen"),
        *pairs,
        element("p", "", class_="visually-hidden said", aria_live="polite"),
        class_="viewer", id=f"viewer-{number}",
    )  # fmt: skip


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


def _spread(sentences: Sequence[Sentence], most: int) -> list[Sentence]:
    if len(sentences) <= most:
        return list(sentences)
    return [sentences[i * len(sentences) // most] for i in range(most)]


def _summary(sentences: Sequence[Sentence], shown: Sequence[Sentence]) -> str:
    found = quality(sentences)
    count = f"{len(sentences):,} pairs" + (
        "" if len(shown) == len(sentences) else f", {len(shown)} of them shown"
    )
    if found is None:
        return f"{count}."
    scores = f"precision {figure(found.precision)}, recall {figure(found.recall)}, AER {figure(found.aer)}"
    return f"{count}; over all pairs {scores} (percent)."


def _key(classes: Sequence[LinkClass]) -> Markup:
    items = []
    for kind, (sign, meaning) in KEYS.items():
        if kind in classes:
            line = element("line", x1=1, x2=27, y1=7, y2=7, class_=f"link l-{kind}")
            key = element("svg", line, viewBox="0 0 28 14", class_="key", aria_hidden="true")
            items.append(
                element("li", key, element("span", sign, class_="sign", aria_hidden="true"), f" {meaning}")
            )
    return element("ul", *items, class_="legend")


def _pair(sentence: Sentence, name: str) -> Markup:
    pair = sentence.pair
    by_source: dict[int, list[tuple[int, LinkClass]]] = defaultdict(list)
    by_target: dict[int, list[tuple[int, LinkClass]]] = defaultdict(list)
    for (i, j), kind in sentence.classes.items():
        by_source[i].append((j, kind))
        by_target[j].append((i, kind))
    heading = element("p", element("bdi", str(pair.id)), class_="pair-id") if pair.id != "" else None
    said = [
        element(
            "li",
            element("bdi", pair.src[i]),
            " – ",
            element("bdi", pair.tgt[j]),
            f" {KEYS[kind][0]}",
            class_=f"t-{kind}",
        )
        for (i, j), kind in sentence.classes.items()
    ]
    links = element(
        "details", element("summary", f"{len(said)} links as text"), element("ul", *said), class_="links"
    )
    return element(
        "div", heading,
        element("svg", class_="wires", aria_hidden="true"),
        element(
            "div", _words(pair.src, by_source, pair.tgt, pair.src_language, "source"),
            _words(pair.tgt, by_target, pair.src, pair.tgt_language, "target"), class_="pair-words",
        ),
        links if said else element("p", "No links.", class_="hint"),
        class_="pair-view", id=name, data_errors=str(sentence.errors),
    )  # fmt: skip


def _words(
    words: Sequence[str],
    links: dict[int, list[tuple[int, LinkClass]]],
    others: Sequence[str],
    language: str,
    side: str,
) -> Markup:
    """One side; the first word can be tabbed to, the arrow keys reach the others."""
    parts = []
    for place, word in enumerate(words):
        found = links.get(place, [])
        label = "; ".join(f"{others[other]} ({KEYS[kind][1]})" for other, kind in found) or "no link"
        kinds = {kind for _, kind in found}
        worst = next((kind for kind in _WORST_FIRST if kind in kinds), None)
        parts.append(
            element(
                "button",
                word,
                type="button",
                class_="w u" if worst is None else f"w u-{worst}",
                data_links=" ".join(f"{other}:{kind}" for other, kind in found),
                tabindex="0" if place == 0 else "-1",
                aria_label=f"{word}: {label}",
            )
        )
    return element(
        "p", join(part for word in parts for part in (word, " ")), class_=f"words {side}",
        dir=_direction(language, words), lang=language or None, role="group", aria_label=f"{side} sentence",
    )  # fmt: skip


def _direction(language: str, words: Sequence[str]) -> str:
    """Of the language, or of the first strong letter: ``dir=auto`` would not look into buttons."""
    if language:
        return direction(language)
    import unicodedata  # noqa: PLC0415

    for letter in "".join(words):
        kind = unicodedata.bidirectional(letter)
        if kind in ("R", "AL"):
            return "rtl"
        if kind == "L":
            return "ltr"
    return "ltr"
