"""`prepare --engine ray`: the local engine's files, and a run that goes on after its workers or itself were killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.corpus import prepare as module
from isoglot.corpus.manifest import read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats import line_files
from isoglot.formats.readers import Reader
from isoglot.formats.sources import Source
from isoglot.runs.pool import WorkPool

OPTIONS = PrepareOptions(duplicates="pair", max_length_ratio=3, shard_rows=1000)


def write_pairs(path: Path, count: int) -> Source:
    """Pairs of which every third repeats one of another part."""
    rows = [f"the pair {i % (2 * count // 3)}\tdas Paar {i % (2 * count // 3)}\n" for i in range(count)]
    path.write_text("".join(rows), encoding="utf-8")
    return Source(path=str(path), source_language="en", target_language="de")


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Local(WorkPool):
    """Works here, in place of a cluster, until it is to stop."""

    stop_after = 10**9

    def __init__(self, workers: int | None, setup: Any, settings: object, *, fewer: str) -> None:
        super().__init__(1, setup, settings, fewer=fewer)

    def submit(self, function: Any, *arguments: object, gpu: bool = False) -> Any:
        Local.stop_after -= 1
        if Local.stop_after < 0:
            raise KeyboardInterrupt
        return super().submit(function, *arguments)


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> type[Local]:
    monkeypatch.setattr(line_files.LineFile.take, "__defaults__", (100, 1 << 20))
    monkeypatch.setattr(module, "RayPool", Local)
    monkeypatch.setattr(Local, "stop_after", 10**9)
    return Local


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize("more", [{}, {"sampling_exponent": 0.5, "sampling_total": 900}, {"limit": 700}])
def test_a_stopped_run_goes_on_in_its_folder(
    tmp_path: Path, stopping: type[Local], more: dict[str, Any]
) -> None:
    source = write_pairs(tmp_path / "a.tsv", 3000)
    options = OPTIONS.model_copy(update={"shard_rows": 300, **more})
    prepare(source, tmp_path / "local", options=options, processes=2)
    for steps in (2, 4, 8):
        stopping.stop_after = steps
        with pytest.raises(KeyboardInterrupt):
            prepare(source, tmp_path / "out", options=options, engine="ray")
        assert not (tmp_path / "out").exists()
        assert (tmp_path / "out.parts" / "parts").is_dir()
    stopping.stop_after = 10**9
    (tmp_path / "out").mkdir()
    prepare(source, tmp_path / "out", options=options, engine="ray")
    assert content(tmp_path / "out") == content(tmp_path / "local")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tsv", "local", "out"]


def test_finished_blocks_of_a_stopped_run_are_not_made_again(
    tmp_path: Path, stopping: type[Local], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_pairs(tmp_path / "a.tsv", 1000)
    stopping.stop_after = 5
    with pytest.raises(KeyboardInterrupt):
        prepare(source, tmp_path / "out", options=OPTIONS, engine="ray")
    stopping.stop_after = 10**9
    parsed: list[Any] = []
    parse = Reader.parse
    monkeypatch.setattr(Reader, "parse", lambda *given: parsed.append(given) or parse(*given))
    prepare(source, tmp_path / "out", options=OPTIONS, engine="ray")
    assert len(parsed) == 5


def command(source: Source, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "isoglot.cli", "prepare", source.path, "--source-lang", "en", "--target-lang", "de",
            "--duplicates", "pair", "--max-length-ratio", "3", "--out", str(out), "--quiet", *more]  # fmt: skip


PRIORITY = {**os.environ, "RAY_worker_niceness": "0"}  # else 15 below the driver's
RAY = ("--engine", "ray", "--processes", "2")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Source, Path]:
    """Pairs for many parts, and what the local engine makes of them."""
    pytest.importorskip("ray")
    folder = tmp_path_factory.mktemp("corpus")
    source = write_pairs(folder / "a.tsv", 1_500_000)
    subprocess.run(command(source, folder / "local", "--processes", "2"), check=True)
    return source, folder / "local"


def workers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Ray's processes that are at a piece of work, and those that wait for one."""
    below = psutil.Process(process.pid).children(recursive=True)
    return [p for p in below if p.cmdline() and p.cmdline()[0].startswith(("ray::_work", "ray::IDLE"))]


def parts(out: Path) -> int:
    return len(list(out.with_name(f"{out.name}.parts").glob("parts/*.npz")))


def until(process: subprocess.Popen[bytes], out: Path, count: int) -> None:
    """Wait until so many parts are there."""
    while process.poll() is None and parts(out) < count:
        time.sleep(0.05)
    assert process.poll() is None, "the run was over too soon"


@pytest.mark.parametrize("killed", ["nothing", "workers", "driver"])
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ray_writes_the_local_files(corpus: tuple[Source, Path], tmp_path: Path, killed: str) -> None:
    source, local = corpus
    out = tmp_path / "out"
    process = subprocess.Popen(command(source, out, *RAY), env=PRIORITY)
    if killed == "workers":
        for count in (2, 6):
            until(process, out, count)
            found = workers_of(process)
            assert found
            for worker in found:
                worker.kill()
    if killed == "driver":
        until(process, out, 3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not out.exists()
        process = subprocess.Popen(command(source, out, *RAY), env=PRIORITY)
    assert process.wait() == 0
    manifest = read_manifest(out)
    assert manifest is not None
    assert manifest.rows == 1_000_000
    assert manifest.languages[0].removed == {"duplicates": 500_000}
    assert content(out) == content(local)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_mistake_far_down_is_met_in_its_turn(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    source = write_pairs(tmp_path / "a.tsv", 200_000)
    with Path(source.path).open("a") as file:
        file.write("broken\n")
    with refused(InputError, "a.tsv:200001: 1 columns"):
        prepare(source, tmp_path / "out", engine="ray", processes=2)
    assert not (tmp_path / "out").exists()
    state = json.loads((tmp_path / "out.parts" / "run.json").read_text())
    assert state["digest"]
