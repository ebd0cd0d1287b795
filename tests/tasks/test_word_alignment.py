from __future__ import annotations

from pathlib import Path

import pytest
from labelled_files import json_lines
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.tasks import build_task


@pytest.mark.parametrize("name", ["word_alignment", "lexicon_induction"])
def test_one_whole_file_is_read_where_no_more_is(tmp_path: Path, name: str) -> None:
    row = {"src": ["a"], "tgt": ["b"], "sure": [[0, 0]]}
    files = [json_lines(tmp_path / f"{pair}.jsonl", row) for pair in ("de-en", "fr-en")]
    with refused(ConfigurationError, "de-en.jsonl ", "fr-en.jsonl ", "'fr-en'", "{language}"):
        build_task(name, files).load("fr-en", "test")
    with refused(ConfigurationError, "de-en.jsonl#0:50% ", "'de-en'", "{language}"):
        build_task(name, [f"{files[0]}#0:50%"]).load("de-en", "test")
