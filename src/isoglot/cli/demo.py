"""``isoglot demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isoglot.cli.flags import with_flags
from isoglot.cli.running import Reporting
from isoglot.options import Options, option

if TYPE_CHECKING:
    from isoglot.studies.demo import Demo

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


class DemoOptions(Options):
    """Size and place of the demo."""

    out: Path = option(Path("runs/demo"), "Folder to write; nothing is done twice.", flags=["--out", "-o"])
    steps: int | None = option(None, "Optimiser steps of each pre-training; by default 800.", ge=1)
    seed: int = option(1, "Seed of the generated text and of all runs.", ge=0)
    workers: int | None = option(
        None, "Processes of one thread each; by default one per core, four at most.", ge=1
    )
    settings: dict[str, Any] = option(
        {}, "Change a size: --set alpha=1; repeatable.", flags=["--set"], metavar="SIZE=VALUE"
    )


@with_flags
def demo(options: DemoOptions, running: Reporting) -> None:
    """Train four objectives from scratch and compare what transfers.

    MLM, XLM, DICT-MLM and ALIGN-MLM are trained, measured and written up in a report. Offline and without any data:
    under five minutes on two cores.
    """
    from isoglot.cli.console import Console
    from isoglot.studies.demo import run_demo

    changes: dict[str, Any] = {"seeds": [options.seed], "world_seed": options.seed}
    if options.steps is not None:
        changes |= {"steps": options.steps, "warmup": options.steps // 10}
    changes |= options.settings
    with Console(quiet=running.quiet) as console:
        console.note(_STORY)
        result = run_demo(options.out, changes=changes, workers=options.workers, progress=console)
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
