"""Short stories with questions, answer spans, and distractors built against shallow reading.

A story interleaves two *scenes* about the same people and some idle sentences. In each scene every sentence has a
mirror: the same words in other roles, the same verb at another place. So the sentence that answers a question shares no
more words with it than one that does not, and the story names several people, places, days and things of each type.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import NamedTuple

from isoglot.synthetic.wordings import Pattern, parse_wording

PEOPLE = {"X": "name.first", "Y": "name.first", "Z": "name.first"}
FILLERS = (
    "(nsubj it) was a quiet day .",
    "(nsubj the people (nmod of the town)) remembered (obj that/DET year) .",
    "(nsubj the weather) was bad .",
    "(nsubj nobody) was surprised .",
    "(nsubj the newspapers) wrote (obl about it) .",
    "(nsubj this) happened (advmod long ago) .",
    "(nsubj everybody) talked (obl about it) later .",
    "(nsubj it) rained (obl:tmod all week) .",
    "(nsubj the summer) was long/ADJ (conj and hot) .",
)


class Question(NamedTuple):
    """A question, the answer's words as they stand in the story, and the sentence (by number) that has them."""

    text: str
    answer: str
    sentence: int


@dataclass
class Scene:
    """Sentences and the questions about them; ``ordered`` if the order of telling matters."""

    random: Random
    variables: dict[str, str]
    ordered: bool = False
    sentences: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def tell(self, *texts: str) -> None:
        """Add a sentence in one of these wordings."""
        self.sentences.append(self.random.choice(texts))

    def ask(self, text: str, answer: str, sentence: int = -1) -> None:
        """Add a question, by default about the last sentence of the scene so far."""
        self.questions.append(Question(text, answer, sentence % len(self.sentences)))


def _roles(random: Random) -> Scene:
    """X did it to Y here, Y did it to X there."""
    towns, days = dict.fromkeys("TU", "name.town"), dict.fromkeys("DE", "weekday")
    scene = Scene(random, {"V": "verb.meet", **towns, **days})
    for a, b, town, weekday in (("X", "Y", "T", "D"), ("Y", "X", "U", "E")):
        active = f"(nsubj {a}.form) V.past (obj {b}.form)"
        core = random.choice((active, f"(nsubj:pass {b}.form) was V.part (obl by {a}.form)"))
        town_phrase, day = f"(obl near {town}.form)", f"(obl on {weekday}.form)"
        scene.tell(
            f"{core} {town_phrase} {day} .",
            f"{day} , {core} {town_phrase} .",
            f"{town_phrase} , {core} {day} .",
        )
        for opening, answer in (("where", town), ("(obl on which day)", weekday)):
            scene.ask(f"{opening} did (nsubj {a}.form) V.base (obj {b}.form) ?", f"{answer}.form")
            scene.ask(f"{opening} was (nsubj:pass {b}.form) V.part (obl by {a}.form) ?", f"{answer}.form")
    return scene


def _gifts(random: Random) -> Scene:
    """X gave Y one object, Y gave X another."""
    nouns, qualities = dict.fromkeys("NO", "noun.thing"), dict.fromkeys("AB", "adj.thing")
    scene = Scene(random, {"V": "verb.give", **nouns, **qualities})
    for a, b, gift in (("X", "Y", "the A.pos N.sg"), ("Y", "X", "the B.pos O.sg")):
        scene.tell(
            f"(nsubj {a}.form) V.past (iobj {b}.form) (obj {gift}) .",
            f"(nsubj {a}.form) V.past (obj {gift}) (obl to {b}.form) .",
            f"(nsubj:pass {b}.form) was V.part (obj {gift}) (obl by {a}.form) .",
        )
        scene.ask(f"(obj what) did (nsubj {a}.form) V.base (obj {b}.form) ?", gift)
        scene.ask(f"(obj what) was (nsubj:pass {b}.form) V.part (obl by {a}.form) ?", gift)
    return scene


def _orders(random: Random) -> Scene:
    """X is taller than Y, Y is taller than Z, in one adjective or its opposite."""
    scene = Scene(random, {"A": "adj.compare"})
    for a, b in ("XY", "YZ"):
        scene.tell(
            f"(nsubj {a}.form) was A.cmp (obl than {b}.form) .",
            f"(nsubj {b}.form) was A.ant.cmp (obl than {a}.form) .",
        )
    scene.ask("(nsubj who) was A.cmp (obl than Y.form) ?", "X.form", 0)
    scene.ask("(nsubj who) was A.ant.cmp (obl than Y.form) ?", "Z.form", 1)
    scene.ask("(nsubj who) was the A.sup (nmod of the three) ?", "X.form", 0)
    return scene


def _journey(random: Random) -> Scene:
    """Two people travel to the same kind of places, one after the other: where first, where last?"""
    scene = Scene(random, {"V": "verb.motion", **dict.fromkeys("TUWS", "name.town")}, ordered=True)
    order = random.choice(("XYXY", "XXYY", "YXXY", "XYYX"))
    for i, who in enumerate(order):
        seen = order[:i].count(who)
        town = {"X": "TU", "Y": "WS"}[who][seen]
        opening = "then " if seen and random.random() < 0.5 else ""
        scene.tell(f"{opening}(nsubj {who}.form) V.past (obl to {town}.form) .")
        scene.ask(f"where did (nsubj {who}.form) V.base {('first', 'last')[seen]} ?", f"{town}.form")
    return scene


def _numbers(random: Random) -> Scene:
    """How many of which: two people, two kinds of objects, crossed."""
    nouns, numbers = dict.fromkeys("NO", "noun.thing"), dict.fromkeys("KL", "number.pair")
    scene = Scene(random, {"V": "verb.handle", **nouns, **numbers})
    ends = random.sample(("low", "high"), 2)
    for who, first, second, pair in (("X", "N", "O", "K"), ("Y", "O", "N", "L")):
        count, more = (f"{pair}.{end}" for end in ends)
        scene.tell(f"(nsubj {who}.form) V.past (obj {count} {first}.pl (conj and {more} {second}.pl)) .")
        scene.ask(f"(obj (amod how many) {first}.pl) did (nsubj {who}.form) V.base ?", count)
        scene.ask(f"(obj (amod how many) {second}.pl) did (nsubj {who}.form) V.base ?", more)
    return scene


SCENES: tuple[Callable[[Random], Scene], ...] = (_roles, _gifts, _orders, _journey, _numbers)
"""The kinds of scenes."""


def story_patterns(count: int, seed: int) -> list[Pattern]:
    """Patterns of ``count`` random stories, the last sentence of each the question."""
    random = Random(seed)
    return [_story(random) for _ in range(count)]


def _story(random: Random) -> Pattern:
    scenes = [kind(random) for kind in random.sample(SCENES, 2)]
    variables, queues = dict(PEOPLE), list[list[tuple[int, int]]]()
    for number, scene in enumerate(scenes):  # each has its variables (V → V1); people are shared
        rename = partial(re.compile(rf"\b({'|'.join(scene.variables)})(?=\.)").sub, rf"\g<1>{number}")
        variables |= {f"{name}{number}": pool for name, pool in scene.variables.items()}
        scene.sentences = [rename(line) for line in scene.sentences]
        scene.questions = [Question(rename(text), rename(answer), i) for text, answer, i in scene.questions]
        queue = [(number, i) for i in range(len(scene.sentences))]
        queues.append(queue if scene.ordered else random.sample(queue, len(queue)))
    queues.append([(-1, i) for i in random.sample(range(len(FILLERS)), random.choice((0, 1, 1, 2)))])
    order: list[tuple[int, int]] = []
    while any(queues):
        order.append(random.choice([queue for queue in queues if queue]).pop(0))
    texts = [FILLERS[i] if number < 0 else scenes[number].sentences[i] for number, i in order]
    sentences = [parse_wording(text, variables) for text in texts]
    number = random.randrange(len(scenes))
    question = random.choice(scenes[number].questions)
    position = order.index((number, question.sentence))
    answer = [token[:2] for token in parse_wording(question.answer, variables)]
    words = [token[:2] for token in sentences[position]]
    start = next(i for i in range(len(words)) if words[i : i + len(answer)] == answer)
    start += sum(map(len, sentences[:position]))
    return Pattern(
        tuple(variables.values()),
        (*sentences, parse_wording(question.text, variables)),
        answer=(start, start + len(answer)),
    )
