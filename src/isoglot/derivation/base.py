"""What a derived language is made with: a sentence in, its words in the new language and where each came from out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from isoglot.formats.links import Link
from isoglot.formats.words import split_words


class Sentence(NamedTuple):
    """A sentence as words, with as much of its analysis as is known."""

    words: tuple[str, ...]
    upos: tuple[str, ...] = ()  # universal part-of-speech tags; empty without a tree, as the next two
    heads: tuple[int, ...] = ()  # 1-based number of each word's head, 0 for the root
    deprels: tuple[str, ...] = ()  # relation of each word to its head
    # 0-based numbers of the words after which a sentence ends; ``None``: after the marks ``. ! ?``
    ends: frozenset[int] | None = None

    @classmethod
    def of(cls, text: str) -> Sentence:
        """The sentence of a text, cut at spaces and tabs."""
        return cls(tuple(split_words(text, mode="whitespace")))

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Sentence:
        """The sentence of a row with words, and its tree where the row has one."""
        columns = [row.get(name) for name in ("upos", "heads", "deprels")]
        return cls(tuple(row["words"]), *(() if None in columns else map(tuple, columns)))  # type: ignore[arg-type]


class DerivedSentence(NamedTuple):
    """A sentence of the derived language; gold word links, labels and heads follow from the origins."""

    words: tuple[str, ...]
    origin: tuple[int, ...]  # of each word, the 0-based number of the word of the original that it renders

    def links(self) -> list[Link]:
        """Gold word links ``(original word, derived word)``, sorted."""
        return sorted((source, target) for target, source in enumerate(self.origin))

    def renderings(self) -> dict[int, list[int]]:
        """By word of the original, the derived words that render it."""
        images: dict[int, list[int]] = {}
        for new, old in enumerate(self.origin):
            images.setdefault(old, []).append(new)
        return images


class Underivable(Exception):  # noqa: N818 - a reason to pass a sentence over, not a user's mistake
    """The transformation is not defined on this sentence; ``str()`` is the reason, as counts name it."""


class Transform(Protocol):
    """A map from a language to a derived one."""

    def __call__(self, sentence: Sentence, *, key: int) -> DerivedSentence:
        """The sentence in the derived language.

        Args:
            sentence: sentence of the original language.
            key: number of the sentence; all randomness depends on it and on the transform's seed alone.

        Raises:
            Underivable: the sentence has no image (syntax of a non-projective tree).
        """


def compose(*transforms: Transform) -> Transform:
    """``compose(a, b)`` is ``T_a ∘ T_b``: b first, then a, with origins traced through every step.

    Source: Tang et al. 2022, §4: "applying transformation T_t2 followed by T_t1".
    """
    *later, first = transforms

    def composed(sentence: Sentence, *, key: int) -> DerivedSentence:
        derived = first(sentence, key=key)
        for transform in reversed(later):
            step = transform(moved(sentence, derived), key=key)
            derived = DerivedSentence(step.words, tuple([derived.origin[o] for o in step.origin]))
        return derived

    return composed if later else first


def moved(sentence: Sentence, derived: DerivedSentence) -> Sentence:
    """The derived words as a sentence, with the original's analysis carried along where each word moved whole."""
    origin, size = derived.origin, len(sentence.words)
    # Order changes only inside sentences, so the places at which they end stay where they were.
    result = Sentence(derived.words, ends=sentence.ends if len(origin) == size else None)
    if not sentence.heads or not len(set(origin)) == len(origin) == size:
        return result
    number = {old: new for new, old in enumerate(origin, 1)}
    return result._replace(
        upos=tuple([sentence.upos[o] for o in origin]),
        heads=tuple([number[sentence.heads[o] - 1] if sentence.heads[o] else 0 for o in origin]),
        deprels=tuple([sentence.deprels[o] for o in origin]),
    )
