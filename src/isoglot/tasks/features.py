"""Encoded rows, batches of rows of similar length, and a forward pass of a head over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.aligners.embedding.piece_states import length_batches
from isoglot.core.options import Precision
from isoglot.modules.finite import require_finite

RowOutput = NDArray[Any]
"""The part of a head's logits that a task keeps for one encoded row."""
StepProgress = Callable[[int, int], None]
"""Receives the progress of a long step: items done, and items in all."""

_MODEL_COLUMNS = ("input_ids", "token_type_ids", "language_ids")
"""Inputs of a row that a model takes for a prediction; labels are not among them."""

IGNORED = -100
"""Label of a position that takes no part in the loss, as in torch's cross-entropy."""

FIRST_LANGUAGE = "first_language"
"""Column: language of the first of two texts (a pair's first sentence, a question); ``language`` is of the second."""


@dataclass(slots=True)
class EncodedRow:
    """An input of an encoder, and the number of the example that it comes from.

    An example can have several rows: a long context of a question is read in windows.
    """

    inputs: dict[str, Any]
    example: int
    detail: Any = None
    """For the task's ``decode``. Tagging: pairs of a word's number and its token's position; questions: the window."""
    second: int = 0
    """Position at which the second of two texts begins; read only if the data have :data:`FIRST_LANGUAGE`."""


def row_lengths(inputs: Iterable[Mapping[str, Any]]) -> NDArray[np.int64]:
    """Count the tokens of each input, special ones included."""
    return np.array([len(row["input_ids"]) for row in inputs], np.int64)


class RowCollator:
    """Collate rows to a batch, padded on the right to the longest row.

    ``multiple``: Round the padded length up to a multiple of this: 13 tokens are padded to 16 with ``multiple=8``.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, multiple: int = 1) -> None:
        self.fill = {"input_ids": int(tokenizer.pad_token_id or 0), "token_type_ids": 0, "labels": IGNORED,
                     "language_ids": -1, "pooled_mask": 0}  # fmt: skip
        self.multiple = multiple

    def __call__(self, items: Sequence[Mapping[str, Any] | Sequence[Mapping[str, Any]]]) -> dict[str, Tensor]:
        """Return a batch: padded columns, scalars as vectors, and the ``attention_mask``.

        An item is a row, or a list of rows that must stay in one batch.
        """
        rows: list[Mapping[str, Any]] = []
        for item in items:
            rows += [item] if isinstance(item, Mapping) else item
        longest = max(len(row["input_ids"]) for row in rows)
        width = math.ceil(longest / self.multiple) * self.multiple
        batch: dict[str, Tensor] = {}
        for name, value in rows[0].items():
            if np.ndim(value) == 0:  # such as the label of a text
                batch[name] = torch.tensor([int(row[name]) for row in rows])
                continue
            table = np.full((len(rows), width), self.fill[name], np.int64)
            for number, row in enumerate(rows):
                table[number, : len(row[name])] = row[name]
            batch[name] = torch.from_numpy(table)
        lengths = torch.tensor([len(row["input_ids"]) for row in rows])
        batch["attention_mask"] = (torch.arange(width)[None] < lengths[:, None]).long()
        return batch


def takes_segments(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a model tells the two sentences of a pair apart by segment ids, and its tokenizer makes them."""
    segments = "token_type_ids" in tokenizer.model_input_names
    return segments and getattr(model.config, "type_vocab_size", 0) > 1


def device_batches(
    inputs: Sequence[Mapping[str, Any]],
    collator: RowCollator,
    device: torch.device,
    max_tokens: int | None = None,
    progress: StepProgress | None = None,
) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
    """Yield batches of inputs of similar length on a device: the numbers of the inputs, and their padded columns.

    ``max_tokens``: Maximum tokens of a batch, padding included. By default 1024 on a CPU, where the states of a larger
    batch do not stay in the CPU's cache from layer to layer and a token takes nearly twice the time; 8192 elsewhere.
    """
    done = 0
    budget = max_tokens or (1024 if device.type == "cpu" else 8192)
    for numbers in length_batches(row_lengths(inputs).tolist(), budget):
        columns = collator([inputs[number] for number in numbers])
        yield numbers, {name: value.to(device) for name, value in columns.items()}
        done += len(numbers)
        if progress is not None:
            progress(done, len(inputs))


@torch.inference_mode()
def predict_rows(
    model: PreTrainedModel,
    rows: Sequence[EncodedRow],
    collator: RowCollator,
    reduce: Callable[[Any], Any],
    *,
    max_tokens: int | None = None,
    precision: Precision = "float32",
    progress: StepProgress | None = None,
) -> list[RowOutput]:
    """Run a model with a head over rows, and return the part of its logits that a task needs.

    Args:
        model: The model.
        rows: The rows; the results are in their order.
        collator: Pads the rows of a batch.
        reduce: Receives the logits of a batch (a tuple, if the head has several kinds of logits), and returns the
            tensor or tuple of tensors to keep.
        max_tokens: Maximum tokens of a batch, as for :func:`device_batches`.
        precision: Type of the numbers in the forward pass.
        progress: Receives the number of rows done and of all.

    Returns:
        One array for each row, with the logits of the row that ``reduce`` kept. Several tensors are stacked: start and
        end scores have the shape (2, length).
    """
    model.eval()
    results: list[RowOutput] = [np.zeros(0)] * len(rows)
    # Autocast, and not a copy of the model in another type: the weights stay float32.
    cast = (
        nullcontext()
        if precision == "float32"
        else torch.autocast(model.device.type, getattr(torch, precision))
    )
    inputs = [{name: row.inputs[name] for name in _MODEL_COLUMNS if name in row.inputs} for row in rows]
    for numbers, columns in device_batches(inputs, collator, model.device, max_tokens, progress):
        with cast:
            output = model(**columns)
        # Most heads have one tensor, `logits`; a head for questions has `start_logits` and `end_logits`.
        logits = tuple(
            require_finite(values, name) for name, values in output.items() if name.endswith("logits")
        )
        kept = reduce(logits[0] if len(logits) == 1 else logits)
        tensors = kept if isinstance(kept, tuple) else (kept,)
        arrays = [tensor.float().cpu().numpy() for tensor in tensors]
        for row_in_batch, number in enumerate(numbers):
            outputs = [array[row_in_batch] for array in arrays]
            results[number] = outputs[0] if len(outputs) == 1 else np.stack(outputs)
    return results
