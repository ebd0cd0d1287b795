"""Every verb that writes, killed at random moments: the same command then ends as if nothing had happened."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from verb_calls import FILES, MODELS, TOKENIZERS, command, write_data, write_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

KILLS, IN_A_ROW = 12, 3
CALLS = {
    **MODELS,
    **TOKENIZERS,
    **{name: FILES[name] for name in FILES if "OUT" in FILES[name]},
    "inspect": FILES["inspect"],
    "pretrain": f"{MODELS['pretrain']} --resume",
    "align corpus": "align FOLDER/pairs.txt -m hmm --format corpus --source-lang en --target-lang xx -o OUT/corpus",
    "align saved": "align FOLDER/pairs.txt -m fast_align -o OUT/links --save OUT/model --lexicon OUT/lexicon",
    "tune": "tune OUT/model --gold FOLDER/gold.jsonl --layers 1,2",
    "trim": "trim MODEL --text FOLDER/a.tsv --out OUT/small",
    "init": "init FOLDER/a.tsv --model MODEL --source-lang en --target-lang xx --out OUT/recipe.yaml --overwrite",
    "study": "study align_mlm/table3 --only MLM/trans:pos.zs --seeds 1 --out OUT/study --workers 1 "
    + " ".join(
        f"--set {size}"
        for size in ("steps=2", "warmup=0", "vocabulary=150", "batch=4", "text=60", "pos=12", "ner=0", "nli=12",
                     "dev=6", "hidden=16", "heads=2", "feed_forward=16", "tuning_epochs=1")
    ),
}  # fmt: skip
VERBS = sorted(CALLS)
DATA = (".parquet", ".txt", ".conllu", ".tsv", ".safetensors", ".arrow", ".npz")
"""Files that hold no time of day, and so are the same in every run."""
TRAINS_A_VOCABULARY = ("study",)
"""The library's training of a vocabulary depends on hashes of the process, and so do files and names after it."""
LEFT = (".partial", ".lock", ".parts", ".saving", ".tmp", ".old")
SUPPORT = Path(__file__).parents[1] / "support"


class Runner:
    """Runs commands with small inputs, to their end or until they are killed."""

    def __init__(self, data: Path, model: Path) -> None:
        self.data, self.model = data, model
        self.server = subprocess.Popen(
            [sys.executable, str(SUPPORT / "kill_calls.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, verb: str, folder: Path, seconds: float | None = None) -> int | None:
        """The exit code of the command; ``None``: it was killed after so many seconds."""
        assert self.server.stdin is not None and self.server.stdout is not None
        words = command(CALLS[verb], self.data, self.model, folder)
        words = [word.replace("MLM/trans", "MLM / trans") for word in words]
        self.server.stdin.write(json.dumps([words, str(folder), seconds]) + "\n")
        self.server.stdin.flush()
        code: int | None = json.loads(self.server.stdout.readline())
        return code

    def fresh(self, verb: str, folder: Path) -> Path:
        """The folder of a run with what its command expects there."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if verb == "tune":
            shutil.copytree(self.model, folder / "model")
        return folder


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    data = write_data(tmp_path_factory.mktemp("data"))
    found = Runner(data, write_model(tmp_path_factory.mktemp("model")))
    yield found
    found.server.kill()
    found.server.communicate()  # closes its pipes


def content(folder: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    return {name: re.sub(rb'"(started|finished)": "[^"]*"', b"", data) for name, data in found.items()}


@pytest.mark.parametrize("verb", VERBS)
def test_a_killed_command_ends_as_if_undisturbed(runner: Runner, tmp_path: Path, verb: str) -> None:
    wholes = []
    for name in ("first", "second"):
        folder = runner.fresh(verb, tmp_path / name)
        began = time.monotonic()
        assert runner.run(verb, folder) == 0, folder.with_suffix(".log").read_text()
        seconds, found = time.monotonic() - began, content(folder)
        wholes.append(found)
    expected = {n: b for n, b in wholes[0].items() if wholes[1].get(n) == b and not n.endswith(".html")}
    names = len if verb in TRAINS_A_VOCABULARY else dict.keys
    assert names(wholes[0]) == names(wholes[1])
    if verb in TRAINS_A_VOCABULARY:
        expected = {}
    else:
        assert all(n in expected for n in wholes[0] if n.endswith(DATA)), "the verb is not deterministic"
    chance, kills = random.Random(verb), 0
    for attempt in range(4 * KILLS):
        if kills >= KILLS:
            break
        folder = runner.fresh(verb, tmp_path / f"disturbed{attempt}")
        before = kills
        while (
            kills < min(KILLS, before + IN_A_ROW)
            and runner.run(verb, folder, chance.uniform(0.02, 1.0) * seconds) is None
        ):
            kills += 1
        said = folder.with_suffix(".log")
        assert runner.run(verb, folder) == 0, said.read_text()
        found = content(folder)
        assert names(found) == names(wholes[0]), said.read_text()
        assert [n for n in expected if found.get(n, expected[n]) != expected[n]] == []
        assert [str(p) for p in folder.rglob("*") if p.name.endswith(LEFT)] == []
    assert kills == KILLS
