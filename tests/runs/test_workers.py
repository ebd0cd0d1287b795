"""Worker processes end with the process that started them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

_WAITS = """
import sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from os import getpid
from isoglot.runs.workers import end_with_parent
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=end_with_parent)
    print(pool.submit(getpid).result(), flush=True)
    time.sleep(300)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="looks for the process in /proc")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "waits.py"
    script.write_text(_WAITS)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert _lives(worker)
        parent.send_signal(signal.SIGKILL)
        parent.wait(60)
    for _ in range(600):
        if not _lives(worker):
            return
        time.sleep(0.05)
    pytest.fail(f"worker {worker} outlives the process that started it")


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
