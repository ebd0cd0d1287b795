from __future__ import annotations

import pytest

from isoglot.tasks.metrics.answers import answer_score, normalise_mlqa, normalise_squad


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat", "cat"),
        ("a  b, the C!", "b c"),
        ("«x»", "«x»"),
        ("der Hund", "der hund"),
        ("theatre", "theatre"),
    ],
)
def test_squad(text: str, expected: str) -> None:
    assert normalise_squad(text) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "An «Apple» a day", "apple day"),
        ("de", "Der Hund des Nachbarn", "hund nachbarn"),
        ("es", "¿El perro y unas gatas?", "perro y gatas"),
        ("vi", "những con mèo", "con mèo"),
        ("ar", "الكتاب", "كتاب"),
        ("hi", "एक किताब।", "एक किताब"),
        ("zh", "中国，abc def人", "中 国 abc def 人"),
        ("fr", "le chat", "le chat"),
    ],
)
def test_mlqa(language: str, text: str, expected: str) -> None:
    assert normalise_mlqa(text, language) == expected


def test_scores_by_question() -> None:
    gold = {"1": ["red house", "the red"], "2": ["blue"], "3": ["green"], "4": []}
    score = answer_score(gold, {"1": "red", "2": "blue sky", "4": "", "other": "x"})
    assert score["exact_match"].value == pytest.approx(
        50.0
    )  # 1 by its second gold answer, 4 for saying nothing
    assert score["f1"].value == pytest.approx(100 * (1 + 2 / 3 + 0 + 1) / 4)
    assert answer_score({"4": []}, {"4": "something"})["f1"].value == 0.0


def test_the_language_decides() -> None:
    gold, answer = {"1": ["der Hund"]}, {"1": "Hund"}
    assert answer_score(gold, answer)["exact_match"].value == 0.0
    assert answer_score(gold, answer, mlqa_language="de")["exact_match"].value == 100.0


def test_article_only_answer_shares_nothing() -> None:
    assert answer_score({"1": ["the"]}, {"1": "a"})["exact_match"].value == 100.0
    assert answer_score({"1": ["the"]}, {"1": "a"})["f1"].value == 0.0
