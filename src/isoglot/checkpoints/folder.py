"""Where a checkpoint is. Nothing here needs torch or transformers."""

from pathlib import Path

from isoglot.core.errors import ConfigurationError
from isoglot.runs.folder import CHECKPOINT, TOKENIZER_FILES
from isoglot.runs.listed import recovered

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
