"""Did masked-LM training on pairs teach the encoder to translate? Two measurements on pairs that it has never seen.

Masked words: 15 % of one side's pieces are masked, the other side is whole; the accuracy of the predictions given the
true translation is compared with that given another sentence's. Retrieval: each sentence's nearest neighbour among the
translations, by the cosine of mean-pooled states.

    python benchmarks/translate_and_copy.py runs/tlm_en_de/checkpoint            # Tatoeba deu-eng of ISOGLOT_DATA
    python benchmarks/translate_and_copy.py CHECKPOINT --source-file A --target-file B
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from isoglot.aligners.embedding.piece_states import cut_words, layer_states
from isoglot.core.seeding import generator_for
from isoglot.modules.encoder import encode, num_layers
from isoglot.modules.masked_lm_head import masked_lm_head


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
    tokenizer: PreTrainedTokenizerFast,
    masked: list[str],
    whole: list[str],
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
    tokenizer: PreTrainedTokenizerFast,
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
        logits = head.logits(states[chosen].to(model.device))
        right += int((logits.argmax(-1).cpu() == gold[chosen]).sum())
    return right


def _padded(rows: list[list[int]], value: int) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])


@torch.inference_mode()
def retrieval(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, source: list[str], target: list[str],
              layer: int) -> tuple[float, float]:  # fmt: skip
    """Share of sentences whose nearest neighbour on the other side is their translation, both ways."""
    vectors = []
    for side in (source, target):
        pieces = cut_words(tokenizer, [text.split() for text in side])
        states = layer_states(model, tokenizer, pieces, layers=(layer,))[layer]
        lengths = torch.tensor([len(p) for p in pieces])
        owner = torch.repeat_interleave(torch.arange(len(side)), lengths)
        total = torch.zeros(len(side), states.table.shape[1]).index_add_(0, owner, states.table.float())
        vectors.append(torch.nn.functional.normalize(total / lengths.clamp(min=1)[:, None], dim=1))
    similarity = vectors[0] @ vectors[1].T
    at = torch.arange(len(source))
    return (
        float((similarity.argmax(1) == at).float().mean()),
        float((similarity.argmax(0) == at).float().mean()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path, nargs="?", help="a masked-LM encoder's folder")
    parser.add_argument("--source-file", type=Path)
    parser.add_argument("--target-file", type=Path)
    parser.add_argument("--probability", type=float, default=0.15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--quick", action="store_true", help="a tiny random encoder on generated pairs: does it run?"
    )
    options = parser.parse_args()
    if options.quick or options.checkpoint is None:
        from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

        corpus = tiny_bitext(64)
        trained: Any = tiny_model("bert")
        tokenizer: Any = tiny_tokenizer("bert")
        source, target = list(corpus["source"]), list(corpus["target"])
    else:
        folder = Path(os.environ.get("ISOGLOT_DATA", ".")) / "tatoeba"
        files = (
            options.source_file or folder / "tatoeba.deu-eng.eng",
            options.target_file or folder / "tatoeba.deu-eng.deu",
        )
        source, target = (path.read_text(encoding="utf-8").splitlines() for path in files)
        trained = AutoModelForMaskedLM.from_pretrained(options.checkpoint)
        tokenizer = AutoTokenizer.from_pretrained(options.checkpoint)
    torch.manual_seed(options.seed)
    untrained = AutoModelForMaskedLM.from_config(trained.config)
    share = f"{100 * options.probability:.0f} %"
    print(f"{len(source)} held-out pairs, {share} of one side's pieces masked, seed {options.seed}")
    print(
        f"{'masked side':12s} {'pieces':>7s} {'true translation':>17s} {'another sentence':>17s} {'gap':>6s}"
    )
    for name, masked, whole in (("source", source, target), ("target", target, source)):
        found = translation_gap(
            trained, tokenizer, masked, whole, probability=options.probability, seed=options.seed
        )
        cells = f"{100 * found.translated:16.1f}% {100 * found.shuffled:16.1f}% {100 * found.gap:6.1f}"
        print(f"{name:12s} {found.pieces:7d} {cells}")
    print(f"\n{'retrieval (mean of pieces, cosine)':36s} {'source→target':>14s} {'target→source':>14s}")
    for label, model in (("before training", untrained.eval()), ("after", trained.eval())):
        for layer in range(num_layers(trained) + 1):
            there, back = retrieval(model, tokenizer, source, target, layer)
            print(f"{label + f', layer {layer}':36s} {100 * there:13.1f}% {100 * back:13.1f}%")


if __name__ == "__main__":
    main()
