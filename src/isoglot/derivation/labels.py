"""Tags of words, entities and answers of questions, moved with their words into the derived language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from isoglot.derivation.base import DerivedSentence, Sentence, Underivable
from isoglot.derivation.order import END_MARKS
from isoglot.formats.words import word_spans

MOST_LOST = 5
"""By more words than this a parse may not differ from the labelled words, as in ALIGN-MLM's code."""


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
    """Tag re-ordered words with IOB2, entity by entity.

    Each word keeps its entity; words of one entity that stand together in the new order are one entity there, whose
    first word is ``B``. Entities that meet stay apart, and an entity that is torn apart becomes several.

    ``tags``: IOB2 tags of the original. An ``I`` without an entity before it begins one.

    Example:
        >>> carry_entities(["B-PER", "I-PER", "O"], origin=[2, 1, 0])
        ['O', 'B-PER', 'I-PER']
    """
    entity_of: list[int | None] = []  # of each word of the original: the number of its entity's first word
    kinds: list[str] = []
    for number, tag in enumerate(tags):
        prefix, _, kind = tag.partition("-")
        entity: int | None = number if kind else None
        if kind and prefix == "I" and number > 0 and entity_of[-1] is not None and kinds[-1] == kind:
            entity = entity_of[-1]
        entity_of.append(entity)
        kinds.append(kind)
    moved_tags: list[str] = []
    before: int | None = None
    for old in origin:
        entity = entity_of[old]
        if entity is None:
            moved_tags.append(tags[old])
        else:
            moved_tags.append(f"{'I' if entity == before else 'B'}-{kinds[old]}")
        before = entity
    return moved_tags


def flip_runs(tags: Sequence[str]) -> list[str]:
    """Turn each maximal run ``I … I B`` of a reversed sentence into ``B I … I``.

    Source: ALIGN-MLM's code for inverted NER.

    Example:
        >>> flip_runs(["O", "I-PER", "B-PER"])
        ['O', 'B-PER', 'I-PER']
    """
    flipped = list(tags)
    start, has_inside = 0, False  # of the run so far: its first tag, and whether it has an ``I``
    for number, tag in enumerate(tags):
        if tag.startswith("I-"):
            has_inside = True
            continue
        if tag.startswith("B-") and has_inside:
            flipped[start : number + 1] = flipped[start : number + 1][::-1]
        start, has_inside = number + 1, False
    return flipped


def make_tags_consistent(tags: Sequence[str]) -> list[str]:
    """Repair IOB2: after a tag of the same type comes ``I``, else ``B``. Neighbours of one type become one entity.

    Source: ALIGN-MLM's code for NER after T_syn.

    Example:
        >>> make_tags_consistent(["I-PER", "B-PER", "O"])
        ['B-PER', 'I-PER', 'O']
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

    sentence: Sentence  # all words; its ``ends`` are marks of ``. ! ?`` before white space
    spans: tuple[tuple[int, int], ...]  # characters ``[start, end)`` of each word

    @classmethod
    def of(cls, text: str) -> Passage:
        """Cut a text into words and punctuation."""
        spans = tuple(word_spans(text))
        words = tuple(text[start:end] for start, end in spans)
        ends = set()
        for number, (_, end) in enumerate(spans):
            is_before_space = end == len(text) or text[end].isspace()
            if words[number][-1] in END_MARKS and is_before_space:
                ends.add(number)
        return cls(Sentence(words, ends=frozenset(ends)), spans)

    @classmethod
    def parsed(cls, text: str, tree: Sentence) -> Passage:
        """Locate the words of a parse in its text.

        ``tree``: The words and their analysis. Put together they spell the text, except for white space; or its
        beginning, where the first sentence of several was taken.
        """
        letters = [
            i for i, character in enumerate(text) if not character.isspace()
        ]  # where the text has them
        spans, done = [], 0
        for word in tree.words:
            size = sum(not character.isspace() for character in word)
            spans.append((letters[done], letters[done + size - 1] + 1))
            done += size
        return cls(tree, tuple(spans))


def moved_answers(
    passage: Passage, derived: DerivedSentence, answers: Sequence[tuple[str, int]], counts: Counter[str]
) -> list[tuple[str, int]]:
    """Find answers in the derived context, whose words are joined by single spaces.

    ``answers``: Text and first character of each in the original context.
    ``counts``: Dropped answers are counted here: those that begin or end inside a word, that are not in the context
    as recorded, or whose words the new order separates.

    Returns:
        Text and first character of each answer that is still in one piece.
    """
    derived_starts = list(accumulate((len(word) + 1 for word in derived.words), initial=0))
    word_from = {start: number for number, (start, _) in enumerate(passage.spans)}
    word_to = {end: number for number, (_, end) in enumerate(passage.spans)}
    renderings = derived.renderings()
    located = []
    for text, start in answers:
        # An answer may be recorded with white space around it.
        begin = start + len(text) - len(text.lstrip())
        end = start + len(text.rstrip())
        if begin not in word_from or end not in word_to:
            counts["answer dropped: not at the bounds of words"] += 1
            continue
        old_words = range(word_from[begin], word_to[end] + 1)
        in_context = "".join(passage.sentence.words[old_words.start : old_words.stop])
        if "".join(in_context.split()) != "".join(text.split()):
            counts["answer dropped: not in the context as recorded"] += 1
            continue
        new_words: list[int] = []
        for old in old_words:
            new_words += renderings.get(old, ())
        new_words.sort()
        if not new_words or new_words[-1] - new_words[0] + 1 != len(new_words):
            counts["answer dropped: in several pieces"] += 1
            continue
        answer = " ".join(derived.words[new_words[0] : new_words[-1] + 1])
        located.append((answer, derived_starts[new_words[0]]))
    return located
