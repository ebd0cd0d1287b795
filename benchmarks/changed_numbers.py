"""How many changed numbers `isoglot filter --numbers changed` finds, and how many clean pairs it drops.

    python benchmarks/changed_numbers.py DATA [--pairs 1000] [--changes 300] [--seed 1] [--show]

DATA/parallel has English beside other languages, `en-ru.tsv.gz`. One number of each translation is changed in one of
the ways of `CHANGES`, as typing errors, wrong matches of a translation memory and machine translation do. A number is
changed only if the English side writes it with the same digits, so that a reader sees the difference. Prints the tables
of docs/results/filter.md; --show prints the pairs on which the rule is wrong.
"""

from __future__ import annotations

import argparse
import gzip
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import regex

from isoglot.corpus.filter.numbers import changed_numbers

LANGUAGES = ("de", "fr", "es", "ru", "ar", "hi", "zh", "ja")
_NUMBER = regex.compile(r"\p{Nd}+(?:[.,:h'’٫٬．，：]\p{Nd}+)*(?![\p{Nd}月])")
"""The month in 7月 is left alone: English has a name for it."""
_GROUPED = regex.compile(r"[1-9]\d{0,2}(?:[.,'’]\d{3})+")

Pair = tuple[str, str]


def ten_times(digits: str) -> str:
    """5 -> 50."""
    return f"{digits}0"


def plus_2000(digits: str) -> str:
    """5 -> 2005."""
    return str(int(digits) + 2000)


def plus_12(digits: str) -> str:
    """5 -> 17."""
    return str(int(digits) + 12)


def appended_digit(digits: str) -> str:
    """5 -> 57."""
    return f"{digits}7"


def swapped_digits(digits: str) -> str | None:
    """1966 -> 1996: the last two neighbours that differ change places."""
    for place in reversed(range(1, len(digits))):
        if digits[place - 1] != digits[place] and (place > 1 or digits[place] != "0"):
            return f"{digits[: place - 1]}{digits[place]}{digits[place - 1]}{digits[place + 1 :]}"
    return None


def other_digit(digits: str) -> str:
    """15 -> 16."""
    return f"{digits[:-1]}{(int(digits[-1]) + 1) % 10}" if digits != "9" else "8"


def removed_zero(digits: str) -> str | None:
    """50 -> 5."""
    return digits[:-1] if len(digits) > 1 and digits.endswith("0") else None


def removed_digit(digits: str) -> str | None:
    """1966 -> 166."""
    return f"{digits[0]}{digits[2:]}" if len(digits) > 2 and digits[1] != "0" else None


CHANGES: dict[str, Callable[[str], str | None]] = {
    "times ten": ten_times,
    "plus 2000": plus_2000,
    "plus 12": plus_12,
    "a digit appended": appended_digit,
    "two digits swapped": swapped_digits,
    "last digit changed": other_digit,
    "a zero removed": removed_zero,
    "a digit removed": removed_digit,
}
"""What happens to the digits of a whole number, or to those before the decimals; None where it cannot happen."""


def western(text: str) -> str:
    """The text with the digits 0 to 9 in place of those of other scripts."""
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


def significant(number: str) -> str:
    """The digits of a number without separators and without zeros at either end."""
    return str(regex.sub(r"\D", "", western(number))).strip("0")


def changed(number: str, change: Callable[[str], str | None]) -> str | None:
    """A number as text, changed before its decimals; thousands stay grouped, and digits stay in their script."""
    plain, zero = western(number), ord(number[0]) - unicodedata.decimal(number[0])
    if _GROUPED.fullmatch(plain):
        mark = regex.search(r"\D", plain)
        result = change(regex.sub(r"\D", "", plain))
        result = result and f"{int(result):,}".replace(",", mark[0] if mark else ",")
    else:
        whole = regex.match(r"\d+", plain)
        result = change(whole[0]) if whole else None
        result = result and whole and f"{result}{plain[whole.end() :]}"
    if result is None or significant(result) == significant(number) == "":
        return None
    return "".join(chr(zero + int(char)) if char in "0123456789" else char for char in result)


def changed_pairs(
    pairs: Sequence[Pair], kind: str, generator: random.Random, limit: int | None = None
) -> Iterator[Pair]:
    """Pairs of which one number of the target was changed, at most one of each pair."""
    made = 0
    for source, target in pairs:
        there = Counter(significant(match.group()) for match in _NUMBER.finditer(source))
        here = Counter(significant(match.group()) for match in _NUMBER.finditer(target))
        # Where a number occurs more often in the translation, changing one of them takes nothing away.
        places = [
            match
            for match in _NUMBER.finditer(target)
            if 0 < here[significant(match.group())] <= there[significant(match.group())]
            and significant(match.group())
        ]
        if not places:
            continue
        place = generator.choice(places)
        number = changed(place.group(), CHANGES[kind])
        if number is None or number == place.group():
            continue
        yield source, target[: place.start()] + number + target[place.end() :]
        made += 1
        if made == limit:
            return


def sampled(data: Path, language: str, seed: int) -> list[Pair]:
    """Pairs of English and a language in a random order."""
    with gzip.open(data / "parallel" / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    pairs = [(row[0], row[1]) for row in rows if len(row) > 1 and row[0] and row[1]]
    random.Random(seed).shuffle(pairs)
    return pairs


def dropped(pair: Pair) -> bool:
    """Whether `--numbers changed` drops a pair."""
    return all(changed_numbers(*pair))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=1000, help="clean pairs with a number, of each language")
    parser.add_argument("--changes", type=int, default=300, help="changes of each kind in each language")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the pairs on which the rule is wrong")
    given = parser.parse_args()
    found, made = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    rows = []
    for language in LANGUAGES:
        pairs = sampled(given.data, language, given.seed)
        numbered = [pair for pair in pairs if _NUMBER.search(pair[0]) and _NUMBER.search(pair[1])]
        wrong = [pair for pair in numbered[: given.pairs] if dropped(pair)]
        rows.append(f"| {language} | {min(len(numbered), given.pairs):,} | {len(wrong)} |")
        if given.show:
            print(*(f"dropped\t{source}\t{target}" for source, target in wrong), sep="\n")
        for kind in CHANGES:
            generator = random.Random(f"{given.seed} {language} {kind}")
            for pair in changed_pairs(numbered, kind, generator, given.changes):
                made[language, kind] += 1
                found[language, kind] += dropped(pair)
                if given.show and not dropped(pair):
                    print(f"{kind}\t{pair[0]}\t{pair[1]}")
    print("| change |", " | ".join(LANGUAGES), "| all |")
    print("|---|" + "---|" * (len(LANGUAGES) + 1))
    for kind in CHANGES:
        cells = [f"{found[language, kind]} of {made[language, kind]}" for language in LANGUAGES]
        share = _percent(sum(found[language, kind] for language in LANGUAGES),
                         sum(made[language, kind] for language in LANGUAGES))  # fmt: skip
        print(f"| {kind} |", " | ".join(cells), f"| {share} |")
    shares = [
        _percent(
            sum(found[language, kind] for kind in CHANGES), sum(made[language, kind] for kind in CHANGES)
        )
        for language in LANGUAGES
    ]
    print("| all |", " | ".join(shares), f"| {_percent(found.total(), made.total())} |")
    print("\n| language | clean pairs with numbers | dropped |\n|---|---|---|", *rows, sep="\n")


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


if __name__ == "__main__":
    main()
