"""What is gathered for a page."""

from pathlib import Path

import pytest

from isoglot.core.errors import InputError
from isoglot.reports.runs import gather
from isoglot.results.rows import Result

ROW = Result(run="mbert", task="tatoeba", language="de", metric="accuracy", value=70.5, examples=1000)


def _write(file: Path, *rows: Result) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n\n".join(row.model_dump_json() for row in rows))


def test_rows_without_a_seed_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    other = ROW.model_copy(update={"value": 71.0, "language": "deu"})
    _write(tmp_path / "a/results.jsonl", ROW.model_copy(update={"metric": "mrr"}), ROW)
    _write(tmp_path / "b/results.jsonl", ROW, other)
    said = r"b/results\.jsonl:3: accuracy of mbert on tatoeba deu is 71, but 70\.5 in .*a/results\.jsonl:3, and neither"
    with pytest.raises(InputError, match=said):
        gather([tmp_path])
    _write(tmp_path / "b/results.jsonl", other)
    assert len(gather([f"old={tmp_path / 'a'}", f"new={tmp_path / 'b'}"]).rows) == 3, "two runs"


@pytest.mark.parametrize(
    "change", [{"seed": 2}, {"options": {"layer": 3}}, {"split": "dev"}, {"value": 70.5}]
)
def test_results_of_other_measurements_are_no_contradiction(
    tmp_path: Path, change: dict[str, object]
) -> None:
    _write(tmp_path / "results.jsonl", ROW, ROW.model_copy(update={"value": 71.0, **change}))
    assert len(gather([tmp_path]).rows) == 2


def test_a_later_measurement_of_a_seed_counts(tmp_path: Path) -> None:
    seeded = ROW.model_copy(update={"seed": 1})
    _write(tmp_path / "results.jsonl", seeded, seeded.model_copy(update={"value": 71.0}))
    assert len(gather([tmp_path]).rows) == 2
