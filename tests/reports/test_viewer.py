from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from isoglot.core.errors import InputError
from isoglot.reports.viewer import Viewer, quality, read_alignments

PAIR = {
    "src": ["a", "b", "c"],
    "tgt": ["x", "y"],
    "links": "0-0 1-1 2-0",
    "sure": [[0, 0], [2, 1]],
    "possible": [[1, 1]],
}


def write(path: Path, *pairs: object) -> Path:
    path.write_text("\n".join(json.dumps(pair) for pair in pairs), encoding="utf-8")
    return path


def test_links_are_sure_possible_wrong_or_missed(tmp_path: Path) -> None:
    (sentence,) = read_alignments(write(tmp_path / "a.jsonl", PAIR))
    assert sentence.classes == {(0, 0): "sure", (1, 1): "possible", (2, 0): "error", (2, 1): "missed"}
    assert sentence.errors == 2
    found = quality([sentence])
    assert found is not None
    assert (found.precision, found.recall) == pytest.approx((200 / 3, 50))
    assert found.aer == pytest.approx(40)


def test_viewer_without_a_link_misses_every_sure_one(tmp_path: Path) -> None:
    (sentence,) = read_alignments(write(tmp_path / "a.jsonl", {**PAIR, "links": []}))
    found = quality([sentence])
    assert found is not None
    assert (found.precision, found.recall, found.aer) == (0, 0, 100)


def test_viewer_without_gold_links_judges_nothing(tmp_path: Path) -> None:
    sentences = read_alignments(write(tmp_path / "a.jsonl", {"src": ["a"], "tgt": ["x"], "links": [[0, 0]]}))
    assert sentences[0].classes == {(0, 0): "plain"}
    assert quality(sentences) is None
    assert Viewer("t", sentences, most=5).summary == "1 pair."


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ({**PAIR, "links": [[0, 2]]}, r"links has \[0, 2\], and there are 3 source and 2 target words"),
        ({**PAIR, "sure": [[3, 0]]}, "sure has"),
        ({**PAIR, "links": "0:1"}, "links"),
        ({**PAIR, "sure": "0-0 1p1"}, "sure"),
        ({**PAIR, "links": [[-1, 0]]}, "greater than or equal to 0"),
        ({**PAIR, "src": "abc"}, "src"),
        ({"src": ["a"]}, "tgt"),
        ([], "it should be an object"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, pair: object, message: str) -> None:
    path = write(tmp_path / "a.jsonl", PAIR, pair)
    with pytest.raises(InputError, match=message) as caught:
        read_alignments(path)
    assert f"{path}:2: " in str(caught.value)


def test_the_viewer_shows_some_and_counts_all(tmp_path: Path) -> None:
    pairs = [{**PAIR, "id": f"n{i}"} for i in range(10)]
    sentences = read_alignments(write(tmp_path / "a.jsonl", *pairs))
    viewer = Viewer("t", sentences, most=5)
    assert viewer.summary.startswith("10 pairs, 5 of them shown; over all pairs precision")
    assert [pair.id for pair in viewer.sample] == ["n0", "n2", "n4", "n6", "n8"]
    assert [kind for kind, _, _ in viewer.keys] == ["sure", "possible", "error", "missed"]


def test_an_empty_side_has_a_place_and_is_never_among_the_worst(tmp_path: Path) -> None:
    empty = {"src": [], "tgt": ["x"], "links": []}
    sentences = read_alignments(write(tmp_path / "a.jsonl", empty, PAIR))
    assert Viewer("t", sentences, most=5).summary.startswith("2 pairs;")
    assert [pair.src for pair in Viewer("t", sentences, most=5, worst=True).sample] == [PAIR["src"]]


def test_the_worst_come_first(tmp_path: Path) -> None:
    right = {**PAIR, "links": "0-0 2-1", "id": "right"}
    plain = {"src": ["a"], "tgt": ["x"], "links": [[0, 0]]}
    scored = [{**plain, "id": str(score), "score": score} for score in (0.9, 0.2, 0.5)]
    judged = read_alignments(write(tmp_path / "a.jsonl", right, {**PAIR, "id": "wrong"}))
    assert [pair.id for pair in Viewer("t", judged, most=2, worst=True).sample] == ["wrong", "right"]
    unjudged = Viewer("t", read_alignments(write(tmp_path / "b.jsonl", *scored)), most=2, worst=True)
    assert [pair.id for pair in unjudged.sample] == ["0.2", "0.5"]
    assert unjudged.summary == "3 pairs, the 2 worst shown."


def test_gold_links_of_another_file_judge_by_id_or_place(tmp_path: Path) -> None:
    found = [{"id": name, "src": ["a", "b"], "tgt": ["x"], "links": [[0, 0]]} for name in ("p", "q")]
    gold = [{"id": "q", "sure": [[1, 0]]}, {"id": "p", "sure": [[0, 0]], "possible": [[1, 0]]}]
    links, right = write(tmp_path / "links.jsonl", *found), write(tmp_path / "gold.jsonl", *gold)
    first, second = read_alignments(links, right)
    assert (first.errors, second.errors) == (0, 2)
    pharaoh = tmp_path / "gold.txt"
    pharaoh.write_text("0-0\n1-0\n", encoding="utf-8")
    assert [pair.errors for pair in read_alignments(links, pharaoh)] == [0, 2]
    write(right, {"id": "q", "sure": [[5, 0]]}, gold[1])
    with pytest.raises(InputError, match=r"sure has .* gold links of these sentences"):
        read_alignments(links, right)


def test_right_to_left_is_told_from_the_language_or_the_letters(tmp_path: Path) -> None:
    pairs = [
        {"src": ["بيت"], "tgt": ["house"]},
        {"src": ["(", "בית"], "tgt": ["42"], "tgt_language": "fa"},
    ]
    sentences = read_alignments(write(tmp_path / "a.jsonl", *pairs))
    viewer = Viewer("t", sentences, most=2)
    directions = [[side.direction for side in viewer.sides(sentence)] for sentence in sentences]
    assert directions == [["rtl", "ltr"], ["rtl", "rtl"]]


@pytest.mark.slow
def test_a_report_loads_no_torch() -> None:
    code = "import sys; import isoglot.reports.render; raise SystemExit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
