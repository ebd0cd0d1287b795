from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.core.errors import InputError
from isoglot.reports.figure_files import read_figure

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
                "kind": "lines",
                "title": "t",
                "series": [{"label": "a", "x": [1, 2, 3], "y": [1, 1, 1], "sd": [1]}],
            },
            "3 x and 1 sd",
        ),
        (
            {
                "kind": "lines",
                "title": "t",
                "x_scale": "log",
                "series": [{"label": "a", "x": [0, 1], "y": [1, 1]}],
            },
            "x of 'a' is 0; on a log x_scale it must be above 0",
        ),
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
            "names a point that does not exist",
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
        ([1], "should be an object"),
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
