"""Numbers and placeholders that a translation has to keep."""

import unicodedata
from collections import Counter
from collections.abc import Iterable

import regex

_PLACEHOLDER = regex.compile(
    r"""
    \{\{[^{}]*\}\} | \$\{[^{}]+\} | \{[\w.-]*(?:[:,!][^{}\s]*)?\}                         # {{name}} ${name} {0:N2} {}
    | (?<![\p{Nd}%])%(?:\d+\$|\(\w+\))?[-+\#0]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[sdiufFeEgGxXoc@]  # %s %1$d %(name)s
    | (?<!\w)%\p{L}\w*%                                                                   # %name%
    | </?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>                      # <ph id="1"/>
    """,
    regex.VERBOSE,
)
_TAG = regex.compile(r"<(/?)([\w:.-]+)")
_TAG_ID = regex.compile(r"\b(?:id|x)\s*=\s*[\"']([^\"']*)")
_SPACES = "\u0020\u00a0\u2009\u202f"
_NUMBER = regex.compile(
    rf"(?<!\p{{Nd}})\p{{Nd}}{{1,3}}(?:[{_SPACES}]\p{{Nd}}{{3}})+(?!\p{{Nd}})(?:[.,٫]\p{{Nd}}+)?"
    r"|\p{Nd}+(?:[.,:h'’_٫٬．，：]\p{Nd}+)*(?!\p{Nd}*[月월])"
)
"""But for the numbers of months, which other languages name."""
_SEPARATOR = regex.compile(r"\P{Nd}")
_GROUPED = regex.compile(r"\d{1,3}(?:[^\d:h]\d{3})+|\d{1,2}(?:,\d\d)+,\d{3}")
"""Thousands, or lakhs as in 1,00,000."""
_HALF_OF_DAY = regex.compile(r"\p{Nd}\s*[ap]\.?\s?m\b|[上下]午|午[前後]|오[전후]", regex.IGNORECASE)
_SCALE = regex.compile(
    r"[万萬亿億千百兆만억조천]|thousand|tausend|tusen|[mb]il+i|mrd|mld|ml[nd]|mio\b|mil\b|milj|mille\b|т[иы]с|тися|м[лі][нр]|м[иі]л|lakh|"
    r"crore|tys|tis[íi]c|लाख|करोड़|हज़ार|हजार|ஆயிரம்|லட்ச|ألف|آلاف|مليون|مليار|\p{Nd}\s?[kmb]\b|bn\b|bin\b|هزار|میل",
    regex.IGNORECASE,
)
"""Words for powers of ten, which one language writes where another has zeros."""


def placeholders(text: str, tags: Iterable[str] = ()) -> Counter[str]:
    """Placeholders of a text and in-line tags beside it, with how often each occurs; of tags the name and number count.

    Example:
        >>> sorted(placeholders('Hi {0}, <ph  id="1" />%1$s of 50% %s'))
        ['%1$s', '%s', '<ph 1>', '{0}']
    """
    return Counter(map(_named, [*_PLACEHOLDER.findall(text), *tags]))


def _named(placeholder: str) -> str:
    if (tag := _TAG.match(placeholder)) is None:
        return placeholder
    number = _TAG_ID.search(placeholder)
    return f"<{tag[1]}{tag[2].lower()}{f' {number[1]}' if number else ''}>"


def numbers(text: str) -> list[str]:
    """Numbers of a text, of digits in any script.

    They have no thousands separators, a point before decimals and minutes, and no zeros that say nothing. A date is
    several numbers.

    Example:
        >>> numbers("1,000 und 1.000, ١٢٫٥٠ %, 28.08.2009, 11:00, {0} %2$s")
        ['1000', '1000', '12.5', '28', '8', '2009', '11']
    """
    values: list[str] = []
    for match in _NUMBER.finditer(_PLACEHOLDER.sub("\ufffc", text)):
        digits = "".join(
            str(unicodedata.decimal(char)) if char.isdecimal() else char for char in match.group()
        )
        parts = _SEPARATOR.split(digits)
        if _GROUPED.fullmatch(digits):
            parts = ["".join(parts)]
        elif len(parts) > 2 and all(len(part) == 3 for part in parts[1:-1]):
            parts = ["".join(parts[:-1]), parts[-1]]
        whole, *rest = (part.lstrip("0") or "0" for part in parts)
        if len(parts) == 2:
            decimals = parts[1].rstrip("0")
            values.append(f"{whole}.{decimals}" if decimals else whole)
        else:
            values += [whole, *rest]
    return values


def changed_numbers(source: str, target: str) -> tuple[list[str], list[str]]:
    """Numbers of each side without a counterpart on the other.

    Years may lack their century, hours be counted by halves of the day, and words stand for zeros (2.4 million).

    Example:
        >>> changed_numbers("1,250 people in 1987", "1.350 Menschen im Jahr 1987")
        (['1250'], ['1350'])
        >>> changed_numbers("2.4 million since '97, at 9:30 p.m.", "240万，1997年，21:30")
        ([], [])
    """
    first, second = Counter(numbers(source)), Counter(numbers(target))
    left, right = list((first - second).elements()), list((second - first).elements())
    if not (left and right):
        return left, right
    if _same_digits(left, right):
        return [], []
    context = f"{source}\n{target}"
    for number in list(left):
        match = next((candidate for candidate in right if _equal(number, candidate, context)), None)
        if match is not None:
            left.remove(number)
            right.remove(match)
    return left, right


def _same_digits(left: list[str], right: list[str]) -> bool:
    """Whether the sides differ only in where numbers end (`15 30`, 15.30; `80, 000`, 80000)."""
    first, second = ("".join(side).replace(".", "") for side in (left, right))
    return first == second or (len(left) != len(right) and first.replace("0", "") == second.replace("0", ""))


def _equal(left: str, right: str, context: str) -> bool:
    """Whether two numbers that are written in different ways may be equal; ``context`` is the text of both sides."""
    (hour, _, minute), (second_hour, _, second_minute) = left.partition("."), right.partition(".")
    if len(hour) <= 4 and len(second_hour) <= 4:
        difference = abs(int(hour) - int(second_hour))
        is_year = {len(hour), len(second_hour)} in ({1, 4}, {2, 4}) and not (minute or second_minute)
        if is_year and difference % 100 == 0:
            return True
        if minute == second_minute and difference == 12 and (minute or _HALF_OF_DAY.search(context)):
            return True
        if not difference and minute + second_minute == "3" and "半" in context:
            return True
    same_digits = left.replace(".", "").strip("0") == right.replace(".", "").strip("0")
    return same_digits and _SCALE.search(context) is not None
