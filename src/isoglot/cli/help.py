"""Help texts: two columns under the headings that the option models name, at any terminal width."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import typer
from typer.core import TyperCommand

__all__ = ["GroupedCommand", "add_commands", "help_text", "name_of"]


class GroupedCommand(TyperCommand):
    """A command whose `--help` lists its flags by group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments first, then the flags of each group in the order of their first flag."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                own = "Arguments" if parameter.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or own, []).append(record)
        for heading, rows in ((heading, rows) for heading, rows in groups.items() if rows):
            with formatter.section(heading):
                formatter.write_dl(rows)


def help_text(command: Callable[..., Any]) -> str:
    """A docstring as help: paragraphs refilled, example commands (``isoglot ...``) left as they are."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        f"\b\n{text}" if text.lstrip().startswith("isoglot ") else " ".join(text.split())
        for text in paragraphs
    )


def name_of(command: Callable[..., Any] | typer.Typer) -> str:
    """Name of a command or a group: ``fit_order`` is ``fit-order``."""
    if isinstance(command, typer.Typer):
        return str(command.info.name)
    return command.__name__.strip("_").replace("_", "-")


def add_commands(app: typer.Typer, commands: Iterable[Callable[..., Any] | typer.Typer]) -> None:
    """Add commands and groups to an app."""
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command)
        else:
            app.command(name_of(command), cls=GroupedCommand, help=help_text(command))(command)
