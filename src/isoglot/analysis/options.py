"""Options of each analysis: a field is an argument in Python and a flag of ``isoglot analyse``."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from isoglot.core.options import FileName, Options, Seed, one_or_more, option, settings_option
from isoglot.formats.sources import LinkReading, PairReading

_Id = Annotated[int, Field(ge=0)]
_GOLD = "Gold links with their words (JSON lines: src, tgt, sure, possible)"
_PAIRS = (
    "Sentence pairs: a folder of `isoglot prepare`, `align --format corpus` or `derive`, or files (two of a pair; "
    "TSV, JSONL, TMX, `source ||| target`). Repeat the flag for two files."
)
_READING = "How files are read, such as header=True: keys of a Source."
_LAYERS = "`all`, or numbers such as 0,4,8,-1: 0 = embeddings, negative from the end."
_SETTINGS = "Another option of the aligner, as for `isoglot align`: --set level=word; repeatable."
_BASE = "The gold file counts words from 0 or 1."

ALIGNMENT = "embedding_alignment"
"""Task of the alignment score's rows; their metrics are ``alignment_score`` and what follows from it."""


class CorpusFiles(LinkReading, PairReading):
    """Options of reading the files of a corpus."""


class Subset(Options):
    """A part of the pairs that is drawn and scored, as the paper's code does.

    ``candidates`` says which targets are searched.
    """

    share: float = option(
        ...,
        "Score a share of the pairs, as the paper's code does: 0.4.",
        flags=["--share", "--subset"],
        gt=0,
        le=1,
    )
    seed: Seed = option(0, "Seed of --share; 42 in the paper's code, which draws in the same way.")
    candidates: Literal["drawn", "all"] = option(
        "all", "With --share: targets to search; drawn, those of the sampled pairs, is easier."
    )


class ScoreOptions(Options):
    """Options of measuring a checkpoint's alignment: the defaults are ours, other values follow the paper's code."""

    include_special: bool = option(False, "Compare special tokens too, as the paper's code does.")
    subset: Subset | None = None
    language_ids: tuple[_Id, _Id] | None = option(
        None, "Add the language embeddings of these ids first, as the paper's code does: 2,3.", commas=True
    )
    single: bool = option(False, "With --lexicon: only entries of one piece on both sides.")
    device: str = option("auto", "Where to compute: auto, cpu, cuda.")


class AlignmentRequest(Options):
    """Options that say which embeddings belong together, and how these are compared."""

    vocabulary: str | None = option(
        None, "Derived language: `tokenizer` folder that `isoglot derive` wrote; by default the recipe's."
    )
    copied_from: int | None = option(
        None, "Or the size V of a vocabulary whose copies have id + V: 40000.", ge=1
    )
    lexicon: str | None = option(
        None, "Natural languages: dictionary, `source target` per line (MUSE), or a prepared folder."
    )
    languages: tuple[str, str] = option(("", ""), "Languages of the lexicon.", flags=None)
    reading: dict[str, Any] = option({}, _READING, flags=None)
    induction: bool = option(
        False,
        "With --lexicon: also MUSE's precision at 1 and 5, by cosine and CSLS, both ways.",
        only_with="lexicon",
    )
    words: str | None = option(
        None,
        "With --induction: first and last source word; 0:0 for all. By default MUSE's 5000:6500.",
        only_with="induction",
    )
    name: str | None = option(
        None, "Language in the results, such as en-x-trans-inv.", flags=["--name", "--language"]
    )
    options: ScoreOptions = Field(default_factory=ScoreOptions)


class CorrelationRequest(Options):
    """Options that choose the points whose correlation is measured."""

    tasks: tuple[str, ...] = option(
        (), "Tasks of the drops; all there are by default.", flags=["--tasks", "--task", "-t"]
    )
    with_paper: bool = option(
        False, "Add ALIGN-MLM's own twelve points (xnli, ner, pos).", flags=["--with-paper", "--paper"]
    )
    each_seed: bool = option(False, "One point per seed, not one for the mean of a run's seeds.")
    name: FileName = option("correlation", "File name of the figures; the task follows it.")
    _one_or_more = field_validator("tasks", mode="before")(one_or_more)


class Projection(Options):
    """Options of projecting vectors to points of the plane."""

    method: Literal["tsne", "pca"] = option(
        "tsne", "Projection; tsne needs scikit-learn.", flags=["--method", "-m"]
    )
    seed: Seed = option(0, "Seed of t-SNE, which starts from the principal components.")


class MapRequest(Options):
    """Options that choose the words of a map and their vectors."""

    corpus: tuple[str, ...] = option(..., f"Aligned corpus. {_PAIRS}", flags=["--corpus", "-c"])
    languages: tuple[str, str] = option(("", ""), "Languages that the files do not name.", flags=None)
    reading: dict[str, Any] = option({}, _READING, flags=None)
    count: int = option(20, "Word pairs: the most frequent links of the corpus.", ge=1)
    stop_words: str = option(
        "auto",
        "Words to leave out: english (scikit-learn's list), frequent:100 (the most frequent of each side), none, or a "
        "file with one word per line. auto: english if one side is, else frequent:100.",
    )
    pieces: Literal["mean", "single"] = option(
        "mean", "Words of several pieces: `mean` takes their mean, `single` leaves them out."
    )
    distinct: bool = option(False, "Use each word once, even with two frequent translations.")
    layer: int | None = option(
        None, "Map mean contextual vectors of this layer; by default the static input embeddings."
    )
    limit: int | None = option(None, "Count links in this many sentence pairs from the beginning.", ge=1)
    name: FileName = option("map", "File name of the figure.")
    projection: Projection = Field(default_factory=Projection)
    _one_or_more = field_validator("corpus", mode="before")(one_or_more)


class LayersRequest(Options):
    """A sweep over layers."""

    gold: tuple[str, ...] = option(
        ..., f"{_GOLD}; repeatable, one figure each.", flags=["--gold", "-g"], min_length=1
    )
    methods: tuple[str, ...] = option(
        ("itermax",),
        "itermax, argmax, ot, pointer, …; repeatable, one line each.",
        flags=["--methods", "--method", "-m"],
        min_length=1,
    )
    layers: str = option("all", _LAYERS)
    metric: Literal["aer", "precision", "recall", "f1"] = option("aer", "Rate that is plotted.")
    base: int | None = option(None, _BASE, ge=0, le=1)
    name: FileName = option("layers", "File name of the figures.")
    settings: dict[str, Any] = settings_option(_SETTINGS)
    _one_or_more = field_validator("gold", "methods", mode="before")(one_or_more)


class AlignmentsRequest(Options):
    """Word alignments to look at."""

    gold: str = option(..., f"{_GOLD}.", flags=["--gold", "-g"])
    method: str | None = option(
        None,
        "Way to choose links; by default what `isoglot tune` chose, else itermax.",
        flags=["--method", "-m"],
    )
    layer: int | None = option(
        None, "Layer whose vectors are compared; by default what `isoglot tune` chose, else 8."
    )
    limit: int | None = option(200, "Show this many sentence pairs from the beginning.", ge=1)
    base: int | None = option(None, _BASE, ge=0, le=1)
    name: FileName = option("alignments", "Name of the files; the checkpoint's name follows it.")
    settings: dict[str, Any] = settings_option(_SETTINGS)


class SimilarityRequest(Options):
    """Options of comparing the vectors of two languages."""

    corpus: tuple[str, ...] = option(..., _PAIRS, flags=["--corpus", "-c"])
    languages: tuple[str, str] = option(("", ""), "Languages that the files do not name.", flags=None)
    reading: dict[str, Any] = option({}, _READING, flags=None)
    level: Literal["sentence", "word"] = option(
        "sentence", "sentence: mean of pieces. word: linked words of an aligned corpus."
    )
    measures: tuple[Literal["cka", "neighbours", "retrieval"], ...] = option(
        ("cka", "neighbours", "retrieval"),
        "What to plot; repeatable, one figure each.",
        flags=["--measures", "--measure"],
        min_length=1,
    )
    layers: str = option("all", _LAYERS)
    neighbours: int = option(10, "How many neighbours are compared.", flags=["--neighbours", "-k"], ge=1)
    debiased: bool = option(
        True, "Debiased CKA; Kornblith et al.'s grows with hidden size over sentences.", flags=["--debiased"]
    )
    limit: int = option(1000, "Sentence pairs (or links, with --level word) at most.", ge=4)
    name: FileName = option("similarity", "File name of the figures; the measure follows it.")
    _one_or_more = field_validator("corpus", "measures", mode="before")(one_or_more)


class GeometryRequest(Options):
    """Options of measuring the shape of a space."""

    corpus: tuple[str, ...] = option(..., _PAIRS, flags=["--corpus", "-c"])
    languages: tuple[str, str] = option(("", ""), "Languages that the files do not name.", flags=None)
    reading: dict[str, Any] = option({}, _READING, flags=None)
    unit: Literal["sentence", "word", "piece"] = option("sentence", "What has a vector.")
    measures: tuple[Literal["anisotropy", "variance", "hubness", "anti-hubs"], ...] = option(
        ("anisotropy", "variance", "hubness", "anti-hubs"),
        "What to plot; repeatable, one figure each.",
        flags=["--measures", "--measure"],
        min_length=1,
    )
    layers: str = option("all", _LAYERS)
    neighbours: int = option(10, "Neighbours that make a hub.", flags=["--neighbours", "-k"], ge=1)
    sentences: int = option(1000, "Sentence pairs that are read.", ge=2)
    limit: int = option(5000, "Vectors of each language, drawn at random.", ge=2)
    seed: Seed = option(0, "Seed for that sample.")
    name: FileName = option("geometry", "File name of the figures; the measure follows it.")
    _one_or_more = field_validator("corpus", "measures", mode="before")(one_or_more)
