"""Options of `isoglot derive` and `fit-order`: a field is an argument in Python and a flag."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from isoglot.options import FileName, Options, option

_READING, _SCRIPT, _ORDER, _SYNTAX, _ROWS = (
    "How to read", "trans: another script", "inv, perm: another order", "syn: another syntax", "Labels and sides",
)  # fmt: skip
_LABELS = "Labels of the trees: ud2 (renamed to UD 1.2) or literal (as they are)."


class TransformOptions(Options):
    """Options of the transformations. ``needs`` names the one that a field is for."""

    seed: int = option(0, "Seed for all sampling.")
    tokenizer: Any = option(
        None, "Fast tokenizer, loaded: trans copies its pieces.", flags=None, exclude=True
    )
    alphabet: str = option(
        "armenian",
        "Letters without a tokenizer: armenian, georgian, cherokee or deseret.",
        group=_SCRIPT,
        needs="trans",
    )
    script: Literal["tangut", "hangul"] = option(
        "tangut", "Script of a tokenizer's copies.", group=_SCRIPT, needs="trans"
    )
    overlap: float = option(
        0.0,
        "Share of the vocabulary that both languages have, 0 to 1.",
        group=_SCRIPT,
        needs="trans",
        ge=0,
        le=1,
    )
    with_replacement: bool = option(
        False, "Sample that share as the paper's code does: 22.1 % for 0.25.", group=_SCRIPT, needs="trans"
    )
    level: Literal["word", "token"] = option(
        "word", "inv: units that change places; token needs --tokenizer.", group=_ORDER, needs="inv"
    )
    split: bool = option(False, "inv, perm: the input may hold several sentences.", flags=None)
    attached: bool = option(False, "inv: a final mark may hang on the last word.", flags=None)
    literal: bool = option(False, "inv: the paper's XNLI code with its quirks.", group=_ORDER, needs="inv")
    end_marks: Literal[".!?", "."] = option(
        ".!?",
        "inv: marks that end a sentence; the paper's text has the period alone.",
        group=_ORDER,
        needs="inv",
    )
    keep_final: bool = option(False, "perm: a final . ! ? stays last.", group=_ORDER, needs="perm")
    syntax: str | None = option(
        None, "Languages of the orders: en~fr@N~fr@V.", metavar="SPEC", group=_SYNTAX, needs="syn"
    )
    models: Path | None = option(
        None,
        "Folder with en@N.orm, fr@N.orm and so on; or built-in, with head-final as the other language.",
        group=_SYNTAX,
        needs="syn",
    )
    rate: float = option(
        0.05, "Share of the substrate.", flags=["--lambda"], group=_SYNTAX, needs="syn", ge=0, le=1
    )
    ud_labels: Literal["ud2", "literal"] = option("ud2", _LABELS, group=_SYNTAX, needs="syn")
    oversize: Literal["skip", "keep"] = option(
        "skip",
        "Sentences of a head with over six dependents: skip, or keep their order.",
        group=_SYNTAX,
        needs="syn",
    )
    best: bool = option(False, "Take the most probable order, not a sampled one.", group=_SYNTAX, needs="syn")

    def sharing(self) -> dict[str, Any]:
        """What :func:`isoglot.derive.sharing.draw_shared` takes."""
        return self.model_dump(include={"overlap", "seed", "with_replacement"})


class DeriverOptions(Options):
    """How rows are read and labels are kept. ``needs`` names the kinds of data that a field is for."""

    split: bool = option(
        False,
        "Tokenised text: cut after . ! ? and write one sentence per line.",
        flags=["--split-sentences"],
        group=_READING,
        needs="text",
    )
    labels: Literal["exact", "first_match"] = option(
        "exact",
        "Way labels move: with their word, or by word form as the paper's code.",
        group=_ROWS,
        needs="tagged",
    )
    repair: Literal["entities", "consistent", "flip", "none"] = option(
        "entities",
        "IOB2 tags after a change of order: exact by entity, or the paper's two ways.",
        group=_ROWS,
        needs="tagged",
    )
    side: Literal["source", "target", "both"] = option(
        "source", "Side of sentence pairs to derive.", group=_ROWS, needs="bitext and aligned"
    )
    end_marks: str = option(".!?", "Where --split-sentences cuts: as the transformation.", flags=None)
    single_spaces: bool = option(
        False, "Cut the sentences of pairs at single spaces, as the literal inversion does.", flags=None
    )


class DeriveRequest(Options):
    """What `isoglot derive` is to do."""

    transform: str = option(
        ...,
        "trans, inv, perm, syn, or some with +: trans+inv inverts, then transliterates.",
        flags=["--transform", "-t"],
    )
    kind: Literal["text", "bitext", "aligned", "treebank", "tagged", "nli", "paws", "qa"] | None = option(
        None, "What the input holds (tagged: NER, POS); by default from the file.", group=_READING
    )
    languages: tuple[str, ...] = option((), "Languages of the input; two of pairs.", flags=None)
    derived_language: str | None = option(
        None, "Tag of the derived language; by default en-x-trans-inv and so on.", flags=["--derived-lang"]
    )
    options: TransformOptions = Field(default_factory=TransformOptions)
    rows: DeriverOptions = Field(default_factory=DeriverOptions)
    tokenizer: str | None = option(
        None,
        "Copy this tokenizer's pieces, id to id + V, and write the doubled tokenizer; or continue with such a copy.",
        group=_SCRIPT,
    )
    parses: str | None = option(
        None,
        "CoNLL-U file with the trees of the input's sentences, if it has none.",
        group=_SYNTAX,
        needs="syn",
    )
    first_parse_only: bool = option(
        False, "Take the first sentence of a text that was parsed as several.", group=_SYNTAX, needs="syn"
    )
    lexicon: float = option(
        1.0, "Share of the gold lexicon to draw; 0 for none.", group=_SCRIPT, needs="trans", ge=0, le=1
    )
    source: Mapping[str, Any] = option({}, "Further keys of a source, such as columns.", flags=None)
    limit: int | None = option(None, "Derive at most this many rows.", group=_READING, ge=1)


class OrderFitRequest(Options):
    """How models of word order are fitted."""

    language: FileName = option(..., "Language of the treebank: fr.", flags=["--lang", "--language"])
    l2: float = option(1.0, "Weight of the squared norm of the features.", ge=0)
    high_order: float = option(0.1, "Share of the commonest runs of three to five that are kept.", ge=0, le=1)
    labels: Literal["ud2", "literal"] = option("ud2", _LABELS, flags=["--ud-labels"])
    iterations: int = option(200, "Maximum steps of L-BFGS.", ge=1)
