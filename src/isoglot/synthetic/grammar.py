"""The grammar: random derivations of English-like sentences as dependency trees.

The rules are in ``grammar.txt``. Derivations are sampled once for a world; each becomes a pattern whose words are drawn
anew for every sentence.
"""

import re
from functools import cache
from importlib import resources
from random import Random

from isoglot.synthetic.wordings import Pattern, parse_wording

PLURALS = 0.3
"""Share of plurals where a rule is free in its number."""
_LONGEST = 40
_SYMBOL = re.compile(r"<([\w-]+)(?: (sg|pl))?(?: ([\w.]+))?>")

Rules = dict[str, tuple[list[str], list[float]]]


@cache
def read_rules() -> Rules:
    """Expansions of each symbol and their weights."""
    text = resources.files("isoglot.synthetic").joinpath("grammar.txt").read_text(encoding="utf-8")
    rules: Rules = {}
    for section in text.split("\n@")[1:]:
        symbol, *lines = section.splitlines()
        expansions, weights = rules.setdefault(symbol, ([], []))
        for weight, _, line in (line.partition(" ") for line in lines if line):
            wordings = line.split(" | ")
            expansions += wordings
            weights += [float(weight) / len(wordings)] * len(wordings)
    return rules


def expand(random: Random, symbol: str, number: str | None = None, argument: str | None = None) -> str:
    """A random derivation of a symbol: a line with its tree."""
    rules, number = read_rules(), number or ("pl" if random.random() < PLURALS else "sg")
    names = (f"{symbol} {number}", f"{symbol} {argument}", symbol)
    expansions, weights = next(rules[name] for name in names if name in rules)
    (line,) = random.choices(expansions, weights)
    line = line.replace("#", number).replace("$", argument or "").replace(" >", ">")
    return _SYMBOL.sub(lambda match: expand(random, *match.groups()), line)


def sample_patterns(count: int, seed: int) -> list[Pattern]:
    """Sentence patterns of ``count`` random derivations; sentences longer than 40 words are left out."""
    random, patterns = Random(seed), list[Pattern]()
    while len(patterns) < count:
        variables: dict[str, str] = {}
        words = parse_wording(expand(random, "sentence"), variables)
        if len(words) <= _LONGEST:
            patterns.append(Pattern(tuple(variables.values()), (words,)))
    return patterns
