"""The trained layers of an aligner under the upper layers of the encoder that it was made of.

    python box_stack.py OUT LOWER FULL

LOWER is the folder of the aligner, with its pieces and the layer that it reads; FULL that of the whole encoder, whose
layers above that one are taken.
"""

import json
import shutil
import sys
from pathlib import Path

from safetensors.torch import save_file

from box_mix import WEIGHTS, layers
from isoglot.runs.listed import whole_folder


def main() -> None:
    out, lower, full = map(Path, sys.argv[1:4])
    config = json.loads((lower / "config.json").read_text())
    whole = json.loads((full / "config.json").read_text())["num_hidden_layers"]
    read = json.loads((lower / "aligner.json").read_text())["layer"]
    above = tuple(f"encoder.layer.{k}." for k in range(read, whole))
    upper = {name: value for name, value in layers(full).items() if name.startswith(above)}
    with whole_folder(out) as place:
        shutil.copytree(
            lower,
            place,
            ignore=shutil.ignore_patterns(
                WEIGHTS, ".isoglot.json", "aligner.json", "unpacked.json", "README.md"
            ),
            dirs_exist_ok=True,
        )
        (place / "config.json").write_text(json.dumps({**config, "num_hidden_layers": whole}, indent=2))
        save_file({**layers(lower), **upper}, place / WEIGHTS, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
