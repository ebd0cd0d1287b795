"""A fine-tuned model with its task: predict labels or answers for examples, and score the predictions."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset

from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.options import EvaluateOptions
from isoglot.modules.checkpoint import require_fitting
from isoglot.modules.devices import resolve_device
from isoglot.runs.reporter import Reporter
from isoglot.tasks import TaskFacts
from isoglot.tasks.base import Predictions, TrainableTask
from isoglot.tasks.features import EncodedRow, RowCollator, RowOutput, StepProgress, predict_rows
from isoglot.tasks.head_task import fit_length
from isoglot.tasks.language_vectors import add_language_ids, attach_chosen, attached
from isoglot.tasks.vector_classifier import NoTokenizer, tokenizer_for


class FinetunedModel:
    """A model with a head, loaded once and measured in any number of languages.

    Args:
        checkpoint: Folder of the model, or its name on the hub.
        task: Task of the model. It is changed: it takes the labels of the head, and cuts rows that are longer than the
            positions of the encoder.
        about: Card of the checkpoint, from :func:`isoglot.tasks.cards.origin`.
        options: How to compute.
        report: Receives notes.

    Raises:
        ConfigurationError: The model has no head, or the head of another task.
    """

    def __init__(
        self,
        checkpoint: Path | str,
        task: TrainableTask,
        about: Mapping[str, Any],
        options: EvaluateOptions,
        report: Reporter,
    ) -> None:
        # Tasks with equal `heads`, such as xquad and mlqa, can use each other's models. The card of a model that
        # isoglot did not train says nothing of its task; then `task.trained` looks at its head alone.
        trained_with = about.get("options", {})
        facts = TaskFacts.of(task)
        heads = trained_with.get("heads", trained_with.get("kind"))
        if heads is not None and heads != facts.heads:
            raise ConfigurationError(
                f"{checkpoint} was fine-tuned for {trained_with['kind']}, not for {facts.kind}; fine-tune the "
                "encoder for it"
            )
        model = task.trained(checkpoint)
        fit_length(task, model, report)
        attach_chosen(model, checkpoint, options.language_ids)
        self.task, self.options, self.report = task, options, report
        self.model = model.to(resolve_device())  # type: ignore[arg-type]
        self.tokenizer = tokenizer_for(checkpoint)
        if not isinstance(self.tokenizer, NoTokenizer):
            require_fitting(self.tokenizer, model, checkpoint)

    def measure(
        self, dataset: Dataset, *, language: str, progress: StepProgress
    ) -> tuple[dict[str, float], Predictions]:
        """Predict every example, and return the metrics by name and the predictions.

        The metrics are those of the task's ``score``. Macro averages and scores of single classes, which follow from a
        confusion, are not among them unless the task computes them itself.
        """
        predictions = self.predict(dataset, progress=progress)
        return self.task.score(dataset, predictions, language=language), predictions

    def predict(self, dataset: Dataset, *, progress: StepProgress) -> Predictions:
        """Return the prediction for each example: a label, tags or an answer."""
        rows, outputs = self.outputs(dataset, progress=progress)
        return self.task.decode(dataset, rows, outputs)

    def outputs(
        self, dataset: Dataset, *, progress: StepProgress, reduce: Callable[[Any], Any] | None = None
    ) -> tuple[list[EncodedRow], list[RowOutput]]:
        """Encode the examples and run the model; return the encoded rows, and for each what ``reduce`` keeps.

        ``reduce``: Receives the logits of a batch; by default the function of the task, which keeps the best tags, say.
        """
        rows = self.task.encode(dataset, self.tokenizer, self.model, training=False)
        unknown = add_language_ids(rows, dataset, attached(self.model))
        if unknown:
            self.report.note(
                f"no language embedding for {', '.join(sorted(unknown))}: the mean of the others is added"
            )
        return rows, predict_rows(
            self.model,
            rows,
            RowCollator(self.tokenizer, multiple=8 if torch.cuda.is_available() else 1),
            self.task.reduce if reduce is None else reduce,
            max_tokens=self.options.max_tokens,
            precision=self.options.precision,
            progress=progress,
        )
