"""What isoglot computes, one JSON line each, to compare two versions of the code: recipes, worlds, derivations, links.

    python benchmarks/same_figures.py world WORLD                     # once, by either version: data and encoders
    PYTHONPATH=old/src python benchmarks/same_figures.py run WORLD > old.jsonl
    PYTHONPATH=new/src python benchmarks/same_figures.py run WORLD > new.jsonl
    diff old.jsonl new.jsonl && echo equal

Of every recipe that comes with isoglot: its hash, and the losses of its first ten steps with its own streams, views
and objectives on a small encoder. Of `isoglot world` and `isoglot derive`: a hash of all files that hold data. Of every
aligner: a hash of its links. Everything is reached through the command line, so that the script outlives changes of the
code's structure. Figures are compared on one machine; processors differ in the last bits.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
STEPS = 10
STATISTICAL = ("fast_align", "hmm")
EMBEDDING = ("argmax", "itermax", "match", "forward", "backward", "softmax", "entmax", "ot")


def build(world: Path) -> None:
    """Write the data and encoders of the recipes, and the settings that make each small."""
    sys.path.insert(0, str(SUPPORT))
    from recipe_world import RECIPES, build_world, smaller

    world.mkdir(parents=True)
    environment = build_world(world)
    os.environ |= environment
    changes = {name: [c for c in smaller(name, world) if not c.startswith("steps=")] for name in RECIPES}
    (world / "settings.json").write_text(json.dumps({"environment": environment, "changes": changes}))


def isoglot(*arguments: str) -> str:
    """What a command prints; its message where it fails."""
    from isoglot.cli import main

    out, err, given = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["isoglot", *arguments]
    code: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = given
    return out.getvalue() if not code else f"failed ({code}): {err.getvalue()[-600:]}"


def digest(text: str | bytes) -> str:
    """16 hexadecimal digits."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()[:16]


def folder_digest(folder: Path) -> str:
    """Of the data in a folder: names and contents, without manifests, which hold versions and paths."""
    import pyarrow.parquet

    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        if path.suffix == ".parquet":
            found.append(
                (name, digest(json.dumps(pyarrow.parquet.read_table(path).to_pylist(), default=str)))
            )
        elif not any(made in name for made in ("manifest", "call", "world.json")) and path.name[0] != ".":
            found.append((name, digest(path.read_bytes())))
    return digest(json.dumps(found))


def recipes(changes: dict[str, list[str]], folder: Path) -> None:
    """The hash and first losses of every recipe."""
    for name, overrides in changes.items():
        out = folder / name.replace("/", "-")
        sets = [f"--set={c}" for c in (*overrides, f"steps={STEPS}", "train.logging_steps=1")]
        said = isoglot("pretrain", name, *sets, "--out", str(out), "--quiet")
        figures: dict[str, object] = {"recipe": name}
        states = sorted(out.glob("checkpoint-*/trainer_state.json"))
        if (out / "run.json").is_file():
            figures["hash"] = json.loads((out / "run.json").read_text())["recipe_hash"]
        if states:
            history = json.loads(states[-1].read_text())["log_history"]
            figures["losses"] = [row["loss"] for row in history if "loss" in row]
        else:
            figures["said"] = said
        print(json.dumps(figures), flush=True)


def worlds(folder: Path) -> None:
    """Generated data and derived corpora."""
    amounts = [f"--{kind}=60" for kind in ("text", "pos", "ner", "nli", "paws", "qa", "dev", "test")]
    for seed in ("0", "7"):
        said = isoglot("world", "--seed", seed, *amounts, "--out", str(folder / f"world{seed}"))
        made = folder / f"world{seed}"
        print(json.dumps({"world": seed, "hash": folder_digest(made) if made.is_dir() else said}), flush=True)
    text = folder / "text.txt"
    text.write_text(
        "".join(f"the {a} house {b} is small\n" for a in ("old", "new") for b in ("there", "here"))
    )
    for transform in ("trans", "inv", "perm", "trans+inv"):
        out = folder / f"derived-{transform}"
        said = isoglot("derive", str(text), "--transform", transform, "--language", "en", "--out", str(out))
        print(
            json.dumps({"derive": transform, "hash": folder_digest(out) if out.is_dir() else said}),
            flush=True,
        )


def links(world: Path) -> None:
    """The links of every aligner."""
    import gzip

    with gzip.open(world / "data" / "parallel" / "en-de.tsv.gz", "rt", encoding="utf-8") as file:
        rows = file.read().splitlines()
    with tempfile.TemporaryDirectory() as place:
        bitext = Path(place) / "bitext.txt"
        bitext.write_text("".join(" ||| ".join(row.split("\t")[:2]) + "\n" for row in rows))
        for method in (*STATISTICAL, *EMBEDDING):
            model = (
                [] if method in STATISTICAL else ["--model", str(world / "mbert"), "--precision", "float32"]
            )
            said = isoglot("align", str(bitext), "--method", method, *model, "--quiet")
            print(
                json.dumps({"align": method, "links": said if "failed" in said else digest(said)}), flush=True
            )


def main() -> None:
    what, world = sys.argv[1], Path(sys.argv[2]).resolve()
    if what == "world":
        build(world)
        return
    settings = json.loads((world / "settings.json").read_text())
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {**settings["environment"], "ISOGLOT_CACHE": f"{place}/cache"}
        import torch

        torch.set_num_threads(1)
        links(world)
        worlds(Path(place))
        recipes(settings["changes"], Path(place))


if __name__ == "__main__":
    main()
