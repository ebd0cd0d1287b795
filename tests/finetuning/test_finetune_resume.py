from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refused
from safetensors.torch import load_file

from isoglot.core.errors import ConfigurationError
from isoglot.finetuning import train as finetune_train
from isoglot.finetuning.api import finetune
from isoglot.finetuning.finetune import remove_weights
from isoglot.finetuning.options import FinetuneOptions
from isoglot.finetuning.selection import DevelopmentScorer
from isoglot.finetuning.train import train_head
from isoglot.runs.files import write_text
from isoglot.runs.record import RUN
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer
from isoglot.training.checkpoints import checkpoints_in

SETTINGS: dict[str, Any] = {"learning_rate": 1e-3, "batch_size": 8, "epochs": 3, "dropout": 0.1, "bucket": 2}


class _KilledError(Exception):
    pass


def task_in(folder: Path) -> Any:
    """Part-of-speech tagging with the file of a folder."""
    return build_task("pos", [f"train={folder}/en.tsv", f"dev={folder}/en.tsv"])


def write_inputs(folder: Path) -> None:
    """Write an encoder, ``model``, and tagged words, ``en.tsv``."""
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    lines = ["".join(f"{w}\tNOUN\n" for w in s.split()) for s in tiny_bitext(32)["source"]]
    (folder / "en.tsv").write_text("\n".join(lines))


@pytest.fixture
def task(tmp_path: Path) -> Any:
    """Makes a task; there is an encoder in ``model``."""
    write_inputs(tmp_path)
    return lambda: task_in(tmp_path)


@pytest.mark.parametrize(
    ("every", "last"),
    [
        ({"select": "last"}, 8),
        pytest.param({"evaluate_every": 3}, 9, marks=pytest.mark.slow),
        pytest.param({"adapter": {"rank": 2, "dropout": 0.1}}, 8, marks=pytest.mark.slow),
    ],
    ids=["epochs", "inside an epoch", "adapter"],
)
def test_a_killed_run_goes_on_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: Any, every: dict[str, Any], last: int
) -> None:
    settings = FinetuneOptions.build(
        learning_rate=1e-3, batch_size=8, epochs=3, dropout=0.1, bucket=2, **every
    )
    whole = finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "whole")

    original = finetune_train.Watcher.on_step_end

    def kill(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        original(self, args, state, control, **kwargs)
        if state.global_step == 10:
            raise _KilledError

    with monkeypatch.context() as patch:
        patch.setattr(finetune_train.Watcher, "on_step_end", kill)
        with pytest.raises(_KilledError):
            finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "cut")
    assert (tmp_path / "cut" / "work" / f"checkpoint-{last}").is_dir()
    gone_on = finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "cut")
    one, other = (load_file(folder / "model.safetensors") for folder in (whole, gone_on))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_an_adapter_is_merged_and_kept(tmp_path: Path, task: Any) -> None:
    settings = FinetuneOptions.build(**SETTINGS, select="last", adapter={"rank": 2, "keep": True})
    done = finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "run")
    before, after = (load_file(folder / "model.safetensors") for folder in (tmp_path / "model", done))
    shared = {name for name in before if name in after}
    changed = {name for name in shared if not torch.equal(before[name], after[name])}
    assert not any("lora" in name or "base_layer" in name for name in after)
    assert changed and all(name.endswith(".weight") and ".layer." in name for name in changed)
    names = load_file(tmp_path / "run" / "adapter" / "adapter_model.safetensors")
    assert len(names) == 2 * len(changed)


def select_by(patch: pytest.MonkeyPatch, *values: float) -> None:
    """Have the checkpoints of the epochs chosen by these values."""
    given = iter(values)
    patch.setattr(DevelopmentScorer, "__call__", lambda self, prediction: {"selection": next(given)})


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the inputs, ``whole``, which ended, and ``cut``, which was stopped in its third epoch."""
    folder = tmp_path_factory.mktemp("shared")
    write_inputs(folder)
    settings = FinetuneOptions.build(**SETTINGS)
    original = finetune_train.Watcher.on_step_end

    def kill(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        original(self, args, state, control, **kwargs)
        if state.global_step == 10:
            raise _KilledError

    with pytest.MonkeyPatch.context() as patch:
        select_by(patch, 2.0, 1.0, 1.5)
        finetune(folder / "model", task_in(folder), language="en", train=settings, out=folder / "whole")
        assert not (folder / "whole" / "work").exists()
        select_by(patch, 2.0, 1.0, 1.5)
        patch.setattr(finetune_train.Watcher, "on_step_end", kill)
        with pytest.raises(_KilledError):
            finetune(folder / "model", task_in(folder), language="en", train=settings, out=folder / "cut")
    assert [p.name for p in checkpoints_in(folder / "cut" / "work")] == ["checkpoint-4", "checkpoint-8"]
    return folder


@pytest.fixture
def unfinished(shared: Path, tmp_path: Path) -> Path:
    """A copy of the run that was stopped; its best checkpoint is the first, its last the second."""
    return shutil.copytree(shared / "cut", tmp_path / "cut")


class _Notes:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)

    def progress(self, label: str, done: int, total: int) -> None:
        pass


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize(
    ("damaged", "steps"),
    [
        ([], 8),
        (["checkpoint-8/model.safetensors"], 4),
        pytest.param(["checkpoint-8/optimizer.pt"], 4, marks=pytest.mark.slow),
        pytest.param(["checkpoint-8/trainer_state.json"], 4, marks=pytest.mark.slow),
        pytest.param(["checkpoint-8/rng_state.pth"], 4, marks=pytest.mark.slow),
        (["checkpoint-8/.isoglot.json"], 4),
        (["checkpoint-4/model.safetensors"], 0),  # the best: without it the later one is of no use
        (["checkpoint-8/model.safetensors", "checkpoint-4/scheduler.pt"], 0),
    ],
    ids=str,
)
def test_a_run_with_truncated_files_goes_back_and_ends_the_same(
    monkeypatch: pytest.MonkeyPatch, shared: Path, unfinished: Path, damaged: list[str], steps: int
) -> None:
    for name in damaged:
        path = unfinished / "work" / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    started: list[int] = []
    original = finetune_train.Watcher.on_train_begin

    def begin(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        started.append(state.global_step)
        original(self, args, state, control, **kwargs)

    monkeypatch.setattr(finetune_train.Watcher, "on_train_begin", begin)
    select_by(monkeypatch, *[2.0, 1.0, 1.5][steps // 4 :])
    settings, notes = FinetuneOptions.build(**SETTINGS), _Notes()
    folder = finetune(
        shared / "model", task_in(shared), language="en", train=settings, out=unfinished, progress=notes
    )
    assert not (unfinished / "work").exists()
    assert started == [steps]
    assert any("cannot be used" in line for line in notes.lines) == bool(damaged)
    one, other = (load_file(f / "model.safetensors") for f in (shared / "whole" / "checkpoint", folder))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
def test_settings_that_were_tried_are_not_tried_again_while_their_weights_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: Any
) -> None:
    settings = FinetuneOptions.build(**SETTINGS | {"learning_rate": (1e-3, 1e-4), "epochs": 1})
    tried = list[float]()

    def train(*given: Any, **named: Any) -> Any:
        options = given[4]
        tried.append(options.learning_rate)
        if len(tried) == 2:
            raise _KilledError
        return train_head(*given, **named)

    monkeypatch.setattr("isoglot.finetuning.finetune.train_head", train)

    def run() -> None:
        finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "run")

    with pytest.raises(_KilledError):
        run()
    first = tmp_path / "run" / "grid" / "1"
    assert (first / "manifest.json").is_file() and not (first / "work").exists()
    for place in (first, tmp_path / "run"):  # as after a kill between the manifest and the end of the work
        write_text(place / "work" / ".saving" / "half", "")
        run()
        assert not (place / "work").exists()
    assert tried == [1e-3, 1e-4, 1e-4]
    remove_weights(tmp_path / "run")
    assert not first.exists() and (tmp_path / "run" / "manifest.json").is_file()
    run()
    assert tried[3:] == [1e-3, 1e-4]


def test_a_run_whose_folder_was_moved_still_knows_its_best_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: Path, unfinished: Path
) -> None:
    best = load_file(unfinished / "work" / "checkpoint-4" / "model.safetensors")
    unfinished.rename(tmp_path / "moved")
    select_by(monkeypatch, 1.5)
    settings = FinetuneOptions.build(**SETTINGS)
    folder = finetune(
        shared / "model", task_in(shared), language="en", train=settings, out=tmp_path / "moved"
    )
    kept = load_file(folder / "model.safetensors")
    assert all(torch.equal(best[name], kept[name]) for name in best)


def test_resuming_with_another_version_of_a_library_warns(
    shared: Path, unfinished: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = unfinished / RUN
    started = json.loads(path.read_text())
    assert {"torch", "transformers", "isoglot"} <= set(started["versions"])
    started["versions"] |= {"torch": "2.0.1", "isoglot": "0.0.1"}
    path.write_text(json.dumps(started))
    settings = FinetuneOptions.build(**SETTINGS)
    finetune(shared / "model", task_in(shared), language="en", train=settings, out=unfinished)
    assert "isoglot 0.0.1 -> " in caplog.text and "torch 2.0.1 -> " in caplog.text


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("select", ["source", "last"])
def test_killed_inside_saves_it_ends_the_same(tmp_path: Path, task: Any, select: str) -> None:
    del task
    script = Path(__file__).parents[1] / "support" / "finetune_run.py"

    def launch(out: Path) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            str(script),
            str(tmp_path / "model"),
            str(tmp_path / "en.tsv"),
            str(out),
            select,
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        with (tmp_path / f"{out.name}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    assert launch(tmp_path / "whole").wait(timeout=300) == 0, (tmp_path / "whole.log").read_text()
    broken, in_a_save = tmp_path / "broken", 0
    staged = broken / "work" / ".saving"
    for attempt in range(12):
        process = launch(broken)
        deadline = time.monotonic() + 300
        while process.poll() is None and not staged.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        if attempt < 4:
            time.sleep(0.03 * attempt)
            in_a_save += staged.exists()
            process.kill()
            process.wait()
            continue
        assert process.wait(timeout=300) == 0, (tmp_path / "broken.log").read_text()
        break
    assert in_a_save >= 2
    one, other = (load_file(out / "checkpoint" / "model.safetensors") for out in (tmp_path / "whole", broken))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_mistake_leaves_nothing_behind(tmp_path: Path, task: Any) -> None:
    settings = FinetuneOptions.build(select="joint", select_languages=("xx",))
    built = task()
    built.data = type(built.data)([f"train={tmp_path}/en.tsv"])
    with refused(ConfigurationError, "dev data for 'xx'", "en.tsv", "dev_fraction=0.05"):
        finetune(tmp_path / "model", built, language="en", train=settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_interrupted_before_its_first_checkpoint_leaves_the_users_files(
    tmp_path: Path, task: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        (tmp_path / "run" / "notes").write_text("mine")
        raise KeyboardInterrupt

    monkeypatch.setattr("isoglot.finetuning.finetune.train_head", interrupted)
    with pytest.raises(KeyboardInterrupt):
        finetune(tmp_path / "model", task(), language="en", out=tmp_path / "run")
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["notes"]


@pytest.mark.slow
def test_two_processes_train_together_and_one_writes(tmp_path: Path, task: Any) -> None:
    del task
    out = tmp_path / "run"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29733",
               "-m", "isoglot.cli", "finetune", str(tmp_path / "model"), "--task", "pos",
               "--data", f"train={tmp_path}/en.tsv", "--data", f"dev={tmp_path}/en.tsv", "--out", str(out),
               "--set", "batch_size=4", "--set", "learning_rate=1e-4,1e-3", "--epochs", "2"]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=250)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["steps"] == 2 * 32 / (2 * 4)
    assert done.stdout.splitlines() == [str(out / "checkpoint")]
    assert not (out / "grid" / "1" / "work").exists()
    again = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=250)
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("already done") == 1
