"""The command line: `isoglot VERB ...`; each command calls a Python function, which its body imports.

`isoglot align`, for example, calls :func:`isoglot.aligners.align_file.align_file`, which does all the work.
Nothing heavy is imported before a command needs it. Open ``program.py`` first: the list of commands, by what they are
for. A module a subject has the commands (``alignment.py``, ``mining.py``, ``pretraining.py``, ``tasks.py``, ...).

- Flags come from option models: ``flags.py``; ``first_options.py`` says which the help shows first, ``help.py`` lays
  the help out, ``option_list.py`` prints options of tasks, views and objectives.
- ``--limit`` is how many input rows are used at most; ``--count`` is how many examples or word pairs are shown.
- Messages: ``spelling.py`` writes the options in messages as flags, ``console.py`` shows progress on standard error.
- The end: ``ending.py`` has the entry point, and turns an error into one line and an exit code.
"""

from importlib import import_module
from typing import Any

_HOMES = {"main": "isoglot.cli.ending", "app": "isoglot.cli.program"}


def __getattr__(name: str) -> Any:
    """Import the entry point or the commands when they are first read."""
    if name not in _HOMES:
        raise AttributeError(f"module 'isoglot.cli' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
