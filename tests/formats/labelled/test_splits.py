from __future__ import annotations

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.formats.labelled.sources import DataSource
from isoglot.formats.labelled.splits import SPLITS, rows_of_split

KNOWN = [name for names in SPLITS.values() for name in names]


@given(
    st.lists(st.sampled_from([*KNOWN, "Test", "tset", "heldout", "extra", None]), min_size=1),
    st.sampled_from(["split", "partition"]),
)
def test_each_row_is_of_one_split_or_refused(names: list[str | None], column: str) -> None:
    rows = Dataset.from_dict({"text": list(map(str, range(len(names)))), column: names})
    unknown = {name for name in names if name not in [*KNOWN, "Test"]}
    if unknown:
        with pytest.raises(ConfigurationError) as refused:
            rows_of_split(rows, "test", source="rows")
        assert all(repr(name) in str(refused.value) for name in unknown)
    else:
        parts = [rows_of_split(rows, split, source="rows")["text"][:] for split in SPLITS]
        assert sorted(text for part in parts for text in part) == sorted(rows["text"])


def test_rows_without_a_column_of_splits_are_of_each() -> None:
    rows = Dataset.from_dict({"text": ["a", "b"]})
    assert rows_of_split(rows, "dev", source="rows") is rows


def test_a_split_in_front_of_a_path_is_known_or_refused() -> None:
    source = DataSource(["all.tsv", "validation=a.tsv", "lang={language}/b.tsv"])
    assert (source.of_split("dev"), source.of_split("test")) == (
        ["a.tsv"],
        ["all.tsv", "lang={language}/b.tsv"],
    )
    with refused(ConfigurationError, "tset=b.tsv: ", "'tset'", "train (training), dev"):
        DataSource(["train=a.tsv", "tset=b.tsv"])
