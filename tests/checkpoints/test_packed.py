"""An aligner in one file: what is kept, what comes out again, and that every verb takes it."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from commands import run
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import isoglot as iso
from isoglot.aligners.embedding.choice import keep_choice, kept_choice
from isoglot.aligners.load_aligner import aligner_request
from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.checkpoints.packed import pack, unpack
from isoglot.checkpoints.packed_file import is_packed, upper_layers_file
from isoglot.checkpoints.stored_weights import quantised, restored
from isoglot.core.errors import ConfigurationError
from isoglot.modules.load import load_masked_lm
from isoglot.runs.cache import cache_folder
from isoglot.runs.fingerprint import fingerprint
from isoglot.testing import tiny_model, tiny_tokenizer

SOFTMAX = {"method": "softmax", "layer": 1, "compare": "cosine", "temperature": 0.1, "min_probability": 0.05}
TABLE = "embeddings.word_embeddings.weight"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(params=["bert", "xlm-roberta"])
def encoder(request, tmp_path):
    """A checkpoint of two layers, with a head, whose aligner reads the first."""
    folder = tmp_path / "encoder"
    tiny_model(request.param).save_pretrained(folder)
    tiny_tokenizer(request.param).save_pretrained(folder)
    keep_choice(folder, SOFTMAX)
    return folder


def blocks(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    """Values of 4 bits as a published encoder has them."""
    random = np.random.default_rng(seed)
    whole = random.integers(-8, 8, (rows, columns // 32, 32)).astype(np.float32)
    scale = random.normal(0, 0.01, (rows, columns // 32, 1)).astype(np.float16)
    scale[0] = 0
    return (whole * scale.astype(np.float32)).reshape(rows, columns)


def test_values_of_four_bits_come_back_as_they_were_and_others_within_half_a_step() -> None:
    four = blocks(50, 96)
    kept = quantised("a", four)
    assert set(kept) == {"a.q4", "a.scale"}
    assert kept["a.q4"].nbytes == four.size // 2
    assert np.array_equal(dict(restored(kept))["a"], four)

    other = np.random.default_rng(2).normal(size=(20, 96)).astype(np.float32)
    other[3] = 0
    kept = quantised("b", other)
    assert set(kept) == {"b.q8", "b.scale"}
    step = np.abs(other).max(axis=1, keepdims=True) / 127
    assert np.all(np.abs(dict(restored(kept))["b"] - other) <= 0.501 * step)

    vector = other[0]
    assert np.array_equal(dict(restored(quantised("c", vector)))["c"], vector)


def test_values_near_zero_keep_their_signs() -> None:
    smallest = np.finfo(np.float32).smallest_subnormal
    values = np.array([[190, -190, 1, 0]], np.float32) * smallest
    kept = quantised("a", values)
    assert kept["a.q8"].tolist() == [[127, -127, 1, 0]]


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("part", ["bias", "weight"])
def test_weights_too_large_to_be_read_again_are_not_packed(encoder, tmp_path, layer, part) -> None:
    whole = grown(encoder, tmp_path / "whole")
    held = load_file(whole / "model.safetensors")
    name = next(name for name in held if name.endswith(f"layer.{layer}.output.dense.{part}"))

    def packed(value: float):
        held[name].flat[0] = value
        for folder in (encoder, whole) if layer == 0 else (whole,):
            save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
        return pack(encoder, tmp_path / "a.safetensors", sentences=whole)

    with pytest.raises(ConfigurationError, match=rf"layer\.{layer}\.output\.dense\.{part} are too large"):
        packed(3.4e38)
    assert not (tmp_path / "a.safetensors").exists()
    assert unpack(packed(1e36), tmp_path / "plain").is_dir()


def test_one_value_off_the_grid_keeps_a_matrix_from_four_bits() -> None:
    values = blocks(4, 64)
    values[2, 5] += np.float32(1e-3)
    assert set(quantised("a", values)) == {"a.q8", "a.scale"}


def test_unpacked_is_what_was_quantised_without_head_and_unread_layers(encoder, tmp_path) -> None:
    held = load_file(encoder / "model.safetensors")
    prefix = next(name for name in held if name.endswith(TABLE)).removesuffix(TABLE)
    held[prefix + TABLE] = blocks(*held[prefix + TABLE].shape)
    save_file(held, encoder / "model.safetensors", metadata={"format": "pt"})

    (encoder / "README.md").write_text("# Mine\n")
    file = pack(encoder, tmp_path / "a.safetensors")
    found = load_file(unpack(file, tmp_path / "plain") / "model.safetensors")

    assert not [name for name in found if "layer.1." in name or "head" in name or "pooler" in name]
    assert np.array_equal(found[TABLE], held[prefix + TABLE])
    for name, values in found.items():
        assert np.array_equal(values, dict(restored(quantised(name, held[prefix + name])))[name]), name
    assert json.loads((tmp_path / "plain/config.json").read_text())["num_hidden_layers"] == 1
    assert json.loads((tmp_path / "plain/aligner.json").read_text()) == SOFTMAX
    assert (tmp_path / "plain/README.md").read_text() == "# Mine\n"
    assert load_masked_lm({"path": str(file), "new_head": True}).config.num_hidden_layers == 1


def test_a_packed_file_aligns_as_the_folder_it_was_made_of(encoder, tmp_path) -> None:
    file = pack(encoder, tmp_path / "a.safetensors")
    source, target = ["the", "river", "is", "deep"], ["ta", "potamo", "bathy"]
    plain, packed = (iso.align(source, target, model=model, dtype="float32") for model in (encoder, file))
    assert packed.links == plain.links and len(packed.links) > 0
    assert packed.probabilities == pytest.approx(plain.probabilities, abs=0.02)
    assert aligner_request(model=str(file)).options.layer == 1


def test_a_file_is_unpacked_once_and_anew_when_it_changes(encoder, tmp_path) -> None:
    file = pack(encoder, tmp_path / "a.safetensors")
    first = checkpoint_folder(file)
    assert first == cache_folder() / "aligners" / fingerprint(file)[:16]
    written = (first / "model.safetensors").stat().st_mtime_ns
    assert checkpoint_folder(file) == first
    assert (first / "model.safetensors").stat().st_mtime_ns == written

    keep_choice(encoder, {**SOFTMAX, "min_probability": 0.2})
    assert checkpoint_folder(pack(encoder, file, overwrite=True)) != first


def test_the_command_packs_unpacks_and_says_what_is_wrong(encoder, tmp_path) -> None:
    file, folder = tmp_path / "a.safetensors", tmp_path / "plain"
    run("pack", encoder, "--out", file)
    assert is_packed(file) and not is_packed(encoder / "model.safetensors")
    for _ in range(2):  # the second time it is there already
        run("pack", file, "--out", folder)
    assert (folder / "tokenizer.json").is_file()

    def refused(*arguments: str) -> str:
        return run("pack", *arguments, fails=ConfigurationError)

    assert "holds no unpacked aligner" in refused(str(file), "--out", str(encoder))
    assert "not a packed aligner" in refused(str(encoder), "--out", str(encoder / "config.json"))
    (encoder / "aligner.json").unlink()
    assert "isoglot tune" in refused(str(encoder), "--out", str(file))


def test_a_choice_beside_a_packed_file_takes_the_place_of_the_one_in_it(encoder, tmp_path) -> None:
    file = pack(encoder, tmp_path / "a.safetensors")
    first, own, content = checkpoint_folder(file), kept_choice(file), file.read_bytes()
    place = keep_choice(file, {**SOFTMAX, "min_probability": 0.9})
    assert place == tmp_path / "a.aligner.json" and file.read_bytes() == content
    assert kept_choice(file)["min_probability"] == 0.9
    again = checkpoint_folder(file)
    assert again != first and kept_choice(again) == kept_choice(file)
    with pytest.raises(
        ConfigurationError, match=r"a\.safetensors: belongs to another aligner .* add overwrite=True"
    ):
        pack(encoder, file)
    assert place.exists()
    pack(encoder, file, overwrite=True)
    assert not place.exists(), "the file that stood there before had it"
    assert kept_choice(file) == own
    with pytest.raises(ConfigurationError, match="isoglot pack box --out FOLDER"):
        keep_choice("box", SOFTMAX)


def test_a_cut_off_file_and_another_file_are_refused(encoder, tmp_path) -> None:
    file = pack(encoder, tmp_path / "a.safetensors")
    file.write_bytes(file.read_bytes()[:-40])
    for wrong in (file, encoder / "model.safetensors"):
        with pytest.raises(ConfigurationError, match="packed aligner"):
            checkpoint_folder(wrong)
    with pytest.raises(ConfigurationError, match="not a packed aligner"):
        unpack(encoder / "model.safetensors", tmp_path / "plain")


@pytest.mark.parametrize(
    "name", ["{}/outside/notes.txt", "../notes.txt", "../../outside/notes.txt", "model.py"]
)
@pytest.mark.parametrize("upper", [False, True])
def test_no_name_in_a_packed_file_becomes_a_path(encoder, tmp_path, name, upper) -> None:
    (tmp_path / "outside").mkdir()
    file = pack(encoder, tmp_path / "a.safetensors", sentences=grown(encoder, tmp_path / "whole"))
    crafted = upper_layers_file(file) if upper else file
    with safe_open(crafted, framework="np") as tensors:
        texts = {**tensors.metadata(), name.format(tmp_path): "crafted"}
    save_file(load_file(crafted), crafted, metadata=texts)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    for use in (lambda: unpack(file, tmp_path / "plain"), lambda: checkpoint_folder(file)):
        with pytest.raises(ConfigurationError, match=r"a(\.sentences)?\.safetensors: .*unknown text"):
            use()
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_families_whose_layers_end_otherwise_are_not_packed(tmp_path) -> None:
    folder = tmp_path / "encoder"
    tiny_model("modernbert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    keep_choice(folder, SOFTMAX)
    with pytest.raises(ConfigurationError, match="modernbert"):
        pack(folder, tmp_path / "a.safetensors")


def grown(encoder, folder, *, changed: str | None = None):
    """The encoder with one layer more than the aligner reads, and perhaps another weight below."""
    shutil.copytree(encoder, folder)
    held = load_file(encoder / "model.safetensors")
    if changed is not None:
        name = next(name for name in held if name.endswith(changed))
        held[name] = held[name] + np.float32(0.01)
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_upper_layers_go_into_a_second_file_and_give_vectors_of_sentences(encoder, tmp_path) -> None:
    whole = grown(encoder, tmp_path / "whole", changed="encoder.layer.1.output.dense.weight")
    file = pack(encoder, tmp_path / "aligner.safetensors", sentences=whole)
    alone = pack(encoder, tmp_path / "alone.safetensors")
    assert abs(file.stat().st_size - alone.stat().st_size) < 16
    assert not upper_layers_file(alone).exists()

    texts = ["the river", "ta potamo"]
    vectors = iso.TextEncoder(str(file)).encode(texts)
    expected = iso.TextEncoder(whole).encode(texts)
    assert np.abs(vectors - expected).max() < 0.01
    assert np.abs(iso.TextEncoder(str(alone)).encode(texts) - expected).max() > 0.02

    unpacked = unpack(file, tmp_path / "folder")
    assert load_masked_lm({"path": str(unpacked), "new_head": True}).config.num_hidden_layers == 3
    pair = (["the", "river"], ["ta", "potamo"])
    assert iso.align(*pair, model=str(unpacked)).links == iso.align(*pair, model=str(file)).links

    pack(encoder, file, overwrite=True)
    assert not upper_layers_file(file).exists()


def test_upper_layers_of_another_encoder_are_refused(encoder, tmp_path) -> None:
    out = tmp_path / "aligner.safetensors"
    other = grown(encoder, tmp_path / "other", changed="encoder.layer.0.output.dense.weight")
    with pytest.raises(
        ConfigurationError, match=r"encoder\.layer\.0\.output\.dense.* differs from the aligner"
    ):
        pack(encoder, out, sentences=other)
    short = unpack(pack(encoder, tmp_path / "short.safetensors"), tmp_path / "short")
    with pytest.raises(ConfigurationError, match="encoder of more than 1 layers"):
        pack(encoder, out, sentences=short)
    assert not out.exists()

    pack(encoder, out, sentences=grown(encoder, tmp_path / "whole"))
    upper = upper_layers_file(out).read_bytes()
    keep_choice(encoder, {**SOFTMAX, "temperature": 0.2})
    pack(encoder, out, overwrite=True)
    upper_layers_file(out).write_bytes(upper)
    with pytest.raises(ConfigurationError, match="continues another file"):
        unpack(out, tmp_path / "folder")


def test_a_second_file_belongs_to_one_name_and_replaces_nobody_elses(encoder, tmp_path) -> None:
    whole = grown(encoder, tmp_path / "whole")
    one = pack(encoder, tmp_path / "aligner.en", sentences=whole)
    assert upper_layers_file(one).is_file()
    pack(encoder, tmp_path / "aligner.de")
    assert upper_layers_file(one).is_file()

    foreign = tmp_path / "other.sentences.safetensors"
    foreign.write_text("notes")
    for sentences in (whole, None):
        with pytest.raises(
            ConfigurationError, match=r"other\.sentences\.safetensors exists and is not a packed"
        ):
            pack(encoder, tmp_path / "other.safetensors", sentences=sentences)
    assert foreign.read_text() == "notes"


def test_packing_leaves_another_file_of_the_name_and_its_neighbours_unless_asked(encoder, tmp_path) -> None:
    whole, out = grown(encoder, tmp_path / "whole"), tmp_path / "a.safetensors"
    for sentences in (None, whole):
        pack(encoder, out, sentences=sentences, overwrite=True)
        held = {path: path.stat().st_mtime_ns for path in (out, upper_layers_file(out)) if path.exists()}
        pack(encoder, out, sentences=sentences)
        assert {path: path.stat().st_mtime_ns for path in held} == held, "it is there already"
    content = {path: path.read_bytes() for path in held}
    for changed, sentences in ((False, None), (True, whole)):
        if changed:
            keep_choice(encoder, {**SOFTMAX, "temperature": 0.2})
        with pytest.raises(ConfigurationError, match="belongs to another aligner than"):
            pack(encoder, out, sentences=sentences)
    assert {path: path.read_bytes() for path in held} == content

    notes = tmp_path / "b.aligner.json"
    notes.write_text("notes")
    with pytest.raises(ConfigurationError, match=r"b\.aligner\.json: belongs to another aligner than"):
        pack(encoder, tmp_path / "b.safetensors")
    assert notes.read_text() == "notes" and not (tmp_path / "b.safetensors").exists()


def edited(path, change):
    values = json.loads(path.read_text())
    path.write_text(json.dumps(change(values)))


def reweighed(path, change):
    held = load_file(path)
    save_file(change(held), path, metadata={"format": "pt"})


def not_a_number(held):
    name = next(name for name in held if name.endswith("layer.0.output.dense.weight"))
    held[name][0, 0] = np.nan
    return held


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("aligner.json", {"layer": 4}, r"aligner\.json: layer: got 4, but .* 0 \(embeddings\) to 3"),
        ("aligner.json", {"layer": -5}, r"aligner\.json: layer: got -5, but"),
        ("aligner.json", {"method": "pointer"}, "pointer reads weights that a packed file does not hold"),
        ("config.json", {"num_hidden_layers": "x"}, r"config\.json: is not the configuration"),
        ("config.json", None, r"config\.json: is not the configuration"),
        ("tokenizer.json", None, r"while reading tokenizer\.json"),
        ("tokenizer.json", b"", r"while reading tokenizer\.json"),
        ("model.safetensors", None, r"while reading model\.safetensors"),
        ("model.safetensors", b"", r"while reading model\.safetensors"),
        ("model.safetensors", not_a_number, r"NaN or infinite weights in encoder\.layer\.0\.output\.dense"),
        (
            "model.safetensors",
            lambda held: {n: v for n, v in held.items() if "layer.0" not in n},
            r"no weights encoder\.layer\.0",
        ),
        (
            "model.safetensors",
            lambda held: {n: v for n, v in held.items() if "layer" in n},
            r"no weights embeddings\.",
        ),
    ],
)
def test_an_encoder_that_cannot_be_packed_is_refused_in_one_line(
    encoder, tmp_path, name, change, told
) -> None:
    place = encoder / name
    if change is None:
        place.write_bytes(b"{")
    elif change == b"":
        place.unlink()
    elif isinstance(change, dict):
        edited(place, lambda values: {**values, **change})
    else:
        reweighed(place, change)
    with pytest.raises(ConfigurationError, match=told):
        pack(encoder, tmp_path / "a.safetensors")
    assert not (tmp_path / "a.safetensors").exists()


def test_the_command_reads_runs_for_sentences_and_checks_the_choice(encoder, tmp_path) -> None:
    out = tmp_path / "a.safetensors"
    shutil.copytree(encoder, tmp_path / "run/checkpoint")
    run("pack", encoder, "--out", out, "--sentences", tmp_path / "run")
    assert upper_layers_file(out).is_file()
    told = run("pack", out, "--out", tmp_path / "plain", "--sentences", encoder, fails=ConfigurationError)
    assert "--sentences is for packing" in told
    told = run("pack", encoder, "--out", out, "--sentences", "no-folder", fails=ConfigurationError)
    assert "--sentences no-folder: is not a folder" in told
    edited(encoder / "aligner.json", lambda values: {**values, "method": "fast"})
    told = run("pack", encoder, "--out", tmp_path / "c.safetensors", fails=ConfigurationError)
    assert "unknown method 'fast'" in told
