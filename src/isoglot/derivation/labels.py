"""Labels of words, and answers of questions, that follow their words into the derived language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from isoglot.derivation.base import DerivedSentence, Sentence, Underivable
from isoglot.derivation.order import END_MARKS
from isoglot.formats.words import word_spans

MOST_LOST = 5
"""Words by which a parse may differ from the labelled ones before the sentence is left out, as in ALIGN-MLM's code."""


def tags_by_form(words: Sequence[str], labelled: Sequence[str], tags: Sequence[str]) -> tuple[str, ...]:
    """Give each word the tag of the first labelled word of the same form.

    In `I can see the can` both *can* get the tag of the first one, ``AUX``. A word that is not among the labelled ones
    gets ``O`` among entity tags and ``X`` among others.

    Source: ALIGN-MLM's code for T_syn, which looks labels up after re-ordering.
    """
    first: dict[str, str] = {}
    for word, tag in zip(labelled, tags, strict=True):
        first.setdefault(word, tag)
    of_entities = all(tag == "O" or tag[:2] in ("B-", "I-") for tag in tags)
    return tuple([first.get(word, "O" if of_entities else "X") for word in words])


def tags_of_parse(
    parsed: Sequence[str], labelled: Sequence[str], tags: Sequence[str], *, by_form: bool
) -> tuple[str, ...]:
    """Give the words of a parse the tags of the labelled words.

    The parse can be shorter: where the first parse alone is taken, `Anna sleeps . Otto` loses *Otto*. It can also cut
    words in another way (*do*, *n't* for *don't*), which only tags by form allow.

    Raises:
        Underivable: The parse has over five words more or fewer, over five words of another form, or, without
            ``by_form``, any word of another form.
    """
    if abs(len(labelled) - len(parsed)) > MOST_LOST:
        raise Underivable(f"parsed with over {MOST_LOST} words more or fewer than are labelled")
    if not by_form:
        if tuple(labelled[: len(parsed)]) != tuple(parsed):
            raise Underivable("parsed into other words than those that are labelled")
        return tuple(tags[: len(parsed)])
    known = set(labelled)
    if sum(word not in known for word in parsed) > MOST_LOST:
        raise Underivable(f"parsed with over {MOST_LOST} words that are not labelled")
    return tags_by_form(parsed, labelled, tags)


def carry_entities(tags: Sequence[str], origin: Sequence[int]) -> list[str]:
    """IOB2 tags of re-ordered words, entity by entity.

    Each word keeps its entity; words of one entity that stand together in the new order are one entity there, whose
    first word is ``B``. Entities that meet stay apart, and an entity that is torn apart becomes several.

    ``tags``: IOB2 tags of the original. An ``I`` without an entity before it begins one.
    """
    entity: list[int] = []
    kinds: list[str] = []
    for i, tag in enumerate(tags):
        prefix, _, kind = tag.partition("-")
        going_on = prefix == "I" and i > 0 and entity[-1] >= 0 and kinds[-1] == kind
        entity.append(-1 if not kind else entity[-1] if going_on else i)
        kinds.append(kind)
    out: list[str] = []
    before = -1
    for o in origin:
        number = entity[o]
        out.append(tags[o] if number < 0 else f"{'I' if number == before else 'B'}-{kinds[o]}")
        before = number
    return out


def flip_runs(tags: Sequence[str]) -> list[str]:
    """Turn each maximal run ``I … I B`` of a reversed sentence into ``B I … I``.

    Source: ALIGN-MLM's code for inverted NER.
    """
    out = list(tags)
    start, inside = 0, False
    for i, tag in enumerate(tags):
        if tag.startswith("I-"):
            inside = True
            continue
        if tag.startswith("B-") and inside:
            out[start : i + 1] = out[start : i + 1][::-1]
        start, inside = i + 1, False
    return out


def make_tags_consistent(tags: Sequence[str]) -> list[str]:
    """Repair IOB2: after a tag of the same type comes ``I``, else ``B``. Neighbours of one type become one entity.

    Source: ALIGN-MLM's code for NER after T_syn.
    """
    out: list[str] = []
    before = ""
    for tag in tags:
        prefix, _, kind = tag.partition("-")
        if kind and prefix in ("B", "I"):
            out.append(f"{'I' if kind == before else 'B'}-{kind}")
            before = kind
        else:
            out.append(tag)
            before = ""
    return out


class Passage(NamedTuple):
    """Running text cut into words and punctuation."""

    sentence: Sentence  # its words; sentences end at a mark of ``. ! ?`` before white space
    spans: tuple[tuple[int, int], ...]  # characters ``[start, end)`` of each word

    @classmethod
    def of(cls, text: str) -> Passage:
        """The passage of a text."""
        spans = tuple(word_spans(text))
        words = tuple(text[a:b] for a, b in spans)
        ends = frozenset(
            i
            for i, (word, (_, b)) in enumerate(zip(words, spans, strict=True))
            if word[-1] in END_MARKS and (b == len(text) or text[b].isspace())
        )
        return cls(Sentence(words, ends=ends), spans)

    @classmethod
    def parsed(cls, text: str, tree: Sentence) -> Passage:
        """The passage of a text as a parser has cut it.

        ``tree``: its words and their analysis; the words' letters are those of the text, blanks aside, or of its
        beginning (where the first sentence of several was taken).
        """
        letters = [i for i, c in enumerate(text) if not c.isspace()]
        spans, at = [], 0
        for word in tree.words:
            size = sum(not c.isspace() for c in word)
            spans.append((letters[at], letters[at + size - 1] + 1))
            at += size
        return cls(tree, tuple(spans))


def moved_answers(
    passage: Passage, derived: DerivedSentence, answers: Sequence[tuple[str, int]], counts: Counter[str]
) -> list[tuple[str, int]]:
    """Answers as they stand in the derived context, whose words are joined by single blanks.

    ``counts``: dropped answers are counted here: those that begin or end inside a word, that are not in the context
    as recorded, or whose words the new order separates.

    Returns:
        Text and first character of each answer that is still in one piece.
    """
    starts = list(accumulate((len(w) + 1 for w in derived.words), initial=0))
    first = {span[0]: i for i, span in enumerate(passage.spans)}
    last = {span[1]: i for i, span in enumerate(passage.spans)}
    renderings, located = derived.renderings(), []
    for text, start in answers:
        stop = start + len(text.rstrip())
        begin = start + len(text) - len(text.lstrip())
        if begin not in first or stop not in last:
            counts["answer dropped: not at the bounds of words"] += 1
            continue
        rendered = "".join(passage.sentence.words[first[begin] : last[stop] + 1])
        if "".join(rendered.split()) != "".join(text.split()):
            counts["answer dropped: not in the context as recorded"] += 1
            continue
        moved = sorted(p for old in range(first[begin], last[stop] + 1) for p in renderings.get(old, ()))
        if not moved or moved[-1] - moved[0] + 1 != len(moved):
            counts["answer dropped: in several pieces"] += 1
            continue
        located.append((" ".join(derived.words[moved[0] : moved[-1] + 1]), starts[moved[0]]))
    return located
