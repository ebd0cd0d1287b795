from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.errors import InputError
from isoglot.report.figure_files import Lines, Scatter, read_figure
from isoglot.report.plots import draw, series_numbers
from isoglot.report.stats import rank_correlation

POINT = {"x": 0, "y": 0, "word": "a"}


def write(path: Path, values: object) -> Path:
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "pie", "title": "t"}, "kind"),
        ({"kind": "layers", "title": "t", "series": [{"label": "a", "x": [1, 2], "y": [1]}]}, "2 x and 1 y"),
        (
            {"kind": "lines", "title": "t", "series": [{"label": "a", "x": [2, 1], "y": [1, 1]}]},
            "does not ascend",
        ),
        ({"kind": "lines", "title": "t", "series": []}, "series"),
        (
            {
                "kind": "scatter",
                "title": "t",
                "x_label": "x",
                "y_label": "y",
                "points": [{"x": 1, "y": "NaN"}],
            },
            "finite",
        ),
        (
            {
                "kind": "embedding_map",
                "title": "t",
                "panels": [{"title": "p", "points": [POINT], "pairs": [[0, 1]]}],
            },
            "names a point that is not there",
        ),
        (
            {
                "kind": "scatter",
                "title": "t",
                "x_label": "x",
                "y_label": "y",
                "points": [{"x": 1, "y": 1}],
                "colour": 1,
            },
            "colour",
        ),
        ([1], "the file"),
    ],
)
def test_a_wrong_figure_is_refused_by_its_field(tmp_path: Path, values: object, message: str) -> None:
    path = write(tmp_path / "f.json", values)
    with pytest.raises(InputError, match=message) as caught:
        read_figure(path)
    assert str(path) in str(caught.value)


def test_a_missing_figure_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_figure(tmp_path / "none.json")


def test_spearman_is_of_ranks_with_ties_and_needs_three_points() -> None:
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    found = rank_correlation([1, 2, 2, 9], [10, 30, 20, 400])
    assert found is not None and found.rho == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    with pytest.raises(ValueError, match="3 and 2"):
        rank_correlation([1, 2, 3], [1, 2])


def test_few_points_have_an_exact_p() -> None:
    perfect = rank_correlation([1, 2, 3, 4], [10, 20, 30, 40])
    assert perfect is not None and perfect.p == pytest.approx(2 / 24), (
        "two of 24 orders are as far from chance"
    )
    tied = rank_correlation([1, 2, 2], [1, 2, 3])
    assert tied is not None and tied.p == pytest.approx(4 / 6)
    many = rank_correlation(range(12), [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10])
    assert many is not None and many.p < 1e-6, "Student's t, as for the papers' twelve points"


def test_a_scatter_says_its_correlation_and_with_what() -> None:
    points = [{"x": i, "y": -(i**3)} for i in range(5)]
    options = {"kind": "scatter", "title": "t", "x_label": "alignment", "y_label": "drop", "points": points}
    assert "ρ = −1.000" in draw(Scatter.model_validate(options)).caption
    negated = draw(Scatter.model_validate({**options, "correlate": "-y"})).caption
    assert "ρ = 1.000" in negated and "negated drop" in negated
    few = draw(Scatter.model_validate({**options, "points": points[:2]}))
    assert "Too few points" in few.caption


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


@pytest.mark.parametrize("values", [[5.0], [3.0, 3.0], [-1e-9, 1e-9], [1e6, 3e7], [-4.0, 0.0, 2.5]])
def test_any_range_of_values_is_drawn_inside_its_frame(values: list[float]) -> None:
    series = [{"label": "a", "x": list(range(len(values))), "y": values}]
    body = draw(Lines.model_validate({"kind": "lines", "title": "t", "series": series})).body
    places = body.split('<polyline points="')[1].split('"')[0].split()
    for place in places:
        x, y = map(float, place.split(","))
        assert 0 <= x <= 440 and 0 <= y <= 290
    assert "nan" not in body and "inf" not in body


def test_a_run_has_one_colour_and_shape_in_all_figures() -> None:
    runs = ["mlm", "tlm", "weam"]
    assert series_numbers(["weam (3 runs)", "mlm"], runs) == [2, 0]
    assert series_numbers(["other", "tlm", "another"], runs) == [0, 1, 2]
    lines = {"kind": "lines", "title": "t", "series": [{"label": "weam", "x": [0, 1], "y": [1, 2]}]}
    drawn = draw(Lines.model_validate(lines), runs=runs)
    assert 'class="line c2 d0"' in drawn.body and "line c0" not in drawn.body
