"""Rules of `isoglot filter`: those of `prepare`, and copies, languages, numbers and placeholders."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import regex

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.filter.filters import RowTests, check_rules
from isoglot.corpus.filter.identify import LanguageIdentifier
from isoglot.corpus.filter.mojibake import is_mojibake
from isoglot.corpus.filter.numbers import changed_numbers
from isoglot.corpus.filter.placeholders import placeholders, without_placeholders
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED, Source
from isoglot.formats.words import split_words
from isoglot.mining.options import FilterRules

_LETTER = regex.compile(r"\p{L}")
_STAYS = regex.compile(r"(?<!\w)(?:\p{Lu}[\p{Lu}\p{Nd}]{1,4}(?!\w)|\p{Lu}\w*(?=\s\p{Nd}))")
"""Names that a translation keeps: OK, USB, MP3, and Windows before its number."""


class PairRules:
    """Names the rules that drop a pair."""

    def __init__(self, options: FilterRules) -> None:
        self._options = options
        self._rows = RowTests.load(options)
        self._identifiers = cache(_identifiers)
        self._own_placeholders = [regex.compile(pattern) for pattern in options.placeholder]

    def reasons(self, pairs: Sequence[SentencePair], languages: tuple[str, str]) -> list[list[str]]:
        """Every rule that drops each of the pairs, which are in the same languages."""
        options = self._options
        sides = [[pair.texts[side] for pair in pairs] for side in (0, 1)]
        reasons = self._rows.every_reason(sides, languages)
        if options.min_language:
            identified = zip(self._identifiers(languages), sides, strict=True)
            likelihoods = [identifier.likelihoods(texts) for identifier, texts in identified]
            for row in np.flatnonzero(np.min(likelihoods, axis=0) < options.min_language):
                reasons[row].append("language")
        fewest_letters = options.min_letters or 0
        for pair, names in zip(pairs, reasons, strict=True):
            if any(len(_LETTER.findall(text)) < fewest_letters for text in pair.texts):
                names.append("letters")
            if options.mojibake and any(map(is_mojibake, pair.texts)):
                names.append("mojibake")
            if options.max_copied is not None and copied_share(*pair.texts) > options.max_copied:
                names.append("copied")
            if options.numbers != "any":
                missing = list(map(bool, changed_numbers(*pair.texts)))
                if all(missing) or (options.numbers == "missing" and any(missing)):
                    names.append("numbers")
            if options.placeholders or options.placeholder:
                source, target = (
                    placeholders(text, (tag.xml for tag in tags), self._own_placeholders)
                    for text, tags in zip(pair.texts, pair.tags, strict=True)
                )
                if source != target:
                    names.append("placeholders")
        return reasons


def check_pair_rules(sources: Sequence[Source], options: FilterRules) -> None:
    """Refuse rules that cannot work for these sources.

    Raises:
        ConfigurationError: As of `prepare`; languages to identify that are not named, or that lingua does not know.
    """
    check_rules(sources, options, "bitext")
    if options.min_language:
        for source_language, target_language in {source.languages("bitext") for source in sources}:
            _identifiers((source_language, target_language))


def _identifiers(languages: tuple[str, str]) -> tuple[LanguageIdentifier, LanguageIdentifier]:
    """One for each side."""
    if any(language in ("", *UNNAMED) for language in languages):
        raise ConfigurationError(
            "[[min_language]] compares texts with their languages, which are not known; add "
            "[[languages=('en', 'de')]], or [[min_language=0]] to judge none"
        )
    source, target = languages
    return LanguageIdentifier(source, [target]), LanguageIdentifier(target, [source])


def copied_share(source: str, target: str) -> float:
    """The share of the shorter side's words that also stand on the other side; 0 where it has no word.

    Words without a letter do not count, nor placeholders, nor words that stay in most translations: short words in
    capitals (OK, USB) and a capitalised word before a number (Windows 11).

    Example:
        >>> copied_share("Tokyo is big.", "Tokyo ist groß."), copied_share("1990", "1990")
        (0.3333333333333333, 0.0)
        >>> copied_share("OK", "OK"), copied_share("Windows 11", "Windows 11"), copied_share("Cancel", "Cancel")
        (0.0, 0.0, 1.0)
    """
    first, second = map(_counted_words, (source, target))
    return (first & second).total() / max(1, min(first.total(), second.total()))


def _counted_words(text: str) -> Counter[str]:
    """The words of a text that may be copied, in lower case, with how often each stands there."""
    words = split_words(_STAYS.sub(" ", without_placeholders(text)))
    return Counter(word.casefold() for word in words if _LETTER.search(word))
