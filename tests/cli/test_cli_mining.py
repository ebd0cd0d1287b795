"""`isoglot filter`, `mine` and `align-sentences` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import invoke

from isoglot.core.errors import IsoglotError
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mining")
    tiny_model("bert").save_pretrained(folder / "model")
    tiny_tokenizer("bert").save_pretrained(folder / "model")
    rows = tiny_bitext(12)
    (folder / "one.txt").write_text("".join(f"{text}\n" for text in rows["source"]))
    (folder / "other.txt").write_text("".join(f"{text}\n" for text in rows["target"]))
    return folder


def mined(world: Path, line: str, out: Path) -> str:
    places = {"ONE": world / "one.txt", "OTHER": world / "other.txt", "MODEL": world / "model", "OUT": out}
    arguments = [str(places.get(word.partition("/")[0], word)) + word[len(word.partition("/")[0]) :] if
                 word.partition("/")[0] in places else word for word in line.split()]  # fmt: skip
    done = invoke(*arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_each_verb_writes_its_file_and_a_histogram_or_counts(world: Path, tmp_path: Path) -> None:
    said = mined(world, "mine ONE OTHER --model MODEL --layer 1 --prefix x --out OUT/mined.tsv", tmp_path)
    assert "margin" in said and "12 and 12 different sentences" in said
    assert len((tmp_path / "mined.tsv").read_text().splitlines()[0].split("\t")) == 5
    said = mined(world, "align-sentences ONE OTHER --model MODEL --layer 1 --out OUT/groups.jsonl", tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "groups.jsonl").read_text().splitlines()]
    assert f"{len(rows)} groups (" in said
    assert set(rows[0]) == {"source", "target", "score", "source_lines", "target_lines"}
    command = "filter ONE OTHER --model MODEL --layer 1 --aligner MODEL --min-cosine -1 --out OUT/a.en --out OUT/a.xx"
    said = mined(world, f"{command} --dropped OUT/dropped.jsonl --report OUT/report.json", tmp_path)
    assert "12 of 12 pairs kept" in said and "source_coverage" in said
    assert (tmp_path / "a.xx").read_text() == (world / "other.txt").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["kept"] == 12
    assert (tmp_path / "dropped.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("filter ONE OTHER --aligner none --min-margin 1 --out OUT/kept.tsv", "--model box"),
        ("mine ONE OTHER --model MODEL --layer 9 --out OUT/mined.tsv", "layer"),
        ("align-sentences ONE OTHER --model MODEL --max-size 1 --out OUT/x.tsv", "--max-size"),
        ("mine ONE OTHER --model NOWHERE/x/y --out OUT/mined.tsv", "NOWHERE"),
    ],
)
def test_mistakes_leave_nothing(world: Path, tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(IsoglotError, match=message):
        mined(world, line, tmp_path)
    assert not list(tmp_path.iterdir())
