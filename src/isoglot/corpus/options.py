"""What `prepare` does to the rows of its inputs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from isoglot.corpus.read.sources import Kind

__all__ = ["FILTERS", "PrepareOptions"]

FILTERS = ("incomplete", "empty", "held_out", "script", "length", "ratio", "duplicates", "limit")
"""The filters in the order in which they run, cheap ones first; a row counts for the first one that drops it.

`incomplete` counts units of a translation memory that lack a language. Before them rows are cleaned; after them,
language sampling repeats or drops rows. The first N are taken after everything else, so N rows are N rows in the
output (paper of PPA: the corpus is filtered first, then capped).
"""


class PrepareOptions(BaseModel):
    """Options of :func:`isoglot.corpus.prepare`, which are also keys of a recipe's stream.

    Filters run in the fixed order of :data:`FILTERS`, whatever the order of the options.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind = Field(
        default="bitext", description="What the corpus holds: text, bitext, lexicon, aligned or treebank."
    )
    unicode_form: Literal["NFC", "NFKC"] | None = Field(
        default=None, description="Bring text to this Unicode normal form; by default it stays as it is."
    )
    clean_whitespace: bool = Field(
        default=True,
        description="Trim text, make one blank of any run of white space, and drop control characters. Line ends in "
        "documents stay. Words of aligned corpora and treebanks are not touched.",
    )
    held_out_files: tuple[str, ...] = Field(
        default=(),
        description="Files of sentences, one a line: a row with one of them on either side is dropped. They match "
        "whatever their case, punctuation, blanks and Unicode form.",
    )
    held_out_flags: tuple[str, ...] = Field(
        default=(),
        description="Names of evaluation sets: a row whose `flags` column names one is dropped; `*` is any name.",
    )
    min_script_share: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Least share of each side's letters that are in a script of its language.",
    )
    scripts: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Unicode scripts of languages that the built-in table lacks or has otherwise: {zh: [Han]}.",
    )
    tokenizer: str | None = Field(
        default=None,
        description="Fast tokenizer that measures length in pieces: a folder, a tokenizer.json, or a hub name.",
    )
    min_pieces: int | None = Field(
        default=None,
        ge=1,
        description="Drop a row if any side has fewer pieces, without special tokens (PPA: 10).",
    )
    max_pieces: int | None = Field(
        default=None, ge=1, description="Drop a row if any one side has more pieces."
    )
    max_pair_pieces: int | None = Field(
        default=None, ge=1, description="Drop a pair if both sides together have more pieces (PPA: 128)."
    )
    count_specials: bool = Field(
        default=True,
        description="The two maxima include the special tokens that the tokenizer adds (3 for a BERT pair), so that "
        "nothing that is kept is ever truncated.",
    )
    max_length_ratio: float | None = Field(
        default=None, gt=1, description="Drop a pair whose longer side is over so many times the shorter one."
    )
    ratio_unit: Literal["characters", "words", "pieces"] = Field(
        default="characters", description="What the ratio counts; words are what blanks separate."
    )
    duplicates: Literal["keep", "pair", "source", "target"] = Field(
        default="keep",
        description="Drop all but the first row with the same text: of the whole row (`pair`), or of one side. Rows "
        "of different languages are never duplicates.",
    )
    limit: int | None = Field(
        default=None,
        ge=1,
        description="Take the first so many rows of each language (pair) that pass all other filters.",
    )
    sampling_exponent: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="α: with n_l rows of language (pair) l, its share becomes n_l^α / Σ n^α by dropping or repeating "
        "rows; 1 leaves the shares as they are, 0 makes them equal.",
    )
    sampling_total: int | None = Field(
        default=None, ge=1, description="Rows after sampling; by default as many as before."
    )
    seed: int = Field(default=1, ge=0, description="Seed of the language sampling.")
    shard_rows: int = Field(default=200_000, ge=1, description="Rows in one Parquet file, about.")

    @model_validator(mode="after")
    def _consistent(self) -> PrepareOptions:
        """Options that need another one."""
        problems: list[str] = []
        measured = ("min_pieces", "max_pieces", "max_pair_pieces")
        if self.tokenizer is None:
            problems.extend(
                f"{name} counts pieces of a tokenizer, and none is given: set tokenizer"
                for name in measured
                if getattr(self, name) is not None
            )
            if self.max_length_ratio is not None and self.ratio_unit == "pieces":
                problems.append("ratio_unit: pieces needs a tokenizer, and none is given: set tokenizer")
        if self.kind in ("text", "treebank"):
            problems.extend(
                f"{name} compares two sides, and a {self.kind} corpus has one: remove it"
                for name in ("max_pair_pieces", "max_length_ratio")
                if getattr(self, name) is not None
            )
            if self.duplicates in ("source", "target"):
                problems.append(f"duplicates: {self.duplicates} needs two sides: set duplicates: pair")
        if self.scripts and self.min_script_share is None:
            problems.append("scripts is without effect: set min_script_share too")
        if self.ratio_unit != "characters" and self.max_length_ratio is None:
            problems.append("ratio_unit is without effect: set max_length_ratio too")
        if not self.count_specials and self.max_pieces is None and self.max_pair_pieces is None:
            problems.append("count_specials is without effect: set max_pieces or max_pair_pieces too")
        if self.sampling_total is not None and self.sampling_exponent is None:
            problems.append("sampling_total is without effect: set sampling_exponent too")
        if problems:
            raise ValueError("; ".join(problems))
        return self
