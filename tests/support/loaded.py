"""Libraries that are loaded already: a server that forks for each command, an ``isoglot`` and a ``python`` that ask it.

A process of its own takes seconds to import torch, most of a short command's time. The forked one has the folder,
environment, arguments and streams of the command that was typed, and its exit code. A test that kills its process,
or that asks what a process imports, starts a real one instead: the command that was typed is only the client.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType

_LIBRARIES = ("isoglot.cli.program", "torch", "transformers", "datasets", "isoglot.pretraining.pretrain",
              "isoglot.finetuning.finetune", "isoglot.aligners.statistical.model")  # fmt: skip
_READ_ON_IMPORT = {
    "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "100",
}
_COMMAND = """\
#!{python} -ISE
import json, os, socket, sys

server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
call = json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(call).to_bytes(8, "big")], [0, 1, 2])
server.sendall(call)
sys.exit(int(server.recv(16) or 70))
"""


@cache
def commands() -> Path:
    """The folder of ``isoglot`` and ``python`` for the ``PATH``, whose server runs until this process ends."""
    folder = Path(mkdtemp(prefix="isoglot"))
    address = str(folder / "server")
    server = subprocess.Popen(
        [sys.executable, "-P", __file__, address], stdout=subprocess.PIPE, env=os.environ | _READ_ON_IMPORT
    )
    atexit.register(server.kill)
    assert server.stdout is not None and server.stdout.readline() == b"ready\n"
    for name in ("isoglot", "python"):
        command = folder / name
        command.write_text(_COMMAND.format(python=sys.executable, address=address, name=name))
        command.chmod(0o755)
    return folder


def python() -> str:
    """A ``python`` that has the libraries loaded; it takes ``-c CODE``, ``-m MODULE`` or a script, and arguments."""
    return str(commands() / "python")


def _serve(address: str) -> None:
    for library in _LIBRARIES:
        importlib.import_module(library)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen()
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forked ones
    while True:
        client, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            os._exit(_answer(client))
        client.close()


def _answer(client: socket.socket) -> int:
    """Run a client's command with what belongs to the client, and send it the exit code."""
    size, streams, _, _ = socket.recv_fds(client, 8, 3)
    with client.makefile("rb") as file:
        name, words, folder, environment = json.loads(file.read(int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for entry in reversed(environment.get("PYTHONPATH", "").split(os.pathsep)):
        sys.path.insert(0, str(Path(entry).absolute()))
    code = 1
    try:
        if name == "python":
            _run_python(words)
            code = 0
        else:
            sys.argv = ["isoglot", *words]
            importlib.import_module("isoglot.cli.ending").main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    client.sendall(str(code).encode())
    return code


def _run_python(words: list[str]) -> None:
    """Run ``-c CODE``, ``-m MODULE`` or a script, as the interpreter does."""
    option, *rest = words
    sys.modules.pop("__main__", None)
    if option == "-c":
        main = sys.modules["__main__"] = ModuleType("__main__")
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    elif option == "-m":
        sys.argv = rest
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, str(Path(option).parent))
        main = sys.modules["__main__"] = ModuleType("__main__")
        main.__file__ = option
        exec(compile(Path(option).read_bytes(), option, "exec"), vars(main))


if __name__ == "__main__":
    _serve(sys.argv[1])
