"""``isoglot world``."""

from __future__ import annotations

from pathlib import Path

import typer

__all__ = ["world"]

_ROWS, _WORDS = "How much (0: none)", "What it is like"


def world(  # noqa: PLR0917 - one parameter a flag
    out: Path = typer.Option(..., "--out", "-o", help="Folder to write."),
    seed: int = typer.Option(0, help="Seed of the world and of everything drawn from it."),
    text: int = typer.Option(20_000, min=0, help="Lines of text to train on.", rich_help_panel=_ROWS),
    pos: int = typer.Option(4_000, min=0, help="Trees to train on.", rich_help_panel=_ROWS),
    ner: int = typer.Option(4_000, min=0, help="Sentences with names to train on.", rich_help_panel=_ROWS),
    nli: int = typer.Option(12_000, min=0, help="Inference pairs to train on.", rich_help_panel=_ROWS),
    paws: int = typer.Option(8_000, min=0, help="Paraphrase pairs to train on.", rich_help_panel=_ROWS),
    qa: int = typer.Option(4_000, min=0, help="Questions to train on.", rich_help_panel=_ROWS),
    dev: int = typer.Option(500, min=0, help="Development rows of each.", rich_help_panel=_ROWS),
    test: int = typer.Option(1_000, min=0, help="Test rows of each.", rich_help_panel=_ROWS),
    size: int | None = typer.Option(None, help="Lexemes, at least 200; else all.", rich_help_panel=_WORDS),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a world that was made otherwise."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Write a miniature world with data for every task.

    English-like, labelled, offline, from a seed: plain text, a treebank, names (WikiANN), inference (XNLI), paraphrases
    (PAWS-X), questions (SQuAD), and trees for `isoglot derive --transform syn`. Train, dev and test share no sentence.

    isoglot world --seed 1 --text 50000 --out data/world
    """
    from isoglot.cli.console import Console
    from isoglot.synthetic.write_world import WorldRequest, write_world

    request = WorldRequest(
        seed=seed, size=size, text=text, pos=pos, ner=ner, nli=nli, paws=paws, qa=qa, dev=dev, test=test
    )
    with Console(quiet=quiet) as console:
        summary = write_world(out, request, overwrite=overwrite, progress=None if quiet else console)
        if summary.skipped:
            console.note(f"nothing to do: {out} holds this world already")
            return
        for name, rows in summary.files.items():
            console.note(f"{out / name}: {rows:,} rows")
        console.note(f"{out}: {sum(summary.files.values()):,} rows, {summary.seconds:.1f} s")
