"""The miniature world on disk, read back by the readers of real data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import ValidationError

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.derive_corpus import derive_corpus
from isoglot.derivation.input import read_rows
from isoglot.derivation.options import DeriveRequest, TransformOptions
from isoglot.formats.schema import SPAN
from isoglot.runs.listed import LIST
from isoglot.synthetic.options import WorldRequest
from isoglot.synthetic.world import SPLITS, World
from isoglot.synthetic.write_world import _UNRECORDED_TEXTS, _hash_of_texts, write_world
from isoglot.tasks import build_task

MODULE = "isoglot.synthetic.write_world"
SMALL = WorldRequest(seed=3, text=60, pos=20, ner=25, nli=30, paws=15, qa=12, dev=8, test=9)
WORLD = World(seed=3)


class Made(NamedTuple):
    path: Path
    files: dict[str, int]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    path = tmp_path_factory.mktemp("made") / "world"
    files, made_now = write_world(path, SMALL)
    assert made_now
    return Made(path, files)


@pytest.mark.slow
def test_write_world_counts_rows_of_every_file(made: Made) -> None:
    on_disk = {p.relative_to(made.path).as_posix() for p in made.path.rglob("*") if p.is_file()}
    assert set(made.files) | {"manifest.json", LIST} == on_disk
    assert made.files["text/en.train.txt"] == made.files["trees/text.train.conllu"] == 60
    assert made.files["ner/en/train"] == 25
    assert {made.files[f"qa/en.{split}.json"] for split in ("dev", "test")} == {8, 9}
    assert json.loads((made.path / "manifest.json").read_text())["world"]["seed"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_tasks_read_what_the_world_made(made: Made, split: str) -> None:
    for kind in ("pos", "ner"):
        found = build_task(kind, [str(made.path / kind)]).load("en", split)
        assert found.to_list() == getattr(WORLD, kind)(SMALL.rows(kind, split), split=split).to_list()
    for kind, name in (("nli", "xnli"), ("paws", "pawsx")):
        pairs = build_task(name, [str(made.path / kind)]).load("en", split).remove_columns("id")
        assert pairs.to_list() == getattr(WORLD, kind)(SMALL.rows(kind, split), split=split).to_list()
    asked = build_task("xquad", [str(made.path / "qa")]).load("en", split).select_columns(list(SPAN))
    assert asked.to_list() == WORLD.qa(SMALL.rows("qa", split), split=split).to_list()


@pytest.mark.slow
def test_trees_are_those_of_the_text_and_of_the_names(made: Made) -> None:
    def rows(name: str) -> list[dict[str, object]]:
        return list(read_rows([str(made.path / name)], "treebank", languages=("en",), options={}))

    lines = (made.path / "text/en.train.txt").read_text().splitlines()
    trees = rows("trees/text.train.conllu")
    assert ["".join(t["words"]) for t in trees] == ["".join(x.split()) for x in lines]
    assert len(rows("trees/nli.dev.conllu")) == made.files["trees/nli.dev.conllu"] == 16
    names = [r["words"] for r in WORLD.ner(9, split="test")]
    assert [t["words"] for t in rows("trees/ner.test.conllu")] == names


def test_every_file_can_be_derived(made: Made, tmp_path: Path) -> None:
    kinds = {"text/en.dev.txt": None, "pos/en.dev.conllu": None, "ner/en/dev": "tagged", "nli/en.dev.tsv": "nli",
             "paws/en.dev.tsv": "paws", "qa/en.dev.json": None}  # fmt: skip
    for number, (name, kind) in enumerate(kinds.items()):
        request = DeriveRequest(transform="trans+inv", kind=kind, languages=("en",))
        summary = derive_corpus([made.path / name], tmp_path / str(number), request)
        assert summary.counts["derived"] == 8


def test_everything_has_a_head_final_copy(made: Made, tmp_path: Path) -> None:
    """Trans∘Syn of every task, offline: parses are at hand for every sentence."""
    options = TransformOptions(syntax="en~head-final@N~head-final@V", models="built-in", oversize="keep")
    kinds = {"text/en.dev.txt": "text", "pos/en.dev.conllu": "treebank", "ner/en/dev": "tagged",
             "nli/en.dev.tsv": "nli", "paws/en.dev.tsv": "paws", "qa/en.dev.json": "qa"}  # fmt: skip
    for name, kind in kinds.items():
        trees = None if kind == "treebank" else str(made.path / f"trees/{name.partition('/')[0]}.dev.conllu")
        request = DeriveRequest(
            transform="trans+syn", kind=kind, languages=("en",), options=options, parses=trees
        )
        summary = derive_corpus([made.path / name], tmp_path / kind, request)
        kept = summary.counts["derived"]
        assert kept == 8 or (kind == "qa" and kept >= 5), summary.counts
    row = json.loads((tmp_path / "nli" / "derived.jsonl").read_text().splitlines()[0])
    original = World(seed=3).nli(1, split="dev")[0]
    assert row["label"] == original["label"]
    assert len(row["first"].replace(" ", "")) == len(original["first"].replace(" ", ""))


@pytest.mark.slow
def test_write_world_writes_only_what_is_asked_for(tmp_path: Path) -> None:
    request = WorldRequest(text=5, pos=0, ner=0, nli=4, paws=0, qa=0, dev=2, test=0)
    files, _ = write_world(tmp_path / "w", request)
    assert [n for n in files if n.startswith("trees")] == [
        "trees/text.train.conllu",
        "trees/text.dev.conllu",
        "trees/nli.train.conllu",
        "trees/nli.dev.conllu",
    ]
    assert {n for n in files if not n.startswith("trees")} == {
        f"{k}.{s}.{x}" for k, x in (("text/en", "txt"), ("nli/en", "tsv")) for s in ("train", "dev")
    }
    line = (tmp_path / "w/text/en.train.txt").read_text().splitlines()[0]
    assert line == World().text(5)["text"][0]


@pytest.mark.slow
def test_write_world_skips_finished_output_and_refuses_to_overwrite(made: Made, tmp_path: Path) -> None:
    assert write_world(made.path, SMALL) == (made.files, False)
    other = SMALL.model_copy(update={"seed": 4})
    with pytest.raises(
        ConfigurationError, match=r"another world \(different: world\.seed\); .*add overwrite=True"
    ):
        write_world(made.path, other)
    (tmp_path / "precious").touch()
    with pytest.raises(ConfigurationError, match="holds no world"):
        write_world(tmp_path, other, overwrite=True)
    small = other.model_copy(update=dict.fromkeys(("nli", "paws", "qa", "ner"), 0))
    write_world(tmp_path / "w", small)
    replaced, _ = write_world(tmp_path / "w", small.model_copy(update={"dev": 0}), overwrite=True)
    assert not (tmp_path / "w/text/en.dev.txt").exists() and "text/en.dev.txt" not in replaced


def test_write_world_leaves_nothing_behind_after_mistakes(tmp_path: Path) -> None:
    for wrong, said in (
        ({"text": -1}, "greater than or equal to 0"),
        ({"size": 5}, "greater than or equal to 200"),
        (dict.fromkeys(("text", "pos", "ner", "nli", "paws", "qa"), 0), "nothing to write"),
    ):
        with pytest.raises((ConfigurationError, ValidationError), match=said):
            write_world(tmp_path / "w", WorldRequest.model_validate({**dict(SMALL), **wrong}))
    assert not list(tmp_path.iterdir())


def test_write_world_tells_folders_of_another_grammar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = WorldRequest(text=3, pos=0, ner=0, nli=0, paws=0, qa=0, dev=1, test=1)
    path = tmp_path / "world"
    monkeypatch.setattr(f"{MODULE}._hash_of_texts", lambda: _UNRECORDED_TEXTS)
    write_world(path, request)
    # With the first grammar and lexicon, the record has the request alone.
    assert json.loads((path / "manifest.json").read_text())["world"] == request.model_dump()
    assert not write_world(path, request)[1]
    monkeypatch.setattr(f"{MODULE}._hash_of_texts", lambda: "another")
    with pytest.raises(ConfigurationError, match=r"holds another world \(different: world.texts\)"):
        write_world(path, request)
    assert write_world(path, request, overwrite=True)[1]
    assert not write_world(path, request)[1]


def test_hash_of_texts_counts_rules_and_not_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{MODULE}.resources.files", lambda package: tmp_path)
    (tmp_path / "lexicon.txt").write_text("# Words\n@noun\nhen\n")
    grammars = ("# One\n@and\n1 and\n", "# Two\n@and\n1 and\n", "# One\n@and\n2 and\n")
    hashes = []
    for grammar in grammars:
        (tmp_path / "grammar.txt").write_text(grammar)
        hashes.append(_hash_of_texts())
    assert hashes[0] == hashes[1] != hashes[2]
