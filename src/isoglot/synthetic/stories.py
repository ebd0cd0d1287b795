"""Short stories with questions, answer spans, and distractors built against shallow reading.

A story interleaves two *scenes* about the same people and some idle sentences. In each scene every sentence has a
mirror: the same words in other roles, the same verb at another place. So the sentence that answers a question shares no
more words with it than one that does not, and the story names several people, places, days and things of each type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from isoglot.synthetic.patterns import Pattern, Token
from isoglot.synthetic.wordings import parse_wording, plain

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


@dataclass(frozen=True)
class Question:
    """A question, the sentence (by number) that answers it, and the answer's words as they stand there."""

    text: str
    sentence: int
    answer: str


@dataclass
class Scene:
    """Sentences and the questions about them; ``ordered`` if the order of telling matters."""

    variables: dict[str, str]
    sentences: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    ordered: bool = False


def _told(random: Random, core: str, place: str, day: str) -> str:
    """A sentence with its adverbials at the end, or one of them in front."""
    return random.choice(
        (f"{core} {place} {day} .", f"{day} , {core} {place} .", f"{place} , {core} {day} .")
    )


def _active(a: str, b: str) -> str:
    return f"(nsubj {a}.form) V.past (obj {b}.form)"


def _passive(a: str, b: str) -> str:
    return f"(nsubj:pass {b}.form) was V.part (obl by {a}.form)"


def _roles(random: Random) -> Scene:
    """X did it to Y here, Y did it to X there."""
    scene = Scene({"V": "verb.meet", "T": "name.town", "U": "name.town", "D": "weekday", "E": "weekday"})
    which = "(obl on which day)"
    for i, (a, b, town, day) in enumerate((("X", "Y", "T", "D"), ("Y", "X", "U", "E"))):
        core = random.choice((_active(a, b), _passive(a, b)))
        scene.sentences.append(_told(random, core, f"(obl near {town}.form)", f"(obl on {day}.form)"))
        scene.questions += [
            Question(f"where did (nsubj {a}.form) V.base (obj {b}.form) ?", i, f"{town}.form"),
            Question(f"where was (nsubj:pass {b}.form) V.part (obl by {a}.form) ?", i, f"{town}.form"),
            Question(f"{which} did (nsubj {a}.form) V.base (obj {b}.form) ?", i, f"{day}.form"),
            Question(f"{which} was (nsubj:pass {b}.form) V.part (obl by {a}.form) ?", i, f"{day}.form"),
        ]
    return scene


def _chase(random: Random) -> Scene:
    """X did it to Y, Y did it to Z: who did it to Y?"""
    scene = Scene({"V": "verb.meet", "T": "name.town", "U": "name.town", "D": "weekday", "E": "weekday"})
    for a, b, town, day in (("X", "Y", "T", "D"), ("Y", "Z", "U", "E")):
        core = random.choice((_active(a, b), _passive(a, b)))
        scene.sentences.append(_told(random, core, f"(obl in {town}.form)", f"(obl on {day}.form)"))
    scene.questions = [
        Question("(nsubj who) V.past (obj Y.form) ?", 0, "X.form"),
        Question("(nsubj:pass who) was V.part (obl by Y.form) ?", 1, "Z.form"),
        Question("(obl by whom) was (nsubj:pass Y.form) V.part ?", 0, "X.form"),
        Question("(obj whom) did (nsubj Y.form) V.base ?", 1, "Z.form"),
    ]
    return scene


def _gifts(random: Random) -> Scene:
    """X gave Y one thing, Y gave X another."""
    scene = Scene(
        {"V": "verb.give", "N": "noun.thing", "O": "noun.thing", "A": "adj.thing", "B": "adj.thing"}
    )
    for i, (a, b, thing) in enumerate((("X", "Y", "the A.pos N.sg"), ("Y", "X", "the B.pos O.sg"))):
        texts = (
            f"(nsubj {a}.form) V.past (iobj {b}.form) (obj {thing}) .",
            f"(nsubj {a}.form) V.past (obj {thing}) (obl to {b}.form) .",
            f"(nsubj:pass {b}.form) was V.part (obj {thing}) (obl by {a}.form) .",
        )
        scene.sentences.append(random.choice(texts))
        scene.questions += [
            Question(f"(obj what) did (nsubj {a}.form) V.base (obj {b}.form) ?", i, thing),
            Question(f"(obj what) was (nsubj:pass {b}.form) V.part (obl by {a}.form) ?", i, thing),
        ]
    return scene


def _orders(random: Random) -> Scene:
    """X is taller than Y, Y is taller than Z, in one adjective or its opposite."""
    scene = Scene({"A": "adj.compare"})
    pairs = (("X", "Y"), ("Y", "Z"))
    scene.sentences = [
        random.choice(
            (
                f"(nsubj {a}.form) was A.cmp (obl than {b}.form) .",
                f"(nsubj {b}.form) was A.ant.cmp (obl than {a}.form) .",
            )
        )
        for a, b in pairs
    ]
    scene.questions = [
        Question("(nsubj who) was A.cmp (obl than Y.form) ?", 0, "X.form"),
        Question("(nsubj who) was A.ant.cmp (obl than Y.form) ?", 1, "Z.form"),
        Question("(nsubj who) was the A.sup (nmod of the three) ?", 0, "X.form"),
    ]
    return scene


def _journey(random: Random) -> Scene:
    """Two people travel to the same kind of places, one after the other: where first, where last?"""
    scene = Scene({"V": "verb.motion", **dict.fromkeys("TUWS", "name.town")}, ordered=True)
    stops = {"X": ("T", "U"), "Y": ("W", "S")}
    order = random.choice(
        (("X", "Y", "X", "Y"), ("X", "X", "Y", "Y"), ("Y", "X", "X", "Y"), ("X", "Y", "Y", "X"))
    )
    seen = {"X": 0, "Y": 0}
    for i, who in enumerate(order):
        town = stops[who][seen[who]]
        opening = "then " if seen[who] and random.random() < 0.5 else ""
        scene.sentences.append(f"{opening}(nsubj {who}.form) V.past (obl to {town}.form) .")
        which = ("first", "last")[seen[who]]
        scene.questions.append(Question(f"where did (nsubj {who}.form) V.base {which} ?", i, f"{town}.form"))
        seen[who] += 1
    return scene


def _denial(random: Random) -> Scene:
    """Not here but there."""
    scene = Scene({"V": "verb.handle", "N": "noun.thing", **dict.fromkeys("TUWS", "name.town")})
    for i, (who, wrong, right) in enumerate((("X", "T", "U"), ("Y", "W", "S"))):
        deed = f"(nsubj {who}.form) V.past (obj the N.sg)"
        texts = (
            f"{deed} (obl in {right}.form (conj , not in {wrong}.form)) .",
            f"(nsubj {who}.form) did not V.base (obj the N.sg) (obl in {wrong}.form (conj but in {right}.form)) .",
            f"(expl it) was in {right}.form (conj and not in {wrong}.form) (csubj that {deed}) .",
            f"(expl it) was not in {wrong}.form (conj but in {right}.form) (csubj that {deed}) .",
        )
        scene.sentences.append(random.choice(texts))
        scene.questions.append(
            Question(f"where did (nsubj {who}.form) V.base (obj the N.sg) ?", i, f"{right}.form")
        )
    return scene


def _numbers(random: Random) -> Scene:
    """How many of which: two people, two kinds of things, crossed."""
    scene = Scene(
        {"V": "verb.handle", "N": "noun.thing", "O": "noun.thing", "K": "number.pair", "L": "number.pair"}
    )
    numbers = ["K.low", "K.high"]
    random.shuffle(numbers)
    for i, (who, first, second) in enumerate((("X", "N", "O"), ("Y", "O", "N"))):
        low, high = numbers if i == 0 else [n.replace("K", "L") for n in numbers]
        scene.sentences.append(
            f"(nsubj {who}.form) V.past (obj {low} {first}.pl (conj and {high} {second}.pl)) ."
        )
        scene.questions += [
            Question(f"(obj (amod how many) {first}.pl) did (nsubj {who}.form) V.base ?", i, low),
            Question(f"(obj (amod how many) {second}.pl) did (nsubj {who}.form) V.base ?", i, high),
        ]
    return scene


SCENES: tuple[Callable[[Random], Scene], ...] = (_roles, _chase, _gifts, _orders, _journey, _denial, _numbers)
"""The kinds of scenes."""


def _renamed(scene: Scene, suffix: str) -> Scene:
    """The scene with variables of its own (``V`` → ``V1``); people are shared by all scenes of a story."""
    names = {name: name + suffix for name in scene.variables}

    def rename(line: str) -> str:
        return re.sub(r"(\w+)(?=\.\w)", lambda name: names.get(name[0], name[0]), line)

    return Scene(
        {names[n]: pool for n, pool in scene.variables.items()},
        [rename(s) for s in scene.sentences],
        [Question(rename(q.text), q.sentence, rename(q.answer)) for q in scene.questions],
        scene.ordered,
    )


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
    kinds = random.sample(SCENES, 2)
    scenes = [_renamed(kind(random), str(i)) for i, kind in enumerate(kinds)]
    variables = dict(PEOPLE)
    for scene in scenes:
        variables |= scene.variables
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
        label=plain(question.text).split()[0],
        answer=(start, start + len(answer)),
    )


def _find(sentence: tuple[Token, ...], answer: tuple[Token, ...]) -> int:
    words = [(t.text, t.variable) for t in sentence]
    wanted = [(t.text, t.variable) for t in answer]
    return next(i for i in range(len(words)) if words[i : i + len(wanted)] == wanted)


def story_patterns(count: int, seed: int) -> list[Pattern]:
    """Patterns of ``count`` random stories."""
    random = Random(seed)
    return [_story(random) for _ in range(count)]
