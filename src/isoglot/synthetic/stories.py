"""Short stories with questions, answer spans, and distractors built against shallow reading.

A story interleaves two *scenes* about the same people and some idle sentences. In each scene every sentence has a
mirror: the same words in other roles, the same verb at another place. So the sentence that answers a question shares no
more words with it than one that does not, and the story names several people, places, days and objects of each type.
"""

import re
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import NamedTuple

from isoglot.synthetic.grammar import Pattern, parse_wording

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


@dataclass(frozen=True)
class Scene:
    """A template: one sentence per mirror, whose words stand for ``{0}``, ``{1}`` … in wordings and questions."""

    variables: str
    """Each with its pool; people are those of the story."""
    mirrors: tuple[tuple[str, ...], ...]
    """Mirrors in the order of telling, of which one line is drawn."""
    wordings: tuple[str, ...]
    questions: tuple[tuple[str, str], ...] = ()
    """Text and answer, for every sentence."""
    single_questions: tuple[Question, ...] = ()
    ordered: bool = False
    """Whether the order of telling matters."""

    def tell(self, random: Random) -> tuple[list[str], list[Question]]:
        """Sentences, each in one of its wordings, and the questions about them."""
        mirrors = [mirror.split() for mirror in random.choice(self.mirrors)]
        sentences = [random.choice(self.wordings).format(*words) for words in mirrors]
        questions = [
            Question(text.format(*words), answer.format(*words), number)
            for number, words in enumerate(mirrors)
            for text, answer in self.questions
        ]
        return sentences, [*questions, *self.single_questions]


_ACTIVE, _PASSIVE = (
    "(nsubj {0}.form) V.past (obj {1}.form)",
    "(nsubj:pass {1}.form) was V.part (obl by {0}.form)",
)
_TOWN, _DAY = "(obl near {2}.form)", "(obl on {3}.form)"

SCENES = (
    Scene(  # X did it to Y here, Y did it to X there
        "V=verb.meet T=name.town U=name.town D=weekday E=weekday",
        (("X Y T D", "Y X U E"),),
        tuple(
            wording
            for core in (_ACTIVE, _PASSIVE)
            for wording in (
                f"{core} {_TOWN} {_DAY} .",
                f"{_DAY} , {core} {_TOWN} .",
                f"{_TOWN} , {core} {_DAY} .",
            )
        ),
        tuple(
            (f"{opening} {question} ?", answer)
            for opening, answer in (("where", "{2}.form"), ("(obl on which day)", "{3}.form"))
            for question in (
                "did (nsubj {0}.form) V.base (obj {1}.form)",
                "was (nsubj:pass {1}.form) V.part (obl by {0}.form)",
            )
        ),
    ),
    Scene(  # X gave Y one object, Y gave X another
        "V=verb.give N=noun.thing O=noun.thing A=adj.thing B=adj.thing",
        (("X Y A.pos N.sg", "Y X B.pos O.sg"),),
        (
            "(nsubj {0}.form) V.past (iobj {1}.form) (obj the {2} {3}) .",
            "(nsubj {0}.form) V.past (obj the {2} {3}) (obl to {1}.form) .",
            "(nsubj:pass {1}.form) was V.part (obj the {2} {3}) (obl by {0}.form) .",
        ),
        (
            ("(obj what) did (nsubj {0}.form) V.base (obj {1}.form) ?", "the {2} {3}"),
            ("(obj what) was (nsubj:pass {1}.form) V.part (obl by {0}.form) ?", "the {2} {3}"),
        ),
    ),
    Scene(  # X is taller than Y, Y is taller than Z, in one adjective or its opposite
        "A=adj.compare",
        (("X Y", "Y Z"),),
        (
            "(nsubj {0}.form) was A.cmp (obl than {1}.form) .",
            "(nsubj {1}.form) was A.ant.cmp (obl than {0}.form) .",
        ),
        single_questions=(
            Question("(nsubj who) was A.cmp (obl than Y.form) ?", "X.form", 0),
            Question("(nsubj who) was A.ant.cmp (obl than Y.form) ?", "Z.form", 1),
            Question("(nsubj who) was the A.sup (nmod of the three) ?", "X.form", 0),
        ),
    ),
    Scene(  # two people travel to the same kind of places, one after the other: where first, where last?
        "V=verb.motion T=name.town U=name.town W=name.town S=name.town",
        (
            ("X T first", "Y W first", "X U last", "Y S last"),
            ("X T first", "X U last", "Y W first", "Y S last"),
            ("Y W first", "X T first", "X U last", "Y S last"),
            ("X T first", "Y W first", "Y S last", "X U last"),
        ),
        ("(nsubj {0}.form) V.past (obl to {1}.form) .",),
        (("where did (nsubj {0}.form) V.base {2} ?", "{1}.form"),),
        ordered=True,
    ),
    Scene(  # how many of which: two people, two kinds of objects, crossed
        "V=verb.handle N=noun.thing O=noun.thing K=number.pair L=number.pair",
        (("X N O K.low K.high", "Y O N L.low L.high"), ("X N O K.high K.low", "Y O N L.high L.low")),
        ("(nsubj {0}.form) V.past (obj {3} {1}.pl (conj and {4} {2}.pl)) .",),
        (
            ("(obj (amod how many) {1}.pl) did (nsubj {0}.form) V.base ?", "{3}"),
            ("(obj (amod how many) {2}.pl) did (nsubj {0}.form) V.base ?", "{4}"),
        ),
    ),
)
"""The kinds of scenes."""


def story_patterns(count: int, seed: int) -> list[Pattern]:
    """Patterns of ``count`` random stories, the last sentence of each the question."""
    random, patterns = Random(seed), list[Pattern]()
    for _ in range(count):
        variables, scenes, queues = dict(PEOPLE), [], list[list[tuple[int, int]]]()
        # each has its variables (V → V1); people are shared
        for number, scene in enumerate(random.sample(SCENES, 2)):
            pools = dict(part.split("=") for part in scene.variables.split())
            rename = partial(re.compile(rf"\b({'|'.join(pools)})(?=\.)").sub, rf"\g<1>{number}")
            variables |= {f"{name}{number}": pool for name, pool in pools.items()}
            lines, questions = scene.tell(random)
            questions = [Question(rename(text), rename(answer), i) for text, answer, i in questions]
            scenes.append(([rename(line) for line in lines], questions))
            queue = [(number, i) for i in range(len(lines))]
            queues.append(queue if scene.ordered else random.sample(queue, len(queue)))
        queues.append([(-1, i) for i in random.sample(range(len(FILLERS)), random.choice((0, 1, 1, 2)))])
        order: list[tuple[int, int]] = []
        while any(queues):
            order.append(random.choice([queue for queue in queues if queue]).pop(0))
        texts = [FILLERS[i] if number < 0 else scenes[number][0][i] for number, i in order]
        sentences = [parse_wording(text, variables) for text in texts]
        number = random.randrange(len(scenes))
        question = random.choice(scenes[number][1])
        position = order.index((number, question.sentence))
        answer = [token[:2] for token in parse_wording(question.answer, variables)]
        words = [token[:2] for token in sentences[position]]
        start = next(i for i in range(len(words)) if words[i : i + len(answer)] == answer)
        start += sum(map(len, sentences[:position]))
        told = *sentences, parse_wording(question.text, variables)
        span = start, start + len(answer)
        patterns.append(Pattern(tuple(variables.values()), told, answer=span))
    return patterns
