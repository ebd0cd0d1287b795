"""Finite verb groups: tense, mood, negation, agreement, questions, passives and the copula."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from isoglot.synthetic.tree import Node, fixed, open_word


@dataclass(frozen=True)
class Finite:
    """What a verb group expresses.

    Args:
        pool: the verb's pool; without one it is a copula, and ``predicate`` is the head.
        plural: whether the subject is a plural (also *I* and *you*).
        first_person: whether the subject is *I*.
        question: the first auxiliary stands before the subject.
        passive: participle with *be*.
        existential: the subject is *there*; the predicate is what agrees.
        predicate: a copula's predicate.
    """

    pool: str
    tense: str
    plural: bool
    first_person: bool = False
    negative: bool = False
    question: bool = False
    passive: bool = False
    existential: bool = False
    predicate: Node | None = None


def _be(form: Finite) -> str:
    past = form.tense in {"past", "past progressive"}
    if form.first_person:
        return "was" if past else "am"
    if form.plural:
        return "were" if past else "are"
    return "was" if past else "is"


def _auxiliaries(form: Finite, random: Random) -> tuple[list[str], str]:
    """Auxiliaries that carry tense, and the form of what follows them."""
    if form.tense == "future":
        return ["will"], "base"
    if form.tense == "modal":
        return [random.choice(("can", "must", "may", "should", "could", "might"))], "base"
    if form.tense == "perfect":
        return ["have" if form.plural else "has"], "part"
    if form.tense == "progressive":
        past = random.random() < 0.5
        return [_be(Finite("", "past" if past else "present", form.plural, form.first_person))], "ing"
    return [], "past" if form.tense == "past" else ("base" if form.plural else "s")


def finite(form: Finite, subject: Node, random: Random) -> Node:
    """The verb (or the copula's predicate) with auxiliaries, negation and subject attached."""
    if form.predicate is not None:
        return _copula(form, subject, form.predicate)
    words, needed = _auxiliaries(form, random)
    group = [fixed(w, "AUX") for w in words]
    if form.passive:
        be = {"base": "be", "part": "been", "ing": "being"}.get(needed) or _be(form)
        group.append(fixed(be, "AUX"))
        needed = "part"
    wh_subject = form.question is False and subject.text == "who"
    if not group and (form.negative or form.question) and not wh_subject:
        do = "did" if form.tense == "past" else ("do" if form.plural else "does")
        group, needed = [fixed(do, "AUX")], "base"
    verb = open_word(form.pool, needed, "VERB")
    relation = (
        "nsubj:pass"
        if form.passive
        else ("expl" if subject.text == "it" and form.pool == "verb.rain" else "nsubj")
    )
    negative = form.negative and bool(group)
    dependents = _ordered(group, subject, negative=negative, question=form.question)
    for node in dependents:
        if node is subject:
            node.deprel = relation
        elif node.text == "not":
            node.deprel = "advmod"
        else:
            node.deprel = "aux"
    if form.passive:
        group[-1].deprel = "aux:pass"
    verb.left[:0] = dependents
    return verb


def _ordered(group: list[Node], subject: Node, *, negative: bool, question: bool) -> list[Node]:
    no = [fixed("not", "PART")] if negative else []
    if question and group:
        return [group[0], subject, *no, *group[1:]]
    return [subject, *group[:1], *no, *group[1:]]


def _copula(form: Finite, subject: Node, predicate: Node) -> Node:
    be = fixed(_be(form), "VERB" if form.existential else "AUX")
    no = [fixed("not", "PART")] if form.negative else []
    if form.existential:
        # UD: the verb is the root, "there" its expletive, what exists its subject.
        be.after("nsubj", predicate)
        return be.after("expl", subject) if form.question else be.before("expl", subject)
    for node in no:
        node.deprel = "advmod"
    be.deprel, subject.deprel = "cop", "nsubj"
    order = [be, subject, *no] if form.question else [subject, be, *no]
    predicate.left[:0] = order
    return predicate
