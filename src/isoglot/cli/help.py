"""Help texts: two columns under the headings that the option models name, at any terminal width."""

import inspect
import re
from collections.abc import Callable, Iterable
from textwrap import wrap
from typing import Any

import typer
from typer.core import TyperCommand

_WIDEST = 74  # columns of an example, between the margin and the backslash


class GroupedCommand(TyperCommand):
    """A command whose `--help` lists its flags by group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments first, then the flags of each group in the order of their first flag."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                default_group = "Arguments" if parameter.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or default_group, []).append(
                    record
                )
        for heading, rows in ((heading, rows) for heading, rows in groups.items() if rows):
            with formatter.section(heading):
                formatter.write_dl(rows)


def help_text(command: Callable[..., Any]) -> str:
    """A docstring as help: paragraphs refilled; example commands (``isoglot ...``) broken as a shell takes them."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        _example(text) if text.lstrip().startswith("isoglot ") else " ".join(text.split())
        for text in paragraphs
    )


def _example(text: str) -> str:
    """A command in lines that a shell takes as one; a flag stays with its value."""
    command = re.sub(r"(-\S+) (?!-)", "\\1\0", " ".join(text.split()))
    lines = wrap(command, _WIDEST, subsequent_indent="    ", break_on_hyphens=False)
    return "\b\n" + " \\\n".join(lines).replace("\0", " ")


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
            text = help_text(command)
            summary = text.partition("\n\n")[0]  # whole: click would cut it at "Fig."
            app.command(name_of(command), cls=GroupedCommand, help=text, short_help=summary)(command)
