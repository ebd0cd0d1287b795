"""The families of statements behind the inference pairs: quantifiers, events, comparisons, counts, reports and more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import permutations, product
from typing import Any

from isoglot.synthetic.pairs import Family, Statement, entailment_patterns
from isoglot.synthetic.patterns import Pattern

Truth = tuple[object, ...]


def _truth(models: Iterable[Any], holds: Callable[..., object]) -> Truth:
    """Whether a statement holds in each model."""
    return tuple(bool(holds(m)) for m in models)


def _quantifiers(pool: str, adjective: str) -> Family:
    """All, some, no, not all; restrictors and predicates made narrower or wider.

    A model is the set of kinds of individuals that exist; a kind says whether one is an N (all are its hypernym), is A,
    and did V, with or without the place. Every restrictor is taken to be non-empty.
    """
    kinds = [(n, a, v) for n in (0, 1) for a in (0, 1) for v in (0, 1, 2)]
    models = [
        {k for i, k in enumerate(kinds) if bits >> i & 1}
        for bits in range(1 << len(kinds))
        if any(bits >> i & 1 for i, k in enumerate(kinds) if k[0] and k[1])
    ]
    restrictors = {
        "N.{}": lambda k: k[0],
        "N.hyper.{}": lambda k: True,
        "A.pos N.{}": lambda k: k[0] and k[1],
    }
    predicates = {"": lambda k: k[2] >= 1, " (obl in the P.sg)": lambda k: k[2] == 2}
    wordings = {
        "all": (
            "(nsubj every {sg}) V.past{p} .",
            "(nsubj all {pl}) V.past{p} .",
            "(nsubj each {sg}) V.past{p} .",
        ),
        "some": ("(nsubj some {pl}) V.past{p} .", "(nsubj (nummod (advmod at least) one) {sg}) V.past{p} ."),
        "no": ("(nsubj no {sg}) V.past{p} .", "(nsubj none (nmod of the {pl})) V.past{p} ."),
        "not all": ("(nsubj not every {sg}) V.past{p} .", "(nsubj some {pl}) did not V.base{p} ."),
    }
    statements = []
    for (noun, among), (place, does) in product(restrictors.items(), predicates.items()):
        some = _truth(models, lambda m, r=among, d=does: any(r(k) and d(k) for k in m))
        every = _truth(models, lambda m, r=among, d=does: all(d(k) for k in m if r(k)))
        truths = {
            "all": every,
            "some": some,
            "no": tuple(not t for t in some),
            "not all": tuple(not t for t in every),
        }
        for quantifier, texts in wordings.items():
            for text in texts:
                filled = text.format(sg=noun.format("sg"), pl=noun.format("pl"), p=place)
                statements.append(Statement(filled, truths[quantifier]))
    variables = {"N": pool, "A": adjective, "V": "verb.intr", "P": "noun.place"}
    return Family(f"quantifiers of {pool}", variables, statements)


def _roles() -> Family:
    """Who did it to whom: voice, swapped roles, clefts, negation, time and place kept, dropped or added.

    A model is the set of kinds of events that took place: direction, at the place or not, on the day or not.
    """
    kinds = list(product((0, 1), (0, 1), (0, 1)))
    models = [{k for i, k in enumerate(kinds) if bits >> i & 1} for bits in range(1 << len(kinds))]
    statements = []
    for (way, (x, y)), place, day in product(enumerate((("X", "Y"), ("Y", "X"))), (0, 1), (0, 1)):
        end = (" (obl near T.form)" if place else "") + (" (obl on D.form)" if day else "")
        truth = _truth(
            models, lambda m, w=way, p=place, d=day: any(k[0] == w and k[1] >= p and k[2] >= d for k in m)
        )
        false = tuple(not t for t in truth)
        one, other, acted_on, agent = (
            f"(nsubj {x}.form)",
            f"(obj {y}.form)",
            f"(nsubj:pass {y}.form)",
            f"(obl by {x}.form)",
        )
        for text, value in (
            (f"{one} V.past {other}{end} .", truth),
            (f"{acted_on} was V.part {agent}{end} .", truth),
            (f"(expl it) was {x}.form (acl:relcl (nsubj who) V.past {other}{end}) .", truth),
            (f"{one} did not V.base {other}{end} .", false),
            (f"{acted_on} was not V.part {agent}{end} .", false),
            (f"{one} never V.past {other}{end} .", false),
            (f"{acted_on} was never V.part {agent}{end} .", false),
            (f"(expl it) is false (csubj that {one} V.past {other}{end}) .", false),
        ):
            statements.append(Statement(text, value))
    variables = {"X": "name.first", "Y": "name.first", "V": "verb.meet", "T": "name.town", "D": "weekday"}
    return Family("roles", variables, statements)


def _objects(verb: str, pool: str, adjective: str) -> Family:
    """What somebody handled: hypernyms, adjectives and places that come and go, with negation."""
    kinds = list(product((0, 1), (0, 1), (0, 1)))
    models = [{k for i, k in enumerate(kinds) if bits >> i & 1} for bits in range(1 << len(kinds))]
    statements = []
    nouns = (("a N.sg", 1, 0), ("a N.hyper.sg", 0, 0), ("a A.pos N.sg", 1, 1), ("a A.pos N.hyper.sg", 0, 1))
    for (noun, narrow, quality), place in product(nouns, (0, 1)):
        end = (" (obl in the P.sg)" if place else "") + " ."
        truth = _truth(
            models,
            lambda m, n=narrow, q=quality, p=place: any(k[0] >= n and k[1] >= q and k[2] >= p for k in m),
        )
        false = tuple(not t for t in truth)
        none = noun.replace("a ", "no ", 1)
        for text, value in (
            (f"(nsubj X.form) V.past (obj {noun})", truth),
            (f"(nsubj:pass {noun}) was V.part (obl by X.form)", truth),
            (f"(nsubj X.form) did not V.base (obj {noun})", false),
            (f"(nsubj X.form) V.past (obj {none})", false),
            (f"(nsubj:pass {none}) was V.part (obl by X.form)", false),
        ):
            statements.append(Statement(text + end, value))
    variables = {"X": "name.first", "N": pool, "A": adjective, "V": verb, "P": "noun.place"}
    return Family(f"objects of {verb}", variables, statements)


def _comparisons() -> Family:
    """Orders of three people: converses, negation, transitivity."""
    models = list({tuple(sorted(set(v)).index(x) for x in v) for v in product(range(3), repeat=3)})
    people = {"X": 0, "Y": 1, "Z": 2}
    single: list[tuple[str, Truth, set[str]]] = []
    for a, b in permutations(people, 2):
        more = _truth(models, lambda m, a=a, b=b: m[people[a]] > m[people[b]])
        less = _truth(models, lambda m, a=a, b=b: m[people[a]] < m[people[b]])
        one, other = f"(nsubj {a}.form)", f"(obl than {b}.form)"
        single += [
            (f"{one} is A.cmp {other}", more, {a, b}),
            (f"{one} is A.ant.cmp {other}", less, {a, b}),
            (f"{one} is not A.cmp {other}", tuple(not t for t in more), {a, b}),
            (f"{one} is not A.ant.cmp {other}", tuple(not t for t in less), {a, b}),
        ]
    statements = [Statement(f"{text} .", truth) for text, truth, _ in single]
    for (one, t, who), (two, u, others) in product(single, single):
        if who != others and "not" not in one + two:
            both = tuple(p and q for p, q in zip(t, u, strict=True))
            statements.append(Statement(f"{one} (conj , and {two}) .", both, premise_only=True))
    variables = {"X": "name.first", "Y": "name.first", "Z": "name.first", "A": "adj.compare"}
    return Family("comparisons", variables, statements)


def _counts() -> Family:
    """How many: bounds from above and below, of a class and of the class above it.

    A model is (count of N, count of all of its hypernym), each in one of the five stretches that two numbers make.
    """
    models = [(n, h) for n in range(5) for h in range(n, 5)]
    bounds: dict[str, Callable[[int, int], bool]] = {
        "(advmod more (fixed than))": lambda c, k: c > k,
        "(advmod fewer (fixed than))": lambda c, k: c < k,
        "(advmod at least)": lambda c, k: c >= k,
        "(advmod at most)": lambda c, k: c <= k,
        "exactly": lambda c, k: c == k,
    }
    statements = []
    for (words, holds), (number, at), (noun, which) in product(
        bounds.items(), (("K.low", 1), ("K.high", 3)), (("N.pl", 0), ("N.hyper.pl", 1))
    ):
        truth = _truth(models, lambda m, f=holds, k=at, w=which: f(m[w], k))
        things = f"(nummod {words} {number}) {noun}"
        statements.append(Statement(f"(nsubj X.form) V.past (obj {things}) .", truth))
        statements.append(Statement(f"(nsubj:pass {things}) were V.part (obl by X.form) .", truth))
    variables = {"X": "name.first", "V": "verb.handle", "N": "noun.thing", "K": "number.pair"}
    return Family("counts", variables, statements)


def _coordination() -> Family:
    """And, or, neither, but not, only one."""
    models = list(product((False, True), repeat=3))
    statements = []
    for (x, i), (y, j) in permutations(zip("XYZ", range(3), strict=True), 2):

        def of(holds: Callable[[bool, bool], bool], i: int = i, j: int = j) -> Truth:
            return _truth(models, lambda m: holds(m[i], m[j]))

        of_both = f"(nmod of {x}.form (conj and {y}.form))"
        statements += [
            Statement(f"(nsubj {x}.form (conj and {y}.form)) V.past .", of(lambda a, b: a and b)),
            Statement(
                f"(nsubj (cc:preconj both) {x}.form (conj and {y}.form)) V.past .", of(lambda a, b: a and b)
            ),
            Statement(
                f"(nsubj {x}.form) V.past (conj , and so did (nsubj {y}.form)) .", of(lambda a, b: a and b)
            ),
            Statement(f"(nsubj {x}.form (conj or {y}.form)) V.past .", of(lambda a, b: a or b)),
            Statement(f"(nsubj (advmod at least) one {of_both}) V.past .", of(lambda a, b: a or b)),
            Statement(
                f"(nsubj (cc:preconj neither) {x}.form (conj nor {y}.form)) V.past .",
                of(lambda a, b: not a and not b),
            ),
            Statement(
                f"(nsubj {x}.form) did not V.base (conj , and neither/ADV did (nsubj {y}.form)) .",
                of(lambda a, b: not a and not b),
            ),
            Statement(
                f"(nsubj {x}.form) V.past (conj , but (nsubj {y}.form) did not) .",
                of(lambda a, b: a and not b),
            ),
            Statement(f"(nsubj {x}.form) V.past (conj , but not {y}.form) .", of(lambda a, b: a and not b)),
            Statement(f"(nsubj only one {of_both}) V.past .", of(lambda a, b: a != b)),
        ]
    for x, i in zip("XYZ", range(3), strict=True):
        yes = _truth(models, lambda m, i=i: m[i])
        no = tuple(not t for t in yes)
        statements += [
            Statement(f"(nsubj {x}.form) V.past .", yes),
            Statement(f"(expl it) was {x}.form (acl:relcl (nsubj who) V.past) .", yes),
            Statement(f"(nsubj {x}.form) did not V.base .", no),
            Statement(f"(expl it) was not {x}.form (acl:relcl (nsubj who) V.past) .", no),
        ]
    variables = {"X": "name.first", "Y": "name.first", "Z": "name.first", "V": "verb.intr"}
    return Family("coordination", variables, statements, overlap=False)


def _reports() -> Family:
    """What somebody knew is so; what somebody said need not be; what is false is not.

    A model says whether each of two things happened, and whether they were known and said.
    """
    models = [m for m in product((False, True), repeat=6) if (m[0] or not m[2]) and (m[1] or not m[3])]
    things = (
        ("(nsubj X.form) V.past", "(nsubj X.form) did not V.base", 0),
        ("(nsubj Y.form) W.past", "(nsubj Y.form) did not W.base", 1),
    )
    embedded: list[list[tuple[str, Truth]]] = []
    for yes, no, i in things:
        happened = _truth(models, lambda m, i=i: m[i])
        failed = tuple(not t for t in happened)
        embedded.append(
            [
                (yes, happened),
                (no, failed),
                (f"(expl it) is false (csubj that {yes})", failed),
                (f"(nsubj S.form) K.past (ccomp that {yes})", _truth(models, lambda m, i=i: m[2 + i])),
                (f"(nsubj S.form) R.past (ccomp that {yes})", _truth(models, lambda m, i=i: m[4 + i])),
                (
                    f"(nsubj S.form) did not R.base (ccomp that {yes})",
                    _truth(models, lambda m, i=i: not m[4 + i]),
                ),
            ]
        )
    statements = [Statement(f"{text} .", truth) for group in embedded for text, truth in group]
    for one, two in (embedded, embedded[::-1]):
        for (a, t), (b, u) in product(one, two):
            both = tuple(p and q for p, q in zip(t, u, strict=True))
            statements.append(Statement(f"{a} (conj , and {b}) .", both, premise_only=True))
    variables = {"X": "name.first", "Y": "name.first", "S": "name.first", "V": "verb.intr", "W": "verb.intr",
                 "K": "verb.know", "R": "verb.say"}  # fmt: skip
    return Family("reports", variables, statements)


def _opposites(pool: str, adjective: str) -> Family:
    """Two things and two opposites: not the one is not yet the other."""
    models = list(product((-1, 0, 1), repeat=2))
    single: list[list[tuple[str, Truth]]] = []
    for noun, i in (("N", 0), ("O", 1)):
        single.append(
            [
                (f"(nsubj the {noun}.sg) was A.pos", _truth(models, lambda m, i=i: m[i] == 1)),
                (f"(nsubj the {noun}.sg) was A.ant.pos", _truth(models, lambda m, i=i: m[i] == -1)),
                (f"(nsubj the {noun}.sg) was not A.pos", _truth(models, lambda m, i=i: m[i] != 1)),
                (f"(nsubj the {noun}.sg) was not A.ant.pos", _truth(models, lambda m, i=i: m[i] != -1)),
            ]
        )
    statements = [Statement(f"{text} .", truth) for group in single for text, truth in group]
    for one, two in (single, single[::-1]):
        for ((a, t), (b, u)), link in product(product(one, two), (", and", ", but")):
            both = tuple(p and q for p, q in zip(t, u, strict=True))
            statements.append(Statement(f"{a} (conj {link} {b}) .", both, premise_only=True))
    return Family(f"opposites of {pool}", {"N": pool, "O": pool, "A": adjective}, statements)


def _times() -> Family:
    """Before and after among three events.

    A model is the time of each, where −1 is never.
    """
    models = list(product((-1, 0, 1, 2), repeat=3))
    events = (("(nsubj X.form) V.past", 0), ("(nsubj Y.form) W.past", 1), ("(nsubj Z.form) U.past", 2))
    statements = [Statement(f"{one} .", _truth(models, lambda m, i=i: m[i] > -1)) for one, i in events]
    for (one, i), (two, j) in permutations(events, 2):
        before = _truth(models, lambda m, i=i, j=j: -1 < m[i] < m[j])
        texts = (
            f"{one} (advcl before {two}) .",
            f"(advcl before {two}) , {one} .",
            f"{two} (advcl after {one}) .",
            f"(advcl after {one}) , {two} .",
        )
        statements += [Statement(text, before) for text in texts]
        later = _truth(models, lambda m, i=i, j=j: m[i] >= m[j] > -1)
        statements.append(Statement(f"{one} (advcl , but not before {two}) .", later))
    variables = {"X": "name.first", "Y": "name.first", "Z": "name.first", "V": "verb.intr", "W": "verb.intr",
                 "U": "verb.intr"}  # fmt: skip
    return Family("times", variables, statements, overlap=False)


def entailment_families() -> list[Family]:
    """All families of inference pairs."""
    return [
        _quantifiers("noun.person", "adj.human"),
        _quantifiers("noun.animal", "adj.thing"),
        _roles(),
        _objects("verb.handle", "noun.thing", "adj.thing"),
        _objects("verb.consume", "noun.food", "adj.thing"),
        _comparisons(),
        _counts(),
        _coordination(),
        _reports(),
        _opposites("noun.thing", "adj.quality"),
        _opposites("noun.person", "adj.person"),
        _times(),
    ]


@cache
def inference_patterns() -> tuple[Pattern, ...]:
    """Patterns of all families; each family has the same weight."""
    return tuple(p for family in entailment_families() for p in entailment_patterns(family))
