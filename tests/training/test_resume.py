"""Runs that are killed and resumed end with the weights of a run that is not."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import peft
import psutil
import pytest
import torch
from training_fakes import contrast_model, differing, make_model, make_trainer, weights
from transformers import TrainerCallback

from isoglot.modules.adapter_options import AdapterOptions
from isoglot.recipe.sections import PartsSection
from isoglot.training.trainer import AlignmentTrainer

SHORT = {"examples": 56}  # seven steps
WRAPPER = peft.LoraConfig(r=2, target_modules=["query"], modules_to_save=["transform"])
SUPPORT = Path(__file__).parents[1] / "support"


class Stop(TrainerCallback):
    """Ends a run at a step, as a kill would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def trainer_of(folder: Path, *, contrast: bool = False, **settings: Any) -> AlignmentTrainer:
    model = contrast_model() if contrast else make_model(text=True) if "text" in settings else None
    if adapter := settings.pop("adapter", None):
        model = make_model(adapter=adapter)
    return make_trainer(folder, model=model, **settings)


LATE_ENCODER = PartsSection(encoder=0.5, head=3, layer_decay=0.5, freeze_encoder_steps=3)
LATE_CONTRAST = PartsSection(embeddings=0, freeze_encoder_steps=4)
FROZEN_LAYER = PartsSection(freeze_layers=1, head=2)
LORA = AdapterOptions(rank=2, dropout=0.1)


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"dataloader_num_workers": 2, "gradient_accumulation_steps": 2}, marks=pytest.mark.slow),
        pytest.param({"bf16": True, "gradient_accumulation_steps": 3}, marks=pytest.mark.slow),
        {**SHORT, "bf16": True, "contrast": True},
        pytest.param({"text": 48, "examples": 16, "dataloader_num_workers": 2}, marks=pytest.mark.slow),
        {**SHORT, "parts": LATE_ENCODER},
        pytest.param({**SHORT, "parts": LATE_CONTRAST, "contrast": True}, marks=pytest.mark.slow),
        pytest.param({**SHORT, "parts": FROZEN_LAYER, "adapter": LORA}, marks=pytest.mark.slow),
        pytest.param(
            {
                **SHORT,
                "adapter": AdapterOptions(type="lokr", rank=2, embeddings=True),
                "dataloader_num_workers": 2,
            },
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {**SHORT, "adapter": partial(peft.get_peft_model, peft_config=WRAPPER)}, marks=pytest.mark.slow
        ),
    ],
    ids=[
        *("fp32-workers", "bf16", "contrast", "concatenated", "late-encoder", "late-contrast"),
        *("lora", "lokr", "wrapped"),
    ],
)
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")  # peft reads it
def test_interrupted_anywhere_ends_the_same(tmp_path: Path, settings: dict[str, Any]) -> None:
    make = partial(trainer_of, **settings)
    whole = make(tmp_path / "whole", epochs=1)
    whole.train()
    last = whole.batches.steps
    folder = tmp_path / "broken"
    for step in (2, 4, last - 1):  # before the first checkpoint, between two, at the end
        with pytest.raises(KeyboardInterrupt):
            make(folder, epochs=1, save_steps=2, callbacks=[Stop(step)]).train(resume_from_checkpoint=True)
    resumed = make(folder, epochs=1, save_steps=2)
    resumed.train(resume_from_checkpoint=True)
    assert resumed.state.global_step == last
    assert not differing(weights(whole.model), weights(resumed.model))


def launch(folder: Path, settings: Path, ranks: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(SUPPORT / "resume_run.py"), str(folder), str(settings)]
    if ranks > 1:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command[1:1] = ["-m", "torch.distributed.run", f"--nproc-per-node={ranks}", f"--master-port={port}"]
    with (folder.parent / f"{folder.name}.log").open("ab") as log:
        return subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": str(SUPPORT),
                "CUDA_VISIBLE_DEVICES": "",
            },
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 the process with its loader workers and ranks (torchrun gives each rank a session of its own)."""
    everyone = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    for one in everyone:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    process.wait()
    _, alive = psutil.wait_procs(everyone[:-1], timeout=60)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


def tail(folder: Path) -> str:
    return (folder.parent / f"{folder.name}.log").read_text(errors="replace")[-3000:]


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("bf16", [False, True], ids=["fp32", "bf16"])
def test_killed_at_random_ends_the_same(tmp_path: Path, ranks: int, bf16: bool) -> None:
    settings = {
        "epochs": 2,
        "examples": 256,
        "save_steps": 1,
        "bf16": bf16,
        "dataloader_num_workers": 2,
        "gradient_accumulation_steps": 2,
        "slowly": 0.05,
    }
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(settings))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    uninterrupted = launch(whole, path, ranks)
    assert uninterrupted.wait(timeout=600) == 0, tail(whole)
    rng = random.Random(0)
    kills, in_a_save = 0, 0
    for attempt in range(40):
        process = launch(broken, path, ranks)
        before = newest_step(broken)
        deadline = time.monotonic() + 300
        while process.poll() is None and newest_step(broken) == before and time.monotonic() < deadline:
            time.sleep(0.02)  # until it has got past its start
        if attempt < 6:
            time.sleep(rng.uniform(0.0, 0.8))
        else:
            process.wait(timeout=600)
        if process.poll() is None:
            in_a_save += (broken / ".saving").exists()
            kills += 1
            kill(process)
            continue
        assert process.returncode == 0, tail(broken)
        break
    assert kills >= 3, tail(broken)
    assert in_a_save >= 1
    one, two = (torch.load(f / "final.pt") for f in (whole, broken))
    assert not differing(one, two)


def newest_step(folder: Path) -> int:
    return max((int(p.name.split("-")[1]) for p in folder.glob("checkpoint-*")), default=0)
