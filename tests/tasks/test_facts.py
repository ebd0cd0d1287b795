"""A task's facts stand on its class, also those of a task that isoglot does not have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

import pytest
from own_task import OWN_TASK
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.finetuning.options import PRESETS, FinetuneOptions, task_with_settings
from isoglot.tasks import TASKS, TaskFacts, build_task, is_probe, task_class, task_options
from isoglot.tasks.base import Probe, TrainableTask
from isoglot.testing import tiny_model, tiny_tokenizer


@pytest.fixture
def custom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_tasks_of_a_test.py").write_text(OWN_TASK)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_tasks_of_a_test", raising=False)
    return "own_tasks_of_a_test:Lengths"


@pytest.mark.parametrize("name", TASKS)
def test_each_task_is_a_probe_or_trained_and_says_what_its_options_mean(name: str) -> None:
    task = build_task(name, [])
    assert is_probe(name) == isinstance(task, Probe) != isinstance(task, TrainableTask)
    assert task.name == TaskFacts.of(task).kind == TaskFacts.of(task_class(name)).kind == name
    assert isinstance(task.primary_metric, str)
    options = task_options(name).model_fields
    for option, field in options.items():
        assert field.description and "`" not in field.description, option
    settings = FinetuneOptions.model_fields.keys() | options.keys()
    for paper, values in TaskFacts.of(task).presets.items():
        assert paper in PRESETS and set(values) <= settings
        assert task_with_settings(name, [], paper=paper)[1].grid()


def test_options_are_of_the_task_that_has_them() -> None:
    assert "words" in task_options("pos").model_fields
    with refused(ConfigurationError, "task ner: words: ", "known: allowed"):
        build_task("ner", [], words="written")
    with refused(ConfigurationError, "task xnli: untranslated: ", "known: frozen"):
        build_task("xnli", [], untranslated="drop")
    with refused(ConfigurationError, "task tatoeba: layer: ", "None"):
        build_task("tatoeba", [], layer=None)


def test_a_presets_options_of_the_task_are_set_on_the_task() -> None:
    task, train = task_with_settings("xquad", [], paper="xtreme", epochs=1)
    assert (task.windows, train.epochs, train.warmup) == ("advance", 1, 500)
    task, _ = task_with_settings("xquad", [], paper="xtreme", windows="share", n_best=3)
    assert (task.windows, task.n_best) == ("share", 3)
    assert task_with_settings("xquad", [], paper="ppa")[0].windows == "advance"
    with refused(ConfigurationError, "xquad", "'n_bst'", "'n_best'"):
        task_with_settings("xquad", [], paper="xtreme", n_bst=3)


def test_a_task_of_ones_own_is_one_class(custom: str, tmp_path: Path) -> None:
    encoder = tmp_path / "tiny"
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(encoder)
    (tmp_path / "de.txt").write_text("a bb cccc ddddd")
    assert is_probe(custom)
    longest = task_options(custom).model_fields["longest"]
    assert (longest.default, longest.description) == (3, "What counts as long, in characters.")
    data = [f"{tmp_path}/{{language}}.txt"]
    (row,) = evaluate_checkpoint(encoder, build_task(custom, data, longest=4), languages=["de"])
    assert (row.task, row.value, row.options) == ("lengths", 25.0, {"longest": 4})
    assert TaskFacts.of(build_task(custom, data)) == TaskFacts(kind="lengths", heads="lengths")
    with refused(ConfigurationError, "longst: ", "'longest'"):
        build_task(custom, data, longst=4)


class WithoutSettings:
    """A task of one's own."""

    name, primary_metric = "own", "f1"

    def __init__(self, data: object) -> None:
        self.data = data


class WithSettings(WithoutSettings):
    """One that states settings."""

    presets: ClassVar = {"mine": {"epochs": 7}}


def test_a_custom_task_with_a_head_may_state_settings_or_take_the_defaults() -> None:
    own, other = f"{__name__}:WithSettings", f"{__name__}:WithoutSettings"
    assert task_with_settings(other, [], paper="xtreme")[1] == FinetuneOptions()
    assert task_with_settings(own, [], paper="mine")[1].epochs == 7
    with refused(ConfigurationError, "'xtreme'", " own: ", "`preset` mine"):
        task_with_settings(own, [], paper="xtreme")


def test_a_task_can_be_named_beside_its_settings() -> None:
    task, settings = task_with_settings("pos", [], paper="xtreme", name="pos_ewt", epochs=2)
    assert (task.name, settings.epochs) == ("pos_ewt", 2)
