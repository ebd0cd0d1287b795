"""Report damaged files of a checkpoint in one line. Nothing here needs torch or transformers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isoglot.core.errors import ConfigurationError, IsoglotError, memory_problem, reason

ALIGNER_FILE = "aligner.json"
"""The file beside the weights that says by which layer and method the encoder aligns words."""


@contextmanager
def reading(checkpoint: str | Path, file: str) -> Iterator[None]:
    """Turn any exception of a library that reads a checkpoint into one line that names the checkpoint.

    Exceptions of isoglot, and those that say that memory ran out, pass unchanged.

    Args:
        checkpoint: Folder or hub name.
        file: The file that is being read, by its name in the folder.

    Raises:
        ConfigurationError: The file cannot be read.

    Example:
        >>> with reading("runs/a/checkpoint", "config.json"):  # doctest: +SKIP
        ...     AutoConfig.from_pretrained("runs/a/checkpoint")
    """
    try:
        yield
    except IsoglotError:
        raise
    except Exception as error:  # libraries meet a broken file with exceptions of many classes
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
