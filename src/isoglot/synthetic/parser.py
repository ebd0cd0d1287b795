"""Trees for the sentences of inference pairs, paraphrases and stories, which are written as lines and not as trees.

A parser by recursive descent for the few hundred wordings that there are; every one of them is parsed in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from isoglot.synthetic.patterns import Pattern

__all__ = ["Tree", "parse", "pattern_trees"]

_CLOSED = {
    "ADP": "at by from in near of on than to about",
    "ADV": "ago exactly first how last later least long most never only so then where",
    "ADJ": "bad false fewer hot many more quiet surprised",
    "AUX": "did is was were",
    "CCONJ": "and but nor or",
    "DET": "a all each every no some the which",
    "NOUN": "day newspapers people summer town weather week year",
    "NUM": "one three",
    "PART": "not",
    "PRON": "everybody it nobody none they this what who whom",
    "PUNCT": ". , ?",
    "SCONJ": "after before that when while",
    "VERB": "happened met rained remembered talked wrote",
}
_UPOS = {word: tag for tag, words in _CLOSED.items() for word in words.split()} | {
    "both": "CCONJ",
    "neither": "CCONJ",
}
_POOLS = {"noun": "NOUN", "verb": "VERB", "adj": "ADJ", "number": "NUM", "name": "PROPN", "weekday": "PROPN"}
_MARKERS = {"after", "before", "when", "while"}
_QUANTITIES = {"at", "more", "fewer", "exactly"}
_NOMINAL = {"DET", "NOUN", "PROPN", "PRON", "NUM"}
_TIMES = {"week"}


class Tree(NamedTuple):
    """Tags, 1-based heads (0: the root) and relations of a sentence's words."""

    upos: tuple[str, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]


@lru_cache(maxsize=4096)
def parse(words: tuple[str, ...], pools: tuple[str, ...]) -> Tree:
    """The tree of a wording.

    Args:
        words: fixed words as they stand, and the forms of variables (``past``).
        pools: the pool of each variable, empty for fixed words.

    Raises:
        ValueError: the wording is none of those that are known.
    """
    return _Parser(words, pools).sentence()


def pattern_trees(pattern: Pattern) -> list[Tree]:
    """The tree of each sentence of a pattern."""
    return [
        parse(
            tuple(t.text for t in sentence),
            tuple(pattern.variables[t.variable] if t.variable >= 0 else "" for t in sentence),
        )
        for sentence in pattern.sentences
    ]


class _Parser:
    """One sentence; ``at`` is the next word, and words get their heads as soon as these are known."""

    def __init__(self, words: Sequence[str], pools: Sequence[str]) -> None:
        self.forms = words
        self.words = ["" if pool else word for word, pool in zip(words, pools, strict=True)]
        self.upos = [
            _POOLS[pool.partition(".")[0]] if pool else _UPOS.get(word, "X")
            for word, pool in zip(words, pools, strict=True)
        ]
        self.heads = [0] * len(words)
        self.deprels = ["root"] * len(words)
        self.at = 0

    def sentence(self) -> Tree:
        root = self.clause()
        while self.tag() != "PUNCT" or self.word() == ",":
            self._conjoined(root)
        self.arc(self.take(), root, "punct")
        if self.at != len(self.words):
            raise ValueError(f"no tree for {' '.join(self.forms)!r}: it goes on after {self.at} words")
        return Tree(tuple(self.upos), tuple(self.heads), tuple(self.deprels))

    def word(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place] if place < len(self.words) else ""

    def tag(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.upos[place] if place < len(self.words) else ""

    def take(self) -> int:
        if self.at >= len(self.words):
            raise ValueError(f"no tree for {' '.join(self.forms)!r}: it ends too early")
        self.at += 1
        return self.at - 1

    def arc(self, word: int, head: int, relation: str) -> None:
        self.heads[word], self.deprels[word] = head + 1, relation

    # Clauses

    def _conjoined(self, root: int) -> None:
        """What follows a clause: ``, and CLAUSE``, ``, but not NP``, ``, while CLAUSE``."""
        comma = [self.take()] if self.word() == "," else []
        if self.word() in _MARKERS:
            head, relation = self._marked(), "advcl"
        else:
            before = [(self.take(), "cc")]
            if self.word() == "not":
                before.append((self.take(), "advmod"))
                if self.word() in _MARKERS:
                    head, relation = self._marked(), "advcl"
                else:
                    head, relation = self.noun_phrase(), "conj"
            else:
                head, relation = self.clause(), "conj"
            for word, own in before:
                self.arc(word, head, own)
        for word in comma:
            self.arc(word, head, "punct")
        self.arc(head, root, relation)

    def _marked(self) -> int:
        """``after CLAUSE``; its head."""
        marker = self.take()
        head = self.clause()
        self.arc(marker, head, "mark")
        return head

    def clause(self) -> int:
        """A clause with what stands before its subject; its head."""
        fronted: list[tuple[int, str]] = []
        while True:
            if self.word() in _MARKERS:
                fronted.append((self._marked(), "advcl"))
            elif self.tag() == "ADP" and self.word() not in _QUANTITIES:
                fronted.append((self._adposition(), "obl"))
            elif self.word() == "then" or (self.word() in {"so", "neither"} and self.tag(1) == "AUX"):
                self.upos[self.at] = "ADV"
                fronted.append((self.take(), "advmod"))
            else:
                break
            if self.word() == ",":
                fronted.append((self.take(), "punct"))
        head = self._inverted() if self.tag() == "AUX" else self._subject_first()
        for word, relation in fronted:
            self.arc(word, head, relation)
        return head

    def _subject_first(self) -> int:
        if self.word() == "where":
            asked, relation = self.take(), "advmod"
        else:
            asked, relation = self.noun_phrase(subject=True), "obj"
        asks = self.word() == "did" or self.words[asked] in {"what", "where"}
        if not (asks and self.tag() == "AUX" and self.tag(1) in _NOMINAL):
            return self.predicate(asked)
        head = self._inverted()
        self.arc(asked, head, relation)
        return head

    def _inverted(self) -> int:
        """``did NP VERB``, ``was NP VERB-ed``, or ``did NP`` alone; the head."""
        auxiliary = self.take()
        subject = self.noun_phrase()
        if self.tag() != "VERB":
            self.arc(subject, auxiliary, "nsubj")
            return auxiliary
        head = self.take()
        self._verb(head, subject, [auxiliary], [])
        return head

    def predicate(self, subject: int) -> int:
        """What is said of a subject; the head."""
        auxiliaries: list[int] = []
        adverbs: list[int] = []
        while self.tag() == "AUX" or self.word() in {"not", "never"}:
            (auxiliaries if self.tag() == "AUX" else adverbs).append(self.take())
        if self.tag() == "VERB":
            head = self.take()
            self._verb(head, subject, auxiliaries, adverbs)
            return head
        if self.tag() in {"PUNCT", "CCONJ"}:  # "but Ann did not"
            head = auxiliaries.pop()
        elif self.tag() == "ADP":
            head = self._adposition()
            self._contrast(head)
        elif self.tag() == "ADJ" or self.word() == "long":
            self.upos[self.at] = "ADJ"
            head = self.take()
        else:
            head = self.noun_phrase()
        expletive = self.words[subject] == "it" and self.word() in {"that", "who"}
        self.arc(subject, head, "expl" if expletive else "nsubj")
        for word in auxiliaries:
            self.arc(word, head, "cop")
        for word in adverbs:
            self.arc(word, head, "advmod")
        self._after_adjective(head)
        return head

    def _after_adjective(self, head: int) -> None:
        """*older than Ann*, *long and hot*, *false that …*, *it was Ann who …*."""
        if self.word() == "than":
            self.arc(self._adposition(), head, "obl")
        if self.word() == "and" and self.tag(1) == "ADJ":
            conjunction, other = self.take(), self.take()
            self.arc(conjunction, other, "cc")
            self.arc(other, head, "conj")
        if self.word() == "who":
            self.arc(self.clause(), head, "acl:relcl")
        elif self.word() == "that":
            self.arc(self._marked(), head, "csubj")
        elif self.word() in _MARKERS:
            self.arc(self._marked(), head, "advcl")

    def _verb(self, head: int, subject: int, auxiliaries: list[int], adverbs: list[int]) -> None:
        """Attach everything that belongs to a verb."""
        passive = self.forms[head] == "part" and not self.words[head]
        self.arc(subject, head, "nsubj:pass" if passive else "nsubj")
        for word in auxiliaries:
            self.arc(word, head, "aux:pass" if passive else "aux")
        for word in adverbs:
            self.arc(word, head, "advmod")
        self._complements(head)

    def _complements(self, head: int) -> None:
        """Objects, places and times, clauses and further verbs."""
        objects: list[int] = []
        while True:
            if self.word() == "that" and self.tag(1) != "NOUN":
                self.arc(self._marked(), head, "ccomp")
            elif self.word() in _MARKERS:
                self.arc(self._marked(), head, "advcl")
            elif self.tag() == "ADP" and self.word() not in _QUANTITIES:
                place = self._adposition()
                self._contrast(place)
                self.arc(place, head, "obl")
            elif self.tag() == "ADV" and self.word() not in _QUANTITIES:
                self._adverb(head)
            elif self.word() == "and" and self.tag(1) == "VERB":
                conjunction, other = self.take(), self.take()
                self.arc(conjunction, other, "cc")
                self.arc(other, head, "conj")
                self._complements(other)
            elif self.tag() in _NOMINAL or self.word() in {*_QUANTITIES, "both", "that"}:
                found = self.noun_phrase()
                if self.words[found] in _TIMES:
                    self.arc(found, head, "obl:tmod")
                else:
                    objects.append(found)
            else:
                break
        for word, relation in zip(objects, ("iobj", "obj")[2 - len(objects) :], strict=True):
            self.arc(word, head, relation)

    def _adverb(self, head: int) -> None:
        """*later*, *long ago*."""
        adverb = self.take()
        if self.tag() == "ADV":
            self.arc(adverb, self.at, "advmod")
            adverb = self.take()
        self.arc(adverb, head, "advmod")

    # Noun phrases

    def _adposition(self, *, subject: bool = False) -> int:
        """``near NP``; its head."""
        adposition = self.take()
        head = self.noun_phrase(subject=subject)
        self.arc(adposition, head, "case")
        return head

    def _contrast(self, place: int) -> None:
        """*in Ashford , not in Dover*; *in Ashford but in Dover*; *in Ashford and not in Dover*."""
        lead = [
            w
            for w in range(self.at, min(self.at + 3, len(self.words)))
            if self.words[w] in {",", "and", "but", "not"}
        ]
        end = self.at + len(lead)
        if not lead or lead != list(range(self.at, end)) or end >= len(self.words) or self.upos[end] != "ADP":
            return
        if self.words[lead[0]] == "," and self.words[lead[-1]] != "not":
            return
        self.at = end
        other = self._adposition()
        for word in lead:
            relation = {",": "punct", "not": "advmod"}.get(self.words[word], "cc")
            self.arc(word, other, relation)
        self.arc(other, place, "conj")

    def noun_phrase(self, *, subject: bool = False) -> int:
        """A noun phrase with its coordination; its head."""
        paired = [self.take()] if self.word() in {"both", "neither"} else []
        head = self._single()
        for word in paired:
            self.arc(word, head, "cc:preconj")
        while self.word() in {"and", "or", "nor"} and self._phrase_follows(subject=subject):
            conjunction = self.take()
            other = self._single()
            self.arc(conjunction, other, "cc")
            self.arc(other, head, "conj")
        return head

    def _phrase_follows(self, *, subject: bool) -> bool:
        """Whether ``and`` joins noun phrases here, not clauses or verbs."""
        if self.tag(1) not in _NOMINAL:
            return False
        start, heads, deprels = self.at, list(self.heads), list(self.deprels)
        self.take()
        self._single()
        clause = self.tag() in {"VERB", "AUX"}
        self.at, self.heads, self.deprels = start, heads, deprels
        return subject or not clause

    def _single(self) -> int:
        """One noun phrase: *none of the old cats*, *at least three cats*, *the oldest of the three*."""
        lead: list[tuple[int, str]] = []
        while self.word() in {"not", "only"}:
            lead.append((self.take(), "advmod"))
        if self.word() in _QUANTITIES:
            lead.append((self._quantity(), "nummod"))
        elif self.word() == "how":
            how, many = self.take(), self.take()
            self.arc(how, many, "advmod")
            lead.append((many, "amod"))
        elif self.tag() == "NUM" and self.tag(1) in {"NOUN", "ADJ"}:
            lead.append((self.take(), "nummod"))
        if lead and lead[-1][1] == "nummod" and self.word() == "of":  # "at least one of Ann and Bea"
            head = lead.pop()[0]
        else:
            if self.tag() == "DET" or (self.word() == "that" and self.tag(1) == "NOUN"):
                self.upos[self.at] = "DET"
                lead.append((self.take(), "det"))
            while self.tag() == "ADJ" and self.tag(1) in {"NOUN", "ADJ"}:
                lead.append((self.take(), "amod"))
            if self.tag() not in {*_NOMINAL, "ADJ"}:
                raise ValueError(f"no tree for {' '.join(self.forms)!r}: no noun at word {self.at + 1}")
            head = self.take()
        for word, relation in lead:
            self.arc(word, head, relation)
        if self.word() == "of":
            self.arc(self._adposition(subject=True), head, "nmod")
        return head

    def _quantity(self) -> int:
        """*at least three*, *more than three*, *exactly three*; the number."""
        first = self.take()
        if self.words[first] == "at":
            least = self.take()
            self.arc(first, least, "case")
            first = least
        elif self.word() == "than":
            self.arc(self.take(), first, "fixed")
        number = self.take()
        self.arc(first, number, "advmod")
        return number
