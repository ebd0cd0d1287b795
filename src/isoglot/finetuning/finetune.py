"""``isoglot finetune``: a pre-trained checkpoint and a task in, a fine-tuned checkpoint out.

Open :meth:`FineTuning.run` first: it looks at the folder, and trains if there is no finished run. A run's folder has

    OUT/manifest.json             written last: a run without it is not finished
    OUT/checkpoint/               the best weights with the head, and a card beside them (:data:`TASK_FILE`)
    OUT/grid/1, OUT/grid/2, ...   the same for each combination, if settings have several values
    OUT/work/                     checkpoints to resume from; deleted at the end
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from accelerate import PartialState

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import split_codes
from isoglot.core.seeding import seed_for
from isoglot.finetuning.class_weights import require_labels
from isoglot.finetuning.data import dev_sets, rows_per_language, training_rows
from isoglot.finetuning.options import FinetuneOptions
from isoglot.finetuning.selection import require_metric
from isoglot.finetuning.train import TrainingData, train_head
from isoglot.modules.adapter import add_adapter
from isoglot.modules.checkpoint import require_fitting
from isoglot.modules.isolation import isolated_state
from isoglot.runs.files import read_json, require_writable, write_json, write_text
from isoglot.runs.fingerprint import key_of
from isoglot.runs.folder import (
    CHECKPOINT,
    STAGING,
    WORK,
    checkpoint_entry,
    clear,
    hash_checkpoint,
    require_checkpoint,
)
from isoglot.runs.history import HISTORY
from isoglot.runs.listed import remove, require_own, whole_folder, write_listed
from isoglot.runs.lock import occupied
from isoglot.runs.record import MANIFEST, Record
from isoglot.runs.reporter import AnyReporter, Silent, reporter_of
from isoglot.tasks.base import Task, TrainableTask, check_locations
from isoglot.tasks.cards import TASK_FILE, changes_of, origin
from isoglot.tasks.description import changed_options, code_of, describe_task, identify
from isoglot.tasks.head_task import keep_label_values
from isoglot.tasks.language_vectors import attach_chosen
from isoglot.tasks.vector_classifier import (
    NoTokenizer,
    code_of_function,
    is_function,
    tokenizer_for,
)
from isoglot.training.callbacks import require_callback
from isoglot.training.checkpoints import checkpoints_in, discard

if TYPE_CHECKING:
    from transformers import TrainerCallback


class FineTuning:
    """One fine-tuning. Under ``torchrun`` all ranks train, the first one writes and the others wait for it."""

    def __init__(  # noqa: PLR0913 - what one fine-tuning is made of
        self,
        checkpoint: str | Path,
        task: Task,
        language: str | Sequence[str],
        seed: int = 1,
        train: FinetuneOptions | None = None,
        out: Path = Path(),
        progress: AnyReporter | None = None,
        *,
        callbacks: Sequence[TrainerCallback | type[TrainerCallback]] = (),
        swept: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the arguments of :func:`isoglot.finetune`, with a task and settings that are made already.

        ``checkpoint``: Kept as a folder, or as the name on the hub or of a function.
        ``train``: The settings.
        ``swept``: Values of a sweep. Reports name the run by them, even by a value that is the default.
        """
        if not isinstance(task, TrainableTask):
            raise ConfigurationError(
                f"task {getattr(task, 'name', task)} has no head to fine-tune: run `isoglot evaluate`"
            )
        self.options = train or FinetuneOptions.build()
        combinations = len(self.options.grid())
        if combinations > 1 and self.options.select == "last":
            raise ConfigurationError(
                f"select=last cannot choose among {combinations} combinations of settings; add [[select='source']]"
            )
        self.callbacks = [require_callback(callback) for callback in callbacks]
        # The length is set on a copy: the caller's task keeps its own.
        self.task: TrainableTask = copy.copy(task)
        if self.options.max_length is not None:
            self.task.max_length = self.options.max_length
        self.ranks = PartialState(cpu=not torch.accelerator.is_available())
        self.report = reporter_of(progress) if self.ranks.is_main_process else Silent()
        self.languages = list(dict.fromkeys(split_codes(language)))
        if self.options.max_train_examples is not None and self.languages:
            # Refuses a number that is too small.
            rows_per_language(self.options, self.languages)
        check_locations(task, [(code, "train") for code in (*self.languages, *self.options.originals)])
        self.checkpoint, self.seed, self.folder = checkpoint_folder(checkpoint), seed, out
        self.swept = dict(swept or {})
        if self.has_vector_function and getattr(self.task, "frozen", None) is None:
            raise ConfigurationError(
                f"{self.checkpoint} is a function from texts to vectors, which cannot be trained; add "
                "[[frozen='vectors']]"
            )

    @isolated_state()
    def run(self, *, resume: bool = True, overwrite: bool | None = None) -> Path:
        """Train unless the folder has a finished run with the same inputs; return the checkpoint's folder.

        1. A finished run is kept, and leftovers of a killed process are deleted.
        2. Else the folder is prepared: a run that is overwritten is deleted first.
        3. The run is trained. If that fails before any weights are saved, the folder is cleared again.

        ``overwrite``: Replace another run in the folder; ``None`` refuses it without naming the option.
        """
        existed, is_main = self.folder.exists(), self.ranks.is_main_process
        with occupied(self.folder) if is_main else nullcontext():
            state = self._record(overwrite=overwrite).state(resume=resume)
            # All ranks must have looked at the folder before the first one writes.
            self.ranks.wait_for_everyone()
            # The checkpoint of a finished run may have been deleted since.
            has_checkpoint = (self.folder / CHECKPOINT / "config.json").is_file()
            if state == "finished" and has_checkpoint:  # 1
                require_checkpoint(self.folder)
                self.report.note(f"{self.folder}: already done")
                if is_main:
                    _drop_work(self.folder)
                    self._rename()
                return self.folder / CHECKPOINT
            require_writable(self.folder, folder=True)  # 2
            require_own(self.folder / CHECKPOINT)
            # `keep`: the folder itself stays if it was there before.
            if is_main and state == "new" and existed:
                clear(self.folder, keep=True)
            try:
                return self._train_grid()  # 3
            except BaseException:
                if is_main and not any(self.folder.glob("**/checkpoint*/*.safetensors")):
                    clear(self.folder, keep=existed)
                raise

    def _rename(self) -> None:
        """Write the requested name of the run into the card of a finished run: nothing else depends on the name."""
        card_file = self.folder / CHECKPOINT / TASK_FILE
        card = read_json(card_file)
        name = self.options.run
        if card is not None and name is not None and card.get("run") != name:
            _write_card(card_file, {**card, "run": name})

    @property
    def label_values(self) -> dict[str, Any]:
        """Labels of data in memory that are numbers, or true and false, by their texts: ``{"1": 1}``."""
        return dict(getattr(self.task.data, "label_values", {}))

    @property
    def has_vector_function(self) -> bool:
        """Whether sentence vectors come from a function, which has no weights of an encoder."""
        return isinstance(self.checkpoint, str) and is_function(self.checkpoint)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """All values on which the result depends: a finished run in the folder is taken only if they are the same."""
        options = self.options
        started_from = origin(self.checkpoint)
        if isinstance(self.checkpoint, Path) and (self.checkpoint / TASK_FILE).is_file():
            # The card beside the weights may be older than the weights.
            started_from["weights"] = hash_checkpoint(self.checkpoint)
        task = describe_task(self.task)
        # Tags that the user allows, if they are not those of the task's class.
        allowed = getattr(self.task, "allowed", None)
        if allowed != getattr(type(self.task), "allowed", None):
            task["allowed"] = list(allowed or ())
        # 1 and "1" have the same text, but a model predicts the one that it was trained on.
        if self.label_values:
            task["label_values"] = self.label_values
        # The development data by which the checkpoint is chosen.
        languages_chosen_by = {
            "source": self.languages,
            "joint": options.select_languages,
            "last": (),
        }[options.select]
        with_dev = [code for code in languages_chosen_by if self.task.data.has_dev(code)]
        inputs = {
            "checkpoint": started_from,
            "task": task,
            "languages": self.languages,
            "seed": self.seed,
            "train": options.recorded(),
            "data": [identify(self.task, code, "train") for code in (*self.languages, *options.originals)],
            "dev": [identify(self.task, code, "dev") for code in with_dev],
            "ranks": self.ranks.num_processes,
            **code_of(self.task),
        }
        if self.has_vector_function:
            inputs["vectors"] = code_of_function(str(self.checkpoint))
        return inputs

    def _changes(self) -> dict[str, Any]:
        """Return the values by which reports tell runs of one name apart: those that differ from a default.

        ``{"learning_rate": 1e-4, "language": "de"}``. They are joined in this order, and the later ones win: values of
        the encoder's own run, options of the task, settings, the languages, and swept values.
        """
        settings = self.options.model_dump(mode="json", exclude={"run"}, exclude_defaults=True)
        languages = {} if self.languages == ["en"] else {"language": ",".join(self.languages)}
        of_encoder = changes_of(self.checkpoint, origin(self.checkpoint))
        return {**of_encoder, **changed_options(self.task, {}), **settings, **languages, **self.swept}

    def _train_grid(self) -> Path:
        """Train once for each combination of settings, keep the best checkpoint, and write the manifest last.

        ``learning_rate=[1e-5, 2e-5]`` with two batch sizes is a grid of four combinations. Each is trained in a folder
        of its own, ``grid/1`` to ``grid/4``; a combination that is finished is not trained again.
        """
        # Record what the run is made from, so that a killed run is recognised.
        card = self._card()
        if self.ranks.is_main_process:
            self._record().begin({**card, "inputs": self.inputs})

        # Read the data and check the settings against them.
        grid = self.options.grid()
        tokenizer = tokenizer_for(self.checkpoint)
        dataset, dev_rows = training_rows(self.task, self.languages, self.options, seed=self.seed)
        # The development data are read before there is a model, because a task with a model takes only the labels that
        # the model knows. So all combinations are measured on the same examples.
        data = TrainingData(dataset, dev_sets(self.task, self.languages, self.options, dev_rows))
        labels = self.task.labels(dataset)
        require_labels(self.options.class_weight, labels, self.task.name)
        require_metric(self.task, self.options.select_metric, data.dev, labels)

        # Train each combination, or take its result from its manifest.
        results: dict[Path, dict[str, Any]] = {}
        for number, settings in enumerate(grid, 1):
            folder = self.folder if len(grid) == 1 else self.folder / "grid" / f"{number}"
            has_weights = (folder / CHECKPOINT / "config.json").is_file()
            result = read_json(folder / MANIFEST) if has_weights else None
            # All ranks must have looked for the manifest before the first one writes.
            self.ranks.wait_for_everyone()
            if result is None:
                if len(grid) > 1:
                    self.report.note(
                        f"settings {number} of {len(grid)}: lr {settings.learning_rate:g}, "
                        f"batch {settings.batch_size}, {settings.epochs:g} epochs"
                    )
                result = self._train_combination(folder, settings, data, labels, tokenizer, card)
            elif self.ranks.is_main_process:
                _drop_work(folder)
            results[folder] = result
        self._keep_best(results)
        return self.folder / CHECKPOINT

    def _card(self) -> dict[str, Any]:
        """Make the card that is written beside the weights: the checkpoint's origin, its task, data and settings."""
        inputs = self.inputs
        card = origin(self.checkpoint)
        if self.options.run is not None:
            card["run"] = self.options.run
        return {
            **card,
            "task": self.task.name,
            "languages": list(self.languages),
            "setting": self.options.setting,
            "seed": self.seed,
            "key": key_of(inputs),
            "trained_on": inputs["data"],
            "options": {**describe_task(self.task), "data": list(self.task.data.specs)},
            "changes": self._changes(),
        }

    def _train_combination(
        self,
        folder: Path,
        settings: FinetuneOptions,
        data: TrainingData,
        labels: Sequence[str] | None,
        tokenizer: Any,
        card: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Train with one combination of settings in a folder; return the values of its manifest.

        ``{"selection": 81.2, "steps": 400, "settings": {...}}``

        Args:
            folder: The run's folder, or one of its ``grid``.
            settings: The combination.
            data: Training and development data, the same for all combinations.
            labels: The labels of the training data; ``None`` for a task without classes.
            tokenizer: The encoder's tokenizer.
            card: The card of the run, which is written beside the weights with the selection.
        """
        model = self.task.head(self.checkpoint, labels=labels, seed=self.seed, dropout=settings.dropout)
        keep_label_values(model, labels or (), self.label_values)
        if not isinstance(tokenizer, NoTokenizer):
            require_fitting(tokenizer, model, self.checkpoint)
        attach_chosen(model, self.checkpoint, settings.language_ids)
        if settings.adapter is not None:
            add_adapter(model, settings.adapter, seed=seed_for(self.seed, "adapter"))
        result = train_head(
            model,
            tokenizer,
            self.task,
            data,
            settings,
            seed=self.seed,
            folder=folder,
            progress=self.report,
            callbacks=self.callbacks,
        )
        result["settings"] = {**settings.recorded(), "run": settings.run}
        if self.ranks.is_main_process:
            card_file = folder / CHECKPOINT / TASK_FILE
            _write_card(card_file, {**card, "selection": result["selection"]})
            self._finish(folder, result)
        self.ranks.wait_for_everyone()
        return result

    def _keep_best(self, results: Mapping[Path, Mapping[str, Any]]) -> None:
        """Copy the checkpoint of the best combination of settings into the run's folder, and finish the run.

        The best one has the highest development score. Of equal scores the first combination is taken, and a
        combination without a score counts as the worst. A run of one combination is in its folder already.

        ``results``: The values of each combination's manifest, by its folder.
        """
        scores: dict[Path, float] = {}
        for folder, result in results.items():
            selection = result["selection"]
            scores[folder] = -1.0 if selection is None else selection
        best = max(scores, key=scores.__getitem__)
        if self.ranks.is_main_process and best != self.folder:
            with whole_folder(self.folder / CHECKPOINT) as checkpoint:
                shutil.copytree(best / CHECKPOINT, checkpoint, dirs_exist_ok=True)
            if (best / HISTORY).is_file():
                write_text(self.folder / HISTORY, (best / HISTORY).read_text(encoding="utf-8"))
            kept = {name: results[best][name] for name in ("selection", "steps", "settings")}
            self._finish(self.folder, kept)
        self.ranks.wait_for_everyone()

    def _record(self, folder: Path | None = None, *, overwrite: bool | None = None) -> Record:
        """Return the record of the run's folder, or of the folder of one combination of settings."""
        made_from = {"inputs": self.inputs}
        return Record(folder or self.folder, made_from, what="fine-tuning run", overwrite=overwrite)

    def _finish(self, folder: Path, result: Mapping[str, Any]) -> None:
        """Write the manifest of a run or combination, which makes it a finished one; delete what it resumed from."""
        self._record(folder).finish({**result, **checkpoint_entry(folder)})
        _drop_work(folder)


def _drop_work(folder: Path) -> None:
    """Delete the checkpoints from which an unfinished run would resume."""
    for checkpoint in checkpoints_in(folder / WORK):
        discard(checkpoint)
    remove(folder / WORK, f"{STAGING}/**/*")


def _write_card(file: Path, card: Mapping[str, Any]) -> None:
    """Write the card beside fine-tuned weights, and add it to the list of the folder's own files."""
    write_listed(file, lambda place: write_json(place, card))


def remove_weights(folder: Path) -> None:
    """Delete the checkpoints of a run and of its combinations; manifest and history of the run itself stay."""
    for run in (folder, *folder.glob("grid/*")):
        remove(run / CHECKPOINT)
    remove(folder / "grid", f"*/{MANIFEST}", f"*/{HISTORY}")
