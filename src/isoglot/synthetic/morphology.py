"""English inflection for the miniature world: regular rules, with irregular forms written out in the lexicon."""

_VOWELS = "aeiou"


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
    vowels = sum(c in _VOWELS for c in base)
    ends = base[-1] not in _VOWELS + "wxy" and base[-2] in _VOWELS
    one = vowels == 1 and ends
    return one or base in {"begin", "forget"}


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


def _degree(adjective: str, ending: str) -> str:
    if adjective.endswith("e"):
        return adjective + ending[1:]
    if adjective.endswith("y"):
        return adjective[:-1] + "i" + ending
    short = len(adjective) <= 4 and sum(c in _VOWELS for c in adjective) == 1
    if short and adjective[-1] not in _VOWELS + "wxy" and adjective[-2] in _VOWELS:
        return adjective + adjective[-1] + ending
    return adjective + ending


def comparative(adjective: str) -> str:
    """The synthetic comparative: ``big`` → ``bigger``, ``happy`` → ``happier``."""
    return _degree(adjective, "er")


def superlative(adjective: str) -> str:
    """The synthetic superlative: ``big`` → ``biggest``, ``happy`` → ``happiest``."""
    return _degree(adjective, "est")


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
