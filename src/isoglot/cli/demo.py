"""``isoglot demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from isoglot.studies.demo import Demo

__all__ = ["demo", "register"]

_STORY = """\
Four ways to train an encoder on two languages that share no word and no word order: English of a small made-up
world, and its copy in other letters with each sentence's words reversed (ALIGN-MLM, Tang et al. 2022).
  MLM        masked words of either language's text
  XLM        the same, and of sentence pairs, with language embeddings
  DICT-MLM   half of the masked words replaced by their translations
  ALIGN-MLM  embeddings of translations pulled together
Each is given all there is, every pair and the whole dictionary: the paper's quarter
(--set dictionary=0.25 --set parallel=0.25) takes longer to spread to the rest. Each is fine-tuned on English
(zero-shot) and on the derived language (supervised), and tested on the derived one.
"""


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(demo)


def demo(
    out: Path = typer.Option(
        Path("runs/demo"), "--out", "-o", help="Folder to write; nothing is done twice."
    ),
    steps: int | None = typer.Option(None, min=1, help="Optimiser steps of each pre-training (default 800)."),
    seed: int = typer.Option(1, min=0, help="Seed of the generated text and of all runs."),
    workers: int | None = typer.Option(
        None, min=1, help="Processes of one thread each; by default one per core, four at most."
    ),
    settings: list[str] = typer.Option(
        None, "--set", metavar="SIZE=VALUE", help="Change a size, for example --set alpha=1."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Only print the result and errors."),
) -> None:
    """Train four objectives from scratch and compare what transfers.

    MLM, XLM, DICT-MLM and ALIGN-MLM are trained, measured and written up in a report. Offline and without any data:
    under five minutes on two cores.
    """
    from isoglot.cli.console import Console
    from isoglot.cli.study import sizes_of
    from isoglot.studies.demo import run_demo

    changes: dict[str, Any] = {"seeds": [seed], "world_seed": seed}
    if steps is not None:
        changes |= {"steps": steps, "warmup": steps // 10}
    changes |= sizes_of(settings or [])
    with Console(quiet=quiet) as console:
        console.note(_STORY)
        result = run_demo(out, changes=changes, workers=workers, progress=None if quiet else console)
    _print(result)


def _print(result: Demo) -> None:
    from isoglot.cli.console import print_table
    from isoglot.studies.demo import TASKS

    heading = ["objective", "alignment score"]
    heading += [f"{name} {what}" for name in TASKS.values() for what in ("supervised", "zero-shot", "Δ")]
    rows = []
    for row in result.rows:
        cells = [row.name, f"{row.alignment:.1f} %"]
        for task in TASKS:
            supervised, zero_shot = row.supervised[task], row.zero_shot[task]
            cells += [f"{supervised:.1f}", f"{zero_shot:.1f}", f"{supervised - zero_shot:.1f}"]
        rows.append(cells)
    english, derived = result.example
    typer.echo(f"English:  {english}\nderived:  {derived}\n")
    print_table(heading, rows)
    typer.echo(f"\n{result.headline}")
    if result.caution:
        typer.echo(result.caution)
    typer.echo(f"\n{result.page}")
