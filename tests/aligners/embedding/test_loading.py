from __future__ import annotations

import copy
import logging
import pickle

import pytest
import torch
from refusals import refused

from isoglot.aligners import with_encoder
from isoglot.aligners.embedding import loading
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.load_aligner import aligner_request
from isoglot.core.errors import ConfigurationError
from isoglot.modules import devices
from isoglot.modules.pointer import Pointer
from isoglot.tasks.text_vectors import TextEncoder
from isoglot.testing import tiny_model, tiny_tokenizer


def test_pointer_is_read_from_the_checkpoint(tmp_path, model, tokenizer, pairs):
    from safetensors.torch import save_file

    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with refused(ConfigurationError, "objectives.safetensors", "pointer", "denoising_word_alignment"):
        EmbeddingAligner(tmp_path, method="pointer")
    pointer = Pointer(32)
    state = {f"objectives.dwa.pointer.{k}": v for k, v in pointer.state_dict().items()}
    save_file(state, tmp_path / "objectives.safetensors")
    own = EmbeddingAligner(tmp_path, method="pointer", dtype="float32")
    assert own.layer == 3
    assert own.options.encode == "joint"
    source, target = pairs[0]
    ids, owners = [], []
    for words in (source, target):
        cut = [tokenizer(w, add_special_tokens=False)["input_ids"] for w in words]
        owners.append([n for n, c in enumerate(cut) for _ in c])
        ids.append([i for c in cut for i in c])
    row = [tokenizer.cls_token_id, *ids[0], tokenizer.sep_token_id, *ids[1], tokenizer.sep_token_id]
    with torch.no_grad():
        hidden = model.base_model(torch.tensor([row])).last_hidden_state[0]
        x, y = hidden[1 : len(ids[0]) + 1], hidden[len(ids[0]) + 2 : -1]
        forward = (pointer.query(x) @ pointer.key(y).T / 32**0.5).softmax(1)
        backward = (pointer.query(y) @ pointer.key(x).T / 32**0.5).softmax(1).T
        both = (forward * backward).sqrt()
    expected = {
        (owners[0][i], owners[1][j])
        for i in range(len(x))
        for j in range(len(y))
        if both[i].argmax() == j and both[:, j].argmax() == i
    }
    assert own.align_words(source, target).links == sorted(expected)
    save_file(state | {"objectives.dwa.pointer_layer": torch.tensor(2)}, tmp_path / "objectives.safetensors")
    assert EmbeddingAligner(tmp_path, method="pointer").layer == 2
    assert EmbeddingAligner(tmp_path, method="pointer", layer=1).layer == 1


def test_a_folder_that_is_not_whole_is_said_at_once(tmp_path, model):
    with refused(ConfigurationError, tmp_path.name, "config.json"):
        EmbeddingAligner(tmp_path)
    model.save_pretrained(tmp_path)
    with refused(ConfigurationError, tmp_path.name, "tokenizer.json"):
        EmbeddingAligner(tmp_path)


def test_loading_says_nothing_and_leaves_the_library_as_it_was(tmp_path, capfd):
    from transformers.utils import logging as library

    tiny_model("bert").save_pretrained(tmp_path)
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    before = library.get_verbosity(), library.is_progress_bar_enabled()
    library.set_verbosity_warning()
    library.enable_progress_bar()
    try:
        capfd.readouterr()
        EmbeddingAligner(tmp_path, layer=2)
        said = capfd.readouterr()
        assert (said.out, said.err) == ("", "")
        assert library.get_verbosity() == logging.WARNING
        assert library.is_progress_bar_enabled()
    finally:
        library.set_verbosity(before[0])
        if not before[1]:
            library.disable_progress_bar()


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_model_object_stays_as_it_is(half, tokenizer, pairs):
    model = tiny_model("bert").train()
    model.base_model.embeddings.eval()
    model = model.to(torch.bfloat16) if half else model
    before = [(name, module.training) for name, module in model.named_modules()], model.dtype
    draws = torch.get_rng_state()
    source, target = pairs[0]
    links = EmbeddingAligner(model, tokenizer=tokenizer, layer=2, dtype="float32").align_words(source, target)
    vectors = TextEncoder(model, tokenizer=tokenizer).encode(["the river"])
    TextEncoder(tokenizer=None).encode(["the river"])  # loads the packaged encoder
    assert ([(name, module.training) for name, module in model.named_modules()], model.dtype) == before
    assert torch.equal(torch.get_rng_state(), draws)
    again = EmbeddingAligner(model.eval().float(), tokenizer=tokenizer, layer=2)
    assert again.align_words(source, target) == links, "no dropout"
    assert (TextEncoder(model, tokenizer=tokenizer).encode(["the river"]) == vectors).all()


def test_loading_names_what_is_no_model(tokenizer):
    with refused(ConfigurationError, "model: ", "got int"):
        EmbeddingAligner(3, tokenizer=tokenizer)


def test_a_callers_autocast_changes_no_link(pairs):
    own = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=2)
    found = list(own.align_pairs(pairs))
    with torch.autocast("cpu", torch.bfloat16):
        assert list(own.align_pairs(pairs)) == found


def test_aligners_and_encoders_go_to_other_processes(tokenizer, pairs):
    aligner = EmbeddingAligner(tiny_model("bert"), tokenizer=tokenizer, layer=2)
    encoder = TextEncoder(tiny_model("bert"), tokenizer=tokenizer, entries=True)
    for copied in (copy.deepcopy, lambda own: pickle.loads(pickle.dumps(own))):
        assert list(copied(aligner).align_pairs(pairs)) == list(aligner.align_pairs(pairs))
        assert (copied(encoder).encode(["the river"]) == encoder.encode(["the river"])).all()


@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        *(
            ({"method": m}, torch.float32)
            for m in ("argmax", "itermax", "match", "forward", "backward", "ot")
        ),
        ({}, torch.float32),
        ({"method": "softmax", "compare": "dot"}, torch.float32),
        ({"method": "entmax"}, torch.float32),
        ({"method": "softmax", "compare": "cosine"}, torch.bfloat16),
        ({"method": "argmax", "dtype": "bfloat16"}, torch.bfloat16),
    ],
)
def test_a_folder_and_its_object_are_computed_in_the_same(encoder, tokenizer, monkeypatch, options, dtype):
    def fast(name, device):
        return torch.bfloat16 if name == "auto" else getattr(torch, name)

    for module in (loading, devices):
        monkeypatch.setattr(module, "compute_dtype", fast)
    for model in (tiny_model("bert"), tiny_model("bert").bfloat16()):
        assert EmbeddingAligner(model, tokenizer=tokenizer, layer=2, **options).model.dtype == dtype
    assert EmbeddingAligner(encoder, layer=2, **options).model.dtype == dtype
    chosen = aligner_request(model=str(encoder), layer=2, **options).options
    assert with_encoder._from_memory(encoder, chosen).model.dtype == dtype
