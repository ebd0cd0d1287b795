"""Where a checkpoint is, and what to say when it cannot be read. Nothing here needs torch or transformers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

from isoglot.errors import ConfigurationError, IsoglotError
from isoglot.runs.folder import CHECKPOINT, TOKENIZER_FILES
from isoglot.runs.memory import memory_problem

ALIGNER_FILE = "aligner.json"
"""Layer and method of an encoder as an aligner, beside its weights."""
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
    for place in () if name == BOX else (folder, folder / CHECKPOINT):
        if place.is_dir() and any(any(place.glob(pattern)) for pattern in patterns):
            return place
    if (packed := packed_file(checkpoint)) is not None:
        from isoglot.runs.packed import unpacked  # noqa: PLC0415 - loads numpy

        return unpacked(packed)
    if folder.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        held = "tokenizer.json" if file == "tokenizer" else file
        raise ConfigurationError(
            f"{checkpoint}: {f'holds no {held}' if folder.exists() else 'does not exist'}; give a checkpoint's "
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
        from isoglot.runs.packed_file import is_packed  # noqa: PLC0415 - loads numpy

        return path if is_packed(path) else None
    return None


@contextmanager
def reading(checkpoint: str | Path, file: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads a checkpoint into one line that names the checkpoint.

    Raises:
        ConfigurationError: in place of any exception of the block that is not isoglot's own, nor says that memory
            ran out.
    """
    try:
        yield
    except IsoglotError:
        raise
    except Exception as error:  # what a broken or foreign file makes of the libraries has no common class
        if memory_problem(error) is not None:
            raise
        folder = Path(checkpoint)
        if not folder.is_dir():
            raise ConfigurationError(
                f"{checkpoint}: {file} cannot be loaded from the hub ({reason(error)}); check the name and the "
                "connection, or download the checkpoint elsewhere and give its folder"
            ) from error
        hint = "restore the file, or give another checkpoint"
        if isinstance(error, ImportError):
            hint = "install it, or give another checkpoint"
        elif file.endswith(".safetensors") and not any(folder.glob("*.safetensors")):
            hint = "only safetensors are read; convert the weights with from_pretrained(...).save_pretrained(...)"
        raise ConfigurationError(
            f"{folder}: cannot be loaded while reading {file} ({reason(error)}); {hint}"
        ) from error


def reason(error: BaseException) -> str:
    """The first line of an exception's message that says something, with the next where it ends in a colon.

    Of a pickle that torch refuses no message is passed on: it recommends what would run the pickle's code.
    """
    if isinstance(error, UnpicklingError):
        return "it holds pickled objects other than tensors, which are never loaded"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    return text.rstrip(".") or type(error).__name__
