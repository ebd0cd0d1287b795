"""The command line. One module per group of commands; every heavy import stands inside its command."""

from __future__ import annotations

import errno
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
from isoglot.cli.help import GroupedCommand, help_text
from isoglot.errors import IsoglotError

__all__ = ["app", "main"]

app = typer.Typer(
    name="isoglot",
    help="Align multilingual encoders: prepare bitext, train with alignment objectives, measure what it buys.",
    epilog="Start with: isoglot recipes",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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


for typer_app in (app, *(g.typer_instance for g in app.registered_groups)):
    for command in typer_app.registered_commands if typer_app is not None else ():
        if command.callback is not None:
            command.cls, command.help = GroupedCommand, help_text(command.callback)


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


_FULL = "the disk is full; some room is needed: free it, or choose a place on another disk"
_CLOSED = (
    "may not be read or written ({}); a place with access is needed: choose another, or change its rights"
)
_A_FILE = "a file stands where a folder is needed; choose another path"
_SYSTEM = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EROFS: _CLOSED,
    errno.ENOTDIR: _A_FILE,
    errno.EEXIST: _A_FILE,
    errno.EISDIR: "a folder stands where a file is needed; choose another path",
    errno.ENAMETOOLONG: "the name is too long for this disk; choose a shorter one",
}
_INTERRUPTED = 130


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
    except OSError as error:  # of the place that was named: full, closed, or something else stands there
        message = _SYSTEM.get(error.errno or 0)
        place = error.filename2 or error.filename
        if message is None or place is None:
            raise
        sys.stdout.flush()
        typer.echo(f"isoglot: {place}: {message.format(error.strerror)}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("isoglot: interrupted", err=True)
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # what typer makes of Ctrl-C, without a word
            typer.echo("isoglot: interrupted", err=True)
        raise
