"""Results as notebooks show them: dictionaries, pandas frames, tables in HTML."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

Row = TypeVar("Row")


class Tabular:
    """A result that shows itself as a table of one row."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def to_frame(self) -> pd.DataFrame:
        """A frame with a column for each field."""
        import pandas as pd  # noqa: PLC0415 - only for those who want one

        return pd.DataFrame([self.to_dict()])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return _html(self.to_frame())


class ResultList(list[Row]):
    """A list of results, which is a frame too.

    Example:
        >>> from isoglot.link_counts import AlignmentScore
        >>> scores = ResultList([AlignmentScore(4, 4, 3, 4), AlignmentScore(2, 4, 2, 2)])
        >>> scores.to_frame()["recall"].tolist()
        [75.0, 50.0]
    """

    def to_dict(self) -> list[dict[str, Any]]:
        """Each result by the names of its fields."""
        return [_values(row) for row in self]

    def to_frame(self) -> pd.DataFrame:
        """A frame with a row for each result."""
        import pandas as pd  # noqa: PLC0415 - only for those who want one

        return pd.DataFrame(self.to_dict())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return _html(self.to_frame())


def _values(row: Any) -> dict[str, Any]:
    return dict(row) if isinstance(row, dict) else dict(row.to_dict())


def _html(frame: pd.DataFrame) -> str:
    """A frame as a table, escaped; of a long one the first and last rows."""
    return str(frame.to_html(index=False, max_rows=20))
