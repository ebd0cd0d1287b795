"""``isoglot project``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from isoglot.aligners.options import Eflomal, Encoder, FastAlign, Hmm, SavedModel
from isoglot.cli.alignment import Method, MethodSettings
from isoglot.cli.console import Console
from isoglot.cli.flags import ResumeFlags, RunFlags, with_flags
from isoglot.projection.options import ProjectOptions, ReadyLinks


@with_flags
def project(
    *,
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="CoNLL-U or other tagged words, SQuAD's JSON, JSON lines with offsets, lines with inline tags, TMX.",
        ),
    ],
    translation: Annotated[
        str | None,
        typer.Argument(
            metavar="TRANSLATION",
            help="Translation of the labelled text: line i translates sentence i. For questions, JSON with the same "
            "ids. Leave it out for TMX, which has both.",
        ),
    ] = None,
    options: Annotated[
        dict[str, Any],
        ProjectOptions,
        Method,
        ReadyLinks,
        FastAlign,
        Hmm,
        SavedModel,
        Eflomal,
        Encoder,
        MethodSettings,
    ],
    running: RunFlags,
    stopped: ResumeFlags,
    out: Annotated[
        str, typer.Option("--out", "-o", help="File to write; .jsonl for questions and offsets.")
    ] = "-",
) -> None:
    """Carry labels to a translation, to train in its language.

    You have labelled sentences and their translation; this writes the translation with labels, which `isoglot
    finetune` trains on. A word takes the tag that most of its links carry, a name stays in one piece, and words without
    a link stay unlabelled. Parts of speech, names, questions and answers:

    isoglot project en.conllu de.txt --target-lang de -o de.tsv

    isoglot project en.ner.tsv de.txt --kind ner --target-lang de -o de.tsv

    isoglot project squad.en.json squad.de.json --target-lang de -o de.jsonl

    Inline tags (such as <b>) of a translation memory:

    isoglot project memory.tmx -o tagged.tmx

    With existing links, or another aligner:

    isoglot project en.conllu de.txt --links en-de.pharaoh -o de.tsv

    isoglot project en.conllu de.txt --method hmm --train-on en-de.tsv -o de.tsv
    """
    from isoglot.projection.project import project as run

    with Console(quiet=running.quiet) as console:
        counts = run(labels, translation, out, progress=console, resume=stopped.resume, **options)
        console.note(counts.summary())
