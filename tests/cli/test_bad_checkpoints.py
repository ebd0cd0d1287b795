"""Every command on every kind of bad checkpoint: code 2 and one line that says what is wrong, never a figure."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from cli_outcome import Isoglot
from safetensors.torch import load_file, save_file
from verb_calls import MODELS, TOKENIZERS, command, write_data, write_model

from isoglot.testing import tiny_tokenizer


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


def rewrite(model: Path, change: Callable[[str, torch.Tensor], torch.Tensor], prefix: str = "") -> None:
    path = model / "model.safetensors"
    save_file(
        {f"{prefix}{n}": change(n, t.clone()) for n, t in load_file(path).items()}, path, {"format": "pt"}
    )


def renamed(model: Path) -> None:
    rewrite(model, lambda name, tensor: tensor, prefix="other.")


def not_a_number(model: Path) -> None:
    def spoil(name: str, tensor: torch.Tensor) -> torch.Tensor:
        if name == "bert.encoder.layer.1.output.dense.weight":
            tensor[0, 0] = torch.nan
        return tensor

    rewrite(model, spoil)


def overflowing(model: Path) -> None:
    def spoil(name: str, tensor: torch.Tensor) -> torch.Tensor:
        return torch.full_like(tensor, 3e38) if name.endswith("embeddings.LayerNorm.weight") else tensor

    rewrite(model, spoil)


def another_shape(model: Path) -> None:
    path = model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"intermediate_size": 12}))


def cut(model: Path) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def no_size(model: Path) -> None:
    path = model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hidden_size": "abc"}))


def broken_tokenizer(model: Path) -> None:
    (model / "tokenizer.json").write_text('{"model": ')


def large_tokenizer(model: Path) -> None:
    tokenizer = tiny_tokenizer("bert")
    tokenizer.add_tokens([f"new{i}" for i in range(50)])
    tokenizer.save_pretrained(model)


DAMAGES: dict[Callable[[Path], None], str] = {
    renamed: "weights do not fit config.json",
    not_a_number: "NaN or infinite weights in",
    another_shape: "weights do not fit config.json",
    cut: "cannot be loaded while reading model.safetensors",
    no_size: "cannot be loaded while reading ",
    broken_tokenizer: "cannot be loaded while reading tokenizer.json",
    large_tokenizer: "word embeddings, the tokenizer has",
}


@pytest.mark.fast_variants(50)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_a_bad_checkpoint_is_refused(
    name: str, damage: Callable[[Path], None], data: Path, model: Path, tmp_path: Path, isoglot: Isoglot
) -> None:
    damage(model)
    done = isoglot(*command(MODELS[name], data, model, tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert DAMAGES[damage] in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("out/**/*.jsonl")) and not list(tmp_path.glob("out/**/*.safetensors"))


@pytest.mark.parametrize("name", [n for n in MODELS if n not in ("static", "alignment score")])
def test_states_that_overflow_make_no_figure(
    name: str, data: Path, model: Path, tmp_path: Path, isoglot: Isoglot
) -> None:
    overflowing(model)
    done = isoglot(*command(MODELS[name], data, model, tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert any(
        word in done.stderr.splitlines()[-1] for word in ("NaN or infinite", "has loss nan", "loss is nan")
    )
    assert not list(tmp_path.glob("out/**/*.jsonl")) and not (tmp_path / "out" / "links").exists()


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_broken_tokenizer_is_refused(
    name: str, data: Path, model: Path, tmp_path: Path, isoglot: Isoglot
) -> None:
    broken_tokenizer(model)
    done = isoglot(*command(TOKENIZERS[name], data, model, tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert "cannot be loaded while reading tokenizer.json" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("known", [True, False], ids=["known family", "unknown family"])
@pytest.mark.parametrize("name", [*MODELS, *TOKENIZERS])
def test_remote_code_is_never_run_and_a_good_checkpoint_is_taken(
    name: str,
    known: bool,
    data: Path,
    model: Path,
    tmp_path: Path,
    isoglot: Isoglot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    marker = tmp_path / "executed"
    (model / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Evil: pass\n")
    for file, names in (
        ("config.json", {f"Auto{kind}": "evil.Evil" for kind in ("Config", "Model", "ModelForMaskedLM")}),
        ("tokenizer_config.json", {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}),
    ):
        values = json.loads((model / file).read_text()) | {"auto_map": names}
        if not known:
            values |= {"model_type": "evil"} if file == "config.json" else {"tokenizer_class": "Evil"}
        (model / file).write_text(json.dumps(values))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 100))
    done = isoglot(*command((MODELS | TOKENIZERS)[name], data, model, tmp_path / "out"))
    assert done.returncode in (0, 2), done.stderr
    assert not known or done.returncode == 0, done.stderr
    assert not marker.exists()


@pytest.mark.parametrize("name", [*MODELS, *TOKENIZERS])
def test_a_tokenizer_whose_package_is_missing_is_one_line(
    name: str, data: Path, model: Path, tmp_path: Path, isoglot: Isoglot
) -> None:
    for file in model.glob("tokenizer*"):
        file.unlink()
    (model / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "XLMTokenizer"}))
    (model / "vocab.json").write_text(json.dumps({"<unk>": 0, "a</w>": 1}))
    (model / "merges.txt").write_text("")
    done = isoglot(*command((MODELS | TOKENIZERS)[name], data, model, tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert "sacremoses" in done.stderr.splitlines()[-1] or "slow tokenizer" in done.stderr.splitlines()[-1]


def test_weights_of_a_fine_tuned_model_must_be_there_too(
    data: Path, model: Path, tmp_path: Path, isoglot: Isoglot
) -> None:
    assert isoglot(*command(MODELS["finetune"], data, model, tmp_path / "out")).returncode == 0
    tuned = tmp_path / "out" / "run" / "checkpoint"
    for damage, message in DAMAGES.items():
        shutil.copytree(tuned, tmp_path / damage.__name__)
        damage(tmp_path / damage.__name__)
        line = "evaluate MODEL --task pos --languages en --data FOLDER/{language}.tsv"
        done = isoglot(*command(line, data, tmp_path / damage.__name__, tmp_path / "measured"))
        assert done.returncode == 2 and message in done.stderr.splitlines()[-1], done.stderr
    done = isoglot(*command(line, data, model, tmp_path / "measured"))
    assert done.returncode == 2 and "has no head for pos; run `isoglot finetune" in done.stderr
    assert not (tmp_path / "measured").exists()


def test_a_learning_rate_that_makes_no_numbers_ends_without_a_figure(
    data: Path, model: Path, tmp_path: Path, isoglot: Isoglot
) -> None:
    for select in ("source", "last"):
        line = f"{MODELS['finetune']} --set learning_rate=1e30 --set select={select}"
        done = isoglot(*command(line, data, model, tmp_path / select))
        assert done.returncode == 2, done.stderr
        assert "lower the learning rate" in done.stderr.splitlines()[-1]
        assert not list((tmp_path / select).glob("**/manifest.json"))


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "gpu", "mps:x"])
@pytest.mark.parametrize("name", ["align", "alignment score", "alignments"])
def test_a_device_that_is_not_there_is_one_line(
    name: str,
    device: str,
    data: Path,
    model: Path,
    tmp_path: Path,
    isoglot: Isoglot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    flag = ["--set", f"device={device}"] if name == "alignments" else ["--device", device]
    done = isoglot(*command(MODELS[name], data, model, tmp_path / "out"), *flag)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert "device" in last and ("use auto" in last or "write auto" in last)
