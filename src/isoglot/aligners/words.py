"""The words of a bitext, and a bitext with links."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from datasets import Dataset, Features, List, Value

from isoglot.corpus.encode.words import split_words
from isoglot.runs.code import code_hashes
from isoglot.runs.reporter import bars_on_terminals
from isoglot.schema import ALIGNED, BITEXT, require

LINK_COLUMNS = {"link_probabilities": List(Value("float32")), "alignment_score": Value("float32")}
"""Columns that an aligner adds beside those of ALIGNED: each link's probability and a score of the pair."""


def words_of_side(batch: Mapping[str, Sequence[Any]], side: str) -> list[list[str]]:
    """The words of one side: column ``<side>_words`` where there is one, else the text cut at spaces and tabs."""
    words = batch.get(f"{side}_words")
    if words is not None:
        return [list(sentence or ()) for sentence in words]
    return [split_words(text or "", mode="whitespace") for text in batch[side]]


def bitext_words(bitext: Dataset) -> tuple[list[list[str]], list[list[str]]]:
    """The words of both sides of a whole bitext."""
    require(bitext, BITEXT, role="bitext to align")
    names = [f"{side}_words" if f"{side}_words" in bitext.features else side for side in ("source", "target")]
    columns = {name: bitext[name][:] for name in names}
    return words_of_side(columns, "source"), words_of_side(columns, "target")


def add_links(
    bitext: Dataset,
    align: Callable[[list[list[str]], list[list[str]]], Mapping[str, list[Any]]],
    *,
    batch_size: int,
    key: str,
) -> Dataset:
    """BITEXT to ALIGNED by an alignment function, ``batch_size`` pairs in memory at a time; other columns are kept.

    Args:
        bitext: with the columns of BITEXT.
        align: words of both sides to the columns ``links`` and, optionally, those of :data:`LINK_COLUMNS`.
        batch_size: pairs at a time.
        key: names the aligner and all that it has learned; the same key on the same bitext may reuse a cached result
            that the same code made.
    """
    require(bitext, BITEXT, role="bitext to align")

    def run(batch: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        source, target = words_of_side(batch, "source"), words_of_side(batch, "target")
        return {"source_words": source, "target_words": target, **align(source, target)}

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
