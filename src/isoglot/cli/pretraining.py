"""``isoglot pretrain`` and ``isoglot inspect``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from isoglot.cli.flags import with_flags
from isoglot.cli.running import Reporting, Running
from isoglot.options import Options, option


class Chosen(Options):
    """Changes of a recipe."""

    overrides: tuple[str, ...] = option(
        (),
        "Replace a value of the recipe: --set train.learning_rate=5e-5; repeatable.",
        flags=["--set"],
        metavar="KEY=VALUE",
    )


class Shown(Options):
    """Positions of a run to show."""

    count: int = option(2, "Number of positions to show.", flags=["--count", "-n"], ge=1)
    start: int = option(0, "First position to show.", ge=0)


_Recipe = Annotated[
    str, typer.Argument(metavar="RECIPE", help="YAML file, or name of a recipe that `isoglot recipes` lists.")
]


@with_flags
def pretrain(
    recipe: _Recipe,
    chosen: Chosen,
    running: Running,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run; needed unless --check is given.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the unfinished run in the folder.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the recipe and print every value that it will use.")
    ] = False,
) -> None:
    """Train an encoder by a recipe.

    On your own bitext (English, tab, German), from multilingual BERT:

    isoglot pretrain tlm --set streams.bitext.path=en-de.tsv --out runs/tlm

    Raw files that the recipe names are prepared, tokenised and cached on the way. The checkpoint is written to
    OUT/checkpoint; plain transformers loads it. A finished run is not run again.

    Look before you train: `isoglot pretrain tlm --check` prints every value, `isoglot inspect tlm` what the model will
    see, and `isoglot recipes --objectives --views` what a recipe can be made of.

    With several devices: torchrun --nproc-per-node 2 -m isoglot.cli pretrain RECIPE --out DIR
    """
    from isoglot.cli.console import Console
    from isoglot.pretraining.check import explicit, load_recipe

    loaded = load_recipe(recipe, chosen.overrides)
    if check:
        from isoglot.recipe.document import dump_yaml

        typer.echo(dump_yaml(explicit(loaded)), nl=False)
        return
    if out is None:
        raise typer.BadParameter("a folder for the run is needed; add --out runs/NAME", param_hint="--out")
    from isoglot.pretraining.pretrain import pretrain as run

    with Console(quiet=running.quiet) as console:
        checkpoint = run(loaded, out, resume=resume, progress=console)
    if os.environ.get("RANK", "0") == "0":  # the other ranks of torchrun have the same to say
        typer.echo(str(checkpoint))


@with_flags
def inspect(recipe: _Recipe, chosen: Chosen, shown: Shown, running: Reporting) -> None:
    """Print what a recipe trains on: pieces, masks, labels, links.

    One table per view and position, exactly as training sees them. `input` is what the encoder gets (= where it is the
    piece itself), `predict` what it has to predict there, and `links` the positions of the translations. A table has
    only the columns that the view makes: without `position` the model counts through the sequence, without `language`
    it gets no language ids.
    """
    from isoglot.cli.console import Console, print_table
    from isoglot.pretraining.check import load_recipe
    from isoglot.pretraining.inspect import inspect_recipe, table

    loaded = load_recipe(recipe, chosen.overrides)
    with Console(quiet=running.quiet) as console:
        instances = inspect_recipe(loaded, positions=shown.count, start=shown.start, progress=console)
    for number, instance in enumerate(instances):
        if number:
            typer.echo()
        typer.echo(
            f"position {instance.position}, view {instance.view} ({instance.type}) of stream {instance.stream}: "
            f"{len(instance.rows)} pieces, {instance.masked} to predict"
        )
        print_table(*table(instance))
