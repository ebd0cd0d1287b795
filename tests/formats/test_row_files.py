"""Files of rows with any columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.formats.row_files import read_rows


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.tsv", "text\tyear\na, b\t2011\n", ""),
        ("a.csv", 'text,year\n"a, b",2011\n', ""),
        ("a.csv", "text;year\na, b;2011\n", "a.csv: read with a semicolon between columns\n"),
    ],
)
def test_delimiter_is_said_where_it_was_found(
    name: str, text: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read_rows(str(path)) == [{"text": "a, b", "year": "2011"}]
    # No option of the command names another delimiter, so none is advised.
    assert caplog.text.endswith(said) and bool(caplog.text) == bool(said)


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.tsv", "a.csv", "a.parquet"])
def test_a_file_without_rows_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    else:
        path.write_text("text\tyear\n" if path.suffix in (".tsv", ".csv") else "")
    with refused(InputError, f"{name}:"):
        read_rows(str(path))
