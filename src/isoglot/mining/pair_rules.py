"""Rules of `isoglot filter`: the row rules of `isoglot prepare`, and rules that only `filter` has.

The latter are about languages, letters, wrong encodings, copied words, numbers and placeholders. A rule that drops a
pair is a *reason*, known by its name: ``copied``.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial

import numpy as np
import regex

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.filter.filters import RowTests, check_rules
from isoglot.corpus.filter.identify import FEWEST_LETTERS, LanguageIdentifier
from isoglot.corpus.filter.mojibake import is_mojibake
from isoglot.corpus.filter.numbers import changed_numbers
from isoglot.corpus.filter.placeholders import placeholders, without_placeholders
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED, Source
from isoglot.formats.words import split_words
from isoglot.mining.options import FilterRules

_LETTER = regex.compile(r"\p{L}")
_UNTRANSLATED_NAME = regex.compile(r"(?<!\w)(?:\p{Lu}[\p{Lu}\p{Nd}]{1,4}(?!\w)|\p{Lu}\w*(?=\s\p{Nd}))")
"""Names that most translations leave as they are: OK, USB, MP3, and Windows before its number."""


class PairRules:
    """Names the rules that drop a pair.

    Example:
        >>> PairRules(FilterRules(max_copied=0.6)).reasons([SentencePair(("Hello", "Hello"))], ("en", "de"))
        [['copied']]
    """

    def __init__(self, options: FilterRules) -> None:
        self._options = options
        self._row_rules = RowTests.load(options)
        self._identifiers = cache(partial(_identifiers, fewest_letters=options.language_letters))
        self._own_placeholders = [regex.compile(pattern) for pattern in options.placeholder]

    def reasons(self, pairs: Sequence[SentencePair], languages: tuple[str, str]) -> list[list[str]]:
        """Name every rule that drops each of the pairs, which are in the same languages."""
        options = self._options
        sides = [[pair.texts[side] for pair in pairs] for side in (0, 1)]
        reasons = self._row_rules.every_reason(sides, languages)
        if options.min_language:
            source_identifier, target_identifier = self._identifiers(languages)
            likelihoods = np.minimum(
                source_identifier.likelihoods(sides[0]), target_identifier.likelihoods(sides[1])
            )
            for row in np.flatnonzero(likelihoods < options.min_language):
                reasons[row].append("language")
        for pair, reasons_of_pair in zip(pairs, reasons, strict=True):
            reasons_of_pair.extend(self._reasons_of_texts(pair))
        return reasons

    def _reasons_of_texts(self, pair: SentencePair) -> Iterator[str]:
        """Name the rules that drop a pair by its texts and tags alone, in whatever languages they are."""
        options = self._options
        if options.min_letters is not None:
            letters = [len(_LETTER.findall(text)) for text in pair.texts]
            if min(letters) < options.min_letters:
                yield "letters"
        if options.mojibake and any(map(is_mojibake, pair.texts)):
            yield "mojibake"
        if options.max_copied is not None and copied_share(*pair.texts) > options.max_copied:
            yield "copied"
        if options.numbers != "any":
            only_source, only_target = changed_numbers(*pair.texts)
            is_changed = bool(only_source and only_target)
            is_missing = bool(only_source or only_target)
            if is_changed or (options.numbers == "missing" and is_missing):
                yield "numbers"
        compares_placeholders = options.placeholders or options.placeholder
        if compares_placeholders and self._placeholders_of(pair, 0) != self._placeholders_of(pair, 1):
            yield "placeholders"

    def _placeholders_of(self, pair: SentencePair, side: int) -> Counter[str]:
        tags = [tag.xml for tag in pair.tags[side]]
        return placeholders(pair.texts[side], tags, self._own_placeholders)


def check_pair_rules(sources: Sequence[Source], options: FilterRules) -> None:
    """Refuse rules that cannot work for these sources.

    Raises:
        ConfigurationError: A rule cannot work, as for `prepare`; or a language whose likelihood is asked for is not
            named, or not known to lingua.
    """
    languages = {tag for source in sources for tag in source.languages("bitext")}
    # Of a language without a name (empty, `src` or `und`) no scripts are known, unless the user gave some:
    # `--script src=Latin`.
    without_scripts = {"", *UNNAMED} - options.scripts.keys()
    if options.min_script_share is not None and languages & without_scripts:
        raise ConfigurationError(
            "[[min_script_share]] compares texts with the scripts of their languages, which are not known; add "
            "[[languages=('en', 'de')]]"
        )
    check_rules(sources, options, "bitext")
    if options.min_language:
        for source_language, target_language in {source.languages("bitext") for source in sources}:
            _identifiers((source_language, target_language))


def _identifiers(
    languages: tuple[str, str], fewest_letters: int | None = None
) -> tuple[LanguageIdentifier, LanguageIdentifier]:
    """Make the identifiers of the source and of the target language."""
    if any(language in ("", *UNNAMED) for language in languages):
        raise ConfigurationError(
            "[[min_language]] compares texts with their languages, which are not known; add "
            "[[languages=('en', 'de')]], or [[min_language=0]] to judge none"
        )
    source, target = languages
    fewest = FEWEST_LETTERS if fewest_letters is None else fewest_letters
    return (
        LanguageIdentifier(source, [target], fewest_letters=fewest),
        LanguageIdentifier(target, [source], fewest_letters=fewest),
    )


def copied_share(source: str, target: str) -> float:
    """Compute the share of the shorter side's words that also stand on the other side; 0 if it has no word.

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
    """Count the words of a text, in lower case, that a translation has no reason to keep."""
    words = split_words(_UNTRANSLATED_NAME.sub(" ", without_placeholders(text)))
    return Counter(word.casefold() for word in words if _LETTER.search(word))
