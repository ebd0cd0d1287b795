"""What is on disk while and after packed files are written: nothing of two aligners together, the same bytes again."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from edits import change_unseen

from isoglot.aligners.embedding.choice import keep_choice, kept_choice
from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.checkpoints.packed import pack, unpack
from isoglot.checkpoints.packed_file import choice_beside, upper_layers_file
from isoglot.core.errors import ConfigurationError, DiskError
from isoglot.runs.listed import LIST
from isoglot.testing import tiny_model, tiny_tokenizer

OLD, NEW = ({"method": "argmax", "layer": layer} for layer in (1, 2))


class KilledError(BaseException):
    """Stands for the end of a process: nothing is renamed or deleted after it."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    """A checkpoint of three layers."""
    folder = tmp_path_factory.mktemp("checkpoint") / "encoder"
    tiny_model("bert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    return folder


def packed(encoder: Path, choice: dict[str, Any], out: Path, **how: Any) -> Path:
    keep_choice(encoder, choice)
    return pack(encoder, out, **how)


@pytest.mark.fast_variants(6)
@pytest.mark.parametrize("moment", range(6))
@pytest.mark.parametrize("upper", [False, True])
def test_a_kill_leaves_one_aligner_and_nothing_of_another_beside_it(
    encoder, tmp_path, monkeypatch, moment, upper
) -> None:
    out, calls = tmp_path / "a.safetensors", []
    sentences = {"sentences": encoder} if upper else {}
    content = {
        name: packed(encoder, choice, tmp_path / name).read_bytes()
        for name, choice in (("o", OLD), ("n", NEW))
    }
    packed(encoder, OLD, out, sentences=encoder)
    keep_choice(out, {"method": "itermax", "layer": 1})

    def dying(name: str) -> Any:
        kept = getattr(Path, name)

        def call(path: Path, *arguments: Any, **how: Any) -> Any:
            calls.append(name)
            if len(calls) > moment:
                raise KilledError
            return kept(path, *arguments, **how)

        return call

    keep_choice(encoder, NEW)
    with monkeypatch.context() as patched:
        for name in ("replace", "unlink"):
            patched.setattr(Path, name, dying(name))
        try:
            pack(encoder, out, overwrite=True, **sentences)
        except KilledError:
            assert len(calls) > moment
    if out.read_bytes() == content["n"]:
        assert not choice_beside(out).exists() and kept_choice(out) == NEW
    else:
        assert out.read_bytes() == content["o"] and kept_choice(out)["layer"] == 1
    unpack(out, tmp_path / "plain")
    for path in tmp_path.glob("*.partial"):
        path.unlink()
    packed(encoder, NEW, out, overwrite=True, **sentences)
    assert (out.read_bytes(), upper_layers_file(out).exists()) == (content["n"], upper)


def test_a_write_that_fails_leaves_the_choice_that_was_there(encoder, tmp_path, monkeypatch) -> None:
    out = packed(encoder, OLD, tmp_path / "a.safetensors")
    keep_choice(out, {"method": "itermax", "layer": 1})
    keep_choice(encoder, NEW)

    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patched, pytest.raises(DiskError, match="disk is full"):
        patched.setattr(Path, "write_bytes", full)
        pack(encoder, out, overwrite=True)
    assert kept_choice(out)["method"] == "itermax"


def test_the_same_encoder_is_the_same_bytes_with_the_mode_of_any_new_file(encoder, tmp_path) -> None:
    (encoder / "README.md").write_text("# Mine\n")
    keep_choice(encoder, OLD)
    code = "import sys; from isoglot.checkpoints.packed import *; pack(*map(Path, sys.argv[1:]))"
    files = [tmp_path / name for name in ("a", "b", "c")]
    for seed, file in enumerate(files[:2]):  # a process has its own order of the texts
        subprocess.run(
            [sys.executable, "-c", code, encoder, file],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
    pack(encoder, files[2], sentences=encoder)
    assert len({file.read_bytes() for file in files}) == 1
    (tmp_path / "new").touch()
    plain = unpack(files[2], tmp_path / "plain")
    written = [*files, upper_layers_file(files[2]), *(path for path in plain.iterdir() if path.is_file())]
    mode = stat.S_IMODE((tmp_path / "new").stat().st_mode)
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in written} == {
        p.name: oct(mode) for p in written
    }
    files[0].chmod(0o640)
    packed(encoder, NEW, files[0], overwrite=True)
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o640
    (encoder / "README.md").unlink()


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_an_unpacked_folder_of_the_cache_that_was_changed_is_unpacked_again(encoder, tmp_path, name) -> None:
    file = packed(encoder, OLD, tmp_path / "a.safetensors")
    folder = checkpoint_folder(file)
    whole = (folder / name).read_bytes()
    change_unseen(folder / name)
    assert (folder / name).read_bytes() != whole
    assert (checkpoint_folder(file) / name).read_bytes() == whole


@pytest.mark.parametrize(
    "missing", [("manifest.json",), ("manifest.json", "config.json"), ("model.safetensors",)]
)
def test_an_unpacked_folder_of_the_cache_without_some_files_is_unpacked_again(
    encoder, tmp_path, missing
) -> None:
    file = packed(encoder, OLD, tmp_path / "a.safetensors")
    folder = checkpoint_folder(file)
    files = {path.name for path in folder.iterdir()}
    for name in missing:
        (folder / name).unlink()
    assert {path.name for path in checkpoint_folder(file).iterdir()} == files


def test_a_folder_of_the_cache_with_files_of_others_is_named(encoder, tmp_path) -> None:
    file = packed(encoder, OLD, tmp_path / "a.safetensors")
    folder = checkpoint_folder(file)
    (folder / LIST).unlink()
    with pytest.raises(ConfigurationError, match=f"{folder.name}: is a folder of the cache .* delete it"):
        checkpoint_folder(file)
    shutil.rmtree(folder)
    assert checkpoint_folder(file) == folder
