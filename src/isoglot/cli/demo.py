"""``isoglot demo``."""

from __future__ import annotations

from pathlib import Path

import typer

__all__ = ["demo", "register"]


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(demo)


def demo(
    out: Path = typer.Option(
        Path("runs/demo"), "--out", "-o", help="Folder to write; nothing is done twice."
    ),
    pairs: int = typer.Option(12_000, min=100, help="Sentence pairs to train on."),
    steps: int | None = typer.Option(
        None, min=1, help="Optimiser steps of each run, instead of the recipes'."
    ),
    seed: int = typer.Option(1, help="Of the generated text and of the runs."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but the result and errors."),
) -> None:
    """Train MLM and TLM from scratch on generated English and a derived language, and compare them.

    Offline and without any data: a few minutes on two cores.
    """
    from isoglot.cli.console import Console, print_table
    from isoglot.pipeline.demo import run_demo

    with Console(quiet=quiet) as console:
        result = run_demo(out, pairs=pairs, steps=steps, seed=seed, progress=None if quiet else console)
    english, derived = result.example
    typer.echo(f"English:  {english}\nderived:  {derived}\n")
    print_table(
        [
            "training",
            "masked words, beside the translation",
            "beside another sentence",
            "alignment error (layer)",
        ],
        [
            [r.name, f"{r.translated:.1f} %", f"{r.shuffled:.1f} %", f"{r.aer:.1f} % ({r.layer})"]
            for r in result.rows
        ],
    )
    typer.echo(
        "\nMLM saw the same sentences as TLM, but never a pair: only TLM can tell a masked word from its "
        f"translation.\nwritten: {result.out}"
    )
