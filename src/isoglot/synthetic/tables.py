"""Arrow columns from flat arrays, without a Python object a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from datasets import Dataset, DatasetInfo, Features
from datasets.table import InMemoryTable

__all__ = ["dataset", "list_column"]


def list_column(
    offsets: npt.NDArray[np.int64], values: npt.NDArray[np.int64], names: Sequence[str] | None
) -> pa.Array:
    """A list column: row ``r`` holds ``values[offsets[r]:offsets[r + 1]]``, as names if names are given, else int32."""
    flat = pa.array(values.astype(np.int32))
    if names is not None:
        flat = pa.array(list(names), pa.string()).take(flat)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), flat)


def dataset(columns: Mapping[str, Any], features: Features) -> Dataset:
    """A data set of Arrow columns in the order of its features."""
    table = pa.table({name: columns[name] for name in features}).cast(features.arrow_schema)
    return Dataset(InMemoryTable(table), info=DatasetInfo(features=features))
