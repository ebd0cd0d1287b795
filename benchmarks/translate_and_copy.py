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
from pathlib import Path

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from isoglot.align.piece_states import encode_separately
from isoglot.align.word_pieces import cut_words
from isoglot.modules.encoder import num_layers
from isoglot.seeding import generator_for

BATCH = 64


@torch.inference_mode()
def masked_accuracy(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, pairs: list[tuple[list[int], list[int]]],
                    *, probability: float, seed: int) -> tuple[float, int]:  # fmt: skip
    """Accuracy on masked pieces of the first sentence of each pair, and how many there were."""
    right = total = 0
    order = sorted(range(len(pairs)), key=lambda i: sum(map(len, pairs[i])))
    for start in range(0, len(order), BATCH):
        rows, labels = [], []
        for i in order[start : start + BATCH]:
            masked, other = pairs[i]
            chosen = torch.rand(len(masked), generator=generator_for(seed, "mask", i)) < probability
            kept = [tokenizer.mask_token_id if c else p for p, c in zip(masked, chosen.tolist(), strict=True)]
            cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
            rows.append([cls, *kept, sep, *other, sep])
            labels.append([-100, *(p if c else -100 for p, c in zip(masked, chosen.tolist(), strict=True))])
        width = max(map(len, rows))
        ids = torch.tensor([r + [tokenizer.pad_token_id] * (width - len(r)) for r in rows])
        gold = torch.tensor([r + [-100] * (width - len(r)) for r in labels])
        logits = model(ids, attention_mask=(ids != tokenizer.pad_token_id).long()).logits
        scored = gold != -100
        right += int((logits[scored].argmax(-1) == gold[scored]).sum())
        total += int(scored.sum())
    return right / max(total, 1), total


@torch.inference_mode()
def retrieval(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, source: list[str], target: list[str],
              layer: int) -> tuple[float, float]:  # fmt: skip
    """Share of sentences whose nearest neighbour on the other side is their translation, both ways."""
    vectors = []
    for side in (source, target):
        pieces = cut_words(tokenizer, [text.split() for text in side])
        states = encode_separately(model, tokenizer, pieces, layer=layer)
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
        trained, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
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
    ids = [tokenizer(side, add_special_tokens=False)["input_ids"] for side in (source, target)]
    print(
        f"{len(source)} held-out pairs, {100 * options.probability:.0f} % of one side's pieces masked, seed {options.seed}"
    )
    print(
        f"{'masked side':12s} {'pieces':>7s} {'true translation':>17s} {'another sentence':>17s} {'gap':>6s}"
    )
    for name, own, other in (("source", *ids), ("target", *ids[::-1])):
        scores = []
        for shift in (0, 1):
            pairs = [(own[i], other[(i + shift) % len(other)]) for i in range(len(own))]
            scores.append(
                masked_accuracy(
                    trained.eval(), tokenizer, pairs, probability=options.probability, seed=options.seed
                )
            )
        (true, count), (shuffled, _) = scores
        print(
            f"{name:12s} {count:7d} {100 * true:16.1f}% {100 * shuffled:16.1f}% {100 * (true - shuffled):6.1f}"
        )
    print(f"\n{'retrieval (mean of pieces, cosine)':36s} {'source→target':>14s} {'target→source':>14s}")
    for label, model in (("before training", untrained.eval()), ("after", trained.eval())):
        for layer in range(num_layers(trained) + 1):
            there, back = retrieval(model, tokenizer, source, target, layer)
            print(f"{label + f', layer {layer}':36s} {100 * there:13.1f}% {100 * back:13.1f}%")


if __name__ == "__main__":
    main()
