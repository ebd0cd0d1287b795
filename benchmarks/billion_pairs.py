"""What a pair costs on the way into training: bytes on disk, and pairs a second of one core, on generated pairs.

    OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false python benchmarks/billion_pairs.py --pairs 20000

`docs/results/xlmr_large_estimate.md` multiplies them by a billion. Rates count processor time, so other
work on the machine matters little.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from datasets import Dataset
from transformers import PreTrainedTokenizerFast

from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.manifest import load_corpus
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source
from isoglot.training.batches import BatchOptions, TokenBudgetBatches
from isoglot.training.collate import Collator
from isoglot.training.mixture import Mixture
from isoglot.views.masked_pair import MaskedPair
from prepare import write_pairs, write_tokenizer

LENGTHS = 1_000_000


def size(folder: Path, pattern: str) -> int:
    """Bytes of the files of a folder."""
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())


def measure(folder: Path, pairs: int) -> None:
    """Print every figure."""
    write_pairs(folder, pairs, 1)
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[UNK]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(write_tokenizer(folder)), **names)
    source = Source(path=str(folder / "c.en.gz"), target_path=str(folder / "c.de.gz"), source_language="en",
                    target_language="de")  # fmt: skip
    prepare(source, folder / "out")
    corpus = load_corpus(folder / "out")
    began = time.process_time()
    stream = encode_stream(
        corpus, tokenizer, options=EncodeOptions(max_length=512), cache_dir=folder / "streams"
    )
    encoding = time.process_time() - began
    rows = {
        "pieces": int(stream.with_format("numpy")["length"][:].sum()),
        "raw files, gzipped: bytes": size(folder, "*.gz"),
        "prepared, Parquet: bytes": size(folder / "out", "*.parquet"),
        "unpacked once, Arrow: bytes": size(folder / "out", ".cache/*"),
        "encoded stream: bytes": size(folder, "streams/*/*"),
    }
    for name, total in rows.items():
        print(f"{name:32} {total / pairs:10,.1f} a pair")
    mixture = Mixture({"bitext": stream}, primary="bitext", length=pairs, seed=1, bucket=3200)
    collator = Collator({"pair": ("bitext", MaskedPair(tokenizer, max_length=512))}, seed=1, pad_token_id=0)
    count = min(pairs, 6400) // 64 * 64
    began = time.process_time()
    for start in range(0, count, 64):
        collator(mixture.__getitems__(range(start, start + 64)))
    loading = time.process_time() - began
    lengths = np.random.default_rng(0).integers(10, 120, LENGTHS).astype(np.int32)
    began = time.process_time()
    large = Mixture({"bitext": Dataset.from_dict({"length": lengths})}, primary="bitext", length=LENGTHS, seed=1,
                    bucket=LENGTHS)  # fmt: skip
    TokenBudgetBatches(large, BatchOptions(tokens=16_384), world_size=64)
    cutting = time.process_time() - began
    print(f"{'encoding':32} {pairs / encoding:10,.0f} pairs a second")
    print(f"{'reading, masking, padding':32} {count / loading:10,.0f} pairs a second")
    print(f"{'cutting batches of 64 ranks':32} {LENGTHS / cutting:10,.0f} pairs a second")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=20_000)
    with tempfile.TemporaryDirectory(prefix="isoglot-billion-") as name:
        measure(Path(name), parser.parse_args().pairs)


if __name__ == "__main__":
    main()
