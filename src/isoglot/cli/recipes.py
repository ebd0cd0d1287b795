"""``isoglot recipes``: the recipes that come with isoglot."""

from __future__ import annotations

import typer

__all__ = ["recipes", "register"]


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(recipes)


def recipes(
    name: str | None = typer.Argument(None, metavar="[NAME]", help="Print this recipe instead of the list."),
) -> None:
    """List the recipes that come with isoglot, or print one.

    Save one under a name of your own and change it: [bold]isoglot recipes tlm > mine.yaml[/bold]
    """
    from isoglot.recipe.load import builtin_recipes, find

    if name is not None:
        typer.echo(find(name).read_text(encoding="utf-8"), nl=False)
        return
    known = builtin_recipes()
    width = max(map(len, known), default=0)
    for key, path in known.items():
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        typer.echo(f"{key:{width}}  {first.removeprefix('#').strip()}")
