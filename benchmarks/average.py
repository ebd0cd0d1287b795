"""The mean of several encoders' weights, in a folder of its own (Wortsman et al. 2022, model soups).

    python benchmarks/average.py OUT ENCODER ENCODER...

All have to come from one start. What is not weights, such as the tokenizer, is copied from the first.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

WEIGHTS = "model.safetensors"


def main() -> None:
    out, *encoders = map(Path, sys.argv[1:])
    weights = [load_file(encoder / WEIGHTS) for encoder in encoders]
    mean = {name: sum(w[name].float() for w in weights) / len(weights) for name in weights[0]}
    mean = {name: value.to(weights[0][name].dtype) for name, value in mean.items()}
    # Without weights at first: a copy that is cut short is no encoder, and not the first one by another name.
    shutil.copytree(encoders[0], out, ignore=shutil.ignore_patterns(WEIGHTS))
    save_file(mean, out / WEIGHTS, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
