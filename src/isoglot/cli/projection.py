"""``isoglot project``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from isoglot.aligners.options import Eflomal, Encoder, FastAlign, Hmm, SavedModel
from isoglot.cli.alignment import Method, MethodSettings
from isoglot.cli.console import Console
from isoglot.cli.flags import RunFlags, with_flags
from isoglot.projection.options import ProjectOptions, ReadyLinks, project_request


@with_flags
def project(
    *,
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="CoNLL-U or other tagged words, SQuAD's JSON, JSON lines with offsets, or lines with inline tags.",
        ),
    ],
    translation: Annotated[
        str,
        typer.Argument(
            metavar="TRANSLATION",
            help="Its translation: line i of sentence i; of questions JSON with the same ids.",
        ),
    ],
    reading: ProjectOptions,
    given: Annotated[dict[str, Any], Method, ReadyLinks, FastAlign, Hmm, SavedModel, Eflomal, Encoder],
    more: MethodSettings,
    running: RunFlags,
    out: Annotated[
        str, typer.Option("--out", "-o", help="File to write; .jsonl for questions and offsets.")
    ] = "-",
) -> None:
    """Transfer labels to a translation along word links.

    What is written is training data for `isoglot finetune`: translate-train for tagging and questions. A word takes the
    tag that most of its links carry; a span stays in one piece; words without a link stay unlabelled.

    isoglot project en.conllu de.txt --target-lang de -o de.tsv

    isoglot project en.ner.tsv de.txt --kind ner --target-lang de -o de.tsv

    isoglot project squad.en.json squad.de.json --target-lang de -o de.jsonl

    With existing links, or another aligner:

    isoglot project en.conllu de.txt --links en-de.pharaoh -o de.tsv

    isoglot project en.conllu de.txt --method hmm --train-on en-de.tsv -o de.tsv
    """
    from isoglot.projection.project import project as run

    options = {name: getattr(reading, name) for name in reading.model_fields_set}
    request = project_request(labels, **more.beside(given), **options)
    with Console(quiet=running.quiet) as console:
        console.note(run(labels, translation, out, request, progress=console).summary())
