"""``isoglot world``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.flags import with_flags
from isoglot.cli.running import Replacing
from isoglot.synthetic.options import WorldRequest


@with_flags
def world(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")],
    request: WorldRequest,
    running: Replacing,
) -> None:
    """Write a miniature world with data for every task.

    English-like, labelled, offline, from a seed: plain text, a treebank, names (WikiANN), inference (XNLI), paraphrases
    (PAWS-X), questions (SQuAD), and trees for `isoglot derive --transform syn`. Train, dev and test share no sentence.

    isoglot world --seed 1 --text 50000 --out data/world
    """
    from isoglot.cli.console import Console
    from isoglot.synthetic.write_world import write_world

    with Console(quiet=running.quiet) as console:
        summary = write_world(out, request, overwrite=running.overwrite, progress=console)
        if summary.skipped:
            console.note(f"nothing to do: {out} holds this world already")
            return
        for name, rows in summary.files.items():
            console.note(f"{out / name}: {rows:,} rows")
        console.note(f"{out}: {sum(summary.files.values()):,} rows, {summary.seconds:.1f} s")
