"""Does an encoder use the translation beside a sentence? Masked words told from it, against another sentence's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.modules.encoder import encode, num_layers
from isoglot.modules.finite import require_finite
from isoglot.modules.masked_lm_head import masked_lm_head
from isoglot.seeding import generator_for

__all__ = ["TranslationGap", "translation_gap"]


@dataclass(frozen=True, slots=True)
class TranslationGap:
    """Accuracy on masked pieces of one side, the other side being whole.

    Args:
        translated: share of masked pieces told right beside the true translation.
        shuffled: the same pieces beside the translation of another sentence.
        pieces: how many were masked.
    """

    translated: float
    shuffled: float
    pieces: int

    @property
    def gap(self) -> float:
        """What the translation is worth: 0 for an encoder that does not look at it."""
        return self.translated - self.shuffled


@torch.inference_mode()
def translation_gap(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    masked: Sequence[str],
    whole: Sequence[str],
    *,
    probability: float = 0.15,
    seed: int = 0,
    batch_size: int = 64,
) -> TranslationGap:
    """Measure it on held-out sentence pairs, ``[CLS] masked [SEP] whole [SEP]``.

    The same pieces are masked in both conditions; in the second each sentence stands beside the next pair's
    translation.

    Args:
        model: encoder with its masked-LM head.
        tokenizer: its tokenizer.
        masked: sentences some of whose pieces are hidden.
        whole: their translations.
        probability: of hiding a piece.
        seed: of the choice.
        batch_size: pairs at a time.
    """
    ids = [tokenizer(list(side), add_special_tokens=False)["input_ids"] for side in (masked, whole)]
    hidden = [
        (torch.rand(len(pieces), generator=generator_for(seed, "translation gap", i)) < probability).tolist()
        for i, pieces in enumerate(ids[0])
    ]
    count = sum(map(sum, hidden))
    model.eval()
    right = [
        _right(model, tokenizer, ids[0], [ids[1][(i + shift) % len(ids[1])] for i in range(len(ids[0]))], hidden,
               batch_size)
        for shift in (0, 1)
    ]  # fmt: skip
    return TranslationGap(right[0] / max(count, 1), right[1] / max(count, 1), count)


def _right(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    masked: list[list[int]],
    whole: list[list[int]],
    hidden: list[list[bool]],
    batch_size: int,
) -> int:
    order = sorted(range(len(masked)), key=lambda i: len(masked[i]) + len(whole[i]))
    cls, sep, mask, pad = (
        int(t)
        for t in (
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            tokenizer.mask_token_id,
            tokenizer.pad_token_id,
        )
    )
    head = masked_lm_head(model)
    right = 0
    for start in range(0, len(order), batch_size):
        rows, labels = [], []
        for i in order[start : start + batch_size]:
            shown = [mask if gone else piece for piece, gone in zip(masked[i], hidden[i], strict=True)]
            rows.append([cls, *shown, sep, *whole[i], sep])
            own = [p if gone else -100 for p, gone in zip(masked[i], hidden[i], strict=True)]
            labels.append([-100, *own, *[-100] * (len(whole[i]) + 2)])
        inputs, gold = _padded(rows, pad), _padded(labels, -100)
        attention = _padded([[1] * len(row) for row in rows], 0)
        batch = {"input_ids": inputs.to(model.device), "attention_mask": attention.to(model.device)}
        last = num_layers(model)
        states = encode(model, batch, layers=(last,))[last].cpu()
        chosen = gold >= 0
        logits = require_finite(head.logits(states[chosen].to(model.device)), "logits of the masked-LM head")
        right += int((logits.argmax(-1).cpu() == gold[chosen]).sum())
    return right


def _padded(rows: list[list[int]], value: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])
