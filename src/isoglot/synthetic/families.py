"""The families of statements behind the pairs: quantifiers, events, comparisons, counts, *and* and *or*; paraphrases.

Each function says what a model of its family is, lists all models, and adds statements, each with its truth: the set of
models in which it is true. ``models - every``, the models in which *every* is false, is then the truth of *not every*.
To add a statement, write its wording (:mod:`isoglot.synthetic.grammar`) and work out this set. The weights of the
family's pairs must then be made again: ``python benchmarks/world_weights.py``. Changes of ``grammar.txt`` do not touch
them.
"""

from collections.abc import Iterable
from functools import cache
from itertools import chain, combinations, permutations, product
from operator import eq, ge, gt, le, lt
from typing import Any, NamedTuple

from isoglot.synthetic.grammar import Pattern
from isoglot.synthetic.pairs import Family, Models, weighted_patterns


def _subsets(kinds: Iterable[Any]) -> Models:
    """Every set of kinds of individuals or events that may exist."""
    members = list(kinds)
    subsets: Models = set()
    for size in range(len(members) + 1):
        subsets.update(map(frozenset, combinations(members, size)))
    return subsets


class _Kind(NamedTuple):
    """A kind of individuals in the family of quantifiers."""

    is_n: int  # 1 for an N, 0 for another one of its hypernym
    is_a: int  # 1 if it is A
    deed: int  # 0: it did not do V, 1: elsewhere, 2: at the place


class _Noun(NamedTuple):
    """A noun of a quantifier, and the individuals that it is about."""

    wording: str  # with a place for the number: sg or pl
    only_n: int  # 1 if it is about Ns alone, 0 if about all individuals
    only_a: int  # 1 if it is about individuals that are A alone

    def is_about(self, kind: _Kind) -> bool:
        """Whether the noun is about individuals of this kind."""
        fits_n = kind.is_n or not self.only_n
        fits_a = kind.is_a or not self.only_a
        return bool(fits_n and fits_a)


def quantifiers(pool: str, adjective: str) -> Family:
    """All, some, no, not all; restrictors and predicates made narrower or wider.

    A model is the set of kinds of individuals that exist, see :class:`_Kind`. All individuals are of N's hypernym.
    Every noun is about somebody who exists, so an N that is A exists.
    """
    kinds = [_Kind(*values) for values in product((0, 1), (0, 1), (0, 1, 2))]
    # Only models in which an N that is A exists.
    models = {model for model in _subsets(kinds) if any(kind.is_n and kind.is_a for kind in model)}
    variables = {"N": pool, "A": adjective, "V": "verb.intr", "P": "noun.place"}
    family = Family(f"quantifiers of {pool}", variables, models)
    nouns = (
        _Noun("N.{}", only_n=1, only_a=0),
        _Noun("N.hyper.{}", only_n=0, only_a=0),
        _Noun("A.pos N.{}", only_n=1, only_a=1),
    )
    # What is said of the place, and the deeds of which the statement is true: V at the place is V, too.
    places = (("", (1, 2)), (" (obl in the P.sg)", (2,)))
    for noun, (where, deeds) in product(nouns, places):
        # The kinds of individuals that the noun is about, and the models in which some or all of these did it.
        meant = set(filter(noun.is_about, kinds))
        some = {model for model in models if any(kind.deed in deeds for kind in model & meant)}
        every = {model for model in models if all(kind.deed in deeds for kind in model & meant)}
        sg, pl = noun.wording.format("sg"), noun.wording.format("pl")
        for subject, truth in (
            (f"every {sg}", every),
            (f"all {pl}", every),
            (f"each {sg}", every),
            (f"some {pl}", some),
            (f"(nummod (advmod at least) one) {sg}", some),
            (f"no {sg}", models - some),
            (f"none (nmod of the {pl})", models - some),
            (f"not every {sg}", models - every),
        ):
            family.say(f"(nsubj {subject}) V.past{where} .", truth)
        family.say(f"(nsubj some {pl}) did not V.base{where} .", models - every)
    return family


def roles() -> Family:
    """Who did it to whom: voice, swapped roles, clefts, negation, place and day kept, dropped or added.

    A model is the set of kinds of events that took place. A kind has three numbers: who did it (0: X to Y, 1: Y to X),
    whether at the place, and whether on the day.
    """
    variables = {"X": "name.first", "Y": "name.first", "V": "verb.meet", "T": "name.town", "D": "weekday"}
    models = _subsets(product((0, 1), repeat=3))
    family = Family("roles", variables, models)
    for direction, says_place, says_day in product((0, 1), repeat=3):
        x, y = ("X", "Y") if direction == 0 else ("Y", "X")
        # An event at the place or on the day also took place; so a statement that leaves them out is true of it.
        events = set()
        for kind in product((0, 1), repeat=3):
            who, at_place, on_day = kind
            fits_place = at_place or not says_place
            fits_day = on_day or not says_day
            if who == direction and fits_place and fits_day:
                events.add(kind)
        did = {model for model in models if model & events}
        # `says_place` and `says_day` are 0 or 1: the text is there or not.
        end = f"{' (obl near T.form)' * says_place}{' (obl on D.form)' * says_day}"
        agent, patient = f"(nsubj {x}.form)", f"(obj {y}.form)"
        passive, by = f"(nsubj:pass {y}.form)", f"(obl by {x}.form)"
        family.say(f"{agent} V.past {patient}{end} .", did)
        family.say(f"{passive} was V.part {by}{end} .", did)
        family.say(f"(expl it) was {x}.form (acl:relcl (nsubj who) V.past {patient}{end}) .", did)
        family.say(f"{agent} did not V.base {patient}{end} .", models - did)
        family.say(f"{passive} was not V.part {by}{end} .", models - did)
        family.say(f"{agent} never V.past {patient}{end} .", models - did)
        family.say(f"{passive} was never V.part {by}{end} .", models - did)
        family.say(f"(expl it) is false (csubj that {agent} V.past {patient}{end}) .", models - did)
    return family


def comparisons() -> Family:
    """Orders of three people: converses, negation, transitivity.

    A model has the rank of each, from 0; people of one rank are alike: (0, 1, 1).
    """
    models: Models = set()
    for values in product(range(3), repeat=3):
        distinct = sorted(set(values))
        models.add(tuple(distinct.index(value) for value in values))
    variables = {"X": "name.first", "Y": "name.first", "Z": "name.first", "A": "adj.compare"}
    family = Family("comparisons", variables, models)
    positive: list[tuple[str, Models, set[str]]] = []  # a clause, its truth, and the people in it
    for (x, i), (y, j) in permutations(zip("XYZ", range(3), strict=True), 2):
        for form, more in (
            ("cmp", {ranks for ranks in models if ranks[i] > ranks[j]}),
            ("ant.cmp", {ranks for ranks in models if ranks[i] < ranks[j]}),
        ):
            clause = f"(nsubj {x}.form) is A.{form} (obl than {y}.form)"
            positive.append((clause, more, {x, y}))
            family.say(f"{clause} .", more)
            family.say(f"(nsubj {x}.form) is not A.{form} (obl than {y}.form) .", models - more)
    # Two comparisons of different people: from X > Y and Y > Z follows X > Z.
    for (first, first_truth, first_people), (second, second_truth, second_people) in product(
        positive, repeat=2
    ):
        if first_people != second_people:
            family.say(f"{first} (conj , and {second}) .", first_truth & second_truth, premise_only=True)
    return family


def counts() -> Family:
    """Counts: bounds from above and below, of a class and of the class above it.

    The two numbers of a statement, K.low and K.high, make five stretches: 0 below the low number, 1 the low number,
    2 between, 3 the high number, 4 above. A model is (n, h): the stretch of the count of N, and the stretch of the
    count of all of its hypernym, N among them.
    """
    variables = {"X": "name.first", "V": "verb.handle", "N": "noun.thing", "K": "number.pair"}
    models = {(n, h) for n in range(5) for h in range(n, 5)}
    family = Family("counts", variables, models)
    bounds = {
        "(advmod more (fixed than))": gt,
        "(advmod fewer (fixed than))": lt,
        "(advmod at least)": ge,
        "(advmod at most)": le,
        "exactly": eq,
    }
    numbers = (("K.low", 1), ("K.high", 3))  # with the stretch that each is
    nouns = (("N.pl", 0), ("N.hyper.pl", 1))  # with the count of the model that each is about
    for (words, holds), (number, stretch), (noun, which) in product(bounds.items(), numbers, nouns):
        truth = {model for model in models if holds(model[which], stretch)}
        objects = f"(nummod {words} {number}) {noun}"
        family.say(f"(nsubj X.form) V.past (obj {objects}) .", truth)
        family.say(f"(nsubj:pass {objects}) were V.part (obl by X.form) .", truth)
    return family


def coordination() -> Family:
    """And, or, neither, but not, only one.

    A model says of each of three people whether they did it.
    """
    variables = {"X": "name.first", "Y": "name.first", "Z": "name.first", "V": "verb.intr"}
    models = set(product((False, True), repeat=3))
    family = Family("coordination", variables, models, balances_one_sided_words=False)
    for (x, i), (y, j) in permutations(zip("XYZ", range(3), strict=True), 2):
        and_y = f"(conj and {y}.form)"
        of_both = f"(nmod of {x}.form {and_y})"
        neither = {did for did in models if did[i] + did[j] == 0}
        single = {did for did in models if did[i] + did[j] == 1}
        both = {did for did in models if did[i] + did[j] == 2}
        alone = {did for did in models if did[i] and not did[j]}
        family.say(f"(nsubj {x}.form {and_y}) V.past .", both)
        family.say(f"(nsubj (cc:preconj both) {x}.form {and_y}) V.past .", both)
        family.say(f"(nsubj {x}.form) V.past (conj , and so did (nsubj {y}.form)) .", both)
        family.say(f"(nsubj {x}.form (conj or {y}.form)) V.past .", single | both)
        family.say(f"(nsubj (advmod at least) one {of_both}) V.past .", single | both)
        family.say(f"(nsubj (cc:preconj neither) {x}.form (conj nor {y}.form)) V.past .", neither)
        nor = f"(conj , and neither/ADV did (nsubj {y}.form)) ."
        family.say(f"(nsubj {x}.form) did not V.base {nor}", neither)
        family.say(f"(nsubj {x}.form) V.past (conj , but (nsubj {y}.form) did not) .", alone)
        family.say(f"(nsubj {x}.form) V.past (conj , but not {y}.form) .", alone)
        family.say(f"(nsubj only one {of_both}) V.past .", single)
    for x, i in zip("XYZ", range(3), strict=True):
        x_did = {did for did in models if did[i]}
        family.say(f"(nsubj {x}.form) V.past .", x_did)
        family.say(f"(expl it) was {x}.form (acl:relcl (nsubj who) V.past) .", x_did)
        family.say(f"(nsubj {x}.form) did not V.base .", models - x_did)
        family.say(f"(expl it) was not {x}.form (acl:relcl (nsubj who) V.past) .", models - x_did)
    return family


def entailment_families() -> list[Family]:
    """All families of inference pairs."""
    people, animals = quantifiers("noun.person", "adj.human"), quantifiers("noun.animal", "adj.thing")
    return [people, animals, roles(), comparisons(), counts(), coordination()]


def paraphrase_families() -> list[Family]:
    """All families of paraphrase pairs: nearly the same words, the same meaning or another.

    The second argument of ``say`` is the meaning: any value, equal for statements that mean the same. In *voice* the
    meaning is who does it, ``X`` or ``Y``, as all else is the same in all statements.
    """
    people = {"X": "name.first", "Y": "name.first"}
    objects = {"N": "noun.thing", "O": "noun.thing"}
    voice = Family("voice", {**people, "V": "verb.meet", "T": "name.town", "D": "weekday"})
    gifts = Family("gifts", {**people, "V": "verb.give", "N": "noun.thing", "A": "adj.thing", "D": "weekday"})
    for x, y in permutations("XY"):
        active = f"(nsubj {x}.form) V.past (obj {y}.form)"
        for core in (active, f"(nsubj:pass {y}.form) was V.part (obl by {x}.form)"):
            for first, second in permutations(("(obl near T.form)", "(obl on D.form)")):
                voice.say(f"{core} {first} {second} .", x)
                voice.say(f"{first} , {core} {second} .", x)
        for core in (
            f"(nsubj {x}.form) V.past (iobj {y}.form) (obj the A.pos N.sg) .",
            f"(nsubj {x}.form) V.past (obj the A.pos N.sg) (obl to {y}.form) .",
            f"(nsubj:pass the A.pos N.sg) was V.part (obl to {y}.form) (obl by {x}.form) .",
            f"(nsubj:pass {y}.form) was V.part (obj the A.pos N.sg) (obl by {x}.form) .",
        ):
            gifts.say(core, x)
            gifts.say(f"(obl on D.form) , {core}", (x, "day"))
    journeys = Family(
        "journeys",
        {"X": "name.first", "V": "verb.motion", "T": "name.town", "U": "name.town", "D": "weekday"},
    )
    for here, there in permutations("TU"):
        for first, second in permutations((f"(obl from {here}.form)", f"(obl to {there}.form)")):
            journeys.say(f"(nsubj X.form) V.past {first} {second} (obl on D.form) .", here)
            journeys.say(f"(obl on D.form) , (nsubj X.form) V.past {first} {second} .", here)
    deeds = Family("deeds", {**people, "V": "verb.handle", "W": "verb.handle", **objects})
    for names, order in product(("XY", "YX"), ("NO", "ON")):  # who did which to what, in either order
        triples = zip(names, "VW", order, strict=True)
        clauses = [f"(nsubj {person}.form) {verb}.past (obj the {noun}.sg)" for person, verb, noun in triples]
        for first, second in permutations(clauses):
            deeds.say(f"{first} (conj and {second}) .", (names, order))
            deeds.say(f"{first} (advcl , while {second}) .", (names, order))
            deeds.say(f"(advcl while {first}) , {second} .", (names, order))
    return [voice, journeys, gifts, deeds]


@cache
def inference_patterns() -> tuple[Pattern, ...]:
    """Patterns of all families of inference; each family has the same weight."""
    return tuple(chain.from_iterable(map(weighted_patterns, entailment_families())))


@cache
def paraphrase_patterns() -> tuple[Pattern, ...]:
    """Patterns of all families of paraphrase; each family has the same weight."""
    return tuple(chain.from_iterable(map(weighted_patterns, paraphrase_families())))
