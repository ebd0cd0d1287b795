"""Inline tags of one segment, in Python."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import isoglot as iso
from isoglot.aligners.api import align
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.sentence_pair import SentencePair


def test_project_tags_returns_the_problems_too() -> None:
    text, problems = iso.project_tags("Click <b>Save</b> now.", "Klicken Sie jetzt auf Speichern.")
    assert (text, problems) == ("Klicken Sie jetzt auf <b>Speichern</b>.", ())
    found = iso.project_tags(
        "Close the <hi>open</hi> window <ph>x<sub>note</sub></ph>.", "Schließen Sie das Fenster &amp;."
    )
    assert [problem for problem, _ in found.problems] == ["lost", "untranslated"]
    assert found.problems[0].tag == "<hi>" and "note" not in found.text and "&amp;" in found.text
    assert iso.project_tags("<b>Save</b>\n<i>all</i>", "Alles\nsichern").text.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("<b>a", "b"), {}, "is not closed"),
        (("<b>a</b>", "<b>b</b>"), {}, "is in the translation"),
        (("<b>a</b>", ["b"]), {}, "target: one segment as text is needed, got list"),
        (("<b>a</b>", "b"), {"links_file": "x"}, "call isoglot.project for files"),
        (("<b>a</b>", "b"), {"problems": "x"}, "call isoglot.project for files"),
        (("<b>a</b>", "b"), {"method": "hmm"}, "call isoglot.project for files"),
        (("<b>a</b>", "b"), {"nonsense": 1}, "nonsense"),
        (("<b>a</b>", "b"), {"kind": "markup"}, "always inline tags"),
    ],
)
def test_project_tags_refuses_options_of_files(
    arguments: tuple[Any, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises((ConfigurationError, InputError), match=message):
        iso.project_tags(*arguments, **options)


def test_project_tags_gives_the_option_links_to_the_aligner(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []

    def recording_align(source: list[str], target: list[str], **options: Any) -> SentencePair:
        given.append(options)
        return align(source, target, **options)

    monkeypatch.setattr("isoglot.projection.one_segment.align", recording_align)
    iso.project_tags(
        "<b>Save</b> it", "Es sichern", method="ot", links="forward", gap=2, languages=("en", "de")
    )
    assert given == [{"method": "ot", "links": "forward"}]


def test_align_many_warns_once_of_tags_in_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="isoglot"):
        iso.align_many([("a < b", "a"), ("Click <b>Save</b>", "<b>x</b>"), ("<b>y</b>", "y")], progress=False)
    (note,) = [message for message in caplog.messages if "is text here" in message]
    assert note.startswith("pair 2: the tag <b> is text here") and "project_tags" in note
