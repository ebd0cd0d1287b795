"""Options of `prepare`: filters of rows, held-out text, languages, shards."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, field_validator, model_validator

from isoglot.core.options import Options, one_or_more, option
from isoglot.formats.sources import READING, Kind

ROW_RULES = ("empty", "held_out", "script", "length", "ratio")
"""The filters that look at one row at a time: :class:`isoglot.corpus.filter.filters.RowTests`.

`isoglot prepare` counts a dropped row for the first of them that drops it. So a new one comes last: the counts of
those before it stay the same.
"""
FILTERS = ("incomplete", *ROW_RULES, "duplicates", "limit")
"""All filters of `isoglot prepare`, in the order in which they run; a row counts for the first one that drops it.

1. `incomplete` counts units of a translation memory that lack a language. It has no option.
2. Rows are cleaned, then the row rules run.
3. The limit comes last, so N rows are N rows in the output (PPA: the corpus is filtered first, then capped). Language
   sampling comes after it, and repeats or drops rows.

PPA is Pan et al. 2021, *Multilingual BERT Post-Pretraining Alignment*.
"""


DROPPING = "What to drop"
"""Heading of the flags that say which rows to drop."""
_LANGUAGES, _RUN = "Mixing languages", "Running"


def _names(value: object) -> object:
    """Split several names as the command line has them: ``Han,Hani``."""
    return tuple(value.split(",")) if isinstance(value, str) else value


class RowRules(Options):
    """Filters that look at one row at a time."""

    # A new option, here or in PrepareOptions, has the default None; one that is on or off is a `bool | None`, which
    # becomes a plain flag. A manifest of an earlier release lacks the option, which counts as None when
    # `isoglot prepare` compares options. With another default, also with False, it would refuse every corpus that an
    # earlier release made.

    held_out_files: tuple[str, ...] = option(
        (),
        "Drop rows with a side, or a line of a document, that is a line of this file (case and punctuation ignored).",
        flags=["--held-out", "--held-out-files"],
        group=DROPPING,
    )
    _files = field_validator("held_out_files", mode="before")(one_or_more)
    min_script_share: float | None = option(
        None, "Minimum share of a side's letters in a script of its language.", group=DROPPING, gt=0, le=1
    )
    scripts: dict[str, Annotated[tuple[str, ...], BeforeValidator(_names)]] = option(
        {},
        "Scripts of a language that the built-in table lacks: zh=Han.",
        flags=["--script", "--scripts"],
        metavar="LANG=NAME,...",
        only_with="min_script_share",
        group=DROPPING,
    )
    tokenizer: str | None = option(
        None,
        "Fast tokenizer that measures length in pieces: folder, tokenizer.json or hub name.",
        group=DROPPING,
    )
    min_pieces: int | None = option(
        None,
        "Drop a row if a side has fewer pieces, special tokens not counted (PPA: 10).",
        only_with="tokenizer",
        group=DROPPING,
        ge=1,
    )
    max_pieces: int | None = option(
        None,
        "Drop a row if a side has more pieces, special tokens included.",
        only_with="tokenizer",
        group=DROPPING,
        ge=1,
    )
    max_pair_pieces: int | None = option(
        None,
        "Drop a pair if both sides together have more pieces, special tokens included (PPA: 128).",
        only_with="tokenizer",
        group=DROPPING,
        ge=1,
    )
    max_length_ratio: float | None = option(
        None, "Drop pairs whose length ratio in characters exceeds this value.", group=DROPPING, gt=1
    )


class PrepareOptions(RowRules):
    """Options of :func:`isoglot.prepare`, which are also keys of a recipe's stream.

    Filters run in the fixed order of :data:`FILTERS`, whatever the order of the options.
    """

    held_out_flags: tuple[str, ...] = option(
        (),
        "Drop rows whose `flags` column names this evaluation set; `*` matches any name.",
        flags=["--held-out-flag", "--held-out-flags"],
        group=DROPPING,
    )
    _flags = field_validator("held_out_flags", mode="before")(one_or_more)
    kind: Kind = option("bitext", "What the corpus holds: text, bitext, lexicon, aligned or treebank.")
    clean_whitespace: bool = option(
        True,
        "Trim text, collapse white space, remove control characters (documents keep their line ends).",
        group=READING,
    )
    duplicates: Literal["keep", "pair", "source", "target"] = option(
        "keep",
        "Drop later rows with the same text as an earlier one: whole pair, or one side.",
        group=DROPPING,
    )
    limit: int | None = option(
        None, "Keep the first N rows of each language (pair) that pass all filters.", group=DROPPING, ge=1
    )
    sampling_exponent: float | None = option(
        None,
        "Exponent α: shares become n^α / Σ n^α; 1 keeps them, 0 makes them equal.",
        group=_LANGUAGES,
        ge=0,
        le=1,
    )
    seed: int = option(1, "Start of the random numbers that choose rows.", group=_LANGUAGES, ge=0)
    shard_rows: int = option(200_000, "Approximate rows per Parquet file.", group=_RUN, ge=1)

    @model_validator(mode="after")
    def _sides_are_there(self) -> Self:
        """Refuse options that need a source and a target, for a corpus of one side."""
        if self.kind in ("text", "treebank") and (
            self.max_pair_pieces or self.max_length_ratio or self.duplicates in ("source", "target")
        ):
            raise ValueError(
                "max_pair_pieces, max_length_ratio and duplicates of a side need two sides, but a "
                f"{self.kind} corpus has one: remove it"
            )
        return self
