"""The grammar: random derivations of English-like sentences as dependency trees.

Derivations are sampled once for a world; each becomes a pattern whose words are drawn anew for every sentence. Subjects
agree with verbs, tenses and moods vary, clauses nest (relative, complement, adverbial) and coordinate, and some
sentences are questions or commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from isoglot.synthetic.patterns import Pattern
from isoglot.synthetic.phrases import PRONOUNS, Phrases
from isoglot.synthetic.tree import Node, fixed, open_word, to_pattern
from isoglot.synthetic.verbs import Finite, finite

FRAMES = (
    # name, weight, pool of the verb, pools of the object
    ("intransitive", 3.0, "verb.intr", ()),
    ("motion", 3.0, "verb.motion", ()),
    ("object", 4.0, "verb.handle", ("noun.thing", "noun.thing", "noun.furniture", "noun.part", "noun.mass")),
    ("object", 1.5, "verb.consume", ("noun.food",)),
    ("object", 1.5, "verb.discuss", ("noun.abstract",)),
    ("object", 0.5, "verb.play", ("noun.thing",)),
    ("person", 3.5, "verb.meet", ("noun.person", "noun.animal", "noun.group")),
    ("give", 1.5, "verb.give", ("noun.thing", "noun.food", "noun.mass")),
    ("say", 1.6, "verb.say", ()),
    ("say", 0.8, "verb.know", ()),
    ("want", 1.2, "verb.want", ()),
    ("copula", 3.0, "", ()),
    ("exist", 1.0, "", ()),
    ("happen", 0.8, "verb.happen", ()),
    ("rain", 0.3, "verb.rain", ()),
)


@dataclass(frozen=True)
class SubjectPhrase:
    """A subject and whether verbs agree with it as a plural."""

    node: Node
    plural: bool
    pool: str
    first_person: bool = False


class Grammar(Phrases):
    """Random derivations."""

    def __init__(self, random: Random, *, depth: int = 2) -> None:
        super().__init__(random)
        self.depth = depth

    def sentence(self) -> Node:
        """A whole sentence with its final mark."""
        kind = self.pick((("plain", 78), ("coordinated", 8), ("yesno", 6), ("wh", 6), ("command", 3)))
        if kind == "yesno":
            root, mark = self.clause(self.depth, mood="question"), "?"
        elif kind == "wh":
            root, mark = self.wh_question(), "?"
        elif kind == "command":
            root, mark = self.command(), "."
        else:
            root, mark = self.clause(self.depth), "."
            if kind == "coordinated":
                word = self.random.choice(("and", "but", "so", "or"))
                second = (
                    self.clause(0).before("cc", fixed(word, "CCONJ")).before("punct", fixed(",", "PUNCT"))
                )
                root.after("conj", second)
            elif self.chance(0.15):
                root = self._fronted(root)
        return root.after("punct", fixed(mark, "PUNCT"))

    def _fronted(self, root: Node) -> Node:
        """An adverbial, or a subordinate clause, before the sentence."""
        root.before("punct", fixed(",", "PUNCT"))
        if self.chance(0.35):
            return root.before("advcl", self.subordinate())
        if self.chance(0.5):
            return root.before("advmod", open_word("adv.sentence", "form", "ADV"))
        if self.chance(0.5):
            return root.before("obl", self.place("in"))
        relation, node = self.time()
        return root.before(relation, node)

    def subordinate(self) -> Node:
        """A clause with *because*, *when*, *after* …."""
        word = self.random.choice(("because", "when", "after", "before", "if", "while", "although", "until"))
        return self.clause(0, tense="past").before("mark", fixed(word, "SCONJ"))

    def subject(self, pools: tuple[str, ...] = ("noun.person",), depth: int = 0) -> SubjectPhrase:
        """A subject: a pronoun, a name, a noun phrase or two of them."""
        human = "noun.person" in pools
        kind = self.pick(
            (("name", 4.0 * human), ("pronoun", 3.0 * human), ("org", 0.7 * human), ("noun", 7), ("two", 0.9))
        )
        if kind == "name":
            return SubjectPhrase(self.person_name(), False, "noun.person")
        if kind == "org":
            return SubjectPhrase(self.organisation(), False, "noun.group")
        if kind == "pronoun":
            key = self.pick((("he", 3), ("she", 3), ("they", 2), ("we", 1), ("i", 1), ("you", 0.6)))
            return SubjectPhrase(fixed(PRONOUNS[key][0], "PRON"), PRONOUNS[key][3], "noun.person", key == "i")
        pool = self.random.choice(pools)
        if kind == "two":
            first = self.person_name() if human and self.chance(0.5) else self.common(pool, plural=False)
            second = (
                self.person_name()
                if human and self.chance(0.5)
                else self.common(pool, plural=self.chance(0.3))
            )
            first.after("conj", second.before("cc", fixed("and", "CCONJ")))
            return SubjectPhrase(first, True, pool)
        plural = self.chance(0.35)
        node = self.common(pool, plural=plural)
        self.modify(node, pool, plural=plural, depth=depth)
        return SubjectPhrase(node, plural, pool)

    def modify(self, node: Node, pool: str, *, plural: bool, depth: int) -> None:
        """Perhaps a prepositional phrase or a relative clause after a noun."""
        if self.chance(0.13):
            if pool in {"noun.thing", "noun.furniture", "noun.food"} and self.chance(0.4):
                other = self.common("noun.part" if pool != "noun.food" else "noun.mass", plural=False)
                node.after("nmod", other.before("case", fixed("with", "ADP")))
            else:
                node.after("nmod", self.place(None if self.chance(0.7) else "from"))
        elif depth > 0 and self.chance(0.16):
            node.after("acl:relcl", self.relative(pool, plural=plural))

    def relative(self, pool: str, *, plural: bool) -> Node:
        """A relative clause about a noun, with the noun as its subject or its object."""
        human = pool == "noun.person"
        word = fixed(self.random.choice(("who", "that") if human else ("which", "that")), "PRON")
        if pool in {"noun.person", "noun.animal"} and self.chance(0.7):
            return self.clause(0, subject=SubjectPhrase(word, plural, pool))
        if pool in {"noun.person", "noun.animal", "noun.group"}:
            verb = "verb.meet"
        else:
            verb = {"noun.food": "verb.consume", "noun.abstract": "verb.discuss"}.get(pool, "verb.handle")
        who = self.subject()
        root = self.predicate(verb, who)
        return root.before("obj", word) if self.chance(0.7) else root

    def object(self, pools: tuple[str, ...], depth: int) -> Node:
        """An object: noun phrase, name or pronoun."""
        pool = self.random.choice(pools)
        if pool == "noun.person" and self.chance(0.5):
            if self.chance(0.35):
                return fixed(self.random.choice(("him", "her", "them", "me", "us", "you")), "PRON")
            return self.person_name()
        if pool == "noun.group" and self.chance(0.5):
            return self.organisation()
        plural = self.chance(0.3) and pool != "noun.mass"
        node = self.common(pool, plural=plural)
        self.modify(node, pool, plural=plural, depth=depth)
        if pool != "noun.mass" and self.chance(0.05):
            node.after("conj", self.common(pool, plural=False).before("cc", fixed("and", "CCONJ")))
        return node

    def predicate(
        self, pool: str, who: SubjectPhrase, *, mood: str = "plain", tense: str | None = None
    ) -> Node:
        """A verb with its auxiliaries and subject."""
        choice = tense or self.pick(
            (("past", 45), ("present", 16), ("future", 8), ("perfect", 7), ("progressive", 8), ("modal", 7))
        )
        return finite(
            Finite(
                pool,
                choice,
                who.plural,
                who.first_person,
                negative=self.chance(0.1),
                question=mood == "question",
            ),
            who.node,
            self.random,
        )

    def clause(
        self,
        depth: int,
        *,
        subject: SubjectPhrase | None = None,
        mood: str = "plain",
        tense: str | None = None,
    ) -> Node:
        """A clause around one verb frame."""
        weights = [(f, f[1]) for f in FRAMES if subject is None or f[0] not in {"exist", "happen", "rain"}]
        if depth == 0:
            weights = [w for w in weights if w[0][0] not in {"say", "exist"}]
        name, _, verb, pools = self.pick(weights)
        if name == "rain":
            return self.predicate(
                verb, SubjectPhrase(fixed("it", "PRON"), False, "expl"), mood=mood, tense=tense
            )
        if name == "exist":
            return self.existential(mood)
        if name == "copula":
            return self.copula(subject, mood, tense)
        kinds = {"happen": ("noun.abstract",), "intransitive": ("noun.person", "noun.person", "noun.animal")}
        who = subject or self.subject(kinds.get(name, ("noun.person",)), depth)
        if name in {"object", "person"} and subject is None and mood == "plain" and self.chance(0.14):
            return self.passive(verb, pools, tense)
        root = self.predicate(verb, who, mood=mood, tense=tense)
        self._complete(root, name, pools, depth)
        if depth > 0 and self.chance(0.07):
            root.after("advcl", self.subordinate())
        return root

    def _complete(self, root: Node, name: str, pools: tuple[str, ...], depth: int) -> None:
        """Objects, complements and adverbials after the verb."""
        if name in {"object", "person"}:
            root.after("obj", self.object(pools, depth))
        elif name == "motion":
            root.after(
                "obl", self.place(self.random.choice(("to", "through", "towards", "from", "across", "past")))
            )
        elif name == "give":
            person, thing = self.object(("noun.person",), 0), self.object(pools, depth)
            if person.upos == "PRON" or self.chance(0.5):
                root.after("iobj", person).after("obj", thing)
            else:
                root.after("obj", thing).after("obl", person.before("case", fixed("to", "ADP")))
        elif name == "say":
            that = fixed("that", "SCONJ") if self.chance(0.7) else None
            root.after("ccomp", self.clause(depth - 1).before("mark", that))
        elif name == "want":
            verb, objects = self.pick(
                (
                    (("verb.handle", ("noun.thing",)), 3),
                    (("verb.meet", ("noun.person",)), 3),
                    (("verb.intr", ()), 2),
                )
            )
            inner = open_word(verb, "base", "VERB").before("mark", fixed("to", "PART"))
            root.after("xcomp", inner.after("obj", self.object(objects, 0)) if objects else inner)
        self.adverbials(root)

    def adverbials(self, root: Node) -> None:
        """Manner, place and time after a verb."""
        if self.chance(0.12):
            root.after("advmod", open_word("adv.manner", "form", "ADV"))
        if self.chance(0.18):
            root.after("obl", self.place())
        if self.chance(0.17):
            relation, node = self.time()
            root.after(relation, node)

    def passive(self, verb: str, pools: tuple[str, ...], tense: str | None) -> Node:
        """A passive clause, with or without its agent."""
        pool = self.random.choice(pools)
        plural = self.chance(0.3) and pool != "noun.mass"
        who = self.common(pool, plural=plural)
        form = Finite(
            verb,
            tense or self.pick((("past", 5), ("present", 2), ("future", 1), ("perfect", 1))),
            plural,
            passive=True,
        )
        root = finite(form, who, self.random)
        if self.chance(0.5):
            root.after("obl", self.object(("noun.person",), 0).before("case", fixed("by", "ADP")))
        self.adverbials(root)
        return root

    def copula(self, subject: SubjectPhrase | None, mood: str, tense: str | None) -> Node:
        """*is* with an adjective, a comparison, a noun or a place."""
        pools = ("noun.person", "noun.thing", "noun.place", "noun.animal", "noun.abstract", "noun.furniture")
        who = subject or self.subject((self.random.choice(pools),))
        kind = self.pick(
            (("adjective", 6), ("than", 2 * (who.pool == "noun.person")), ("noun", 2), ("place", 2))
        )
        if kind == "noun" and who.pool == "noun.person" and not who.plural:
            root = self.common("noun.person", plural=False, determiner="a")
        elif kind == "than":
            other = self.person_name().before("case", fixed("than", "ADP"))
            root = open_word("adj.compare", "cmp", "ADJ").after("obl", other)
        elif kind == "place":
            root = self.place(self.random.choice(("in", "near", "behind", "outside")))
        else:
            root = self.adjective(who.pool)
        when = tense if tense == "past" else self.random.choice(("past", "present"))
        form = Finite("", when, who.plural, who.first_person,
                      negative=self.chance(0.1), question=mood == "question", predicate=root)  # fmt: skip
        return finite(form, who.node, self.random)

    def existential(self, mood: str) -> Node:
        """*There was a … in the …*."""
        plural = self.chance(0.4)
        pool = self.random.choice(("noun.animal", "noun.thing", "noun.person", "noun.furniture"))
        if plural:
            node = self.common(pool, plural=True, determiner=self.random.choice(("some", "many", "several")))
        else:
            node = self.common(pool, plural=False, determiner="a")
        when = self.pick((("past", 2), ("present", 1)))
        form = Finite("", when, plural, question=mood == "question", existential=True, predicate=node)
        return finite(form, fixed("there", "PRON"), self.random).after("nmod", self.place())

    def wh_question(self) -> Node:
        """*Who met …? What did … buy? Where did … go? When …?*."""
        kind = self.pick((("who", 2), ("what", 2), ("adverb", 3)))
        if kind == "who":
            who = SubjectPhrase(fixed("who", "PRON"), False, "noun.person")
            root = self.predicate("verb.meet", who, tense="past")
            return root.after("obj", self.object(("noun.person",), 0))
        who = self.subject()
        if kind == "what":
            return self.predicate("verb.handle", who, mood="question", tense="past").before(
                "obj", fixed("what", "PRON")
            )
        root = self.predicate("verb.handle", who, mood="question", tense="past")
        word = fixed(self.random.choice(("where", "when", "why", "how")), "ADV")
        return root.after("obj", self.object(("noun.thing",), 0)).before("advmod", word)

    def command(self) -> Node:
        """An imperative, polite or not."""
        root = open_word("verb.handle", "base", "VERB").after(
            "obj", self.object(("noun.thing", "noun.furniture"), 0)
        )
        self.adverbials(root)
        if self.chance(0.4):
            root.before("discourse", fixed("please", "INTJ"))
        return root


def sample_patterns(count: int, seed: int) -> list[Pattern]:
    """Sentence patterns of ``count`` random derivations; sentences longer than 40 words are left out."""
    grammar = Grammar(Random(seed))
    found: list[Pattern] = []
    while len(found) < count:
        pattern = to_pattern(grammar.sentence())
        if len(pattern.sentences[0]) <= 40:
            found.append(pattern)
    return found
