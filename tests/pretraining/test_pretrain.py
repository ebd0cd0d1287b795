"""A recipe in, a run folder with a checkpoint that plain transformers loads out."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from edits import change_unseen
from plain_recipes import load
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM, AutoTokenizer

from isoglot.errors import ConfigurationError, InputError, TrainingError
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.pretrain import pretrain
from isoglot.runs.listed import entry
from isoglot.studies.training_steps import _hours


class Notes:
    """Keeps what a verb says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)

    def progress(self, label: str, done: int, total: int) -> None:
        assert 0 <= done <= max(total, done)


def run(recipe: Path, out: Path, *overrides: str, resume: bool = False) -> tuple[Path, list[str]]:
    notes = Notes()
    return pretrain(load_recipe(recipe, overrides), out, resume=resume, progress=notes), notes.lines


def test_a_run_leaves_a_plain_checkpoint_and_is_not_run_twice(tiny_recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    checkpoint, notes = run(tiny_recipe, out)
    model = AutoModelForMaskedLM.from_pretrained(checkpoint)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    assert model.config.hidden_size == 32 and model.config.vocab_size == len(tokenizer)
    logits = model(**tokenizer("the river sees", return_tensors="pt")).logits
    assert torch.isfinite(logits).all()
    assert any("64 rows of 64" in line for line in notes)

    manifest = json.loads((out / "manifest.json").read_text())
    recipe = load_recipe(tiny_recipe)
    assert manifest["recipe_hash"] == recipe.hash and manifest["seed"] == 1 and manifest["steps"] == 6
    assert "train_samples_per_second" not in manifest["metrics"], "the library counts batches of 8"
    assert set(manifest["inputs"]) == {"bitext"} and "torch" in manifest["versions"]
    assert load(out / "recipe.yaml").views["pair"].model_dump()["probability"] == 0.3, (
        "the resolved recipe reads back"
    )
    assert [p.name for p in sorted(out.glob("checkpoint-*"))] == ["checkpoint-6"], "save_total_limit: 1"

    weights = (checkpoint / "model.safetensors").stat().st_mtime_ns
    again, notes = run(tiny_recipe, out)
    assert again == checkpoint and "nothing to do" in notes[-1]
    assert (checkpoint / "model.safetensors").stat().st_mtime_ns == weights

    with pytest.raises(ConfigurationError, match=r"another pre-training run .*different: seed"):
        run(tiny_recipe, out, "seed=2")
    bitext = Path(recipe.streams["bitext"].inputs[0].path)
    bitext.write_text(bitext.read_text().replace("river", "RIVER"))
    with pytest.raises(ConfigurationError, match=r"on other data \(different: inputs\.bitext\)"):
        run(tiny_recipe, out)


def test_another_value_of_a_variable_is_another_run(
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
    with pytest.raises(ConfigurationError, match=r"different: train\.learning_rate\)"):
        run(tiny_recipe, tmp_path / "run", *asked)
    (tmp_path / "run" / "manifest.json").unlink()
    with pytest.raises(ConfigurationError, match=r"different: train\.learning_rate\)"):
        run(tiny_recipe, tmp_path / "run", *asked, resume=True)


def test_another_tokenizer_of_the_same_path_is_another_run(tiny_recipe: Path, tmp_path: Path) -> None:
    tokenizer, out = tmp_path / "tokenizer", tmp_path / "run"
    shutil.copytree(run(tiny_recipe, tmp_path / "first", "steps=1")[0], tokenizer)
    asked = (f"tokenizer={{path: {tokenizer}}}", "steps=1")
    run(tiny_recipe, out, *asked)
    assert "nothing to do" in run(tiny_recipe, out, *asked)[1][-1]
    values = json.loads((tokenizer / "tokenizer.json").read_text())
    pieces, ids = zip(*values["model"]["vocab"].items(), strict=True)
    values["model"]["vocab"] = dict(zip(pieces, [*ids[:9], *reversed(ids[9:])], strict=True))
    (tokenizer / "tokenizer.json").write_text(json.dumps(values))
    with pytest.raises(ConfigurationError, match=r"on other data \(different: inputs\.tokenizer\.path\)"):
        run(tiny_recipe, out, *asked)


def test_other_files_that_settings_name_are_known_by_their_content(tiny_recipe: Path, tmp_path: Path) -> None:
    config, out = tmp_path / "accelerator.json", tmp_path / "run"
    config.write_text('{"split_batches": false}')
    asked = (f"train.accelerator_config={config}", "steps=1")
    run(tiny_recipe, out, *asked)
    config.write_text('{"even_batches": true }')
    with pytest.raises(ConfigurationError, match=r"different: inputs\.train\.accelerator_config\)"):
        run(tiny_recipe, out, *asked)


def test_a_finished_run_whose_weights_were_edited_is_not_passed_over(
    tiny_recipe: Path, tmp_path: Path
) -> None:
    checkpoint, _ = run(tiny_recipe, tmp_path / "run", "steps=1")
    change_unseen(checkpoint / "model.safetensors")
    with pytest.raises(
        ConfigurationError, match=r"checkpoint: was changed after it was trained; restore it, or"
    ):
        run(tiny_recipe, tmp_path / "run", "steps=1")


def test_a_secret_is_in_no_file_of_a_run(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "hf_first")
    asked = (
        'train.hub_token="${MY_TOKEN}"',
        'train.run_name="by ${MY_TOKEN}"',
        "train.save_steps=1",
        "steps=2",
    )
    out = tmp_path / "run"
    checkpoint, _ = run(tiny_recipe, out, *asked)
    clear, _ = run(tiny_recipe, tmp_path / "clear", 'train.hub_token="hf_second"', "steps=1")
    written = {p: p.read_bytes() for place in (out, clear.parent) for p in place.rglob("*") if p.is_file()}
    assert not [path for path, data in written.items() if b"hf_" in data]
    assert "training_args.bin" in {path.name for path in written}
    assert load(out / "recipe.yaml").train["hub_token"] == "hf_first", "the variable stays, and is read again"
    assert "hub_token" not in load(clear.parent / "recipe.yaml").train
    assert "${MY_TOKEN}" in (checkpoint / "README.md").read_text()
    monkeypatch.setenv("MY_TOKEN", "hf_third")
    assert "nothing to do" in run(tiny_recipe, out, *asked)[1][-1]
    assert "nothing to do" in run(tiny_recipe, clear.parent, "steps=1")[1][-1]


def test_a_secret_is_in_no_message(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "12345")
    with pytest.raises(
        ConfigurationError, match=r"train\.hub_token: a value that is not shown given"
    ) as caught:
        load_recipe(tiny_recipe, ["train.hub_token=${MY_TOKEN}"])
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "changed"),
    [
        ((), True),
        (("train.learning_rate=0",), False),
        (("parts={encoder: 0, embeddings: 0}",), False),
        (("parts={encoder: 0}",), True),
        (("steps=1", "train.warmup_steps=5"), False),
    ],
)
def test_a_run_whose_encoder_did_not_change_says_so(
    tiny_recipe: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    overrides: tuple[str, ...],
    changed: bool,
) -> None:
    _, notes = run(tiny_recipe, tmp_path / "run", *overrides)
    said = [r.getMessage() for r in caplog.records if "the encoder did not change" in r.getMessage()]
    assert len(said) == (0 if changed else 1), said
    assert any("warm-up of 5 steps, training of 1: " in line for line in notes) == ("steps=1" in overrides)


def test_a_resumed_run_is_compared_with_its_beginning(
    tiny_recipe: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(tiny_recipe, tmp_path / "run")
    (tmp_path / "run" / "manifest.json").unlink()
    run(
        tiny_recipe, tmp_path / "run", resume=True
    )  # no step is left, and the encoder is another than at step 0
    assert "did not change" not in caplog.text


def test_the_last_losses_are_printed_however_rarely_it_logs(tiny_recipe: Path, tmp_path: Path) -> None:
    _, notes = run(tiny_recipe, tmp_path / "run", "train.logging_steps=50")
    assert [line.split(" loss")[0] for line in notes if " loss " in line] == ["step 6/6"]
    _, notes = run(tiny_recipe, tmp_path / "silent", "train.logging_strategy=no")
    assert not any(" loss " in line for line in notes), "as asked"


def test_freezing_to_the_last_step_of_the_epochs_is_refused(tiny_recipe: Path, tmp_path: Path) -> None:
    epochs = ("steps=null", "epochs={stream: bitext, count: 1}", "parts={freeze_encoder_steps: 200}")
    with pytest.raises(ConfigurationError, match="freeze_encoder_steps: 200 given, and the run has 8 steps"):
        run(tiny_recipe, tmp_path / "run", *epochs)
    assert not (tmp_path / "run").exists()


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
    with pytest.raises(ConfigurationError, match=r"on other data \(different: encoder\)"):
        run(tiny_recipe, tmp_path / "run", f"model={{path: {start}}}", *steps)


@pytest.mark.parametrize(
    ("override", "idle"),
    [
        ("views.pair.probability=0", "not trained: masked_lm;"),
        ("objectives.late={type: masked_lm, view: pair, weight: {start_step: 6}}", "not trained: late;"),
        ("objectives.none={type: masked_lm, view: pair, weight: 0}", ""),
    ],
)
def test_a_run_that_has_not_trained_an_objective_says_so(
    tiny_recipe: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, override: str, idle: str
) -> None:
    run(tiny_recipe, tmp_path / "run", override, "train.logging_steps=4")
    assert [r.getMessage()[: len(idle)] for r in caplog.records if "not trained" in r.getMessage()] == [idle][
        : len(idle)
    ]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.num_attention_heads=0", r"a bert of these sizes cannot be built"),
        ("model.hidden_act=gello", r"a bert of these sizes cannot be built"),
        (
            "views.pair.random_pool=[100, 100000]",
            "views.pair.random_pool: ids below 100000 given, the encoder has",
        ),
        ("views.pair.language_ids={en: -1, xx: 1}", "language_ids: -1 given"),
    ],
)
def test_what_only_the_encoder_can_tell_is_a_user_s_mistake_too(
    tiny_recipe: Path, tmp_path: Path, override: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run(tiny_recipe, tmp_path / "run", override)
    assert not (tmp_path / "run").exists()


def test_a_finished_run_whose_checkpoint_was_deleted_is_not_done(tiny_recipe: Path, tmp_path: Path) -> None:
    checkpoint, _ = run(tiny_recipe, tmp_path / "run")
    weights = load_file(checkpoint / "model.safetensors")
    shutil.rmtree(checkpoint)
    with pytest.raises(
        ConfigurationError, match=r"its checkpoint is gone; delete .*manifest.json and add --resume"
    ):
        run(tiny_recipe, tmp_path / "run")
    (tmp_path / "run" / "manifest.json").unlink()
    again, _ = run(tiny_recipe, tmp_path / "run", resume=True)
    assert torch.equal(
        load_file(again / "model.safetensors")["cls.predictions.bias"], weights["cls.predictions.bias"]
    )


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


def test_the_seed_decides_all_weights(tiny_recipe: Path, tmp_path: Path) -> None:
    first, _ = run(tiny_recipe, tmp_path / "a", "steps=2")
    second, _ = run(tiny_recipe, tmp_path / "b", "steps=2")
    other, _ = run(tiny_recipe, tmp_path / "c", "steps=2", "seed=2")
    weights = [load_file(folder / "model.safetensors") for folder in (first, second, other)]
    assert all(torch.equal(weights[0][k], weights[1][k]) for k in weights[0])
    assert any(not torch.equal(weights[0][k], weights[2][k]) for k in weights[0])


def test_a_prepared_corpus_is_opened_as_it_is(tiny_recipe: Path, tmp_path: Path) -> None:
    from isoglot.corpus.prepare import prepare
    from isoglot.corpus.read.sources import Source

    bitext = load(tiny_recipe).streams["bitext"].inputs[0].path
    prepare(Source(path=bitext, source_language="en", target_language="xx"), tmp_path / "corpus")
    section = f"streams.bitext={{kind: bitext, path: {tmp_path / 'corpus'}}}"
    _, notes = run(tiny_recipe, tmp_path / "run", section, "steps=1")
    assert not any("rows of" in line for line in notes)


def test_two_streams_with_a_lexicon_for_an_objective(tiny_recipe: Path, tmp_path: Path) -> None:
    from isoglot.testing import tiny_lexicon

    lexicon = tmp_path / "lexicon.txt"
    lexicon.write_text("".join(f"{row['source']}\t{row['target']}\n" for row in tiny_lexicon()))
    checkpoint, _ = run(
        tiny_recipe,
        tmp_path / "run",
        f"streams.words={{kind: lexicon, path: {lexicon}, source_language: en, target_language: xx}}",
        "objectives.dictionary={type: embedding_alignment, lexicon: words, share: 1.0, weight: 10}",
        "steps=2",
    )
    state = load_file(checkpoint / "objectives.safetensors")
    assert any("dictionary" in name and "source_pieces" in name for name in state), "the dictionary is saved"


def test_the_card_shows_paths_as_the_recipe_writes_them(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACE_OF_DATA", str(tmp_path))
    path = str(tmp_path / "bitext.tsv")
    tiny_recipe.write_text(tiny_recipe.read_text().replace(path, '"${PLACE_OF_DATA}/bitext.tsv"'))
    checkpoint, _ = run(tiny_recipe, tmp_path / "run", "steps=1")
    card = (checkpoint / "README.md").read_text()
    assert "${PLACE_OF_DATA}/bitext.tsv" in card and str(tmp_path) not in card
    (source,) = load_recipe(tmp_path / "run" / "recipe.yaml").streams["bitext"].inputs
    assert source.path == str(tmp_path / "bitext.tsv")


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
        held = json.loads((path / "complete.json").read_text())
        size, digest = entry(path / "tokenizer.json")
        held["files"]["tokenizer.json"] = [size, digest]
        (path / "complete.json").write_text(json.dumps(held))
    shutil.rmtree(checkpoint)
    shutil.rmtree(tmp_path / "cache")
    again, notes = run(tiny_recipe, out, resume=True)
    assert not any("training wordpiece" in line for line in notes)
    assert (
        json.loads((again / "tokenizer.json").read_text())["model"]["vocab"]
        != json.loads(before)["model"]["vocab"]
    )


@pytest.mark.parametrize(
    ("break_it", "error", "message"),
    [
        ("text", InputError, r"bitext\.tsv:65"),
        ("empty", InputError, "empty"),
        ("batch", ConfigurationError, "lower train.gradient_accumulation_steps"),
        ("settings", ConfigurationError, r"train\.warmup_steps: -1 given; it is 0 or more"),
        ("evaluation", ConfigurationError, "isoglot evaluate"),
        ("positions", ConfigurationError, r"views\.pair\.max_length: 64 given, the encoder has 32 positions"),
        ("columns", ConfigurationError, "source_ids"),
    ],
)
def test_a_mistake_leaves_nothing_behind(
    tiny_recipe: Path, tmp_path: Path, break_it: str, error: type[Exception], message: str
) -> None:
    bitext = Path(load(tiny_recipe).streams["bitext"].inputs[0].path)
    overrides = {
        "batch": ["train.gradient_accumulation_steps=100"],
        "settings": ["train.warmup_steps=-1"],
        "evaluation": ["train.eval_strategy=steps", "train.eval_steps=5"],
        "positions": ["model.max_position_embeddings=32"],
        "columns": [f"streams.bitext={{kind: text, path: {bitext}, language: en}}"],
    }.get(break_it, [])
    if break_it == "text":
        bitext.write_text(bitext.read_text() + "one side only\n")
    if break_it == "empty":
        bitext.write_text("")
    with pytest.raises(error, match=message):
        run(tiny_recipe, tmp_path / "run", *overrides)
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_interrupted_before_its_first_checkpoint_leaves_the_users_files(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        (tmp_path / "run" / "notes").write_text("mine")
        raise KeyboardInterrupt

    monkeypatch.setattr("isoglot.pretraining.pretrain.AlignmentTrainer.train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tiny_recipe, tmp_path / "run")
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["notes"]


def test_a_folder_with_other_things_is_left_alone(tiny_recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "thesis.tex").write_text("dear")
    with pytest.raises(ConfigurationError, match="holds no pre-training run"):
        run(tiny_recipe, out)
    assert (out / "thesis.tex").read_text() == "dear"
    with pytest.raises(ConfigurationError, match="is a file"):
        run(tiny_recipe, out / "thesis.tex")


def test_an_unfinished_run_wants_resume_and_then_ends_as_an_uninterrupted_one(
    tiny_recipe: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, _ = run(tiny_recipe, tmp_path / "whole", "train.save_total_limit=9", resume=True)
    assert "starting at step 0" not in caplog.text, "a new run is none that lost its checkpoints"
    cut = tmp_path / "cut"
    shutil.copytree(tmp_path / "whole", cut)
    (cut / "manifest.json").unlink()
    shutil.rmtree(cut / "checkpoint-6")
    with pytest.raises(ConfigurationError, match="add --resume"):
        run(tiny_recipe, cut, "train.save_total_limit=9")
    resumed, _ = run(tiny_recipe, cut, "train.save_total_limit=9", resume=True)
    a, b = load_file(whole / "model.safetensors"), load_file(resumed / "model.safetensors")
    assert all(torch.equal(a[k], b[k]) for k in a)
    assert (cut / "manifest.json").exists()


def test_a_loss_that_is_no_number_keeps_what_was_saved(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TrainingError):
        run(tiny_recipe, tmp_path / "run", "train.learning_rate=1e30", "train.max_grad_norm=0", "steps=20")
    kept = list((tmp_path / "run").glob("checkpoint-*")) if (tmp_path / "run").exists() else []
    assert bool(kept) == (tmp_path / "run").exists(), "a folder stays only with a checkpoint in it"


def command(recipe: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "isoglot.cli", "pretrain", str(recipe), "--out", str(out), *more]


@pytest.mark.slow
def test_killed_and_resumed_from_the_command_line(tiny_recipe: Path, tmp_path: Path) -> None:
    sets = ["--set", "steps=200", "--set", "train.save_steps=10"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command(tiny_recipe, tmp_path / "whole", *sets), check=True, env=environment)
    process = subprocess.Popen(command(tiny_recipe, tmp_path / "cut", *sets), env=environment)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "cut").glob("checkpoint-*/complete.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "cut" / "manifest.json").exists()
    subprocess.run(command(tiny_recipe, tmp_path / "cut", *sets, "--resume"), check=True, env=environment)
    a, b = (load_file(tmp_path / name / "checkpoint" / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(a[k], b[k]) for k in a)


@pytest.mark.slow
def test_two_processes_prepare_once_and_train_together(tiny_recipe: Path, tmp_path: Path) -> None:
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--master-port",
        "29731",
    ]
    weights = []
    for name, sets in (("ddp", []), ("fsdp", ["--set", "train.fsdp=true"])):
        out = tmp_path / name
        result = subprocess.run(
            [*torchrun, *command(tiny_recipe, out, *sets)[1:]],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            timeout=250,
        )
        assert result.returncode == 0, result.stderr
        assert json.loads((out / "manifest.json").read_text())["devices"] == 2
        assert result.stderr.count("rows of") == (name == "ddp"), "only the first rank prepares, and once"
        AutoModelForMaskedLM.from_pretrained(out / "checkpoint")
        weights.append(load_file(out / "checkpoint" / "model.safetensors"))
    assert all(torch.allclose(value, weights[1][key], atol=1e-5) for key, value in weights[0].items())


@pytest.mark.slow
def test_real_bitext_from_the_command_line(tmp_path: Path) -> None:
    if not os.environ.get("ISOGLOT_DATA"):
        pytest.skip("set ISOGLOT_DATA to the data folder")
    out = tmp_path / "run"
    sets = [
        "steps=4",
        "epochs=null",
        "streams.bitext.limit=800",
        "tokenizer.vocab_size=2000",
        "model.hidden_size=64",
    ]
    flags = [part for text in sets for part in ("--set", text)]
    environment = {**os.environ, "ISOGLOT_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    subprocess.run(command(Path("small/tlm_en_de"), out, *flags), check=True, env=environment, timeout=250)
    AutoModelForMaskedLM.from_pretrained(out / "checkpoint")


def test_a_run_goes_on_from_the_folder_of_another(tiny_recipe: Path, tmp_path: Path) -> None:
    first, _ = run(tiny_recipe, tmp_path / "a", "steps=2")
    plain, _ = run(tiny_recipe, tmp_path / "b", "steps=1", f"model={{path: {first}}}", "tokenizer=null")
    folder, _ = run(
        tiny_recipe, tmp_path / "c", "steps=1", f"model={{path: {tmp_path / 'a'}}}", "tokenizer=null"
    )
    weights = [load_file(path / "model.safetensors") for path in (plain, folder)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
