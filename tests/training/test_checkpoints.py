from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from training_fakes import differing, make_model, make_trainer, weights
from transformers import AutoModelForMaskedLM, AutoTokenizer

from isoglot.core.errors import TrainingError
from isoglot.training import checkpoints


def test_the_last_ones_are_kept_and_plain_transformers_reads_them(
    run: Path, finished: tuple[Path, Any]
) -> None:
    assert [p.name for p in checkpoints.checkpoints_in(run)] == ["checkpoint-6", "checkpoint-9"]
    assert not checkpoints.staging(run).exists()
    model = AutoModelForMaskedLM.from_pretrained(run / "checkpoint-9")
    assert not differing(
        weights(model),
        {n.removeprefix("model."): v for n, v in finished[1].items() if n.startswith("model.")},
    )
    assert AutoTokenizer.from_pretrained(run / "checkpoint-9").mask_token == "[MASK]"
    rest = load_file(run / "checkpoint-9" / checkpoints.OBJECTIVES)
    assert not differing(rest, {n: v for n, v in finished[1].items() if not n.startswith("model.")})
    assert "objectives.queue.queue" in rest


def test_weights_come_back(run: Path, finished: tuple[Path, Any]) -> None:
    model = make_model()
    before = weights(model)
    checkpoints.load_weights(model, run / "checkpoint-9")
    assert differing(before, weights(model)) and not differing(finished[1], weights(model))
    assert model.model.get_output_embeddings().weight is model.model.get_input_embeddings().weight
    with pytest.raises(TrainingError, match="does not fit this model"):
        checkpoints.load_weights(make_model(queue=False), run / "checkpoint-9")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("file", "damage", "reason"),
    [
        ("model.safetensors", _truncate, "model.safetensors is missing or damaged"),
        ("optimizer.pt", _flip, "damaged"),
        ("rng_state.pth", Path.unlink, "missing"),
        (".isoglot.json", Path.unlink, "not written to the end"),
        (".isoglot.json", _truncate, "cannot be read"),
    ],
)
def test_a_damaged_last_one_falls_back(
    run: Path, file: str, damage: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    damage(run / "checkpoint-9" / file)
    with caplog.at_level(logging.WARNING):
        assert checkpoints.newest(checkpoints.checkpoints_in(run)) == run / "checkpoint-6"
    assert reason in caplog.text and "going back to" in caplog.text
    damage(run / "checkpoint-6" / file)
    with pytest.raises(TrainingError, match=r"(?s)checkpoint-9.*checkpoint-6.*without resume=True"):
        checkpoints.newest(checkpoints.checkpoints_in(run))


def test_resume_after_damage_ends_with_the_same_weights(run: Path, finished: tuple[Path, Any]) -> None:
    _flip(run / "checkpoint-9" / "model.safetensors")
    trainer = make_trainer(run, epochs=1, examples=72)
    trainer.train(resume_from_checkpoint=True)
    assert not differing(finished[1], weights(trainer.model))
    assert checkpoints.newest(checkpoints.checkpoints_in(run)) == run / "checkpoint-9"  # written anew


def test_resume_behind_the_last_checkpoint_leaves_no_unfinished_one(
    run: Path, finished: tuple[Path, Any]
) -> None:
    (run / ".saving" / "checkpoint-9").mkdir(parents=True)
    trainer = make_trainer(run, epochs=1, examples=72)
    trainer.train(resume_from_checkpoint=True)
    assert not (run / ".saving").exists()
    assert not differing(finished[1], weights(trainer.model))


@pytest.mark.slow
def test_resume_of_nothing_starts_and_of_a_broken_one_does_not(
    tmp_path: Path, run: Path, caplog: pytest.LogCaptureFixture, finished: tuple[Path, Any]
) -> None:
    trainer = make_trainer(tmp_path / "new", epochs=1, examples=72)
    trainer.train(resume_from_checkpoint=True)
    assert "starting at step 0" in caplog.text
    assert not differing(finished[1], weights(trainer.model))
    _truncate(run / "checkpoint-6" / "scheduler.pt")
    with pytest.raises(TrainingError, match=r"scheduler\.pt is missing or damaged"):
        make_trainer(run).train(resume_from_checkpoint=str(run / "checkpoint-6"))


@pytest.mark.slow
def test_resuming_with_another_plan_warns(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_trainer(run, epochs=1, examples=72, gradient_accumulation_steps=2).train(resume_from_checkpoint=True)
    assert "not be bit-identical" in caplog.text


def test_a_discarded_checkpoint_leaves_what_the_user_put_there(tmp_path: Path, run: Path) -> None:
    whole = shutil.copytree(run / "checkpoint-9", tmp_path / "checkpoint-9")
    for number in (1, 2):
        shutil.copytree(run / "checkpoint-9", whole, dirs_exist_ok=True)
        (whole / "notes").touch()
        checkpoints.discard(whole)
        assert [p.name for p in (tmp_path / f"checkpoint-9.kept-{number}").iterdir()] == ["notes"]
    assert not whole.exists() and not checkpoints.checkpoints_in(tmp_path)


def test_prune(run: Path) -> None:
    checkpoints.prune(run, None, written=9)
    assert len(checkpoints.checkpoints_in(run)) == 2
    checkpoints.prune(run, 1, written=9)
    assert [p.name for p in checkpoints.checkpoints_in(run)] == ["checkpoint-9"]


@pytest.mark.parametrize(("keep", "kept"), [(1, [9]), (2, [6, 9]), (3, [6, 9, 15]), (4, [6, 9, 12, 15])])
def test_a_run_that_went_back_keeps_what_it_has_just_written(run: Path, keep: int, kept: list[int]) -> None:
    for step in (12, 15):
        shutil.copytree(run / "checkpoint-9", run / f"checkpoint-{step}")
    checkpoints.prune(run, keep, written=9)
    assert [p.name for p in checkpoints.checkpoints_in(run)] == [f"checkpoint-{step}" for step in kept]
