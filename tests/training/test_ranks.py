"""DDP and FSDP2 under torchrun train as one process does, and go on with what another number of ranks saved."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import loaded
import pytest
import torch
from rank_runs import OBJECTIVES, run

SUPPORT = Path(__file__).parents[1] / "support"
BATCH = 8  # examples of all ranks together


def launched(folder: Path, ranks: int, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The runs in so many processes, by name; one is this one."""
    given = [{"examples": BATCH // ranks, "save_strategy": "no", **run} for run in runs]
    if ranks == 1:
        return {name: run(folder / name, **settings) for settings in given if (name := settings.pop("name"))}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "runs.json").write_text(json.dumps(given))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        loaded.python(),
        "-m",
        "torch.distributed.run",
        f"--nproc-per-node={ranks}",
        f"--master-port={port}",
    ]
    command += [
        "--no-python",
        loaded.python(),
        str(SUPPORT / "rank_runs.py"),
        str(folder),
        str(folder / "runs.json"),
    ]
    path = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: torch.load(folder / f"{name}.pt") for name in [run["name"] for run in runs]}


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Losses of each step that both took, and the weights at the end, to 1e-5."""
    steps = other["losses"].keys()
    assert max(steps) == max(one["losses"]) and steps <= one["losses"].keys()
    for step in steps:
        assert other["losses"][step] == pytest.approx(one["losses"][step], abs=1e-5), step
    assert one["weights"].keys() == other["weights"].keys()
    for name, value in one["weights"].items():
        assert torch.allclose(value.float(), other["weights"][name].float(), rtol=0, atol=1e-5), name


@pytest.mark.slow
def test_two_ranks_that_share_out_the_parameters(tmp_path: Path) -> None:
    """A queue, a momentum copy and masked LM, and a checkpoint that one process goes on with."""
    run = {"name": "ppa", "objective": "ppa", "examples": 16}
    whole = launched(tmp_path / "one", 1, [run])["ppa"]
    halves = {**run, "examples": 8, "fsdp": True, "save_strategy": "steps", "save_steps": 3, "stop": 3}
    first = launched(tmp_path / "two", 2, [halves])["ppa"]
    assert first["parameters"] == whole["parameters"] / 2
    assert first["losses"][3] == pytest.approx(whole["losses"][3], abs=1e-5)
    same(whole, launched(tmp_path / "two", 1, [run])["ppa"])


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Each objective in one process."""
    return launched(tmp_path_factory.mktemp("alone"), 1, [{"name": n, "objective": n} for n in OBJECTIVES])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("fsdp", [False, True], ids=["ddp", "fsdp2"])
def test_ranks_equal_one_process(tmp_path: Path, alone: dict[str, Any], ranks: int, fsdp: bool) -> None:
    sharding = {"fsdp": True} if fsdp else {}
    found = launched(tmp_path, ranks, [{"name": n, "objective": n, **sharding} for n in OBJECTIVES])
    for name, result in found.items():
        same(alone[name], result)
        assert result["parameters"] * (ranks if fsdp else 1) >= alone[name]["parameters"]
        assert not fsdp or result["parameters"] < 0.6 * alone[name]["parameters"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fsdp", [False, True], ids=["ddp", "fsdp2"])
def test_two_ranks_stop_and_one_or_four_go_on(tmp_path: Path, alone: dict[str, Any], fsdp: bool) -> None:
    names = ["weam", "ppa", "dwa", "late"]
    runs = [{"name": n, "objective": n, "save_strategy": "steps", "save_steps": 2} for n in names]
    sharding = {"fsdp": True} if fsdp else {}
    first = launched(tmp_path / "two", 2, [{**r, **sharding, "stop": 5} for r in runs])
    assert [max(result["losses"]) for result in first.values()] == [5] * len(names)
    for ranks, settings in ((1, {}), (4, sharding), (2, {} if fsdp else {"fsdp": True})):
        folder = tmp_path / str(ranks)
        shutil.copytree(tmp_path / "two", folder)
        for name in names:
            assert not (folder / name / "checkpoint-6").exists()
        for name, result in launched(folder, ranks, [{**r, **settings} for r in runs]).items():
            assert min(result["losses"]) <= 5, "the log goes on from the checkpoint's"
            same(alone[name], result)
