"""The data of a transformation: a sentence in; its words in the derived language out, and where each came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from isoglot.formats.links import Link
from isoglot.formats.words import split_words


class Sentence(NamedTuple):
    """A sentence as words, with its dependency tree if that is known."""

    words: tuple[str, ...]
    upos: tuple[str, ...] = ()  # universal part-of-speech tags; empty without a tree, as the next two
    heads: tuple[int, ...] = ()  # 1-based number of each word's head, 0 for the root
    deprels: tuple[str, ...] = ()  # relation of each word to its head
    # 0-based numbers of the words after which a sentence ends; None: after the marks ``. ! ?``
    ends: frozenset[int] | None = None

    @classmethod
    def of(cls, text: str) -> Sentence:
        """Cut a text at spaces and tabs."""
        return cls(tuple(split_words(text, mode="whitespace")))

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Sentence:
        """Read the words of a row, and its tree where the row has one."""
        words = tuple(row["words"])
        columns = [row.get(name) for name in ("upos", "heads", "deprels")]
        if None in columns:
            return cls(words)
        return cls(words, *map(tuple, columns))  # type: ignore[arg-type]


class DerivedSentence(NamedTuple):
    """A sentence of the derived language; gold word links, labels and heads follow from the origins.

    Example:
        >>> DerivedSentence(("house", "old"), (1, 0)).links()
        [(0, 1), (1, 0)]
    """

    words: tuple[str, ...]
    origin: tuple[int, ...]  # for each word the 0-based number of the original word that it renders

    def links(self) -> list[Link]:
        """The gold word links ``(original word, derived word)``, sorted."""
        return sorted((source, target) for target, source in enumerate(self.origin))

    def renderings(self) -> dict[int, list[int]]:
        """The derived words that render each original word, by its number."""
        renderings: dict[int, list[int]] = {}
        for new, old in enumerate(self.origin):
            renderings.setdefault(old, []).append(new)
        return renderings


class Underivable(Exception):  # noqa: N818 - a reason to pass a sentence over, not a user's mistake
    """The transformation is not defined on this sentence; ``str()`` is the reason, as counts name it."""


class Transform(Protocol):
    """A map from a language to a derived one."""

    def __call__(self, sentence: Sentence, *, key: int) -> DerivedSentence:
        """Derive a sentence.

        Args:
            sentence: sentence of the original language.
            key: number of the sentence; all randomness depends on it and on the transform's seed alone.

        Raises:
            Underivable: the transformation is not defined on the sentence (syntax of a non-projective tree).
        """


def compose(*transforms: Transform) -> Transform:
    """Apply several transformations, the last one first: ``compose(a, b)`` is ``T_a ∘ T_b``.

    Origins are traced through all of them to the words of the original.

    Source: Tang et al. 2022, §4: "applying transformation T_t2 followed by T_t1".
    """
    *later, first = transforms

    def composed(sentence: Sentence, *, key: int) -> DerivedSentence:
        derived = first(sentence, key=key)
        for transform in reversed(later):
            step = transform(moved(sentence, derived), key=key)
            origin = [derived.origin[number] for number in step.origin]  # step's are words of `derived`
            derived = DerivedSentence(step.words, tuple(origin))
        return derived

    return composed if later else first


def moved(sentence: Sentence, derived: DerivedSentence) -> Sentence:
    """Make a sentence of the derived words. The tree of the original comes along if each word moved whole."""
    origin, size = derived.origin, len(sentence.words)
    # Order changes only inside sentences, so the places at which they end stay where they were.
    result = Sentence(derived.words, ends=sentence.ends if len(origin) == size else None)
    each_word_once = len(set(origin)) == len(origin) == size
    if not sentence.heads or not each_word_once:
        return result
    new_number = {old: new for new, old in enumerate(origin, 1)}
    heads = []
    for old in origin:
        head = sentence.heads[old]
        heads.append(new_number[head - 1] if head else 0)  # heads count from 1, and 0 is the root
    return result._replace(
        upos=tuple([sentence.upos[old] for old in origin]),
        heads=tuple(heads),
        deprels=tuple([sentence.deprels[old] for old in origin]),
    )
