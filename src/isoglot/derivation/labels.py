"""Tags of words, entities and answers of questions, moved with their words into the derived language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from isoglot.derivation.base import DerivedSentence, Sentence, Underivable
from isoglot.derivation.order import END_MARKS
from isoglot.formats.words import word_spans

MAX_DIFFERENT_WORDS = 5
"""A parse may differ from the labelled words by so many words, as in ALIGN-MLM's code."""


def tags_by_form(words: Sequence[str], labelled: Sequence[str], tags: Sequence[str]) -> tuple[str, ...]:
    """Give each word the tag of the first labelled word of the same form.

    A word that is not among the labelled words gets ``O`` if the tags are of entities, and ``X`` if they are parts of
    speech.

    Source: ALIGN-MLM's code for T_syn, which looks labels up after re-ordering.

    Example:
        >>> tags_by_form(["can", "I", "see"], labelled=["I", "can", "a", "can"], tags=["PRON", "AUX", "DET", "NOUN"])
        ('AUX', 'PRON', 'X')
    """
    first_tag: dict[str, str] = {}
    for word, tag in zip(labelled, tags, strict=True):
        first_tag.setdefault(word, tag)
    are_entities = all(tag == "O" or tag[:2] in ("B-", "I-") for tag in tags)
    unknown = "O" if are_entities else "X"
    return tuple([first_tag.get(word, unknown) for word in words])


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
    if abs(len(labelled) - len(parsed)) > MAX_DIFFERENT_WORDS:
        raise Underivable(f"parsed with over {MAX_DIFFERENT_WORDS} words more or fewer than are labelled")
    if not by_form:
        if tuple(labelled[: len(parsed)]) != tuple(parsed):
            raise Underivable("parsed into other words than those that are labelled")
        return tuple(tags[: len(parsed)])
    known = set(labelled)
    if sum(word not in known for word in parsed) > MAX_DIFFERENT_WORDS:
        raise Underivable(f"parsed with over {MAX_DIFFERENT_WORDS} words that are not labelled")
    return tags_by_form(parsed, labelled, tags)


def carry_entities(tags: Sequence[str], origin: Sequence[int]) -> list[str]:
    """Tag re-ordered words with IOB2, entity by entity.

    1. Words of one entity that stand together in the new order are one entity there: the first word has ``B``.
    2. An entity whose words are separated becomes several entities.
    3. Two entities that meet stay two: each begins with ``B``.

    ``tags``: IOB2 tags of the original. An ``I`` without an entity of its type before it begins one.

    Example:
        >>> carry_entities(["B-PER", "I-PER", "O"], origin=[2, 1, 0])
        ['O', 'B-PER', 'I-PER']
    """
    # For each word of the original: its entity, by the number of the entity's first word (None outside entities), and
    # the type of that entity.
    entity_of: list[int | None] = []
    types: list[str] = []
    for number, tag in enumerate(tags):
        prefix, _, entity_type = tag.partition("-")
        entity: int | None = number if entity_type else None
        continues = prefix == "I" and number > 0 and entity_of[-1] is not None and types[-1] == entity_type
        if entity_type and continues:
            entity = entity_of[-1]
        entity_of.append(entity)
        types.append(entity_type)
    moved_tags: list[str] = []
    entity_before: int | None = None  # the entity of the word before, in the new order
    for old in origin:
        entity = entity_of[old]
        if entity is None:
            moved_tags.append(tags[old])
        else:
            moved_tags.append(f"{'I' if entity == entity_before else 'B'}-{types[old]}")
        entity_before = entity
    return moved_tags


def flip_reversed_entities(tags: Sequence[str]) -> list[str]:
    """Turn each ``I … I B`` in the tags of a reversed sentence into ``B I … I``.

    An entity ``B I I`` has the tags ``I I B`` when the sentence is reversed; its tags are turned round, its words stay.

    Source: ALIGN-MLM's code for inverted NER.

    Example:
        >>> flip_reversed_entities(["O", "I-PER", "B-PER"])
        ['O', 'B-PER', 'I-PER']
    """
    flipped = list(tags)
    start = 0  # of the tags ``I … I`` just before the current tag
    for number, tag in enumerate(tags):
        if tag.startswith("I-"):
            continue
        if tag.startswith("B-"):  # the entity that ends here goes from `start` to `number`
            flipped[start : number + 1] = reversed(flipped[start : number + 1])
        start = number + 1
    return flipped


def make_tags_consistent(tags: Sequence[str]) -> list[str]:
    """Repair IOB2: a word of an entity has ``I`` behind a word of the same type, else ``B``.

    So two entities of one type that meet become one.

    Source: ALIGN-MLM's code for NER after T_syn.

    Example:
        >>> make_tags_consistent(["I-PER", "B-PER", "O"])
        ['B-PER', 'I-PER', 'O']
    """
    consistent: list[str] = []
    type_before = ""
    for tag in tags:
        prefix, _, entity_type = tag.partition("-")
        if entity_type and prefix in ("B", "I"):
            consistent.append(f"{'I' if entity_type == type_before else 'B'}-{entity_type}")
            type_before = entity_type
        else:
            consistent.append(tag)
            type_before = ""
    return consistent


class Passage(NamedTuple):
    """A context or a question as words and punctuation, with the place of each word in the text."""

    sentence: Sentence  # all words; a mark of ``. ! ?`` before white space ends a sentence
    spans: tuple[tuple[int, int], ...]  # characters ``[start, end)`` of each word

    @classmethod
    def of(cls, text: str) -> Passage:
        """Cut a text into words and punctuation.

        Example:
            >>> passage = Passage.of("It rains. Why?")
            >>> passage.sentence.words, sorted(passage.sentence.sentence_ends)
            (('It', 'rains', '.', 'Why', '?'), [2, 4])
        """
        spans = tuple(word_spans(text))
        words = tuple(text[start:end] for start, end in spans)
        sentence_ends = set()
        for number, (_, end) in enumerate(spans):
            is_before_space = end == len(text) or text[end].isspace()
            if words[number][-1] in END_MARKS and is_before_space:
                sentence_ends.add(number)
        return cls(Sentence(words, sentence_ends=frozenset(sentence_ends)), spans)

    @classmethod
    def parsed(cls, text: str, tree: Sentence) -> Passage:
        """Locate the words of a parse in its text.

        ``tree``: The words and their analysis. Put together they spell the text, except for white space; or its
        beginning, where the first sentence of several was taken.
        """
        # White space is not counted: the n-th character of the words is the n-th that is not white in the text.
        places = [place for place, character in enumerate(text) if not character.isspace()]
        spans = []
        located = 0
        for word in tree.words:
            size = sum(not character.isspace() for character in word)
            first, last = places[located], places[located + size - 1]
            spans.append((first, last + 1))
            located += size
        return cls(tree, tuple(spans))


def moved_answers(
    passage: Passage, derived: DerivedSentence, answers: Sequence[tuple[str, int]], counts: Counter[str]
) -> list[tuple[str, int]]:
    """Find answers in the derived context, whose words are joined by single spaces.

    An answer is dropped, and counted in ``counts``, if it

    1. begins or ends inside a word of the original context,
    2. is not in the original context as recorded, or
    3. has words that do not stand together in the derived context.

    ``answers``: Text and first character of each in the original context.

    Returns:
        Text and first character of each answer that is still in one piece.
    """
    word_starting_at = {start: number for number, (start, _) in enumerate(passage.spans)}
    word_ending_at = {end: number for number, (_, end) in enumerate(passage.spans)}
    derived_starts = list(accumulate((len(word) + 1 for word in derived.words), initial=0))
    renderings = derived.renderings()
    kept = []
    for text, start in answers:
        # An answer may be recorded with white space around it.
        begin = start + len(text) - len(text.lstrip())
        end = start + len(text.rstrip())
        if begin not in word_starting_at or end not in word_ending_at:  # 1
            counts["answer dropped: not at the bounds of words"] += 1
            continue
        old_words = range(word_starting_at[begin], word_ending_at[end] + 1)
        in_context = "".join(passage.sentence.words[old_words.start : old_words.stop])
        if "".join(in_context.split()) != "".join(text.split()):  # 2
            counts["answer dropped: not in the context as recorded"] += 1
            continue
        new_words: list[int] = []
        for old in old_words:
            new_words += renderings.get(old, ())
        new_words.sort()
        if not new_words or new_words[-1] - new_words[0] + 1 != len(new_words):  # 3
            counts["answer dropped: in several pieces"] += 1
            continue
        first, last = new_words[0], new_words[-1]
        kept.append((" ".join(derived.words[first : last + 1]), derived_starts[first]))
    return kept
