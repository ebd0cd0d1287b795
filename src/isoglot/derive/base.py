"""What a derived language is made with: a sentence in, its words in the new language and where each came from out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol


class Sentence(NamedTuple):
    """A sentence as words, with as much of its analysis as is known.

    Attributes:
        upos: universal part-of-speech tag of each word.
        heads: 1-based number of each word's head, 0 for the root.
        deprels: relation of each word to its head.
        ends: 0-based numbers of the words after which a sentence ends, where the caller knows; else it is told by
            the marks ``. ! ?``.
    """

    words: tuple[str, ...]
    upos: tuple[str, ...] | None = None
    heads: tuple[int, ...] | None = None
    deprels: tuple[str, ...] | None = None
    ends: frozenset[int] | None = None

    @classmethod
    def of(cls, text: str) -> Sentence:
        """The sentence of a text, cut at white space."""
        return cls(tuple(text.split()))


class Derived(NamedTuple):
    """A sentence of the derived language.

    Attributes:
        origin: for each word, the 0-based number of the word of the original that it renders. Gold word links, labels
            and heads follow from it.
    """

    words: tuple[str, ...]
    origin: tuple[int, ...]

    def links(self) -> list[list[int]]:
        """Gold word links ``[original word, derived word]``, sorted."""
        return sorted([source, target] for target, source in enumerate(self.origin))


class Underivable(Exception):  # noqa: N818 - a reason to pass a sentence over, not a user's mistake
    """The transformation is not defined on this sentence; ``str()`` is the reason, as counts name it."""


class Transform(Protocol):
    """A map from a language to a derived one.

    Args:
        key: number of the sentence; all randomness depends on it and on the transform's seed alone.

    Raises:
        Underivable: the sentence has no image (syntax of a non-projective tree).
    """

    def __call__(self, sentence: Sentence, *, key: int) -> Derived:
        """The sentence in the derived language."""
        ...


class Composed:
    """``T_a ∘ T_b``: the last transform of the list is applied first.

    Args:
        transforms: as the formula is written, ``[T_trans, T_inv]`` for ``T_trans ∘ T_inv``.

    Source: Tang et al. 2022, §3: "applying transformation T_t2 followed by T_t1".
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = tuple(transforms)

    def __call__(self, sentence: Sentence, *, key: int) -> Derived:
        """The image, with origins traced through every step."""
        *later, first = self.transforms
        derived = first(sentence, key=key)
        for transform in reversed(later):
            step = transform(moved(sentence, derived), key=key)
            if step.origin is in_place(len(derived.origin)):
                derived = Derived(step.words, derived.origin)
            else:
                derived = Derived(step.words, tuple([derived.origin[o] for o in step.origin]))
        return derived


@lru_cache(maxsize=4096)
def in_place(size: int) -> tuple[int, ...]:
    """The origins of so many words that did not move; the same object each time."""
    return tuple(range(size))


def compose(*transforms: Transform) -> Transform:
    """``compose(a, b)`` is ``T_a ∘ T_b``: b first, then a."""
    return transforms[0] if len(transforms) == 1 else Composed(transforms)


def moved(sentence: Sentence, derived: Derived) -> Sentence:
    """The derived words as a sentence, with the original's analysis carried along where each word moved whole."""
    origin = derived.origin
    ends = sentence.ends
    if ends is None and sentence.upos is None:
        return Sentence(derived.words)
    if ends is not None:
        # Order changes only inside sentences, so the places at which they end stay where they were.
        ends = ends if len(origin) == len(sentence.words) else None
    if sentence.upos is None or sentence.heads is None or sentence.deprels is None:
        return Sentence(derived.words, ends=ends)
    if len(set(origin)) != len(sentence.words) or len(origin) != len(sentence.words):
        return Sentence(derived.words, ends=ends)
    place = [0] * len(origin)
    for new, old in enumerate(origin):
        place[old] = new + 1
    heads = sentence.heads
    return Sentence(
        derived.words,
        tuple([sentence.upos[o] for o in origin]),
        tuple([place[heads[o] - 1] if heads[o] else 0 for o in origin]),
        tuple([sentence.deprels[o] for o in origin]),
        ends,
    )
