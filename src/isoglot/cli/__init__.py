"""The command line. One module per group of commands; every heavy import stands inside its command."""

from __future__ import annotations

import inspect
import sys

import typer

from isoglot import __version__
from isoglot.cli import (
    alignment,
    analysis,
    corpora,
    demo,
    derivation,
    pretraining,
    recipes,
    reporting,
    study,
    tasks,
    transfer,
    world,
)
from isoglot.errors import IsoglotError

__all__ = ["app", "main"]

app = typer.Typer(
    name="isoglot",
    help="Align multilingual encoders: prepare bitext, train with alignment objectives, measure what it buys.",
    epilog="Start with: isoglot recipes",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (
    demo,
    corpora,
    alignment,
    derivation,
    world,
    pretraining,
    recipes,
    analysis,
    reporting,
    study,
    tasks,
    transfer,
):
    group.register(app)


for command in app.registered_commands:  # a line end inside a paragraph is the source's, not the reader's
    text = inspect.getdoc(command.callback) or ""
    command.help = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"isoglot {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Options before the command."""


def main() -> None:
    """Run the command line.

    Exit codes: 0 done; 2 a mistake of the user, told in one message without a traceback; 130 interrupted;
    1 anything else, with its traceback.
    """
    try:
        app()
    except IsoglotError as error:
        sys.stdout.flush()
        typer.echo(f"isoglot: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("isoglot: interrupted", err=True)
        sys.exit(130)
