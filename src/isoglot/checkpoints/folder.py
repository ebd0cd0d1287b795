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
    """A checkpoint's own folder, from it or the run's folder around it; a hub name stays as it is.

    A packed aligner, and the one that comes with the package, is unpacked into the cache.

    ``file``: what the folder must hold; ``tokenizer`` stands for any file of a tokenizer.
    """
    folder, name = Path(checkpoint).expanduser(), str(checkpoint)
    patterns = TOKENIZER_FILES if file == "tokenizer" else (file,)
    for path in () if name == BOX else map(recovered, (folder, folder / CHECKPOINT)):
        if path.is_dir() and any(any(path.glob(pattern)) for pattern in patterns):
            return path
    if (packed := packed_file(checkpoint)) is not None:
        from isoglot.checkpoints.packed import unpacked  # noqa: PLC0415 - loads numpy

        return unpacked(packed)
    if folder.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        missing = "tokenizer.json" if file == "tokenizer" else file
        raise ConfigurationError(
            f"{checkpoint}: {f'holds no {missing}' if folder.exists() else 'does not exist'}; give a checkpoint's "
            "folder (config.json, model.safetensors, tokenizer.json), a finished run's folder, a packed aligner, or a "
            "hub name"
        )
    return name


def checkpoints_of(place: str | Path) -> list[str | Path]:
    """The checkpoints that a name stands for: itself, or of a folder of several runs every finished run in it.

    `runs/layers` with `layer=4/seed-1` to `layer=10/seed-3` stands for these runs, the values in their own order.
    """
    folder = Path(place).expanduser()
    if str(place) == BOX or not folder.is_dir() or _is_checkpoint_or_run(folder):
        return [place]
    finished, unfinished = list[str | Path](), list[Path]()
    for run in _runs_below(folder):
        (finished if (run / CHECKPOINT / "config.json").is_file() else unfinished).append(run)
    if finished and unfinished:
        _LOGGER.warning(
            "%s: %d runs have no checkpoint and are left out (first: %s)",
            place,
            len(unfinished),
            unfinished[0],
        )
    return finished or [place]


def _is_checkpoint_or_run(folder: Path) -> bool:
    names = ("config.json", f"{CHECKPOINT}/config.json", RUN, MANIFEST)
    return any((folder / name).is_file() for name in names)


def _runs_below(folder: Path) -> Iterator[Path]:
    """The folders of runs, at any depth; what is inside a run's folder is part of that run."""
    for path in sorted(folder.iterdir(), key=_in_order_of_numbers):
        if path.is_dir() and not path.name.startswith("."):
            if _is_checkpoint_or_run(path):
                yield path
            else:
                yield from _runs_below(path)


def _in_order_of_numbers(path: Path) -> list[tuple[float, str]]:
    """A key by which `layer=4` stands before `layer=10`, and `learning_rate=2e-05` before `learning_rate=0.001`."""
    parts = re.split(r"(\d+(?:\.\d+)?(?:e-?\d+)?)", path.name)
    return [(float(part), "") if number % 2 else (0.0, part) for number, part in enumerate(parts)]


def packed_file(checkpoint: str | Path) -> Path | None:
    """The packed aligner that is meant, if one is: a file, or by its name the one that comes with the package.

    The name is never a folder of that name: what the default means must not hang on where a command is run.
    """
    path = Path(checkpoint).expanduser()
    if str(checkpoint) == BOX:
        return BOX_FILE
    if path.is_file():
        from isoglot.checkpoints.packed_file import is_packed  # noqa: PLC0415 - loads numpy

        return path if is_packed(path) else None
    return None
