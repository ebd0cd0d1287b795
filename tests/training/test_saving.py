from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import torch
from own_pickle import Touch
from training_fakes import differing, make_trainer, weights

from isoglot.core.errors import TrainingError
from isoglot.runs.listed import add_to_list
from isoglot.training import checkpoints


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize("file", ["optimizer.pt", "scheduler.pt", "rng_state.pth"])
def test_a_pickle_in_a_checkpoint_is_an_error_and_not_loaded(run: Path, tmp_path: Path, file: str) -> None:
    checkpoint, left = run / "checkpoint-6", tmp_path / "left"
    torch.save(Touch(left), checkpoint / file)
    add_to_list(checkpoint / file)  # as if the checkpoint came with it
    with pytest.raises(TrainingError, match=r"checkpoint-6: .*holds pickled objects other than tensors"):
        make_trainer(tmp_path / "again").train(resume_from_checkpoint=str(checkpoint))
    assert not left.exists()


def test_remains_of_a_killed_save_are_not_part_of_the_next_one(tmp_path: Path) -> None:
    left = checkpoints.staging(tmp_path) / "checkpoint-9" / "rng_state_1.pth"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"of another rank")
    make_trainer(tmp_path, epochs=1, examples=72).train()
    assert (tmp_path / "checkpoint-9").is_dir()
    assert not (tmp_path / "checkpoint-9" / left.name).exists()
    assert not checkpoints.staging(tmp_path).exists()


def test_saving_swallows_no_other_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "refused")

    monkeypatch.setattr(checkpoints, "save_objectives", refused)
    with pytest.raises(PermissionError):
        make_trainer(tmp_path, epochs=1, examples=72).train()


def test_a_save_cut_short_leaves_nothing_that_looks_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: tuple[Path, Any]
) -> None:
    save = torch.save

    def killed(obj: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        if "checkpoint-6" in str(path) and "rng_state" in str(path):
            raise KeyboardInterrupt
        save(obj, path, *args, **kwargs)

    monkeypatch.setattr(torch, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        make_trainer(tmp_path, epochs=1, examples=72).train()
    monkeypatch.undo()
    assert checkpoints.staging(tmp_path).exists()
    assert checkpoints.newest(checkpoints.checkpoints_in(tmp_path)) == tmp_path / "checkpoint-3"
    trainer = make_trainer(tmp_path, epochs=1, examples=72)
    trainer.train(resume_from_checkpoint=True)
    assert not differing(finished[1], weights(trainer.model))
    assert not checkpoints.staging(tmp_path).exists()
