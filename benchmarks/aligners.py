"""Word alignment speed and link identity, side by side with simalign and awesome-align.

One run, the same sentence pairs, the same encoder: mBERT's shape (12 layers of 768, vocabulary 119,547) or that of
multilingual-e5-small (12 of 384, 250,037, or 61,595 once trimmed) with random weights and a WordPiece tokenizer trained
on the pairs, whose special tokens stand where mBERT's do. Peers that are not
installed are left out and named (`pip install simalign awesome-align`). Then: what a single pair takes, what linking
takes after the encoder, and where there is a GPU, the same there with the share of time outside the encoder. `limits`
says what the device can do at most, and what the encoder's products and its memory take there at least.

    python benchmarks/aligners.py                  # 200 de-en pairs of ISOGLOT_DATA, or generated ones without it
    python benchmarks/aligners.py --shape e5-trimmed
    python benchmarks/aligners.py --model DIR --layer 3    # a trained encoder: how many links bfloat16 changes
    python benchmarks/aligners.py --devices cuda           # nothing on the CPU
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, BertTokenizer

import limits
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.piece_states import Pieces, PieceStates, cut_words, layer_states
from isoglot.formats.links import Alignment

Pair = tuple[list[str], list[str]]
T = TypeVar("T")
Links = list[set[tuple[int, int]]]
Found = dict[tuple[str, str], tuple[Links, float]]
E5 = {"hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536}
SHAPES: dict[str, dict[str, int]] = {
    "mbert": {"vocab_size": 119_547},
    "e5": {**E5, "vocab_size": 250_037},
    "e5-trimmed": {**E5, "vocab_size": 61_595},
    "quick": {"hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256},
}
SPECIALS = ["[PAD]", *(f"[unused{i}]" for i in range(1, 100)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def read_pairs(count: int) -> list[Pair]:
    data = os.environ.get("ISOGLOT_DATA")
    if data:
        lines = (Path(data) / "wordalign" / "de-en.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines[:count]]
        return [(row["src"], row["tgt"]) for row in rows]
    from isoglot.testing import tiny_aligned

    corpus = tiny_aligned(count)
    print("ISOGLOT_DATA is not set: generated pairs, shorter than real ones")
    return list(zip(corpus["source_words"], corpus["target_words"], strict=True))


def build_encoder(pairs: list[Pair], folder: Path, shape: str) -> None:
    """A checkpoint that all three systems can read."""
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=5000, special_tokens=SPECIALS, show_progress=False)
    core.train_from_iterator((" ".join(side) for pair in pairs for side in pair), trainer)
    vocabulary = sorted(core.get_vocab(), key=core.get_vocab().__getitem__)
    config = {"vocab_size": len(vocabulary), **SHAPES[shape]}
    size = config["vocab_size"]
    vocabulary += [f"[filler{i}]" for i in range(size - len(vocabulary))]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False, strip_accents=False)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    model = BertModel(BertConfig.from_dict(config), add_pooling_layer=True).eval()
    model.save_pretrained(folder)
    # awesome-align's fork reads neither safetensors nor a bare encoder's names.
    state = {f"bert.{k}": v for k, v in model.state_dict().items()}
    torch.save(state, folder / "pytorch_model.bin")


def timed(run: Callable[[], T], repeats: int) -> tuple[T, float]:
    links, best = run(), float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        links = run()
        best = min(best, time.perf_counter() - start)
    return links, best


def run_simalign(folder: Path, pairs: list[Pair], method: str, layer: int) -> Callable[[], Links]:
    from simalign import SentenceAligner

    aligner = SentenceAligner(
        model=str(folder),
        token_type="bpe",
        matching_methods={"argmax": "a", "itermax": "i"}[method],
        layer=layer,
    )
    key = {"argmax": "inter", "itermax": "itermax"}[method]
    return lambda: [set(aligner.get_word_aligns(s, t)[key]) for s, t in pairs]


def run_awesome(folder: Path, pairs: list[Pair], layer: int) -> Callable[[], Links]:
    from awesome_align.configuration_bert import BertConfig as AwesomeConfig
    from awesome_align.modeling import BertForMaskedLM
    from awesome_align.run_align import word_align
    from awesome_align.tokenization_bert import BertTokenizer

    config = AwesomeConfig.from_pretrained(str(folder))
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False, max_len=512)
    model = BertForMaskedLM.from_pretrained(str(folder), config=config)
    data, out = folder / "data.txt", folder / "out.txt"
    data.write_text("".join(f"{' '.join(s)} ||| {' '.join(t)}\n" for s, t in pairs), encoding="utf-8")
    arguments = SimpleNamespace(
        data_file=str(data), output_file=str(out), output_prob_file=None, output_word_file=None, num_workers=0,
        batch_size=32, device=torch.device("cpu"), align_layer=layer, extraction="softmax", softmax_threshold=0.001,
    )  # fmt: skip

    def align() -> Links:
        word_align(arguments, model, tokenizer)
        rows = out.read_text(encoding="utf-8").splitlines()
        return [set(Alignment.from_pharaoh(row).links) for row in rows]

    return align


def run_isoglot(aligner: EmbeddingAligner, pairs: list[Pair]) -> Callable[[], Links]:
    return lambda: [set(found.links) for found in aligner.align_pairs(pairs)]


def encoder_only(aligner: EmbeddingAligner, pairs: list[Pair]) -> Callable[[], Links]:
    """The same windows and batches of pieces through the encoder, and nothing else."""
    windows = [pairs[k : k + aligner.window] for k in range(0, len(pairs), aligner.window)]
    pieces = [cut_words(aligner.tokenizer, [words for pair in w for words in pair]) for w in windows]

    def run() -> Links:
        with torch.inference_mode():
            for window in pieces:
                encode(aligner, window)
        return []

    return run


def encode(aligner: EmbeddingAligner, pieces: list[Pieces]) -> PieceStates:
    """The states of a window, there when the call returns."""
    states = layer_states(aligner.model, aligner.tokenizer, pieces, layers=(aligner.layer,))[aligner.layer]
    limits.synchronise()
    return states


def single_pair(aligner: EmbeddingAligner, pairs: list[Pair]) -> list[float]:
    """Milliseconds of each pair, one call a pair."""
    aligner.align_words(*pairs[0])
    result = []
    for source, target in pairs:
        start = time.perf_counter()
        aligner.align_words(source, target)
        result.append(1000 * (time.perf_counter() - start))
    return result


def linking_by(aligner: EmbeddingAligner, method: str) -> EmbeddingAligner:
    """The aligner with another method, of the same layer and precision, both sentences encoded alone."""
    own = aligner.options
    return aligner.with_options(
        EmbeddingOptions.build(
            method=method, layer=own.layer, dtype=own.dtype, device=own.device, encode="separate"
        )
    )


def linking(aligner: EmbeddingAligner, pairs: list[Pair], methods: tuple[str, ...], repeats: int) -> None:
    """What comes before and after the encoder, in milliseconds a pair."""
    sentences = [words for pair in pairs for words in pair]
    pieces = cut_words(aligner.tokenizer, sentences)
    per_pair = 1000 / len(pairs)
    seconds = timed(lambda: cut_words(aligner.tokenizer, sentences), repeats)[1]
    print(f"{'words into pieces':44s} {seconds * per_pair:8.3f} ms a pair")
    with torch.inference_mode():
        embeddings = aligner.options.model_copy(update={"layer": 0})
        states = encode(aligner.with_options(embeddings), pieces)  # any layer's states cost the same to link
        for method in methods:
            own = linking_by(aligner, method)
            seconds = timed(partial(own._extract, states, pieces), repeats)[1]
            print(f"{f'linking by {method}':44s} {seconds * per_pair:8.3f} ms a pair", flush=True)


def differing(one: Links, other: Links) -> tuple[int, int]:
    """(links in one of the two only, links of the first)."""
    return sum(len(a ^ b) for a, b in zip(one, other, strict=True)), sum(map(len, one))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument(
        "--shape", default="mbert", choices=list(SHAPES), help="of the encoder with random weights"
    )
    parser.add_argument("--model", type=Path, help="a trained encoder's folder instead of random weights")
    parser.add_argument("--layer", type=int, default=8)
    parser.add_argument("--gpu-pairs", type=int, default=4096, help="pairs on a GPU: the same ones repeated")
    parser.add_argument("--devices", nargs="+", choices=["cpu", "cuda"], help="default: what there is")
    parser.add_argument("--quick", action="store_true", help="a small encoder and 40 pairs: does it run?")
    options = parser.parse_args()
    options.devices = options.devices or ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    pairs = read_pairs(40 if options.quick else options.pairs)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.model or Path(temporary)
        if options.model is None:
            build_encoder(pairs, folder, "quick" if options.quick else options.shape)
        compare(folder, pairs, options)


Row = Callable[..., None]


def table(count: int) -> Row:
    """Print the head of a table of speeds; returns what prints a row."""
    print(f"{'system':44s} {'s':>8s} {'pairs/s':>9s}")

    def row(name: str, seconds: float, note: str = "") -> None:
        print(f"{name:44s} {seconds:8.2f} {count / seconds:9.1f}  {note}", flush=True)

    return row


def speeds(folder: Path, pairs: list[Pair], options: argparse.Namespace, device: str, row: Row) -> Found:
    """The methods in both precisions, and the encoder alone."""
    found: Found = {}
    for dtype in ("float32", "bfloat16"):
        base = EmbeddingAligner(folder, layer=options.layer, dtype=dtype, device=device)
        alone = timed(encoder_only(base, pairs), options.repeats)[1]
        for method in ("argmax", "itermax", "softmax"):
            own = linking_by(base, method)
            links, seconds = found[method, dtype] = timed(run_isoglot(own, pairs), options.repeats)
            note = f"{100 * max(0.0, 1 - alone / seconds):.0f} % outside the encoder"
            if dtype == "bfloat16":
                changed, total = differing(found[method, "float32"][0], links)
                note += f"; {changed} of {total} links differ from float32"
                note += f" ({100 - 100 * changed / total:.2f} % equal)"
            row(f"isoglot {method} {dtype}", seconds, note)
        row(f"encoder alone, {base.layer} layers, {dtype}", alone)
        most = limits.limits(device, getattr(torch, dtype))
        print(f"    limits: {most}; the encoder takes at least {most.least(*least_work(base, pairs))}")
    return found


def least_work(aligner: EmbeddingAligner, pairs: list[Pair]) -> tuple[float, float]:
    """Operations of the encoder's products up to its layer, without padding, and bytes: weights in, states out."""
    sentences = cut_words(aligner.tokenizer, [words for pair in pairs for words in pair])
    pieces = np.array([len(sentence) + 2 for sentence in sentences], dtype=float)
    config = aligner.model.config
    h, inner = config.hidden_size, config.intermediate_size
    flops = aligner.layer * (2 * pieces.sum() * (4 * h * h + 2 * h * inner) + 4 * h * (pieces**2).sum())
    weights = aligner.layer * (4 * h * h + 2 * h * inner) + config.vocab_size * h
    return flops, (weights + pieces.sum() * h) * aligner.model.dtype.itemsize


def compare(folder: Path, pairs: list[Pair], options: argparse.Namespace) -> None:
    print(
        f"{len(pairs)} pairs, layer {options.layer}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    )
    if "cpu" in options.devices:
        row = table(len(pairs))
        own = speeds(folder, pairs, options, "cpu", row)
        if options.model is None:
            peers(folder, pairs, options.layer, own, row)
    for device in options.devices:
        print(f"\n{device}: one pair a call, and what is not the encoder")
        for dtype in ("float32", "bfloat16"):
            aligner = EmbeddingAligner(folder, layer=options.layer, dtype=dtype, device=device)
            times = sorted(single_pair(aligner, pairs[:50]))
            middle, late = times[len(times) // 2], times[int(len(times) * 0.95)]
            print(f"{f'one pair, itermax {dtype}':44s} {middle:8.1f} ms (median; 95 %: {late:.1f})")
        linking(aligner, pairs, ("argmax", "itermax", "softmax", "entmax", "ot", "match"), options.repeats)
    if "cuda" in options.devices:
        many = (pairs * (-(-options.gpu_pairs // len(pairs))))[: options.gpu_pairs]
        print(f"\n{torch.cuda.get_device_name()}: {len(many)} pairs")
        speeds(folder, many, options, "cuda", table(len(many)))


def peers(folder: Path, pairs: list[Pair], layer: int, own: Found, row: Row) -> None:
    runs: list[tuple[str, str, Callable[[], Callable[[], Links]]]] = [
        ("simalign", "argmax", lambda: run_simalign(folder, pairs, "argmax", layer)),
        ("simalign", "itermax", lambda: run_simalign(folder, pairs, "itermax", layer)),
        ("awesome-align", "softmax", lambda: run_awesome(folder, pairs, layer)),
    ]
    for peer, method, build in runs:
        try:
            run = build()
        except ImportError as error:
            print(f"{peer} is not installed ({error}); left out")
            continue
        out, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: PTH123, SIM115 - awesome-align prints
        try:
            links, seconds = timed(run, 1)
        finally:
            sys.stdout.close()
            sys.stdout = out
        changed, total = differing(links, own[method, "float32"][0])
        row(f"{peer} {method}", seconds, f"{changed} of {total} links differ from isoglot float32")
        for dtype in ("float32", "bfloat16"):
            print(f"    isoglot {method} {dtype}: {seconds / own[method, dtype][1]:.1f}x {peer}")


if __name__ == "__main__":
    main()
