"""The mean of several encoders' weights, in a folder of its own (Wortsman et al. 2022, model soups).

    python benchmarks/average.py OUT ENCODER ENCODER...

All have to come from one start. What is not weights, such as the tokenizer, is copied from the first.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

from isoglot.runs.listed import whole_folder

WEIGHTS = "model.safetensors"


def main() -> None:
    out, *encoders = map(Path, sys.argv[1:])
    if out.exists():
        sys.exit(f"{out}: exists; name another folder")
    weights = [load_file(encoder / WEIGHTS) for encoder in encoders]
    mean = {
        name: (sum((w[name].float() for w in weights[1:]), first.float()) / len(weights)).to(first.dtype)
        for name, first in weights[0].items()
    }
    with whole_folder(out) as place:
        shutil.copytree(encoders[0], place, ignore=shutil.ignore_patterns(WEIGHTS), dirs_exist_ok=True)
        save_file(mean, place / WEIGHTS, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
