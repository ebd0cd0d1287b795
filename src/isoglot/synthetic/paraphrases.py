"""Families of wordings behind the paraphrase pairs: nearly the same words, the same meaning or another."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

from isoglot.synthetic.pairs import Family, Statement, paraphrase_patterns
from isoglot.synthetic.patterns import Pattern

__all__ = ["paraphrase_families", "wording_patterns"]

NAMES = {"X": "name.first", "Y": "name.first"}


def _voice() -> Family:
    """Active and passive, adverbials in front and at the end, roles swapped or not."""
    statements = []
    for x, y in permutations("XY", 2):
        for core in (f"{x}.form V.past {y}.form", f"{y}.form was V.part by {x}.form"):
            orders = (
                f"{core} near T.form on D.form .",
                f"on D.form , {core} near T.form .",
                f"near T.form , {core} on D.form .",
                f"{core} on D.form near T.form .",
            )
            statements += [Statement(text, (x, y)) for text in orders]
    return Family("voice", {**NAMES, "V": "verb.meet", "T": "name.town", "D": "weekday"}, statements)


def _properties() -> Family:
    """Which of two things had which property; either may come first, in either voice."""
    statements = []
    for a, b in permutations("AB", 2):
        one, two = f"the {a}.pos N.sg", f"the {b}.pos O.sg"
        for first, second in ((one, two), (two, one)):
            texts = (
                f"X.form V.past {first} and {second} .",
                f"{first} and {second} were V.part by X.form .",
                f"X.form V.past both {first} and {second} .",
                f"both {first} and {second} were V.part by X.form .",
            )
            statements += [Statement(text, (a, b)) for text in texts]
    variables = {"X": "name.first", "V": "verb.handle", "N": "noun.thing", "O": "noun.thing", "A": "adj.thing",
                 "B": "adj.thing"}  # fmt: skip
    return Family("properties", variables, statements)


def _journeys() -> Family:
    """From here to there, or back."""
    statements = []
    for here, there in permutations("TU", 2):
        a, b = f"from {here}.form", f"to {there}.form"
        texts = (
            f"X.form V.past {a} {b} on D.form .",
            f"X.form V.past {b} {a} on D.form .",
            f"on D.form , X.form V.past {a} {b} .",
            f"on D.form , X.form V.past {b} {a} .",
        )
        statements += [Statement(text, (here,)) for text in texts]
    variables = {"X": "name.first", "V": "verb.motion", "T": "name.town", "U": "name.town", "D": "weekday"}
    return Family("journeys", variables, statements)


def _gifts() -> Family:
    """Who gave, who got: double object, *to*, and passives."""
    statements = []
    for x, y in permutations("XY", 2):
        texts = (
            f"{x}.form V.past {y}.form the A.pos N.sg .",
            f"{x}.form V.past the A.pos N.sg to {y}.form .",
            f"the A.pos N.sg was V.part to {y}.form by {x}.form .",
            f"{y}.form was V.part the A.pos N.sg by {x}.form .",
        )
        for text in texts:
            statements += [Statement(text, (x,)), Statement(f"on D.form , {text}", (x, "day"))]
    variables = {**NAMES, "V": "verb.give", "N": "noun.thing", "A": "adj.thing", "D": "weekday"}
    return Family("gifts", variables, statements)


def _sequences() -> Family:
    """What came first: before, after, and the order of clauses."""
    events = ("X.form V.past the N.sg", "Y.form W.past the O.sg")
    statements = []
    for first, second in permutations(events, 2):
        texts = (
            f"{first} before {second} .",
            f"{second} after {first} .",
            f"before {second} , {first} .",
            f"after {first} , {second} .",
        )
        statements += [Statement(text, (first,)) for text in texts]
    variables = {**NAMES, "V": "verb.handle", "W": "verb.handle", "N": "noun.thing", "O": "noun.furniture"}
    return Family("sequences", variables, statements)


def _deeds() -> Family:
    """Two people, two deeds: who did which to what, in either order, and joined in different ways."""
    statements = []
    for people, things in product((("X", "Y"), ("Y", "X")), (("N", "O"), ("O", "N"))):
        clauses = [
            f"{p}.form {v}.past the {n}.sg" for p, v, n in zip(people, ("V", "W"), things, strict=True)
        ]
        meaning = (people, things)
        for a, b in permutations(clauses, 2):
            texts = (f"{a} and {b} .", f"{a} , while {b} .", f"while {a} , {b} .")
            statements += [Statement(text, meaning) for text in texts]
    variables = {**NAMES, "V": "verb.handle", "W": "verb.handle", "N": "noun.thing", "O": "noun.thing"}
    return Family("deeds", variables, statements)


def _relatives() -> Family:
    """A relative clause or a second predicate: the same two facts, told around one person or the other."""
    statements = []
    for (y, z), (v, w) in product(permutations("YZ", 2), permutations("VW", 2)):
        meaning = (frozenset({(v, y), (w, z)}),)
        texts = (
            f"X.form {v}.past {y}.form and {w}.past {z}.form on D.form .",
            f"X.form , who {v}.past {y}.form , {w}.past {z}.form on D.form .",
            f"on D.form , X.form {v}.past {y}.form and {w}.past {z}.form .",
        )
        # "on Monday" may belong to both deeds or to one: only wordings in which it belongs to the same are alike.
        keys = ("both", (w, z), "both")
        statements += [Statement(text, (*meaning, key)) for text, key in zip(texts, keys, strict=True)]
    variables = {**NAMES, "Z": "name.first", "V": "verb.meet", "W": "verb.meet", "D": "weekday"}
    return Family("relatives", variables, statements)


def _comparisons() -> Family:
    """Taller and shorter: the same order of two people, or the reverse."""
    statements = []
    for x, y in permutations("XY", 2):
        for link in ("when they met near T.form .", "and lived near T.form ."):
            more = f"{x}.form was A.cmp than {y}.form"
            less = f"{y}.form was A.ant.cmp than {x}.form"
            if link.startswith("when"):
                place = link[:-2]
                statements += [
                    Statement(f"{core} {link}", (x, "met")) for core in (more, less)
                ] + [Statement(f"{place} , {core} .", (x, "met")) for core in (more, less)]  # fmt: skip
            else:
                statements += [Statement(f"{more} {link}", (x, x)), Statement(f"{less} {link}", (x, y))]
    variables = {**NAMES, "A": "adj.compare", "T": "name.town"}
    return Family("comparisons", variables, statements)


def paraphrase_families() -> list[Family]:
    """All families of paraphrase pairs."""
    return [
        _voice(),
        _properties(),
        _journeys(),
        _gifts(),
        _sequences(),
        _deeds(),
        _relatives(),
        _comparisons(),
    ]


@cache
def wording_patterns() -> tuple[Pattern, ...]:
    """Patterns of all families; each family has the same weight."""
    return tuple(p for family in paraphrase_families() for p in paraphrase_patterns(family))
