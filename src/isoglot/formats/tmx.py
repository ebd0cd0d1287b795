"""Sentence pairs of TMX translation memories: which translations of a unit are a pair."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.core.errors import InputError
from isoglot.formats.line_files import CHUNK_LINES, Chunk, LineFile, Meter
from isoglot.formats.tmx_reader import TmxReader, feed, language_tag, tmx_parser
from isoglot.formats.tmx_unit import TmxPair, TmxUnit, TmxVariant, row_values, written_language

_LOG = logging.getLogger(__name__)
_MOST_NAMED = 8


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
    """Pairs of two languages, a few thousand at a time.

    ``xml:lang="en-GB"`` counts as ``en``, unless a variant is asked for by its own name. A unit with several
    translations in a language is several pairs: ``en, de-DE, de-AT`` is English with German of Germany, and English
    with German of Austria. Text inside in-line codes (`bpt ept ph it ut`) is mark-up and left out; text inside `hi` is
    kept.

    ``whole``: Each row has its unit.
    ``incomplete``: Units that lack one of the languages are rows too, without that side. Otherwise they are left out,
    counted, and reported with their lines.
    """
    wanted = [language_tag(language) for language in languages]
    reader, lacking = TmxReader(path, meter), _IncompleteUnits()
    found = _Languages(path, wanted, reader)
    rows: list[TmxRow] = []
    for unit in reader.units():
        paired = _with_sides(unit, wanted)
        found.add(paired)
        sides = [TmxPair(paired, source, target) for source, target in paired.pairs]
        if not sides:
            lacking.add(paired.line)
        if not sides and incomplete:
            sides = [TmxPair(paired, *(next(iter(side), None) for side in (paired.sources, paired.targets)))]
        rows += [_row(pair, whole=whole) for pair in sides]
        while len(rows) >= CHUNK_LINES:
            yield Chunk(rows[0].line, rows[:CHUNK_LINES], incomplete=lacking.pop())
            rows = rows[CHUNK_LINES:]
    if rows or lacking.count:
        yield Chunk(rows[0].line if rows else reader.line, rows, incomplete=lacking.pop())
    found.require()
    found.warn_of_variants()
    if lacking.lines and not incomplete:
        warn_of_incomplete(path, tuple(languages), lacking.total, tuple(lacking.lines))


def tmx_sentences(path: str, language: str) -> Iterator[tuple[TmxUnit, TmxVariant]]:
    """Every translation in a language, in the order of the file; units without one are counted and reported."""
    wanted = language_tag(language)
    reader, lacking = TmxReader(path), _IncompleteUnits()
    found = _Languages(path, [wanted], reader)
    for unit in reader.units():
        numbers = _numbers_of(unit, wanted)
        found.add(replace(unit, sources=numbers))
        if not numbers:
            lacking.add(unit.line)
        for number in numbers:
            yield unit, unit.variants[number]
    found.require()
    found.warn_of_variants()
    if lacking.lines:
        warn_of_incomplete(path, (language,), lacking.total, tuple(lacking.lines))


@lru_cache(64)  # a file is read more than once
def warn_of_incomplete(path: str, languages: tuple[str, ...], count: int, lines: tuple[int, ...]) -> None:
    """Report units that were left out because they lack one of the languages, with the lines of the first."""
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
    """Report which variants a language stands for, where there are several."""
    _LOG.warning(
        "%s: %s stands for %s, each of which is read; name one of them to read it alone",
        path,
        language,
        ", ".join(tags),
    )


class _IncompleteUnits:
    """Units that lack a language."""

    def __init__(self) -> None:
        self.count = self.total = 0
        self.lines: list[int] = []
        """Lines of the first."""

    def add(self, line: int) -> None:
        self.count += 1
        self.total += 1
        if len(self.lines) < _MOST_NAMED:
            self.lines.append(line)

    def pop(self) -> int:
        """How many there were since the last call."""
        count, self.count = self.count, 0
        return count


class _Languages:
    """The languages that were asked for, and what the file has of them."""

    def __init__(self, path: str, wanted: Sequence[str], reader: TmxReader) -> None:
        self._path, self._wanted, self._reader = path, wanted, reader
        self._seen: set[str] = set()
        self._with_text: set[str] = set()
        self._variants: dict[str, dict[str, str]] = {language: {} for language in wanted}

    def add(self, unit: TmxUnit) -> None:
        """Note the languages of a unit whose sides are known."""
        self._seen.update(variant.language for variant in unit.variants)
        for language, numbers in zip(self._wanted, (unit.sources, unit.targets), strict=False):
            for number in numbers:
                variant = unit.variants[number]
                written = written_language(variant.attributes)
                self._variants[language].setdefault(variant.language, written)
                self._with_text.add(language)

    def require(self) -> None:
        """Fail if a language that is asked for never occurs, or has no sentence."""
        missing = [language for language in self._wanted if language not in self._with_text]
        if mute := [language for language in missing if any(_is(tag, language) for tag in self._seen)]:
            problem = (
                f"no <tuv> in {' and '.join(mute)} has a <seg>, which holds its sentence; correct the file"
            )
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
    """Numbers of the translations in a language that have a segment."""
    return tuple(
        number
        for number, variant in enumerate(unit.variants)
        if variant.text is not None and _is(variant.language, language)
    )


def _with_sides(unit: TmxUnit, languages: Sequence[str]) -> TmxUnit:
    """The unit with the numbers of its translations in both languages.

    A translation that could be on either side is on the side that names it more closely: with ``pt`` and ``pt-BR``,
    Brazilian Portuguese is the target. Of one language alone, the first translation is the source of all others.
    """
    sources, targets = (_numbers_of(unit, language) for language in languages)
    if languages[0] == languages[1]:
        sources, targets = sources[:1], targets[1:]
    elif len(languages[0]) > len(languages[1]):
        targets = tuple(number for number in targets if number not in sources)
    else:
        sources = tuple(number for number in sources if number not in targets)
    return replace(unit, sources=sources, targets=targets)


def _row(pair: TmxPair, *, whole: bool) -> TmxRow:
    texts = [
        "" if number is None else pair.unit.variants[number].text or ""
        for number in (pair.source, pair.target)
    ]
    return TmxRow(pair.unit.line, texts[0], texts[1], row_values(pair), pair if whole else None)


def tmx_languages(path: str, named: Sequence[str]) -> tuple[str, str]:
    """Source and target language of a file of exactly two languages, which is read to its end.

    The source is the one that the header names, else the one that comes first. ``en-GB`` counts as ``en``, unless both
    are variants of one language.

    ``named``: Source and target language as the user names them; empty for one that is open.

    Raises:
        InputError: There are more or fewer languages than two.
    """
    state = Path(path).stat()
    header, lines = _languages(path, state.st_size, state.st_mtime_ns)
    names = list(dict.fromkeys(tag.partition("-")[0] for tag in lines))
    if len(names) == 1:
        names = list(lines)
    if len(names) < 2:
        content = f"only {names[0]}" if names else "no language"
        raise InputError(
            f"holds {content}, but two languages are needed; check the xml:lang of its <tuv> elements",
            path=path,
        )
    if names[2:]:
        listed = ", ".join(names[:_MOST_NAMED]) + ", …" * (len(names) > _MOST_NAMED)
        raise InputError(
            f"holds {listed}, and two languages are read; choose them: "
            f"[[languages=('{names[0]}', '{names[1]}')]]",
            path=path,
            line=next(line for tag, line in lines.items() if _is(tag, names[2])),
        )
    if _is(header, names[1]):
        names.reverse()
    if not any(named):
        return names[0], names[1]
    named_tag = language_tag("".join(named))
    rest = next((name for name in names if not _is(named_tag, name)), names[0])
    return named[0] or rest, named[1] or rest


def _is(tag: str, language: str) -> bool:
    """Whether a tag is this one or a variant of it."""
    return f"{tag}-".startswith(f"{language}-")


@lru_cache(8)
def _languages(path: str, size: int, time: int) -> tuple[str, Mapping[str, int]]:
    """The source that the header names, and each tag of a unit with its first line; read again after a change."""
    del size, time
    parser, source, lines = tmx_parser(path), [""], dict[str, int]()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "header":
            source[0] = language_tag(attributes.get("srclang", ""))
        elif name == "tuv" and (tag := language_tag(written_language(attributes))):
            lines.setdefault(tag, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    with LineFile(path) as file:
        for _, data in file.chunks():
            feed(parser, data, path)
    feed(parser, b"", path, last=True)
    return source[0], lines
