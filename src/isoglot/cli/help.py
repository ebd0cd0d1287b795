"""Help texts: two columns under the headings that the option models name, at any terminal width."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand

__all__ = ["GroupedCommand", "help_text"]


class GroupedCommand(TyperCommand):
    """A command whose `--help` lists its flags by group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments first, then the flags of each group in the order of their first flag."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                own = "Arguments" if parameter.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or own, []).append(record)
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def help_text(command: Callable[..., Any]) -> str:
    """A docstring as help: paragraphs refilled, example commands (``isoglot ...``) left as they are."""
    paragraphs = re.sub(r"\[/?bold\]", "", inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        f"\b\n{text}" if text.lstrip().startswith("isoglot ") else " ".join(text.split())
        for text in paragraphs
    )
