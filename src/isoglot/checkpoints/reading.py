"""Report damaged files of a checkpoint in one line. Nothing here needs torch or transformers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isoglot.core.errors import ConfigurationError, IsoglotError, memory_problem, reason

ALIGNER_FILE = "aligner.json"
"""File beside an encoder's weights with the layer and the method by which the encoder aligns words."""


@contextmanager
def reading(checkpoint: str | Path, file: str) -> Iterator[None]:
    """Turn the exception of a library that reads a checkpoint into one line that names the checkpoint.

        with reading(checkpoint, "model.safetensors"):
            weights = load_file(checkpoint / "model.safetensors")

    Errors of isoglot, and those that say that memory ran out, pass unchanged.

    Raises:
        ConfigurationError: In place of any other exception of the block.
    """
    try:
        yield
    except IsoglotError:
        raise
    except Exception as error:  # libraries have no common class of errors about broken files
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
