"""Encoders put together from the weights of others.

    python weights.py mix OUT TRAINED BASE SHARE      SHARE of each trained weight of the layers, the rest BASE's
    python weights.py stack OUT BASE LOWER [UPPER]    LOWER's layers on BASE's embeddings, under UPPER's others

``mix`` draws a trained encoder back to what it was (Wortsman et al. 2022, WiSE-FT). The embeddings stay as BASE has
them, bit by bit.
"""

import json
import re
import shutil
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from isoglot.runs.listed import whole_folder

WEIGHTS, CHOICE = "model.safetensors", "aligner.json"
LAYER = re.compile(r"encoder\.layer\.(\d+)\.")


def tensors(folder: Path) -> dict[str, Tensor]:
    """Embeddings and layers, without a prefix."""
    weights = {name.removeprefix("bert."): value for name, value in load_file(folder / WEIGHTS).items()}
    return {name: value for name, value in weights.items() if name.startswith(("embeddings.", "encoder."))}


def mixed(trained: Path, base: Path, share: float) -> dict[str, Tensor]:
    new, old = tensors(trained), tensors(base)
    return {
        name: share * value + (1 - share) * old[name] if LAYER.match(name) else old[name]
        for name, value in new.items()
    }


def stacked(base: Path, lower: Path, upper: Path | None) -> dict[str, Tensor]:
    embeddings = {name: value for name, value in tensors(base).items() if name.startswith("embeddings.")}
    layers = {name: value for name, value in tensors(lower).items() if LAYER.match(name)}
    return {**({} if upper is None else tensors(upper)), **layers, **embeddings}


def write(out: Path, weights: dict[str, Tensor], pieces: Path, choice: Path | None) -> None:
    """A folder with the pieces of an encoder, and the choice of layer and method of an aligner."""
    config = json.loads((pieces / "config.json").read_text())
    numbers = [int(match[1]) for match in map(LAYER.match, weights) if match]
    config["num_hidden_layers"] = max(numbers) + 1
    with whole_folder(out) as folder:
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(pieces / name, folder)
        if choice is not None:
            shutil.copy(choice / CHOICE, folder)
        (folder / "config.json").write_text(json.dumps(config, indent=2))
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


def main() -> None:
    how, *rest = sys.argv[1:]
    out, first, second = map(Path, rest[:3])
    if out.exists():
        return
    if how == "mix":
        write(out, mixed(first, second, float(rest[3])), second, first)
    else:
        upper = Path(rest[3]) if len(rest) > 3 else None
        write(out, stacked(first, second, upper), first, second if (second / CHOICE).exists() else None)


if __name__ == "__main__":
    main()
