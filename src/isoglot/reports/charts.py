"""Draw figures as charts, each with its data as a table.

    figure (Lines, Scatter, Bars, EmbeddingMap) ──> rows, one for each mark ──> Altair chart ──> SVG (``svg.py``)
                                          └──────> Table of its numbers

``draw`` is the way in. Altair describes the charts and vl-convert draws them once, as SVG in the page: no script runs,
so a page is 20 kB per chart rather than 1 MB (Vega's JavaScript) or 5 MB (plotly's), prints, and keeps its strict
content security policy. Vega escapes every text, labels every point for screen readers, takes colours as CSS variables
(one set per theme), and knows fonts of all scripts; matplotlib's SVG has inline styles and warns of each letter that no
font has.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import altair as alt
from markupsafe import Markup

from isoglot.reports.figure_files import (
    Bars,
    EmbeddingMap,
    Lines,
    LineSeries,
    MapPanel,
    ReportFigure,
    Scatter,
)
from isoglot.reports.stats import rank_correlation
from isoglot.reports.svg import WIDTH, sized, svg_of
from isoglot.reports.table import Table, TableCell

_COLOURS = 7
"""Colours of the Okabe–Ito palette (``--c0`` to ``--c6`` of the style sheet); then they repeat with another dash."""
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down")
_DASHES = ([1, 0], [6, 4], [2, 3])
_HEIGHT, _MAP_HEIGHT, _MARGIN = 240.0, 370.0, 34.0
_FEW = 16
"""Lines of at most this many values have a point at each."""
_SIDE_STEP = 0.014
"""Share of the axis between the bars of two lines at one place."""
# Vega's expression language: 25000 is labelled 25k.
_THOUSANDS = "datum.value >= 10000 ? datum.value / 1000 + 'k' : datum.label"
_LETTER_WIDTH = 7.0
"""Pixels of an average letter of the legend."""


@dataclass(frozen=True)
class Chart:
    """A figure ready for the page."""

    title: str
    panels: Sequence[tuple[str, Markup]]
    caption: str
    data: Table
    altair: Sequence[Any]  # each panel's chart

    @property
    def wide(self) -> bool:
        """Whether the chart takes the page's whole width."""
        return len(self.panels) > 1


def draw(figure: ReportFigure, *, runs: Sequence[str] = ()) -> Chart:
    """Draw a figure: its charts, its caption and its data as a table.

    A series with the name of one of the report's ``runs`` has the same colour and shape in all its figures.
    """
    if isinstance(figure, EmbeddingMap):
        return _draw_map(figure)
    if isinstance(figure, Scatter):
        return _draw_scatter(figure, runs)
    if isinstance(figure, Bars):
        return _draw_bars(figure, runs)
    return _draw_lines(figure, runs)


def series_numbers(labels: Sequence[str], runs: Sequence[str]) -> list[int]:
    """Number the colours and shapes: a run's place in ``runs``; any other series gets a number after them.

    Example:
        >>> series_numbers(["weam (3 runs)", "other"], ["mlm", "weam"])
        [1, 2]
    """
    names = [re.sub(r" \(\d+ runs\)$", "", label) for label in labels]
    order = list(dict.fromkeys([*runs, *names]))
    return [order.index(name) for name in names]


def _draw_lines(figure: Lines, runs: Sequence[str]) -> Chart:
    """Draw lines with their points; seeds are bars (intervals) or a band (deviations), the best points are larger."""
    labels = list(dict.fromkeys(series.label or "other" for series in figure.series))
    rows: list[dict[str, Any]] = []
    for number, series in enumerate(figure.series):
        rows += _line_rows(number, series, figure)
    look = _look(labels, series_numbers(labels, runs), lines=True)
    has_bars = any(series.interval is not None for series in figure.series)
    x = _x_of_lines(figure, [row["at"] for row in rows])
    # The lines and the ends of bars share one axis, which must reach to the ends of all bars.
    ends = [row[end] for row in rows for end in ("low", "high")]
    y, low = _axis("y", figure.y_label, ends), _axis("low", figure.y_label, ends)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, detail="line:N", color=look["color"])
    # Layers from the back to the front: bars or bands, lines, ends of bars, points.
    layers = [base.mark_line(strokeWidth=2).encode(y=y, strokeDash=look["strokeDash"])]
    if has_bars:
        layers.insert(0, base.mark_rule(strokeWidth=1.5, opacity=0.7).encode(y=low, y2="high:Q"))
        ticks = base.transform_filter("datum.high > datum.low").mark_tick(
            orient="horizontal", thickness=1.5, size=9, opacity=0.7
        )
        layers += [ticks.encode(y=low), ticks.encode(y=alt.Y("high:Q", title=figure.y_label))]
    elif any(series.sd is not None for series in figure.series):
        layers.insert(0, base.mark_area(opacity=0.15).encode(y=low, y2="high:Q"))
    size = alt.condition("datum.best", alt.value(110), alt.value(36))
    points = base.encode(y=y, shape=look["shape"], size=size, description="tip:N")
    layers.append(points.transform_filter("datum.point || datum.best").mark_point(filled=True, opacity=1))
    caption = figure.note
    best = [row["tip"] for row in rows if row["best"]]
    if best:
        caption += f" Best: {'; '.join(best)}."
    chart = sized(alt.layer(*layers), _HEIGHT)
    svg = svg_of(chart, figure.title)
    return Chart(figure.title, [("", svg)], caption.strip(), _lines_table(figure), [chart])


def _lines_table(figure: Lines) -> Table:
    """List the values of a chart: a row for each place along the axis, a column for each line."""
    columns: list[dict[float, TableCell]] = []
    for series in figure.series:
        column = {}
        for x, y, sd in zip(series.x, series.y, series.sd or repeat(None, len(series.x)), strict=True):
            column[x] = TableCell(_short_number(y), y, sd)
        columns.append(column)
    steps = sorted({x for column in columns for x in column})
    cells = [[f"{x:g}", *(column.get(x, "–") for column in columns)] for x in steps]
    headings = [figure.x_label, *(series.label or figure.y_label for series in figure.series)]
    return Table.listing(figure.title, figure.y_label, headings, cells)


def _short_number(value: float) -> str:
    """Write a number with four significant digits and a true minus sign: ``12.35``, ``−0.5``."""
    return f"{value:.4g}".replace("-", "−")


def _x_of_lines(figure: Lines, places: Sequence[float]) -> Any:
    """Make the x axis of lines.

    1. In the chart of a sweep, whose lines have intervals, and on a logarithmic axis, each value that was tried has a
       tick; above 16 values Vega chooses. The axis reaches from the first of ``places``, where points are drawn, to the
       last: points with bars stand beside the value that was tried.
    2. Steps of a training and layers are whole numbers, and so are their ticks. There is no half layer.
    3. Other axes are left to Vega.
    """
    steps = sorted({x for series in figure.series for x in series.x})
    if figure.x_scale == "log" or any(series.interval is not None for series in figure.series):  # 1
        ticks = alt.Axis(values=steps, format="~g") if len(steps) <= _FEW else alt.Axis(format="~g")
        scale = alt.Scale(type=figure.x_scale, domain=[min(places), max(places)], nice=False, padding=12)
        return alt.X("at:Q", title=figure.x_label, scale=scale, axis=ticks)
    whole = all(float(x).is_integer() for x in steps)
    axis = alt.Axis(labelExpr=_THOUSANDS) if whole else alt.Axis()
    if whole and len(steps) <= _FEW:  # 2
        axis = alt.Axis(labelExpr=_THOUSANDS, values=steps, format="d")
    return _axis("x", figure.x_label, steps, nice=figure.kind != "layers").axis(axis)


def _beside(figure: Lines, number: int, x: float) -> float:
    """Return the x at which a point with a bar is drawn: bars of several lines stand side by side, not on each other.

    Two lines at 4 in a chart from 4 to 8 are drawn at 3.97 and 4.03.
    """
    steps = [x for series in figure.series for x in series.x]
    shift = (number - (len(figure.series) - 1) / 2) * _SIDE_STEP
    if figure.x_scale == "log":
        return float(x * (max(steps) / min(steps)) ** shift)
    return float(x + shift * (max(steps) - min(steps)))


def _line_rows(number: int, series: LineSeries, figure: Lines) -> list[dict[str, Any]]:
    """The data of a line, a row for each point, under the names that the chart's layers read.

    ``at`` is where a point is drawn along the axis, ``low`` and ``high`` are the ends of its bar or band, ``tip`` is
    shown when pointed at, ``point`` says whether it is drawn besides the line. Of equally good points one is marked:
    the one with the smallest x if lower is better, the one with the largest x if higher is better.
    """
    best = None
    if figure.better is not None:
        points = zip(series.y, series.x, strict=True)
        best = min(points) if figure.better == "lower" else max(points)
    label = series.label or "other"
    axis = figure.x_label.partition(" (")[0]
    never_negative = min(series.y) >= 0  # a share or a loss is never below 0, so its bar must not be either
    spreads = series.interval or series.sd or [None] * len(series.x)
    rows = []
    for x, y, spread in zip(series.x, series.y, spreads, strict=True):
        is_best = (y, x) == best
        half = spread or 0.0
        low = y - half
        rows.append(
            {
                "line": number,
                "series": label,
                "x": x,
                "y": y,
                "best": is_best,
                "tip": f"{label}: {y:.2f} at {axis} {x:g}" if is_best else f"{label}: {y:.4g} at {x:g}",
                "high": y + half,
                "low": max(0.0, low) if never_negative else low,
                "point": figure.kind == "layers" or len(series.x) <= _FEW,
                "at": x if series.interval is None else _beside(figure, number, x),
            }
        )
    return rows


def _axis(field: str, title: str, values: Sequence[float], *, nice: bool = True) -> Any:
    """Make an axis around the values.

    Equal values have no range of their own: around 4 the axis goes from 0 to 5, around 0 from 0 to 1.
    """
    low, high = min(values), max(values)
    if low == high == 0:
        high = 1.0
    elif low == high:
        low, high = min(0.0, 1.25 * low), max(0.0, 1.25 * high)
    channel = alt.X if field == "x" else alt.Y
    return channel(f"{field}:Q", title=title, scale=alt.Scale(domain=[low, high], nice=nice, zero=False))


def _look(labels: Sequence[str], numbers: Sequence[int], *, lines: bool) -> dict[str, Any]:
    """Encode the series by colour, shape and (of lines) dash, with one legend below the chart for all three.

    The series with the number 0 has the first colour, and so on; after seven the colours repeat, with another dash.
    """
    # As many columns as the longest label leaves room for; one series needs no legend.
    longest = max((len(label) for label in labels), default=1)
    columns = int(max(1, min(len(labels), WIDTH // (_LETTER_WIDTH * longest + 36))))
    legend = alt.Legend(title=None, columns=columns, labelLimit=WIDTH - 40) if len(labels) > 1 else None
    values: dict[str, tuple[type, list[Any]]] = {
        "color": (alt.Color, [f"var(--c{n % _COLOURS})" for n in numbers]),
        "shape": (alt.Shape, [_SHAPES[n % len(_SHAPES)] for n in numbers]),
    }
    if lines:
        values["strokeDash"] = (alt.StrokeDash, [_DASHES[n // _COLOURS % len(_DASHES)] for n in numbers])
    encodings = {}
    for name, (channel, looks) in values.items():
        scale = alt.Scale(domain=list(labels), range=looks)
        encodings[name] = channel("series:N", scale=scale, legend=legend)
    return encodings


def _draw_scatter(figure: Scatter, runs: Sequence[str]) -> Chart:
    """Draw points; the caption has Spearman's ρ of all points or of each group."""
    rows: list[dict[str, Any]] = []
    for point in figure.points:
        name = ", ".join(part for part in (point.group, point.label) if part)
        tip = f"{name}: {point.x:g}, {point.y:g}".replace("-", "−")
        rows.append({"x": point.x, "y": point.y, "series": point.group or "other", "tip": tip})
    groups = list(dict.fromkeys(point.group or "other" for point in figure.points))
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            x=_axis("x", figure.x_label, [p.x for p in figure.points]),
            y=_axis("y", figure.y_label, [p.y for p in figure.points]),
            description="tip:N",
            **_look(groups, series_numbers(groups, runs), lines=False),
        )
    )
    correlations = _correlations(figure)
    table = Table.listing(
        figure.title, correlations, ["point", "group", figure.x_label, figure.y_label],
        [[p.label, p.group, *(TableCell(f"{v:.4g}", v) for v in (p.x, p.y))] for p in figure.points],
    )  # fmt: skip
    chart = sized(chart, _HEIGHT)
    svg = svg_of(chart, figure.title)
    return Chart(figure.title, [("", svg)], f"{correlations} {figure.note}".strip(), table, [chart])


def _correlations(figure: Scatter) -> str:
    """Say Spearman's ρ of all points or of each group: ``Spearman ρ = 0.986 (p < 0.001, 12 points)``."""
    sign = 1 if figure.correlate == "y" else -1
    groups: list[str | None] = [None]  # all points
    if figure.each_group:
        groups = list(dict.fromkeys(point.group for point in figure.points))
    parts = []
    for group in groups:
        points = [point for point in figure.points if group is None or point.group == group]
        correlation = rank_correlation([p.x for p in points], [sign * p.y for p in points])
        text = "too few points for a rank correlation" if correlation is None else str(correlation)
        parts.append(text if group is None else f"{group}: {text}")
    sentence = "; ".join(parts)
    if sign < 0 and any("ρ" in part for part in parts):
        sentence += f", of {figure.x_label} with the negated {figure.y_label}"
    # A sentence on groups begins with the name of a group, which keeps its spelling.
    return f"{sentence}." if figure.each_group else f"{sentence[0].upper()}{sentence[1:]}."


def _draw_bars(figure: Bars, runs: Sequence[str]) -> Chart:
    """Draw groups of bars, one bar for each series in a group; one chart for each panel."""
    groups = list(dict.fromkeys(bar.group for bar in figure.bars))
    series = list(dict.fromkeys(bar.series for bar in figure.bars))
    # All panels share the colours and the axis.
    colour = _look(series, series_numbers(series, runs), lines=False)["color"]
    y = _axis("y", figure.y_label, [0, *(bar.value for bar in figure.bars)])
    x = alt.X("x:N", title=None, sort=groups, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("series:N", sort=series)
    panels, charts = [], []
    listed: list[list[str | TableCell]] = []
    for panel in dict.fromkeys(bar.panel for bar in figure.bars):
        values = {(bar.series, bar.group): bar.value for bar in figure.bars if bar.panel == panel}
        texts = {place: _short_number(value) for place, value in values.items()}
        rows = []
        for (name, group), value in values.items():
            tip = f"{name}, {group}: {texts[name, group]}"
            rows.append({"series": name, "x": group, "y": value, "tip": tip})
        bars = alt.Chart(alt.InlineData(values=rows)).mark_bar()
        chart = sized(bars.encode(x=x, xOffset=offset, y=y, description="tip:N", color=colour), _HEIGHT)
        charts.append(chart)
        panels.append((panel, svg_of(chart, f"{figure.title} {panel}".strip())))
        for name in series:
            cells = [TableCell(texts.get((name, group), "–"), values.get((name, group))) for group in groups]
            listed.append([" / ".join(filter(None, (name, panel))), *cells])
    data = Table.listing(figure.title, figure.y_label, ["", *groups], listed)
    return Chart(figure.title, panels, figure.note, data, charts)


def _draw_map(figure: EmbeddingMap) -> Chart:
    """Draw the words of each panel, those of a language in one colour; dotted lines join translations."""
    languages = list(dict.fromkeys(p.language or "other" for panel in figure.panels for p in panel.points))
    panels, charts = [], []
    rows: list[list[str | TableCell]] = []
    for panel in figure.panels:
        chart = _panel(panel, languages)
        about = f"{panel.title}: {len(panel.points)} words, {len(panel.pairs)} pairs joined"
        charts.append(chart)
        panels.append((panel.title, svg_of(chart, about, frame="var(--rule)")))
        # Each point's translations, for the table.
        partners: dict[int, list[str]] = defaultdict(list)
        for i, j in panel.pairs:
            partners[i].append(panel.points[j].word)
            partners[j].append(panel.points[i].word)
        for i, point in enumerate(panel.points):
            coordinates = [TableCell(f"{value:.2f}", value) for value in (point.x, point.y)]
            rows.append([panel.title, point.word, point.language, *coordinates, ", ".join(partners[i])])
    headings = ["panel", "word", "language", "x", "y", "joined with"]
    table = Table.listing(figure.title, figure.note or "Places after projection", headings, rows)
    caption = figure.note
    if any(panel.pairs for panel in figure.panels):
        caption = f"Dotted lines join words that are translations of each other. {caption}"
    return Chart(figure.title, panels, caption.strip(), table, charts)


def _panel(panel: MapPanel, languages: Sequence[str]) -> Any:
    """Draw one projection, without axes because their numbers mean nothing.

    Words of the first of several languages are written to the left of their points, other words to the right, so that
    a word and its translation at nearly the same place do not cover each other.
    """
    points: list[dict[str, Any]] = []
    for point in panel.points:
        name = point.language or "other"
        tip = f"{point.word} ({name})" if point.language else point.word
        is_before_point = len(languages) > 1 and name == languages[0]
        label = {"series": name, "tip": tip, "word": point.word, "is_before_point": is_before_point}
        points.append({"x": point.x, "y": point.y, **label})
    pairs = []
    for i, j in panel.pairs:
        start, end = panel.points[i], panel.points[j]
        tip = f"{start.word} – {end.word}"
        pairs.append({"x": start.x, "y": start.y, "x2": end.x, "y2": end.y, "tip": tip})
    place: dict[str, Any] = {
        "x": alt.X("x:Q", axis=None, scale=_padded([p.x for p in panel.points])),
        "y": alt.Y("y:Q", axis=None, scale=_padded([p.y for p in panel.points])),
    }
    joined = alt.Chart(alt.InlineData(values=pairs)).mark_rule(strokeDash=[2, 3], color="var(--faint)")
    marks = alt.Chart(alt.InlineData(values=points)).mark_point(filled=True, size=60, opacity=1)
    words: Any = alt.Chart(alt.InlineData(values=points)).encode(**place, text="word:N")
    look = {"color": "var(--fg)", "fontSize": 12, "baseline": "middle"}
    chart = alt.layer(
        joined.encode(**place, x2="x2", y2="y2", description="tip:N"),
        marks.encode(**place, description="tip:N", **_look(languages, range(len(languages)), lines=False)),
        # Vega aligns the text's own edge at the point: a word to the right of its point begins there.
        words.transform_filter("!datum.is_before_point").mark_text(**look, align="left", dx=7),
        words.transform_filter("datum.is_before_point").mark_text(**look, align="right", dx=-7),
    )
    return sized(chart, _MAP_HEIGHT)


def _padded(values: Sequence[float]) -> alt.Scale:
    """Make a scale from the lowest value to the highest, with room around them for words."""
    low, high = min(values), max(values)
    return alt.Scale(domain=[low, high if high > low else low + 1], nice=False, zero=False, padding=_MARGIN)
