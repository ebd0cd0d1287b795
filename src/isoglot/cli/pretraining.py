"""``isoglot pretrain`` and ``isoglot inspect``."""

from __future__ import annotations

import os
from pathlib import Path

import typer

__all__ = ["inspect", "pretrain", "register"]

_RECIPE = typer.Argument(
    ...,
    metavar="RECIPE",
    help="A YAML file, or the name of a recipe that comes with isoglot (see `isoglot recipes`).",
)
_SET = typer.Option(
    None,
    "--set",
    metavar="KEY=VALUE",
    help="Replace one value of the recipe, for example --set train.learning_rate=5e-5. Can be given several times.",
)


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(pretrain)
    app.command()(inspect)


def pretrain(
    recipe: str = _RECIPE,
    out: Path = typer.Option(
        None,
        "--out",
        "-o",
        help="Folder of the run; a new one, or with --resume an unfinished one. Needed unless --check.",
        show_default=False,
    ),
    overrides: list[str] = _SET,
    resume: bool = typer.Option(
        False, "--resume", help="Go on from the last whole checkpoint in the folder."
    ),
    check: bool = typer.Option(
        False, "--check", help="Only check the recipe and print every value that it will use."
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors."),
) -> None:
    """Train an encoder by a recipe: raw text or bitext in, a plain Hugging Face checkpoint out.

    For example, on your own bitext (English, tab, German), from multilingual BERT:

    [bold]isoglot pretrain tlm --set streams.bitext.path=en-de.tsv --out runs/tlm[/bold]

    Raw files that the recipe names are prepared, tokenised and cached on the way. The checkpoint is written to
    [bold]OUT/checkpoint[/bold]; plain transformers loads it. A finished run is not run again.

    Look before you train: [bold]isoglot pretrain tlm --check[/bold] prints every value,
    [bold]isoglot inspect tlm[/bold] what the model will see, and [bold]isoglot recipes --objectives --views[/bold]
    what a recipe can be made of.

    Several devices: [bold]torchrun --nproc-per-node 2 -m isoglot.cli pretrain RECIPE --out DIR[/bold]
    """
    from isoglot.cli.console import Console
    from isoglot.pretraining.check import explicit, load_recipe

    loaded = load_recipe(recipe, overrides or ())
    if check:
        from isoglot.recipe.source import dump_yaml

        typer.echo(dump_yaml(explicit(loaded)), nl=False)
        return
    if out is None:
        raise typer.BadParameter("a folder for the run is needed; add --out runs/NAME", param_hint="--out")
    from isoglot.pretraining.pretrain import pretrain as run

    with Console(quiet=quiet) as console:
        checkpoint = run(loaded, out, resume=resume, progress=None if quiet else console)
    if os.environ.get("RANK", "0") == "0":  # the other ranks of torchrun have the same to say
        typer.echo(str(checkpoint))


def inspect(
    recipe: str = _RECIPE,
    overrides: list[str] = _SET,
    count: int = typer.Option(2, "--count", "-n", min=1, help="How many positions of the run to show."),
    start: int = typer.Option(0, "--start", min=0, help="The first position to show."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but the tables and errors."),
) -> None:
    """Print what a recipe trains on: pieces, masks, labels, positions, segment and language ids, links.

    One table for each view and position, exactly as training will see them. [bold]input[/bold] is what the encoder
    gets (= where it is the piece itself), [bold]predict[/bold] what it has to say there; [bold]links[/bold] are the
    positions of the translations. A column that is missing is one that the view does not make: without
    [bold]position[/bold] the model counts on through the sequence, without [bold]language[/bold] it is not told one.
    """
    from isoglot.cli.console import Console, print_table
    from isoglot.pretraining.check import load_recipe
    from isoglot.pretraining.inspect import inspect_recipe, table

    loaded = load_recipe(recipe, overrides or ())
    with Console(quiet=quiet) as console:
        instances = inspect_recipe(loaded, positions=count, start=start, progress=console)
    for number, instance in enumerate(instances):
        if number:
            typer.echo()
        typer.echo(
            f"position {instance.position}, view {instance.view} ({instance.type}) of stream {instance.stream}: "
            f"{len(instance.rows)} pieces, {instance.masked} to predict"
        )
        print_table(*table(instance))
