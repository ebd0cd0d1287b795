"""Noun phrases, names and adverbials of the grammar."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from isoglot.synthetic.tree import Node, fixed, open_word

T = TypeVar("T")

ADJECTIVES = {
    "noun.person": ("adj.person", "adj.human"),
    "noun.animal": ("adj.human", "adj.size", "adj.thing"),
    "noun.thing": ("adj.thing", "adj.quality", "adj.size"),
    "noun.furniture": ("adj.quality", "adj.thing"),
    "noun.food": ("adj.thing", "adj.quality"),
    "noun.place": ("adj.quality", "adj.size"),
    "noun.part": ("adj.quality", "adj.thing"),
    "noun.abstract": ("adj.abstract",),
    "noun.group": ("adj.abstract",),
    "noun.mass": ("adj.quality",),
}
PRONOUNS = {
    # subject, object, possessive, plural
    "he": ("he", "him", "his", False),
    "she": ("she", "her", "her", False),
    "they": ("they", "them", "their", True),
    "we": ("we", "us", "our", True),
    "i": ("I", "me", "my", True),
    "you": ("you", "you", "your", True),
    "it": ("it", "it", "its", False),
}
PLACE_PREPOSITIONS = ("in", "near", "behind", "at", "outside", "inside", "beside", "opposite")


class Phrases:
    """Builds noun phrases and adverbials."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def pick(self, options: Sequence[tuple[T, float]]) -> T:
        """One of the weighted options."""
        return self.random.choices([o for o, _ in options], [w for _, w in options])[0]

    def chance(self, probability: float) -> bool:
        """A biased coin."""
        return self.random.random() < probability

    def person_name(self) -> Node:
        """A first name, a full name, or a surname with or without a title."""
        kind = self.pick((("first", 5), ("full", 4), ("last", 1), ("title", 2)))
        if kind == "first":
            node = open_word("name.first", "form", "PROPN")
        elif kind == "full":
            node = open_word("name.first", "form", "PROPN")
            node.after("flat", open_word("name.last", "form", "PROPN").part())
        else:
            node = open_word("name.last", "form", "PROPN")
            if kind == "title":
                node.before("compound", fixed(self.random.choice(("Mr", "Mrs", "Dr", "Professor")), "PROPN"))
        node.entity = "PER"
        return node

    def place_name(self) -> Node:
        """A town, a country, or a lake, port or mount with a name."""
        kind = self.pick((("town", 6), ("country", 2), ("feature", 2)))
        if kind == "country":
            node = open_word("name.country", "form", "PROPN")
        else:
            node = open_word("name.town", "form", "PROPN")
            if kind == "feature":
                node.before("compound", open_word("name.feature", "form", "PROPN").part())
        node.entity = "LOC"
        return node

    def organisation(self) -> Node:
        """A company, a public body of a town, or a ministry."""
        kind = self.pick((("company", 4), ("public", 3), ("of", 2), ("sons", 1), ("ministry", 2)))
        if kind == "company":
            node = open_word("org.tail", "form", "PROPN")
            node.before(
                "compound", open_word(self.random.choice(("name.last", "name.town")), "form", "PROPN").part()
            )
        elif kind == "public":
            node = open_word("org.public", "form", "PROPN")
            node.before("compound", open_word("name.town", "form", "PROPN").part())
        elif kind == "of":
            node = open_word("org.public", "form", "PROPN").before("det", fixed("the", "DET"))
            node.after(
                "nmod",
                open_word("name.town", "form", "PROPN").part().before("case", fixed("of", "ADP").part()),
            )
        elif kind == "sons":
            node = open_word("name.last", "form", "PROPN")
            node.after("conj", fixed("Sons", "PROPN").part().before("cc", fixed("and", "CCONJ").part()))
        else:
            node = open_word("org.body", "form", "PROPN").before("det", fixed("the", "DET"))
            node.after(
                "nmod",
                open_word("org.field", "form", "PROPN").part().before("case", fixed("of", "ADP").part()),
            )
        node.entity = "ORG"
        return node

    def adjective(self, noun: str) -> Node:
        """An adjective that goes with nouns of a pool, now and then with a degree adverb."""
        node = open_word(self.random.choice(ADJECTIVES.get(noun, ("adj.thing",))), "pos", "ADJ")
        if self.chance(0.08):
            node.before("advmod", open_word("adv.degree", "form", "ADV"))
        return node

    def common(self, pool: str, *, plural: bool, determiner: str | None = None) -> Node:
        """A common noun with determiner, adjectives, compound, possessor or number."""
        mass = pool in {"noun.mass", "noun.quality"}
        above = not mass and self.chance(0.08)
        form = ("hyper." if above else "") + ("pl" if plural and not mass else "sg")
        node = open_word(pool, form, "NOUN")
        if pool in {"noun.thing", "noun.part"} and self.chance(0.12):
            node.before("compound", open_word("noun.material", "sg", "NOUN"))
        elif pool == "noun.furniture" and self.chance(0.2):
            node.before("compound", open_word("noun.place", "sg", "NOUN"))
        if self.chance(0.3) and pool != "noun.quality":
            if self.chance(0.06):
                second = self.adjective(pool).before("cc", fixed("and", "CCONJ"))
                node.before("amod", self.adjective(pool).after("conj", second))
            else:
                node.before("amod", self.adjective(pool))
        self._determine(node, plural=plural, mass=mass, determiner=determiner)
        return node

    def _determine(self, node: Node, *, plural: bool, mass: bool, determiner: str | None) -> None:
        if determiner is not None:
            node.before("det", fixed(determiner, "DET"))
            return
        kind = self.pick((("the", 8), ("a", 6), ("poss", 2), ("gen", 1.2), ("dem", 1), ("quant", 2)))
        if kind == "gen":
            owner = (
                self.person_name()
                if self.chance(0.7)
                else self.common("noun.person", plural=False, determiner="the")
            )
            node.before("nmod:poss", owner.after("case", fixed("'s", "PART")))
        elif kind == "poss":
            node.before("nmod:poss", fixed(self.random.choice(list(PRONOUNS.values()))[2], "PRON"))
        elif kind == "the":
            node.before("det", fixed("the", "DET"))
        elif mass:
            node.before("det", fixed("some", "DET")) if kind == "quant" else None
        elif kind == "dem":
            node.before(
                "det", fixed(self.random.choice(("these", "those") if plural else ("this", "that")), "DET")
            )
        elif not plural:
            word = self.random.choice(("every", "each", "another")) if kind == "quant" else "a"
            node.before("det", fixed(word, "DET"))
        elif kind == "quant":
            node.before("det", fixed(self.random.choice(("some", "all", "several", "many", "few")), "DET"))
        elif self.chance(0.5):
            number = self.pick((("number.word", 3.0), ("number.digits", 1.0)))
            node.before("nummod", open_word(number, "form", "NUM"))

    def place(self, preposition: str | None = None) -> Node:
        """A prepositional phrase of place."""
        word = preposition or self.random.choice(PLACE_PREPOSITIONS)
        if self.chance(0.4):
            noun = self.place_name()
            word = preposition or self.random.choice(("in", "near"))
        else:
            noun = self.common("noun.place", plural=False)
        return noun.before("case", fixed(word, "ADP"))

    def time(self) -> tuple[str, Node]:
        """An adverbial of time and its relation: yesterday, on Monday, in March, in 1987, last week, two hours ago."""
        kind = self.pick((("adverb", 3), ("weekday", 2), ("month", 1), ("year", 1), ("last", 2), ("ago", 1)))
        if kind == "adverb":
            return "advmod", open_word("adv.time", "form", "ADV")
        if kind == "last":
            which = fixed(self.random.choice(("last", "next", "every", "that")), "ADJ")
            which.upos = "DET" if which.text in {"every", "that"} else "ADJ"
            noun = open_word("noun.time", "sg", "NOUN")
            return "obl", noun.before("det" if which.upos == "DET" else "amod", which)
        if kind == "ago":
            noun = open_word("noun.time", "pl", "NOUN").before(
                "nummod", open_word("number.word", "form", "NUM")
            )
            return "advmod", fixed("ago", "ADV").before("obl", noun)
        pool, word = {"weekday": ("weekday", "on"), "month": ("month", "in"), "year": ("number.year", "in")}[
            kind
        ]
        upos = "NUM" if kind == "year" else "PROPN"
        return "obl", open_word(pool, "form", upos).before("case", fixed(word, "ADP"))
