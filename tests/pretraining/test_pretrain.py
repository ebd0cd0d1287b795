"""A recipe in, a run folder with a checkpoint that plain transformers loads out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from plain_recipes import load
from pretrain_runs import command, run
from refusals import refused
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM, AutoTokenizer

from isoglot.core.errors import ConfigurationError, InputError, TrainingError
from isoglot.pretraining.check import load_recipe


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

    with refused(ConfigurationError, "/run: ", "different: seed)"):
        run(tiny_recipe, out, "seed=2")
    bitext = Path(recipe.streams["bitext"].inputs[0].path)
    bitext.write_text(bitext.read_text().replace("river", "RIVER"))
    with refused(ConfigurationError, "/run: ", "data or code (different: inputs.bitext)"):
        run(tiny_recipe, out)


@pytest.mark.fast_variants(2)
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


def test_the_last_losses_are_printed_however_rarely_it_logs(tiny_recipe: Path, tmp_path: Path) -> None:
    _, notes = run(tiny_recipe, tmp_path / "run", "train.logging_steps=50")
    assert [line.split(" loss")[0] for line in notes if " loss " in line] == ["step 6/6"]
    _, notes = run(tiny_recipe, tmp_path / "silent", "train.logging_strategy=no")
    assert not any(" loss " in line for line in notes), "as asked"


def test_freezing_to_the_last_step_of_the_epochs_is_refused(tiny_recipe: Path, tmp_path: Path) -> None:
    epochs = ("steps=null", "epochs={stream: bitext, count: 1}", "parts={freeze_encoder_steps: 200}")
    with refused(ConfigurationError, "parts.freeze_encoder_steps: got 200, ", "8 steps"):
        run(tiny_recipe, tmp_path / "run", *epochs)
    assert not (tmp_path / "run").exists()


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
            "views.pair.random_pool: ids reach 100000, but the encoder has",
        ),
        ("views.pair.language_ids={en: -1, xx: 1}", "language_ids: got -1, but"),
    ],
)
def test_mistakes_that_only_the_encoder_can_tell_are_the_users_too(
    tiny_recipe: Path, tmp_path: Path, override: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run(tiny_recipe, tmp_path / "run", override)
    assert not (tmp_path / "run").exists()


def test_the_seed_decides_all_weights(tiny_recipe: Path, tmp_path: Path) -> None:
    first, _ = run(tiny_recipe, tmp_path / "a", "steps=2")
    second, _ = run(tiny_recipe, tmp_path / "b", "steps=2")
    other, _ = run(tiny_recipe, tmp_path / "c", "steps=2", "seed=2")
    weights = [load_file(folder / "model.safetensors") for folder in (first, second, other)]
    assert all(torch.equal(weights[0][k], weights[1][k]) for k in weights[0])
    assert any(not torch.equal(weights[0][k], weights[2][k]) for k in weights[0])


def test_a_prepared_corpus_is_opened_as_it_is(tiny_recipe: Path, tmp_path: Path) -> None:
    from isoglot.corpus.prepare import prepare
    from isoglot.formats.sources import Source

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


@pytest.mark.parametrize(
    ("break_it", "error", "message"),
    [
        ("text", InputError, r"bitext\.tsv:65"),
        ("empty", InputError, "empty"),
        ("batch", ConfigurationError, "lower train.gradient_accumulation_steps"),
        ("settings", ConfigurationError, r"train\.warmup_steps: got -1; it must be 0 or more"),
        ("evaluation", ConfigurationError, "isoglot evaluate"),
        (
            "positions",
            ConfigurationError,
            r"views\.pair\.max_length: got 64, but the encoder has 32 positions",
        ),
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
    with refused(ConfigurationError, "/run: ", "`out`"):
        run(tiny_recipe, out)
    assert (out / "thesis.tex").read_text() == "dear"
    with refused(ConfigurationError, "thesis.tex "):
        run(tiny_recipe, out / "thesis.tex")


def test_a_loss_that_is_no_number_keeps_what_was_saved(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TrainingError):
        run(tiny_recipe, tmp_path / "run", "train.learning_rate=1e30", "train.max_grad_norm=0", "steps=20")
    kept = list((tmp_path / "run").glob("checkpoint-*")) if (tmp_path / "run").exists() else []
    assert bool(kept) == (tmp_path / "run").exists(), "a folder stays only with a checkpoint in it"


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
