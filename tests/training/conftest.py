"""A run that is trained once and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from training_fakes import make_trainer, weights


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, torch.Tensor]]:
    folder = tmp_path_factory.mktemp("run")
    trainer = make_trainer(folder, epochs=1, examples=72)
    trainer.train()
    return folder, weights(trainer.model)


@pytest.fixture
def run(finished: tuple[Path, Any], tmp_path: Path) -> Path:
    shutil.copytree(finished[0], tmp_path / "run")
    return tmp_path / "run"
