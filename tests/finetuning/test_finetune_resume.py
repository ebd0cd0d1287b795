from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from isoglot.errors import ConfigurationError
from isoglot.finetuning import watch as finetune_watch
from isoglot.finetuning.finetune import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


class _KilledError(Exception):
    pass


@pytest.fixture
def task(tmp_path: Path) -> Any:
    """Makes a task; there is an encoder in ``model``."""
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    lines = ["".join(f"{w}\tNOUN\n" for w in s.split()) for s in tiny_bitext(32)["source"]]
    (tmp_path / "en.tsv").write_text("\n".join(lines))
    return lambda: build_task("pos", [f"train={tmp_path}/en.tsv", f"dev={tmp_path}/en.tsv"])


@pytest.mark.parametrize(
    ("every", "last"),
    [({"select": "last"}, 8), ({"evaluate_every": 3}, 9)],
    ids=["epochs", "inside an epoch"],
)
def test_a_killed_run_goes_on_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: Any, every: dict[str, Any], last: int
) -> None:
    settings = FinetuneOptions.build(
        learning_rate=1e-3, batch_size=8, epochs=3, dropout=0.1, bucket=2, **every
    )
    whole = finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "whole")

    original = finetune_watch.Watcher.on_step_end

    def kill(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        original(self, args, state, control, **kwargs)
        if state.global_step == 10:
            raise _KilledError

    with monkeypatch.context() as patch:
        patch.setattr(finetune_watch.Watcher, "on_step_end", kill)
        with pytest.raises(_KilledError):
            finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "cut")
    assert (tmp_path / "cut" / "work" / f"checkpoint-{last}").is_dir()
    gone_on = finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "cut")
    one, other = (load_file(folder / "model.safetensors") for folder in (whole, gone_on))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_mistake_leaves_nothing_behind(tmp_path: Path, task: Any) -> None:
    settings = FinetuneOptions.build(select="joint", select_languages=("xx",))
    built = task()
    built.data = type(built.data)([f"train={tmp_path}/en.tsv"])
    with pytest.raises(ConfigurationError, match="no dev data for 'xx'"):
        finetune(tmp_path / "model", built, language="en", train=settings, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_two_processes_train_together_and_one_writes(tmp_path: Path, task: Any) -> None:
    del task
    out = tmp_path / "run"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29733",
               "-m", "isoglot.cli", "finetune", str(tmp_path / "model"), "--task", "pos",
               "--data", f"{tmp_path}/en.tsv", "--out", str(out), "--set", "batch_size=4", "--set",
               "learning_rate=1e-4,1e-3", "--epochs", "2"]  # fmt: skip
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
