"""Options of `isoglot derive` and `fit-order`: a field is an argument in Python and a flag."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field

from isoglot.core.options import FileName, Options, internal, option

_READING, _SCRIPT, _ORDER, _SYNTAX, _ROWS = (
    "How to read", "trans: another script", "inv, perm: another order", "syn: another syntax", "Labels and sides",
)  # fmt: skip
_trans = partial(option, group=_SCRIPT, needs="trans")
_inv = partial(option, group=_ORDER, needs="inv")
_syn = partial(option, group=_SYNTAX, needs="syn")
_tagged = partial(option, group=_ROWS, needs="tagged")
_reading = partial(option, group=_READING)
_LABELS = "Labels of the trees: ud2 (renamed to UD 1.2) or literal (as they are)."


class TransformOptions(Options):
    """Options of the transformations. ``needs`` names the transformation that a field is for."""

    # All fields, also those of DeriverOptions, are in the record of a folder. A new one needs the default None: a key
    # that a record lacks counts as None, so folders that were derived before are still recognised. A new one that is on
    # or off is a `bool | None`, which becomes a plain flag; those with the default False are older than this rule.
    seed: int = option(0, "Start of the random numbers.")
    tokenizer: Any = internal(None, exclude=True)
    """The fast tokenizer whose pieces are copied, loaded."""
    alphabet: str = _trans(
        "armenian", "Letters without a tokenizer: armenian, georgian, cherokee or deseret."
    )
    script: Literal["tangut", "hangul"] = _trans("tangut", "Letters of a tokenizer's copies.")
    overlap: float = _trans(0.0, "Share of the vocabulary that both languages have, 0 to 1.", ge=0, le=1)
    with_replacement: bool = _trans(False, "Sample that share as the paper's code does: 22.1 % for 0.25.")
    level: Literal["word", "token"] = _inv("word", "inv: units that change places; token needs --tokenizer.")
    # In the record the key is `split` (as for `split_sentences` below), as in folders that were derived before.
    sentence_by_sentence: bool = internal(
        False, validation_alias=AliasChoices("sentence_by_sentence", "split"), serialization_alias="split"
    )
    """inv and perm: A row may hold several sentences, each re-ordered by itself. The row stays one row."""
    attached: bool = internal(False)
    """inv: A final mark may hang on the last word, as in ``mat.``."""
    literal: bool = _inv(False, "inv: the paper's XNLI code with its quirks.")
    end_marks: Literal[".!?", "."] = option(
        ".!?",
        "inv, --split-sentences: marks that end a sentence; the paper's text has the period alone.",
        group=_ORDER,
    )
    keep_final: bool = option(False, "perm: a final . ! ? stays last.", group=_ORDER, needs="perm")
    syntax: str | None = _syn(None, "Languages of the orders: en~fr@N~fr@V.", metavar="SPEC")
    models: Path | None = _syn(
        None, "Folder with en@N.orm, fr@N.orm and so on; or built-in, with head-final as the other language."
    )
    rate: float = _syn(
        0.05,
        "Weight of the input language's own order in the mixture.",
        flags=["--rate", "--lambda"],
        ge=0,
        le=1,
    )
    ud_labels: Literal["ud2", "literal"] = _syn("ud2", _LABELS)
    oversize: Literal["skip", "keep"] = _syn(
        "skip", "Sentences that have a head with over six dependents: skip them, or keep that head's order."
    )
    best: bool = _syn(False, "Take the most probable order, not a sampled one.")

    def sharing(self) -> dict[str, Any]:
        """Arguments of :func:`isoglot.derivation.sharing.draw_positions` that draw the shared vocabulary."""
        return {"share": self.overlap, "seed": self.seed, "with_replacement": self.with_replacement}


class DeriverOptions(Options):
    """Options of reading rows and keeping labels. ``needs`` names the kinds of data that a field is for.

    Of several, such as ``"bitext and aligned"``, any one will do.
    """

    split_sentences: bool = option(
        False,
        "Tokenised text: cut after . ! ? and write one sentence per line.",
        group=_READING,
        needs="text",
        validation_alias=AliasChoices("split_sentences", "split"),
        serialization_alias="split",
    )
    labels: Literal["exact", "first_match"] = option(
        "exact",
        "Way labels move: with their word, or by word form as the paper's code.",
        group=_ROWS,
        needs="tagged and treebank",
    )
    repair: Literal["entities", "consistent", "flip", "none"] = _tagged(
        "entities", "IOB2 tags after a change of order: exact by entity, or the paper's two ways."
    )
    side: Literal["source", "target", "both"] = option(
        "source", "Side of sentence pairs to derive.", group=_ROWS, needs="bitext and aligned"
    )
    end_marks: str = internal(".!?")
    """Marks at which sentences are split: the ``end_marks`` of the transformation."""
    single_spaces: bool = internal(False)
    """Cut the sentences of pairs at single spaces, as the literal inversion does."""


class DeriveRequest(Options):
    """Everything that `isoglot derive` needs to know."""

    transform: str = option(
        ...,
        "trans, inv, perm, syn, or some with +: trans+inv inverts, then transliterates.",
        flags=["--transform", "-t"],
    )
    kind: Literal["text", "bitext", "aligned", "treebank", "tagged", "nli", "paws", "qa"] | None = _reading(
        None, "What the input holds (tagged: NER, POS); by default from the file."
    )
    languages: tuple[str, ...] = option((), "Languages of the input; two of pairs.", flags=None)
    derived_language: str | None = option(
        None,
        "Tag of the derived language; by default en-x-trans-inv and so on.",
        flags=["--derived-lang", "--derived-language"],
    )
    options: TransformOptions = Field(default_factory=TransformOptions)
    rows: DeriverOptions = Field(default_factory=DeriverOptions)
    tokenizer: str | None = option(
        None,
        "Copy this tokenizer's pieces, id to id + V, and write the doubled tokenizer; or continue with such a copy.",
        group=_SCRIPT,
    )
    parses: str | None = _syn(None, "CoNLL-U file with the trees of the input's sentences, if it has none.")
    first_parse_only: bool = _syn(False, "Take the first sentence of a text that was parsed as several.")
    lexicon: float = _trans(1.0, "Share of the gold lexicon to draw; 0 for none.", ge=0, le=1)
    # How the input is read (fields of `Reading` that were given); `options` above are those of the transformation.
    source: Mapping[str, Any] = option({}, "Further keys of a source, such as columns.", flags=None)
    limit: int | None = _reading(None, "Derive at most this many rows.", ge=1)


class OrderFitRequest(Options):
    """Options of fitting models of word order."""

    language: FileName = option(..., "Language of the treebank: fr.", flags=["--lang", "--language"])
    l2: float = option(1.0, "Weight of the squared norm of the features.", ge=0)
    labels: Literal["ud2", "literal"] = option("ud2", _LABELS, flags=["--ud-labels", "--labels"])
    iterations: int = option(200, "Maximum steps of L-BFGS.", ge=1)
