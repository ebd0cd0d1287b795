"""``isoglot pack``: pack an aligner into one small file, and unpack such a file into a folder."""

from __future__ import annotations

from pathlib import Path

from isoglot.aligners.embedding.choice import kept_choice
from isoglot.checkpoints.folder import checkpoint_folder, packed_path
from isoglot.checkpoints.packed import pack as write_packed
from isoglot.checkpoints.packed import unpack
from isoglot.core.errors import ConfigurationError


def pack(
    model: str | Path, out: str | Path, *, sentences: str | Path | None = None, overwrite: bool = False
) -> Path:
    """Pack an aligner into one small file, or unpack such a file.

    The file holds tokenizer, layers up to the one that is read, and method; weights in 8 bits, embeddings in 4 where
    they were published so. Every function that takes a folder takes it as well.

    Args:
        model: Checkpoint or run whose layer is chosen (:meth:`TuningResult.keep`); or a packed aligner, to unpack it.
        out: File to write, or the folder to unpack into.
        sentences: Encoder with the same lower layers, whose upper ones give sentence vectors: kept in a second file.
        overwrite: Replace what is there.

    Returns:
        The file or folder.

    Raises:
        ConfigurationError: No layer is chosen, an encoder that cannot be packed, or something else in the place.
    """
    if (file := packed_path(model)) is not None:
        if sentences is not None:
            raise ConfigurationError(f"[[sentences]] is for packing, and {model} is packed; leave it out")
        kept_choice(model)  # refuses a file whose options are not those of an aligner
        return unpack(file, out, overwrite=overwrite)
    folder, upper = checkpoint_folder(model), None if sentences is None else checkpoint_folder(sentences)
    if not isinstance(folder, Path):
        raise ConfigurationError(f"{model}: is not a folder; `hf download {model} --local-dir FOLDER`")
    kept_choice(folder)
    if isinstance(upper, str):
        raise ConfigurationError(f"[[sentences='{sentences}']]: is not a folder with an encoder; name one")
    return write_packed(folder, out, sentences=upper, overwrite=overwrite)
