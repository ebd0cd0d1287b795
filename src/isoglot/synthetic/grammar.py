"""The grammar: random derivations of English-like sentences as dependency trees.

Derivations are sampled once for a world; each becomes a pattern whose words are drawn anew for every sentence. Subjects
agree with verbs, tenses and moods vary, clauses nest (relative, complement, adverbial) and coordinate, and some
sentences are questions or commands. Phrases are lines with their trees (:mod:`isoglot.synthetic.wordings`): what stands
before or after a phrase's head is written before or after the phrase.
"""

from dataclasses import dataclass
from random import Random

from isoglot.synthetic.patterns import Pattern
from isoglot.synthetic.phrases import Phrases
from isoglot.synthetic.wordings import parse_wording

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
_DEPTH = 2
"""How deep clauses may nest."""
PRONOUNS = (("he", 3), ("she", 3), ("they", 2), ("we", 1), ("I", 1), ("you", 0.6))


@dataclass(frozen=True)
class Subject:
    """A subject and whether verbs agree with it as a plural."""

    text: str
    plural: bool
    pool: str

    def be(self, tense: str) -> str:
        """The form of *be*."""
        first = self.text == "I/PRON"
        if tense == "past":
            return "were" if self.plural and not first else "was"
        return "am" if first else "are" if self.plural else "is"


class Grammar(Phrases):
    """Random derivations."""

    def sentence(self) -> str:
        """A whole sentence with its final mark."""
        kind = self.pick((("plain", 78), ("coordinated", 8), ("yesno", 6), ("wh", 6), ("command", 3)))
        if kind == "yesno":
            return f"{self.clause(_DEPTH, question=True)} ?"
        if kind == "wh":
            return f"{self.wh_question()} ?"
        if kind == "command":
            return f"{self.command()} ."
        root = self.clause(_DEPTH)
        if kind == "coordinated":
            word = self.random.choice(("and", "but", "so", "or"))
            root += f" (conj , {word}/CCONJ {self.clause(0)})"
        elif self.chance(0.15):
            root = f"{self._fronted()} , {root}"
        return f"{root} ."

    def _fronted(self) -> str:
        """An adverbial, or a subordinate clause, before the sentence."""
        if self.chance(0.35):
            return self.subordinate()
        if self.chance(0.5):
            return "(advmod adv.sentence:form)"
        return f"(obl {self.place('in')})" if self.chance(0.5) else self.time()

    def subordinate(self) -> str:
        """A clause with *because*, *when*, *after* …."""
        word = self.random.choice(("because", "when", "after", "before", "if", "while", "although", "until"))
        return f"(advcl {word}/SCONJ {self.clause(0, tense='past')})"

    def subject(self, pools: tuple[str, ...] = ("noun.person",), depth: int = 0) -> Subject:
        """A subject: a pronoun, a name, a noun phrase or two of them."""
        human = "noun.person" in pools
        kind = self.pick(
            (("name", 4.0 * human), ("pronoun", 3.0 * human), ("org", 0.7 * human), ("noun", 7), ("two", 0.9))
        )
        if kind == "name":
            return Subject(self.person_name(), False, "noun.person")
        if kind == "org":
            return Subject(self.organisation(), False, "noun.group")
        if kind == "pronoun":
            word = self.pick(PRONOUNS)
            return Subject(f"{word}/PRON", word not in ("he", "she"), "noun.person")
        pool = self.random.choice(pools)
        if kind == "two":
            named = human and self.chance(0.5)
            first = self.person_name() if named else self.common(pool, plural=False)
            named = human and self.chance(0.5)
            second = self.person_name() if named else self.common(pool, plural=self.chance(0.3))
            return Subject(f"{first} (conj and {second})", True, pool)
        plural = self.chance(0.35)
        noun = self.common(pool, plural=plural)
        return Subject(noun + self.modifier(pool, plural=plural, depth=depth), plural, pool)

    def modifier(self, pool: str, *, plural: bool, depth: int) -> str:
        """Perhaps a prepositional phrase or a relative clause after a noun."""
        if self.chance(0.13):
            if pool in {"noun.thing", "noun.furniture", "noun.food"} and self.chance(0.4):
                other = self.common("noun.part" if pool != "noun.food" else "noun.mass", plural=False)
                return f" (nmod with {other})"
            return f" (nmod {self.place(None if self.chance(0.7) else 'from')})"
        if depth > 0 and self.chance(0.16):
            return f" (acl:relcl {self.relative(pool, plural=plural)})"
        return ""

    def relative(self, pool: str, *, plural: bool) -> str:
        """A relative clause about a noun, with the noun as its subject or its object."""
        word = f"{self.random.choice(('who', 'that') if pool == 'noun.person' else ('which', 'that'))}/PRON"
        if pool in {"noun.person", "noun.animal"} and self.chance(0.7):
            return self.clause(0, subject=Subject(word, plural, pool))
        if pool in {"noun.person", "noun.animal", "noun.group"}:
            verb = "verb.meet"
        else:
            verb = {"noun.food": "verb.consume", "noun.abstract": "verb.discuss"}.get(pool, "verb.handle")
        root = self.finite(verb, self.subject())
        return f"(obj {word}) {root}" if self.chance(0.7) else root

    def object(self, pools: tuple[str, ...], depth: int) -> str:
        """An object: noun phrase, name or pronoun."""
        pool = self.random.choice(pools)
        if pool == "noun.person" and self.chance(0.5):
            if self.chance(0.35):
                return f"{self.random.choice(('him', 'her', 'them', 'me', 'us', 'you'))}/PRON"
            return self.person_name()
        if pool == "noun.group" and self.chance(0.5):
            return self.organisation()
        plural = self.chance(0.3) and pool != "noun.mass"
        noun = self.common(pool, plural=plural) + self.modifier(pool, plural=plural, depth=depth)
        if pool != "noun.mass" and self.chance(0.05):
            noun += f" (conj and {self.common(pool, plural=False)})"
        return noun

    def finite(self, verb: str, who: Subject, *, tense: str | None = None, question: bool = False) -> str:
        """A verb with its auxiliaries, negation and subject, in the active voice."""
        chosen = tense or self.pick(
            (("past", 45), ("present", 16), ("future", 8), ("perfect", 7), ("progressive", 8), ("modal", 7))
        )
        negative = self.chance(0.1)
        group, form = self._auxiliaries(who, chosen)
        if not group and (question or (negative and who.text != "who/PRON")):
            group, form = ["did" if chosen == "past" else ("do" if who.plural else "does")], "base"
        auxiliaries = [f"(aux {word}/AUX)" for word in group]
        relation = "expl" if verb == "verb.rain" else "nsubj"
        words = [f"({relation} {who.text})", *auxiliaries]
        if question:
            words[:2] = words[1::-1]
        if negative and group:
            words.insert(2, "not")
        return " ".join([*words, f"{verb}:{form}"])

    def _auxiliaries(self, who: Subject, tense: str) -> tuple[list[str], str]:
        """Auxiliaries that carry tense, and the form of what follows them."""
        if tense == "future":
            return ["will"], "base"
        if tense == "modal":
            return [self.random.choice(("can", "must", "may", "should", "could", "might"))], "base"
        if tense == "perfect":
            return ["have" if who.plural else "has"], "part"
        if tense == "progressive":
            return [who.be("past" if self.random.random() < 0.5 else "present")], "ing"
        return [], "past" if tense == "past" else ("base" if who.plural else "s")

    def clause(
        self, depth: int, *, subject: Subject | None = None, question: bool = False, tense: str | None = None
    ) -> str:
        """A clause around one verb frame."""
        weights = [(f, f[1]) for f in FRAMES if subject is None or f[0] not in {"exist", "happen", "rain"}]
        if depth == 0:
            weights = [w for w in weights if w[0][0] not in {"say", "exist"}]
        name, _, verb, pools = self.pick(weights)
        if name == "rain":
            return self.finite(verb, Subject("it/PRON", False, "expl"), tense=tense, question=question)
        if name == "exist":
            return self.existential(question=question)
        if name == "copula":
            return self.copula(subject, tense, question=question)
        kinds = {"happen": ("noun.abstract",), "intransitive": ("noun.person", "noun.person", "noun.animal")}
        who = subject or self.subject(kinds.get(name, ("noun.person",)), depth)
        if name in {"object", "person"} and subject is None and not question and self.chance(0.14):
            return self.passive(verb, pools, tense)
        root = self.finite(verb, who, tense=tense, question=question)
        root += self._complements(name, pools, depth) + self.adverbials()
        if depth > 0 and self.chance(0.07):
            root += f" {self.subordinate()}"
        return root

    def _complements(self, name: str, pools: tuple[str, ...], depth: int) -> str:
        """Objects and complements after the verb of a frame."""
        if name in {"object", "person"}:
            return f" (obj {self.object(pools, depth)})"
        if name == "motion":
            words = ("to", "through", "towards", "from", "across", "past")
            return f" (obl {self.place(self.random.choice(words))})"
        if name == "give":
            person, thing = self.object(("noun.person",), 0), self.object(pools, depth)
            double = person.endswith("/PRON") or self.chance(0.5)
            return f" (iobj {person}) (obj {thing})" if double else f" (obj {thing}) (obl to {person})"
        if name == "say":
            that = "that/SCONJ " if self.chance(0.7) else ""
            return f" (ccomp {that}{self.clause(depth - 1)})"
        if name == "want":
            verb, objects = self.pick(
                (
                    (("verb.handle", ("noun.thing",)), 3),
                    (("verb.meet", ("noun.person",)), 3),
                    (("verb.intr", ()), 2),
                )
            )
            inner = f" (obj {self.object(objects, 0)})" if objects else ""
            return f" (xcomp (mark to/PART) {verb}:base{inner})"
        return ""

    def adverbials(self) -> str:
        """Perhaps manner, place and time after a verb."""
        manner = " (advmod adv.manner:form)" if self.chance(0.12) else ""
        place = f" (obl {self.place()})" if self.chance(0.18) else ""
        return manner + place + (f" {self.time()}" if self.chance(0.17) else "")

    def passive(self, verb: str, pools: tuple[str, ...], tense: str | None) -> str:
        """A passive clause, with or without its agent."""
        pool = self.random.choice(pools)
        plural = self.chance(0.3) and pool != "noun.mass"
        who = Subject(self.common(pool, plural=plural), plural, pool)
        when = tense or self.pick((("past", 5), ("present", 2), ("future", 1), ("perfect", 1)))
        auxiliaries, form = self._auxiliaries(who, when)
        be = {"base": "be", "part": "been"}.get(form) or who.be(when)
        group = [*(f"(aux {word}/AUX)" for word in auxiliaries), f"(aux:pass {be}/AUX)"]
        agent = f" (obl by {self.object(('noun.person',), 0)})" if self.chance(0.5) else ""
        return f"(nsubj:pass {who.text}) {' '.join(group)} {verb}:part{agent}{self.adverbials()}"

    def copula(self, subject: Subject | None, tense: str | None, *, question: bool) -> str:
        """*is* with an adjective, a comparison, a noun or a place."""
        pools = ("noun.person", "noun.thing", "noun.place", "noun.animal", "noun.abstract", "noun.furniture")
        who = subject or self.subject((self.random.choice(pools),))
        kind = self.pick(
            (("adjective", 6), ("than", 2 * (who.pool == "noun.person")), ("noun", 2), ("place", 2))
        )
        if kind == "noun" and who.pool == "noun.person" and not who.plural:
            predicate = self.common("noun.person", plural=False, determiner="a")
        elif kind == "than":
            predicate = f"adj.compare:cmp (obl than {self.person_name()})"
        elif kind == "place":
            predicate = self.place(self.random.choice(("in", "near", "behind", "outside")))
        else:
            predicate = self.adjective(who.pool)
        when = tense if tense == "past" else self.random.choice(("past", "present"))
        be, other = f"(cop {who.be(when)}/AUX)", f"(nsubj {who.text})"
        words = [be, other] if question else [other, be]
        return " ".join([*words, *(["not"] if self.chance(0.1) else []), predicate])

    def existential(self, *, question: bool) -> str:
        """*There was a … in the …*, a verb with an expletive and its subject (UD)."""
        plural = self.chance(0.4)
        pool = self.random.choice(("noun.animal", "noun.thing", "noun.person", "noun.furniture"))
        word = self.random.choice(("some", "many", "several")) if plural else "a"
        what = Subject(self.common(pool, plural=plural, determiner=word), plural, pool)
        be = f"{what.be(self.pick((('past', 2), ('present', 1))))}/VERB"
        there = "(expl there/PRON)"
        words = f"{be} (nsubj {what.text}) {there}" if question else f"{there} {be} (nsubj {what.text})"
        return f"{words} (nmod {self.place()})"

    def wh_question(self) -> str:
        """*Who met …? What did … buy? Where did … go? When …?*."""
        kind = self.pick((("who", 2), ("what", 2), ("adverb", 3)))
        if kind == "who":
            root = self.finite("verb.meet", Subject("who/PRON", False, "noun.person"), tense="past")
            return f"{root} (obj {self.object(('noun.person',), 0)})"
        root = self.finite("verb.handle", self.subject(), tense="past", question=True)
        if kind == "what":
            return f"(obj what) {root}"
        word = self.random.choice(("where", "when", "why", "how"))
        return f"{word}/ADV {root} (obj {self.object(('noun.thing',), 0)})"

    def command(self) -> str:
        """An imperative, polite or not."""
        root = f"verb.handle:base (obj {self.object(('noun.thing', 'noun.furniture'), 0)}){self.adverbials()}"
        return f"(discourse please/INTJ) {root}" if self.chance(0.4) else root


def sample_patterns(count: int, seed: int) -> list[Pattern]:
    """Sentence patterns of ``count`` random derivations; sentences longer than 40 words are left out."""
    grammar = Grammar(Random(seed))
    found: list[Pattern] = []
    while len(found) < count:
        variables: dict[str, str] = {}
        words = parse_wording(grammar.sentence(), variables)
        if len(words) <= 40:
            found.append(Pattern(tuple(variables.values()), (words,)))
    return found
