"""The families of statements behind the inference pairs: quantifiers, events, comparisons, counts, reports and more."""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain, combinations, permutations, product
from operator import eq, ge, gt, le, lt
from typing import Any

from isoglot.synthetic.pairs import Family, Models, balanced, entailment_pairs
from isoglot.synthetic.patterns import Pattern


def _subsets(kinds: Iterable[Any]) -> set[Any]:
    """Every set of kinds of things that there may be in a world."""
    members = list(kinds)
    sizes = range(len(members) + 1)
    return set(map(frozenset, chain.from_iterable(combinations(members, size) for size in sizes)))


def _joined(family: Family, groups: list[list[tuple[str, Models]]], links: tuple[str, ...]) -> Family:
    """Add clauses about two things, each alone and every two that are about different ones as a premise."""
    for text, truth in chain.from_iterable(groups):
        family.say(f"{text} .", truth)
    for one, two in (groups, groups[::-1]):
        for ((a, t), (b, u)), link in product(product(one, two), links):
            family.say(f"{a} (conj {link} {b}) .", t & u, premise_only=True)
    return family


def _quantifiers(pool: str, adjective: str) -> Family:
    """All, some, no, not all; restrictors and predicates made narrower or wider.

    A model is the set of kinds of individuals that exist; a kind says whether one is an N (all are its hypernym), is A,
    and did V, with or without the place. Every restrictor is taken to be non-empty.
    """
    kinds = product((0, 1), (0, 1), (0, 1, 2))
    models = {m for m in _subsets(kinds) if any(k[0] and k[1] for k in m)}
    variables = {"N": pool, "A": adjective, "V": "verb.intr", "P": "noun.place"}
    family = Family(f"quantifiers of {pool}", variables, models)
    restrictors = (("N.{}", 1, 0), ("N.hyper.{}", 0, 0), ("A.pos N.{}", 1, 1))
    for (noun, narrow, quality), (p, least) in product(restrictors, (("", 1), (" (obl in the P.sg)", 2))):
        among = {k for m in models for k in m if k[0] >= narrow and k[1] >= quality}
        some = {m for m in models if any(k[2] >= least for k in m & among)}
        every = {m for m in models if all(k[2] >= least for k in m & among)}
        sg, pl = noun.format("sg"), noun.format("pl")
        family.say(f"(nsubj every {sg}) V.past{p} .", every)
        family.say(f"(nsubj all {pl}) V.past{p} .", every)
        family.say(f"(nsubj each {sg}) V.past{p} .", every)
        family.say(f"(nsubj some {pl}) V.past{p} .", some)
        family.say(f"(nsubj (nummod (advmod at least) one) {sg}) V.past{p} .", some)
        family.say(f"(nsubj no {sg}) V.past{p} .", models - some)
        family.say(f"(nsubj none (nmod of the {pl})) V.past{p} .", models - some)
        family.say(f"(nsubj not every {sg}) V.past{p} .", models - every)
        family.say(f"(nsubj some {pl}) did not V.base{p} .", models - every)
    return family


def _roles() -> Family:
    """Who did it to whom: voice, swapped roles, clefts, negation, time and place kept, dropped or added.

    A model is the set of kinds of events that took place: direction, at the place or not, on the day or not.
    """
    variables = {"X": "name.first", "Y": "name.first", "V": "verb.meet", "T": "name.town", "D": "weekday"}
    models = _subsets(product((0, 1), repeat=3))
    family = Family("roles", variables, models)
    for (way, (x, y)), place, day in product(enumerate((("X", "Y"), ("Y", "X"))), (0, 1), (0, 1)):
        did = {m for m in models if any(k[0] == way and k[1] >= place and k[2] >= day for k in m)}
        end = f"{' (obl near T.form)' * place}{' (obl on D.form)' * day}"
        one, passive = f"(nsubj {x}.form)", f"(nsubj:pass {y}.form)"
        other, agent = f"(obj {y}.form)", f"(obl by {x}.form)"
        family.say(f"{one} V.past {other}{end} .", did)
        family.say(f"{passive} was V.part {agent}{end} .", did)
        family.say(f"(expl it) was {x}.form (acl:relcl (nsubj who) V.past {other}{end}) .", did)
        family.say(f"{one} did not V.base {other}{end} .", models - did)
        family.say(f"{passive} was not V.part {agent}{end} .", models - did)
        family.say(f"{one} never V.past {other}{end} .", models - did)
        family.say(f"{passive} was never V.part {agent}{end} .", models - did)
        family.say(f"(expl it) is false (csubj that {one} V.past {other}{end}) .", models - did)
    return family


def _objects(verb: str, pool: str, adjective: str) -> Family:
    """What somebody handled: hypernyms, adjectives and places that come and go, with negation."""
    variables = {"X": "name.first", "N": pool, "A": adjective, "V": verb, "P": "noun.place"}
    models = _subsets(product((0, 1), repeat=3))
    family = Family(f"objects of {verb}", variables, models)
    nouns = (("N.sg", 1, 0), ("N.hyper.sg", 0, 0), ("A.pos N.sg", 1, 1), ("A.pos N.hyper.sg", 0, 1))
    for (noun, narrow, quality), place in product(nouns, (0, 1)):
        did = {m for m in models if any(k[0] >= narrow and k[1] >= quality and k[2] >= place for k in m)}
        end = f"{' (obl in the P.sg)' * place} ."
        family.say(f"(nsubj X.form) V.past (obj a {noun}){end}", did)
        family.say(f"(nsubj:pass a {noun}) was V.part (obl by X.form){end}", did)
        family.say(f"(nsubj X.form) did not V.base (obj a {noun}){end}", models - did)
        family.say(f"(nsubj X.form) V.past (obj no {noun}){end}", models - did)
        family.say(f"(nsubj:pass no {noun}) was V.part (obl by X.form){end}", models - did)
    return family


def _comparisons() -> Family:
    """Orders of three people: converses, negation, transitivity."""
    models = {tuple(sorted(set(v)).index(x) for x in v) for v in product(range(3), repeat=3)}
    variables = {"X": "name.first", "Y": "name.first", "Z": "name.first", "A": "adj.compare"}
    family = Family("comparisons", variables, models)
    single: list[tuple[str, Models, set[str]]] = []
    for (a, i), (b, j) in permutations(zip("XYZ", range(3), strict=True), 2):
        more, less = {m for m in models if m[i] > m[j]}, {m for m in models if m[i] < m[j]}
        one, other = f"(nsubj {a}.form)", f"(obl than {b}.form)"
        for text, truth in (
            (f"{one} is A.cmp {other}", more),
            (f"{one} is A.ant.cmp {other}", less),
            (f"{one} is not A.cmp {other}", models - more),
            (f"{one} is not A.ant.cmp {other}", models - less),
        ):
            single.append((text, truth, {a, b}))
            family.say(f"{text} .", truth)
    for (one, t, who), (two, u, others) in product(single, single):
        if who != others and "not" not in one + two:
            family.say(f"{one} (conj , and {two}) .", t & u, premise_only=True)
    return family


def _counts() -> Family:
    """How many: bounds from above and below, of a class and of the class above it.

    A model is (count of N, count of all of its hypernym), each in one of the five stretches that two numbers make.
    """
    variables = {"X": "name.first", "V": "verb.handle", "N": "noun.thing", "K": "number.pair"}
    models = {(n, h) for n in range(5) for h in range(n, 5)}
    family = Family("counts", variables, models)
    bounds: dict[str, Callable[[int, int], bool]] = {
        "(advmod more (fixed than))": gt,
        "(advmod fewer (fixed than))": lt,
        "(advmod at least)": ge,
        "(advmod at most)": le,
        "exactly": eq,
    }
    for (words, holds), (number, at), (noun, which) in product(
        bounds.items(), (("K.low", 1), ("K.high", 3)), (("N.pl", 0), ("N.hyper.pl", 1))
    ):
        counted = {m for m in models if holds(m[which], at)}
        things = f"(nummod {words} {number}) {noun}"
        family.say(f"(nsubj X.form) V.past (obj {things}) .", counted)
        family.say(f"(nsubj:pass {things}) were V.part (obl by X.form) .", counted)
    return family


def _coordination() -> Family:
    """And, or, neither, but not, only one."""
    variables = {"X": "name.first", "Y": "name.first", "Z": "name.first", "V": "verb.intr"}
    models = set(product((False, True), repeat=3))
    family = Family("coordination", variables, models, overlap=False)
    for (x, i), (y, j) in permutations(zip("XYZ", range(3), strict=True), 2):
        of_both = f"(nmod of {x}.form (conj and {y}.form))"
        together = f"(conj and {y}.form)) V.past ."
        neither, one, both = ({m for m in models if m[i] + m[j] == count} for count in range(3))
        alone = {m for m in models if m[i] and not m[j]}
        family.say(f"(nsubj {x}.form {together}", both)
        family.say(f"(nsubj (cc:preconj both) {x}.form {together}", both)
        family.say(f"(nsubj {x}.form) V.past (conj , and so did (nsubj {y}.form)) .", both)
        family.say(f"(nsubj {x}.form (conj or {y}.form)) V.past .", one | both)
        family.say(f"(nsubj (advmod at least) one {of_both}) V.past .", one | both)
        family.say(f"(nsubj (cc:preconj neither) {x}.form (conj nor {y}.form)) V.past .", neither)
        nor = f"(conj , and neither/ADV did (nsubj {y}.form)) ."
        family.say(f"(nsubj {x}.form) did not V.base {nor}", neither)
        family.say(f"(nsubj {x}.form) V.past (conj , but (nsubj {y}.form) did not) .", alone)
        family.say(f"(nsubj {x}.form) V.past (conj , but not {y}.form) .", alone)
        family.say(f"(nsubj only one {of_both}) V.past .", one)
    for x, i in zip("XYZ", range(3), strict=True):
        did = {m for m in models if m[i]}
        family.say(f"(nsubj {x}.form) V.past .", did)
        family.say(f"(expl it) was {x}.form (acl:relcl (nsubj who) V.past) .", did)
        family.say(f"(nsubj {x}.form) did not V.base .", models - did)
        family.say(f"(expl it) was not {x}.form (acl:relcl (nsubj who) V.past) .", models - did)
    return family


def _reports() -> Family:
    """What somebody knew is so; what somebody said need not be; what is false is not.

    A model says whether each of two things happened, and whether they were known and said.
    """
    models = {m for m in product((False, True), repeat=6) if (m[0] or not m[2]) and (m[1] or not m[3])}

    def about(name: str, verb: str, i: int) -> list[tuple[str, Models]]:
        happened, known, said = ({m for m in models if m[k + i]} for k in (0, 2, 4))
        yes, no = f"(nsubj {name}.form) {verb}.past", f"(nsubj {name}.form) did not {verb}.base"
        return [
            (yes, happened),
            (no, models - happened),
            (f"(expl it) is false (csubj that {yes})", models - happened),
            (f"(nsubj S.form) K.past (ccomp that {yes})", known),
            (f"(nsubj S.form) R.past (ccomp that {yes})", said),
            (f"(nsubj S.form) did not R.base (ccomp that {yes})", models - said),
        ]

    variables = {"X": "name.first", "Y": "name.first", "S": "name.first", "V": "verb.intr", "W": "verb.intr",
                 "K": "verb.know", "R": "verb.say"}  # fmt: skip
    return _joined(Family("reports", variables, models), [about("X", "V", 0), about("Y", "W", 1)], (", and",))


def _opposites(pool: str, adjective: str) -> Family:
    """Two things and two opposites: not the one is not yet the other."""
    variables, models = {"N": pool, "O": pool, "A": adjective}, set(product((-1, 0, 1), repeat=2))

    def about(noun: str, i: int) -> list[tuple[str, Models]]:
        positive, negative = ({m for m in models if m[i] == sign} for sign in (1, -1))
        return [
            (f"(nsubj the {noun}.sg) was A.pos", positive),
            (f"(nsubj the {noun}.sg) was A.ant.pos", negative),
            (f"(nsubj the {noun}.sg) was not A.pos", models - positive),
            (f"(nsubj the {noun}.sg) was not A.ant.pos", models - negative),
        ]

    family = Family(f"opposites of {pool}", variables, models)
    return _joined(family, [about("N", 0), about("O", 1)], (", and", ", but"))


def _times() -> Family:
    """Before and after among three events.

    A model is the time of each, where −1 is never.
    """
    variables = {"X": "name.first", "Y": "name.first", "Z": "name.first", "V": "verb.intr", "W": "verb.intr",
                 "U": "verb.intr"}  # fmt: skip
    models = set(product((-1, 0, 1, 2), repeat=3))
    family = Family("times", variables, models, overlap=False)
    events = (("(nsubj X.form) V.past", 0), ("(nsubj Y.form) W.past", 1), ("(nsubj Z.form) U.past", 2))
    for one, i in events:
        family.say(f"{one} .", {m for m in models if m[i] > -1})
    for (one, i), (two, j) in permutations(events, 2):
        before, later = {m for m in models if -1 < m[i] < m[j]}, {m for m in models if m[i] >= m[j] > -1}
        family.say(f"{one} (advcl before {two}) .", before)
        family.say(f"(advcl before {two}) , {one} .", before)
        family.say(f"{two} (advcl after {one}) .", before)
        family.say(f"(advcl after {one}) , {two} .", before)
        family.say(f"{one} (advcl , but not before {two}) .", later)
    return family


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
    return tuple(p for f in entailment_families() for p in balanced(f, entailment_pairs(f)))
