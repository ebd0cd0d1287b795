"""The files of a run's ``figures`` folder: small JSON files that analysis writes and the report draws.

Each ``figures/NAME.json`` is one object with a ``kind``; each ``figures/NAME.jsonl`` holds word alignments, one
sentence pair per line (:mod:`isoglot.reports.viewer`). Figures are drawn in the order of their file names.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from isoglot.core.checks import problems_of
from isoglot.core.errors import InputError


class _FigurePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Figure(_FigurePart):
    title: Annotated[str, Field(min_length=1)]
    note: str = ""


class MapPoint(_FigurePart):
    """A word on a map."""

    x: float
    y: float
    word: str
    language: str = ""  # ISO 639; colour and shape follow it


class MapPanel(_FigurePart):
    """One projection."""

    title: str
    points: Annotated[list[MapPoint], Field(min_length=1)]
    pairs: list[tuple[int, int]] = []  # indices of two points that are translations; a dotted line joins them

    @model_validator(mode="after")
    def _pairs_exist(self) -> Self:
        wrong = [pair for pair in self.pairs if not all(0 <= i < len(self.points) for i in pair)]
        if wrong:
            raise ValueError(f"pair {list(wrong[0])} names a point that does not exist; points count from 0")
        return self


class EmbeddingMap(_Figure):
    """Figure of kind ``embedding_map``: word vectors projected to the plane, aligned pairs joined (WEAM, Fig. 2)."""

    kind: Literal["embedding_map"]
    panels: Annotated[list[MapPanel], Field(min_length=1)]


class ScatterPoint(_FigurePart):
    """A point of a scatter."""

    x: float
    y: float
    label: str = ""
    group: str = ""  # points of one group have one colour and shape


class Scatter(_Figure):
    """Figure of kind ``scatter``: one quantity against another with Spearman's rank correlation (ALIGN-MLM, Fig. 3)."""

    kind: Literal["scatter"]
    x_label: str
    y_label: str
    points: Annotated[list[ScatterPoint], Field(min_length=1)]  # at least one; the correlation needs three
    correlate: Literal["y", "-y"] = "y"  # `-y` correlates x with −y, as ALIGN-MLM does with drops
    each_group: bool = False  # correlate each group by itself, for groups that are different studies


class LineSeries(_FigurePart):
    """One line."""

    label: str
    x: Annotated[list[float], Field(min_length=1)]  # ascending
    y: list[float]
    # Standard deviations, one for each value of `x`, null for a single measurement; drawn as a band if there is no
    # `interval`.
    sd: list[float | None] | None = None
    interval: list[float | None] | None = None  # half of an interval around each value; drawn as bars

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        for name, values in (("y", self.y), ("sd", self.sd), ("interval", self.interval)):
            if values is not None and len(values) != len(self.x):
                raise ValueError(
                    f"{self.label!r} has {len(self.x)} x and {len(values)} {name}; both must have the same length"
                )
        if self.x != sorted(self.x):
            raise ValueError(f"x of {self.label!r} does not ascend")
        return self


class Lines(_Figure):
    """Figure of kind ``layers`` (AER by layer; XLM-Align, Fig. 2) or ``lines`` (any other sweep)."""

    kind: Literal["layers", "lines"]
    x_label: str = "layer"
    x_scale: Literal["linear", "log"] = "linear"
    y_label: str = "AER (%)"
    series: Annotated[list[LineSeries], Field(min_length=1)]
    better: Literal["lower", "higher"] | None = None  # `lower` or `higher` marks the best point of each line

    @model_validator(mode="after")
    def _x_has_a_logarithm(self) -> Self:
        for series in self.series:
            if self.x_scale == "log" and series.x[0] <= 0:
                raise ValueError(
                    f"x of {series.label!r} is {series.x[0]:g}; on a log x_scale it must be above 0"
                )
        return self


class Bar(_FigurePart):
    """A bar."""

    panel: str = ""  # the chart that it stands in, such as a transformation
    group: str  # bars of one group stand together, such as those of a task
    series: str  # bars of one series have one colour
    value: float


class Bars(_Figure):
    """Figure of kind ``bars``: groups of bars, a chart for each panel (ALIGN-MLM, Fig. 2)."""

    kind: Literal["bars"]
    y_label: str
    bars: Annotated[list[Bar], Field(min_length=1)]


ReportFigure = EmbeddingMap | Scatter | Lines | Bars
_ADAPTER: TypeAdapter[ReportFigure] = TypeAdapter(Annotated[ReportFigure, Field(discriminator="kind")])


def read_figure(path: str | Path) -> ReportFigure:
    """Read a figure from its file."""
    path = Path(path)
    try:
        return _ADAPTER.validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); name a figure's JSON file", path=path
        ) from error
    except ValidationError as error:
        raise InputError(
            f"not a figure ({problems_of(error)[0]}); a figure is one object whose kind is embedding_map, scatter, "
            "layers, lines or bars; write it again, or remove it from the figures folder",
            path=path,
        ) from error
