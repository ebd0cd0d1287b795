"""Alignment error rates of studies: whose links are measured, and what layer and method they are chosen by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.scoring import score
from isoglot.core.errors import ConfigurationError
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Source
from isoglot.runs.reporter import Silent
from isoglot.studies.analysis_steps import BestLinks, StatisticalAlignment
from isoglot.testing import tiny_aligned, tiny_bitext, tiny_model, tiny_tokenizer


def test_a_statistical_aligner_is_measured_on_gold_links(tmp_path: Path) -> None:
    rows = [(r["source"].split(), r["target"].split()) for r in tiny_bitext(40)]
    gold = [
        {"id": i, "src": s, "tgt": t, "sure": [[k, k] for k in range(min(len(s), len(t)))], "possible": []}
        for i, (s, t) in enumerate(rows[:10])
    ]
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(g)}\n" for g in gold))
    (tmp_path / "more.tsv").write_text("".join(f"{' '.join(s)}\t{' '.join(t)}\n" for s, t in rows[10:]))
    train = Source(path=str(tmp_path / "more.tsv"), source_language="en", target_language="xx")
    step = StatisticalAlignment(gold=str(tmp_path / "gold.jsonl"), train=train)
    facts = step.run(tmp_path, Silent())
    found = facts["values"]
    assert facts["examples"] == dict.fromkeys(found, 10)
    assert set(found) == {"aer", "precision", "recall", "f1"}
    assert 0 <= found["aer"] <= 100 and found["recall"] > 20
    turned = [{**g, "src": g["tgt"], "tgt": g["src"]} for g in gold]
    (tmp_path / "turned.jsonl").write_text("".join(f"{json.dumps(g)}\n" for g in turned))
    other = StatisticalAlignment(gold=str(tmp_path / "turned.jsonl"), train=train, reverse=True)
    assert other.run(tmp_path, Silent())["values"] == pytest.approx(found)


def gold_file(path: Path, rows: Sequence[dict[str, object]]) -> str:
    lines = [
        {"id": str(i), "src": r["source_words"], "tgt": r["target_words"], "sure": r["links"], "possible": []}
        for i, r in enumerate(rows)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def test_layer_and_method_are_those_of_the_least_error_on_other_links(tmp_path: Path) -> None:
    tokenizer, model = tiny_tokenizer("bert"), tiny_model("bert")
    model.save_pretrained(tmp_path / "encoder")
    tokenizer.save_pretrained(tmp_path / "encoder")
    rows = list(tiny_aligned(30))
    parts = {"one": rows[:8], "two": rows[8:20], "test": rows[20:]}
    files = {name: gold_file(tmp_path / f"{name}.jsonl", own) for name, own in parts.items()}
    test = {"test": files.pop("test")}

    def error(method: str, layer: int, name: str) -> float:
        aligner = EmbeddingAligner(tmp_path / "encoder", method=method, layer=layer, dtype="float32")
        words = [(r["source_words"], r["target_words"]) for r in parts[name]]
        gold = [SentencePair.of_gold(r["links"], []) for r in parts[name]]
        return score([Alignment(frozenset(found.links)) for found in aligner.align_pairs(words)], gold).aer

    methods = ["argmax", "itermax"]
    step = BestLinks(checkpoint=str(tmp_path / "encoder"), dev=files, test=test, methods=methods)
    found = step.run(tmp_path, Silent())
    tried = {(m, n): (error(m, n, "one") + error(m, n, "two")) / 2 for m in methods for n in range(4)}
    best = min(tried, key=lambda key: tried[key])
    assert (found["method"], found["layer"]) == best
    assert found["tried"] == pytest.approx({f"{m} {n}": value for (m, n), value in tried.items()})
    expected = {"dev": tried[best], "layer": best[1], "test": error(*best, "test")}
    assert found["values"] == pytest.approx(expected)


def test_gold_links_need_words(tmp_path: Path) -> None:
    (tmp_path / "gold.txt").write_text("0-0 1-1\n")
    with pytest.raises(ConfigurationError, match="has no words"):
        StatisticalAlignment(gold=str(tmp_path / "gold.txt")).run(tmp_path, Silent())
