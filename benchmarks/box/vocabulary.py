"""An encoder with fewer pieces and no holes: what text uses, every single character, then the most probable ones.

    python vocabulary.py keep ENCODER OUT COUNT TEXT...
    python vocabulary.py check ENCODER TRIMMED TEXT...

A TEXT has two cells a line, or one; each is cut as it stands and as words joined by single spaces. ``check`` counts
words with unknown pieces, with the encoder's tokenizer and with the trimmed one, and how many more pieces that makes.
"""

import gzip
import json
import shutil
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.corpus.encode.trimming import chosen_pieces, count_pieces, trimmed_tokenizer
from isoglot.formats.words import split_words
from isoglot.runs.listed import whole_folder
from weights import WEIGHTS

EMBEDDINGS = "embeddings.word_embeddings.weight"


def cells(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).decode().split("\n"):
        yield from line.split("\t")[:2]


def forms(path: Path) -> Iterator[str]:
    """Running text, and the words that aligners are given."""
    for cell in cells(path):
        yield cell
        yield " ".join(split_words(cell))


def keep(encoder: Path, out: Path, count: int, texts: list[Path]) -> None:
    if out.exists():
        return
    backend = load_tokenizer(encoder).backend_tokenizer
    entries = json.loads(backend.to_str())["model"]["vocab"]
    config = json.loads((encoder / "config.json").read_text())
    special = {name: value for name, value in config.items() if name.endswith("_token_id") and value}
    single = [number for number, (piece, _) in enumerate(entries) if len(piece.removeprefix("▁")) <= 1]
    usage = count_pieces(backend, chain.from_iterable(map(forms, texts)))
    used = chosen_pieces(backend, usage, always=[*single, *special.values()])
    unused = np.setdiff1d(np.arange(len(entries)), used)
    score = np.array([score for _, score in entries])
    unused = unused[np.argsort(-score[unused], kind="stable")]
    kept = np.sort(np.concatenate([used, unused[: max(0, count - len(used))]]))
    print(
        f"{len(entries)} pieces; {len(single)} of one character, {len(used)} with the text's; {len(kept)} kept"
    )
    weights = load_file(encoder / WEIGHTS)
    name = next(name for name in weights if name.endswith(EMBEDDINGS))
    weights[name] = weights[name][torch.from_numpy(kept)].contiguous()
    number = {int(old): new for new, old in enumerate(kept)}
    config |= {name: number[value] for name, value in special.items()} | {"vocab_size": len(kept)}
    with whole_folder(out) as folder:
        shutil.copy(encoder / "tokenizer_config.json", folder)
        trimmed_tokenizer(backend, kept).save(str(folder / "tokenizer.json"))
        (folder / "config.json").write_text(json.dumps(config, indent=2))
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


def check(encoder: Path, trimmed: Path, texts: list[Path]) -> None:
    backends = [load_tokenizer(folder).backend_tokenizer for folder in (encoder, trimmed)]
    unknown = [backend.token_to_id("<unk>") for backend in backends]
    print("text | words | unknown before, after | pieces before | more after (%)")
    for path in texts:
        words = sorted({word for cell in cells(path) for word in split_words(cell)})
        ids = [[e.ids for e in backend.encode_batch(words, add_special_tokens=False)] for backend in backends]
        holes = [sum(u in word for word in cut) for u, cut in zip(unknown, ids, strict=True)]
        pieces = [sum(map(len, cut)) for cut in ids]
        more = 100 * (pieces[1] / pieces[0] - 1)
        print(f"{path.name} | {len(words)} | {holes[0]}, {holes[1]} | {pieces[0]} | {more:.2f}", flush=True)


def main() -> None:
    how, encoder, folder, *rest = sys.argv[1:]
    if how == "keep":
        keep(Path(encoder), Path(folder), int(rest[0]), [Path(path) for path in rest[1:]])
    else:
        check(Path(encoder), Path(folder), [Path(path) for path in rest])


if __name__ == "__main__":
    main()
