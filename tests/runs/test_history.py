"""A training's history: what is written is JSON, and what cannot be read is named."""

from pathlib import Path

import pandas as pd
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.runs.history import HISTORY, Checkpoint, write_history


def test_entries_of_one_step_are_one_row_and_no_number_is_not_finite(tmp_path: Path) -> None:
    write_history(
        tmp_path,
        [{"step": 5, "loss": 2.0}, {"step": 5, "eval_loss": float("nan")}, {"step": 10, "loss": 1.0},
         {"step": 10, "train_runtime": 3.0}],
    )  # fmt: skip
    assert "NaN" not in (tmp_path / HISTORY).read_text(encoding="utf-8")
    history = Checkpoint(tmp_path / "checkpoint").history
    assert history["loss"].to_dict() == {5: 2.0, 10: 1.0}
    assert history["eval_loss"].isna().all() and "train_runtime" not in history


def test_history_is_the_same_file_whether_the_log_comes_from_memory_or_from_a_saved_state(
    tmp_path: Path,
) -> None:
    in_memory, saved = {"loss": 2.0, "epoch": 1.0, "step": 5}, {"epoch": 1.0, "loss": 2.0, "step": 5}
    written = []
    for entry in (in_memory, saved):
        write_history(tmp_path, [entry])
        written.append((tmp_path / HISTORY).read_text(encoding="utf-8"))
    assert written[0] == written[1] == '{"step": 5, "epoch": 1.0, "loss": 2.0}\n'


def test_a_text_may_hold_characters_that_end_a_line_elsewhere(tmp_path: Path) -> None:
    write_history(tmp_path, [{"step": 1, "note": "a\u2028b\x85c"}, {"step": 2, "note": "d"}])
    assert Checkpoint(tmp_path / "checkpoint").history["note"].to_dict() == {1: "a\u2028b\x85c", 2: "d"}


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / HISTORY).write_text('{"step": 5, "loss": 2.0}\n{"step": 10, "lo', encoding="utf-8")
    with refused(InputError, f"{HISTORY}:2: "):
        _ = Checkpoint(tmp_path / "checkpoint").history


def test_a_path_without_history_has_no_rows(tmp_path: Path) -> None:
    assert isinstance(Checkpoint(tmp_path / "checkpoint").history, pd.DataFrame)
    assert Checkpoint(tmp_path / "checkpoint").history.empty
