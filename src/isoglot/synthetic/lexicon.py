"""The miniature world's lexicon: pools of lexemes with their forms and topics, the most frequent first.

A *pool* has the lexemes that can stand in one kind of place (``noun.animal``, ``verb.give``, ``name.last``). A
lexeme has named forms (``sg``, ``pl``, ``past`` …). Names with a period are relations, whose forms are of another word:
``hyper.sg`` of *dog* is *animal*, and ``ant.pos`` of *big* is *small*. Words of two pools, such as *walk* the noun and
*walk* the verb, are two lexemes. The stems are in ``lexicon.txt``, one section a pool; inflection, derivation and
compounds make a few thousand words of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import chain, product

import numpy as np

from isoglot.core.seeding import seed_for

TOPICS = (
    "farm", "garden", "sea", "town", "politics", "science", "art", "sport", "home", "school", "health", "travel",
    "work", "office", "kitchen",
)  # fmt: skip
"""Topics; a sentence or story has one, and its words are more frequent there."""

CLOSED = {"noun.material", "weekday", "month", "number.pair", "number.word", "number.digits", "number.year"}
"""Closed lists, which ``size`` does not cut."""

MASS = {"noun.mass", "noun.material"}
"""Nouns without a plural."""

NAMES = 420
"""Surnames, and as many towns; a third of them are both."""

_WITHOUT_ADVERB = {"unknown", "awake", "asleep", "shy", "tall", "bald", "hostile", "single", "married", "rich", "poor",
                   "old", "young", "ill", "busy", "elderly", "famous", "tired", "bored", "worried", "excited",
                   "talented", "popular", "lonely", "hardworking"}  # fmt: skip
_NOISE = 0.6
"""Standard deviation of a seed's change of a word's frequency rank, on a scale of logarithms."""
_SMALLEST_POOL = 10
_CONSONANT_Y = re.compile(r".*[^aeiou]y")
_DOUBLING = re.compile("[^aeiou]*[aeiou][^aeiouwxy]")
"""Stems that double their last letter before a vowel: *big*, *run*."""


@dataclass(frozen=True)
class Lexeme:
    """One word with its forms and topic."""

    forms: dict[str, str]
    """Its own forms (``sg``, ``pl``), and forms of related words, whose names have a period (``hyper.sg``)."""
    topic: str | None = None
    rank: int = 0
    """Place in its section of the lexicon file, common words first."""


Lexicon = dict[str, list[Lexeme]]
"""Pools by name, of each the most frequent lexemes first."""


def build_lexicon(seed: int, *, size: int | None = None) -> Lexicon:
    """Make the lexicon: read the stems, inflect them, order them by a seeded frequency, and cut to ``size``.

    The order of draws is part of what a seed means. A new property of lexemes needs a generator of its own, with a seed
    such as ``seed_for(seed, "property", name)`` for each pool. A property of words is drawn once for all pools, with
    ``seed_for(seed, "property")``: *gold* is in two pools, as a material and as a mass noun, and is one word.

    Args:
        seed: Seed of frequency ranks (common words stay common), names, and topics of words that have none in the file.
        size: Approximate number of open-class lexemes to keep, at least ten in a pool; all by default.
    """
    pools = _pools(seed)
    open_class_count = sum(len(pool) for name, pool in pools.items() if name not in CLOSED)
    share = 1.0 if size is None else min(1.0, size / open_class_count)
    lexicon: Lexicon = {}
    for name, pool in pools.items():
        rng = np.random.default_rng(seed_for(seed, "lexicon", name))
        # Noise on the logarithm of ranks: ranks 1 and 2 may change places, ranks 1 and 100 hardly ever do.
        noisy_ranks = np.log1p([lexeme.rank for lexeme in pool]) + _NOISE * rng.standard_normal(len(pool))
        ordered = [pool[i] for i in np.argsort(noisy_ranks, kind="stable")]
        if name not in CLOSED:
            ordered = ordered[: max(_SMALLEST_POOL, round(share * len(ordered)))]
        # A topic is drawn for every lexeme, and used where the file gives none.
        drawn_topics = [TOPICS[number] for number in rng.integers(len(TOPICS), size=len(ordered))]
        lexicon[name] = []
        for lexeme, drawn_topic in zip(ordered, drawn_topics, strict=True):
            lexicon[name].append(replace(lexeme, topic=lexeme.topic or drawn_topic))
    return lexicon


def _pools(seed: int) -> Lexicon:
    """Make all lexemes: first the lexemes of the file, in its order, then adverbs, names and numbers."""
    pools: Lexicon = {}
    # The file: adverbs of manner and names need its pools.
    text = resources.files("isoglot.synthetic").joinpath("lexicon.txt").read_text(encoding="utf-8")
    for section in text.split("\n@")[1:]:
        _add_section(pools, section)
    # Adverbs of manner, from adjectives for people: happy, happily.
    adjectives = [lexeme.forms["pos"] for lexeme in (*pools["adj.human"], *pools["adj.person"])]
    manner = [word for word in adjectives if word not in _WITHOUT_ADVERB and not word.endswith("ly")]
    _add(pools, "adv.manner", _single_forms(map(to_adverb, manner)))
    # Names.
    for name, names in _names(pools, seed).items():
        _add(pools, name, _single_forms(names))
    first_names = (*pools["name.first.f"], *pools["name.first.m"])
    _add(pools, "name.first", [lexeme.forms for lexeme in first_names])
    # Numbers.
    _add(pools, "number.digits", _single_forms(map(str, (*range(13, 100), *range(100, 1000, 50)))))
    _add(pools, "number.year", _single_forms(map(str, range(2020, 1890, -1))))
    _add(pools, "number.word", _single_forms(map(number_word, range(2, 60))))
    pools["number.pair"] = []
    for low in range(3, 40):
        for high in range(low + 2, 41):  # at least two apart, so that "more than" and "at least" never meet
            pools["number.pair"].append(Lexeme({"low": number_word(low), "high": number_word(high)}))
    return pools


def _add_section(pools: Lexicon, section: str) -> None:
    """Add the lexemes of a section of the file: the pool and settings in its first line, then its entries.

    The head of ``lexicon.txt`` explains the entries of each kind of word.
    """
    heading, *lines = section.splitlines()
    name, *settings = heading.split()
    options = dict(part.split("=", 1) for part in settings)
    entries: list[str] = []
    for line in lines:
        if not line.startswith("#"):
            entries += line.split()
    if name == "compound":  # the entry `farm-` with the head `house`: farmhouse
        heads = options["head"].split("/")  # singular, and plural if it is irregular
        entries = ["/".join(entry + head for head in heads) for entry in entries]
        name = options["pool"]
    topic = options.get("topic")
    if name in MASS:
        _add(pools, name, ({"sg": entry} for entry in entries), topic)
    elif name.startswith("noun."):
        forms_of_hypernym = inflect_noun(options["hypernym"]) if "hypernym" in options else {}
        hypernyms = {f"hyper.{form}": word for form, word in forms_of_hypernym.items()}
        _add(pools, name, (inflect_noun(entry) | hypernyms for entry in entries), topic)
    elif name.startswith("verb."):
        _add(pools, name, map(inflect_verb, entries))
    elif name.startswith("adj."):
        adjectives = (_adjectives(entry, graded="graded" in options) for entry in entries)
        _add(pools, name, chain.from_iterable(adjectives))
    else:
        _add(pools, name, _single_forms(entries))


def _add(pools: Lexicon, name: str, entries: Iterable[dict[str, str]], topic: str | None = None) -> None:
    """Append lexemes with these forms to a pool, except words that it has already.

    The first form of a lexeme is the word by which it is recognised. Ranks begin again at 0 in each section.
    """
    pool = pools.setdefault(name, [])
    known_words = {next(iter(lexeme.forms.values())) for lexeme in pool}
    for rank, forms in enumerate(entries):
        word = next(iter(forms.values()))
        if word not in known_words:
            known_words.add(word)
            pool.append(Lexeme(forms, topic, rank))


def _single_forms(words: Iterable[str]) -> Iterator[dict[str, str]]:
    """The forms of words that have only one."""
    return ({"form": word} for word in words)


def _adjectives(entry: str, *, graded: bool) -> list[dict[str, str]]:
    """The forms of ``word``, or of both words of ``word=antonym``."""
    word, _, antonym = entry.partition("=")
    with_opposite = [(word, antonym), (antonym, word)] if antonym else [(word, "")]
    adjectives = []
    for positive, opposite in with_opposite:
        forms = {"pos": positive, "ant.pos": opposite} if opposite else {"pos": positive}
        if graded:
            forms |= {"cmp": suffixed(positive, "er"), "sup": suffixed(positive, "est")}
            forms |= {"ant.cmp": suffixed(opposite, "er")}
        adjectives.append(forms)
    return adjectives


def _names(pools: Lexicon, seed: int) -> dict[str, list[str]]:
    """Make surnames and towns of the same parts, so that a name alone does not give its type away.

    1. A third of the surnames are names of towns too.
    2. Two thirds of the surnames have endings like the shared names (``tail``), but are names of people alone.
    3. The other towns have endings of towns (``town``), or, if these are too few, endings like surnames.

    The pools of parts (``name.part.head`` and so on) are removed from ``pools``.
    """
    parts = {}
    for part in ("head", "tail", "town"):
        parts[part] = [lexeme.forms["form"] for lexeme in pools.pop(f"name.part.{part}")]
    rng = np.random.default_rng(seed_for(seed, "names"))
    # Names that a person or a town can have, in random order. Three stretches of them are used. Each begins at a
    # multiple of NAMES, and the first two are shorter than that, so no two overlap.
    either = rng.permutation(_joined(parts["head"], parts["tail"]))
    shared_count = NAMES // 3
    shared = either[:shared_count]
    of_people_alone = either[NAMES : NAMES + (NAMES - shared_count)]
    of_towns_alone = either[2 * NAMES :]
    with_town_endings = rng.permutation(_joined(parts["head"], parts["town"]))
    surnames = [*shared, *of_people_alone]  # 1, 2
    place_names = [*shared, *with_town_endings, *of_towns_alone][:NAMES]  # 1, 3
    return {
        "name.last": rng.permutation(surnames).tolist(),
        "name.town": rng.permutation(place_names).tolist(),
    }


def _joined(heads: Sequence[str], tails: Sequence[str]) -> list[str]:
    """Join each head to each tail, except where a letter would be doubled between them."""
    return [head + tail for head, tail in product(heads, tails) if head[-1] != tail[0]]


_UNITS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
          "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def number_word(value: int) -> str:
    """An integer below 100 in words: 42 → ``forty-two``."""
    if value < 20:
        return _UNITS[value]
    return _TENS[value // 10] + (f"-{_UNITS[value % 10]}" if value % 10 else "")


def inflect_noun(entry: str) -> dict[str, str]:
    """``sg`` and ``pl`` of a lexicon entry ``word`` or ``singular/plural``."""
    singular, _, irregular = entry.partition("/")
    return {"sg": singular, "pl": irregular or plural(singular)}


def inflect_verb(entry: str) -> dict[str, str]:
    """``base``, ``s``, ``past``, ``part`` and ``ing`` of an entry ``word``, ``word*`` or ``base/past/participle``."""
    first, *irregular = entry.split("/")
    base = first.rstrip("*")
    stem = base + base[-1] if first.endswith("*") else base  # travel*: travelled, travelling
    past, part = irregular or [suffixed(stem, "ed")] * 2
    third = base + "es" if base.endswith("o") else plural(base)
    return {"base": base, "s": third, "past": past, "part": part, "ing": suffixed(stem, "ing")}


def plural(noun: str) -> str:
    """The regular plural, and a verb's third person: ``box`` → ``boxes``, ``baby`` → ``babies``, ``day`` → ``days``."""
    if _CONSONANT_Y.fullmatch(noun):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def to_adverb(adjective: str) -> str:
    """The adverb in -ly: ``happy`` → ``happily``, ``gentle`` → ``gently``."""
    if re.fullmatch(r".*[^aeiou]le", adjective):
        return adjective[:-1] + "y"
    if adjective.endswith("y"):
        return adjective[:-1] + "ily"
    return adjective + {"ic": "ally", "ll": "y"}.get(adjective[-2:], "ly")


def suffixed(stem: str, ending: str) -> str:
    """A stem with ``ed``, ``ing``, ``er`` or ``est``: ``carry`` → ``carried``, ``big`` → ``bigger``."""
    if _DOUBLING.fullmatch(stem):
        return stem + stem[-1] + ending
    if ending == "ing":
        if stem.endswith("ie"):
            return stem[:-2] + "ying"
        silent = stem.endswith("e") and not stem.endswith(("ee", "ye", "oe"))
        return stem[:-1] + "ing" if silent else stem + "ing"
    if stem.endswith("e"):
        return stem + ending[1:]
    return stem[:-1] + "i" + ending if _CONSONANT_Y.fullmatch(stem) else stem + ending
