"""Help texts: two columns under the headings that the option models name, at any terminal width."""

import inspect
import re
from collections.abc import Callable, Iterable
from textwrap import wrap
from typing import Any

import typer
from typer.core import TyperCommand

from isoglot.cli.first_options import FIRST_OPTIONS
from isoglot.cli.flags import RUNNING

WIDEST_HELP = 100
"""Columns of help in a terminal that has them; longer lines are hard to read."""
_WIDEST_EXAMPLE = 74
"""Columns of an example, between the margin and the backslash."""
_TYPES = {"str": "TEXT", "path": "PATH", "int": "N", "float": "NUMBER"}
"""Types as typer writes them, and as the help does."""
_FIRST = "Options that most people need"


def option_groups(command: Any, ctx: Any) -> dict[str, list[Any]]:
    """Sort the parameters of a command under the headings of its help.

    1. Arguments.
    2. The options that most people need (``FIRST_OPTIONS``).
    3. Options without a group.
    4. Each group that the option models name.
    5. ``--help`` is last: under the group *Running* if there are groups, else with the options without a group.
    """
    path = " ".join(_path(ctx))
    parameters = command.get_params(ctx)
    first = []
    for flag in FIRST_OPTIONS.get(path, ()):
        first += [parameter for parameter in parameters if flag in parameter.opts]
    ungrouped = "More options" if first else "Options"
    groups: dict[str, list[Any]] = {"Arguments": [], _FIRST: first, ungrouped: []}
    for parameter in parameters:
        if parameter in first or parameter.name == "help":
            continue
        heading = getattr(parameter, "rich_help_panel", None)  # the group that an option model names
        if not heading:
            heading = "Arguments" if parameter.param_type_name == "argument" else ungrouped
        groups.setdefault(heading, []).append(parameter)
    shown = {heading: group for heading, group in groups.items() if group}
    has_groups = bool(set(shown) - {"Arguments", _FIRST, ungrouped})
    last = RUNNING if has_groups else ungrouped
    shown.setdefault(last, []).extend(parameter for parameter in parameters if parameter.name == "help")
    return shown


def _path(ctx: Any) -> list[str]:
    """The names of a command behind `isoglot`: `analyse`, `map`."""
    return [] if ctx.parent is None else [*_path(ctx.parent), ctx.info_name]


def option_record(parameter: Any, ctx: Any) -> tuple[str, str] | None:
    """Describe a parameter: how it is written, and what it does. A hidden parameter has no description.

    `--limit <int>` of typer becomes `--limit N`, and `INPUT <list[str]>` becomes `INPUT...`.
    """
    record = parameter.get_help_record(ctx)
    if record is None:
        return None
    written, meaning = record
    if parameter.param_type_name == "argument":
        without_type = re.sub(r" <\w+>", "", written)
        return re.sub(r" <list\[\w+\]>", "...", without_type), meaning
    # `<int>` and `<list[int]>` alike.
    return re.sub(r"<(?:list\[)?(\w+)\]?>", _placeholder, written), meaning


def _placeholder(found: re.Match[str]) -> str:
    """Return the placeholder of a type in the help: `N` for `<int>`."""
    return _TYPES.get(found[1], found[1].upper())


class GroupedCommand(TyperCommand):
    """A command whose `--help` lists its flags by group."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The arguments as everybody writes them: `INPUT...`, not `{INPUT}...`."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options that most people need, and the others under the headings of their groups."""
        for heading, parameters in option_groups(self, ctx).items():
            records = [option_record(parameter, ctx) for parameter in parameters]
            with formatter.section(heading):
                formatter.write_dl([record for record in records if record is not None])


def help_text(command: Callable[..., Any]) -> str:
    """A docstring as help: paragraphs refilled; example commands (``isoglot ...``) broken as a shell takes them."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        _example(text) if text.lstrip().startswith("isoglot ") else " ".join(text.split())
        for text in paragraphs
    )


def _example(text: str) -> str:
    """Break a command into lines that a shell takes as one; a flag stays with its value.

    While the text is wrapped, the space between a flag and its value is the character 0, at which no line breaks.
    """
    command = re.sub(r"(-\S+) (?!-)", "\\1\0", " ".join(text.split()))
    lines = wrap(command, _WIDEST_EXAMPLE, subsequent_indent="    ", break_on_hyphens=False)
    # click does not refill a paragraph that begins with a line of \b.
    return "\b\n" + " \\\n".join(lines).replace("\0", " ")


def name_of(command: Callable[..., Any] | typer.Typer) -> str:
    """Name of a command or a group: ``fit_order`` is ``fit-order``."""
    if isinstance(command, typer.Typer):
        return str(command.info.name)
    return command.__name__.strip("_").replace("_", "-")


def short_help(command: Any) -> str:
    """The first sentence of a command's help."""
    return str(command.short_help or command.help.partition("\n\n")[0])


def add_commands(app: typer.Typer, commands: Iterable[Callable[..., Any] | typer.Typer]) -> None:
    """Add commands and groups to an app."""
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command)
        else:
            text = help_text(command)
            summary = text.partition("\n\n")[0]  # whole: click would cut it at "Fig."
            app.command(name_of(command), cls=GroupedCommand, help=text, short_help=summary)(command)
