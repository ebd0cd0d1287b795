"""``isoglot derive``, ``isoglot fit-order`` and ``isoglot world``."""

import time
from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.console import Console
from isoglot.cli.flags import RemakeFlags, ReplaceFlags, with_flags
from isoglot.core.options import option
from isoglot.derivation.options import DeriveRequest, OrderFitRequest
from isoglot.formats.sources import READING, LinkReading, Reading
from isoglot.synthetic.options import WorldRequest


class DeriveReading(LinkReading):
    """Flags for the languages and the format of the input."""

    language: str | None = option(
        None,
        "Language of the input: en.",
        flags=["--lang", "--language", "--source-lang", "--source-language"],
    )
    target_language: str | None = option(
        None, "Language of the target side of a bitext.", flags=["--target-lang", "--target-language"]
    )
    format: str | None = option(
        None,
        "Format of a corpus, as for `isoglot prepare`.",
        flags=["--format", "--input-format"],
        group=READING,
    )


@with_flags
def derive(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Text, CoNLL-U, JSONL, WikiANN, NLI or SQuAD file, a bitext (one or two files), or a folder that "
            "`isoglot prepare` wrote.",
        ),
    ],
    request: DeriveRequest,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    reading: DeriveReading,
    running: RemakeFlags,
) -> None:
    """Make a new language by changing script or word order only.

    For experiments in which two languages differ in one thing alone. Other letters (trans) and each sentence backwards
    (inv):

    isoglot derive wiki.txt --transform trans+inv --split-sentences --lang en --out data/derived

    English words in the order of French nouns and verbs (syn):

    isoglot derive en_ewt.conllu --transform syn --syntax en~fr@N~fr@V --models galactic --lang en --out data/syn

    Labels, trees and answers follow their words. The folder also gets each sentence beside its original with gold word
    links, the gold dictionary, and with --tokenizer the tokenizer of both languages.
    """
    from isoglot.derivation.derive_corpus import derive_corpus
    from isoglot.derivation.idle_options import require_used

    languages = tuple(tag for tag in (reading.language, reading.target_language) if tag)
    require_used(request, reading, inputs[0], languages)
    source = reading.model_dump(include=set(Reading.model_fields), exclude_defaults=True)
    request = request.model_copy(update={"languages": languages, "source": source})
    with Console(quiet=running.quiet) as console:
        began = time.monotonic()
        summary = derive_corpus(inputs, out, request, overwrite=running.overwrite, progress=console)
        if summary.skipped:
            console.note(f"nothing to do: {out} holds these {summary.rows:,} rows already")
            return
        for reason, count in summary.counts.items():
            if reason != "derived":
                console.note(f"left out: {reason}: {count:,}")
        console.note(
            f"{out}: {summary.rows:,} rows in {summary.language}, {summary.pairs:,} aligned pairs, "
            f"{summary.entries:,} lexicon entries, {time.monotonic() - began:.1f} s"
        )


@with_flags
def fit_order(
    treebank: Annotated[list[str], typer.Argument(metavar="TREEBANK", help="CoNLL-U files of one language.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for LANGUAGE@N.orm and LANGUAGE@V.orm.")],
    request: OrderFitRequest,
    running: ReplaceFlags,
) -> None:
    """Learn a language's word order, for `isoglot derive`.

    From any treebank of Universal Dependencies (sentences with their syntax trees):

    isoglot fit-order fr_gsd-ud-train.conllu --lang fr --out models
    """
    from isoglot.derivation.order_fit import fit_order_models

    with Console(quiet=running.quiet) as console:
        for path, fit in fit_order_models(treebank, out, request, overwrite=running.overwrite):
            console.note(
                f"{path}: {len(fit.model.weights):,} features from {fit.groups:,} groups, "
                f"{fit.bits_before:.2f} bits an order before and {fit.bits:.2f} after"
            )


@with_flags
def world(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    request: WorldRequest,
    running: ReplaceFlags,
) -> None:
    """Write generated text with labels for every task.

    isoglot world --seed 1 --text 50000 --out data/world

    English-like sentences about a small made-up world, made offline; the same seed gives the same files. Plain text, a
    treebank, names (as WikiANN has them), inference (XNLI), paraphrases (PAWS-X), questions (SQuAD), and trees for
    `isoglot derive --transform syn`. Training, development and test data share no sentence.
    """
    from isoglot.synthetic.write_world import write_world

    with Console(quiet=running.quiet) as console:
        began = time.monotonic()
        files, made_now = write_world(out, request, overwrite=running.overwrite, progress=console)
        if not made_now:
            console.note(f"nothing to do: {out} holds this world already")
            return
        for name, rows in files.items():
            console.note(f"{out / name}: {rows:,} rows")
        console.note(f"{out}: {sum(files.values()):,} rows, {time.monotonic() - began:.1f} s")
