"""Find numbers that a translation has lost or changed.

:func:`numbers` reads numbers by themselves. :func:`changed_numbers` compares the two sides of a pair. Where they
differ, it also reads the words beside each number, so that a number may have several *readings*: 2.4 of "2.4 million"
is 2.4 or 2400000.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from isoglot.corpus.filter.number_words import (
    DAY_HALF,
    DAY_HALF_AFTER,
    DAY_HALF_BEFORE,
    ERA_BEFORE,
    HALF_PAST,
    HALF_UNIT,
    HOUR_AFTER,
    LONGEST_DAY_HALF,
    RANGE_BEFORE_DAY_HALF,
    SHORT_YEAR,
    YEAR_BEFORE_ERA,
    in_digits,
    powers_after,
)
from isoglot.corpus.filter.placeholders import without_placeholders

_SPACES = "\u0020\u00a0\u2009\u202f"
_NUMBER = regex.compile(
    rf"(?<!\p{{Nd}})\p{{Nd}}{{1,3}}(?:[{_SPACES}]\p{{Nd}}{{3}})+(?!\p{{Nd}})(?:[.,٫]\p{{Nd}}+)?"
    r"|\p{Nd}+(?:[.,:h'’_٫٬．，：]\p{Nd}+)*(?!\p{Nd}*[月월])"
)
"""A number; not the 3 of 3月, because other languages write March."""
_GROUPED = regex.compile(r"[1-9]\d{0,2}(?:[^\d:h：]\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}")
"""A whole number with separators of thousands, or of lakhs as in 1,00,000."""
_CLOCK = regex.compile(r"(?P<hour>\d{1,2})(?:[:h：.](?P<minute>[0-5]\d))?")
_WITH_MINUTES = regex.compile(r"\d{1,2}[:h：][0-5]\d")
_DIGITS = regex.compile(r"\d+")
_THREE_DECIMALS = regex.compile(r"(\d+)[.,٫](\d{3})")
_CENTURIES = (1800, 1900, 2000)
_LAST_HOUR = 24
_LONGEST = 15
"""Digits of the longest number that is read as a scaled number, an hour or a year; a longer one has one reading."""


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a text.

    Attributes:
        value: The number without thousands separators, with a point before decimals, and without zeros that say
            nothing: 8.3 of 08:30, 100 of 100.
        readings: All values that the number may have: 2.4 of "2.4 million" is 2.4, or 2400000.
        digits: The digits as written: "0830" of 08:30.
        wholes: The whole numbers before and behind the point or colon: "8" and "30" of 08:30, "8" and "0" of 08:00.
    """

    value: str
    readings: frozenset[str]
    digits: str
    wholes: tuple[str, ...]


def numbers(text: str) -> list[str]:
    """Find the numbers of a text, in the digits of any script.

    The results have no thousands separators, a point before decimals and minutes, and no zeros that say nothing. A date
    is several numbers.

    Example:
        >>> numbers("1,000 und 1.000, ١٢٫٥٠ %, 28.08.2009, 11:00, {0} %2$s")
        ['1000', '1000', '12.5', '28', '8', '2009', '11']
    """
    text = without_placeholders(text)
    return [value for match in _NUMBER.finditer(text) for value, _, _ in _values(match)]


def changed_numbers(source: str, target: str) -> tuple[list[str], list[str]]:
    """Find the numbers of each side that have no counterpart on the other side.

    Years may lack their century, hours be counted by halves of the day, and words stand for zeros (2.4 million), each
    only where the words and marks beside the number say so.

    Example:
        >>> changed_numbers("1,250 people in 1987", "1.350 Menschen im Jahr 1987")
        (['1250'], ['1350'])
        >>> changed_numbers("2.4 million since '97, at 9:30 p.m.", "240万，1997年，21:30")
        ([], [])
        >>> changed_numbers("ability: 20 kg", "Fähigkeit: 200 kg")
        (['20'], ['200'])
        >>> changed_numbers("230 billion yen", "230亿日元")
        (['230'], ['23000000000'])
    """
    source, target = in_digits(source), in_digits(target)
    source_counts, target_counts = Counter(numbers(source)), Counter(numbers(target))
    only_source = list((source_counts - target_counts).elements())
    only_target = list((target_counts - source_counts).elements())
    # Another reading of a number helps only if the other side has a number for it to equal.
    if not (only_source and only_target):
        # 08:00 is 8, but `8 Uhr 00` is 8 and 0: only a zero is left.
        are_zeros = {*only_source, *only_target} == {"0"}
        if are_zeros and _same_digits(_read(source, False), _read(target, False)):
            return [], []
        return only_source, only_target
    # Few pairs come here, so it may take time to read the words beside their numbers.
    names_day_half = any(DAY_HALF.search(text) for text in (source, target))
    return _unmatched(_read(source, names_day_half), _read(target, names_day_half))


def _unmatched(source: list[Number], target: list[Number]) -> tuple[list[str], list[str]]:
    """Match the numbers of two sides, and return the values of the unmatched numbers of each side.

    1. Numbers with the same readings on both sides are matched.
    2. A source number is matched with a target number that shares a reading with it, greedily. Source numbers with the
       fewest readings choose first, because they have less choice; each chooses the target number with the fewest
       readings.
    3. If the unmatched numbers of both sides have the same digits, only cut differently into numbers, such as `80, 000`
       and 80000 (:func:`_same_digits`), all are matched.
    """
    source_left, target_left = _subtracted(source, target), _subtracted(target, source)  # 1
    for number in sorted(source_left, key=lambda number: len(number.readings)):
        sharing = [other for other in target_left if number.readings & other.readings]
        if sharing:
            source_left.remove(number)
            target_left.remove(min(sharing, key=lambda other: len(other.readings)))  # 2
    if _same_digits(source_left, target_left):
        return [], []  # 3
    return [number.value for number in source_left], [number.value for number in target_left]


def _subtracted(numbers: Sequence[Number], others: Sequence[Number]) -> list[Number]:
    """Remove the numbers that the other side has with the same readings, each as often as the other side has it."""
    of_others = Counter(number.readings for number in others)
    remaining = []
    for number in numbers:
        if of_others[number.readings]:
            of_others[number.readings] -= 1
        else:
            remaining.append(number)
    return remaining


def _same_digits(source: Sequence[Number], target: Sequence[Number]) -> bool:
    """Whether both sides have the same digits, only cut differently into numbers, by one of two comparisons.

    1. All digits in a row are the same: 80000 for both `80, 000` and 80000.
    2. All whole numbers in a row are the same: 8 and 30 for both 08:30 and `8 Uhr 30`, whose digits 0830 and 830
       differ by a zero.
    """
    source_digits = "".join(number.digits for number in source)
    target_digits = "".join(number.digits for number in target)
    source_wholes = [whole for number in source for whole in number.wholes]
    target_wholes = [whole for number in target for whole in number.wholes]
    return source_digits == target_digits or source_wholes == target_wholes  # 1, 2


def _read(text: str, names_day_half: bool) -> list[Number]:
    """Read the numbers of a text with their readings.

    ``names_day_half``: One side of the pair, or both, names a half of the day, so hours may be counted by halves.
    """
    text = without_placeholders(text)
    short_years = {match.span("year") for match in SHORT_YEAR.finditer(text, overlapped=True)}
    found = []
    for match in _NUMBER.finditer(text):
        for value, digits, (start, end) in _values(match):
            readings = {value}
            if len(digits) <= _LONGEST:
                readings |= _scaled(value, _western(text[start:end]), powers_after(text, end))
                readings |= _years(text, start, digits, (start, end) in short_years)
                readings |= _with_a_half(text, value, end)
                readings |= _hours(text, start, end) if names_day_half else set()
            wholes: tuple[str, ...] = (value,)
            parts = _DIGITS.findall(_western(text[start:end]))
            # With separators of thousands, value and digits are the same: 1000 of 1,000. With decimals or minutes they
            # differ: 8.3 and 0830 of 08:30, 8 and 0800 of 08:00.
            if len(parts) > 1 and value != digits:
                wholes = (value.partition(".")[0], _whole(parts[-1]))
            found.append(Number(value, frozenset(readings), digits, wholes))
    return found


def _values(match: regex.Match[str]) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield the value, digits and place of each number in digits with marks between them.

    1. Groups of thousands are one number: 1000 of 1,000.
    2. Two parts are a number with decimals, or hours with minutes: 11.3 of 11:30. Groups of three digits between the
       first and the last part belong to the whole number: 1234567.8 of 1.234.567,8.
    3. Other parts are numbers of their own: 28, 8 and 2009 of the date 28.08.2009.
    """
    written = _western(match.group())
    parts = list(_DIGITS.finditer(written))
    texts = [part.group() for part in parts]
    digits = "".join(texts)
    if _GROUPED.fullmatch(written):
        yield digits, digits, match.span()  # 1
        return
    if len(parts) > 2 and all(len(text) == 3 for text in texts[1:-1]):
        texts = ["".join(texts[:-1]), texts[-1]]
    if len(texts) == 2:
        yield _decimal(*texts), digits, match.span()  # 2
        return
    for part in parts:
        place = match.start() + part.start(), match.start() + part.end()
        yield _whole(part.group()), part.group(), place  # 3


def _western(text: str) -> str:
    """Replace digits of other scripts by 0 to 9."""
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


def _whole(digits: str) -> str:
    """A whole number without zeros in front: 7 of 07."""
    return digits.lstrip("0") or "0"


def _decimal(whole: str, decimals: str) -> str:
    """Join a whole number and its decimals, without zeros at their ends: 7.5 of 07 and 50."""
    decimals = decimals.rstrip("0")
    return f"{_whole(whole)}.{decimals}" if decimals else _whole(whole)


def _scaled(value: str, written: str, powers: Sequence[int]) -> set[str]:
    """Multiply a number by each power of ten: 2.4 with 6 is 2400000.

    1.375 of "1.375 billion" is read as 1375 by itself, because it has three decimals; here it may be either.
    """
    values = [value]
    if (decimal := _THREE_DECIMALS.fullmatch(written)) is not None:
        values.append(_decimal(decimal[1], decimal[2]))
    scaled = set()
    for one in values:
        whole, _, decimals = one.partition(".")
        for power in powers:
            shifted = decimals.ljust(power, "0")
            scaled.add(_decimal(whole + shifted[:power], shifted[power:]))
    return scaled


def _years(text: str, start: int, digits: str, is_short: bool) -> set[str]:
    """The full years that a number may mean: 1897, 1997 and 2097 of '97, 2008 of 平成20年."""
    years = set()
    if is_short:
        years = {str(century + int(digits)) for century in _CENTURIES}
    if (era := ERA_BEFORE.search(text, max(0, start - 3), start)) is not None:
        years.add(str(YEAR_BEFORE_ERA[era[1]] + int(digits)))
    return years


def _with_a_half(text: str, value: str, end: int) -> set[str]:
    """The number and a half, if 半 stands behind the next word: 2.3 (2:30) of 2時半, 2.5 of 2時間半."""
    if HALF_PAST.match(text, end):
        return {f"{value}.3"}
    return {f"{value}.5"} if HALF_UNIT.match(text, end) else set()


def _hours(text: str, start: int, end: int) -> set[str]:
    """Return a time of the day and the same time twelve hours away; nothing for a number that is not a time.

    A time has minutes after a colon or h (9:30, 9h30), or a word of the clock beside it (5 p.m., 下午5, 17 Uhr, the 2
    of "2 to 4 p.m."). Only for pairs that name a half of the day: without, 9:30 and 21:30 are two times.
    """
    written = _western(text[start:end])
    clock = _CLOCK.fullmatch(written)
    if clock is None or int(clock["hour"]) > _LAST_HOUR:
        return set()
    beside = (
        DAY_HALF_AFTER.match(text, end) or HOUR_AFTER.match(text, end) or RANGE_BEFORE_DAY_HALF.match(text, end)
        or DAY_HALF_BEFORE.search(text, max(0, start - LONGEST_DAY_HALF), start)
    )  # fmt: skip
    if not (beside or _WITH_MINUTES.fullmatch(written)):
        return set()
    minutes = clock["minute"] or ("3" if HALF_PAST.match(text, end) else "")
    hours = {int(clock["hour"]) % 12, int(clock["hour"]) % 12 + 12}
    return {_decimal(str(hour), minutes) for hour in hours}
