"""``isoglot filter``, ``isoglot mine`` and ``isoglot align-sentences``."""

from __future__ import annotations

from typing import Annotated

import typer

from isoglot.cli.alignment import Bitext, BitextReading
from isoglot.cli.console import Console
from isoglot.cli.flags import ResumeFlags, RunFlags, SideLanguages, with_flags
from isoglot.core.options import Options, OutputFile, OutputText, option
from isoglot.mining.options import FilterRequest, MineRequest, SentenceAlignRequest

PairsOut = Annotated[
    str, typer.Option("--out", "-o", help="File to write: .tsv, .csv, .jsonl or .tmx, also .gz; - for TSV.")
]


class FilterOutputs(Options):
    """Flags for the files that `isoglot filter` writes beside the kept pairs."""

    dropped: OutputText | None = option(
        None,
        "Write dropped pairs with every reason, line number and scores here: .tsv, .csv, .jsonl, also .gz; "
        ".tmx of a translation memory.",
    )
    report: OutputFile | None = option(None, "Write counts and histograms here, as JSON.")


@with_flags
def filter_(
    inputs: Bitext,
    request: FilterRequest,
    sides: BitextReading,
    outputs: FilterOutputs,
    running: RunFlags,
    stopped: ResumeFlags,
    out: Annotated[
        list[str],
        typer.Option(
            "--out",
            "-o",
            help="Kept pairs: .tsv, .csv, .jsonl or .tmx, also .gz; - for TSV; twice for a file per side.",
        ),
    ] = ["-"],  # noqa: B006 - never changed
) -> None:
    """Drop sentence pairs that are not translations.

    The rules of `isoglot prepare` come first. Pairs that pass are scored: by word links of the aligner that comes with
    isoglot, and with --model by sentence vectors. Without thresholds the histograms show what each would leave:

    isoglot filter en.txt de.txt --model box --out scored.tsv --report report.json

    isoglot filter en.txt de.txt --model ENCODER --min-margin 1.02 --min-alignment 0.5 --out kept.en --out kept.de
    """
    from isoglot.corpus.open_corpus import open_corpus
    from isoglot.mining.filter_pairs import filter_files

    corpus = open_corpus(inputs, "bitext", languages=sides.tags_or_unnamed, **sides.reading)
    with Console(quiet=running.quiet) as console:
        report = filter_files(
            corpus,
            out,
            request,
            dropped=outputs.dropped,
            report=outputs.report,
            progress=console,
            resume=stopped.resume,
        )
        for name, histogram in report.histograms.items():
            console.note(histogram.text(name))
        summary = f"{report.kept:,} of {report.read:,} pairs kept"
        if report.dropped:
            reasons = [f"{name} {count:,}" for name, count in report.dropped.most_common()]
            summary += f"; dropped: {', '.join(reasons)}"
        console.note(summary)


@with_flags
def mine(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help='Sentences of one language: lines, .jsonl with {"text": "..."}, or .tmx; - for standard input.',
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Sentences of the other language.")],
    languages: SideLanguages,
    request: MineRequest,
    running: RunFlags,
    stopped: ResumeFlags,
    out: PairsOut = "-",
) -> None:
    """Find sentences that translate each other in two files.

    The two files need no order. A table shows how many pairs each minimum score would keep:

    isoglot mine news.de news.en --out mined.tsv

    With another encoder, and only pairs whose sentences are each other's best match:

    isoglot mine news.de news.en --model ENCODER --retrieval intersection --min-score 1.06 --out mined.tsv

    Every sentence is compared with every sentence of the other file. A pair's score is the cosine of its vectors,
    divided by the mean cosine of both sentences with their nearest neighbours (ratio margin): above 1 the pair is
    closer than its neighbours. Repeated lines count once.
    """
    from isoglot.mining.mine import mine_files

    with Console(quiet=running.quiet) as console:
        report = mine_files(
            (source, target),
            out,
            request,
            languages=languages.tags,
            progress=console,
            resume=stopped.resume,
        )
        if report.pairs:
            console.note(report.histogram.text(request.similarity))
        sizes = " and ".join(f"{count:,}" for count in report.sentences)
        place = "" if out == "-" else f": {out}"
        console.note(f"{report.pairs:,} pairs of {sizes} different sentences{place}")


@with_flags
def align_sentences(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help='A document: a sentence per line, .jsonl with {"text": "..."}, or .tmx; - for standard input.',
        ),
    ],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Translation of the document.")],
    languages: SideLanguages,
    request: SentenceAlignRequest,
    running: RunFlags,
    out: PairsOut = "-",
) -> None:
    """Match the sentences of a document and its translation.

    Both documents have the same order, and a line for each sentence:

    isoglot align-sentences book.de book.en --out book.tsv

    Each row of the output is a group of lines that translate each other: one and one, one and two, up to --max-size
    lines together, or a line without translation. Blank lines separate paragraphs or whole documents; both sides need
    the same number of them.
    """
    from isoglot.mining.align_sentences import align_sentence_files

    with Console(quiet=running.quiet) as console:
        counts = align_sentence_files(
            (source, target), out, request, languages=languages.tags, progress=console
        )
        # Groups by how many lines of each side they have, the most frequent sizes first: 1-1: 40, 1-2: 3.
        most_frequent = sorted(counts.items(), key=lambda item: -item[1])
        sizes = ", ".join(f"{size}: {count:,}" for size, count in most_frequent)
        place = "" if out == "-" else f": {out}"
        console.note(f"{sum(counts.values()):,} groups ({sizes}){place}")
