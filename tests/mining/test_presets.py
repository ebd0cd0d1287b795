"""Presets of filter: named values of options, over which those that a user gives win."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.open_corpus import open_corpus
from isoglot.mining.filter_pairs import filter_files, filter_pairs
from isoglot.mining.options import FilterRequest
from isoglot.mining.presets import PRESETS

PAIRS = [
    ("Good morning.", "Guten Morgen."),
    ("Hello {name}", "Hallo {nmae}"),
    ("We have 12 rooms.", "Wir haben 13 Zimmer."),
    ("***", "***"),
]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_its_values_unless_others_are_given(preset: str) -> None:
    request = validated(FilterRequest, {"preset": preset})
    assert request.preset_values == PRESETS[preset]
    changed = validated(FilterRequest, {"preset": preset, "min_alignment": 0.9, "numbers": "any"})
    assert changed.min_alignment == 0.9 and changed.numbers == "any"
    assert changed.max_copied == PRESETS[preset]["max_copied"]


@pytest.mark.parametrize(
    "nothing", [{"model": "none", "aligner": "none"}, {"model": "none", "aligner": None}]
)
def test_a_preset_without_encoder_and_aligner_asks_nothing_of_their_scores(nothing: dict[str, Any]) -> None:
    request = validated(FilterRequest, {"preset": "web", **nothing})
    assert request.thresholds == {} and request.model is None and request.aligner is None
    assert request.mojibake and request.min_language == PRESETS["web"]["min_language"]


def test_filter_pairs_takes_a_preset_and_what_is_given_beside_it_wins() -> None:
    rules: dict[str, Any] = {"aligner": None, "languages": "en,de", "progress": False}
    found = [pair.reason for pair in filter_pairs(PAIRS, preset="ui", **rules)]
    assert found == ["", "placeholders", "numbers", ""]
    found = [pair.reason for pair in filter_pairs(PAIRS, preset="ui", numbers="any", **rules)]
    assert found == ["", "placeholders", "", ""]


@pytest.mark.slow
def test_short_sides_are_judged_by_their_language_where_that_is_asked_for() -> None:
    pytest.importorskip("lingua")
    # 15 letters: Ukrainian, and Russian
    pairs = [("I do not know him.", "Я його не знаю."), ("I can not hear it.", "Мне не слышно это")]
    rules: dict[str, Any] = {"aligner": None, "languages": "en,uk", "min_language": 0.8, "progress": False}
    assert [pair.reason for pair in filter_pairs(pairs, **rules)] == ["", ""]
    found = filter_pairs(pairs, language_letters=10, **rules)
    assert [pair.reason for pair in found] == ["", "language"]


def test_preset_without_judged_languages_has_no_language_rule() -> None:
    for off in (0, None):
        request = validated(FilterRequest, {"preset": "web", "min_language": off})
        assert not request.min_language and request.language_letters is None


def test_languages_are_asked_for_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"min_script_share. compares .* add languages="):
        filter_pairs(PAIRS, preset="ui", aligner=None)


def test_the_report_names_the_preset_and_the_values_that_were_used(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    request = validated(FilterRequest, {"preset": "ui", "aligner": None, "max_copied": 0.5})
    report = tmp_path / "report.json"
    corpus = open_corpus([str(file)], "bitext", languages=("en", "de"))
    filter_files(corpus, [str(tmp_path / "kept.tsv")], request, report=report)
    preset = json.loads(report.read_text())["preset"]
    assert preset["name"] == "ui" and preset["max_copied"] == 0.5 and preset["min_alignment"] is None


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="got 'wbe'; did you mean 'web'"):
        validated(FilterRequest, {"preset": "wbe"})
