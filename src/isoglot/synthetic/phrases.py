"""Noun phrases, names and adverbials of the grammar, as lines with their trees (:mod:`isoglot.synthetic.wordings`)."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

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
POSSESSIVES = ("his", "her", "their", "our", "my", "your", "its")
_DETERMINERS = {
    ("dem", True): ("these", "those"),
    ("dem", False): ("this", "that"),
    ("quant", True): ("some", "all", "several", "many", "few"),
    ("quant", False): ("every", "each", "another"),
}  # by kind, and whether the noun is a plural
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

    def person_name(self) -> str:
        """A first name, a full name, or a surname with or without a title."""
        kind = self.pick((("first", 5), ("full", 4), ("last", 1), ("title", 2)))
        if kind == "title":
            return f"(compound {self.random.choice(('Mr', 'Mrs', 'Dr', 'Professor'))}/PROPN) name.last:form"
        return {
            "first": "name.first:form",
            "full": "name.first:form (flat@ name.last:form)",
            "last": "name.last:form",
        }[kind]

    def place_name(self) -> str:
        """A town, a country, or a lake, port or mount with a name."""
        return self.pick(
            (
                ("name.town:form", 6),
                ("name.country:form", 2),
                ("(compound@ name.feature:form) name.town:form", 2),
            )
        )

    def organisation(self) -> str:
        """A company, a public body of a town, or a ministry."""
        kind = self.pick((("company", 4), ("public", 3), ("of", 2), ("sons", 1), ("ministry", 2)))
        if kind == "company":
            return f"(compound@ {self.random.choice(('name.last', 'name.town'))}:form) org.tail:form"
        return {
            "public": "(compound@ name.town:form) org.public:form",
            "of": "the org.public:form (nmod@ (case@ of) name.town:form)",
            "sons": "name.last:form@ORG (conj@ (cc@ and) Sons/PROPN)",
            "ministry": "the org.body:form (nmod@ (case@ of) org.field:form)",
        }[kind]

    def adjective(self, noun: str) -> str:
        """An adjective that goes with nouns of a pool, now and then with a degree adverb."""
        word = f"{self.random.choice(ADJECTIVES.get(noun, ('adj.thing',)))}:pos"
        return f"adv.degree:form {word}" if self.chance(0.08) else word

    def common(self, pool: str, *, plural: bool, determiner: str | None = None) -> str:
        """A common noun with determiner, adjectives, compound, possessor or number."""
        mass = pool in {"noun.mass", "noun.quality"}
        above = not mass and self.chance(0.08)
        noun = f"{pool}:{'hyper.' if above else ''}{'pl' if plural and not mass else 'sg'}"
        if pool in {"noun.thing", "noun.part"} and self.chance(0.12):
            noun = f"(compound noun.material:sg) {noun}"
        elif pool == "noun.furniture" and self.chance(0.2):
            noun = f"(compound noun.place:sg) {noun}"
        if self.chance(0.3) and pool != "noun.quality":
            second = f" (conj and {self.adjective(pool)})" if self.chance(0.06) else ""
            noun = f"(amod {self.adjective(pool)}{second}) {noun}"
        word = f"{determiner}/DET" if determiner else self._determiner(plural=plural, mass=mass)
        return f"{word} {noun}"

    def _determiner(self, *, plural: bool, mass: bool) -> str:
        """What stands before a noun and its adjectives, if anything."""
        kind = self.pick((("the", 8), ("a", 6), ("poss", 2), ("gen", 1.2), ("dem", 1), ("quant", 2)))
        if kind == "gen":
            owner = (
                self.person_name()
                if self.chance(0.7)
                else self.common("noun.person", plural=False, determiner="the")
            )
            return f"(nmod:poss {owner} (case 's/PART))"
        if kind == "poss":
            return f"(nmod:poss {self.random.choice(POSSESSIVES)}/PRON)"
        if mass and kind != "the":
            return "some/DET" if kind == "quant" else ""
        if kind == "a" and plural:
            numbers = (("number.word:form", 3.0), ("number.digits:form", 1.0))
            return self.pick(numbers) if self.chance(0.5) else ""
        if kind in ("the", "a"):
            return kind
        return f"{self.random.choice(_DETERMINERS[kind, plural])}/DET"

    def place(self, preposition: str | None = None) -> str:
        """A prepositional phrase of place."""
        word = preposition or self.random.choice(PLACE_PREPOSITIONS)
        if self.chance(0.4):
            noun = self.place_name()
            word = preposition or self.random.choice(("in", "near"))
        else:
            noun = self.common("noun.place", plural=False)
        return f"{word}/ADP {noun}"

    def time(self) -> str:
        """An adverbial of time: yesterday, on Monday, in March, in 1987, last week, two hours ago."""
        kind = self.pick((("adverb", 3), ("weekday", 2), ("month", 1), ("year", 1), ("last", 2), ("ago", 1)))
        if kind == "last":
            word = self.random.choice(("last/ADJ", "next/ADJ", "every/DET", "that/DET"))
            return f"(obl {word} noun.time:sg)"
        return {
            "adverb": "(advmod adv.time:form)",
            "weekday": "(obl on weekday:form)",
            "month": "(obl in month:form)",
            "year": "(obl in number.year:form)",
            "ago": "(advmod (obl number.word:form noun.time:pl) ago)",
        }[kind]
