"""Turn a chart into SVG for the page: it scales, follows the page's colours, and holds nothing that could run."""

from typing import Any
from xml.etree import ElementTree

import altair as alt
import vl_convert
from markupsafe import Markup

from isoglot.runs.xml_text import XmlText

WIDTH = 420.0
"""Width of every chart in pixels; the page scales charts."""
_NAMESPACE = "{http://www.w3.org/2000/svg}"
_TAGS = frozenset(
    _NAMESPACE + tag for tag in ("svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clipPath")
)
"""Elements of SVG that a chart needs; any other one, such as style and script, is removed."""


def sized(chart: Any, height: float) -> Any:
    """Give a chart its size."""
    return chart.properties(width=WIDTH, height=height)


def svg_of(chart: alt.TopLevelMixin, about: str, *, frame: str | None = None) -> Markup:
    """Draw a chart as SVG that scales with the page; a point's label is shown when a reader points at it.

    Args:
        chart: The chart.
        about: Text for screen readers.
        frame: Colour of a frame around the chart; by default there is none.
    """
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
    ElementTree.register_namespace("", _NAMESPACE[1:-1])
    for parent in root.iter():
        # The page's policy forbids inline styles. Browsers show an element's title when a reader points at it.
        for child in list(parent):
            if child.tag not in _TAGS:
                parent.remove(child)
        parent.attrib.pop("style", None)
        if parent.get("role") == "graphics-symbol" and (label := parent.get("aria-label")):
            ElementTree.SubElement(parent, f"{_NAMESPACE}title").text = label
    # Without a size of its own the chart is as wide as its place in the page; `viewBox` keeps its shape.
    for name in ("width", "height"):
        root.attrib.pop(name)
    root.attrib.update({"class": "chart", "role": "img", "aria-label": _printable(about)})
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 - a tree, serialised


def _printable(value: Any) -> Any:
    """Remove characters that XML cannot hold from all texts of a description."""
    if isinstance(value, dict):
        return {key: _printable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_printable(inner) for inner in value]
    if isinstance(value, str):
        return XmlText()(value)
    return value
