from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isoglot.core.errors import InputError
from isoglot.reports.curves import Curve, curve_figures, read_curves
from isoglot.reports.runs import gather


def state(folder: Path, step: int, history: list[Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": step, "log_history": history}))


def test_the_checkpoint_that_got_furthest_is_read_and_cut_off_ones_are_not(tmp_path: Path) -> None:
    history = [
        {"step": s, "loss": 9.0 - s, "epoch": 1, "eval_f1": None if s == 1 else 0.5} for s in (1, 2, 3)
    ]
    state(tmp_path / "checkpoint-9", 9, history[:2])
    state(tmp_path / "checkpoint-30", 30, history)
    (tmp_path / "checkpoint-40").mkdir()
    (tmp_path / "checkpoint-40" / "trainer_state.json").write_text('{"global_step": 40, "log_h')
    curves = {c.quantity: c for c in read_curves(tmp_path, "tlm")}
    assert set(curves) == {"loss", "eval_f1"}
    assert curves["loss"] == Curve("tlm", "loss", (1, 2, 3), (8, 7, 6))
    assert curves["eval_f1"].steps == (2, 3)


def test_states_of_another_form_are_passed_over(tmp_path: Path) -> None:
    state(tmp_path, 3, [{"step": None, "loss": 1.0}, *({"step": s, "loss": 1.0 * s} for s in (1, 2))])
    (tmp_path / "checkpoint-9").mkdir()
    (tmp_path / "checkpoint-9" / "trainer_state.json").write_text('{"global_step": 9, "log_history": null}')
    (curve,) = read_curves(tmp_path, "other")
    assert curve.steps == (1, 2)


def test_values_that_are_not_finite_are_left_out(tmp_path: Path) -> None:
    state(
        tmp_path, 3, [{"step": 1, "loss": 2.0}, {"step": 2, "loss": float("nan")}, {"step": 3, "loss": 1.0}]
    )
    assert read_curves(tmp_path, "a")[0].steps == (1, 3)
    assert read_curves(tmp_path / "none", "a") == []


def test_a_run_that_is_named_twice_is_no_two_runs(tmp_path: Path) -> None:
    state(tmp_path / "runs" / "a", 3, [{"step": s, "loss": 9.0 - s} for s in (1, 2, 3)])
    (tmp_path / "runs" / "other.jsonl").write_text("")
    once = gather([tmp_path / "runs"])
    assert [curve.run for curve in once.curves] == ["a"]
    for twice in (["runs", "runs/a"], ["runs/a", "runs/"], ["runs/a", "runs/../runs/a"]):
        assert gather([f"{tmp_path}/{place}" for place in twice]).curves == once.curves
    for more in ("runs/other.jsonl", "runs/none"):
        with pytest.raises(InputError):
            gather([tmp_path / "runs", tmp_path / more])


def test_a_checkpoint_of_a_run_has_a_curve_of_its_own(tmp_path: Path) -> None:
    state(tmp_path / "tlm" / "checkpoint-3", 3, [{"step": s, "loss": 9.0 - s} for s in (1, 2, 3)])
    (curve,) = gather([tmp_path / "tlm" / "checkpoint-3"]).curves
    assert (curve.run, curve.steps) == ("checkpoint-3", (1, 2, 3))
    (curve,) = gather([tmp_path / "tlm"]).curves
    assert curve.run == "tlm"


def test_curves_of_seeds_of_one_recipe_alone_have_one_label(tmp_path: Path) -> None:
    for folder, seed, steps in (("a", 1, 9), ("b", 2, 9), ("c", 1, 5)):
        state(tmp_path / folder, 3, [{"step": s, "loss": 9.0 - s} for s in (1, 2, 3)])
        record = {"name": "tlm", "values": {"seed": seed, "steps": steps}}
        (tmp_path / folder / "run.json").write_text(json.dumps(record))
    found = [curve.run for curve in gather([tmp_path]).curves]
    assert found == ["tlm steps=9", "tlm steps=9", "tlm steps=5"]
    for folder in ("d/run", "e/run"):
        state(tmp_path / folder, 3, [{"step": s, "loss": 9.0 - s} for s in (1, 2, 3)])
    assert [c.run for c in gather([tmp_path / "d", tmp_path / "e"]).curves] == ["run (d/run)", "run (e/run)"]


def test_long_curves_are_averaged_down(tmp_path: Path) -> None:
    state(tmp_path, 10000, [{"step": s, "loss": float(s % 2)} for s in range(1, 10001)])
    (curve,) = read_curves(tmp_path, "a")
    assert len(curve.steps) <= 300
    assert max(abs(v - 0.5) for v in curve.values) < 0.02


def test_runs_of_one_label_are_one_line_with_their_deviation() -> None:
    curves = [Curve("tlm", "loss", (1, 2, 3), (4.0, 3, 2)), Curve("tlm", "loss", (1, 2), (6.0, 5)),
              Curve("mlm", "loss", (1, 2), (1.0, 1)), Curve("mlm", "learning_rate", (1, 2), (1.0, 0))]  # fmt: skip
    loss, rate = curve_figures(curves)
    assert [s.label for s in loss.series] == ["tlm (2 runs)", "mlm"]
    assert loss.series[0].x == [1, 2] and loss.series[0].y == [5, 4]
    assert loss.series[0].sd == pytest.approx([2**0.5, 2**0.5])
    assert rate.title == "learning_rate"
