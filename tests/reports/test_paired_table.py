from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.reports.confusion_tables import confusion_tables
from isoglot.reports.options import ReportOptions
from isoglot.reports.paired_table import paired_table
from isoglot.reports.render import report
from isoglot.reports.runs import gather
from isoglot.results.confusion import ENDING as CONFUSION_ENDING
from isoglot.results.confusion import Confusion, ConfusionMatrix
from isoglot.results.example_counts import ENDING, CountsFile, shares
from isoglot.results.rows import Result, append


def _measured(
    folder: Path, run: str, right: list[int], *, seed: int | None = None, language: str = "deu", **about: str
) -> None:
    own = {"run": run, "task": "pos", "language": language, "split": "test", "seed": seed, "options": {},
           "checkpoint_hash": f"{run}{seed}", "data": "a", **about}  # fmt: skip
    row = {name: value for name, value in own.items() if name != "data"}
    counts = shares(right)
    append(folder / "results.jsonl", [Result(**row, metric="f1", value=counts.value, examples=len(right))])
    path = folder / "predictions" / f"{run}-{seed}" / "pos" / f"test-{language}{ENDING}"
    CountsFile(own, {"accuracy": shares([1] * len(right)), "f1": counts}).write(path)


def test_runs_stand_against_the_baseline_with_their_interval_and_p(tmp_path: Path) -> None:
    _measured(tmp_path, "tlm", [0] * 10 + [1] * 10)
    _measured(tmp_path, "weam", [1] * 20)
    table = paired_table(gather([tmp_path]), None)
    assert table is not None and table.title == "Paired differences from tlm"
    (row,) = table.rows
    assert (row.header, [cell.text for cell in row.cells][:6]) == (
        "weam", ["pos", "de", "F1", "100.0", "50.0", "+50.0"],
    )  # fmt: skip
    assert row.cells[7].text == "0.002", "ten of ten differ one way: 2 / 2¹⁰"
    turned = paired_table(gather([tmp_path]), "weam")
    assert turned is not None and turned.rows[0].cells[5].text == "−50.0"
    page = report([tmp_path], out=tmp_path / "report.html", options=ReportOptions()).read_text()
    assert "Paired differences from tlm" in page and "+30.0 to +70.0" in page


def test_seeds_go_together_and_runs_keep_the_names_of_the_report(tmp_path: Path) -> None:
    for seed, right in ((1, [1, 1, 1, 1, 0, 0]), (2, [1, 1, 0, 0, 0, 0])):
        _measured(tmp_path / "a", f"tlm-seed{seed}", right, seed=seed)
    for seed in (1, 2, 3):
        _measured(tmp_path / "b", f"weam-seed{seed}", [1] * 6, seed=seed)
    table = paired_table(gather([f"old={tmp_path / 'a'}", tmp_path / "b"], rename={"weam": "new"}), None)
    assert table is not None
    (row,) = table.rows
    assert (table.title, row.header) == ("Paired differences from old", "new")
    assert [cell.text for cell in row.cells][3:6] == ["100.0", "50.0", "+50.0"]


def test_paired_table_leaves_out_and_names_examples_of_one_side(tmp_path: Path) -> None:
    _measured(tmp_path, "tlm", [0, 1])
    _measured(tmp_path, "weam", [1, 1], data="b")
    assert paired_table(gather([tmp_path]), None) is None
    for run in ("tlm", "weam"):
        _measured(tmp_path, run, [1, 1], language="fr")
    table = paired_table(gather([tmp_path]), None)
    assert table is not None and len(table.rows) == 1
    assert table.notes == ["weam, pos de test: measured on other examples or seeds; left out."]
    assert paired_table(gather([tmp_path / "predictions" / "tlm-None"]), None) is None
    for run in ("tlm", "weam"):
        _measured(tmp_path, run, [], language="es")
    table = paired_table(gather([tmp_path]), None)
    assert table is not None and len(table.rows) == 1, "of no examples there is nothing to compare"


def test_counts_alone_are_something_to_report(tmp_path: Path) -> None:
    for run, right in (("tlm", [0, 1]), ("weam", [1, 1])):
        _measured(tmp_path, run, right)
    table = paired_table(gather([tmp_path / "predictions"]), "weam")
    assert table is not None and table.rows[0].header == "tlm"


def _confused(folder: Path, run: str, seed: int) -> None:
    about = {"run": run, "task": "nli", "split": "test", "seed": seed, "checkpoint_hash": f"{run}{seed}"}
    path = folder / run / "nli" / f"test{CONFUSION_ENDING}"
    path.parent.mkdir(parents=True)
    Confusion({"de": ConfusionMatrix.of(["a", "b"], ["a", "a"])}, about).write(path)


def test_confusions_are_named_as_rows_of_results_are(tmp_path: Path) -> None:
    for run, seed in (("tlm-seed1", 1), ("tlm-seed2", 2), ("weam", 2)):
        _confused(tmp_path, run, seed)
    assert [run for _, run in gather([tmp_path]).confusions] == ["tlm", "tlm", "weam"]
    labelled = gather([f"mine={tmp_path}"])
    assert [run for _, run in labelled.confusions] == ["tlm (mine)", "tlm (mine)", "weam (mine)"]
    renamed = gather([tmp_path], rename={"weam": "ours"})
    assert [run for _, run in renamed.confusions] == ["tlm", "tlm", "ours"]
    with pytest.raises(ConfigurationError, match="no results or curves of mlm; there are tlm, weam"):
        gather([tmp_path], rename={"mlm": "ours"})


def test_confusions_of_several_options_say_which() -> None:
    matrix = {"de": ConfusionMatrix.of(["a"], ["a"])}
    about = {"task": "nli", "split": "test"}
    third = Confusion(matrix, {**about, "options": {"layer": 3}})
    fourth = Confusion(matrix, {**about, "options": {"layer": 4}})
    titles = [table.title for table in confusion_tables([(third, "tlm"), (fourth, "tlm"), (third, "weam")])]
    assert titles == [
        "nli: confusion of tlm (layer=3)", "nli: confusion of tlm (layer=4)", "nli: confusion of weam",
    ]  # fmt: skip


def test_counts_without_rows_of_results_are_renamed(tmp_path: Path) -> None:
    for run, right in (("tlm", [0, 1]), ("weam", [1, 1])):
        _measured(tmp_path, run, right)
    table = paired_table(gather([tmp_path / "predictions"], rename={"tlm": "ours"}), "weam")
    assert table is not None and table.rows[0].header == "ours"


@pytest.mark.parametrize("wrong", [b"", b"{}"])
def test_a_damaged_file_is_named(tmp_path: Path, wrong: bytes) -> None:
    from isoglot.core.errors import InputError

    (tmp_path / f"test-de{ENDING}").write_bytes(wrong)
    with pytest.raises(InputError, match=ENDING):
        gather([tmp_path])
