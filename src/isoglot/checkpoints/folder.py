"""Find the folder of a checkpoint. Nothing here needs torch or transformers."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from isoglot.core.errors import ConfigurationError
from isoglot.runs.folder import CHECKPOINT, TOKENIZER_FILES
from isoglot.runs.listed import recovered
from isoglot.runs.record import MANIFEST, RUN

_LOGGER = logging.getLogger(__name__)

BOX = "box"
"""The name of the aligner that comes with the package, a packed file."""
BOX_FILE = Path(__file__).parents[1] / "models" / "box.safetensors"


def checkpoint_folder(checkpoint: str | Path, *, file: str = "config.json") -> Path | str:
    """Find the folder of a checkpoint by what a user types for it.

    1. `box` is the aligner that comes with the package, even where a folder is called `box`: go to 3.
    2. A folder with the file is the checkpoint itself; else ``FOLDER/checkpoint`` may be one: ``FOLDER`` is a run's.
    3. A packed aligner is unpacked into the cache, and the folder there is returned.
    4. Anything else that exists or looks like a path (``./x``, ``/x``, ``~/x``, ``a/b/c``) is a mistake.
    5. Any other name, ``xlm-roberta-base`` or ``owner/name``, is taken for a name of the hub and returned as a string.

    ``file``: A file that the folder must hold; ``tokenizer`` stands for any file of a tokenizer.
    """
    folder, name = _expanded(checkpoint), str(checkpoint)
    patterns = TOKENIZER_FILES if file == "tokenizer" else (file,)
    if name != BOX:  # 1
        for place in (folder, folder / CHECKPOINT):  # 2
            path = recovered(place)  # its writer may have been killed between two renames
            if path.is_dir() and any(any(path.glob(pattern)) for pattern in patterns):
                return path
    packed = packed_path(checkpoint)
    if packed is not None:  # 3
        from isoglot.checkpoints.packed import unpacked  # noqa: PLC0415 - loads numpy

        return unpacked(packed)
    if folder.exists() or looks_like_path(name):  # 4
        missing = "tokenizer.json" if file == "tokenizer" else file
        problem = f"holds no {missing}" if folder.exists() else "does not exist"
        raise ConfigurationError(
            f"{checkpoint}: {problem}; give a checkpoint's "
            "folder (config.json, model.safetensors, tokenizer.json), a finished run's folder, a packed aligner, or a "
            "hub name"
        )
    return name  # 5


def _expanded(path: str | Path) -> Path:
    """Replace ``~`` by the home folder; the ``~name`` of an unknown user stays, and such a path does not exist."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def looks_like_path(name: str) -> bool:
    """Whether a name is a path and no name on the hub: ``./x``, ``/x``, ``~/x``, ``a/b/c``, but not ``owner/name``."""
    return name.startswith((".", "/", "~")) or name.count("/") > 1


def checkpoints_of(place: str | Path) -> list[str | Path]:
    """List the checkpoints that a name stands for: all checkpoints in a folder of runs, else the name itself.

    ``runs/layers`` with the runs ``layer=4/seed-1`` to ``layer=10/seed-3`` stands for these runs, ``layer=4`` first.

    1. A finished run counts, and so does a checkpoint without a run. Unfinished runs are left out with a warning.
    2. A run to which a link leads too is listed once, where it comes first. Links to a folder above are not followed.
    3. A folder without any checkpoint stands for itself; whoever opens it reports what is missing.
    """
    folder = _expanded(place)
    if str(place) == BOX or not folder.is_dir() or _is_checkpoint_or_run(folder):
        return [place]
    finished: list[str | Path] = []
    unfinished: list[Path] = []
    seen: set[Path] = set()
    for run in _runs_below(folder):
        if run.resolve() in seen:  # 2
            continue
        seen.add(run.resolve())
        has_checkpoint = any((place / "config.json").is_file() for place in (run, run / CHECKPOINT))
        if has_checkpoint:  # 1
            finished.append(run)
        else:
            unfinished.append(run)
    if finished and unfinished:
        _LOGGER.warning(
            "%s: %d runs have no checkpoint and are left out (first: %s)",
            place,
            len(unfinished),
            unfinished[0],
        )
    return finished or [place]  # 3


def _is_checkpoint_or_run(folder: Path) -> bool:
    """Whether a folder is a checkpoint, or a run's folder, finished or not."""
    names = ("config.json", f"{CHECKPOINT}/config.json", RUN, MANIFEST)
    return any((folder / name).is_file() for name in names)


def _runs_below(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Find the folders of runs and checkpoints at any depth; folders inside such a folder are parts of it.

    ``above``: The folders that are being searched, of which ``folder`` is a part. A link back to one of them, such as
    ``runs/a/up`` to ``runs``, is not followed: it would lead round and round.
    """
    above |= {folder.resolve()}
    for path in sorted(folder.iterdir(), key=_by_numbers_in_name):
        if path.is_dir() and not path.name.startswith("."):
            if _is_checkpoint_or_run(path):
                yield path
            elif path.resolve() not in above:
                yield from _runs_below(path, above)


def _by_numbers_in_name(path: Path) -> list[tuple[float, str]]:
    """Return a key by which ``layer=4`` is sorted before ``layer=10``, and ``rate=2e-05`` before ``rate=0.001``.

    ``layer=4`` has the key ``[(0.0, "layer="), (4.0, ""), (0.0, "")]``: text and numbers alternate.
    """
    parts = re.split(r"(\d+(?:\.\d+)?(?:e-?\d+)?)", path.name)
    key: list[tuple[float, str]] = []
    for place, part in enumerate(parts):
        is_number = place % 2 == 1  # re.split puts what the group matched between the texts
        key.append((float(part), "") if is_number else (0.0, part))
    return key


def packed_path(checkpoint: str | Path) -> Path | None:
    """Return the file of a packed aligner, given as a path or as ``box``; ``None`` if it is not one.

    ``box`` never means a file or folder of that name: it is the default, and must mean the same in every folder in
    which a command is run.
    """
    path = _expanded(checkpoint)
    if str(checkpoint) == BOX:
        return BOX_FILE
    if path.is_file():
        from isoglot.checkpoints.packed_file import is_packed  # noqa: PLC0415 - loads numpy

        return path if is_packed(path) else None
    return None
