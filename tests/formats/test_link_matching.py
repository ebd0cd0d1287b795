"""Sentences matched by id or place, in memory that does not grow with the files, and words that must be the same."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from isoglot.aligners.options import FileScoring, Gold
from isoglot.aligners.scoring import ScoreReport, score_file
from isoglot.core.errors import InputError
from isoglot.formats.link_files import LinkReader
from isoglot.formats.link_matching import matched, matched_rows


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def sentence(number: int, name: object, links: str = "sure", *, words: bool = False) -> dict[str, Any]:
    """Another link a sentence, so that no two sentences have the same."""
    row: dict[str, Any] = {} if name is None else {"id": name}
    if words:
        row |= {"src": [f"s{number}"] * 60, "tgt": [f"t{number}"] * 60}
    return row | {links: [[number, 2 * number % 7]]}


def scored(folder: Path, found: list[dict[str, Any]], gold: list[dict[str, Any]]) -> ScoreReport:
    paths = write(folder / "found.jsonl", found), write(folder / "gold.jsonl", gold)
    return score_file(Gold(gold=paths[1]), FileScoring(links=str(paths[0])))


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("start", [0, 1, "s"])
def test_links_in_another_order_match_by_id(tmp_path: Path, start: int | str, words: bool) -> None:
    names = [f"s{n}" if start == "s" else n + int(start) for n in range(40)]
    gold = [sentence(n, name, words=words) for n, name in enumerate(names)]
    found = [sentence(n, name, "links", words=words) for n, name in enumerate(names)]
    for mixed in (found[::-1], random.Random(1).sample(found, 40), found[:20] + found[20:][::-1]):
        assert scored(tmp_path, mixed, gold).total.aer == 0
        turned = [{**row, "sure": row["links"]} for row in mixed]
        assert scored(tmp_path, found, turned).total.aer == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        (
            "abc",
            "abd",
            r"found\.jsonl: 1 ids of .*gold\.jsonl are missing \('d'\); 1 ids are not in .*gold\.jsonl, "
            r"or stand twice in this file \('c'\)",
        ),
        ("acb", "abcdefg", r"4 ids of .* are missing \('d', 'e', 'f', …\)"),
        ("ab", "abc", r"found\.jsonl: 1 ids of .*gold\.jsonl .*\('c'\)"),
        ("cabb", "abcd", r"found\.jsonl:4: id 'b'.* line 3 "),
        ("bca", "abb", r"gold\.jsonl:3: id 'b'.* line 2 "),
        (["a", "c", None], "abc", r"found\.jsonl:3: .*no id"),
        ("cab", ["a", "b", None], r"gold\.jsonl:3: .*no id"),
        ([None, "c", "b"], "abc", r"found\.jsonl:2: .*line 1 has none"),
        ([None, None, "a"], "abc", r"found\.jsonl:3: .*line 1 has none"),
        ("abc", [None, None, "a"], r"gold\.jsonl:3: .*line 1 has none"),
        (["a", 1, "1"], "abc", r"found\.jsonl:3: id '1'.* line 2 "),
        ("abc", ["a", True, "b"], r"gold\.jsonl:2: the id is True"),
    ],
)
def test_missing_and_repeated_ids_are_refused(tmp_path: Path, ours: Any, theirs: Any, message: str) -> None:
    gold = [sentence(n, name) for n, name in enumerate(theirs)]
    with pytest.raises(InputError, match=message):
        scored(tmp_path, [sentence(n, name, "links") for n, name in enumerate(ours)], gold)


@pytest.mark.parametrize("names", ["cab", [None] * 3, [5, 6, 7], [1, 2, 3]])
def test_rows_match_by_place_where_a_file_has_no_ids(tmp_path: Path, names: Any) -> None:
    gold = [sentence(n, name) for n, name in enumerate(names)]
    links = [sentence(n, None, "links") for n in range(3)]
    assert scored(tmp_path, links, gold).total.aer == 0
    with refused(InputError, "found.jsonl: 2 sentences", "gold.jsonl has 3"):
        scored(tmp_path, links[:2], gold)


def test_rows_without_ids_match_a_file_without_rows_by_place(tmp_path: Path) -> None:
    none, two = tmp_path / "none.jsonl", write(tmp_path / "two.jsonl", [sentence(n, None) for n in range(2)])
    none.write_text("\n", encoding="utf-8")
    rows = list(matched_rows(LinkReader(none), LinkReader(two, gold=True), needed=""))
    assert [(row, other and other.line) for row, other in rows] == [(None, 1), (None, 2)]
    with refused(InputError, "none.jsonl: 0 sentences", "two.jsonl has 2"):
        list(matched(LinkReader(none), LinkReader(two, gold=True)))
    with refused(InputError, "two.jsonl: 2 sentences", "none.jsonl has 0"):
        list(matched(LinkReader(two), LinkReader(none, gold=True)))
    named = write(tmp_path / "named.jsonl", [sentence(0, "a")])
    with refused(InputError, "none.jsonl: 1 ids of ", "named.jsonl are missing ('a')"):
        list(matched(LinkReader(none), LinkReader(named, gold=True)))


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        (["a", None], [None, None], r"found\.jsonl:2: has no id, and line 1 has one"),
        ([None, "b"], [None, None], r"found\.jsonl:2: has an id, and line 1 has none"),
        (["a", None], ["a", None], r"found\.jsonl:2: "),
    ],
)
def test_ids_on_some_rows_only_are_refused(tmp_path: Path, ours: Any, theirs: Any, message: str) -> None:
    found = [sentence(n, name, "links") for n, name in enumerate(ours)]
    with pytest.raises(InputError, match=message):
        scored(tmp_path, found, [sentence(n, name) for n, name in enumerate(theirs)])


def test_an_id_may_stand_twice_where_both_files_agree_row_by_row(tmp_path: Path) -> None:
    gold = [sentence(n, name) for n, name in enumerate("aab")]
    links = [sentence(n, name, "links") for n, name in enumerate("aab")]
    assert scored(tmp_path, links, gold).total.aer == 0
    with refused(InputError, "found.jsonl:3: id 'a' stands in line 2 too"):
        scored(tmp_path, [links[2], *links[:2]], gold)


def test_ids_that_number_the_lines_are_names_as_well(tmp_path: Path) -> None:
    gold = [sentence(n, name) for n, name in enumerate("cab")]
    with refused(InputError, "found.jsonl: 3 ids of ", "gold.jsonl ", "'c', 'a', 'b'", "'0', '1', '2'"):
        scored(tmp_path, [sentence(n, n, "links") for n in range(3)], gold)


def test_links_of_other_words_are_refused_though_the_numbers_agree(tmp_path: Path) -> None:
    gold = [{"src": ["Das", "\ufb01n"], "tgt": ["x"], "sure": [[0, 0]]}] * 2
    same = [{"src": ["das", "fin"], "tgt": ["X"], "links": [[0, 0]]}] * 2
    assert scored(tmp_path, same, gold).total.aer == 0
    other = [same[0], {**same[0], "src": ["das", "fun"]}]
    with refused(InputError, "found.jsonl:2: sentence 2 ", "'fun'", "gold.jsonl", "'ﬁn'"):
        scored(tmp_path, other, gold)


def test_rows_may_lack_the_last_sentences_and_others_may_not(tmp_path: Path) -> None:
    lines, rows = tmp_path / "lines.txt", tmp_path / "rows.wa"
    lines.write_text("0-0\n\n1-1\n\n")
    rows.write_text("3 2 2\n1 1 1\n")
    for found, gold, pairs in ((lines, rows, 4), (rows, lines, 4), (rows, rows, 3)):
        every = list(matched(LinkReader(found), LinkReader(gold)))
        assert len(every) == pairs
        assert all(own.links == right.links for own, right in every)
    (tmp_path / "short.txt").write_text("0-0\n")
    for wrong, other, said in (
        ("short.txt", "lines.txt", "1 sentences, .*lines.txt has 4"),
        ("lines.txt", "short.txt", "4 sentences, .*short.txt has 1"),
        ("rows.wa", "short.txt", "3 sentences, .*short.txt has 1"),
    ):
        with pytest.raises(InputError, match=f"{wrong}: {said};"):
            list(matched(LinkReader(tmp_path / wrong), LinkReader(tmp_path / other)))


@pytest.mark.parametrize("suffix", [pytest.param("jsonl", marks=pytest.mark.slow), "txt"])
def test_no_more_than_some_lines_are_held(tmp_path: Path, suffix: str) -> None:
    """Links as objects take fifty times as much memory as in their file."""
    links, count, size = [[n % 60, (7 * n) % 60] for n in range(100)], 400, 0
    for name in ("gold", "found"):
        row = json.dumps({"id": "s", "sure" if name == "gold" else "links": links})
        text = row if suffix == "jsonl" else " ".join(f"{i}-{j}" for i, j in links)
        size += (tmp_path / f"{name}.{suffix}").write_text(f"{text}\n" * count)
    tracemalloc.start()
    report = score_file(
        Gold(gold=tmp_path / f"gold.{suffix}"), FileScoring(links=str(tmp_path / f"found.{suffix}"))
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (report.count, report.sentences, report.total.aer) == (count, [], 0)
    assert peak < 4 * size + (1 << 20)
