"""Precision, recall and F1 of labelled chunks, as seqeval counts them.

Two readings of a tag are needed. For named entities a tag is a prefix and a type, ``B-PER``. XTREME's F1 of
part-of-speech tagging runs seqeval 0.0.12 over bare tags: the *first letter* is taken for the prefix and the *whole
tag* for the type. So neighbours with one tag merge into one chunk (``NOUN NOUN``), except where the first letter is a
prefix that closes or opens a chunk (``SYM SYM``: S stands for a single one). Later versions of seqeval drop the first
letter from the type, which makes ``CCONJ`` and ``SCONJ`` equal and does not reproduce XTREME's scores.
"""

from collections.abc import Callable, Sequence
from operator import eq

import numpy as np

from isoglot.core.errors import ConfigurationError
from isoglot.results.example_counts import ExampleCounts

_OUTSIDE = ("O", ".")
_CLOSED_BEFORE = {("B", c) for c in "BSO"} | {("I", c) for c in "BSO"}
_OPENED_AFTER = {(p, c) for p in "ESO" for c in "EI"}


ChunkScores = dict[str, ExampleCounts]
"""``f1``, ``precision`` and ``recall``, counted per sentence."""


def chunks(tags: Sequence[str], type_of: Callable[[str], str]) -> list[tuple[str, int, int]]:
    """Chunks of one sentence: type, first and last token.

    The first letter of a tag is its prefix (B, I, E, S; O and ``.`` are outside).

    Example:
        >>> chunks(["B-PER", "I-PER", "O", "I-LOC"], lambda tag: tag.partition("-")[2])
        [('PER', 0, 1), ('LOC', 3, 3)]
    """
    spans = []
    before, type_before, first = "O", "", 0
    for position, tag in enumerate((*tags, "O")):
        prefix, kind = tag[:1], type_of(tag)
        changes = kind != type_before
        if before in ("E", "S") or (before, prefix) in _CLOSED_BEFORE or (changes and before not in _OUTSIDE):
            spans.append((type_before, first, position - 1))
        if prefix in ("B", "S") or (before, prefix) in _OPENED_AFTER or (changes and prefix not in _OUTSIDE):
            first = position
        before, type_before = prefix, kind
    return spans


def entity_score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ChunkScores:
    """Chunks of named entities, micro-averaged: seqeval's and conlleval's count.

    An ``I-`` that follows nothing of its type opens a chunk.

    Example:
        >>> entity_score([["B-PER", "I-PER"]], [["B-PER", "O"]])["f1"].value
        0.0
    """
    return _score(gold, predicted, lambda tag: tag[1:].split("-", 1)[-1] or "_")


def pos_chunk_score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ChunkScores:
    """XTREME's F1 of part-of-speech tags: chunks of equal neighbours, micro-averaged (seqeval 0.0.12).

    Example:
        >>> gold = [["DET", "NOUN", "NOUN", "VERB", "PUNCT"]]
        >>> pos_chunk_score(gold, [["DET", "NOUN", "VERB", "VERB", "PUNCT"]])["f1"].value
        50.0
    """
    return _score(gold, predicted, lambda tag: tag.rsplit("-", maxsplit=1)[-1])


def tag_accuracy(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ExampleCounts:
    """Share of the tokens whose tag is right, counted per sentence."""
    _require_parallel(gold, predicted)
    right = [sum(map(eq, g, p)) for g, p in zip(gold, predicted, strict=True)]
    return ExampleCounts(right, [len(tags) for tags in gold])


def _score(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], type_of: Callable[[str], str]
) -> ChunkScores:
    _require_parallel(gold, predicted)
    sentences = [[{*chunks(tags, type_of)} for tags in pair] for pair in zip(gold, predicted, strict=True)]
    counts = [(len(right & guessed), len(guessed), len(right)) for right, guessed in sentences]
    both, guessed, right = np.array(counts, np.float64).reshape(-1, 3).T
    return {
        "f1": ExampleCounts(2 * both, guessed + right),
        "precision": ExampleCounts(both, guessed),
        "recall": ExampleCounts(both, right),
    }


def _require_parallel(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    if len(gold) != len(predicted):
        raise ConfigurationError(
            f"{len(predicted)} predicted sentences for {len(gold)} gold ones; predict every sentence, in order"
        )
    for number, (g, p) in enumerate(zip(gold, predicted, strict=True), 1):
        if len(g) != len(p):
            raise ConfigurationError(
                f"sentence {number} has {len(p)} predicted tags for {len(g)} tokens; predict one tag for every token"
            )
