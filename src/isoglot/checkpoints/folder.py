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
"""The name of the aligner that comes with the package."""
BOX_FILE = Path(__file__).parents[1] / "models" / "box.safetensors"


def checkpoint_folder(checkpoint: str | Path, *, file: str = "config.json") -> Path | str:
    """Return the folder of a checkpoint.

    1. The folder itself, or the ``checkpoint`` in the folder of a run: ``runs/a`` gives ``runs/a/checkpoint``.
    2. A packed aligner, or ``box``, the one that comes with the package, is unpacked into the cache.
    3. Anything else that looks like a path is refused: ``./encoder``, ``/data/encoder``, ``a/b/c``.
    4. The rest is a name on the hub and stays as it is: ``owner/name``.

    ``file``: A file that the folder must have; ``tokenizer`` stands for any file of a tokenizer.
    """
    folder, name = Path(checkpoint).expanduser(), str(checkpoint)
    patterns = TOKENIZER_FILES if file == "tokenizer" else (file,)
    for path in () if name == BOX else map(recovered, (folder, folder / CHECKPOINT)):  # 1
        if path.is_dir() and any(any(path.glob(pattern)) for pattern in patterns):
            return path
    packed = packed_file(checkpoint)
    if packed is not None:  # 2
        from isoglot.checkpoints.packed import unpacked  # noqa: PLC0415 - loads numpy

        return unpacked(packed)
    if folder.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:  # 3
        missing = "tokenizer.json" if file == "tokenizer" else file
        raise ConfigurationError(
            f"{checkpoint}: {f'holds no {missing}' if folder.exists() else 'does not exist'}; give a checkpoint's "
            "folder (config.json, model.safetensors, tokenizer.json), a finished run's folder, a packed aligner, or a "
            "hub name"
        )
    return name  # 4


def checkpoints_of(place: str | Path) -> list[str | Path]:
    """Return the checkpoints that a name stands for: the name itself, or every finished run in a folder of runs.

    `runs/layers` with `layer=4/seed-1` to `layer=10/seed-3` stands for these runs, in the order of the values.
    """
    folder = Path(place).expanduser()
    if str(place) == BOX or not folder.is_dir() or _is_checkpoint_or_run(folder):
        return [place]
    finished: list[str | Path] = []
    unfinished: list[Path] = []
    for run in _runs_below(folder):
        if (run / CHECKPOINT / "config.json").is_file():
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
    return finished or [place]


def _is_checkpoint_or_run(folder: Path) -> bool:
    """Whether a folder is a checkpoint, or the folder of a run, finished or not."""
    names = ("config.json", f"{CHECKPOINT}/config.json", RUN, MANIFEST)
    return any((folder / name).is_file() for name in names)


def _runs_below(folder: Path) -> Iterator[Path]:
    """Yield the folders of runs at any depth. The checkpoints inside a run's folder are no runs of their own."""
    for path in sorted(folder.iterdir(), key=_in_order_of_numbers):
        if path.is_dir() and not path.name.startswith("."):
            if _is_checkpoint_or_run(path):
                yield path
            else:
                yield from _runs_below(path)


def _in_order_of_numbers(path: Path) -> list[tuple[float, str]]:
    """Return a key by which `layer=4` sorts before `layer=10`, and `rate=2e-05` before `rate=0.001`."""
    # Splitting at numbers in brackets keeps the numbers: text, number, text, ...
    parts = re.split(r"(\d+(?:\.\d+)?(?:e-?\d+)?)", path.name)
    key: list[tuple[float, str]] = []
    for index, part in enumerate(parts):
        is_number = index % 2 == 1
        key.append((float(part), "") if is_number else (0.0, part))
    return key


def packed_file(checkpoint: str | Path) -> Path | None:
    """Return the packed aligner that a name stands for: a file, or ``box`` for the one that comes with the package.

    A folder of the name ``box`` is not meant: the default aligner must not depend on where a command runs.
    """
    path = Path(checkpoint).expanduser()
    if str(checkpoint) == BOX:
        return BOX_FILE
    if path.is_file():
        from isoglot.checkpoints.packed_file import is_packed  # noqa: PLC0415 - loads numpy

        return path if is_packed(path) else None
    return None
