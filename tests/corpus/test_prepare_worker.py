import os
import signal
import subprocess
import sys

import psutil
import pyarrow.parquet as pq
import pytest
from reading import tsv

from isoglot.corpus.manifest import read_manifest
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare

RUN = """
import signal
import sys
from isoglot.corpus.prepare import prepare
from isoglot.corpus.options import PrepareOptions
from isoglot.formats.sources import Source
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background inherits that it is ignored
print("go", flush=True)
try:
    prepare(Source(path=sys.argv[1], source_language="en", target_language="de"), sys.argv[2], processes=2,
            options=PrepareOptions(min_script_share=0.5, duplicates="pair"),
            progress=lambda *p: print("Progress", *p, flush=True))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_no_process_and_no_output(tmp_path, how):
    with (tmp_path / "a.tsv").open("w") as file:
        file.writelines(f"source sentence number {i}\ttarget sentence number {i}\n" for i in range(1_000_000))
    script = tmp_path / "run.py"
    script.write_text(RUN)
    child = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "a.tsv"), str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout.readline() == "go\n"
    assert child.stdout.readline().startswith("Progress")
    workers = psutil.Process(child.pid).children(recursive=True)
    assert len(workers) >= 2
    if how == signal.SIGINT:
        os.killpg(child.pid, how)  # Ctrl-C reaches the whole group
    else:
        child.kill()
    child.communicate(timeout=60)
    assert child.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    assert not (tmp_path / "out").exists()
    if how == signal.SIGINT:
        assert not list(tmp_path.glob(".out*"))


def test_memory_of_parts_is_given_back_while_running(tmp_path, small_chunks, monkeypatch):
    """Part files go as soon as their shard is written."""
    most = 0

    def look(*_):
        nonlocal most
        most = max(most, len(list(tmp_path.glob(".out.*.partial/parts/*"))))

    source = tsv(tmp_path, [f"a{i}\tb" for i in range(600)])
    prepare(source, tmp_path / "out", options=PrepareOptions(shard_rows=20), progress=look)
    manifest = read_manifest(tmp_path / "out")
    assert list(manifest.shards.values()) == [20] * 30
    assert 0 < most <= 3
    assert pq.ParquetFile(tmp_path / "out" / "data-00000.parquet").metadata.num_rows == 20


def test_workers_start_without_heavy_imports():
    code = "import sys, isoglot.corpus.prepare_worker; print({'torch', 'transformers', 'datasets'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
