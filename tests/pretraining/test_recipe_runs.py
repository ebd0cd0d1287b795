"""Runs of recipes with much state: resumed bit for bit, and stopped by errors that say what to do."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recipe_run import STATEFUL, make, remembered
from recipe_world import smaller

from isoglot.core.errors import ConfigurationError, IsoglotError, TrainingError
from isoglot.pretraining.api import pretrain
from isoglot.pretraining.check import load_recipe

SUPPORT = Path(__file__).parents[1] / "support"


def test_a_seed_of_numpys_is_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoglot.pretraining.api.load_run_recipe", lambda recipe, changes, **how: changes)
    monkeypatch.setattr("isoglot.pretraining.api.pretrain_one", lambda recipe, out, **how: (recipe, out))
    seed: Any = np.int64(2)
    assert pretrain("mlm_scratch", tmp_path, seed=seed) == (["seed=2"], tmp_path)


def test_queue_momentum_dictionary_and_schedules_resume_bit_for_bit(world: Path, tmp_path: Path) -> None:
    whole = make(world, tmp_path / "whole", *STATEFUL)
    whole.train()
    for stop in (3, 5):  # in the ramp and before the labels change, and after both
        with pytest.raises(KeyboardInterrupt):
            make(world, tmp_path / "broken", *STATEFUL, stop=stop).train(resume_from_checkpoint=True)
    resumed = make(world, tmp_path / "broken", *STATEFUL)
    resumed.train(resume_from_checkpoint=True)
    assert resumed.state.global_step == 8
    one, two = remembered(whole), remembered(resumed)
    assert one.keys() == two.keys()
    assert any("queue" in n for n in one) and any("momentum_encoder" in n for n in one)
    assert any("source_pieces" in n for n in one)
    assert int(one["objectives.word_alignment.step"]) == 8
    assert [n for n in one if not torch.equal(one[n], two[n])] == []


def launch(out: Path, settings: Path) -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={port}",
               str(SUPPORT / "recipe_run.py"), str(out), str(settings)]  # fmt: skip
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(SUPPORT),
        "CUDA_VISIBLE_DEVICES": "",
    }
    with (out.parent / f"{out.name}.log").open("ab") as log:
        return subprocess.run(
            command, check=False, stdout=log, stderr=log, env=environment, timeout=500
        ).returncode


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_two_ranks_resume_bit_for_bit_and_agree(world: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    settings.write_text(json.dumps({"world": str(world)}))
    assert launch(whole, settings) == 0, (tmp_path / "whole.log").read_text()[-3000:]
    settings.write_text(json.dumps({"world": str(world), "stop": 5}))
    assert launch(broken, settings) != 0
    settings.write_text(json.dumps({"world": str(world)}))
    assert launch(broken, settings) == 0, (tmp_path / "broken.log").read_text()[-3000:]
    ends = [torch.load(folder / f"final{rank}.pt") for folder in (whole, broken) for rank in (0, 1)]
    for other in ends[1:]:
        assert [n for n in ends[0] if not torch.equal(ends[0][n], other[n])] == []


@pytest.mark.parametrize(
    ("recipe", "overrides", "error", "message"),
    [
        (
            "small/ppa_en_de",
            ["objectives.contrast.queue_size=3"],
            ConfigurationError,
            r"queue_size: 3 is less than the global batch of 4 pairs; .*queue_size: 4 or more",
        ),
        (
            "small/tlm_en_de",
            ["objectives.exchange={type: word_exchange, view: pair}"],
            ConfigurationError,
            r"view 'pair' has no word links; .*isoglot align BITEXT --method fast_align --format corpus",
        ),
        (
            "small/tlm_en_de",
            ["objectives.dwa={type: denoising_word_alignment, view: pair, labels: corpus}"],
            ConfigurationError,
            r"has no word links; .*isoglot align BITEXT --method fast_align --format corpus",
        ),
        (
            "small/xlm_align_en_de",
            ["objectives.word_alignment.label_layer=10"],
            ConfigurationError,
            r"objectives\.word_alignment\.label_layer: got 10, but this encoder has layers 0 \(embeddings\) to 4",
        ),
        (
            "small/ppa_en_de",
            ["objectives.contrast.layer=9"],
            ConfigurationError,
            r"objectives\.contrast\.layer: got 9, but this encoder has layers 0 \(embeddings\) to 4",
        ),
        (
            "small/align_mlm_en_de",
            ["streams.words.path=EMPTY", "objectives.dictionary.pieces=single"],
            ConfigurationError,
            r"objectives\.dictionary: .*no entry that this tokenizer can use",
        ),
        (
            "small/combined_en_de",
            ["train.learning_rate=1e38", "train.max_grad_norm=0.0", "steps=8"],
            TrainingError,
            r"objective '\w+' has loss nan at step \d+",
        ),
        (
            "small/xlm_en_de",
            ["views.pair.language_ids={en: 1}"],
            ConfigurationError,
            r"no id for 'de', the language of the stream, .*; add `de: 2`",
        ),
    ],
    ids=["queue", "links", "corpus-links", "label-layer", "layer", "dictionary", "nan", "language"],
)
def test_mistakes_say_what_to_do(
    recipe: str, overrides: list[str], error: type[IsoglotError], message: str, world: Path, tmp_path: Path
) -> None:
    unusable = tmp_path / "unusable.txt"
    unusable.write_text("日本\t中国\n")
    settings = [s.replace("EMPTY", str(unusable)) for s in overrides]
    with pytest.raises(error, match=message):
        pretrain(load_recipe(recipe, [*smaller(recipe, world), *settings]), tmp_path / "run")
