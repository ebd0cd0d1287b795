"""Real sentence pairs with planted noise of fifteen kinds, and what `isoglot filter` knows of each of them.

    python benchmarks/planted_noise.py DATA OUT [--languages fr,ru] [--clean 400] [--noise 25]

For each language writes OUT/en-XX.jsonl, one pair a line: its kind (`clean` or that of its noise), both texts and the
five scores of the packaged aligner and encoder. `benchmarks/filter_presets.py` reads these files, so that rules and
thresholds are compared without encoding the text again.

Clean pairs are news (WMT) and those pairs of Tatoeba that the packaged models were not trained on, of at most 25
English words. Noise is made from further pairs of the same sources, which are not among the clean ones:

unrelated         the target of another pair
similar           the target of the pair whose source shares the most words
cut_off           the second half of the target is missing
continued         the target is followed by that of another pair
copied            the source stands on both sides
half_translated   the second half of the target is the source's
close_language    the translation into a close language
other_script      the translation into a language of another script
exchanged         source and target have changed places
mojibake          the target's UTF-8 was read as Windows-1252
no_letters        the target consists of numbers and punctuation
number            one digit of the target is another one
markup            the target stands in tags, or ends with an address, that the source lacks
word_order        the words of the target are in a random order
misspelled        every fifth letter of the target is another letter of the sentence
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from isoglot.corpus.filter.filters import clean
from isoglot.formats.words import has_unspaced
from isoglot.mining.filter_pairs import filter_pairs

CHOSEN = ("fr", "ru", "zh", "fi", "hi")
"""Languages on whose pairs the values of the presets were chosen."""
REPORTED = ("de", "pl", "ja", "uk", "ar")
"""Languages that took no part in the choice."""
_CLOSE = {"fr": "es", "ru": "uk", "zh": "ja", "fi": "et", "hi": "mr", "de": "nl", "pl": "cs", "ja": "zh", "uk": "ru",
          "ar": "fa"}  # fmt: skip
_OTHER_SCRIPT = {"ru": "de", "uk": "de", "zh": "de", "ja": "de", "hi": "de", "ar": "de"}
_NUMBERS = ["+380 44 123-45-67", "| | | 77", "2011-04-30 18:05", "[1] [2] [3]", "12.5 % / 3", "..."]
_LONGEST = 25
"""Most words of an English sentence."""
_COMMON = 1000
"""Sentences that share a word which is too common to make them similar."""

Pair = tuple[str, str]


def unseen_pairs(data: Path, language: str) -> list[Pair]:
    """Pairs of English and a language that the packaged models were not trained on, in the order of the file."""
    pairs: dict[str, Pair] = {}
    with gzip.open(data / "parallel" / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            english, other, origin, held_out = line.rstrip("\n").split("\t")
            was_trained_on = origin.startswith(("tatoeba", "tico19")) and not held_out
            is_short = len(english.split()) <= _LONGEST
            if not was_trained_on and is_short and english and other:
                pairs.setdefault(english, (clean(english), clean(other)))
    return list(pairs.values())


def translations(data: Path, language: str) -> dict[str, str]:
    """English sentences and their translations, whatever their origin."""
    with gzip.open(data / "parallel" / f"en-{language}.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        return {clean(row[0]): clean(row[1]) for row in rows}


def halves(text: str) -> Pair:
    """The first and the second half of a text, by words, or by characters where words have no spaces."""
    if has_unspaced(text):
        middle = len(text) // 2
        return text[:middle], text[middle:]
    words = text.split()
    middle = len(words) // 2
    return " ".join(words[:middle]), " ".join(words[middle:])


class Noise:
    """Makes each kind of noise from clean pairs.

    A maker returns None for a pair of which its noise cannot be made, such as a changed number without a number.
    """

    def __init__(self, data: Path, language: str, pairs: list[Pair], generator: random.Random) -> None:
        self.pairs, self.generator = pairs, generator
        self._close = translations(data, _CLOSE[language])
        self._other_script = translations(data, _OTHER_SCRIPT.get(language, "ru"))
        self._with_word: dict[str, list[int]] = defaultdict(list)
        for number, (source, _) in enumerate(pairs):
            for word in set(source.casefold().split()):
                self._with_word[word].append(number)

    def kinds(self) -> dict[str, Callable[[int], Pair | None]]:
        """The makers by the name of their noise."""
        return {
            "unrelated": self.unrelated,
            "similar": self.similar,
            "cut_off": self.cut_off,
            "continued": self.continued,
            "copied": lambda row: (self.pairs[row][0],) * 2,
            "half_translated": self.half_translated,
            "close_language": lambda row: self._in(self._close, row),
            "other_script": lambda row: self._in(self._other_script, row),
            "exchanged": lambda row: (self.pairs[row][1], self.pairs[row][0]),
            "mojibake": self.mojibake,
            "no_letters": lambda row: (self.pairs[row][0], self.generator.choice(_NUMBERS)),
            "number": self.number,
            "markup": self.markup,
            "word_order": self.word_order,
            "misspelled": self.misspelled,
        }

    def _in(self, language: dict[str, str], row: int) -> Pair | None:
        source = self.pairs[row][0]
        return (source, language[source]) if source in language else None

    def _another(self, row: int) -> str:
        other = self.generator.randrange(len(self.pairs) - 1)
        return self.pairs[other + (other >= row)][1]

    def unrelated(self, row: int) -> Pair:
        """Make the kind `unrelated`."""
        return self.pairs[row][0], self._another(row)

    def similar(self, row: int) -> Pair | None:
        """Rare words weigh more, so that *the* and *is* do not decide."""
        source = self.pairs[row][0]
        shared: dict[int, float] = defaultdict(float)
        for word in sorted(set(source.casefold().split())):  # sums of floats in the same order in every run
            rows = self._with_word[word]
            if len(rows) > _COMMON:
                continue
            for other in rows:
                shared[other] += 1 / len(rows)
        shared.pop(row)
        if not shared:
            return None
        nearest = max(shared, key=lambda other: (shared[other], -other))
        return None if self.pairs[nearest][1] == self.pairs[row][1] else (source, self.pairs[nearest][1])

    def cut_off(self, row: int) -> Pair | None:
        """Make the kind `cut_off`."""
        source, target = self.pairs[row]
        return (source, halves(target)[0]) if len(source.split()) >= 6 else None

    def continued(self, row: int) -> Pair:
        """Make the kind `continued`."""
        source, target = self.pairs[row]
        return source, f"{target} {self._another(row)}"

    def half_translated(self, row: int) -> Pair | None:
        """Make the kind `half_translated`."""
        source, target = self.pairs[row]
        return (source, f"{halves(target)[0]} {halves(source)[1]}") if len(source.split()) >= 6 else None

    def mojibake(self, row: int) -> Pair | None:
        """Make the kind `mojibake`."""
        source, target = self.pairs[row]
        wrong = target.encode().decode("cp1252", errors="replace").replace("\ufffd", "")
        return None if wrong == target else (source, wrong)

    def number(self, row: int) -> Pair | None:
        """Make the kind `number`."""
        source, target = self.pairs[row]
        places = [place for place, char in enumerate(target) if char in "0123456789"]
        if not places or not any(char.isdigit() for char in source):
            return None
        place = self.generator.choice(places)
        digit = self.generator.choice([char for char in "123456789" if char != target[place]])
        return source, target[:place] + digit + target[place + 1 :]

    def markup(self, row: int) -> Pair:
        """Make the kind `markup`."""
        source, target = self.pairs[row]
        tagged = [
            f'<a href="index.php">{target}</a>',
            f"<p>{target}</p>",
            f"{target} http://www.example.com/?p=12",
        ]
        return source, self.generator.choice(tagged)

    def word_order(self, row: int) -> Pair | None:
        """Make the kind `word_order`."""
        source, target = self.pairs[row]
        words = list(target) if has_unspaced(target) else target.split()
        self.generator.shuffle(words)
        mixed = ("" if has_unspaced(target) else " ").join(words)
        return None if mixed == target or len(words) < 4 else (source, mixed)

    def misspelled(self, row: int) -> Pair | None:
        """Make the kind `misspelled`."""
        source, target = self.pairs[row]
        letters = [place for place, char in enumerate(target) if char.isalpha()]
        if len(letters) < 10:
            return None
        text = list(target)
        for place in self.generator.sample(letters, len(letters) // 5):
            text[place] = target[self.generator.choice(letters)]
        return source, "".join(text)


def noisy_corpus(data: Path, language: str, clean_count: int, noise_count: int) -> list[tuple[str, Pair]]:
    """Clean pairs and noise of each kind with their names, in a random order."""
    generator = random.Random(f"1 {language}")  # a seed of its own for each language
    pairs = unseen_pairs(data, language)
    generator.shuffle(pairs)
    rows = [("clean", pair) for pair in pairs[:clean_count]]
    spare = pairs[clean_count:] if len(pairs) - clean_count > 1000 else pairs
    noise = Noise(data, language, spare, generator)
    for kind, make in noise.kinds().items():
        made = (make(row) for row in generator.sample(range(len(spare)), len(spare)))
        usable = (pair for pair in made if pair is not None and all(pair))
        rows += [(kind, pair) for pair in islice(usable, noise_count)]
    generator.shuffle(rows)
    return rows


def main() -> None:
    """Write one file for each language."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--languages", default=",".join((*CHOSEN, *REPORTED)))
    parser.add_argument("--clean", type=int, default=400)
    parser.add_argument("--noise", type=int, default=25)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for language in given.languages.split(","):
        rows = noisy_corpus(given.data, language, given.clean, given.noise)
        began = time.process_time()
        judged = filter_pairs(
            [pair for _, pair in rows], model="box", languages=("en", language), progress=False
        )
        lines = []
        for (kind, pair), found in zip(rows, judged, strict=True):
            record = {"kind": kind, "source": pair[0], "target": pair[1], "scores": dict(found.scores)}
            lines.append(json.dumps({**record, "unknown": bool(found.reason)}, ensure_ascii=False) + "\n")
        (given.out / f"en-{language}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"en-{language}: {len(rows):,} pairs, {time.process_time() - began:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
