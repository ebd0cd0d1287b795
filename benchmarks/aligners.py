"""Word alignment speed and link identity, side by side with simalign and awesome-align.

One run, the same sentence pairs, the same encoder: mBERT's shape (12 layers of 768, vocabulary 119,547) with random
weights and a WordPiece tokenizer trained on the pairs, whose special tokens stand where mBERT's do. Peers that are not
installed are left out and named (`pip install simalign awesome-align`).

    python benchmarks/aligners.py                  # 200 de-en pairs of ISOGLOT_DATA, or generated ones without it
    python benchmarks/aligners.py --model DIR --layer 3    # a trained encoder: how many links bfloat16 changes
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, BertTokenizerFast

from isoglot.align.embedding import EmbeddingAligner
from isoglot.align.piece_states import encode_separately
from isoglot.align.word_pieces import cut_words

Pair = tuple[list[str], list[str]]
Links = list[set[tuple[int, int]]]
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


def build_encoder(pairs: list[Pair], folder: Path, *, quick: bool) -> None:
    """A checkpoint that all three systems can read."""
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=5000, special_tokens=SPECIALS, show_progress=False)
    core.train_from_iterator((" ".join(side) for pair in pairs for side in pair), trainer)
    vocabulary = sorted(core.get_vocab(), key=core.get_vocab().get)
    size = 119_547 if not quick else len(vocabulary)
    vocabulary += [f"[filler{i}]" for i in range(size - len(vocabulary))]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=False, strip_accents=False)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256} if quick else {}
    model = BertModel(BertConfig(vocab_size=size, **shape), add_pooling_layer=True).eval()
    model.save_pretrained(folder)
    # awesome-align's fork reads neither safetensors nor a bare encoder's names.
    state = {f"bert.{k}": v for k, v in model.state_dict().items()}
    torch.save(state, folder / "pytorch_model.bin")


def timed(run: Callable[[], Links], repeats: int) -> tuple[Links, float]:
    run()
    best, links = float("inf"), []
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
        return [{tuple(map(int, link.split("-"))) for link in row.split()} for row in rows]

    return align


def run_isoglot(folder: Path, pairs: list[Pair], method: str, dtype: str, layer: int) -> Callable[[], Links]:
    aligner = EmbeddingAligner(folder, method=method, layer=layer, dtype=dtype)
    return lambda: [set(found.links) for found in aligner.align_pairs(pairs)]


def encoder_only(folder: Path, pairs: list[Pair], dtype: str, layer: int) -> Callable[[], Links]:
    """The same batches of pieces through the encoder, and nothing else."""
    aligner = EmbeddingAligner(folder, layer=layer, dtype=dtype)
    pieces = cut_words(aligner.tokenizer, [words for pair in pairs for words in pair])

    def run() -> Links:
        with torch.inference_mode():
            encode_separately(aligner.model, aligner.tokenizer, pieces, layer=aligner.layer)
        return []

    return run


def differing(one: Links, other: Links) -> tuple[int, int]:
    """(links in one of the two only, links of the first)."""
    return sum(len(a ^ b) for a, b in zip(one, other, strict=True)), sum(map(len, one))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--model", type=Path, help="a trained encoder's folder instead of random weights")
    parser.add_argument("--layer", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="a small encoder and 40 pairs: does it run?")
    options = parser.parse_args()
    pairs = read_pairs(40 if options.quick else options.pairs)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.model or Path(temporary)
        if options.model is None:
            build_encoder(pairs, folder, quick=options.quick)
        compare(folder, pairs, options)


def compare(folder: Path, pairs: list[Pair], options: argparse.Namespace) -> None:
    layer, repeats, count = options.layer, options.repeats, len(pairs)
    own: dict[tuple[str, str], tuple[Links, float]] = {}
    print(f"{count} pairs, layer {layer}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{'system':44s} {'s':>8s} {'pairs/s':>9s}")

    def row(name: str, seconds: float, note: str = "") -> None:
        print(f"{name:44s} {seconds:8.2f} {count / seconds:9.1f}  {note}", flush=True)

    for method in ("argmax", "itermax", "softmax"):
        for dtype in ("float32", "bfloat16"):
            own[method, dtype] = timed(run_isoglot(folder, pairs, method, dtype, layer), repeats)
            links, seconds = own[method, dtype]
            note = ""
            if dtype == "bfloat16":
                changed, total = differing(own[method, "float32"][0], links)
                note = f"{changed} of {total} links differ from float32 ({100 - 100 * changed / total:.2f} % equal)"
            row(f"isoglot {method} {dtype}", seconds, note)
    for dtype in ("float32", "bfloat16"):
        row(
            f"encoder alone, {layer} layers, {dtype}",
            timed(encoder_only(folder, pairs, dtype, layer), repeats)[1],
        )
    if options.model is None:
        peers(folder, pairs, layer, own, row)


def peers(folder: Path, pairs: list[Pair], layer: int, own: dict[tuple[str, str], tuple[Links, float]],
          row: Callable[..., None]) -> None:  # fmt: skip
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
