"""A bitext of five lines, and models that are taught by it."""

from __future__ import annotations

from isoglot.aligners.statistical.bitext import encode
from isoglot.aligners.statistical.hmm_training import estimate

SOURCE = """der hund schläft
die katze schläft
der hund sieht die katze
ein hund
eine katze schläft und ein hund sieht die katze""".splitlines()


TARGET = """the dog sleeps
the cat sleeps
the dog sees the cat
a dog
a cat sleeps and a dog sees the cat""".splitlines()


def words(lines):
    return [line.split() for line in lines]


def train_hmm(options, source=SOURCE, target=TARGET):
    sides = encode(words(source)), encode(words(target))
    return sides, estimate(*sides, options)
