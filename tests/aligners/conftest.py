"""A small bitext with gold links and an encoder, as files."""

from __future__ import annotations

import json

import pytest

from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer

LINES = 40


@pytest.fixture(scope="module")
def corpus():
    return tiny_aligned(LINES, seed=1)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    tiny_model("bert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    return folder


@pytest.fixture
def bitext(tmp_path, corpus):
    path = tmp_path / "pairs.txt"
    rows = zip(corpus["source_words"], corpus["target_words"], strict=True)
    path.write_text("".join(f"{' '.join(s)} ||| {' '.join(t)}\n" for s, t in rows), encoding="utf-8")
    return path


@pytest.fixture
def gold(tmp_path, corpus):
    path = tmp_path / "gold.jsonl"
    rows = zip(corpus["source_words"], corpus["target_words"], corpus["links"], strict=True)
    path.write_text(
        "".join(json.dumps({"src": s, "tgt": t, "sure": links}) + "\n" for s, t, links in rows),
        encoding="utf-8",
    )
    return path
