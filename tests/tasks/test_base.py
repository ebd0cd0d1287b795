from __future__ import annotations

from pathlib import Path

import pytest
from datasets import Dataset
from labelled_files import json_lines

from isoglot.errors import ConfigurationError
from isoglot.tasks import build_task
from isoglot.tasks.base import check_places, load_rows, places_of, take_part


def test_no_example_gives_no_figure(tmp_path: Path) -> None:
    pairs = json_lines(
        tmp_path / "nli.jsonl", *[{"first": str(n), "second": "b", "label": "0"} for n in range(9)]
    )
    assert len(load_rows(build_task("xnli", [f"{pairs}#0:50%"]), "en", "test")) == 4
    with pytest.raises(ConfigurationError, match="have no example"):
        load_rows(build_task("xnli", [f"{pairs}#0:1%"]), "en", "test")


def test_what_a_task_will_read_is_known_before(tmp_path: Path) -> None:
    for name in ("de-test.tsv", "fr-test.tsv", "tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng"):
        (tmp_path / name).write_text("")
    tags = build_task("ner", [f"{tmp_path}/{{language}}-{{split}}.tsv"])
    assert [p.path for p in places_of(tags, "de", "test")] == [str(tmp_path / "de-test.tsv")]
    pairs = build_task("tatoeba", [str(tmp_path)])
    assert [Path(p.path).suffix for p in places_of(pairs, "de", "test")] == [".deu", ".eng"]
    check_places(tags, [("de", "test"), ("fr", "test")])
    with pytest.raises(ConfigurationError, match=r"(?s)'sw'.*no dev data for 'fr'"):
        check_places(tags, [("de", "test"), ("sw", "test"), ("fr", "dev")])


def test_options_that_do_not_exist() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'pos'"):
        build_task("poss", [])
    with pytest.raises(ConfigurationError, match="did you mean 'max_length'"):
        build_task("pos", [], max_lenght=3)


def test_parts_keep_groups_whole() -> None:
    data = Dataset.from_dict({"context": list("aaabbccccd")})
    parts = [
        "".join(take_part(data, a, b, group="context")["context"]) for a, b in ((0, 50), (50, 75), (75, 100))
    ]
    assert parts == ["aaabb", "cccc", "d"]
