"""Labels of character spans: texts match by id or by place, their spans become spans of the translation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_files import written

import isoglot as iso
from isoglot.core.errors import InputError
from isoglot.corpus.labelled_tables import read_table
from isoglot.formats.schema import TAGGED


def test_offsets_become_offsets_and_tags(tmp_path: Path) -> None:
    row = {"id": 7, "text": "Anna is in Rome.", "spans": [{"start": 0, "end": 4, "label": "PER"}]}
    other = {"text": "In Rome.", "label": [[3, 7, "LOC"]]}
    labels, translation, links = written(
        tmp_path,
        en_jsonl=f"{json.dumps(row)}\n{json.dumps(other)}\n",
        de_txt="In Rom ist Anna.\n„Rom“\n",
        links="0-3 1-2 2-0 3-1\n1-1\n",
    )
    iso.project(labels, translation, tmp_path / "o.jsonl", links_file=links)
    first, second = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    assert first["spans"] == [{"start": 11, "end": 15, "label": "PER"}] and first["id"] == 7
    assert first["tags"] == ["O", "O", "O", "B-PER", "O"]
    assert [second["text"][s["start"] : s["end"]] for s in second["spans"]] == ["Rom"]
    found = read_table(str(tmp_path / "o.jsonl"), TAGGED, language="de", split="train", role="words")
    assert found["words"][1] == ["„", "Rom", "“"]


def test_offsets_skip_blank_lines(tmp_path: Path) -> None:
    row = {"text": "Rome.", "spans": [[0, 4, "LOC"]]}
    labels, translation, links = written(
        tmp_path,
        en_jsonl=f"{json.dumps(row)}\n\n{json.dumps(row)}\n",
        de_ndjson='\n{"text": "Rom."}\n{"text": "In Rom."}\n',
        links_jsonl='{"links": [[0, 0]]}\n\n{"links": [[0, 1]]}\n',
    )
    counts = iso.project(labels, translation, tmp_path / "o.jsonl", links_file=links)
    assert counts.examples == counts.written == 2
    found = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row["text"][row["spans"][0]["start"] :] for row in found] == ["Rom.", "Rom."]
    Path(translation).write_text('{"text": "Rom."}\n\n["Rom"]\n')
    with pytest.raises(InputError, match=r"ndjson:3: is a JSON list"):
        iso.project(labels, translation, tmp_path / "o.jsonl", links_file=links)


def texts(*rows: tuple[object, str]) -> str:
    """JSON lines; an id of ... is left out."""
    objects = ({"text": text} if name is ... else {"id": name, "text": text} for name, text in rows)
    return "".join(json.dumps(row) + "\n" for row in objects)


def people(*rows: tuple[object, str]) -> str:
    """The same with the first word labelled."""
    labelled = (json.loads(line) for line in texts(*rows).splitlines())
    spans = [[0, 4, "PER"]]
    return "".join(json.dumps({**row, "spans": spans}) + "\n" for row in labelled)


NAMES = ("a", "Anna runs"), ("b", "Bert runs")
LINK = '{"links": [[0, 0]]}\n'


def test_offsets_match_texts_by_their_ids(tmp_path: Path) -> None:
    """Der Hund is no person, wherever it stands."""
    labels, translation, links, named, unnamed = written(
        tmp_path,
        en_jsonl=people(("a", "Anna runs"), (7, "Bert runs")),
        de_jsonl=texts(("7", "läuft Bert"), ("a", "Anna läuft")),
        links="0-0\n0-1\n",
        named_jsonl='{"id": "7", "links": [[0, 1]]}\n{"id": "a", "links": [[0, 0]]}\n',
        unnamed_jsonl='{"links": [[0, 0]]}\n{"links": [[0, 1]]}\n',
    )
    out = tmp_path / "o.jsonl"
    for path in (links, named, unnamed):
        iso.project(labels, translation, out, links_file=path)
        rows = list(map(json.loads, out.read_text().splitlines()))
        marked = [row["text"][slice(*(row["spans"][0][key] for key in ("start", "end")))] for row in rows]
        assert ([row["id"] for row in rows], marked) == (["a", 7], ["Anna", "Bert"])


@pytest.mark.parametrize(
    ("labels", "translation", "links", "wanted"),
    [
        (people(*NAMES), texts(("a", "A"), ("c", "B")), LINK * 2, r"1 ids of .*de\.jsonl are missing \('c'\).*'b'"),
        (people(*NAMES), texts(("b", "B"), ("b", "A")), LINK * 2, r"de\.jsonl:2: id 'b' stands in line 1 too"),
        (people(*NAMES), texts((1, "B"), ("1", "A")), LINK * 2, r"de\.jsonl:2: id '1' stands in line 1 too"),
        (people(*NAMES), texts(("b", "B"), (None, "A")), LINK * 2, r"de\.jsonl:2: has no id"),
        (people(*NAMES), texts((..., "B"), ("b", "A")), LINK * 2, r"de\.jsonl:2: has an id, and line 1 has none"),
        (people(*NAMES), texts((1, "B"), (2, "A")), LINK * 2, r"2 ids of .*de\.jsonl are missing"),
        (people(*NAMES), texts((True, "B"), ("b", "A")), LINK * 2, r"de\.jsonl:1: the id is True, but"),
        (people(*NAMES), texts((..., "A"), (..., "B")), '{"id": "b", "links": []}\n{"id": "x", "links": []}\n',
         r"en\.jsonl: 1 ids of .*links\.jsonl are missing \('x'\)"),
        (people(("a", "Anna"), ("a", "Bert")), texts(("b", "B"), ("a", "A")), LINK * 2, r"en\.jsonl:2: id 'a'"),
    ],
)  # fmt: skip
def test_offsets_refuse_ids_that_do_not_match(
    tmp_path: Path, labels: str, translation: str, links: str, wanted: str
) -> None:
    paths = written(tmp_path, en_jsonl=labels, de_jsonl=translation, links_jsonl=links)
    with pytest.raises(InputError, match=wanted):
        iso.project(paths[0], paths[1], tmp_path / "o.jsonl", links_file=paths[2])


def test_offsets_match_texts_by_place_without_ids(tmp_path: Path) -> None:
    for translation in (texts((..., "A B"), (..., "C D")), texts((None, "A B"), (None, "C D"))):
        labels, path, links = written(
            tmp_path, en_jsonl=people(*NAMES), de_jsonl=translation, links="0-0\n0-1\n"
        )
        iso.project(labels, path, tmp_path / "o.jsonl", links_file=links)
        rows = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
        assert [(row["text"], row["spans"][0]["start"]) for row in rows] == [("A B", 0), ("C D", 2)]
