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


def test_a_method_among_the_options_of_the_aligner_counts_more() -> None:
    task = build_task(
        "word_alignment", [], method="itermax", layer=1, aligner={"method": "argmax", "layer": 2}
    )
    assert task.with_checkpoint("hub/name").method == "argmax"
    assert task.with_checkpoint("hub/name").layer == 2
    with refused(ConfigurationError, "unknown method 'fastalign'"):
        build_task("word_alignment", [], aligner={"method": "fastalign"})
