"""A secret is used, and leaves no trace."""

from __future__ import annotations

import copy
import io
import pickle
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from transformers import TrainingArguments

from isoglot.recipe.secrets import Secret, is_secret, is_secret_setting, names_secret
from isoglot.training.trainer import adapt


def test_a_secret_works_as_its_text() -> None:
    secret = Secret("hf_1")
    assert f"Bearer {secret}" == "Bearer hf_1" and secret == "hf_1" and isinstance(secret, str)
    for copied in (copy.copy(secret), copy.deepcopy([secret])[0]):
        assert copied == "hf_1" and isinstance(copied, Secret)


def test_nothing_of_it_is_pickled_or_shown() -> None:
    secret = Secret("hf_1")
    assert "hf_1" not in repr([secret])
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps({"token": secret}, protocol=protocol)
        assert b"hf_1" not in data and pickle.loads(data) == {"token": None}


def test_adapted_arguments_keep_their_token_to_themselves(tmp_path: Path) -> None:
    args = TrainingArguments(output_dir=str(tmp_path), hub_token="hf_1", use_cpu=True)
    adapt(args)
    assert args.hub_token == "hf_1"
    file = io.BytesIO()
    torch.save(args, file)
    for text in (file.getvalue().decode("latin-1"), args.to_json_string(), str(args), str(asdict(args))):
        assert "hf_1" not in text
    file.seek(0)
    assert torch.load(file, weights_only=False).hub_token is None


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("hub_token", True), ("push_to_hub_token", True), ("MY_TOKEN", True), ("WANDB_API_KEY", True), ("apikey", True),
        ("password", True), ("AWS_SECRET_ACCESS_KEY", True), ("include_num_input_tokens_seen", False),
        ("max_tokens", False), ("ISOGLOT_DATA", False), ("key", False), ("tokenizer", False),
    ],
)  # fmt: skip
def test_secrets_are_known_by_name(name: str, secret: bool) -> None:
    assert names_secret(name) is secret
    place = ("model", "path")
    assert is_secret(place, {place: f"a/${{{name}}}/b"}) is secret
    assert is_secret_setting(("train", name)) is secret
    assert not is_secret_setting(("model", name)), "mask_token and the like are no secrets"
