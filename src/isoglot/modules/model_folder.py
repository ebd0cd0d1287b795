"""Save a model object as a temporary folder, for functions that read a checkpoint from its folder."""

import copy
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.modules.adapter import plain_state, save_plain
from isoglot.modules.checkpoint import require_fitting
from isoglot.modules.encoder import unwrapped
from isoglot.runs.disk import full_disk_named
from isoglot.runs.folder import CHECKPOINT


@contextmanager
def model_folder(
    model: PreTrainedModel | str | Path, tokenizer: PreTrainedTokenizerBase | None = None
) -> Iterator[str | Path]:
    """Yield a checkpoint's folder or name unchanged; for a model object, a temporary folder with model and tokenizer.

    A saved model has files to hash, by which runs and results are recognised, and evaluating the copy changes neither
    weights nor mode nor device of the user's object. The folder has the name of the model, or of the run that it was
    loaded from (``runs/tlm`` for ``runs/tlm/checkpoint``).
    """
    if isinstance(model, str | Path):
        if tokenizer is not None:
            raise ConfigurationError(
                f"got a tokenizer, but {model} has its own; leave it out, or pass a model object"
            )
        yield model
        return
    model = unwrapped(model)
    if tokenizer is None:
        raise ConfigurationError("a model object needs its tokenizer too: tokenizer=...")
    require_fitting(tokenizer, model)
    source = Path(model.name_or_path or model.config.model_type)
    name = (source.parent if source.name == CHECKPOINT else source).name or "model"
    with tempfile.TemporaryDirectory(prefix="isoglot-") as around:
        folder = Path(around) / name
        settings = copy.deepcopy(vars(model.config))
        with full_disk_named(folder):
            try:
                save_plain(model, folder, plain_state(model))
            finally:
                vars(model.config).update(settings)  # saving writes the class and the dtype into it
            tokenizer.save_pretrained(folder)
        yield folder
