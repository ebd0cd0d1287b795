"""``isoglot recipes``: the recipes that come with isoglot."""

from __future__ import annotations

import typer


def recipes(
    name: str | None = typer.Argument(None, metavar="[NAME]", help="Print this recipe instead of the list."),
    objectives: bool = typer.Option(False, "--objectives", help="List the objectives and their options."),
    views: bool = typer.Option(False, "--views", help="List the views and their options."),
) -> None:
    """List the recipes that come with isoglot, or print one.

    --objectives and --views list what a recipe can be made of.

    Save one under a name of your own and change it:

    isoglot recipes tlm > mine.yaml
    """
    if objectives or views:
        from isoglot.cli.option_list import constructor_list

        wanted = [section for section, asked in (("views", views), ("objectives", objectives)) if asked]
        typer.echo("\n\n".join(constructor_list(section) for section in wanted))
        return
    from isoglot.recipe.source import builtin_recipes, find

    if name is not None:
        typer.echo(find(name).read_text(encoding="utf-8"), nl=False)
        return
    known = builtin_recipes()
    width = max(map(len, known), default=0)
    for key, path in known.items():
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        typer.echo(f"{key:{width}}  {first.removeprefix('#').strip()}")
