"""``isoglot analyse``: what happened inside an encoder, as figures and results for the report."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from isoglot.analysis.options import (
    AlignmentRequest,
    AlignmentsRequest,
    CorpusFiles,
    CorrelationRequest,
    GeometryRequest,
    LayersRequest,
    MapRequest,
    SimilarityRequest,
)
from isoglot.cli.console import Console, print_table, printed_at_end
from isoglot.cli.flags import RunFlags, SideLanguages, with_flags
from isoglot.cli.help import add_commands
from isoglot.cli.tasks import Checkpoints
from isoglot.core.options import Label, Options, option

Results = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RESULTS",
        help="Files of results, or folders: rows of `analyse alignment` and of transfers.",
    ),
]
Request = TypeVar("Request", bound=Options)


class CorpusReading(CorpusFiles, SideLanguages):
    """Flags for how a corpus of raw files is read, and for its languages; a prepared folder needs none of them."""


class FigureFlags(RunFlags):
    """Flags for where the figures of an analysis go and for the names in them, beside ``--quiet``."""

    out: Path = option(
        ...,
        "A run's folder, or any other; figures go to OUT/figures.",
        flags=["--out", "-o"],
    )
    labels: tuple[Label, ...] = option(
        (),
        "Name of a checkpoint in legends, once for each; by default the run's name.",
        flags=["--labels", "--label", "-l"],
        metavar="NAME",
    )


class RowFlags(FigureFlags):
    """Flags of the analysis that writes rows of results and no figures."""

    out: Path = option(
        ...,
        "A run's folder, or any other; rows go to OUT/results.jsonl.",
        flags=["--out", "-o"],
    )


@with_flags
def alignment(
    checkpoints: Checkpoints, request: AlignmentRequest, sides: CorpusReading, output: RowFlags
) -> None:
    """Score how often translations are nearest embeddings.

    ALIGN-MLM's alignment score, in % of the vocabulary: how often is a token's nearest input embedding in the other
    language its translation? The recipe's tokenizer is a vocabulary that `isoglot derive` doubled, or --lexicon gives a
    dictionary of natural languages. If training had a dictionary, its entries (alignment_trained) and all others
    (alignment_held_out) are also scored separately.

    isoglot analyse alignment runs/align_mlm --out runs/align_mlm

    isoglot analyse alignment runs/tlm --lexicon muse.en-de.txt --source-lang en --target-lang de --out runs/tlm
    """
    from isoglot.analysis.analyse import Job, analyse_alignment

    with printed_at_end() as measured, Console(quiet=output.quiet) as console:
        job = Job(checkpoints, out=output.out, labels=output.labels, progress=console)
        analyse_alignment(job, _with_corpus_reading(request, sides), on_measured=measured.adder(output.out))


@with_flags
def correlation(
    request: CorrelationRequest,
    running: RunFlags,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; figures go to OUT/figures.")],
    results: Results = None,
) -> None:
    """Correlate alignment with transfer (ALIGN-MLM, Fig. 3).

    Spearman's correlation of alignment scores with −Δ; Δ = supervised minus zero-shot, as `isoglot transfer` and
    studies write it. --with-paper needs no run.

    isoglot analyse correlation runs --out figures

    isoglot analyse correlation --with-paper --out figures
    """
    from isoglot.analysis.analyse_correlation import analyse_correlation

    with Console(quiet=running.quiet):
        correlations = analyse_correlation(results or [], request, out=out)
    rows = []
    for task, groups in correlations.items():
        for group, value in groups.items():
            rows.append((task, group, "too few points" if value is None else str(value)))
    print_table(("task", "points", "Spearman"), rows)


@with_flags
def map_(checkpoints: Checkpoints, request: MapRequest, sides: CorpusReading, output: FigureFlags) -> None:
    """Map frequent words and their translations (WEAM, Fig. 2).

    One panel per checkpoint. The corpus has word links: a folder that `isoglot align --format corpus` wrote.

    isoglot analyse map mbert runs/weam --corpus corpora/en-de.aligned -l before -l after --out runs/weam
    """
    from isoglot.analysis.analyse_map import analyse_map

    _draw(analyse_map, checkpoints, _with_corpus_reading(request, sides), output)


@with_flags
def layers(checkpoints: Checkpoints, request: LayersRequest, output: FigureFlags) -> None:
    """Plot alignment error rate by layer (XLM-Align, Fig. 2).

    Each sentence is encoded once for all layers. Several gold files give one figure each, and one of their mean.

    isoglot analyse layers xlm-roberta-base runs/xlm_align --gold de-en.jsonl -m itermax -m ot --out runs/xlm_align
    """
    from isoglot.analysis.analyse_links import analyse_layers

    _draw(analyse_layers, checkpoints, request, output)


@with_flags
def similarity(
    checkpoints: Checkpoints, request: SimilarityRequest, sides: CorpusReading, output: FigureFlags
) -> None:
    """Plot how alike two languages are, layer by layer.

    cka: linear centred kernel alignment of sentences and their translations. neighbours: share of a sentence's nearest
    neighbours in its own language that are those of its translation. retrieval: how often the translation is the
    nearest sentence.

    isoglot analyse similarity runs/mlm runs/tlm --corpus dev.en --corpus dev.de --out figures
    """
    from isoglot.analysis.analyse_vectors import analyse_similarity

    _draw(analyse_similarity, checkpoints, _with_corpus_reading(request, sides), output)


@with_flags
def geometry(
    checkpoints: Checkpoints, request: GeometryRequest, sides: CorpusReading, output: FigureFlags
) -> None:
    """Plot the shape of the embedding space, layer by layer.

    anisotropy: mean cosine of two vectors. variance: share of the first principal component. hubness: skewness of how
    often a vector is among the neighbours of the other language's; anti-hubs: vectors that never are.

    isoglot analyse geometry runs/mlm runs/tlm --corpus data/en-de --out figures
    """
    from isoglot.analysis.analyse_vectors import analyse_geometry

    _draw(analyse_geometry, checkpoints, _with_corpus_reading(request, sides), output)


@with_flags
def alignments(checkpoints: Checkpoints, request: AlignmentsRequest, output: FigureFlags) -> None:
    """Save word alignments for the report to show.

    The report shows each sentence pair with right, wrong and missed links.

    isoglot analyse alignments runs/xlm_align --gold de-en.jsonl --out runs/xlm_align
    """
    from isoglot.analysis.analyse_links import analyse_alignments

    _draw(analyse_alignments, checkpoints, request, output)


def _with_corpus_reading(request: Request, sides: CorpusReading) -> Request:
    """Add the languages of a raw corpus, and how it is read, to a request."""
    return request.model_copy(update={"languages": sides.tags, "reading": sides.reading})


def _draw(
    analyse: Callable[..., list[Path]], checkpoints: list[str], request: Options, output: FigureFlags
) -> None:
    """Run an analysis that writes figures, and name them."""
    from isoglot.analysis.analyse import Job

    with Console(quiet=output.quiet) as console:
        job = Job(checkpoints, out=output.out, labels=output.labels, progress=console)
        for path in analyse(job, request):
            console.note(f"wrote {path}")


analyse = typer.Typer(
    name="analyse",
    no_args_is_help=True,
    help="Draw how close two languages are inside an encoder.\n\n"
    "The figures also appear in a report: isoglot report OUT --out report.html",
)
add_commands(analyse, (alignment, correlation, map_, layers, similarity, geometry, alignments))
