"""Packed files from anywhere: what does not fit is one line, and nothing is built from it or written."""

from __future__ import annotations

import json
import random
import tracemalloc
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import keep_choice, kept_choice
from isoglot.checkpoints.folder import BOX_FILE
from isoglot.checkpoints.packed import pack, unpack
from isoglot.checkpoints.packed_file import (
    LARGEST_TOKENIZER,
    TOKENIZER,
    EncoderShape,
    choice_beside,
    read_packed,
    read_upper,
    upper_layers_file,
)
from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.testing import tiny_model, tiny_tokenizer

CASES = 80
"""Of the crafted files; all are about two thousand."""
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    10**9,
    10**30,
    1.5,
    1e400,
    "x",
    "",
    [],
    {},
    [[1]],
    {"content": 5},
)
QUERY = "encoder.layer.0.attention.self.query.weight"
UNPACKED = {"config.json", "tokenizer_config.json", "tokenizer.json", "aligner.json", "README.md", "model.safetensors",
            "manifest.json", ".isoglot.json"}  # fmt: skip


@dataclass(frozen=True)
class Crafted:
    """The two files of an aligner with something changed, and what stands beside them."""

    name: str
    texts: dict[str, str]
    tensors: dict[str, np.ndarray]
    upper_texts: dict[str, str]
    upper_tensors: dict[str, np.ndarray]
    beside: bytes | None = None
    cut: int | None = None
    flipped: dict[int, int] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """The file; what belongs to it lies beside it."""
        folder.mkdir()
        file = folder / "a.safetensors"
        save_file(self.upper_tensors, upper_layers_file(file), metadata=self.upper_texts)
        save_file(self.tensors, file, metadata=self.texts)
        content = bytearray(file.read_bytes()[: self.cut])
        for position, value in self.flipped.items():
            content[position] ^= value
        file.write_bytes(content)
        if self.beside is not None:
            choice_beside(file).write_bytes(self.beside)
        return file


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module", params=["bert", "xlm-roberta"])
def whole(request, tmp_path_factory) -> Crafted:
    """A file as it should be, of one layer, and another layer above it."""
    place = tmp_path_factory.mktemp("whole")
    tiny_model(request.param).save_pretrained(place / "encoder")
    tiny_tokenizer(request.param).save_pretrained(place / "encoder")
    keep_choice(place / "encoder", {"method": "argmax", "layer": 1})
    file = pack(place / "encoder", place / "a.safetensors", sentences=place / "encoder")
    texts = []
    for path in (file, upper_layers_file(file)):
        with safe_open(path, framework="np") as tensors:
            texts.append(dict(tensors.metadata()))
    return Crafted("whole", texts[0], load_file(file), texts[1], load_file(upper_layers_file(file)))


def odd_objects(text: str, *keys: str) -> dict[str, str]:
    """A JSON object with each of some keys changed or left out, and texts that are none."""
    values = json.loads(text)
    changed = {f"{key}={odd!r}": {**values, key: odd} for key in keys or values for odd in ODD}
    changed |= {f"no {key}": {k: v for k, v in values.items() if k != key} for key in keys or values}
    texts = {name: json.dumps(value) for name, value in changed.items()}
    return texts | {repr(text): text for text in ("", "{", "[]", "null", "[" * 99_999, '{"layer": NaN}')}


def odd_tensors(tensors: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """Tensors of which one is missing, unknown, of another shape or dtype, or not a number."""
    crafted = {}
    for key, values in tensors.items():
        if key == TOKENIZER:
            continue
        wrong = [values.reshape(-1), values[None], values[:-1], values.T, values.astype(np.int16)]
        wrong += [np.full_like(values, odd) for odd in (np.nan, np.inf, -np.inf) if values.dtype.kind == "f"]
        if values.dtype == np.float32:
            wrong.append(np.full_like(values, 3e38))
        for number, changed in enumerate(wrong):
            if changed.shape != values.shape or changed.dtype != values.dtype or number > 4:
                crafted[f"{key} {number}"] = {**tensors, key: np.ascontiguousarray(changed)}
        crafted[f"no {key}"] = {k: v for k, v in tensors.items() if k != key}
        crafted[f"twice {key}"] = {**tensors, f"../{key}": values}
    return crafted


def odd_tokenizers(tensors: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """Tokenizers that are none, are cut off, or name what the encoder lacks."""
    content = zlib.decompress(tensors[TOKENIZER].tobytes())
    values = json.loads(content)
    texts = {f"tokenizer {name}": text.encode() for name, text in odd_objects(content.decode()).items()}
    model = values["model"]
    for key in model:
        texts |= {
            f"model {key}={odd!r}": json.dumps({**values, "model": {**model, key: odd}}).encode()
            for odd in ODD
        }
    for ids in ([10**6], [-1], [2**31], []):
        special = values["post_processor"].get("special_tokens", {})
        changed = {name: {**token, "ids": ids} for name, token in special.items()}
        processor = {**values["post_processor"], "special_tokens": changed}
        texts[f"special {ids}"] = json.dumps({**values, "post_processor": processor}).encode()
    added = [{**values["added_tokens"][0], "id": 10**6, "content": "[far]"}]
    texts["far"] = json.dumps({**values, "added_tokens": values["added_tokens"] + added}).encode()
    if isinstance(model["vocab"], dict):
        far = {**model["vocab"], next(iter(model["vocab"])): 10**6}
        texts["hole"] = json.dumps({**values, "model": {**model, "vocab": far}}).encode()
    texts["latin"] = b"\xff" + content
    packed = {name: zlib.compress(text) for name, text in texts.items()}
    packed |= {
        "cut": tensors[TOKENIZER].tobytes()[:-5],
        "more": tensors[TOKENIZER].tobytes() + b"x",
        "none": b"",
    }
    crafted = {n: {**tensors, TOKENIZER: np.frombuffer(data, np.uint8)} for n, data in packed.items()}
    return crafted | {"words": {**tensors, TOKENIZER: tensors[TOKENIZER].astype(np.float32)}}


def crafted_files(whole: Crafted) -> list[Crafted]:
    """All of them."""
    files = []
    read = (*EncoderShape.model_fields, "hidden_act", "is_decoder", "auto_map", "dtype")
    for name, keys in (
        ("config.json", read),
        ("aligner.json", ("method", "layer", "x")),
        ("tokenizer_config.json", ()),
    ):
        for what, text in odd_objects(whole.texts[name], *keys).items():
            files.append(replace(whole, name=f"{name} {what}", texts={**whole.texts, name: text}))
            if name == "config.json":
                upper = {**whole.upper_texts, name: text}
                files.append(replace(whole, name=f"upper {name} {what}", upper_texts=upper))
            if name == "aligner.json":
                files.append(
                    replace(
                        whole,
                        name=f"beside {what}",
                        beside=text.encode("utf-16" if len(files) % 2 else "utf-8"),
                    )
                )
    fewer = {name: {k: v for k, v in whole.texts.items() if k != name} for name in whole.texts}
    files += [replace(whole, name=f"no {name}", texts=texts) for name, texts in fewer.items()]
    for name in whole.upper_texts:
        rest = {k: v for k, v in whole.upper_texts.items() if k != name}
        files += [replace(whole, name=f"no upper {name}", upper_texts=rest),
                  replace(whole, name=f"odd upper {name}", upper_texts={**whole.upper_texts, name: "x"})]  # fmt: skip
    for number, beside in enumerate((b"", b"{", b"\xff\xfe", b"\0", b" " * (1 << 21))):
        files.append(replace(whole, name=f"beside {number}", beside=beside))
    changes = {**odd_tensors(whole.tensors), **odd_tokenizers(whole.tensors)}
    files += [replace(whole, name=name, tensors=tensors) for name, tensors in changes.items()]
    changes = odd_tensors(whole.upper_tensors)
    files += [
        replace(whole, name=f"upper {name}", upper_tensors=tensors) for name, tensors in changes.items()
    ]
    draw = random.Random(7)
    files += [
        replace(whole, name=f"cut {n}", cut=n) for n in (0, 1, 7, 8, 9, 100, *draw.sample(range(9000), 20))
    ]
    files += [
        replace(whole, name=f"bit {n}", flipped={n: 1 << draw.randrange(8)})
        for n in draw.sample(range(9000), 60)
    ]
    return files


@pytest.mark.fast_variants(1)
def test_crafted_files_are_refused_in_one_line_or_align(whole, tmp_path) -> None:
    files = [whole, *random.Random(19).sample(crafted_files(whole), CASES)]
    outcomes = Counter[str]()
    for number, crafted in enumerate(files):
        file, plain = crafted.write(tmp_path / str(number)), tmp_path / f"plain-{number}"
        before = {path: path.read_bytes() for path in file.parent.iterdir()}
        for use in (read_packed, kept_choice, align, partial(unpack, out=plain)):
            try:
                use(file)
                outcomes["taken"] += 1
            except IsoglotError as error:
                assert "\n" not in str(error), (crafted.name, error)
                outcomes["refused"] += 1
            except BaseException as error:
                raise AssertionError(f"{crafted.name}: {use}") from error
        assert {path: path.read_bytes() for path in file.parent.iterdir()} == before
        assert not plain.exists() or {path.name for path in plain.iterdir()} <= UNPACKED
    assert {path.name for path in tmp_path.iterdir()} - {f"plain-{n}" for n in range(len(files))} == {
        "cache", *map(str, range(len(files)))
    }  # fmt: skip
    assert min(outcomes.values()) > CASES / 4


def align(file: Path) -> None:
    """Link a sentence pair."""
    EmbeddingAligner(file, dtype="float32", device="cpu").align_words(["the", "river"], ["ta", "potamo"])


def test_scales_of_a_square_matrix_are_columns(whole, tmp_path) -> None:
    scale = whole.tensors[f"{QUERY}.scale"]
    assert scale.shape == (len(scale), 1)
    for shape in ((-1,), (1, -1)):
        tensors = {**whole.tensors, f"{QUERY}.scale": scale.reshape(shape)}
        file = replace(whole, tensors=tensors).write(tmp_path / str(len(shape)))
        for use in (read_packed, align, partial(unpack, out=tmp_path / "plain")):
            with pytest.raises(
                ConfigurationError, match=rf"{QUERY}\.scale is F32 of shape .*, and F32 of shape \(\d+, 1\)"
            ):
                use(file)


@pytest.mark.slow
@pytest.mark.parametrize("whole", ["bert"], indirect=True)
def test_no_more_of_a_tokenizer_is_unpacked_than_one_can_have(whole, tmp_path) -> None:
    bomb = zlib.compress(bytes(6 * LARGEST_TOKENIZER))
    file = replace(whole, tensors={**whole.tensors, TOKENIZER: np.frombuffer(bomb, np.uint8)}).write(
        tmp_path / "file"
    )
    tracemalloc.start()
    try:
        with pytest.raises(ConfigurationError, match=r"tokenizer\.json has more than"):
            read_packed(file)
        assert tracemalloc.get_traced_memory()[1] < 3 * LARGEST_TOKENIZER
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "content", [b"", b'{"method": "arg', '{"method": "argmax", "layer": 1}'.encode("utf-16"), b"[1]"]
)
def test_a_choice_beside_a_packed_file_that_cannot_be_read_is_named(whole, tmp_path, content) -> None:
    file = replace(whole, beside=content).write(tmp_path / "file")
    for use in (read_packed, kept_choice, align, partial(unpack, out=tmp_path / "plain")):
        with pytest.raises(
            ConfigurationError,
            match=r"/a\.aligner\.json: cannot be read as a choice of layer and method .* tune",
        ):
            use(file)


def test_the_packaged_aligner_is_read_by_the_same_rules() -> None:
    content = read_packed(BOX_FILE)
    assert content.shape.num_hidden_layers == 8 and len(read_upper(BOX_FILE, content)[1]) > 0
