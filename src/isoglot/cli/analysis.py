"""``isoglot analyse``: what happened inside an encoder, as figures and results for the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

__all__ = [
    "alignment",
    "alignments",
    "correlation",
    "geometry",
    "layers",
    "map_words",
    "register",
    "similarity",
]

_CHECKPOINTS = typer.Argument(
    ..., metavar="CHECKPOINT", help="Checkpoints: run folders, model folders, or hub names."
)
_OUT = typer.Option(
    ...,
    "--out",
    "-o",
    help="A run's folder, or any other; figures go to OUT/figures, results to OUT/results.jsonl.",
)
_LABELS = typer.Option(
    None,
    "--label",
    "-l",
    help="Name of a checkpoint in legends; once each, in their order. By default the run's name.",
)
_LANGUAGES = "How to read"
_SOURCE = typer.Option("", "--source-lang", help="Language of the source side.", rich_help_panel=_LANGUAGES)
_TARGET = typer.Option("", "--target-lang", help="Language of the target side.", rich_help_panel=_LANGUAGES)
_QUIET = typer.Option(False, "--quiet", "-q", help="Say nothing but errors.")
_LAYERS = typer.Option(
    "all", "--layers", help="`all`, or numbers such as 0,4,8,-1: 0 = embeddings, negative from the end."
)
_CORPUS = typer.Option(
    ...,
    "--corpus",
    "-c",
    help="Sentence pairs: a folder of `isoglot prepare`, `align --format corpus` or `derive`, or files (two of a pair; "
    "TSV, JSONL, TMX, `source ||| target`). Give the option twice for two files.",
)
_SET = typer.Option(
    None, "--set", metavar="KEY=VALUE", help="Any other option of the aligner, as for `isoglot align`."
)
_BASE = typer.Option(None, "--base", min=0, max=1, help="The gold file counts words from 0 or 1.")


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Look into encoders: alignment, layers, maps. Then: isoglot report OUT --out report.html",
    )
    commands = (alignment, correlation, map_words, layers, similarity, geometry, alignments)
    for command in commands:
        name = "map" if command is map_words else command.__name__
        group.command(name)(command)
    app.add_typer(group, name="analyse")


def alignment(  # noqa: PLR0917 - one parameter a flag
    checkpoints: list[str] = _CHECKPOINTS,
    out: Path = _OUT,
    vocabulary: str | None = typer.Option(
        None,
        help="Derived language: the `tokenizer` folder that `isoglot derive` wrote. By default the recipe's own.",
    ),
    copied_from: int | None = typer.Option(
        None, help="Or the size V of a vocabulary whose copy stands at id + V, such as 40000."
    ),
    lexicon: str | None = typer.Option(
        None, help="Natural languages: a dictionary, `source target` a line (MUSE), or a prepared folder."
    ),
    source: str = _SOURCE,
    target: str = _TARGET,
    induction: bool = typer.Option(
        False, help="With --lexicon: also MUSE's precision at 1 and 5, by cosine and CSLS, both ways."
    ),
    words: str | None = typer.Option(
        None, help="With --induction: first and last source word; 0:0 for all. By default MUSE's 5000:6500."
    ),
    single: bool = typer.Option(False, help="With --lexicon: only entries of one piece on both sides."),
    language: str | None = typer.Option(None, help="Language in the results, such as en-x-trans-inv."),
    include_special: bool = typer.Option(False, help="Compare special tokens too, as the paper's code does."),
    subset: float | None = typer.Option(None, help="Draw this part first, as the paper's code does: 0.4."),
    candidates: str = typer.Option("drawn", help="With --subset: search the drawn part, or `all` targets."),
    seed: int = typer.Option(0, help="Of --subset; 42 in the paper's code, which draws in the same way."),
    language_ids: str | None = typer.Option(
        None, help="Add the language embeddings of these ids first, as the paper's code does: 2,3."
    ),
    device: str = typer.Option("auto", help="auto, cpu, cuda."),
    labels: list[str] = _LABELS,
    quiet: bool = _QUIET,
) -> None:
    """How often is a token's nearest input embedding in the other language its translation?

    ALIGN-MLM's alignment score, in per cent of the vocabulary, searched in whole: [bold]isoglot analyse alignment
    runs/align_mlm --out runs/align_mlm[/bold] where the recipe's tokenizer is a vocabulary that `isoglot derive`
    doubled. Real languages: add [bold]--lexicon muse.en-de.txt --source-lang en --target-lang de[/bold].

    Where training had a dictionary, its entries (alignment_trained) and all others (alignment_held_out)
    are also scored by themselves.
    """
    from isoglot.analysis.alignment_score import Subset
    from isoglot.analysis.analyse import AlignmentRequest, analyse_alignment
    from isoglot.analysis.checkpoint_score import ScoreOptions
    from isoglot.cli.console import Console

    drawn = None if subset is None else Subset(subset, seed, candidates)  # type: ignore[arg-type]
    options = ScoreOptions(
        include_special=include_special, subset=drawn, language_ids=_two_ids(language_ids), single=single,
        device=device,
    )  # fmt: skip
    request = AlignmentRequest(
        vocabulary=vocabulary, copied_from=copied_from, lexicon=lexicon, languages=(source, target),
        induction=induction, words=words, name=language, options=options,
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        rows = analyse_alignment(checkpoints, request, out=out, labels=labels or (), progress=console)
    _print_rows(rows, quiet)


def correlation(
    results: list[str] = typer.Argument(
        None,
        metavar="[RESULTS]",
        help="Files of results, or folders: rows of `analyse alignment` and of transfers.",
    ),
    out: Path = _OUT,
    task: list[str] = typer.Option(
        None, "--task", "-t", help="Tasks of the drops; by default all there are."
    ),
    paper: bool = typer.Option(False, "--paper", help="ALIGN-MLM's own twelve points too (xnli, ner, pos)."),
    each_seed: bool = typer.Option(False, help="A point for each seed, not for the mean of a run's seeds."),
    metric: str = typer.Option("alignment_score", help="Metric of the alignment rows."),
    name: str = typer.Option("correlation", help="Of the figures; the task comes behind it."),
    quiet: bool = _QUIET,
) -> None:
    """Does alignment go with transfer? Spearman's correlation of alignment scores with −Δ (ALIGN-MLM, Fig. 3).

    Δ = supervised minus zero-shot, as `isoglot transfer` and studies write it. The paper's own figures, without any
    run: [bold]isoglot analyse correlation --paper --out figures[/bold]
    """
    from isoglot.analysis.analyse_correlation import CorrelationRequest, analyse_correlation
    from isoglot.cli.console import print_table

    request = CorrelationRequest(
        tasks=task or (), x_metric=metric, with_paper=paper, each_seed=each_seed, name=name
    )
    found = analyse_correlation(results or [], request, out=out)
    if not quiet:
        print_table(
            ("task", "points", "Spearman"),
            [
                (task, group, "too few points" if value is None else str(value))
                for task, groups in found.items()
                for group, value in groups.items()
            ],
        )


def map_words(  # noqa: PLR0917 - one parameter a flag
    checkpoints: list[str] = _CHECKPOINTS,
    corpus: list[str] = _CORPUS,
    out: Path = _OUT,
    count: int = typer.Option(20, min=2, help="Word pairs: the most frequent links of the corpus."),
    stop_words: str = typer.Option(
        "auto",
        help="Which words to leave out: english (scikit-learn's list), frequent:100 (the most frequent of each side), "
        "none, or a file with a word a line. auto: english if one side is, else frequent:100.",
    ),
    pieces: str = typer.Option(
        "mean", help="Words of several pieces: `mean` takes their mean, `single` leaves them out."
    ),
    distinct: bool = typer.Option(False, help="Take no word twice, though it has two frequent translations."),
    layer: int | None = typer.Option(
        None, help="Mean contextual vectors of this layer; by default the static input embeddings."
    ),
    occurrences: int = typer.Option(
        100, min=1, help="With --layer: averaged occurrences of a pair, at most."
    ),
    method: str = typer.Option("tsne", "--method", "-m", help="tsne (needs scikit-learn) or pca."),
    perplexity: float | None = typer.Option(None, help="Of t-SNE; by default 30, or a third of few points."),
    seed: int = typer.Option(0, help="Of t-SNE."),
    limit: int | None = typer.Option(None, min=1, help="Count links in the first so many sentence pairs."),
    source: str = _SOURCE,
    target: str = _TARGET,
    name: str = typer.Option("map", help="Of the figure."),
    labels: list[str] = _LABELS,
    quiet: bool = _QUIET,
) -> None:
    """A map of frequent words and their translations, a panel a checkpoint (WEAM, Fig. 2).

    Before and after: [bold]isoglot analyse map bert-base-multilingual-cased runs/weam --corpus corpora/en-de.aligned
    -l before -l after --out runs/weam[/bold]. The corpus has word links: a folder of `isoglot align --format corpus`.
    """
    from isoglot.analysis.analyse_map import MapRequest, analyse_map
    from isoglot.analysis.word_map import Projection
    from isoglot.cli.console import Console

    projection = Projection(method=method, perplexity=perplexity, seed=seed)  # type: ignore[arg-type]
    request = MapRequest(
        corpus=corpus, languages=(source, target), count=count, stop_words=stop_words,
        pieces=pieces, distinct=distinct, layer=layer, occurrences=occurrences,  # type: ignore[arg-type]
        projection=projection, limit=limit, name=name,
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        _say(analyse_map(checkpoints, request, out=out, labels=labels or (), progress=console), console)


def layers(  # noqa: PLR0917 - one parameter a flag
    checkpoints: list[str] = _CHECKPOINTS,
    gold: list[str] = typer.Option(
        ...,
        "--gold",
        "-g",
        help="Gold links with their words (JSON lines: src, tgt, sure, possible); repeatable.",
    ),
    out: Path = _OUT,
    method: list[str] = typer.Option(
        ["itermax"], "--method", "-m", help="itermax, argmax, ot, pointer, …; repeatable: a line each."
    ),
    which: str = _LAYERS,
    metric: str = typer.Option("aer", help="aer, precision, recall or f1."),
    settings: list[str] = _SET,
    base: int | None = _BASE,
    name: str = typer.Option("layers", help="Of the figures."),
    labels: list[str] = _LABELS,
    quiet: bool = _QUIET,
) -> None:
    """Alignment error rate by layer (XLM-Align, Fig. 2), each sentence encoded once for all layers.

    [bold]isoglot analyse layers xlm-roberta-base runs/xlm_align --gold de-en.jsonl -m itermax -m ot --out
    runs/xlm_align[/bold]. Several gold files give a figure each, and one of their mean.
    """
    from isoglot.analysis.analyse_links import LayersRequest, analyse_layers
    from isoglot.cli.alignment import aligner_settings
    from isoglot.cli.console import Console

    request = LayersRequest(
        gold=gold, methods=method, layers=which, metric=metric, base=base, name=name,
        settings=aligner_settings(settings),
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        _say(analyse_layers(checkpoints, request, out=out, labels=labels or (), progress=console), console)


def similarity(  # noqa: PLR0917 - one parameter a flag
    checkpoints: list[str] = _CHECKPOINTS,
    corpus: list[str] = _CORPUS,
    out: Path = _OUT,
    level: str = typer.Option(
        "sentence", help="sentence: mean of pieces. word: linked words of an aligned corpus."
    ),
    measure: list[str] = typer.Option(
        ["cka", "neighbours", "retrieval"],
        "--measure",
        help="cka, neighbours, retrieval; repeatable: a figure each.",
    ),
    which: str = _LAYERS,
    neighbours: int = typer.Option(10, "-k", min=1, help="How many neighbours are compared."),
    biased: bool = typer.Option(
        False,
        "--biased",
        help="CKA as Kornblith et al. have it, which grows with hidden size over sentences.",
    ),
    limit: int = typer.Option(1000, min=4, help="Sentence pairs (or links, with --level word) at most."),
    source: str = _SOURCE,
    target: str = _TARGET,
    name: str = typer.Option("similarity", help="Of the figures; the measure comes behind it."),
    labels: list[str] = _LABELS,
    quiet: bool = _QUIET,
) -> None:
    """How alike are two languages, layer by layer?

    cka: linear centred kernel alignment of sentences and their translations. neighbours: how many of a sentence's
    nearest neighbours in its own language are those of its translation. retrieval: how often the translation is the
    nearest sentence. [bold]isoglot analyse similarity runs/mlm runs/tlm --corpus dev.en --corpus dev.de --source-lang
    en --target-lang de --out figures[/bold]
    """
    from isoglot.analysis.analyse_vectors import SimilarityRequest, analyse_similarity
    from isoglot.cli.console import Console

    request = SimilarityRequest(
        corpus=corpus, languages=(source, target), level=level, measures=measure,  # type: ignore[arg-type]
        layers=which, neighbours=neighbours, debiased=not biased, limit=limit, name=name,
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        _say(
            analyse_similarity(checkpoints, request, out=out, labels=labels or (), progress=console), console
        )


def geometry(  # noqa: PLR0917 - one parameter a flag
    checkpoints: list[str] = _CHECKPOINTS,
    corpus: list[str] = _CORPUS,
    out: Path = _OUT,
    unit: str = typer.Option("sentence", help="A vector a sentence, word or piece."),
    measure: list[str] = typer.Option(
        ["anisotropy", "variance", "hubness", "anti-hubs"], "--measure", help="Repeatable: a figure each."
    ),
    which: str = _LAYERS,
    neighbours: int = typer.Option(10, "-k", min=1, help="Neighbours that make a hub."),
    sentences: int = typer.Option(1000, min=2, help="Sentence pairs that are read."),
    limit: int = typer.Option(5000, min=2, help="Vectors of each language, drawn at random."),
    seed: int = typer.Option(0, help="Of that draw."),
    source: str = _SOURCE,
    target: str = _TARGET,
    name: str = typer.Option("geometry", help="Of the figures; the measure comes behind it."),
    labels: list[str] = _LABELS,
    quiet: bool = _QUIET,
) -> None:
    """The shape of the space, layer by layer: do all vectors point one way, and are some everyone's neighbours?

    anisotropy: mean cosine of two vectors. variance: share of the first principal component. hubness: skewness of how
    often a vector is among the neighbours of the other language's; anti-hubs: vectors that never are.
    """
    from isoglot.analysis.analyse_vectors import GeometryRequest, analyse_geometry
    from isoglot.cli.console import Console

    request = GeometryRequest(
        corpus=corpus, languages=(source, target), unit=unit, measures=measure,  # type: ignore[arg-type]
        layers=which, neighbours=neighbours, sentences=sentences, limit=limit, seed=seed, name=name,
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        _say(analyse_geometry(checkpoints, request, out=out, labels=labels or (), progress=console), console)


def alignments(  # noqa: PLR0917 - one parameter a flag
    checkpoints: list[str] = _CHECKPOINTS,
    gold: str = typer.Option(
        ..., "--gold", "-g", help="Gold links with their words (JSON lines: src, tgt, sure, possible)."
    ),
    out: Path = _OUT,
    method: str = typer.Option(
        "itermax", "--method", "-m", help="How links are chosen; see `isoglot align --methods`."
    ),
    layer: int | None = typer.Option(None, help="Hidden states to compare; 8 by default."),
    limit: int | None = typer.Option(200, min=1, help="The first so many sentence pairs."),
    settings: list[str] = _SET,
    base: int | None = _BASE,
    name: str = typer.Option("alignments", help="Of the files; the checkpoint's name comes behind it."),
    labels: list[str] = _LABELS,
    quiet: bool = _QUIET,
) -> None:
    """Word alignments to look at: the report shows each sentence pair with right, wrong and missed links.

    [bold]isoglot analyse alignments runs/xlm_align --gold de-en.jsonl --out runs/xlm_align[/bold]
    """
    from isoglot.analysis.analyse_links import AlignmentsRequest, analyse_alignments
    from isoglot.cli.alignment import aligner_settings
    from isoglot.cli.console import Console

    request = AlignmentsRequest(
        gold=gold, method=method, layer=layer, limit=limit, base=base, name=name,
        settings=aligner_settings(settings),
    )  # fmt: skip
    with Console(quiet=quiet) as console:
        _say(
            analyse_alignments(checkpoints, request, out=out, labels=labels or (), progress=console), console
        )


def _say(written: list[Path], console: Any) -> None:
    for path in written:
        console.note(f"wrote {path}")


def _print_rows(rows: list[Any], quiet: bool) -> None:
    from isoglot.cli.console import print_table

    if not quiet:
        print_table(
            ("run", "task", "language", "metric", "value", "examples"),
            [(r.run, r.task, r.language, r.metric, f"{r.value:.2f}", f"{r.examples:,}") for r in rows],
        )


def _two_ids(text: str | None) -> tuple[int, int] | None:
    from isoglot.errors import ConfigurationError

    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise ConfigurationError(f"--language-ids {text!r} given; it is two ids, source and target: 2,3")
    return int(parts[0]), int(parts[1])
