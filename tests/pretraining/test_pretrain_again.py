"""A run that is started again: what makes it another one, and what it goes on with."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from edits import change_unseen
from own_modules import OwnModules
from pretrain_runs import command, run
from refusals import refused
from safetensors.torch import load_file

from isoglot.core.errors import ConfigurationError
from isoglot.runs.listed import add_to_list
from isoglot.studies.training_steps import _hours


def test_run_with_another_value_of_a_variable_is_another(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("train.learning_rate=${RATE}", "train.save_steps=1", "steps=2")
    monkeypatch.setenv("RATE", "1e-3")
    run(tiny_recipe, tmp_path / "run", *asked)
    assert "nothing to do" in run(tiny_recipe, tmp_path / "run", *asked)[1][-1]
    assert (
        "nothing to do" in run(tiny_recipe, tmp_path / "run", "train.learning_rate=1e-3", *asked[1:])[1][-1]
    )
    monkeypatch.setenv("RATE", "1e-4")
    with refused(ConfigurationError, "different: train.learning_rate)"):
        run(tiny_recipe, tmp_path / "run", *asked)
    (tmp_path / "run" / "manifest.json").unlink()
    with refused(ConfigurationError, "different: train.learning_rate)"):
        run(tiny_recipe, tmp_path / "run", *asked, resume=True)


@pytest.mark.slow
def test_run_with_another_tokenizer_of_the_same_path_is_another(tiny_recipe: Path, tmp_path: Path) -> None:
    tokenizer, out = tmp_path / "tokenizer", tmp_path / "run"
    shutil.copytree(run(tiny_recipe, tmp_path / "first", "steps=1")[0], tokenizer)
    asked = (f"tokenizer={{path: {tokenizer}}}", "steps=1")
    run(tiny_recipe, out, *asked)
    assert "nothing to do" in run(tiny_recipe, out, *asked)[1][-1]
    values = json.loads((tokenizer / "tokenizer.json").read_text())
    pieces, ids = zip(*values["model"]["vocab"].items(), strict=True)
    values["model"]["vocab"] = dict(zip(pieces, [*ids[:9], *reversed(ids[9:])], strict=True))
    (tokenizer / "tokenizer.json").write_text(json.dumps(values))
    with refused(ConfigurationError, "data or code (different: inputs.tokenizer.path)"):
        run(tiny_recipe, out, *asked)


def test_files_that_settings_name_are_known_by_their_content(tiny_recipe: Path, tmp_path: Path) -> None:
    config, out = tmp_path / "accelerator.json", tmp_path / "run"
    config.write_text('{"split_batches": false}')
    asked = (f"train.accelerator_config={config}", "steps=1")
    run(tiny_recipe, out, *asked)
    config.write_text('{"even_batches": true }')
    with refused(ConfigurationError, "different: inputs.train.accelerator_config)"):
        run(tiny_recipe, out, *asked)


def test_a_finished_run_whose_weights_were_edited_is_not_passed_over(
    tiny_recipe: Path, tmp_path: Path
) -> None:
    checkpoint, _ = run(tiny_recipe, tmp_path / "run", "steps=1")
    change_unseen(checkpoint / "model.safetensors")
    with refused(ConfigurationError, "run/checkpoint: ", "/run to train again"):
        run(tiny_recipe, tmp_path / "run", "steps=1")


@pytest.mark.slow
def test_a_resumed_run_is_compared_with_its_beginning(
    tiny_recipe: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(tiny_recipe, tmp_path / "run")
    (tmp_path / "run" / "manifest.json").unlink()
    run(
        tiny_recipe, tmp_path / "run", resume=True
    )  # no step is left, and the encoder is another than at step 0
    assert "did not change" not in caplog.text


@pytest.mark.slow
def test_a_run_from_another_encoder_of_the_same_path_is_another_run(
    tiny_recipe: Path, tmp_path: Path
) -> None:
    checkpoints = [
        run(tiny_recipe, tmp_path / f"start{seed}", "steps=1", f"seed={seed}")[0] for seed in (1, 2)
    ]
    start, steps = tmp_path / "start", ("tokenizer=null", "steps=1")
    shutil.copytree(checkpoints[0], start)
    run(tiny_recipe, tmp_path / "run", f"model={{path: {start}}}", *steps)
    _, notes = run(tiny_recipe, tmp_path / "run", f"model={{path: {start}}}", *steps)
    assert "nothing to do" in notes[-1]
    shutil.rmtree(start)
    shutil.copytree(checkpoints[1], start)
    with refused(ConfigurationError, "data or code (different: encoder)"):
        run(tiny_recipe, tmp_path / "run", f"model={{path: {start}}}", *steps)


@pytest.mark.slow
def test_a_finished_run_whose_checkpoint_was_deleted_is_not_done(tiny_recipe: Path, tmp_path: Path) -> None:
    checkpoint, _ = run(tiny_recipe, tmp_path / "run")
    weights = load_file(checkpoint / "model.safetensors")
    shutil.rmtree(checkpoint)
    with refused(ConfigurationError, "/run ", "checkpoint", "manifest.json", "resume=True"):
        run(tiny_recipe, tmp_path / "run")
    (tmp_path / "run" / "manifest.json").unlink()
    again, _ = run(tiny_recipe, tmp_path / "run", resume=True)
    assert torch.equal(
        load_file(again / "model.safetensors")["cls.predictions.bias"], weights["cls.predictions.bias"]
    )


@pytest.mark.slow
def test_a_resumed_run_says_where_its_time_begins(tiny_recipe: Path, tmp_path: Path) -> None:
    out, keep = tmp_path / "run", "train.save_total_limit=null"
    run(tiny_recipe, out, keep)
    assert json.loads((out / "manifest.json").read_text())["resumed_at"] == 0
    (out / "manifest.json").unlink()
    shutil.rmtree(out / "checkpoint-6")
    run(tiny_recipe, out, keep, resume=True)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["resumed_at"] == 3
    assert _hours(manifest)["hours"] == pytest.approx(2 * manifest["metrics"]["train_runtime"] / 3600)
    assert _hours({**manifest, "resumed_at": 6}) == {}, "no step was timed"


@pytest.mark.slow
def test_a_resumed_run_keeps_the_tokenizer_it_began_with(tiny_recipe: Path, tmp_path: Path) -> None:
    """Also where the cache is gone and training would give another one."""
    out = tmp_path / "run"
    checkpoint, _ = run(tiny_recipe, out)
    before = (checkpoint / "tokenizer.json").read_text()
    (out / "manifest.json").unlink()
    for path in out.glob("checkpoint-*"):
        kept = json.loads((path / "tokenizer.json").read_text())
        kept["model"]["vocab"] = dict(reversed(kept["model"]["vocab"].items()))
        ids = kept["model"]["vocab"]
        first, last = (p for p, i in ids.items() if i in (20, len(ids) - 1))
        ids[first], ids[last] = ids[last], ids[first]
        (path / "tokenizer.json").write_text(json.dumps(kept))
        add_to_list(path / "tokenizer.json")
    shutil.rmtree(checkpoint)
    shutil.rmtree(tmp_path / "cache")
    again, notes = run(tiny_recipe, out, resume=True)
    assert not any("training wordpiece" in line for line in notes)
    assert (
        json.loads((again / "tokenizer.json").read_text())["model"]["vocab"]
        != json.loads(before)["model"]["vocab"]
    )


def test_an_unfinished_run_wants_resume_and_then_ends_as_an_uninterrupted_one(
    tiny_recipe: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, _ = run(tiny_recipe, tmp_path / "whole", "train.save_total_limit=9", resume=True)
    assert "starting at step 0" not in caplog.text, "a new run is none that lost its checkpoints"
    cut = tmp_path / "cut"
    shutil.copytree(tmp_path / "whole", cut)
    (cut / "manifest.json").unlink()
    shutil.rmtree(cut / "checkpoint-6")
    with refused(ConfigurationError, "/cut: ", "resume=True"):
        run(tiny_recipe, cut, "train.save_total_limit=9")
    resumed, _ = run(tiny_recipe, cut, "train.save_total_limit=9", resume=True)
    a, b = load_file(whole / "model.safetensors"), load_file(resumed / "model.safetensors")
    assert all(torch.equal(a[k], b[k]) for k in a)
    assert (cut / "manifest.json").exists()


@pytest.mark.slow
def test_killed_and_resumed_from_the_command_line(tiny_recipe: Path, tmp_path: Path) -> None:
    sets = ["--set", "steps=200", "--set", "train.save_steps=10"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command(tiny_recipe, tmp_path / "whole", *sets), check=True, env=environment)
    process = subprocess.Popen(command(tiny_recipe, tmp_path / "cut", *sets), env=environment)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "cut").glob("checkpoint-*/.isoglot.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "cut" / "manifest.json").exists()
    subprocess.run(command(tiny_recipe, tmp_path / "cut", *sets, "--resume"), check=True, env=environment)
    a, b = (load_file(tmp_path / name / "checkpoint" / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(a[k], b[k]) for k in a)


@pytest.mark.slow
def test_a_run_goes_on_from_the_folder_of_another(tiny_recipe: Path, tmp_path: Path) -> None:
    first, _ = run(tiny_recipe, tmp_path / "a", "steps=2")
    plain, _ = run(tiny_recipe, tmp_path / "b", "steps=1", f"model={{path: {first}}}", "tokenizer=null")
    folder, _ = run(
        tiny_recipe, tmp_path / "c", "steps=1", f"model={{path: {tmp_path / 'a'}}}", "tokenizer=null"
    )
    weights = [load_file(path / "model.safetensors") for path in (plain, folder)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


HINGE = """
from isoglot.objectives import MaskedLMObjective
from my_parts import scale


class Hinge(MaskedLMObjective):
    def forward(self, encodings, batch):
        output = super().forward(encodings, batch)
        return type(output)(scale(output.total), output.count)
"""


def test_an_edited_objective_of_ones_own_is_another_run(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules, out = OwnModules(tmp_path / "code", monkeypatch), tmp_path / "run"
    parts = "def scale(x):\n    return {} * x\n"
    modules.write("my_parts.py", parts.format(2))
    modules.write("my_hinge.py", HINGE)
    asked = ("objectives.tlm={type: 'my_hinge:Hinge', view: pair}", "steps=1")
    run(tiny_recipe, out, *asked)
    modules.forget()
    assert "nothing to do" in run(tiny_recipe, out, *asked)[1][-1]
    modules.write("my_parts.py", parts.format(3))
    with refused(ConfigurationError, "data or code (different: inputs.my_parts.py)"):
        run(tiny_recipe, out, *asked)
    modules.write("my_parts.py", parts.format(2))
    modules.write("my_hinge.py", f"{HINGE}# another\n")
    with refused(ConfigurationError, "different: inputs.my_hinge.py)"):
        run(tiny_recipe, out, *asked)
