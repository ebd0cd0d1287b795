"""The data of a transformation: a sentence in, the words of its derived sentence out, each with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from isoglot.formats.links import Link
from isoglot.formats.words import split_words


class Sentence(NamedTuple):
    """One sentence as words, with its dependency tree if that is known; or running text of several sentences.

    ``upos``, ``heads`` and ``deprels`` have an entry for each word, or none at all where no tree is known.

    Example:
        >>> Sentence(("old", "house"), upos=("ADJ", "NOUN"), heads=(2, 0), deprels=("amod", "root")).heads
        (2, 0)
    """

    words: tuple[str, ...]
    upos: tuple[str, ...] = ()  # universal part-of-speech tags
    heads: tuple[int, ...] = ()  # 1-based number of each word's head, 0 for the root
    deprels: tuple[str, ...] = ()  # relation of each word to its head
    sentence_ends: frozenset[int] | None = None
    """0-based numbers of the marks that end a sentence: ``{2, 4}`` of ``It rains . Why ?``. Texts are cut behind them,
    and an inversion leaves them last. None where they are not known; then words that look like marks end a sentence."""

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

    def renders_each_once(self, size: int) -> bool:
        """Whether each of the ``size`` original words is rendered by one word: none was cut into pieces or lost."""
        return len(set(self.origin)) == len(self.origin) == size


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
    """Make one transformation of several, of which the last is applied first: ``compose(a, b)`` is ``T_a ∘ T_b``.

    Origins are traced through all of them to the words of the original.

    Source: Tang et al. 2022, §4: "applying transformation T_t2 followed by T_t1".
    """
    # The last transform is applied first, so the others follow from right to left.
    *following, first = transforms

    def composed(sentence: Sentence, *, key: int) -> DerivedSentence:
        derived = first(sentence, key=key)
        for transform in reversed(following):
            step = transform(with_derived_words(sentence, derived), key=key)
            # The origins of this step are words of `derived`, whose own origins are words of the original.
            origin = [derived.origin[number] for number in step.origin]
            derived = DerivedSentence(step.words, tuple(origin))
        return derived

    return composed if following else first


def with_derived_words(sentence: Sentence, derived: DerivedSentence) -> Sentence:
    """Make a sentence of the derived words, with the tree of the original if each word was moved as a whole.

    Example:
        >>> original = Sentence(("old", "house"), upos=("ADJ", "NOUN"), heads=(2, 0), deprels=("amod", "root"))
        >>> with_derived_words(original, DerivedSentence(("HOUSE", "OLD"), (1, 0)))[:3]
        (('HOUSE', 'OLD'), ('NOUN', 'ADJ'), (0, 1))
    """
    origin, size = derived.origin, len(sentence.words)
    # Words are re-ordered only inside sentences, so the places at which sentences end stay where they were.
    sentence_ends = sentence.sentence_ends if len(origin) == size else None
    result = Sentence(derived.words, sentence_ends=sentence_ends)
    if not sentence.heads or not derived.renders_each_once(size):
        return result
    new_number = {old: new for new, old in enumerate(origin, 1)}  # from 0-based to 1-based, as heads are
    heads = []
    for old in origin:
        head = sentence.heads[old]
        heads.append(new_number[head - 1] if head else 0)
    return result._replace(
        upos=tuple([sentence.upos[old] for old in origin]),
        heads=tuple(heads),
        deprels=tuple([sentence.deprels[old] for old in origin]),
    )
