"""Encoded rows, their batches, and running a head over them: longest together, padding little."""

from __future__ import annotations

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
StepProgress = Callable[[int, int], None]
"""Receives the progress of a long step: items done, and items in all."""

_MODEL_COLUMNS = ("input_ids", "token_type_ids", "language_ids")

IGNORED = -100
"""Label of a position that does not count."""

FIRST_LANGUAGE = "first_language"
"""Column: language of the first of two texts (a pair's first sentence, a question); ``language`` is the second's."""


@dataclass(slots=True)
class EncodedRow:
    """An input of an encoder, and the example that it comes from; an example can have several."""

    inputs: dict[str, Any]
    example: int
    detail: Any = None  # what the task needs to decode the output
    second: int = 0  # position at which the second of two texts begins, where it matters


def row_lengths(inputs: Iterable[Mapping[str, Any]]) -> NDArray[np.int64]:
    """Tokens of each input, special ones included."""
    return np.array([len(row["input_ids"]) for row in inputs], np.int64)


class RowCollator:
    """Pads rows to a ``multiple``; items that are lists of rows are laid flat, so their rows stay in one batch."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, multiple: int = 1) -> None:
        self.fill = {"input_ids": int(tokenizer.pad_token_id or 0), "token_type_ids": 0, "labels": IGNORED,
                     "language_ids": -1, "pooled_mask": 0}  # fmt: skip
        self.multiple = multiple

    def __call__(self, items: Sequence[Mapping[str, Any] | Sequence[Mapping[str, Any]]]) -> dict[str, Tensor]:
        """A batch: padded columns, ``attention_mask``, and scalars as vectors."""
        rows = [row for item in items for row in ([item] if isinstance(item, Mapping) else item)]
        longest = max(len(row["input_ids"]) for row in rows)
        width = -(-longest // self.multiple) * self.multiple
        batch: dict[str, Tensor] = {}
        for name, value in rows[0].items():
            if np.ndim(value) == 0:
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
    """Batches of inputs of like length on a device: their numbers, and their padded columns.

    ``max_tokens``: of one batch, padding included; by default 1024 on a CPU, as larger batches leave its cache between
    layers and take nearly twice the time, and 8192 elsewhere.
    """
    done = 0
    budget = max_tokens or (1024 if device.type == "cpu" else 8192)
    for batch in length_batches(row_lengths(inputs).tolist(), budget):
        columns = collator([inputs[i] for i in batch])
        yield batch, {name: value.to(device) for name, value in columns.items()}
        done += len(batch)
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
    """Run a model with a head over rows; ``reduce`` says what to keep of the logits (a tuple where a head has several).

    Returns:
        One array a row: of shape (length,) or, where ``reduce`` gives several tensors, (tensors, length).
    """
    model.eval()
    results: list[RowOutput] = [np.zeros(0)] * len(rows)
    cast = (
        nullcontext()
        if precision == "float32"
        else torch.autocast(model.device.type, getattr(torch, precision))
    )
    inputs = [{k: v for k, v in row.inputs.items() if k in _MODEL_COLUMNS} for row in rows]
    for batch, columns in device_batches(inputs, collator, model.device, max_tokens, progress):
        with cast:
            output = model(**columns)
        logits = tuple(require_finite(v, name) for name, v in output.items() if name.endswith("logits"))
        reduced = reduce(logits[0] if len(logits) == 1 else logits)
        parts = reduced if isinstance(reduced, tuple) else (reduced,)
        arrays = [part.float().cpu().numpy() for part in parts]
        for number, row in enumerate(batch):
            outputs = [array[number] for array in arrays]
            results[row] = outputs[0] if len(outputs) == 1 else np.stack(outputs)
    return results
