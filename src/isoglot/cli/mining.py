"""``isoglot filter``, ``isoglot mine`` and ``isoglot align-sentences``."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from isoglot.cli.console import Console
from isoglot.cli.flags import Running, with_flags
from isoglot.mining.options import MineOptions, RequiredEncoder


@with_flags
def mine(
    source: Annotated[
        str, typer.Argument(help="Sentences of one language, one per line; - for standard input.")
    ],
    target: Annotated[str, typer.Argument(help="Sentences of the other language.")],
    vectors: RequiredEncoder,
    options: MineOptions,
    running: Running,
    out: Annotated[
        str,
        typer.Option("--out", "-o", help="File to write: .tsv, .jsonl or .tmx, .gz is packed; - for TSV."),
    ] = "-",
) -> None:
    """Find translations among the sentences of two files.

    Every sentence is compared with all of the other file. A pair's score is the cosine of its vectors, divided by the
    mean cosine of both sentences with their nearest ones (ratio margin): above 1 a pair is nearer than its neighbours.
    Repeated lines count once. The table shows how many pairs a threshold leaves:

    isoglot mine news.de news.en --model intfloat/multilingual-e5-small --layer 8 --out mined.tsv

    isoglot mine news.de news.en --model ENCODER --retrieval intersection --min-score 1.06 --out mined.tsv
    """
    from isoglot.mining.mine import mine_files
    from isoglot.mining.vectors import sentence_encoder

    with Console(quiet=running.quiet) as console:
        encoder = partial(sentence_encoder, vectors.model, vectors)
        report = mine_files((source, target), out, encoder, options, progress=console)
        if report.pairs:
            console.note(report.histogram.text(options.similarity))
        sizes = " and ".join(f"{count:,}" for count in report.sentences)
        console.note(
            f"{report.pairs:,} pairs of {sizes} different sentences{'' if out == '-' else f': {out}'}"
        )
