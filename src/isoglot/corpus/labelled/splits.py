"""Rows that name their split, in a column of a file or of data in memory."""

from collections import Counter

from datasets import Dataset

from isoglot.checks import shortened
from isoglot.corpus.labelled.places import KNOWN_SPLITS, SPLIT_COLUMNS, split_of
from isoglot.errors import ConfigurationError

_MOST_NAMED = 8


def split_column(rows: Dataset) -> str | None:
    """The column that names each row's split; ``None`` where there is none."""
    return next((name for name in SPLIT_COLUMNS if name in rows.column_names), None)


def split_mask(rows: Dataset, split: str, *, source: str) -> list[bool] | None:
    """Whether each row is of a split; ``None`` without a column of :data:`SPLIT_COLUMNS`.

    Args:
        rows: Rows of any schema.
        split: The split to look for.
        source: What messages call the data.

    Raises:
        ConfigurationError: Rows of unknown splits, which could be of any; all names are listed.
    """
    column = split_column(rows)
    if column is None:
        return None
    names = list(rows[column])
    parts = [split_of(name) for name in names]
    if None in parts:
        unknown = Counter(shortened(name) for name, part in zip(names, parts, strict=True) if part is None)
        listed = ", ".join(f"{name} ({count:,} rows)" for name, count in unknown.most_common(_MOST_NAMED))
        more = f" and {len(unknown) - _MOST_NAMED:,} more" if len(unknown) > _MOST_NAMED else ""
        raise ConfigurationError(
            f"{source}: unknown splits {listed}{more}; {KNOWN_SPLITS}. Correct the names, remove these rows, or rename "
            f"the column ({' or '.join(SPLIT_COLUMNS)}) if it is not about splits"
        )
    return [part == split for part in parts]


def rows_of_split(rows: Dataset, split: str, *, source: str) -> Dataset:
    """The rows of a split, where a column names one for each, else all of them; as :func:`split_mask`."""
    chosen = split_mask(rows, split, source=source)
    return rows if chosen is None else rows.select([n for n, own in enumerate(chosen) if own])
