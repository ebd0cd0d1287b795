"""Read the words of a BITEXT data set, and add links to it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from datasets import Dataset, Features, List, Value

from isoglot.formats.schema import ALIGNED, BITEXT, require
from isoglot.formats.words import WordMode, sentence_words
from isoglot.runs.code import code_hashes
from isoglot.runs.reporter import bars_on_terminals

LINK_COLUMNS = {"link_probabilities": List(Value("float32")), "alignment_score": Value("float32")}
"""Columns that an aligner adds beside those of ALIGNED: each link's probability and a score of the pair."""


def words_of_side(
    batch: Mapping[str, Sequence[Any]], side: str, mode: WordMode = "whitespace"
) -> list[list[str]]:
    """Return the words of one side: the column ``<side>_words`` if there is one, else the text cut as ``mode`` says."""
    words = batch.get(f"{side}_words")
    if words is not None:
        return [list(sentence or ()) for sentence in words]
    return [sentence_words(text or "", mode=mode) for text in batch[side]]


def bitext_words(bitext: Dataset, mode: WordMode = "whitespace") -> tuple[list[list[str]], list[list[str]]]:
    """Return the words of both sides of a whole bitext."""
    require(bitext, BITEXT, role="bitext to align")
    columns = {}
    for side in ("source", "target"):
        name = f"{side}_words" if f"{side}_words" in bitext.features else side
        columns[name] = bitext[name][:]
    return words_of_side(columns, "source", mode), words_of_side(columns, "target", mode)


def bitext_languages(bitext: Dataset) -> tuple[str, str]:
    """Return the language of each side of a bitext, empty if a side has several languages or none is named."""
    require(bitext, BITEXT, role="bitext to align")
    tags = [bitext.unique(f"{side}_language") for side in ("source", "target")]
    source, target = (side[0] or "" if len(side) == 1 else "" for side in tags)
    return source, target


def add_links(
    bitext: Dataset,
    align: Callable[[list[list[str]], list[list[str]]], Mapping[str, list[Any]]],
    *,
    batch_size: int,
    key: str,
    mode: WordMode = "whitespace",
) -> Dataset:
    """Make an ALIGNED data set of a BITEXT one; other columns are kept.

    Args:
        bitext: Data set with the columns of BITEXT.
        align: Function from the words of both sides to the column ``links``, and optionally those of
            :data:`LINK_COLUMNS`.
        batch_size: Pairs in memory at a time.
        mode: How text is cut if there is no column of words.
        key: Names the aligner and everything that it has learned. The same key on the same bitext may reuse a cached
            result that the same code made.
    """
    require(bitext, BITEXT, role="bitext to align")

    def run(batch: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        source, target = (words_of_side(batch, side, mode) for side in ("source", "target"))
        return {"source_words": source, "target_words": target, **align(source, target)}

    # The name under which `datasets` caches the result. Columns of earlier links are replaced.
    made_by = f"{bitext._fingerprint} {key} {sorted(code_hashes(align).items())}"
    digest = hashlib.blake2b(made_by.encode(), digest_size=8).hexdigest()
    stale = [name for name in bitext.column_names if name in LINK_COLUMNS or name == "links"]
    kept = {name: kind for name, kind in bitext.features.items() if name not in stale}
    with bars_on_terminals():
        return bitext.map(
            run,
            batched=True,
            batch_size=batch_size,
            remove_columns=stale,
            features=Features({**kept, **ALIGNED, **LINK_COLUMNS}),
            new_fingerprint=digest,
        )
