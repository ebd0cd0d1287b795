"""A model object as the folder that verbs read."""

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
    """A checkpoint's folder or name as it is; of a model object a temporary folder with the model and its tokenizer.

    Saved, a model has a content that runs and results are known by, and measuring it changes neither its weights nor
    its mode nor its device. The folder is called as the model is, or as the run that it was loaded from.
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
        folder, before = Path(around) / name, copy.deepcopy(vars(model.config))
        with full_disk_named(folder):
            try:
                save_plain(model, folder, plain_state(model))
            finally:
                vars(model.config).update(before)  # saving notes the class and the dtype there
            tokenizer.save_pretrained(folder)
        yield folder
