"""Charts: what their captions say, that every value is inside the frame, and that texts stay texts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from isoglot.reports.charts import draw, series_numbers
from isoglot.reports.figure_files import Bars, EmbeddingMap, Lines, Scatter

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>alert(1)</script><img src=x onerror='alert(2)'>\x00\x1b"


def lines(values: list[float], **more: object) -> Lines:
    series = [{"label": "weam", "x": list(range(len(values))), "y": values}]
    return Lines.model_validate(
        {"kind": "lines", "title": "t", "y_label": "accuracy", "series": series, **more}
    )


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_scatter_says_its_correlation_and_with_what() -> None:
    points = [{"x": i, "y": -(i**3)} for i in range(5)]
    options = {"kind": "scatter", "title": "t", "x_label": "alignment", "y_label": "drop", "points": points}
    assert "ρ = −1.000" in draw(Scatter.model_validate(options)).caption
    negated = draw(Scatter.model_validate({**options, "correlate": "-y"})).caption
    assert "ρ = 1.000" in negated and "negated drop" in negated
    few = draw(Scatter.model_validate({**options, "points": points[:2]}))
    assert "Too few points" in few.caption
    grouped = [{"group": "tlm", **point} for point in points]
    by_group = draw(Scatter.model_validate({**options, "points": grouped, "each_group": True}))
    assert by_group.caption == "tlm: Spearman ρ = −1.000 (p = 0.017, 5 points)."


@pytest.mark.parametrize("spread", [{}, {"sd": [1, 1, 1]}, {"interval": [1, 1, 1]}])
def test_values_on_a_logarithmic_axis_lie_evenly(spread: dict[str, list[float]]) -> None:
    series = [{"label": "weam", "x": [1, 10, 100], "y": [5, 6, 7], **spread}]
    figure = Lines.model_validate({"kind": "lines", "title": "t", "x_scale": "log", "series": series})
    svg = draw(figure).panels[0][1]
    marks = re.findall(r'transform="translate\(([-\d.e]+),[-\d.e]+\)"[^>]*aria-label="weam: ', svg)
    marks += re.findall(r'aria-label="weam: [^>]*transform="translate\(([-\d.e]+),', svg)
    left, middle, right = sorted(map(float, marks))
    assert middle - left == pytest.approx(right - middle, abs=1)


def test_the_best_layer_is_told_and_the_data_kept() -> None:
    series = [
        {"label": "tlm", "x": [0, 1, 2], "y": [50, 20, 30], "sd": [1, 2, 3]},
        {"label": "mlm", "x": [1], "y": [40]},
    ]
    drawn = draw(
        Lines.model_validate({"kind": "layers", "title": "AER", "series": series, "better": "lower"})
    )
    assert "tlm: 20.00 at layer 1; mlm: 40.00 at layer 1" in drawn.caption
    assert [row.header for row in drawn.data.rows] == ["0", "1", "2"]
    assert [cell.value for cell in drawn.data.rows[1].cells] == [20, 40]
    assert drawn.data.rows[0].cells[1].text == "–" and drawn.data.rows[0].cells[0].sd == 1
    assert texts(drawn.panels[0][1])[-2:] == ["tlm", "mlm"]


@pytest.mark.parametrize(
    "values", [[5.0], [3.0, 3.0], [-1e-9, 1e-9], [1e6, 3e7], [-4.0, 0.0, 2.5], [0.0, 5e-324], [-7.0, -7.0]]
)
def test_any_range_of_values_is_drawn_inside_its_frame(values: list[float]) -> None:
    svg = draw(lines(values)).panels[0][1]
    assert "NaN" not in svg and "Infinity" not in svg
    marks = re.findall(r'transform="translate\(([-\d.e]+),([-\d.e]+)\)"[^>]*aria-label="weam: ', svg)
    marks += re.findall(r'aria-label="weam: [^>]*transform="translate\(([-\d.e]+),([-\d.e]+)\)"', svg)
    assert len(marks) == len(values)
    assert all(-0.1 <= float(x) <= 420.1 and -0.1 <= float(y) <= 240.1 for x, y in marks)


def test_a_constant_of_zero_has_an_axis_from_zero_to_one() -> None:
    ticks = texts(draw(lines([0.0, 0.0, 0.0])).panels[0][1])
    assert "1.0" in ticks and not any(text.startswith(("−", "-")) for text in ticks)


def test_axis_of_values_that_cannot_be_negative_does_not_go_below_zero() -> None:
    series = [{"label": "a", "x": [0, 1], "y": [0.1, 0.5], "sd": [0.4, 0.1]}]
    figure = Lines.model_validate({"kind": "lines", "title": "t", "series": series})
    assert not any(text.startswith(("−", "-")) for text in texts(draw(figure).panels[0][1]))


def test_a_run_has_one_colour_and_shape_in_all_figures() -> None:
    runs = ["mlm", "tlm", "weam"]
    assert series_numbers(["weam (3 runs)", "mlm"], runs) == [2, 0]
    assert series_numbers(["other", "tlm", "another"], runs) == [3, 1, 4]
    svg = draw(lines([1.0, 2.0]), runs=runs).panels[0][1]
    assert "var(--c2)" in svg and "var(--c0)" not in svg


def test_texts_stay_texts() -> None:
    point = {"x": 1, "y": 1, "word": HOSTILE, "language": HOSTILE}
    panels = [{"title": HOSTILE, "points": [point, {**point, "x": 2}], "pairs": [[0, 1]]}]
    named = {"x": 1, "y": 1, "label": HOSTILE, "group": HOSTILE}
    series = [{"label": HOSTILE + n, "x": [1, 2], "y": [1, 2]} for n in "ab"]
    for figure in (
        EmbeddingMap.model_validate({"kind": "embedding_map", "title": HOSTILE, "panels": panels}),
        Scatter.model_validate({"kind": "scatter", "title": HOSTILE, "x_label": HOSTILE, "y_label": HOSTILE,
                                "points": [named, {**named, "group": "b"}]}),
        Lines.model_validate({"kind": "layers", "title": HOSTILE, "x_label": HOSTILE, "series": series}),
    ):  # fmt: skip
        for _, svg in draw(figure).panels:
            root = ElementTree.fromstring(svg)  # well-formed, so nothing has broken out
            assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
                "svg", "g", "path", "line", "rect", "text", "tspan", "title", "defs", "clipPath",
            }  # fmt: skip
            names = {name for element in root.iter() for name in element.attrib}
            assert not any(name.startswith("on") or name in ("style", "href") for name in names)
            assert any("alert" in (element.text or "") for element in root.iter())


def test_bars_stand_in_a_chart_for_each_panel_and_in_the_table() -> None:
    bars = [
        {"panel": panel, "group": task, "series": name, "value": value}
        for panel, task, name, value in (
            ("trans", "POS", "MLM", 1.5),
            ("trans", "POS", "XLM", -2.0),
            ("trans", "NER", "MLM", 3.0),
            ("trans+inv", "POS", "MLM", 40.0),
        )
    ]
    found = draw(
        Bars.model_validate({"kind": "bars", "title": "Δ", "y_label": "Δ", "bars": bars}), runs=["MLM"]
    )
    assert [title for title, _ in found.panels] == ["trans", "trans+inv"]
    assert [svg.count('aria-roledescription="bar"') for _, svg in found.panels] == [3, 1]
    assert "XLM, POS: −2" in found.panels[0][1] and found.wide
    rows = {row.header: [cell.text for cell in row.cells] for row in found.data.rows}
    assert rows["MLM / trans"] == ["1.5", "3"] and rows["XLM / trans"] == ["−2", "–"]
