"""Families of wordings behind the paraphrase pairs: nearly the same words, the same meaning or another."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

from isoglot.synthetic.pairs import Family, Statement, paraphrase_patterns
from isoglot.synthetic.patterns import Pattern

NAMES = {"X": "name.first", "Y": "name.first"}


def _voice() -> Family:
    """Active and passive, adverbials in front and at the end, roles swapped or not."""
    statements = []
    for x, y in permutations("XY", 2):
        for core in (
            f"(nsubj {x}.form) V.past (obj {y}.form)",
            f"(nsubj:pass {y}.form) was V.part (obl by {x}.form)",
        ):
            orders = (
                f"{core} (obl near T.form) (obl on D.form) .",
                f"(obl on D.form) , {core} (obl near T.form) .",
                f"(obl near T.form) , {core} (obl on D.form) .",
                f"{core} (obl on D.form) (obl near T.form) .",
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
                f"(nsubj X.form) V.past (obj {first} (conj and {second})) .",
                f"(nsubj:pass {first} (conj and {second})) were V.part (obl by X.form) .",
                f"(nsubj X.form) V.past (obj (cc:preconj both) {first} (conj and {second})) .",
                f"(nsubj:pass (cc:preconj both) {first} (conj and {second})) were V.part (obl by X.form) .",
            )
            statements += [Statement(text, (a, b)) for text in texts]
    variables = {"X": "name.first", "V": "verb.handle", "N": "noun.thing", "O": "noun.thing", "A": "adj.thing",
                 "B": "adj.thing"}  # fmt: skip
    return Family("properties", variables, statements)


def _journeys() -> Family:
    """From here to there, or back."""
    statements = []
    for here, there in permutations("TU", 2):
        a, b = f"(obl from {here}.form)", f"(obl to {there}.form)"
        texts = (
            f"(nsubj X.form) V.past {a} {b} (obl on D.form) .",
            f"(nsubj X.form) V.past {b} {a} (obl on D.form) .",
            f"(obl on D.form) , (nsubj X.form) V.past {a} {b} .",
            f"(obl on D.form) , (nsubj X.form) V.past {b} {a} .",
        )
        statements += [Statement(text, (here,)) for text in texts]
    variables = {"X": "name.first", "V": "verb.motion", "T": "name.town", "U": "name.town", "D": "weekday"}
    return Family("journeys", variables, statements)


def _gifts() -> Family:
    """Who gave, who got: double object, *to*, and passives."""
    statements = []
    for x, y in permutations("XY", 2):
        texts = (
            f"(nsubj {x}.form) V.past (iobj {y}.form) (obj the A.pos N.sg) .",
            f"(nsubj {x}.form) V.past (obj the A.pos N.sg) (obl to {y}.form) .",
            f"(nsubj:pass the A.pos N.sg) was V.part (obl to {y}.form) (obl by {x}.form) .",
            f"(nsubj:pass {y}.form) was V.part (obj the A.pos N.sg) (obl by {x}.form) .",
        )
        for text in texts:
            statements += [Statement(text, (x,)), Statement(f"(obl on D.form) , {text}", (x, "day"))]
    variables = {**NAMES, "V": "verb.give", "N": "noun.thing", "A": "adj.thing", "D": "weekday"}
    return Family("gifts", variables, statements)


def _sequences() -> Family:
    """What came first: before, after, and the order of clauses."""
    events = ("(nsubj X.form) V.past (obj the N.sg)", "(nsubj Y.form) W.past (obj the O.sg)")
    statements = []
    for first, second in permutations(events, 2):
        texts = (
            f"{first} (advcl before {second}) .",
            f"{second} (advcl after {first}) .",
            f"(advcl before {second}) , {first} .",
            f"(advcl after {first}) , {second} .",
        )
        statements += [Statement(text, (first,)) for text in texts]
    variables = {**NAMES, "V": "verb.handle", "W": "verb.handle", "N": "noun.thing", "O": "noun.furniture"}
    return Family("sequences", variables, statements)


def _deeds() -> Family:
    """Two people, two deeds: who did which to what, in either order, and joined in different ways."""
    statements = []
    for people, things in product((("X", "Y"), ("Y", "X")), (("N", "O"), ("O", "N"))):
        clauses = [
            f"(nsubj {p}.form) {v}.past (obj the {n}.sg)"
            for p, v, n in zip(people, ("V", "W"), things, strict=True)
        ]
        meaning = (people, things)
        for a, b in permutations(clauses, 2):
            texts = (f"{a} (conj and {b}) .", f"{a} (advcl , while {b}) .", f"(advcl while {a}) , {b} .")
            statements += [Statement(text, meaning) for text in texts]
    variables = {**NAMES, "V": "verb.handle", "W": "verb.handle", "N": "noun.thing", "O": "noun.thing"}
    return Family("deeds", variables, statements)


def _relatives() -> Family:
    """A relative clause or a second predicate: the same two facts, told around one person or the other."""
    statements = []
    for (y, z), (v, w) in product(permutations("YZ", 2), permutations("VW", 2)):
        meaning = (frozenset({(v, y), (w, z)}),)
        did, did_too = f"{v}.past (obj {y}.form)", f"{w}.past (obj {z}.form)"
        texts = (
            f"(nsubj X.form) {did} (conj and {did_too} (obl on D.form)) .",
            f"(nsubj X.form (acl:relcl , (nsubj who) {did} ,)) {did_too} (obl on D.form) .",
            f"(obl on D.form) , (nsubj X.form) {did} (conj and {did_too}) .",
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
        for link in ("(advcl when (nsubj they) met (obl near T.form))", "(conj and lived (obl near T.form))"):
            more = f"(nsubj {x}.form) was A.cmp (obl than {y}.form)"
            less = f"(nsubj {y}.form) was A.ant.cmp (obl than {x}.form)"
            if link.startswith("(advcl"):
                statements += [Statement(f"{core} {link} .", (x, "met")) for core in (more, less)]
                statements += [Statement(f"{link} , {core} .", (x, "met")) for core in (more, less)]
            else:
                statements += [Statement(f"{more} {link} .", (x, x)), Statement(f"{less} {link} .", (x, y))]
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
