"""``isoglot.finetune``: a model and a task, as objects or by their names, to a fine-tuned checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.finetuning import finetune as verb
from isoglot.finetuning.options import settings_for, task_with_settings
from isoglot.formats.labelled.memory import data_source
from isoglot.modules.model_folder import model_folder
from isoglot.tasks import task_class, task_with_data

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.tasks.base import Task


def finetune(
    model: PreTrainedModel | str | Path,
    task: str | Task,
    *,
    out: str | Path,
    language: str = "en",
    data: Any = None,
    columns: Mapping[str, str] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    seed: int = 1,
    **settings: Any,
) -> Path:
    """Fine-tune an encoder on a task, as ``isoglot finetune`` does; a finished run with the same inputs is kept.

    Args:
        model: Folder of a checkpoint or run, hub name, or a model object. The object stays as it is: a copy is trained.
        task: One by name, or a task object.
        out: Folder of the run.
        language: Language of the training data; several with commas.
        data: As for :func:`isoglot.evaluate`. ``{"train": rows, "dev": rows}`` gives development data, by which the
            best checkpoint is chosen; without them, ``dev_fraction=0.1`` or ``select="last"`` is needed.
        columns: Column of the task to its name in the data.
        tokenizer: Tokenizer of a model object.
        seed: Seed of the head, the order of examples and dropout.
        **settings: Settings of :class:`isoglot.finetuning.options.FinetuneOptions`, such as ``epochs=3``, and options
            of the task; ``preset``, the paper whose settings hold otherwise (``xtreme``); ``resume``, whether to go on
            with an unfinished run (yes); ``progress``, which receives progress reports.

    Returns:
        The checkpoint's folder, which :func:`isoglot.evaluate` and ``AutoModelFor...from_pretrained`` read.

    Raises:
        ConfigurationError: A task without a head, no data, another run in ``out``, or settings that do not fit.
        InputError: Data that cannot be read.
    """
    running = {name: settings.pop(name) for name in ("resume", "progress") if name in settings}
    paper = settings.pop("preset", "xtreme")
    if isinstance(task, str) and data is not None:
        source = data_source(data, task_class(task), columns)
        built, train = task_with_settings(task, source, paper=paper, **settings)
    else:
        built = task_with_data(task, data, columns)
        train = settings_for(built, paper=paper, **settings)
    with model_folder(model, tokenizer) as checkpoint:
        return verb.finetune(checkpoint, built, language=language, seed=seed, train=train, out=out, **running)
