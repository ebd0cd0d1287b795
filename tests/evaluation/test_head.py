from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.head import FinetunedModel
from isoglot.evaluation.options import EvaluateOptions
from isoglot.tasks import build_task


@pytest.fixture
def model(encoder: Path, tmp_path: Path) -> Path:
    """A model with a head that nothing was taught."""
    task = build_task("xnli", [])
    for file in encoder.glob("*token*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    task.head(encoder, labels=task.labels(None), seed=1).save_pretrained(tmp_path)
    return tmp_path


def test_a_model_is_measured_on_its_own_task_alone(model: Path) -> None:
    about = {"options": {"kind": "pos", "heads": "pos"}}
    with pytest.raises(ConfigurationError, match="was fine-tuned for pos, not for xnli"):
        FinetunedModel(model, build_task("xnli", []), about, EvaluateOptions(), Mock())


def test_rows_are_no_longer_than_the_encoder_has_positions(model: Path) -> None:
    task, report = build_task("xnli", [], max_length=100_000), Mock()
    FinetunedModel(model, task, {}, EvaluateOptions(), report)
    assert task.max_length < 100_000
    assert "positions" in report.note.call_args.args[0]
