"""A view's tensors as rows that a person can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.views.base import IGNORE_INDEX


@dataclass(frozen=True)
class DescribedRow:
    """One position of an encoder input.

    Args:
        input: ``""``, or ``query`` or ``key`` for a view with two inputs.
        position: 0-based position in the sequence; what ``links`` count.
        label: the piece to predict; ``None`` where nothing is.
        side: 1 source, 2 target, 0 neither; ``None`` where the view has no sides.
        attended: whether the position is attended to; false for padding.
        links: positions of the other side (of the other input) that this one is linked to.
    """

    input: str
    position: int
    piece: str
    input_piece: str
    label: str | None
    position_id: int | None
    segment_id: int | None
    language_id: int | None
    side: int | None
    document: int | None
    attended: bool
    links: tuple[int, ...]

    @property
    def masked(self) -> bool:
        """Whether the position is predicted, changed or not."""
        return self.label is not None


def describe(tensors: Mapping[str, Tensor], tokenizer: PreTrainedTokenizerBase) -> list[DescribedRow]:
    """The positions of one example's input, or of its query and then its key.

    Args:
        tensors: what a view's ``build`` returned, or one row of its batch.
        tokenizer: names the ids; an id that it does not have (a copied vocabulary) is written ``<id>``.
    """
    inputs = [p for p in ("", "query_", "key_") if f"{p}input_ids" in tensors]
    if not inputs:
        raise ValueError(f"no input_ids among {sorted(tensors)}; give what a view's build(...) returned")
    if any(tensors[f"{p}input_ids"].dim() != 1 for p in inputs):
        raise ValueError("a batch given; give one example, {key: tensor[i] for key, tensor in batch.items()}")
    return [row for prefix in inputs for row in _rows(tensors, prefix, tokenizer)]


def _rows(
    tensors: Mapping[str, Tensor], prefix: str, tokenizer: PreTrainedTokenizerBase
) -> list[DescribedRow]:
    ids: list[int] = tensors[f"{prefix}input_ids"].tolist()

    def column(name: str, missing: Any = None) -> list[Any]:
        found = tensors.get(prefix + name)
        return [missing] * len(ids) if found is None else found.tolist()

    originals = column("original_ids") if f"{prefix}original_ids" in tensors else ids
    labels = [None if x == IGNORE_INDEX else _name(x, tokenizer) for x in column("labels", IGNORE_INDEX)]
    attended, links = map(bool, column("attention_mask", True)), _links(tensors.get("link_ids"), prefix)
    rows = zip(
        *(repeat(prefix.rstrip("_"), len(ids)), range(len(ids))),
        *([_name(number, tokenizer) for number in numbers] for numbers in (originals, ids)),
        *(labels, *map(column, _TENSORS), attended, (tuple(links.get(i, ())) for i in range(len(ids)))),
        strict=True,
    )
    return [DescribedRow(*row) for row in rows]


_TENSORS = ("position_ids", "token_type_ids", "language_ids", "side_ids", "document_ids")


def _links(link_ids: Tensor | None, prefix: str) -> dict[int, list[int]]:
    """Positions by position: both directions in one sequence, one direction for a query or a key."""
    found: dict[int, list[int]] = {}
    for a, b in [] if link_ids is None else link_ids.tolist():
        if a < 0:
            continue
        if prefix != "key_":
            found.setdefault(a, []).append(b)
        if prefix != "query_":
            found.setdefault(b, []).append(a)
    return {position: sorted(others) for position, others in found.items()}


def _name(number: int, tokenizer: PreTrainedTokenizerBase) -> str:
    if not 0 <= number < len(tokenizer):
        return f"<{number}>"
    token = tokenizer.convert_ids_to_tokens(number)
    return f"<{number}>" if token is None else str(token)
