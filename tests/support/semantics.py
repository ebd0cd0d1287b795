"""A reader of the miniature world's inference sentences, written apart from the generator.

It parses the plain text with regular expressions and evaluates it in random models made of individuals, events, counts
or heights. It knows the families' wording and the lexicon, and nothing of how labels were made.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from isoglot.synthetic.lexicon import number_word
from isoglot.synthetic.world import World

Reading = Callable[[Any], bool]
NUMBERS = {number_word(n): n for n in range(1, 100)}
BOUNDS: dict[str, Callable[[int, int], bool]] = {
    "more than": int.__gt__, "fewer than": int.__lt__, "at least": int.__ge__, "at most": int.__le__,
    "exactly": int.__eq__,
}  # fmt: skip


class Reader:
    """Reads pairs of sentences of one world."""

    def __init__(self, world: World) -> None:
        pools = world.lexicon
        nouns = [
            x.forms for n, p in pools.items() if n.startswith("noun.") for x in p if "hyper.sg" in x.forms
        ]
        self.above = {f[k] for f in nouns for k in ("hyper.sg", "hyper.pl")}
        self.opposites = {(x.forms["cmp"], x.forms["ant.cmp"]) for x in pools["adj.compare"]}

    def read(self, first: str, second: str) -> tuple[Reading, Reading, list[Any]] | None:
        """Readings of both sentences and the models to evaluate them in; None if the family is not known here."""
        for parse, models in (
            (self.quantified, crowds), (self.counted, counts), (self.compared, heights), (self.coordinated, facts),
            (self.roles, events),
        ):  # fmt: skip
            readings = [parse(s[0].lower() + s[1:].rstrip("."), (first, second)) for s in (first, second)]
            if all(readings):
                return readings[0], readings[1], list(models())  # type: ignore[return-value]
        return None

    def quantified(self, text: str, pair: tuple[str, str]) -> Reading | None:
        del pair
        found = re.fullmatch(
            r"(every|each|all|some|at least one|no|none of the|not every) ((?:\w+ )?)"
            r"(\w+) (did not )?(\w+)( in the \w+)?",
            text,
        )
        if not found:
            return None
        quantifier, adjective, noun, negated, _, place = found.groups()
        wide = noun in self.above

        def among(x: tuple[bool, bool, int]) -> bool:
            return (x[0] or wide) and (x[1] or not adjective)

        def does(x: tuple[bool, bool, int]) -> bool:
            done = x[2] == 2 if place else x[2] >= 1
            return not done if negated else done

        def holds(crowd: list[tuple[bool, bool, int]]) -> bool:
            chosen = [does(x) for x in crowd if among(x)]
            if quantifier in {"every", "each", "all"}:
                return all(chosen)
            if quantifier == "not every":
                return not all(chosen)
            return any(chosen) if quantifier in {"some", "at least one"} else not any(chosen)

        return holds

    def counted(self, text: str, pair: tuple[str, str]) -> Reading | None:
        del pair
        bounds = "|".join(BOUNDS)
        found = re.fullmatch(rf"\w+ \w+ ({bounds}) (\S+) (\w+)", text) or re.fullmatch(
            rf"({bounds}) (\S+) (\w+) were \w+ by \w+", text
        )
        if not found:
            return None
        bound, number, noun = found.groups()
        return lambda m: BOUNDS[bound](m[noun in self.above], NUMBERS[number])

    def compared(self, text: str, pair: tuple[str, str]) -> Reading | None:
        clauses = [re.fullmatch(r"(\w+) is (not )?(\w+) than (\w+)", c) for c in text.split(", and ")]
        if not all(clauses):
            return None
        scale = re.search(r"(\w+) than", pair[0])[1]
        names = sorted(set(re.findall(r"(\w+) is|than (\w+)", " ".join(pair))), key=str)
        people = sorted({(a or b).lower() for a, b in names})

        def holds(height: dict[int, int]) -> bool:
            for clause in clauses:
                one, no, word, other = clause.groups()
                assert word == scale or (word, scale) in self.opposites
                difference = height[people.index(one.lower())] - height[people.index(other.lower())]
                more = difference > 0 if word == scale else difference < 0
                if more == bool(no):
                    return False
            return True

        return holds

    def coordinated(self, text: str, pair: tuple[str, str]) -> Reading | None:
        people = sorted(
            {n for s in pair for n in re.findall(r"\b[A-Z]\w+", s[0].lower() + s[1:])} | _openers(pair)
        )
        lower = [p.lower() for p in people]
        forms = (
            (r"(?:both )?(\w+) and (\w+) \w+", lambda a, b: a and b),
            (r"(\w+) \w+, and so did (\w+)", lambda a, b: a and b),
            (r"(\w+) or (\w+) \w+", lambda a, b: a or b),
            (r"at least one of (\w+) and (\w+) \w+", lambda a, b: a or b),
            (r"neither (\w+) nor (\w+) \w+", lambda a, b: not a and not b),
            (r"(\w+) did not \w+, and neither did (\w+)", lambda a, b: not a and not b),
            (r"(\w+) \w+, but (\w+) did not", lambda a, b: a and not b),
            (r"(\w+) \w+, but not (\w+)", lambda a, b: a and not b),
            (r"only one of (\w+) and (\w+) \w+", lambda a, b: a != b),
            (r"it was not (\w+) who \w+", lambda a: not a),
            (r"it was (\w+) who \w+", lambda a: a),
            (r"(\w+) did not \w+", lambda a: not a),
            (r"(\w+) \w+", lambda a: a),
        )
        for pattern, meaning in forms:
            found = re.fullmatch(pattern, text)
            if found and all(g.lower() in lower for g in found.groups()):
                places = [lower.index(g.lower()) for g in found.groups()]
                return lambda m, f=meaning, at=places: bool(f(*(m[i] for i in at)))
        return None

    def roles(self, text: str, pair: tuple[str, str]) -> Reading | None:
        forms = (
            (r"it is false that (\w+) \w+ (\w+)", False, "ab"), (r"it was (\w+) who \w+ (\w+)", True, "ab"),
            (r"(\w+) did not \w+ (\w+)", False, "ab"), (r"(\w+) was not \w+ by (\w+)", False, "ba"),
            (r"(\w+) was never \w+ by (\w+)", False, "ba"), (r"(\w+) never \w+ (\w+)", False, "ab"),
            (r"(\w+) was \w+ by (\w+)", True, "ba"), (r"(\w+) \w+ (\w+)", True, "ab"),
        )  # fmt: skip
        core = re.fullmatch(r"(.*?)( near \w+)?( on \w+day)?", text)
        for pattern, positive, order in forms:
            found = re.fullmatch(pattern, core[1])
            if found:
                one, other = (g.lower() for g in (found.groups() if order == "ab" else found.groups()[::-1]))
                way, near, day = one < other, bool(core[2]), bool(core[3])
                return lambda m: any(w == way and n >= near and d >= day for w, n, d in m) == positive
        return None


def _openers(pair: tuple[str, str]) -> set[str]:
    """Names that open a sentence."""
    known = {"both", "at", "neither", "only", "it"}
    return {s.split()[0].rstrip(",") for s in pair if s.split()[0].lower() not in known}


def crowds() -> Iterator[list[tuple[bool, bool, int]]]:
    chance = random.Random(1)
    for size in range(1, 6):
        for _ in range(200):
            crowd = [(chance.random() < 0.5, chance.random() < 0.5, chance.randrange(3)) for _ in range(size)]
            if chance.random() < 0.5:  # crowds that agree are rare by chance, and decide "every" and "no"
                crowd = [(n, a, crowd[0][2]) for n, a, _ in crowd]
            if any(n and a for n, a, _ in crowd):
                yield crowd


def counts() -> Iterator[tuple[int, int]]:
    yield from ((n, h) for n in range(45) for h in range(n, 46))


def heights() -> Iterator[tuple[int, int, int]]:
    yield from ((a, b, c) for a in range(3) for b in range(3) for c in range(3))


def facts() -> Iterator[tuple[bool, ...]]:
    yield from ((bool(i & 1), bool(i & 2), bool(i & 4), bool(i & 8)) for i in range(16))


def events() -> Iterator[list[tuple[bool, bool, bool]]]:
    kinds = [(w, n, d) for w in (False, True) for n in (False, True) for d in (False, True)]
    yield from ([k for i, k in enumerate(kinds) if bits >> i & 1] for bits in range(256))


def label_of(first: Reading, second: Reading, models: list[Any]) -> str:
    """What the models say."""
    seen = {second(m) for m in models if first(m)}
    return (
        {(True,): "entailment", (False,): "contradiction"}.get(tuple(seen), "neutral")
        if seen
        else "impossible"
    )
