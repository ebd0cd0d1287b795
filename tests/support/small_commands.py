"""One small call of each verb that writes, for the tests that disturb it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from isoglot.runs.history import HISTORY
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

VERBS = ("prepare", "derive", "world", "align", "pretrain", "finetune", "evaluate")


def build_inputs(folder: Path, recipe: Path) -> dict[str, list[str]]:
    """Write what the calls read; the call of each verb without its ``--out``."""
    tokenizer, encoder, bitext = tiny_tokenizer("bert"), folder / "tiny", tiny_bitext(40)
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(encoder)
    tokenizer.save_pretrained(encoder)
    rows = zip(bitext["source"], bitext["target"], strict=True)
    (folder / "pairs.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in rows))
    (folder / "en.txt").write_text("".join(f"{line}\n" for line in bitext["source"]))
    tagged = "\n".join("".join(f"en:{w}\tO\n" for w in s.split()) for s in bitext["source"])
    for split in ("train", "dev", "test"):
        (folder / f"en-{split}.txt").write_text(tagged.replace("O\n", "B-PER\n", 1))
    ner = ["--task", "ner", "--data", str(folder / "{language}-{split}.txt")]
    pairs = str(folder / "pairs.tsv")
    calls = {
        "prepare": ["prepare", pairs, "--source-lang", "en", "--target-lang", "de"],
        "derive": ["derive", str(folder / "en.txt"), "--transform", "trans+inv", "--lang", "en"],
        "world": ["world", "--text", "50", "--dev", "5", "--test", "5"],
        "align": ["align", pairs, "-m", "fast_align"],
        "pretrain": ["pretrain", str(recipe), "--resume"],
        "finetune": ["finetune", str(encoder), *ner, "--epochs", "1", "--set", "batch_size=4"],
    }  # fmt: skip
    tuned = folder / "tuned"
    done = finished(start([*calls["finetune"], "--out", str(tuned)]))
    assert done[0] == 0, done[1]
    calls["evaluate"] = ["evaluate", str(tuned), *ner, "--languages", "en"]
    return calls


def start(call: list[str], **environment: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "isoglot.cli", *call],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code of a command, and what it wrote to standard error."""
    _, said = process.communicate(timeout=280)
    return process.returncode, said


def content(place: Path) -> dict[str, bytes]:
    """The data that a call wrote: everything but records of when, where and how fast."""
    files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
    data = (".parquet", ".txt", ".conllu", ".tsv", ".safetensors", ".jsonl", ".out")
    return {
        str(f.relative_to(place.parent)): f.read_bytes()
        for f in files
        if f.suffix in data and f.name != HISTORY
    }
