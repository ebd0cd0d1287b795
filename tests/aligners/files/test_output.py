"""Where links are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isoglot.aligners.alignment import PairLinks
from isoglot.aligners.files.output import write_lines
from isoglot.aligners.files.pairs import RawPair
from isoglot.errors import ConfigurationError


def test_a_folder_in_place_of_the_file_is_told_before_the_work(tmp_path: Path) -> None:
    began = False

    def work() -> Iterator[Any]:
        nonlocal began
        began = True
        yield from ()

    with pytest.raises(ConfigurationError, match=r"is a folder.*name a file"):
        write_lines(work(), tmp_path, name="pharaoh", base=0, reverse=False)
    assert not began and not list(tmp_path.iterdir())


def written(folder: Path, pairs: list[RawPair], **how: Any) -> list[dict[str, Any]]:
    links = PairLinks([(0, 1), (1, 0)], [0.5, 0.25], 0.375)
    write_lines(((pair, links) for pair in pairs), folder / "out.jsonl", name="jsonl", **how)
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_objects_have_ids_texts_spans_and_tags(tmp_path: Path) -> None:
    tags = ((), ((4, "<ph></ph>"),))
    pairs = [
        RawPair(("a  b", "c, d"), (["a", "b"], ["c,", "d"]), id="u", tags=tags),
        RawPair(("ab", "c d"), (["x", "y"], ["c", "d"])),  # words that do not spell the text
    ]
    first, second = written(tmp_path, pairs)
    assert first == {
        "id": "u", "src": ["a", "b"], "tgt": ["c,", "d"], "src_text": "a  b", "tgt_text": "c, d",
        "src_spans": [[0, 1], [3, 4]], "tgt_spans": [[0, 2], [3, 4]], "src_tags": [], "tgt_tags": [[4, "<ph></ph>"]],
        "links": [[0, 1], [1, 0]], "probabilities": [0.5, 0.25], "score": 0.375,
    }  # fmt: skip
    assert second["id"] == 1 and second["src_text"] == "x y" and "src_tags" not in second
    turned = written(tmp_path, pairs, reverse=True, values="similarities")[0]
    for name in ("", "_text", "_spans", "_tags"):
        assert (turned[f"src{name}"], turned[f"tgt{name}"]) == (first[f"tgt{name}"], first[f"src{name}"])
    assert turned["links"] == [[1, 0], [0, 1]] and turned["similarities"] == [0.5, 0.25]
    assert "probabilities" not in turned
