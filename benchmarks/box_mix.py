"""A trained encoder drawn back a little to what it was before (Wortsman et al. 2022, WiSE-FT).

    python box_mix.py OUT TRAINED UNTRAINED [SHARE]

Each weight of the layers is SHARE (0.8) of the trained one and the rest of the untrained; the embeddings stay as they
are, bit by bit.
"""

import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from isoglot.runs.listed import whole_folder

WEIGHTS = "model.safetensors"


def layers(folder: Path) -> dict[str, Tensor]:
    return {name.removeprefix("bert."): value for name, value in load_file(folder / WEIGHTS).items()}


def main() -> None:
    out, trained, untrained = map(Path, sys.argv[1:4])
    share = float(sys.argv[4]) if len(sys.argv) > 4 else 0.8
    new, old = layers(trained), layers(untrained)
    mixed = {
        name: value
        if name.startswith("embeddings.") or name not in old
        else share * value + (1 - share) * old[name]
        for name, value in new.items()
    }
    with whole_folder(out) as place:
        shutil.copytree(
            trained, place, ignore=shutil.ignore_patterns(WEIGHTS, ".isoglot.json"), dirs_exist_ok=True
        )
        save_file(mixed, place / WEIGHTS, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
