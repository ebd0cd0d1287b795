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

from isoglot.synthetic.patterns import Pattern, Token
from isoglot.synthetic.wordings import parse_wording

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
_TIMES_AND_TOWNS = {"V": "verb.meet", "T": "name.town", "U": "name.town", "D": "weekday", "E": "weekday"}


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
        self.sentences.append(texts[0] if len(texts) == 1 else self.random.choice(texts))

    def ask(self, text: str, answer: str, sentence: int = -1) -> None:
        """Add a question, by default about the last sentence of the story so far."""
        self.questions.append(Question(text, answer, sentence % len(self.sentences)))

    def tell_deed(self, a: str, b: str, place: str, day: str) -> None:
        """A did it to B, or B was done to by A, the adverbials at the end or one of them in front."""
        active = f"(nsubj {a}.form) V.past (obj {b}.form)"
        core = self.random.choice((active, f"(nsubj:pass {b}.form) was V.part (obl by {a}.form)"))
        day = f"(obl on {day}.form)"
        self.tell(f"{core} {place} {day} .", f"{day} , {core} {place} .", f"{place} , {core} {day} .")


def _roles(random: Random) -> Scene:
    """X did it to Y here, Y did it to X there."""
    scene = Scene(random, _TIMES_AND_TOWNS)
    for a, b, town, day in (("X", "Y", "T", "D"), ("Y", "X", "U", "E")):
        scene.tell_deed(a, b, f"(obl near {town}.form)", day)
        for asked, answer in (("where", town), ("(obl on which day)", day)):
            scene.ask(f"{asked} did (nsubj {a}.form) V.base (obj {b}.form) ?", f"{answer}.form")
            scene.ask(f"{asked} was (nsubj:pass {b}.form) V.part (obl by {a}.form) ?", f"{answer}.form")
    return scene


def _chase(random: Random) -> Scene:
    """X did it to Y, Y did it to Z: who did it to Y?"""
    scene = Scene(random, _TIMES_AND_TOWNS)
    for a, b, town, day in (("X", "Y", "T", "D"), ("Y", "Z", "U", "E")):
        scene.tell_deed(a, b, f"(obl in {town}.form)", day)
    scene.ask("(nsubj who) V.past (obj Y.form) ?", "X.form", 0)
    scene.ask("(nsubj:pass who) was V.part (obl by Y.form) ?", "Z.form", 1)
    scene.ask("(obl by whom) was (nsubj:pass Y.form) V.part ?", "X.form", 0)
    scene.ask("(obj whom) did (nsubj Y.form) V.base ?", "Z.form", 1)
    return scene


def _gifts(random: Random) -> Scene:
    """X gave Y one thing, Y gave X another."""
    things, qualities = dict.fromkeys("NO", "noun.thing"), dict.fromkeys("AB", "adj.thing")
    scene = Scene(random, {"V": "verb.give", **things, **qualities})
    for a, b, thing in (("X", "Y", "the A.pos N.sg"), ("Y", "X", "the B.pos O.sg")):
        scene.tell(
            f"(nsubj {a}.form) V.past (iobj {b}.form) (obj {thing}) .",
            f"(nsubj {a}.form) V.past (obj {thing}) (obl to {b}.form) .",
            f"(nsubj:pass {b}.form) was V.part (obj {thing}) (obl by {a}.form) .",
        )
        scene.ask(f"(obj what) did (nsubj {a}.form) V.base (obj {b}.form) ?", thing)
        scene.ask(f"(obj what) was (nsubj:pass {b}.form) V.part (obl by {a}.form) ?", thing)
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


def _denial(random: Random) -> Scene:
    """Not here but there."""
    scene = Scene(random, {"V": "verb.handle", "N": "noun.thing", **dict.fromkeys("TUWS", "name.town")})
    for who, wrong, right in (("X", "T", "U"), ("Y", "W", "S")):
        deed = f"(nsubj {who}.form) V.past (obj the N.sg)"
        scene.tell(
            f"{deed} (obl in {right}.form (conj , not in {wrong}.form)) .",
            f"(nsubj {who}.form) did not V.base (obj the N.sg) (obl in {wrong}.form (conj but in {right}.form)) .",
            f"(expl it) was in {right}.form (conj and not in {wrong}.form) (csubj that {deed}) .",
            f"(expl it) was not in {wrong}.form (conj but in {right}.form) (csubj that {deed}) .",
        )
        scene.ask(f"where did (nsubj {who}.form) V.base (obj the N.sg) ?", f"{right}.form")
    return scene


def _numbers(random: Random) -> Scene:
    """How many of which: two people, two kinds of things, crossed."""
    things, numbers = dict.fromkeys("NO", "noun.thing"), dict.fromkeys("KL", "number.pair")
    scene = Scene(random, {"V": "verb.handle", **things, **numbers})
    ends = ["low", "high"]
    random.shuffle(ends)
    for who, first, second, pair in (("X", "N", "O", "K"), ("Y", "O", "N", "L")):
        low, high = (f"{pair}.{end}" for end in ends)
        scene.tell(f"(nsubj {who}.form) V.past (obj {low} {first}.pl (conj and {high} {second}.pl)) .")
        scene.ask(f"(obj (amod how many) {first}.pl) did (nsubj {who}.form) V.base ?", low)
        scene.ask(f"(obj (amod how many) {second}.pl) did (nsubj {who}.form) V.base ?", high)
    return scene


SCENES: tuple[Callable[[Random], Scene], ...] = (_roles, _chase, _gifts, _orders, _journey, _denial, _numbers)
"""The kinds of scenes."""


def _merged(scenes: list[Scene], random: Random) -> list[tuple[int, int]]:
    """The order of telling: (scene, sentence) pairs; −1 is a filler."""
    queues = []
    for number, scene in enumerate(scenes):
        order = list(range(len(scene.sentences)))
        if not scene.ordered:
            random.shuffle(order)
        queues.append([(number, i) for i in order])
    fillers = random.sample(range(len(FILLERS)), random.choice((0, 1, 1, 2)))
    queues.append([(-1, i) for i in fillers])
    told = []
    while any(queues):
        queue = random.choice([q for q in queues if q])
        told.append(queue.pop(0))
    return told


def _story(random: Random) -> Pattern:
    """One story, its last sentence the question."""
    scenes = [kind(random) for kind in random.sample(SCENES, 2)]
    variables = dict(PEOPLE)
    for number, scene in enumerate(scenes):  # variables of its own (V → V1); people are shared by both scenes
        rename = partial(re.compile(rf"\b({'|'.join(scene.variables)})(?=\.)").sub, rf"\g<1>{number}")
        variables |= {f"{name}{number}": pool for name, pool in scene.variables.items()}
        scene.sentences = [rename(line) for line in scene.sentences]
        scene.questions = [Question(rename(text), rename(answer), i) for text, answer, i in scene.questions]
    told = _merged(scenes, random)
    texts = [FILLERS[i] if s < 0 else scenes[s].sentences[i] for s, i in told]
    sentences = [parse_wording(text, variables) for text in texts]
    chosen = random.randrange(len(scenes))
    question = random.choice(scenes[chosen].questions)
    place = told.index((chosen, question.sentence))
    answer = parse_wording(question.answer, variables)
    start = sum(len(s) for s in sentences[:place]) + _find(sentences[place], answer)
    return Pattern(
        tuple(variables.values()),
        (*sentences, parse_wording(question.text, variables)),
        answer=(start, start + len(answer)),
    )


def _find(sentence: tuple[Token, ...], answer: tuple[Token, ...]) -> int:
    words, wanted = ([t[:2] for t in tokens] for tokens in (sentence, answer))
    return next(i for i in range(len(words)) if words[i : i + len(wanted)] == wanted)


def story_patterns(count: int, seed: int) -> list[Pattern]:
    """Patterns of ``count`` random stories."""
    random = Random(seed)
    return [_story(random) for _ in range(count)]
