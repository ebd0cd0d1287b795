"""Short stories with questions, answer spans, and distractors built against shallow reading.

A story interleaves two *scenes* about the same people and some idle sentences. In each scene every sentence has a
*mirror*: *Anna met Otto near Rome on Friday* comes with *Otto met Anna near Paris on Monday*. So the sentence that
answers a question shares no more words with it than one that does not, and the story names several people, places, days
and objects of each type.
"""

import re
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import NamedTuple

from isoglot.synthetic.grammar import Pattern, Token, parse_wording

PEOPLE = {"X": "name.first", "Y": "name.first", "Z": "name.first"}
"""The variables that all scenes of a story share."""
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
    """A question about a scene, with its answer."""

    wording: str
    answer: str  # the wording of the answer, as it stands in the story
    sentence: int  # the number of the scene's sentence that has the answer


@dataclass(frozen=True)
class Scene:
    """A template for several sentences that mirror each other.

    A filling such as ``"X Y T D"`` makes one sentence: its words fill ``{0}``, ``{1}`` … of a wording. So the fillings
    ``"X Y T D"`` and ``"Y X U E"`` make *X met Y near T on D* and *Y met X near U on E*.
    """

    variables: str
    """Variables with their pools, ``T=name.town``, separated by spaces. People are those of the story."""
    fillings: tuple[tuple[str, ...], ...]
    """Possible lists of fillings, one filling a sentence, in the order of telling; a story takes one of these lists."""
    wordings: tuple[str, ...]
    """Wordings of every sentence; one is drawn for each."""
    questions: tuple[tuple[str, str], ...] = ()
    """Questions with their answers, both with places for the words of a filling; asked about every sentence."""
    single_questions: tuple[Question, ...] = ()
    """Questions that are asked once; each says which sentence has its answer."""
    ordered: bool = False
    """Whether sentences must stand in the order of the fillings."""

    def tell(self, random: Random) -> tuple[list[str], list[Question]]:
        """Draw sentences, each in one of its wordings; return them and the questions about them."""
        fillings = [filling.split() for filling in random.choice(self.fillings)]
        sentences = [random.choice(self.wordings).format(*words) for words in fillings]
        questions = []
        for number, words in enumerate(fillings):
            for question, answer in self.questions:
                questions.append(Question(question.format(*words), answer.format(*words), number))
        return sentences, [*questions, *self.single_questions]


_ACTIVE, _PASSIVE = (
    "(nsubj {0}.form) V.past (obj {1}.form)",
    "(nsubj:pass {1}.form) was V.part (obl by {0}.form)",
)
_TOWN, _DAY = "(obl near {2}.form)", "(obl on {3}.form)"

_FILLER = -1
"""Number of a scene that stands for the idle sentences."""
_Numbers = tuple[int, int]
"""The numbers of a sentence of a story: of its scene (or :data:`_FILLER`), and of the sentence in the scene."""

SCENES = (
    Scene(  # X did it to Y here, Y did it to X there
        "V=verb.meet T=name.town U=name.town D=weekday E=weekday",
        (("X Y T D", "Y X U E"),),
        (
            f"{_ACTIVE} {_TOWN} {_DAY} .",
            f"{_DAY} , {_ACTIVE} {_TOWN} .",
            f"{_TOWN} , {_ACTIVE} {_DAY} .",
            f"{_PASSIVE} {_TOWN} {_DAY} .",
            f"{_DAY} , {_PASSIVE} {_TOWN} .",
            f"{_TOWN} , {_PASSIVE} {_DAY} .",
        ),
        (
            ("where did (nsubj {0}.form) V.base (obj {1}.form) ?", "{2}.form"),
            ("where was (nsubj:pass {1}.form) V.part (obl by {0}.form) ?", "{2}.form"),
            ("(obl on which day) did (nsubj {0}.form) V.base (obj {1}.form) ?", "{3}.form"),
            ("(obl on which day) was (nsubj:pass {1}.form) V.part (obl by {0}.form) ?", "{3}.form"),
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


class _ToldScene(NamedTuple):
    """A scene in the variables of its story."""

    sentences: list[str]  # the wording of each, in the order of the fillings
    questions: list[Question]


def story_patterns(count: int, seed: int) -> list[Pattern]:
    """Make patterns of ``count`` random stories; the last sentence of each is the question."""
    random = Random(seed)
    return [_story_pattern(random) for _ in range(count)]


def _story_pattern(random: Random) -> Pattern:
    """Tell two scenes and some idle sentences in turn, and ask a question about one of the scenes."""
    variables = dict(PEOPLE)
    scenes: list[_ToldScene] = []
    queues: list[list[_Numbers]] = []  # the sentences that each scene has still to tell
    for number, scene in enumerate(random.sample(SCENES, 2)):
        scenes.append(_scene_in_story(scene, number, variables, random))
        queue = [(number, sentence) for sentence in range(len(scenes[number].sentences))]
        queues.append(queue if scene.ordered else random.sample(queue, len(queue)))
    fillers = random.sample(range(len(FILLERS)), random.choice((0, 1, 1, 2)))
    queues.append([(_FILLER, filler) for filler in fillers])
    # The next sentence is of any scene that has one left.
    order: list[_Numbers] = []
    while any(queues):
        queue = random.choice([queue for queue in queues if queue])
        order.append(queue.pop(0))
    sentences = []
    for scene_number, sentence in order:
        wordings = FILLERS if scene_number == _FILLER else scenes[scene_number].sentences
        sentences.append(parse_wording(wordings[sentence], variables))
    asked_scene = random.randrange(len(scenes))
    question = random.choice(scenes[asked_scene].questions)
    position = order.index((asked_scene, question.sentence))  # of the sentence with the answer
    span = _answer_span(question, position, sentences, variables)
    sentences.append(parse_wording(question.wording, variables))
    return Pattern(tuple(variables.values()), tuple(sentences), answer=span)


def _scene_in_story(scene: Scene, number: int, variables: dict[str, str], random: Random) -> _ToldScene:
    """Tell a scene with variables of its own: V becomes V0 in the first scene and V1 in the second.

    ``variables``: Variables of the story with their pools, to which the variables of the scene are added.
    """
    pools = dict(part.split("=") for part in scene.variables.split())
    variables |= {f"{name}{number}": pool for name, pool in pools.items()}
    own_name = re.compile(rf"\b({'|'.join(pools)})(?=\.)")  # before the dot of a form: V.past
    rename = partial(own_name.sub, rf"\g<1>{number}")
    sentences, questions = scene.tell(random)
    renamed = [Question(rename(wording), rename(answer), sentence) for wording, answer, sentence in questions]
    return _ToldScene([rename(sentence) for sentence in sentences], renamed)


def _answer_span(
    question: Question, position: int, sentences: list[tuple[Token, ...]], variables: dict[str, str]
) -> tuple[int, int]:
    """Find the tokens of an answer, ``[start, stop)``, counted over all sentences of the story.

    ``position``: The position in the story of the sentence that has the answer.
    """
    answer = [(token.word_or_form, token.variable) for token in parse_wording(question.answer, variables)]
    tokens = [(token.word_or_form, token.variable) for token in sentences[position]]
    size = len(answer)
    in_sentence = next(start for start in range(len(tokens)) if tokens[start : start + size] == answer)
    start = sum(map(len, sentences[:position])) + in_sentence
    return start, start + size
