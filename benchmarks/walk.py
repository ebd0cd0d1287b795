"""How often a reader who follows a command through the code turns to another file.

    python benchmarks/walk.py isoglot pretrain tlm --out runs/tlm
    python benchmarks/walk.py --in pretraining,recipe --list isoglot pretrain tlm --check

Each function is read where it is called first. A stay is a run of such functions in one file; a reader who goes
downhill has as many stays as files. A pre-training is followed to its first loss, any other command to its end.
`--list` prints every stay, `--in` counts only the folders that it names.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_LAST = ("objectives", "AlignmentModel.forward")
"""Where a pre-training has its first loss."""


class _FirstLoss(BaseException):
    """The end of the walk."""


def walk(command: list[str]) -> list[tuple[str, list[str]]]:
    """The stays of a command: a file below ``src/isoglot``, and the functions that are read there."""
    import isoglot
    from isoglot.cli import main

    home = str(Path(isoglot.__file__).parent) + "/"
    seen: set[CodeType] = set()
    stays: list[tuple[str, list[str]]] = []

    def entered(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(home):
            return
        if event == "return" and code.co_qualname == _LAST[1]:
            raise _FirstLoss
        if event != "call" or code in seen or code.co_name.startswith("<") or _makes_class(code):
            return
        seen.add(code)
        file = code.co_filename.removeprefix(home)
        if not stays or stays[-1][0] != file:
            stays.append((file, []))
        stays[-1][1].append(code.co_qualname)

    given, sys.argv = sys.argv, ["isoglot", *command]
    sys.setprofile(entered)
    try:
        main()
    except (SystemExit, _FirstLoss):
        pass
    finally:
        sys.setprofile(None)
        sys.argv = given
    return stays


def _makes_class(code: CodeType) -> bool:
    """Whether code is the body of a class or of a module, which is run once when it is imported."""
    return not code.co_flags & 0x2  # CO_NEWLOCALS


def main() -> None:
    """Print the count for every file."""
    given = sys.argv[1:]
    options, command = given[: given.index("isoglot")], given[given.index("isoglot") + 1 :]
    folders = tuple(options[options.index("--in") + 1].split(",")) if "--in" in options else ()
    stays = walk(command)
    if folders:
        stays = [stay for stay in stays if stay[0].startswith(folders)]
        stays = [s for n, s in enumerate(stays) if not n or stays[n - 1][0] != s[0]]
    if "--list" in options:
        for file, functions in stays:
            print(f"{file:42} {' '.join(functions)}")
    counts = Counter(file for file, _ in stays)
    for file, count in counts.most_common():
        print(f"{count:4} {file}")
    again = sum(count > 1 for count in counts.values())
    print(f"{len(stays)} stays in {len(counts)} files, {again} of them entered more than once")


if __name__ == "__main__":
    main()
