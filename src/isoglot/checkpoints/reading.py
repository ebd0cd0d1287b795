"""Reading a checkpoint's files, and what to say when one is damaged. Nothing here needs torch or transformers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isoglot.core.errors import ConfigurationError, IsoglotError, memory_problem, reason

ALIGNER_FILE = "aligner.json"
"""Layer and method of an encoder as an aligner, beside its weights."""


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
