"""Precision, recall and F1 of labelled chunks, as seqeval counts them.

A *chunk* is a run of tokens with one type, such as an entity. The tags of its tokens have a *prefix*: B begins a chunk,
I continues it, E ends it, S is a chunk of a single token; O (or ``.``) is outside. Two readings of a tag are needed:

1. Named entities: a tag is a prefix and a type, ``B-PER``. IOB2, which the readers expect, has the prefixes B and I;
   E and S occur only where the user allows other tags.
2. Parts of speech: XTREME runs seqeval 0.0.12 over bare tags, of which the *first letter* is taken for the prefix and
   the *whole tag* for the type. So neighbours with one tag merge into one chunk (``NOUN NOUN``), except where the first
   letter is a prefix that closes or opens a chunk (``SYM SYM``: S is a chunk of a single token). Later versions of
   seqeval drop the first letter from the type, which makes ``CCONJ`` and ``SCONJ`` equal and does not reproduce
   XTREME's scores.
"""

from collections.abc import Callable, Sequence
from operator import eq

import numpy as np

from isoglot.core.errors import ConfigurationError
from isoglot.results.example_counts import ExampleCounts

PREFIXES = "BIESO"
"""Prefixes of the tags of named entities; by the rules here, entities with others would be lost or joined."""
_OUTSIDE = ("O", ".")
_ALWAYS_ENDS = ("E", "S")
"""Prefixes behind which a chunk ends, whatever comes next."""
_ALWAYS_BEGINS = ("B", "S")
"""Prefixes at which a chunk begins, whatever came before."""
_ENDS_BETWEEN = {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}
"""Prefixes of two neighbours: behind the first one a chunk ends, even if both have one type."""
_BEGINS_BETWEEN = {("E", "E"), ("E", "I"), ("S", "E"), ("S", "I"), ("O", "E"), ("O", "I")}
"""Prefixes of two neighbours: at the second one a chunk begins, even if both have one type."""

ChunkScores = dict[str, ExampleCounts]
"""``f1``, ``precision`` and ``recall``, counted per sentence."""


def chunks(tags: Sequence[str], type_of: Callable[[str], str]) -> list[tuple[str, int, int]]:
    """Find the chunks of one sentence: type, first and last token. The rules are those of seqeval.

    1. A chunk ends behind E or S; behind B or I, if B, S or O comes next (``B-PER B-PER`` are two chunks); and where
       the type changes.
    2. A chunk begins at B or S; at E or I, if E, S or O came before; and where the type changes.

    ``type_of``: Returns the type of a tag.

    Example:
        >>> chunks(["B-PER", "I-PER", "O", "I-LOC"], lambda tag: tag.partition("-")[2])
        [('PER', 0, 1), ('LOC', 3, 3)]

        Of bare tags the first letter is the prefix. N is in none of the rules, so that only a change of the type ends a
        chunk of ``NOUN``; S always ends one:

        >>> chunks(["NOUN", "NOUN", "SYM", "SYM"], lambda tag: tag)
        [('NOUN', 0, 1), ('SYM', 2, 2), ('SYM', 3, 3)]
    """
    found = []
    prefix_before, type_before, first = "O", "", 0
    # An O behind the last tag closes a chunk that reaches to the end.
    for position, tag in enumerate((*tags, "O")):
        prefix, chunk_type = tag[:1], type_of(tag)
        neighbours = (prefix_before, prefix)
        changes = chunk_type != type_before
        # 1
        ends = (
            prefix_before in _ALWAYS_ENDS
            or neighbours in _ENDS_BETWEEN
            or (changes and prefix_before not in _OUTSIDE)
        )
        if ends:
            found.append((type_before, first, position - 1))
        # 2
        begins = (
            prefix in _ALWAYS_BEGINS or neighbours in _BEGINS_BETWEEN or (changes and prefix not in _OUTSIDE)
        )
        if begins:
            first = position
        prefix_before, type_before = prefix, chunk_type
    return found


def entity_score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ChunkScores:
    """Score chunks of named entities, micro-averaged, as seqeval and conlleval count them.

    An ``I-`` that does not follow a tag of the same type begins a chunk.

    Example:
        >>> entity_score([["B-PER", "I-PER"]], [["B-PER", "O"]])["f1"].value
        0.0
    """
    # The type is what follows the prefix and a hyphen: PER of B-PER. O, and a B without a type, have the type _. The
    # expression is seqeval's, by which the type of a tag without a hyphen, BPER, is PER too; `tag[2:]` would be ER.
    return _score(gold, predicted, lambda tag: tag[1:].split("-", 1)[-1] or "_")


def pos_chunk_score(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ChunkScores:
    """Score part-of-speech tags by XTREME's F1: chunks of equal neighbours, micro-averaged (seqeval 0.0.12).

    Example:
        >>> gold = [["DET", "NOUN", "NOUN", "VERB", "PUNCT"]]
        >>> pos_chunk_score(gold, [["DET", "NOUN", "VERB", "VERB", "PUNCT"]])["f1"].value
        50.0
    """
    # The type is the whole of a bare tag: NOUN. seqeval 0.0.12 takes what follows the last hyphen, if there is one.
    return _score(gold, predicted, lambda tag: tag.rsplit("-", maxsplit=1)[-1])


def tag_accuracy(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> ExampleCounts:
    """Count the tokens whose tag is right, and all tokens, for each sentence."""
    _require_parallel(gold, predicted)
    right = []
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        right.append(sum(map(eq, gold_tags, predicted_tags)))
    return ExampleCounts(right, [len(tags) for tags in gold])


def _score(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], type_of: Callable[[str], str]
) -> ChunkScores:
    """Count for each sentence the chunks in both, in the predicted and in the gold tags."""
    _require_parallel(gold, predicted)
    counts = []
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        gold_chunks = set(chunks(gold_tags, type_of))
        predicted_chunks = set(chunks(predicted_tags, type_of))
        counts.append((len(gold_chunks & predicted_chunks), len(predicted_chunks), len(gold_chunks)))
    in_both, in_predicted, in_gold = np.array(counts, np.float64).reshape(-1, 3).T
    return {
        "f1": ExampleCounts(2 * in_both, in_predicted + in_gold),
        "precision": ExampleCounts(in_both, in_predicted),
        "recall": ExampleCounts(in_both, in_gold),
    }


def _require_parallel(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    """Refuse predictions for another number of sentences, or of tokens in a sentence."""
    if len(gold) != len(predicted):
        raise ConfigurationError(
            f"{len(predicted)} predicted sentences for {len(gold)} gold ones; predict every sentence, in order"
        )
    for number, (gold_tags, predicted_tags) in enumerate(zip(gold, predicted, strict=True), start=1):
        if len(gold_tags) != len(predicted_tags):
            raise ConfigurationError(
                f"sentence {number} has {len(predicted_tags)} predicted tags for {len(gold_tags)} tokens; "
                "predict one tag for every token"
            )
