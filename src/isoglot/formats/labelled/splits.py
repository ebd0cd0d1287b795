"""Names of columns and splits in labelled data, and the split that a row names.

A *split* is train, dev or test. Data have several *names* for each: ``validation`` is a name of dev.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError

if TYPE_CHECKING:  # files are found without the libraries
    from datasets import Dataset

SPLITS: dict[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test", "devtest", "tst"),
}
"""Names that files give to each split."""

KNOWN_SPLITS = "known: " + ", ".join(f"{split} ({', '.join(names[1:])})" for split, names in SPLITS.items())
"""The end of a message about an unknown split."""

SPLIT = "split"
COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "words": ("words", "tokens"),
    "tags": ("tags", "upos", "pos_tags", "ner_tags"),
    "first": ("first", "premise", "sentence1"),
    "second": ("second", "hypothesis", "hypo", "sentence2"),
    "text": ("text", "sentence", "utterance", "utt"),
    "label": ("gold_label", "label", "label_text", "category", "intent", "topic"),
    "language": ("language", "lang"),
    "source_words": ("source_words", "src"),
    "target_words": ("target_words", "tgt"),
    "sure": ("sure", "links"),
    "id": ("pairid", "id", "index_id"),
    SPLIT: ("split", "partition"),
}
"""Names that labelled data give to a column, in lower case; the first one that is there counts."""
SPLIT_COLUMNS = COLUMN_NAMES[SPLIT]

_SPLIT_OF = {name: split for split, names in SPLITS.items() for name in names}
_MOST_NAMED = 8


def split_of(name: object) -> str | None:
    """The split that a name stands for; ``None`` for an unknown one.

    Example:
        >>> split_of("validation"), split_of("Test "), split_of("tset")
        ('dev', 'test', None)
    """
    return _SPLIT_OF.get(str(name).strip().lower())


def split_names(split: str) -> tuple[str, ...]:
    """The names that a split goes by."""
    if split not in SPLITS:
        raise ConfigurationError(f"unknown split {split!r}; {KNOWN_SPLITS}")
    return SPLITS[split]


def split_name(row: Mapping[str, Any]) -> Any:
    """The name of its split in a row; ``None`` if the row does not name one."""
    return next((row[name] for name in SPLIT_COLUMNS if name in row), None)


def split_column(rows: Dataset) -> str | None:
    """The column that names each row's split; ``None`` if there is none."""
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
    splits = [split_of(name) for name in names]
    if None in splits:
        unknown = Counter(shortened(name) for name, known in zip(names, splits, strict=True) if known is None)
        listed = ", ".join(f"{name} ({count:,} rows)" for name, count in unknown.most_common(_MOST_NAMED))
        more = f" and {len(unknown) - _MOST_NAMED:,} more" if len(unknown) > _MOST_NAMED else ""
        raise ConfigurationError(
            f"{source}: unknown splits {listed}{more}; {KNOWN_SPLITS}. Correct the names, remove these rows, or rename "
            f"the column ({' or '.join(SPLIT_COLUMNS)}) if it is not about splits"
        )
    return [split_of_row == split for split_of_row in splits]


def rows_of_split(rows: Dataset, split: str, *, source: str) -> Dataset:
    """Select the rows of a split, by :func:`split_mask`; all rows if no column names their splits."""
    mask = split_mask(rows, split, source=source)
    return rows if mask is None else rows.select([number for number, chosen in enumerate(mask) if chosen])
