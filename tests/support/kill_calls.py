"""A server of commands that can be killed: it loads the libraries once and forks, so that kills fall into the work.

Each line of standard input is a JSON list: words of the command, its folder, seconds until it is killed or null. The
answer is its exit code, or null where it was killed.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path

PRELOAD = ("isoglot.cli", "torch", "transformers", "datasets", "isoglot.pretraining.pretrain",
           "isoglot.finetuning.finetune")  # fmt: skip


def perform(words: list[str], folder: Path) -> int:
    """The command, in a process group of its own; what it says goes into a file beside its folder."""
    log = os.open(folder.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.environ["ISOGLOT_CACHE"] = str(folder / "cache")
    sys.argv = ["isoglot", *words]
    from isoglot.cli import main

    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def answer(words: list[str], folder: str, seconds: float | None) -> int | None:
    """Fork for a command, and kill it and all below it when its time is over."""
    process = os.fork()
    if process == 0:
        code = 99
        try:
            os.setsid()
            code = perform(words, Path(folder))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    began = time.monotonic()
    while seconds is None or time.monotonic() - began < seconds:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:  # not yet a group of its own, or already at its end
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    return None if code == -signal.SIGKILL else code


if __name__ == "__main__":
    for name in PRELOAD:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)
