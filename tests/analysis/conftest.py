"""What several tests of analyses start from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.testing import tiny_aligned, tiny_lexicon, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints, an aligned corpus, gold links and a lexicon."""
    folder = tmp_path_factory.mktemp("world")
    tokenizer = tiny_tokenizer("bert")
    for seed, name in enumerate(("before", "after")):
        tiny_model("bert", tokenizer=tokenizer, seed=seed).save_pretrained(folder / name / "checkpoint")
        tokenizer.save_pretrained(folder / name / "checkpoint")
        (folder / name / "run.json").write_text(
            json.dumps({"name": name, "seed": 7, "recipe_hash": f"r{seed}"})
        )
    corpus = list(tiny_aligned(24))
    rows = [
        {"source": " ".join(r["source_words"]), "target": " ".join(r["target_words"]), "links": r["links"]}
        for r in corpus
    ]
    (folder / "aligned.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    gold = [
        {"id": f"s{k}", "src": r["source_words"], "tgt": r["target_words"], "sure": r["links"][1:],
         "possible": r["links"][:1]}
        for k, r in enumerate(corpus[:8])
    ]  # fmt: skip
    (folder / "en-xx.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in gold))
    (folder / "other.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in gold[:3]))
    lexicon = tiny_lexicon()
    lines = [f"{s}\t{t}\n" for s, t in zip(lexicon["source"], lexicon["target"], strict=True)]
    (folder / "lexicon.txt").write_text("".join(lines))
    return folder
