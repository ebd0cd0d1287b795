"""Where links are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import invoke, run
from refusals import refused

from isoglot.aligners.options import LinkFormat
from isoglot.aligners.output import write_lines
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.inline_tags import Tag
from isoglot.formats.sentence_pair import SentencePair


def test_a_folder_in_place_of_the_file_is_told_before_the_work(tmp_path: Path) -> None:
    began = False

    def work() -> Iterator[Any]:
        nonlocal began
        began = True
        yield from ()

    with refused(ConfigurationError, f"{tmp_path.name} ", "/out.txt"):
        write_lines(work(), tmp_path, LinkFormat())
    assert not began and not list(tmp_path.iterdir())


def written(
    folder: Path, pairs: list[SentencePair], *, values: str = "probabilities", **how: Any
) -> list[dict[str, Any]]:
    links = {"links": [(0, 1), (1, 0)], "probabilities": [0.5, 0.25], "score": 0.375}
    form = LinkFormat(output="jsonl", **how)
    write_lines((replace(pair, **links) for pair in pairs), folder / "out.jsonl", form, values=values)
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_objects_have_ids_texts_spans_and_tags(tmp_path: Path) -> None:
    tags = ((), (Tag(4, "<ph></ph>", "ph"),))
    pairs = [
        SentencePair(("a  b", "c, d"), (["a", "b"], ["c,", "d"]), id="u", tags=tags),
        SentencePair(("ab", "c d"), (["x", "y"], ["c", "d"])),  # words that do not spell the text
    ]
    first, second = written(tmp_path, pairs)
    assert first == {
        "id": "u", "src": ["a", "b"], "tgt": ["c,", "d"], "src_text": "a  b", "tgt_text": "c, d",
        "src_spans": [[0, 1], [3, 4]], "tgt_spans": [[0, 2], [3, 4]], "src_tags": [], "tgt_tags": [[4, "<ph></ph>"]],
        "links": [[0, 1], [1, 0]], "probabilities": [0.5, 0.25], "score": 0.375,
    }  # fmt: skip
    assert "id" not in second and second["src_text"] == "x y" and "src_tags" not in second
    turned = written(tmp_path, pairs, reverse=True, values="similarities")[0]
    for name in ("", "_text", "_spans", "_tags"):
        assert (turned[f"src{name}"], turned[f"tgt{name}"]) == (first[f"tgt{name}"], first[f"src{name}"])
    assert turned["links"] == [[1, 0], [0, 1]] and turned["similarities"] == [0.5, 0.25]
    assert "probabilities" not in turned


def test_gold_links_are_aligned_and_scored_as_they_stand(tmp_path: Path, corpus: Any) -> None:
    sides = zip(corpus["source_words"], corpus["target_words"], corpus["links"], strict=True)
    gold = [{"id": f"s{n}", "src": s, "tgt": t, "sure": links} for n, (s, t, links) in enumerate(sides)]
    gold[3]["src"] = ["two words", *gold[3]["src"][1:]]
    path, found = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in gold))
    run("align", path, "-m", "hmm", "-f", "jsonl", "-o", found)
    rows = [json.loads(line) for line in found.read_text().splitlines()]
    assert [{name: row[name] for name in ("id", "src", "tgt")} for row in rows] == [
        {name: row[name] for name in ("id", "src", "tgt")} for row in gold
    ]
    scored = run("score", found, "-g", path)
    found.write_text("".join(json.dumps(row) + "\n" for row in rows[::-1]))
    assert run("score", found, "-g", path) == scored
    found.write_text("".join(json.dumps({**row, "id": "s1"}) + "\n" for row in rows))
    assert "id 's1' stands in line" in run("score", found, "-g", path, fails=InputError)


def test_links_by_hand_that_json_lines_leave_out_are_counted(tmp_path: Path) -> None:
    rows = [{"src": ["a"], "tgt": ["b"], "sure": sure, "possible": []} for sure in ([[0, 0]], [], [[0, 0]])]
    gold, found = tmp_path / "gold.jsonl", tmp_path / "found.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = {}
    for form in ("jsonl", "pharaoh"):
        called = invoke("align", gold, "-m", "hmm", "-f", form, "-o", found)
        said[form] = "rows have links by hand" in called.stderr and called.stderr
    assert "2 rows have links by hand (sure, possible)" in str(said["jsonl"])
    assert not said["pharaoh"], "Pharaoh lines are links and nothing else"


def test_a_memory_of_two_languages_needs_no_flags(tmp_path: Path) -> None:
    unit = '<tu tuid="{0}"><tuv xml:lang="de"><seg>d<ph/>{0}</seg></tuv><tuv xml:lang="en"><seg>e{0}</seg></tuv></tu>'
    path = tmp_path / "a.tmx"
    path.write_text("<tmx>" + "".join(unit.format(n) for n in range(9)) + "</tmx>")
    rows = [json.loads(line) for line in run("align", path, "-m", "fast_align", "-f", "jsonl").splitlines()]
    assert [(row["id"], row["src_text"], row["tgt_text"]) for row in rows] == [
        (str(n), f"d{n}", f"e{n}") for n in range(9)
    ]
    assert all(row["src_tags"] == [[1, "<ph/>"]] and row["tgt_tags"] == [] for row in rows)
    (tmp_path / "a.txt").write_text("e1 ||| d1\n")
    learning = (tmp_path / "a.txt", "-m", "fast_align", "--train-on", path)
    assert "which of its languages" in run("align", *learning, fails=ConfigurationError)
    assert run("align", *learning, "--source-lang", "en", "--target-lang", "de") == "0-0\n"


@pytest.mark.parametrize("words", ["whitespace", "unicode"])
@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["a.tsv"], "{}\t{}"),
        (["a.txt"], "{} ||| {}"),
        (["a.csv"], "{},{}"),
        (["a.jsonl"], '{{"source": "{}", "target": "{}"}}'),
        (["a.tmx"], None),
        (["a.en", "a.de"], None),
    ],
)
def test_characters_are_those_of_the_original_text(
    tmp_path: Path, names: list[str], line: str | None, words: str
) -> None:
    sides = "  The house ", " Das  Haus  "
    paths = [tmp_path / name for name in names]
    if line is not None:
        texts = [f"{line.format(*sides)}\n{line.format('a', 'b')}\n"]
    elif len(names) == 2:
        texts = [f"{side}\n" for side in sides]
    else:
        units = (
            f'<tuv xml:lang="{tag}"><seg>{side}</seg></tuv>'
            for tag, side in zip(("en", "de"), sides, strict=True)
        )
        texts = [f'<tmx version="1.4"><header srclang="en"/><body><tu>{"".join(units)}</tu></body></tmx>']
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    out = tmp_path / "out.jsonl"
    run(
        "align",
        *map(str, paths),
        "-m",
        "fast_align",
        "--format",
        "offsets",
        "--words",
        words,
        "--out",
        str(out),
    )
    row = json.loads(out.read_text(encoding="utf-8").split("\n")[0])
    assert (row["source"], row["target"]) == sides
    assert row["spans"] == [[2, 5, 1, 4], [6, 11, 6, 10]]
