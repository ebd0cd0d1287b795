"""The miniature world's lexicon: pools of lexemes with their forms and themes, the most frequent first.

A *pool* is a set of lexemes that can stand in one kind of slot (``noun.animal``, ``verb.give``, ``name.last``). A
lexeme has named forms (``sg``, ``pl``, ``past`` …); a relation is a form too, so that ``hyper.sg`` of *dog* is *animal*
and ``ant.pos`` of *big* is *small*. The stems are in ``lexicon.txt``; morphology, derivation and compounds make a few
thousand words of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import resources

import numpy as np

from isoglot.seeding import seed_for

_VOWELS = "aeiou"

TOPICS = (
    "farm", "garden", "sea", "town", "politics", "science", "art", "sport", "home", "school", "health", "travel",
    "work", "office", "kitchen",
)  # fmt: skip
"""Themes; a sentence or paragraph has one, and its words are more frequent there."""

SPARE = {"noun.material", "weekday", "month", "number.pair", "number.word", "number.digits", "number.year"}
"""Closed lists, which ``size`` does not cut."""

MASS = {"noun.mass", "noun.material"}
"""Nouns without a plural."""

SURNAMES, TOWNS = 420, 420
_UNPRODUCTIVE = {"unknown", "awake", "asleep", "shy", "tall", "bald", "hostile", "single", "married", "rich", "poor",
                 "old", "young", "ill", "busy", "elderly", "famous", "tired", "bored", "worried", "excited", "talented",
                 "popular", "lonely", "hardworking"}  # fmt: skip


@dataclass(frozen=True)
class Lexeme:
    """One word with its forms and theme."""

    forms: dict[str, str]
    topic: str | None = None
    rank: int = 0
    """Place in its section of the lexicon file, common words first."""


Lexicon = dict[str, list[Lexeme]]
"""Pools by name, of each the most frequent lexemes first."""


def build_lexicon(seed: int, *, size: int | None = None) -> Lexicon:
    """Read the stems, derive, order by a seeded frequency, and cut to ``size``.

    Args:
        seed: it shuffles frequency ranks (mildly, so that common words stay common), names and loose themes.
        size: about how many open-class lexemes to keep (at least ten in a pool); default all.
    """
    raw = _raw_pools(seed)
    total = sum(len(v) for name, v in raw.items() if name not in SPARE)
    share = 1.0 if size is None else min(1.0, size / total)
    lexicon: Lexicon = {}
    for name, lexemes in raw.items():
        rng = np.random.default_rng(seed_for(seed, "lexicon", name))
        jitter = np.log1p([lex.rank for lex in lexemes]) + 0.6 * rng.standard_normal(len(lexemes))
        ordered = [lexemes[i] for i in np.argsort(jitter, kind="stable")]
        if name not in SPARE:
            ordered = ordered[: max(10, round(share * len(ordered)))]
        loose = rng.integers(len(TOPICS), size=len(ordered))
        lexicon[name] = [
            lex if lex.topic else replace(lex, topic=TOPICS[loose[i]]) for i, lex in enumerate(ordered)
        ]
    return lexicon


def _sections() -> Iterator[tuple[str, dict[str, str], list[str]]]:
    text = resources.files("isoglot.synthetic").joinpath("lexicon.txt").read_text(encoding="utf-8")
    for section in text.split("\n@")[1:]:
        heading, *lines = section.splitlines()
        name, *options = heading.split()
        words = [word for line in lines if not line.startswith("#") for word in line.split()]
        yield name, dict(part.split("=", 1) for part in options), words


def _raw_pools(seed: int) -> Lexicon:
    pools: Lexicon = {}
    names: dict[str, list[str]] = {}
    for name, options, words in _sections():
        if name == "compound":
            heads = options["head"].split("/")
            entries = ["/".join(w + head for head in heads) for w in words if not w.endswith("-")]
            _add(pools, options["pool"], _nouns(entries, options))
        elif name.startswith("noun."):
            _add(pools, name, _nouns(words, options, mass=name in MASS))
        elif name.startswith("verb."):
            _add(pools, name, [Lexeme(inflect_verb(w)) for w in words])
        elif name.startswith("adj."):
            _add(pools, name, _adjectives(words, options))
        elif name.startswith(("name.", "org.")):
            names[name] = words
        else:
            _add(pools, name, [Lexeme({"form": w}) for w in words])
    _derive(pools)
    _names(pools, names, seed)
    _numbers(pools)
    return pools


def _add(pools: Lexicon, name: str, lexemes: list[Lexeme]) -> None:
    """Append to a pool, leaving out words that it has."""
    pool = pools.setdefault(name, [])
    known = {next(iter(lex.forms.values())) for lex in pool}
    for rank, lexeme in enumerate(lexemes):
        word = next(iter(lexeme.forms.values()))
        if word not in known:
            known.add(word)
            pool.append(replace(lexeme, rank=rank))


def _nouns(words: list[str], options: dict[str, str], *, mass: bool = False) -> list[Lexeme]:
    found = []
    for word in words:
        forms = {"sg": word} if mass else inflect_noun(word)
        if not mass and "hypernym" in options:
            above = inflect_noun(options["hypernym"])
            forms |= {"hyper.sg": above["sg"], "hyper.pl": above["pl"]}
        found.append(Lexeme(forms, options.get("topic")))
    return found


def _adjectives(words: list[str], options: dict[str, str]) -> list[Lexeme]:
    """Lexemes of ``word`` or of ``word=antonym``; graded classes compare with -er and -est."""
    found = []
    for left, _, right in (entry.partition("=") for entry in words):
        for word, opposite in ((left, right), (right, left)) if right else ((left, ""),):
            forms = {"pos": word, "ant.pos": opposite} if opposite else {"pos": word}
            if "graded" in options:
                forms |= {"cmp": degree(word, "er"), "sup": degree(word, "est")}
                forms["ant.cmp"] = degree(opposite, "er")
            found.append(Lexeme(forms))
    return found


def _derive(pools: Lexicon) -> None:
    """Adverbs in -ly and nouns in -ness, from the stems."""
    words = [lex.forms["pos"] for source in ("adj.human", "adj.person") for lex in pools[source]]
    words = [w for w in words if w not in _UNPRODUCTIVE and not w.endswith("ly")]
    _add(pools, "adv.manner", [Lexeme({"form": to_adverb(w)}) for w in words])
    quality = [
        w for w in words if w.endswith(("y", "ful", "less", "d", "n", "ish", "m", "k", "rude", "polite"))
    ]
    nouns = [w[:-1] + "iness" if w.endswith("y") else w + "ness" for w in quality]
    _add(pools, "noun.quality", [Lexeme({"sg": n}) for n in nouns])


def _names(pools: Lexicon, names: dict[str, list[str]], seed: int) -> None:
    """Surnames and towns are composed of the same parts, so that a name alone does not give its type away."""
    rng = np.random.default_rng(seed_for(seed, "names"))
    heads, tails = names.pop("name.part.head"), names.pop("name.part.tail")
    both = [h + t for h in heads for t in tails if h[-1] != t[0]]
    towns = [h + t for h in heads for t in names["name.part.town"] if h[-1] != t[0]]
    del names["name.part.town"]
    shuffled = [both[i] for i in rng.permutation(len(both))]
    shared = shuffled[: SURNAMES // 3]
    surnames = shared + shuffled[SURNAMES : 2 * SURNAMES - len(shared)]
    own = [towns[i] for i in rng.permutation(len(towns))]
    places = shared + (own + shuffled[2 * SURNAMES :])[: TOWNS - len(shared)]
    _add(pools, "name.last", [Lexeme({"form": surnames[i]}) for i in rng.permutation(len(surnames))])
    _add(pools, "name.town", [Lexeme({"form": places[i]}) for i in rng.permutation(len(places))])
    for name, words in names.items():
        _add(pools, name, [Lexeme({"form": w}) for w in words])
    _add(pools, "name.first", [*pools["name.first.f"], *pools["name.first.m"]])


_UNITS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
          "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def number_word(value: int) -> str:
    """An integer below 100 in words: 42 → ``forty-two``."""
    if value < 20:
        return _UNITS[value]
    return _TENS[value // 10] + (f"-{_UNITS[value % 10]}" if value % 10 else "")


def _numbers(pools: Lexicon) -> None:
    """Digits, years, and pairs ``low < high`` at least two apart (so that "more than" and "at least" never meet)."""
    _add(pools, "number.digits", [Lexeme({"form": str(n)}) for n in (*range(13, 100), *range(100, 1000, 50))])
    _add(pools, "number.year", [Lexeme({"form": str(n)}) for n in range(2020, 1890, -1)])
    pairs = [(a, b) for a in range(3, 40) for b in range(a + 2, 41)]
    _add(pools, "number.word", [Lexeme({"form": number_word(n)}) for n in range(2, 60)])
    pools["number.pair"] = [Lexeme({"low": number_word(a), "high": number_word(b)}) for a, b in pairs]


def plural(noun: str) -> str:
    """The regular plural: ``box`` → ``boxes``, ``baby`` → ``babies``, ``day`` → ``days``."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def inflect_noun(entry: str) -> dict[str, str]:
    """``sg`` and ``pl`` of a lexicon entry ``word`` or ``singular/plural``."""
    singular, _, irregular = entry.partition("/")
    return {"sg": singular, "pl": irregular or plural(singular)}


def inflect_verb(entry: str) -> dict[str, str]:
    """``base``, ``s``, ``past``, ``part`` and ``ing`` of an entry ``word``, ``word*`` or ``base/past/participle``."""
    first, *irregular = entry.split("/")
    base = first.rstrip("*")
    stem = base + base[-1] if first.endswith("*") or _doubles(base, irregular) else base
    if irregular:
        past, part = irregular
    else:
        past = part = _with_ed(stem)
    return {
        "base": base,
        "s": base + "es" if base.endswith("o") else plural(base),
        "past": past,
        "part": part,
        "ing": _with_ing(stem),
    }


def _doubles(base: str, irregular: list[str]) -> bool:
    """Irregular one-syllable verbs that end consonant-vowel-consonant double in the -ing form: run, sit, cut."""
    if not irregular or len(base) < 3:
        return False
    ends = base[-1] not in _VOWELS + "wxy" and base[-2] in _VOWELS
    return (ends and sum(c in _VOWELS for c in base) == 1) or base in {"begin", "forget"}


def _with_ed(stem: str) -> str:
    if stem.endswith("e"):
        return stem + "d"
    if stem.endswith("y") and stem[-2] not in _VOWELS:
        return stem[:-1] + "ied"
    return stem + "ed"


def _with_ing(stem: str) -> str:
    if stem.endswith("ie"):
        return stem[:-2] + "ying"
    if stem.endswith("e") and not stem.endswith(("ee", "ye", "oe")):
        return stem[:-1] + "ing"
    return stem + "ing"


def degree(adjective: str, ending: str) -> str:
    """The comparative (``er``) or superlative (``est``): ``big`` → ``bigger``, ``happy`` → ``happiest``."""
    if adjective.endswith("e"):
        return adjective + ending[1:]
    if adjective.endswith("y"):
        return adjective[:-1] + "i" + ending
    short = len(adjective) <= 4 and sum(c in _VOWELS for c in adjective) == 1
    if short and adjective[-1] not in _VOWELS + "wxy" and adjective[-2] in _VOWELS:
        return adjective + adjective[-1] + ending
    return adjective + ending


def to_adverb(adjective: str) -> str:
    """The adverb in -ly: ``happy`` → ``happily``, ``gentle`` → ``gently``."""
    if adjective.endswith("le") and adjective[-3] not in _VOWELS:
        return adjective[:-1] + "y"
    if adjective.endswith("y"):
        return adjective[:-1] + "ily"
    if adjective.endswith("ic"):
        return adjective + "ally"
    if adjective.endswith("ll"):
        return adjective + "y"
    return adjective + "ly"
