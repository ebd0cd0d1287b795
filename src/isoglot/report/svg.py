"""Charts as inline SVG: axes, points, lines. Colours come from the page's style sheet, one set a theme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from isoglot.report.html import Markup, element, join

__all__ = ["SERIES", "Axis", "Frame", "legend", "marker", "nice_ticks", "tick_text"]

SERIES = 7
"""Colours of the Okabe–Ito palette that are used for series; then they repeat with another dash and shape."""
_CHARACTER = 7.2
"""Width of a character of the charts' text, about, in the charts' units."""


def nice_ticks(low: float, high: float, count: int = 5, *, whole: bool = False) -> list[float]:
    """About ``count`` round numbers (1, 2, 2.5 or 5 times a power of ten) that cover an interval."""
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):  # a point, as far as a chart can tell
        margin = abs(low) * 0.05 or 0.5
        low, high = low - margin, high + margin
    rough = (high - low) / max(1, count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough * 0.999)
    if whole:
        step = max(1.0, float(math.ceil(step)))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def tick_text(value: float, step: float) -> str:
    """A tick's number with as many places as its step needs; thousands as ``10k``."""
    if abs(value) >= 10_000 and abs(value) % 100 == 0:
        return f"{value / 1000:g}k".replace("-", "−")
    places = 0
    while places < 12 and abs(step * 10**places - round(step * 10**places)) > 1e-6 * step * 10**places:
        places += 1
    return f"{value:,.{places}f}".replace("-", "−")


@dataclass(frozen=True)
class Axis:
    """A linear axis.

    Args:
        label: quantity and unit.
        ticks: the first and last are its ends.
    """

    label: str
    ticks: Sequence[float]

    def share(self, value: float) -> float:
        """Where a value lies, from 0 at the first tick to 1 at the last."""
        low, high = self.ticks[0], self.ticks[-1]
        return (value - low) / (high - low) if high > low else 0.5

    def texts(self) -> list[str]:
        """The ticks' numbers."""
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else 1.0
        return [tick_text(tick, step) for tick in self.ticks]


class Frame:
    """The area of a chart, with its axes.

    Args:
        x: horizontal axis.
        y: vertical axis.
        width: of the whole, in units that are about a pixel.
        height: of the whole.
    """

    def __init__(self, x: Axis, y: Axis, *, width: float = 440, height: float = 290) -> None:
        self.x, self.y, self.width, self.height = x, y, width, height
        self.left = 30 + _CHARACTER * max(len(text) for text in y.texts())
        self.right, self.top, self.bottom = 14.0, 12.0, 44.0
        self.parts: list[Markup] = [self._axes()]

    def px(self, value: float) -> float:
        """Horizontal place of a value."""
        return self.left + self.x.share(value) * (self.width - self.left - self.right)

    def py(self, value: float) -> float:
        """Vertical place of a value."""
        return self.height - self.bottom - self.y.share(value) * (self.height - self.top - self.bottom)

    def add(self, *parts: Markup) -> None:
        """Draw on top of what is there."""
        self.parts.extend(parts)

    def svg(self, title: str, description: str = "") -> Markup:
        """The chart; its title and description are read out by screen readers."""
        return element(
            "svg", element("title", title), element("desc", description) if description else None, *self.parts,
            viewBox=f"0 0 {self.width:g} {self.height:g}", role="img", class_="chart", aria_label=title,
        )  # fmt: skip

    def _axes(self) -> Markup:
        left, base, end = self.left, self.height - self.bottom, self.width - self.right
        parts: list[Markup] = []
        for tick, text in zip(self.y.ticks, self.y.texts(), strict=True):
            y = self.py(tick)
            parts.append(element("line", x1=left, x2=end, y1=y, y2=y, class_="grid"))
            parts.append(element("text", text, x=left - 7, y=y + 4, text_anchor="end"))
        for tick, text in zip(self.x.ticks, self.x.texts(), strict=True):
            x = self.px(tick)
            parts.append(element("line", x1=x, x2=x, y1=base, y2=base + 4, class_="axis"))
            parts.append(element("text", text, x=x, y=base + 17, text_anchor="middle"))
        parts.append(element("line", x1=left, x2=end, y1=base, y2=base, class_="axis"))
        middle = (self.top + base) / 2
        parts.append(
            element(
                "text",
                self.x.label,
                x=(left + end) / 2,
                y=self.height - 6,
                text_anchor="middle",
                class_="label",
            )
        )
        turned = f"rotate(-90 12 {middle:.1f})"
        parts.append(
            element(
                "text", self.y.label, x=12.0, y=middle, transform=turned, text_anchor="middle", class_="label"
            )
        )
        return join(parts)


def marker(
    series: int, x: float, y: float, *, size: float = 4.2, title: str = "", strong: bool = False
) -> Markup:
    """A point whose shape and colour tell its series: circle, square, triangle, diamond, then turned ones."""
    kind = f"mark c{series % SERIES}" + (" strong" if strong else "")
    inner = (element("title", title),) if title else ()
    s = size * (1.35 if strong else 1.0)
    shape = series % 5
    if shape == 0:
        return element("circle", *inner, cx=x, cy=y, r=s, class_=kind)
    if shape == 1:
        return element(
            "rect", *inner, x=x - s * 0.88, y=y - s * 0.88, width=s * 1.76, height=s * 1.76, class_=kind
        )
    corners = {
        2: ((0, -1.25), (1.1, 0.85), (-1.1, 0.85)),
        3: ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        4: ((0, 1.25), (1.1, -0.85), (-1.1, -0.85)),
    }[shape]
    points = " ".join(f"{x + s * dx:.1f},{y + s * dy:.1f}" for dx, dy in corners)
    return element("polygon", *inner, points=points, class_=kind)


def legend(labels: Sequence[str], *, lines: bool, numbers: Sequence[int] | None = None) -> Markup | None:
    """A list of the series; nothing for a single unnamed one.

    Args:
        labels: of the series.
        lines: draw them as lines.
        numbers: of their colours and shapes; by default in their order.
    """
    if not any(labels) or (len(labels) < 2 and not labels[0]):
        return None
    items = []
    for series, label in zip(numbers or range(len(labels)), labels, strict=True):
        dash = f"line c{series % SERIES} d{series // SERIES % 3}"
        line = element("line", x1=1, x2=25, y1=7, y2=7, class_=dash) if lines else None
        key = element(
            "svg", line, marker(series, 13, 7), viewBox="0 0 26 14", class_="key", aria_hidden="true"
        )
        items.append(element("li", key, element("bdi", label or "other")))
    return element("ul", *items, class_="legend")
