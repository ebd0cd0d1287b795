"""Rules of `isoglot filter` on real pairs: near languages found, altered numbers found, and clean pairs dropped.

    python benchmarks/filter_rules.py DATA [--short]

`--short` prints how often the language of short texts is taken for another one, by their letters, and nothing else.

DATA/parallel has English beside other languages, `en-ru.tsv.gz`. Prints rows of docs/results/filter.md.
"""

from __future__ import annotations

import argparse
import gzip
import random
import time
from itertools import pairwise
from pathlib import Path

import regex

from isoglot.corpus.filter.identify import LanguageIdentifier, weighted_letters
from isoglot.corpus.filter.numbers import changed_numbers, numbers

LEAST = (0.2, 0.5, 0.8, 1.0)
LETTERS = (8, 12, 16, 20, 28)
CLOSE = {"fr": "es", "ru": "uk", "fi": "et", "hi": "mr", "zh": "ja", "de": "nl", "pl": "cs", "ja": "zh", "uk": "ru",
         "ar": "fa"}  # fmt: skip


def sampled(data: Path, language: str, count: int) -> list[tuple[str, str]]:
    """Pairs of English and a language."""
    with gzip.open(data / "parallel" / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    pairs = [(row[0], row[1]) for row in rows if len(row) > 1 and row[0] and row[1]]
    random.Random(0).shuffle(pairs)
    return pairs[:count]


def altered(text: str, generator: random.Random) -> str:
    """The text with another digit at one position."""
    digit = generator.choice(list(regex.finditer(r"\p{Nd}", text)))
    changed = generator.choice([char for char in "123456789" if int(char) != int(digit.group())])
    return text[: digit.start()] + changed + text[digit.end() :]


def short_texts(data: Path, language: str, fewest: int, most: int) -> list[str]:
    """At most 400 different texts of a language with so many letters, from all of its file."""
    texts = []
    for _, text in sampled(data, language, 10**9):
        if fewest <= weighted_letters(text) < most:
            texts.append(text)
    return list(dict.fromkeys(texts))[:400]


def print_short(data: Path) -> None:
    """Of texts of a language and of one close to it, how many the threshold 0.8 drops, in %."""
    for language, close in CLOSE.items():
        identifier = LanguageIdentifier(language, ["en"], fewest_letters=0)
        cells = []
        for bounds in pairwise(LETTERS):
            for code in (language, close):
                texts = short_texts(data, code, *bounds)
                dropped = float((identifier.likelihoods(texts) < 0.8).mean())
                cells.append(f"{100 * dropped:.1f}" if len(texts) >= 100 else "")
        print(f"| {language} | {close} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print both tables, or that of short texts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    data = given.data
    if given.short:
        print_short(data)
        return
    for expected, languages in (
        ("ru", ("ru", "uk", "bg", "be", "mk")), ("de", ("de", "nl", "da", "fr")), ("it", ("it", "es")),
        ("hi", ("hi", "mr")),
    ):  # fmt: skip
        identifier = LanguageIdentifier(expected, ["en"])
        for language in languages:
            texts = [target for _, target in sampled(data, language, 300)]
            identifier.likelihoods(texts)  # loads the models
            start = time.perf_counter()
            likelihoods = identifier.likelihoods(texts)
            speed = sum(len(text.split()) for text in texts) / (time.perf_counter() - start)
            kept = " | ".join(str(int((likelihoods >= least).sum())) for least in LEAST)
            print(f"| {expected} | {language} | {kept} | {speed:,.0f} |", flush=True)
    for language in ("de", "fr", "ru", "ar", "hi", "ta", "tr", "zh", "ja"):
        pairs, generator = sampled(data, language, 5000), random.Random(1)
        dropped = [list(map(bool, changed_numbers(*pair))) for pair in pairs]
        with_numbers = [pair for pair in pairs if numbers(pair[0]) and numbers(pair[1])][:300]
        wrong = [(source, altered(target, generator)) for source, target in with_numbers]
        caught = sum(all(changed_numbers(*pair)) for pair in wrong)
        print(
            f"| {language} | {len(pairs):,} | {sum(map(all, dropped))} | {sum(map(any, dropped))} "
            f"| {caught} of {len(wrong)} |"
        )


if __name__ == "__main__":
    main()
