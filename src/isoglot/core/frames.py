"""Results as notebooks show them: dictionaries, frames, tables in HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import is_
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

    Args:
        results: The results, in order.
        frame: Makes the frame, where the results belong to rows of the user's own frame.

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
        self._made = [] if frame is None else list(self)

    def to_dict(self) -> list[dict[str, Any]]:
        """Each result by the names of its fields."""
        return [_values(row) for row in self]

    def to_frame(self) -> Any:
        """A pandas frame with a row for each result; of data in a frame that frame, with the results as more columns.

        A frame that was given has its own index, order, types and columns: a pandas frame, a polars frame (eager or
        lazy) or a ``pyarrow.Table``. A list that was sorted or cut is a plain pandas frame of what is left.
        """
        if self._frame is not None and len(self) == len(self._made) and all(map(is_, self, self._made)):
            return self._frame(self._made)
        return self._plain_frame()

    def _plain_frame(self) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 - only for those who want one

        return pd.DataFrame(self.to_dict())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return _html(self._plain_frame())


def _values(row: Any) -> dict[str, Any]:
    return dict(row) if isinstance(row, dict) else dict(row.to_dict())


def _html(frame: pd.DataFrame) -> str:
    """A frame as a table, escaped; of a long one the first and last rows."""
    return str(frame.to_html(index=False, max_rows=20))
