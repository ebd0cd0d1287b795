"""The papers' figures drawn from figure files, each with its data as a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from isoglot.report.figure_files import EmbeddingMap, Figure, Lines, LineSeries, MapPanel, MapPoint, Scatter
from isoglot.report.html import Markup, element, join
from isoglot.report.languages import language_name
from isoglot.report.stats import rank_correlation
from isoglot.report.svg import SERIES, Axis, Frame, legend, marker, nice_ticks
from isoglot.report.table import Column, Row, Table, TableCell, slug

__all__ = ["Drawn", "draw", "series_numbers"]

_LETTER, _LINE_HEIGHT = 7.0, 12.0
_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Drawn:
    """A figure ready for the page.

    Args:
        title: heading.
        body: charts with their legend.
        caption: what is seen.
        data: the numbers.
        wide: takes the page's whole width.
    """

    title: str
    body: Markup
    caption: str
    data: Table
    wide: bool = False


def draw(figure: Figure, *, runs: Sequence[str] = ()) -> Drawn:
    """Charts, caption and data of a figure.

    Args:
        figure: to draw.
        runs: of the whole report: a series called by a run's name has the same colour and shape in all its figures.
    """
    if isinstance(figure, EmbeddingMap):
        return _draw_map(figure)
    if isinstance(figure, Scatter):
        return _draw_scatter(figure, runs)
    return _draw_lines(figure, runs)


def series_numbers(labels: Sequence[str], runs: Sequence[str]) -> list[int]:
    """Numbers of colours and shapes: a run's own, where it is one; the others get those that are left.

    Example:
        >>> series_numbers(["weam (3 runs)", "other"], ["mlm", "weam"])
        [1, 0]
    """
    own = [re.sub(r" \(\d+ runs\)$", "", label) for label in labels]
    taken = {runs.index(label) for label in own if label in runs}
    free = (number for number in count() if number not in taken)
    return [runs.index(label) if label in runs else next(free) for label in own]


def _draw_lines(figure: Lines, runs: Sequence[str]) -> Drawn:
    xs = [x for s in figure.series for x in s.x]
    bands = [s.sd or [0.0] * len(s.y) for s in figure.series]
    ends = [
        (y - e, y + e)
        for s, band in zip(figure.series, bands, strict=True)
        for y, e in zip(s.y, band, strict=True)
    ]
    whole = figure.kind == "layers" or all(float(x).is_integer() for x in xs)
    ticks = nice_ticks(min(xs), max(xs), 7, whole=whole)
    ticks = [min(xs) if len(set(xs)) > 1 and figure.kind == "layers" else ticks[0], *ticks[1:]]
    y_ticks = nice_ticks(min(low for low, _ in ends), max(high for _, high in ends))
    frame = Frame(Axis(figure.x_label, ticks), Axis(figure.y_label, y_ticks))
    best = []
    numbers = series_numbers([s.label for s in figure.series], runs)
    for number, series in zip(numbers, figure.series, strict=True):
        frame.add(*_line(frame, number, series, points=figure.kind == "layers" or len(series.x) <= 16))
        if figure.better is not None:
            pick: Callable[..., tuple[float, float]] = min if figure.better == "lower" else max
            y, x = pick(zip(series.y, series.x, strict=True))
            text = f"{series.label}: {y:.2f} at {figure.x_label.partition(' (')[0]} {x:g}"
            best.append(text)
            frame.add(marker(number, frame.px(x), frame.py(y), title=text, strong=True))
    caption = figure.note + (f" Best: {'; '.join(best)}." if best else "")
    shown = legend([s.label for s in figure.series], lines=True, numbers=numbers)
    body = join([frame.svg(figure.title, caption), shown])
    return Drawn(figure.title, body, caption.strip(), _lines_table(figure))


def _line(frame: Frame, number: int, series: LineSeries, *, points: bool) -> list[Markup]:
    colour = f"c{number % SERIES} d{number // SERIES % 3}"
    places = [(frame.px(x), frame.py(y)) for x, y in zip(series.x, series.y, strict=True)]
    parts = []
    if series.sd is not None:
        up = [(frame.px(x), frame.py(y + e)) for x, y, e in zip(series.x, series.y, series.sd, strict=True)]
        down = [(frame.px(x), frame.py(y - e)) for x, y, e in zip(series.x, series.y, series.sd, strict=True)]
        parts.append(element("polygon", points=_path([*up, *reversed(down)]), class_=f"band {colour}"))
    parts.append(element("polyline", points=_path(places), class_=f"line {colour}"))
    if points:
        for (px, py), x, y in zip(places, series.x, series.y, strict=True):
            parts.append(marker(number, px, py, size=3.2, title=f"{series.label}: {y:.4g} at {x:g}"))
    return parts


def _lines_table(figure: Lines) -> Table:
    xs = sorted({x for series in figure.series for x in series.x})
    columns = [Column(series.label or figure.y_label) for series in figure.series]
    table = Table(slug([figure.title]), figure.title, figure.y_label, figure.x_label, columns)
    values = [dict(zip(s.x, s.y, strict=True)) for s in figure.series]
    spreads = [dict(zip(s.x, s.sd or [], strict=s.sd is not None)) for s in figure.series]
    for x in xs:
        cells = [
            TableCell(f"{v[x]:.4g}".replace("-", "−"), v[x], e.get(x)) if x in v else TableCell("–")
            for v, e in zip(values, spreads, strict=True)
        ]
        table.rows.append(Row(f"{x:g}", tuple(cells), "plain"))
    return table


def _draw_scatter(figure: Scatter, runs: Sequence[str]) -> Drawn:
    groups = list(dict.fromkeys(point.group for point in figure.points))
    numbers = series_numbers(groups, runs)
    xs, ys = [p.x for p in figure.points], [p.y for p in figure.points]
    frame = Frame(
        Axis(figure.x_label, nice_ticks(min(xs), max(xs))), Axis(figure.y_label, nice_ticks(min(ys), max(ys)))
    )
    for point in figure.points:
        name = ", ".join(part for part in (point.group, point.label) if part)
        title = f"{name}: {point.x:g}, {point.y:g}".replace("-", "−")
        frame.add(
            marker(
                numbers[groups.index(point.group)], frame.px(point.x), frame.py(point.y), size=5, title=title
            )
        )
    said = _correlations(figure, groups)
    columns = [Column("group"), Column(figure.x_label), Column(figure.y_label)]
    table = Table(slug([figure.title]), figure.title, said, "point", columns)
    for p in figure.points:
        cells = (TableCell(p.group), TableCell(f"{p.x:.4g}", p.x), TableCell(f"{p.y:.4g}", p.y))
        table.rows.append(Row(p.label, cells, "plain"))
    body = join([frame.svg(figure.title, said), legend(groups, lines=False, numbers=numbers)])
    return Drawn(figure.title, body, f"{said} {figure.note}".strip(), table)


def _correlations(figure: Scatter, groups: Sequence[str]) -> str:
    """Spearman's ρ of all points, or of each group's."""
    sign = 1 if figure.correlate == "y" else -1
    parts = []
    for group in groups if figure.each_group else [None]:
        own = [p for p in figure.points if group is None or p.group == group]
        found = rank_correlation([p.x for p in own], [sign * p.y for p in own])
        said = "too few points for a rank correlation" if found is None else str(found)
        parts.append(said if group is None else f"{group}: {said}")
    of = f", of {figure.x_label} with the negated {figure.y_label}" if sign < 0 else ""
    text = "; ".join(parts) + (of if any("ρ" in part for part in parts) else "")
    return f"{text[0].upper()}{text[1:]}."


def _draw_map(figure: EmbeddingMap) -> Drawn:
    languages = list(dict.fromkeys(point.language for panel in figure.panels for point in panel.points))
    panels = [
        element(
            "div", element("p", panel.title, class_="panel-title"), _panel(panel, languages), class_="panel"
        )
        for panel in figure.panels
    ]
    names = [language_name(language) if language else "" for language in languages]
    body = join([element("div", *panels, class_="panels"), legend(names, lines=False)])
    columns = [Column("word"), Column("language"), Column("x"), Column("y"), Column("joined with")]
    table = Table(
        slug([figure.title]), figure.title, figure.note or "Places after projection", "panel", columns
    )
    for panel in figure.panels:
        partners = {i: [] for i in range(len(panel.points))}  # type: dict[int, list[str]]
        for i, j in panel.pairs:
            partners[i].append(panel.points[j].word)
            partners[j].append(panel.points[i].word)
        for i, p in enumerate(panel.points):
            places = (TableCell(f"{p.x:.2f}", p.x), TableCell(f"{p.y:.2f}", p.y))
            cells = (TableCell(p.word), TableCell(p.language), *places, TableCell(", ".join(partners[i])))
            table.rows.append(Row(panel.title, cells, "plain"))
    joined = (
        "Dotted lines join words that are translations of each other."
        if any(p.pairs for p in figure.panels)
        else ""
    )
    return Drawn(figure.title, body, f"{joined} {figure.note}".strip(), table, wide=len(figure.panels) > 1)


def _panel(panel: MapPanel, languages: Sequence[str]) -> Markup:
    """One projection without ticks, for its axes mean nothing; labels are put where they hide least."""
    width, height, margin = 440.0, 380.0, 34.0
    xs, ys = [p.x for p in panel.points], [p.y for p in panel.points]
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    places = [
        (margin + (p.x - min(xs)) / wide * (width - 2 * margin),
         height - margin - (p.y - min(ys)) / high * (height - 2 * margin))
        for p in panel.points
    ]  # fmt: skip
    parts = [element("rect", x=1, y=1, width=width - 2, height=height - 2, rx=6, class_="frame")]
    for i, j in panel.pairs:
        (x1, y1), (x2, y2) = places[i], places[j]
        title = element("title", f"{panel.points[i].word} – {panel.points[j].word}")
        parts.append(element("line", title, x1=x1, y1=y1, x2=x2, y2=y2, class_="pair"))
    for point, (x, y) in zip(panel.points, places, strict=True):
        named = f"{point.word} ({language_name(point.language)})" if point.language else point.word
        parts.append(marker(languages.index(point.language), x, y, title=named))
    parts += _labels(panel.points, places, width, height)
    count = f"{len(panel.points)} words, {len(panel.pairs)} pairs joined"
    return element(
        "svg", element("title", f"{panel.title}: {count}"), *parts,
        viewBox=f"0 0 {width:g} {height:g}", role="img", class_="chart", aria_label=f"{panel.title}: {count}",
    )  # fmt: skip


def _labels(
    points: Sequence[MapPoint], places: Sequence[tuple[float, float]], width: float, height: float
) -> list[Markup]:
    """Words beside their points; each takes the one of eight places that overlaps the least with what is there."""
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    parts = []
    for point, (x, y) in zip(points, places, strict=True):
        long = _LETTER * sum(2 if ord(c) > 0x2E80 else 1 for c in point.word)
        around = [(7, 4), (-7 - long, 4), (-long / 2, -8), (-long / 2, 17)]
        around += [(6, -6), (6, 14), (-6 - long, -6), (-6 - long, 14)]
        boxes = [(x + dx, y + dy - _LINE_HEIGHT + 2, x + dx + long, y + dy + 2) for dx, dy in around]

        def cost(box: _Box) -> float:
            outside = box[0] < 2 or box[1] < 2 or box[2] > width - 2 or box[3] > height - 2
            return sum(_overlap(box, other) for other in taken) + (1e4 if outside else 0)

        box = min(boxes, key=cost)
        taken.append(box)
        middle = (box[0] + box[2]) / 2
        language = point.language or None
        parts.append(
            element(
                "text", point.word, x=middle, y=box[3] - 2, text_anchor="middle", class_="word", lang=language
            )
        )
    return parts


def _overlap(a: _Box, b: _Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
