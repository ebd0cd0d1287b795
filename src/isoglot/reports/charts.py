"""The papers' figures as charts, each with its data as a table.

Altair describes the charts and vl-convert draws them once, as SVG in the page: no script runs, so a page is 20 kB per
chart rather than 1 MB (Vega's JavaScript) or 5 MB (plotly's), prints, and keeps its strict content security policy.
Vega escapes every text, labels every point for screen readers, takes colours as CSS variables (one set per theme),
and knows fonts of all scripts, where matplotlib's SVG has inline styles and warns of each letter it has no font for.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any
from xml.etree import ElementTree

import altair as alt
import vl_convert
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
from isoglot.reports.table import Table, TableCell
from isoglot.runs.xml_text import XmlText

_COLOURS = 7
"""Colours of the Okabe–Ito palette (``--c0`` to ``--c6`` of the style sheet); then they repeat with another dash."""
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down")
_DASHES = ([1, 0], [6, 4], [2, 3])
_WIDTH, _HEIGHT, _MAP_HEIGHT, _MARGIN = 420.0, 240.0, 370.0, 34.0
_FEW = 16
"""Lines of at most this many values have a point at each."""
_SIDE_STEP = 0.014
"""Share of the axis between the bars of two lines at one place."""
_THOUSANDS = "datum.value >= 10000 ? datum.value / 1000 + 'k' : datum.label"
_SVG = "{http://www.w3.org/2000/svg}"
_TAGS = frozenset(
    _SVG + tag for tag in ("svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clipPath")
)
_LETTER = 7.0


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
        """Whether it takes the page's whole width."""
        return len(self.panels) > 1


def draw(figure: ReportFigure, *, runs: Sequence[str] = ()) -> Chart:
    """Charts, caption and data of a figure.

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
    """Numbers of colours and shapes: a run's own, where it is one; the others get those after all runs.

    Example:
        >>> series_numbers(["weam (3 runs)", "other"], ["mlm", "weam"])
        [1, 2]
    """
    names = [re.sub(r" \(\d+ runs\)$", "", label) for label in labels]
    order = list(dict.fromkeys([*runs, *names]))
    return [order.index(name) for name in names]


def _draw_lines(figure: Lines, runs: Sequence[str]) -> Chart:
    labels = list(dict.fromkeys(series.label or "other" for series in figure.series))
    rows = [row for line, series in enumerate(figure.series) for row in _line_rows(line, series, figure)]
    look = _look(labels, series_numbers(labels, runs), lines=True)
    has_bars = any(series.interval is not None for series in figure.series)
    x = _x_of_lines(figure, [row["at"] for row in rows])
    y, low = (
        _axis(name, figure.y_label, [row[end] for row in rows for end in ("low", "high")])
        for name in ("y", "low")
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, detail="line:N", color=look["color"])
    layers = [base.mark_line(strokeWidth=2).encode(y=y, strokeDash=look["strokeDash"])]
    if has_bars:
        layers.insert(0, base.mark_rule(strokeWidth=1.5, opacity=0.7).encode(y=low, y2="high:Q"))
        ends = base.transform_filter("datum.high > datum.low").mark_tick(
            orient="horizontal", thickness=1.5, size=9, opacity=0.7
        )
        layers += [ends.encode(y=low), ends.encode(y=alt.Y("high:Q", title=figure.y_label))]
    elif any(series.sd is not None for series in figure.series):
        layers.insert(0, base.mark_area(opacity=0.15).encode(y=low, y2="high:Q"))
    size = alt.condition("datum.best", alt.value(110), alt.value(36))
    points = base.encode(y=y, shape=look["shape"], size=size, description="tip:N")
    layers.append(points.transform_filter("datum.point || datum.best").mark_point(filled=True, opacity=1))
    best = [row["tip"] for row in rows if row["best"]]
    caption = f"{figure.note} Best: {'; '.join(best)}." if best else figure.note
    chart = _sized(alt.layer(*layers), _HEIGHT)
    svg = _svg(chart, figure.title)
    return Chart(figure.title, [("", svg)], caption.strip(), _lines_table(figure), [chart])


def _lines_table(figure: Lines) -> Table:
    """The values of a chart: a row for each place along the axis, a column for each line."""
    columns = [
        {
            x: TableCell(f"{y:.4g}".replace("-", "−"), y, sd)
            for x, y, sd in zip(s.x, s.y, s.sd or repeat(None, len(s.x)), strict=True)
        }
        for s in figure.series
    ]
    steps = sorted({x for column in columns for x in column})
    cells = [[f"{x:g}", *(column.get(x, "–") for column in columns)] for x in steps]
    headings = [figure.x_label, *(series.label or figure.y_label for series in figure.series)]
    return Table.listing(figure.title, figure.y_label, headings, cells)


def _x_of_lines(figure: Lines, places: Sequence[float]) -> Any:
    """The axis along which lines go: whole steps have whole ticks, and values that were tried a tick each."""
    steps = sorted({x for series in figure.series for x in series.x})
    if any(series.interval is not None for series in figure.series):
        ticks = alt.Axis(values=steps, format="~g") if len(steps) <= _FEW else alt.Axis(format="~g")
        scale = alt.Scale(type=figure.x_scale, domain=[min(places), max(places)], nice=False, padding=12)
        return alt.X("at:Q", title=figure.x_label, scale=scale, axis=ticks)
    whole = all(float(x).is_integer() for x in steps)
    axis = alt.Axis(labelExpr=_THOUSANDS) if whole else alt.Axis()
    if whole and len(steps) <= _FEW:  # no ticks between layers
        axis = alt.Axis(labelExpr=_THOUSANDS, values=steps, format="d")
    return _axis("x", figure.x_label, steps, nice=figure.kind != "layers").axis(axis)


def _beside(figure: Lines, number: int, x: float) -> float:
    """Where a point with a bar is drawn: bars of several lines stand side by side instead of on each other.

    Two lines at 4 in a chart from 4 to 8 are drawn at 3.97 and 4.03.
    """
    steps = [x for series in figure.series for x in series.x]
    shift = (number - (len(figure.series) - 1) / 2) * _SIDE_STEP
    if figure.x_scale == "log":
        return float(x * (max(steps) / min(steps)) ** shift)
    return float(x + shift * (max(steps) - min(steps)))


def _line_rows(number: int, series: LineSeries, figure: Lines) -> Iterator[dict[str, Any]]:
    best = None
    if figure.better is not None:
        best = (min if figure.better == "lower" else max)(zip(series.y, series.x, strict=True))
    floor = 0.0 if min(series.y) >= 0 else None  # a share or a loss is never below 0, its deviation may be
    spreads = series.interval or series.sd or [None] * len(series.x)
    for x, y, spread in zip(series.x, series.y, spreads, strict=True):
        label, is_best = series.label or "other", (y, x) == best
        tip = (
            f"{label}: {y:.2f} at {figure.x_label.partition(' (')[0]} {x:g}"
            if is_best
            else f"{label}: {y:.4g} at {x:g}"
        )
        half = spread or 0.0
        yield {
            "line": number, "series": label, "x": x, "y": y, "best": is_best, "tip": tip, "high": y + half,
            "low": y - half if floor is None else max(floor, y - half),
            "point": figure.kind == "layers" or len(series.x) <= _FEW,
            "at": x if series.interval is None else _beside(figure, number, x),
        }  # fmt: skip


def _axis(field: str, title: str, values: Sequence[float], *, nice: bool = True) -> Any:
    """An axis around the values; around a constant it goes to 0, and from 0 to 1."""
    low, high = min(values), max(values)
    if low == high:
        low, high = (0.0, 1.0) if low == 0 else (min(0.0, 1.25 * low), max(0.0, 1.25 * high))
    channel = alt.X if field == "x" else alt.Y
    return channel(f"{field}:Q", title=title, scale=alt.Scale(domain=[low, high], nice=nice, zero=False))


def _look(labels: Sequence[str], numbers: Sequence[int], *, lines: bool) -> dict[str, Any]:
    """Colour, shape and dash of each series, with one legend below the chart."""
    longest = max((len(label) for label in labels), default=1)
    columns = int(max(1, min(len(labels), _WIDTH // (_LETTER * longest + 36))))
    legend = alt.Legend(title=None, columns=columns, labelLimit=_WIDTH - 40) if len(labels) > 1 else None
    values: dict[str, tuple[type, list[Any]]] = {
        "color": (alt.Color, [f"var(--c{n % _COLOURS})" for n in numbers]),
        "shape": (alt.Shape, [_SHAPES[n % len(_SHAPES)] for n in numbers]),
    }
    if lines:
        values["strokeDash"] = (alt.StrokeDash, [_DASHES[n // _COLOURS % len(_DASHES)] for n in numbers])
    return {
        name: kind("series:N", scale=alt.Scale(domain=list(labels), range=look), legend=legend)
        for name, (kind, look) in values.items()
    }


def _draw_scatter(figure: Scatter, runs: Sequence[str]) -> Chart:
    """Points, with Spearman's ρ of all or of each group's."""
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
    sign, parts = 1 if figure.correlate == "y" else -1, []
    for group in dict.fromkeys(p.group for p in figure.points) if figure.each_group else [None]:
        points = [p for p in figure.points if group is None or p.group == group]
        correlation = rank_correlation([p.x for p in points], [sign * p.y for p in points])
        text = "too few points for a rank correlation" if correlation is None else str(correlation)
        parts.append(text if group is None else f"{group}: {text}")
    of = f", of {figure.x_label} with the negated {figure.y_label}" if sign < 0 else ""
    text = "; ".join(parts) + (of if any("ρ" in part for part in parts) else "")
    correlations = f"{text[0].upper()}{text[1:]}."
    table = Table.listing(
        figure.title, correlations, ["point", "group", figure.x_label, figure.y_label],
        [[p.label, p.group, *(TableCell(f"{v:.4g}", v) for v in (p.x, p.y))] for p in figure.points],
    )  # fmt: skip
    chart = _sized(chart, _HEIGHT)
    svg = _svg(chart, figure.title)
    return Chart(figure.title, [("", svg)], f"{correlations} {figure.note}".strip(), table, [chart])


def _draw_bars(figure: Bars, runs: Sequence[str]) -> Chart:
    groups, series = (list(dict.fromkeys(getattr(b, n) for b in figure.bars)) for n in ("group", "series"))
    colour = _look(series, series_numbers(series, runs), lines=False)["color"]
    y = _axis("y", figure.y_label, [0, *(bar.value for bar in figure.bars)])
    x = alt.X("x:N", title=None, sort=groups, axis=alt.Axis(labelAngle=0))
    panels, charts = [], []
    listed: list[list[str | TableCell]] = []
    for panel in dict.fromkeys(bar.panel for bar in figure.bars):
        values = {(bar.series, bar.group): bar.value for bar in figure.bars if bar.panel == panel}
        texts = {key: f"{value:.4g}".replace("-", "−") for key, value in values.items()}
        rows = [
            {"series": s, "x": g, "y": y, "tip": f"{s}, {g}: {texts[s, g]}"} for (s, g), y in values.items()
        ]
        chart = alt.Chart(alt.InlineData(values=rows)).mark_bar()
        offset = alt.XOffset("series:N", sort=series)
        chart = chart.encode(x=x, xOffset=offset, y=y, description="tip:N", color=colour)
        charts.append(_sized(chart, _HEIGHT))
        panels.append((panel, _svg(charts[-1], f"{figure.title} {panel}".strip())))
        for s in series:
            cells = [TableCell(texts.get((s, g), "–"), values.get((s, g))) for g in groups]
            listed.append([" / ".join(filter(None, (s, panel))), *cells])
    data = Table.listing(figure.title, figure.y_label, ["", *groups], listed)
    return Chart(figure.title, panels, figure.note, data, charts)


def _draw_map(figure: EmbeddingMap) -> Chart:
    languages = list(dict.fromkeys(p.language or "other" for panel in figure.panels for p in panel.points))
    charts = [_panel(panel, languages) for panel in figure.panels]
    about = [
        f"{panel.title}: {len(panel.points)} words, {len(panel.pairs)} pairs joined"
        for panel in figure.panels
    ]
    panels = [
        (panel.title, _svg(chart, text, frame="var(--rule)"))
        for panel, chart, text in zip(figure.panels, charts, about, strict=True)
    ]
    rows: list[list[str | TableCell]] = []
    for panel in figure.panels:
        partners: dict[int, list[str]] = defaultdict(list)
        for i, j in panel.pairs:
            partners[i].append(panel.points[j].word)
            partners[j].append(panel.points[i].word)
        for i, p in enumerate(panel.points):
            coordinates = [TableCell(f"{v:.2f}", v) for v in (p.x, p.y)]
            rows.append([panel.title, p.word, p.language, *coordinates, ", ".join(partners[i])])
    headings = ["panel", "word", "language", "x", "y", "joined with"]
    table = Table.listing(figure.title, figure.note or "Places after projection", headings, rows)
    joined = "Dotted lines join words that are translations of each other." * any(
        p.pairs for p in figure.panels
    )
    return Chart(figure.title, panels, f"{joined} {figure.note}".strip(), table, charts)


def _panel(panel: MapPanel, languages: Sequence[str]) -> Any:
    """One projection without axes, for they mean nothing; words of the first language stand left of their points."""
    points: list[dict[str, Any]] = []
    for point in panel.points:
        name = point.language or "other"
        tip = f"{point.word} ({name})" if point.language else point.word
        side = "right" if len(languages) > 1 and name == languages[0] else "left"
        label = {"series": name, "tip": tip, "word": point.word, "side": side}
        points.append({"x": point.x, "y": point.y, **label})
    ends = [(panel.points[i], panel.points[j]) for i, j in panel.pairs]
    pairs = [{"x": a.x, "y": a.y, "x2": b.x, "y2": b.y, "tip": f"{a.word} – {b.word}"} for a, b in ends]
    at: dict[str, Any] = {
        "x": alt.X("x:Q", axis=None, scale=_padded([p.x for p in panel.points])),
        "y": alt.Y("y:Q", axis=None, scale=_padded([p.y for p in panel.points])),
    }
    joined = alt.Chart(alt.InlineData(values=pairs)).mark_rule(strokeDash=[2, 3], color="var(--faint)")
    marks = alt.Chart(alt.InlineData(values=points)).mark_point(filled=True, size=60, opacity=1)
    words: Any = alt.Chart(alt.InlineData(values=points)).encode(**at, text="word:N")
    look = {"color": "var(--fg)", "fontSize": 12, "baseline": "middle"}
    chart = alt.layer(
        joined.encode(**at, x2="x2", y2="y2", description="tip:N"),
        marks.encode(**at, description="tip:N", **_look(languages, range(len(languages)), lines=False)),
        words.transform_filter("datum.side == 'left'").mark_text(**look, align="left", dx=7),
        words.transform_filter("datum.side == 'right'").mark_text(**look, align="right", dx=-7),
    )
    return _sized(chart, _MAP_HEIGHT)


def _sized(chart: Any, height: float) -> Any:
    return chart.properties(width=_WIDTH, height=height)


def _padded(values: Sequence[float]) -> alt.Scale:
    """From the lowest value to the highest, with room for words around them."""
    low, high = min(values), max(values)
    return alt.Scale(domain=[low, high if high > low else low + 1], nice=False, zero=False, padding=_MARGIN)


def _svg(chart: alt.TopLevelMixin, about: str, *, frame: str | None = None) -> Markup:
    """The chart as SVG that scales with the page; a point's label is shown when pointed at."""
    text = {
        "labelColor": "var(--soft)",
        "titleColor": "var(--fg)",
        "labelFontSize": 12,
        "titleFontSize": 12.5,
    }
    lines = {"gridColor": "var(--rule)", "domainColor": "var(--faint)", "tickColor": "var(--faint)"}
    config = {
        "background": None, "font": "system-ui, sans-serif", "view": {"stroke": frame},
        "axis": {**text, **lines, "titleFontWeight": "normal", "titlePadding": 8},
        "axisX": {"grid": False, "tickCount": 7}, "axisY": {"domain": False, "ticks": False, "tickCount": 5},
        "legend": {**text, "orient": "bottom", "symbolSize": 80, "symbolOpacity": 1, "columnPadding": 16},
    }  # fmt: skip
    spec = {**chart.to_dict(), "config": config}
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(_printable(spec)))  # noqa: S314 - ours, just written
    ElementTree.register_namespace("", _SVG[1:-1])
    for parent in root.iter():
        for child in list(parent):
            if child.tag not in _TAGS:
                parent.remove(child)
        parent.attrib.pop("style", None)
        if parent.get("role") == "graphics-symbol" and (label := parent.get("aria-label")):
            ElementTree.SubElement(parent, f"{_SVG}title").text = label
    for name in ("width", "height"):
        root.attrib.pop(name)
    root.attrib.update({"class": "chart", "role": "img", "aria-label": _printable(about)})
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 - a tree, serialised


def _printable(value: Any) -> Any:
    """Without characters that XML cannot hold."""
    if isinstance(value, dict):
        return {key: _printable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_printable(inner) for inner in value]
    if isinstance(value, str):
        return XmlText()(value)
    return value
