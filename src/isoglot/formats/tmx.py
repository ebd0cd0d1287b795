"""Read sentence pairs from TMX translation memories: decide which translations of a unit are a pair.

A unit (``<tu>``) holds one sentence in any number of languages, each a variant (``<tuv xml:lang="de-AT">``):

    <tu> en  de-DE  de-AT  fr </tu>   read as en, de   ──>   (en, de-DE), (en, de-AT)

The format is TMX 1.4b of the standards group LISA. :mod:`isoglot.formats.tmx_reader` reads units,
:mod:`isoglot.formats.tmx_writer` writes them.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.core.errors import InputError
from isoglot.formats.line_files import CHUNK_LINES, Chunk, LineFile, Meter
from isoglot.formats.tmx_reader import TmxReader, feed, language_tag, tmx_parser
from isoglot.formats.tmx_unit import TmxPair, TmxUnit, TmxVariant, pair_values, written_language

_LOG = logging.getLogger(__name__)
_MOST_NAMED = 8
"""Lines or languages that a message lists."""


class TmxRow(NamedTuple):
    """A pair of a unit, as the fields of a row."""

    line: int
    source: str
    target: str
    more: dict[str, Any]
    unit: TmxPair | None


def tmx_chunks(
    path: str,
    languages: Sequence[str],
    meter: Meter | None = None,
    *,
    whole: bool = False,
    incomplete: bool = False,
) -> Iterator[Chunk]:
    """Read the pairs of two languages, a few thousand at a time.

    1. A translation in ``en-GB`` counts as ``en``, unless ``en-GB`` is asked for.
    2. A unit with several translations in a language is several pairs: ``en, de-DE, de-AT`` is English with German of
       Germany, and English with German of Austria.
    3. Text inside inline codes (`bpt ept ph it ut`) is code of another format, and left out; text inside `hi` is kept.
    4. Units that lack one of the languages are left out, counted, and reported with their lines.

    ``whole``: Each row has its unit.
    ``incomplete``: Units that lack one of the languages are rows too, without that side.
    """
    wanted = [language_tag(language) for language in languages]
    reader, lacking = TmxReader(path, meter), _IncompleteUnits()
    found = _FoundLanguages(path, wanted, reader)
    rows: list[TmxRow] = []
    for unit in reader.units():
        paired = _with_sides(unit, wanted)
        found.add(paired)
        pairs = [TmxPair(paired, source, target) for source, target in paired.pairs]
        if not pairs:
            lacking.add(paired.line)
            if incomplete:
                # One side has no translation; perhaps neither has.
                source = paired.source_numbers[0] if paired.source_numbers else None
                target = paired.target_numbers[0] if paired.target_numbers else None
                pairs = [TmxPair(paired, source, target)]
        rows += [_row(pair, whole=whole) for pair in pairs]
        while len(rows) >= CHUNK_LINES:
            yield Chunk(rows[0].line, rows[:CHUNK_LINES], lacking=lacking.pop())
            rows = rows[CHUNK_LINES:]
    # Units after the last row may have been counted: a chunk without rows carries their number.
    if rows or lacking.count:
        yield Chunk(rows[0].line if rows else reader.line, rows, lacking=lacking.pop())
    found.require()
    found.warn_of_variants()
    if lacking.lines and not incomplete:
        warn_of_incomplete(path, tuple(languages), lacking.total, tuple(lacking.lines))


def tmx_sentences(path: str, language: str) -> Iterator[tuple[TmxUnit, TmxVariant]]:
    """Read every translation in one language; units without one are counted and reported."""
    wanted = language_tag(language)
    reader, lacking = TmxReader(path), _IncompleteUnits()
    found = _FoundLanguages(path, [wanted], reader)
    for unit in reader.units():
        numbers = _numbers_of(unit, wanted)
        found.add(replace(unit, source_numbers=numbers))  # the one language is the source
        if not numbers:
            lacking.add(unit.line)
        for number in numbers:
            yield unit, unit.variants[number]
    found.require()
    found.warn_of_variants()
    if lacking.lines:
        warn_of_incomplete(path, (language,), lacking.total, tuple(lacking.lines))


@lru_cache(64)  # a file may be read more than once, and is reported once
def warn_of_incomplete(path: str, languages: tuple[str, ...], count: int, lines: tuple[int, ...]) -> None:
    """Report units that were left out because they lack one of the languages; ``lines``: Those of the first units."""
    listed = ", ".join(map(str, lines)) + ", …" * (count > len(lines))
    _LOG.warning(
        "%s: units without %s are left out: %s (line%s %s)",
        path,
        " or ".join(dict.fromkeys(languages)),
        f"{count:,}",
        "s" * (count > 1),
        listed,
    )


@lru_cache(64)
def _warn_of_variants(path: str, language: str, tags: tuple[str, ...]) -> None:
    """Report the variants that a language stands for, where there are several."""
    _LOG.warning(
        "%s: %s stands for %s, each of which is read; name one of them to read it alone",
        path,
        language,
        ", ".join(tags),
    )


class _IncompleteUnits:
    """Counts the units that lack a language."""

    def __init__(self) -> None:
        self.count = 0  # since the last call of `pop`
        self.total = 0
        self.lines: list[int] = []  # lines of the first units, which a warning names

    def add(self, line: int) -> None:
        self.count += 1
        self.total += 1
        if len(self.lines) < _MOST_NAMED:
            self.lines.append(line)

    def pop(self) -> int:
        """Return the count since the last call, and count from 0 again."""
        count, self.count = self.count, 0
        return count


class _FoundLanguages:
    """Notes which of the languages that were asked for a file has, and in which variants.

    After the last unit, :meth:`require` and :meth:`warn_of_variants` report what the user should know.
    """

    def __init__(self, path: str, wanted: Sequence[str], reader: TmxReader) -> None:
        self._path, self._wanted, self._reader = path, wanted, reader
        self._seen: set[str] = set()  # tags of all translations, `de-at`
        self._with_text: set[str] = set()  # languages that were asked for, in which a sentence was read
        # For each language that was asked for, the variants that were read: `de-at`, and `de-AT` as the file writes it.
        self._variants: dict[str, dict[str, str]] = {language: {} for language in wanted}

    def add(self, unit: TmxUnit) -> None:
        """Note the languages of a unit whose sides are known."""
        self._seen.update(variant.language for variant in unit.variants)
        for language, numbers in zip(self._wanted, (unit.source_numbers, unit.target_numbers), strict=False):
            for number in numbers:
                variant = unit.variants[number]
                written = written_language(variant.attributes)
                self._variants[language].setdefault(variant.language, written)
                self._with_text.add(language)

    def require(self) -> None:
        """Raise an error if a language that was asked for never occurs, or has no sentence."""
        missing = [language for language in self._wanted if language not in self._with_text]
        # Languages that occur, but in translations without a <seg>.
        without_sentence = [
            language for language in missing if any(_is_variant(tag, language) for tag in self._seen)
        ]
        if without_sentence:
            listed = " and ".join(without_sentence)
            problem = f"no <tuv> in {listed} has a <seg>, which holds its sentence; correct the file"
        elif missing:
            listed = ", ".join(sorted(self._seen)) or "none"
            problem = f"no unit in {' and '.join(missing)}; the languages are {listed}"
        else:
            return
        raise InputError(problem, path=self._path, line=self._reader.line)

    def warn_of_variants(self) -> None:
        """Report each language that stands for several variants of the file."""
        for language, tags in self._variants.items():
            if len(tags) > 1:
                _warn_of_variants(self._path, language, tuple(tags.values()))


def _numbers_of(unit: TmxUnit, language: str) -> tuple[int, ...]:
    """The numbers of the translations in a language that have a segment."""
    return tuple(
        number
        for number, variant in enumerate(unit.variants)
        if variant.text is not None and _is_variant(variant.language, language)
    )


def _with_sides(unit: TmxUnit, languages: Sequence[str]) -> TmxUnit:
    """Find the translations of a unit in the source and in the target language.

    1. One language twice (``en, en``: paraphrases): the first translation is the source of all others.
    2. One language is a variant of the other: a translation that could be on either side is on the side that names it
       more closely. With ``pt, pt-BR``, Brazilian Portuguese is the target, all other Portuguese the source.
    """
    source_language, target_language = languages
    sources, targets = _numbers_of(unit, source_language), _numbers_of(unit, target_language)
    if source_language == target_language:
        sources, targets = sources[:1], targets[1:]  # 1
    # 2. A translation on both sides stays on the side of the variant, whose tag is the longer one: `pt-BR` beside `pt`.
    # Languages that are not variants of each other (`en`, `de`) have no translation on both sides.
    elif len(source_language) > len(target_language):
        targets = tuple(number for number in targets if number not in sources)
    else:
        sources = tuple(number for number in sources if number not in targets)
    return replace(unit, source_numbers=sources, target_numbers=targets)


def _row(pair: TmxPair, *, whole: bool) -> TmxRow:
    source, target = _text(pair.unit, pair.source_number), _text(pair.unit, pair.target_number)
    return TmxRow(pair.unit.line, source, target, pair_values(pair), pair if whole else None)


def _text(unit: TmxUnit, number: int | None) -> str:
    """The text of a translation; empty for a side that the unit lacks."""
    return "" if number is None else unit.variants[number].text or ""


def tmx_languages(path: str, named: Sequence[str]) -> tuple[str, str]:
    """Find the source and the target language of a file of exactly two languages, which is read to its end.

    1. ``en-GB`` and ``en-US`` count as ``en``, unless the file has no other language: then both are languages.
    2. The source is the language that the header names (``srclang``), else the one that comes first.
    3. If the user names one language, it is on the side that the user says; the other language is on the other side.

    Args:
        path: The file.
        named: Source and target language as the user names them; empty for a side that the user does not name.

    Raises:
        InputError: There are more or fewer languages than two.
    """
    state = Path(path).stat()
    header, first_lines = _tags_of_file(path, state.st_size, state.st_mtime_ns)
    languages = list(dict.fromkeys(tag.partition("-")[0] for tag in first_lines))
    if len(languages) == 1:
        languages = list(first_lines)  # 1
    if len(languages) < 2:
        content = f"only {languages[0]}" if languages else "no language"
        raise InputError(
            f"holds {content}, but two languages are needed; check the xml:lang of its <tuv> elements",
            path=path,
        )
    if len(languages) > 2:
        listed = ", ".join(languages[:_MOST_NAMED]) + ", …" * (len(languages) > _MOST_NAMED)
        raise InputError(
            f"holds {listed}, and two languages are read; choose them: "
            f"[[languages=('{languages[0]}', '{languages[1]}')]]",
            path=path,
            line=next(line for tag, line in first_lines.items() if _is_variant(tag, languages[2])),
        )
    first, second = languages
    if _is_variant(header, second):
        first, second = second, first  # 2
    if not any(named):
        return first, second
    # 3. One of both is named, and the other one is empty.
    named_tag = language_tag("".join(named))
    other = next((language for language in (first, second) if not _is_variant(named_tag, language)), first)
    return named[0] or other, named[1] or other


def _is_variant(tag: str, language: str) -> bool:
    """Whether a tag is a language or a variant of it: ``de-at`` is ``de``, but ``den`` is not."""
    return f"{tag}-".startswith(f"{language}-")


@lru_cache(8)
def _tags_of_file(path: str, size: int, time: int) -> tuple[str, Mapping[str, int]]:
    """Find the source language that the header names, and the line of the first translation of each tag.

    ``size``, ``time``: Size of the file, and the time at which it was changed. They are here for the cache alone: a
    file that was changed is read again.
    """
    del size, time
    header_language = ""
    first_lines: dict[str, int] = {}
    parser = tmx_parser(path)

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal header_language
        if name == "header":
            header_language = language_tag(attributes.get("srclang", ""))
        elif name == "tuv" and (tag := language_tag(written_language(attributes))):
            first_lines.setdefault(tag, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    with LineFile(path) as file:
        for _, data in file.chunks():
            feed(parser, data, path)
    feed(parser, b"", path, last=True)
    return header_language, first_lines
