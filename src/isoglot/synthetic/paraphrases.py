"""Families of wordings behind the paraphrase pairs: nearly the same words, the same meaning or another."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations, product

from isoglot.synthetic.pairs import Family, Statement, balanced, paraphrase_pairs
from isoglot.synthetic.patterns import Pattern

Told = Iterator[tuple[object, str]]
"""Wordings, each with its meaning."""


def _voice() -> Told:
    """Active and passive, adverbials in front and at the end, roles swapped or not."""
    for x, y in permutations("XY"):
        active = f"(nsubj {x}.form) V.past (obj {y}.form)"
        for core in (active, f"(nsubj:pass {y}.form) was V.part (obl by {x}.form)"):
            yield x, f"{core} (obl near T.form) (obl on D.form) ."
            yield x, f"(obl on D.form) , {core} (obl near T.form) ."
            yield x, f"(obl near T.form) , {core} (obl on D.form) ."
            yield x, f"{core} (obl on D.form) (obl near T.form) ."


def _properties() -> Told:
    """Which of two things had which property; either may come first, in either voice."""
    for a, b in permutations("AB"):
        for first, second in permutations((f"the {a}.pos N.sg", f"the {b}.pos O.sg")):
            things = f"{first} (conj and {second})"
            yield a, f"(nsubj X.form) V.past (obj {things}) ."
            yield a, f"(nsubj:pass {things}) were V.part (obl by X.form) ."
            yield a, f"(nsubj X.form) V.past (obj (cc:preconj both) {things}) ."
            yield a, f"(nsubj:pass (cc:preconj both) {things}) were V.part (obl by X.form) ."


def _journeys() -> Told:
    """From here to there, or back."""
    for here, there in permutations("TU"):
        a, b = f"(obl from {here}.form)", f"(obl to {there}.form)"
        yield here, f"(nsubj X.form) V.past {a} {b} (obl on D.form) ."
        yield here, f"(nsubj X.form) V.past {b} {a} (obl on D.form) ."
        yield here, f"(obl on D.form) , (nsubj X.form) V.past {a} {b} ."
        yield here, f"(obl on D.form) , (nsubj X.form) V.past {b} {a} ."


def _gifts() -> Told:
    """Who gave, who got: double object, *to*, and passives."""
    for x, y in permutations("XY"):
        for text in (
            f"(nsubj {x}.form) V.past (iobj {y}.form) (obj the A.pos N.sg) .",
            f"(nsubj {x}.form) V.past (obj the A.pos N.sg) (obl to {y}.form) .",
            f"(nsubj:pass the A.pos N.sg) was V.part (obl to {y}.form) (obl by {x}.form) .",
            f"(nsubj:pass {y}.form) was V.part (obj the A.pos N.sg) (obl by {x}.form) .",
        ):
            yield x, text
            yield (x, "day"), f"(obl on D.form) , {text}"


def _sequences() -> Told:
    """What came first: before, after, and the order of clauses."""
    events = ("(nsubj X.form) V.past (obj the N.sg)", "(nsubj Y.form) W.past (obj the O.sg)")
    for first, second in permutations(events):
        yield first, f"{first} (advcl before {second}) ."
        yield first, f"{second} (advcl after {first}) ."
        yield first, f"(advcl before {second}) , {first} ."
        yield first, f"(advcl after {first}) , {second} ."


def _deeds() -> Told:
    """Two people, two deeds: who did which to what, in either order, and joined in different ways."""
    for people, things in product(("XY", "YX"), ("NO", "ON")):
        deeds = zip(people, "VW", things, strict=True)
        for a, b in permutations(f"(nsubj {p}.form) {v}.past (obj the {n}.sg)" for p, v, n in deeds):
            yield (people, things), f"{a} (conj and {b}) ."
            yield (people, things), f"{a} (advcl , while {b}) ."
            yield (people, things), f"(advcl while {a}) , {b} ."


def _relatives() -> Told:
    """A relative clause or a second predicate: the same two facts, centred on one person or the other."""
    for (y, z), (v, w) in product(permutations("YZ"), permutations("VW")):
        meaning = frozenset({(v, y), (w, z)})
        did, did_too = f"{v}.past (obj {y}.form)", f"{w}.past (obj {z}.form)"
        # "on Monday" may belong to both deeds or to one: only wordings in which it belongs to the same are alike.
        yield (meaning, "both"), f"(nsubj X.form) {did} (conj and {did_too} (obl on D.form)) ."
        relative = f"(nsubj X.form (acl:relcl , (nsubj who) {did} ,)) {did_too} (obl on D.form) ."
        yield (meaning, (w, z)), relative
        yield (meaning, "both"), f"(obl on D.form) , (nsubj X.form) {did} (conj and {did_too}) ."


def _comparisons() -> Told:
    """Taller and shorter: the same order of two people, or the reverse."""
    when, lived = "(advcl when (nsubj they) met (obl near T.form))", "(conj and lived (obl near T.form))"
    for x, y in permutations("XY"):
        more = f"(nsubj {x}.form) was A.cmp (obl than {y}.form)"
        less = f"(nsubj {y}.form) was A.ant.cmp (obl than {x}.form)"
        yield (x, "met"), f"{more} {when} ."
        yield (x, "met"), f"{less} {when} ."
        yield (x, "met"), f"{when} , {more} ."
        yield (x, "met"), f"{when} , {less} ."
        yield (x, x), f"{more} {lived} ."
        yield (x, y), f"{less} {lived} ."


_FAMILIES: dict[Callable[[], Told], str] = {
    _voice: "X=name.first Y=name.first V=verb.meet T=name.town D=weekday",
    _properties: "X=name.first V=verb.handle N=noun.thing O=noun.thing A=adj.thing B=adj.thing",
    _journeys: "X=name.first V=verb.motion T=name.town U=name.town D=weekday",
    _gifts: "X=name.first Y=name.first V=verb.give N=noun.thing A=adj.thing D=weekday",
    _sequences: "X=name.first Y=name.first V=verb.handle W=verb.handle N=noun.thing O=noun.furniture",
    _deeds: "X=name.first Y=name.first V=verb.handle W=verb.handle N=noun.thing O=noun.thing",
    _relatives: "X=name.first Y=name.first Z=name.first V=verb.meet W=verb.meet D=weekday",
    _comparisons: "X=name.first Y=name.first A=adj.compare T=name.town",
}
"""Wordings and the pools of their variables."""


def paraphrase_families() -> list[Family]:
    """All families of paraphrase pairs."""
    return [
        Family(
            told.__name__.removeprefix("_"),
            dict(part.split("=") for part in variables.split()),
            statements=[Statement(text, meaning) for meaning, text in told()],
        )
        for told, variables in _FAMILIES.items()
    ]


@cache
def wording_patterns() -> tuple[Pattern, ...]:
    """Patterns of all families; each family has the same weight."""
    return tuple(p for f in paraphrase_families() for p in balanced(f, paraphrase_pairs(f)))
