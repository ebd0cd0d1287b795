"""`isoglot analyse` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import invoke

from isoglot.core.errors import IsoglotError
from isoglot.reports.figure_files import read_figure
from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer

KINDS = ("alignment", "correlation", "map", "layers", "similarity", "geometry", "alignments")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("analyse")
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    rows = list(tiny_aligned(12))
    gold = [{"src": r["source_words"], "tgt": r["target_words"], "sure": r["links"]} for r in rows]
    (folder / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in gold))
    texts = [f"{r['source']} ||| {r['target']}\n" for r in rows]
    (folder / "pairs.txt").write_text("".join(texts))
    links = [" ".join(f"{i}-{j}" for i, j in r["links"]) for r in rows]
    lines = [
        f"{' '.join(r['source_words'])} ||| {' '.join(r['target_words'])} ||| {own}\n"
        for r, own in zip(rows, links, strict=True)
    ]
    (folder / "aligned.src-tgt").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_help_says_what_it_does(kind: str) -> None:
    found = invoke("analyse", kind, "--help", env={"COLUMNS": "200"})
    assert found.exit_code == 0
    assert "--out" in found.output


def test_every_kind_writes_its_figures(world: Path, tmp_path: Path) -> None:
    model, gold, out = str(world / "model"), str(world / "gold.jsonl"), str(tmp_path / "run")
    pairs, aligned = str(world / "pairs.txt"), str(world / "aligned.src-tgt")
    for arguments in (
        ["map", model, "-c", aligned, "--source-lang", "en", "--count", "5", "-m", "pca", "-l", "before"],
        ["layers", model, "-g", gold, "-m", "argmax", "-m", "ot", "--layers", "0,-1"],
        ["similarity", model, "-c", pairs, "--measure", "cka", "--no-debiased"],
        ["geometry", model, "-c", pairs, "--measure", "anisotropy", "--unit", "word"],
        ["alignments", model, "-g", gold, "--limit", "3", "--layer", "1", "--set", "level=word"],
        ["correlation", "--paper", "-t", "pos"],
    ):
        found = invoke("analyse", *arguments, "--out", out)
        assert found.exit_code == 0, found.output
    names = sorted(p.name for p in (tmp_path / "run" / "figures").iterdir())
    assert names == [
        "alignments_model.jsonl", "correlation-pos.json", "geometry-anisotropy.json", "layers.json", "map.json",
        "similarity-cka.json",
    ]  # fmt: skip
    figures = {n: read_figure(tmp_path / "run" / "figures" / n) for n in names if n.endswith(".json")}
    assert figures["map.json"].panels[0].title == "before"
    assert [s.label for s in figures["layers.json"].series] == ["argmax", "ot"]
    assert "Not debiased" in figures["similarity-cka.json"].note


def test_correlation_prints_its_table_also_if_it_is_quiet(tmp_path: Path) -> None:
    printed = [
        invoke("analyse", "correlation", "--paper", "-o", tmp_path, *quiet).output for quiet in ((), ("-q",))
    ]
    assert "ρ = 0.734" in printed[0] and printed[1] == printed[0]


def test_alignment_prints_its_rows(world: Path, tmp_path: Path) -> None:
    (tmp_path / "lexicon.txt").write_text("river potamo\nchild kindelo\nhorse cavalo\n")
    arguments = ["analyse", "alignment", str(world / "model"), "--lexicon", str(tmp_path / "lexicon.txt")]
    found = invoke(*arguments, "--source-lang", "en", "--target-lang", "xx", "--out", tmp_path)
    assert found.exit_code == 0, found.output
    assert "alignment backward" in found.output
    assert (tmp_path / "results.jsonl").is_file()


def test_mistakes_are_the_users(world: Path, tmp_path: Path) -> None:
    model = str(world / "model")
    for arguments, message in (
        (["alignment", model, "--language-ids", "2"], "--language-ids: too few values"),
        (["alignment", model], "it is unknown"),
        (["correlation"], "no results; name"),
    ):
        found = invoke("analyse", *arguments, "--out", tmp_path / "out")
        assert isinstance(found.exception, IsoglotError)
        assert message in str(found.exception)
