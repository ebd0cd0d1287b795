"""Sentences of one language and their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.mining.text_rows import TextRow, pair_of_rows, text_rows


def test_pair_of_rows_joins_inline_tags() -> None:
    source = [TextRow(1, "Hi", {"tags": [[0, "<br/>"]]}), TextRow(2, "you", {"tags": [[3, "<br/>"]]})]
    pair = pair_of_rows(source, [TextRow(1, "du")], ("en", "de"))
    source_tags, target_tags = (list(pair.row()[f"{side}_tags"]) for side in ("source", "target"))
    assert source_tags == [(0, "<br/>"), (6, "<br/>")] and target_tags == []


@pytest.mark.parametrize("tags", [["B-PER", "O"], None, "news", [["a", "b"]], [[1]], {"domain": "law"}])
def test_pair_of_rows_keeps_other_values_called_tags(tags: Any) -> None:
    source, target = [TextRow(1, "Hi there", {"tags": tags})], [TextRow(1, "Hallo", {"tags": tags})]
    pair = pair_of_rows(source, target, ("en", "de"))
    assert pair.more == {"source_tags": tags, "target_tags": tags} and not any(pair.tags)


def test_rows_may_name_any_language_where_nobody_named_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "ein Haus", "language": "de"}\n')
    for language in ("", "src", "de", "de-AT"):
        assert [row.text for row in text_rows(str(path), language)] == ["ein Haus"]
    with refused(InputError, "a.jsonl:1: language is 'de', expected 'en'"):
        list(text_rows(str(path), "en"))
