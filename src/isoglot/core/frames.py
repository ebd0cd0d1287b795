"""Bases of results, which turn them into dictionaries, frames, and tables in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

Row = TypeVar("Row")


class Tabular:
    """Base of a result: a dataclass, or a model with its own ``to_dict``. A notebook shows it as a table of one row."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame of one row, with a column for each field."""
        import pandas as pd  # noqa: PLC0415 - only for those who want one

        return pd.DataFrame([self.to_dict()])

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return _html(self.to_frame())


class ResultList(list[Row]):
    """A list of results, which can be turned into a frame.

    Args:
        results: The results, in order.
        frame: Makes the frame if the results belong to rows of the user's own frame.

    Example:
        >>> from isoglot.results.link_counts import AlignmentScore
        >>> scores = ResultList([AlignmentScore(4, 4, 3, 4), AlignmentScore(2, 4, 2, 2)])
        >>> scores.to_frame()["recall"].tolist()
        [75.0, 50.0]
    """

    def __init__(
        self, results: Iterable[Row] = (), frame: Callable[[Sequence[Row]], Any] | None = None
    ) -> None:
        super().__init__(results)
        self._frame = frame
        # The results as they were made, in the order of the frame.
        self._made = [] if frame is None else list(self)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return each result as a dictionary of its fields."""
        return [_values(row) for row in self]

    def to_frame(self) -> Any:
        """Return a frame with a row for each result.

        1. If the results were made from a frame (pandas, polars eager or lazy, ``pyarrow.Table``), it is that frame,
           with its index, order, types and columns, and the results as more columns.
        2. If such a list was sorted or cut since, its results no longer belong to the rows of that frame, so it is a
           plain pandas frame of the results in the list.
        3. Otherwise it is a plain pandas frame too.
        """
        is_unchanged = len(self) == len(self._made) and all(map(is_, self, self._made))
        if self._frame is not None and is_unchanged:
            return self._frame(self._made)
        return self._plain_frame()

    def _plain_frame(self) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 - only for those who want one

        return pd.DataFrame(self.to_dict())

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return _html(self._plain_frame())


def _values(row: Any) -> dict[str, Any]:
    return dict(row) if isinstance(row, dict) else dict(row.to_dict())


def _html(frame: pd.DataFrame) -> str:
    """Return a frame as an HTML table; of a long frame, only the first and last rows."""
    return str(frame.to_html(index=False, max_rows=20))
