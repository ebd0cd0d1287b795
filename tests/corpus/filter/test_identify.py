"""Identified languages: near relatives are told apart, twins are not, and what is missing is named."""

from __future__ import annotations

import sys

import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.filter.identify import LanguageIdentifier

RUSSIAN = "Сегодня парламент отклонил попытку отменить статью закона."
UKRAINIAN = "Сьогодні парламент відхилив спробу скасувати статтю закону."
BULGARIAN = "Днес парламентът отхвърли опита да се отмени членът от закона."


@pytest.mark.slow
def test_ukrainian_and_bulgarian_are_found_among_russian() -> None:
    pytest.importorskip("lingua")
    likely = LanguageIdentifier("rus_Cyrl", ["en"]).likelihoods([RUSSIAN, UKRAINIAN, BULGARIAN, "1990", ""])
    assert (likely >= 0.8).tolist() == [True, False, False, True, True]
    assert LanguageIdentifier("uk").likelihoods([RUSSIAN, UKRAINIAN]).round(1).tolist() == [0.0, 1.0]
    assert LanguageIdentifier("ru").likelihoods([]).shape == (0,)


def test_a_language_without_a_model_is_named() -> None:
    pytest.importorskip("lingua")
    with refused(ConfigurationError, "min_language: ", "'gl'", "af, ar, az"):
        LanguageIdentifier("gl")


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lingua", None)
    with refused(ConfigurationError, "`min_language`", "pip install 'isoglot[languages]'"):
        LanguageIdentifier("ru")
