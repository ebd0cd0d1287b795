"""A cell depends on the sizes of the study that its own system reads, and on no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.studies.catalogue import find_studies
from isoglot.studies.program import Selection, inspect_programs

FULL = [f"Our full system ({pairs})" for pairs in ("250k", "600k", "2M")]


@pytest.mark.parametrize(
    ("study", "label", "size", "rows"),
    [
        pytest.param(
            *("align_mlm/table3", " / trans", "dictionary", {"DICT-MLM / trans", "ALIGN-MLM / trans"}),
            marks=pytest.mark.slow,
        ),
        ("ppa/table5", "", "queue", {"- CS", "- TLM", "repl TLM w/ MLM", *FULL}),
    ],
)
def test_cells_depend_on_the_sizes_that_their_system_reads(
    tmp_path: Path, study: str, label: str, size: str, rows: set[str]
) -> None:
    (program,) = Selection(find_studies([study]), tmp_path).programs()
    inspect_programs([program], check=False)
    parts = [part for part in program.parts if part.row[0].endswith(label)]
    assert {part.row[0] for part in parts if size in part.sizes_read} == rows
    assert {part.row[0] for part in parts} > rows
