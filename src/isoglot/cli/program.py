"""The list of all commands, in the groups of the help. Every heavy import stands inside its command."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from isoglot import __version__
from isoglot.cli import (
    alignment,
    analysis,
    corpora,
    derivation,
    mining,
    pretraining,
    projection,
    reporting,
    study,
    tasks,
)
from isoglot.cli.help import WIDEST_HELP, add_commands, name_of, short_help
from isoglot.core.errors import ConfigurationError
from isoglot.runs.ranks import require_numbers

_COMMANDS: dict[str, list[Any]] = {
    "Link words that translate each other": [
        alignment.align,
        alignment.score,
        alignment.tune,
        alignment.merge,
        pretraining.pack,
        projection.project,
    ],
    "Prepare and clean texts": [
        corpora.prepare,
        mining.filter_,
        mining.mine,
        mining.align_sentences,
    ],
    "Train encoders such as mBERT and XLM-R": [
        pretraining.init,
        pretraining.recipes,
        pretraining.inspect,
        pretraining.pretrain,
        tasks.finetune,
        pretraining.trim,
        pretraining.export,
    ],
    "Measure encoders and show results": [
        tasks.evaluate,
        tasks.predict,
        tasks.transfer,
        analysis.analyse,
        reporting.report,
    ],
    "Repeat papers and derive languages": [
        study.demo,
        study.study,
        derivation.derive,
        derivation.fit_order,
        derivation.world,
    ],
}
"""What a reader wants to do, and the commands for it in the order of the work."""


class PassedError(Exception):
    """Carries an error past typer, which would print words of its own and end with its own exit code."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _past_typer() -> Iterator[None]:
    """Wrap the errors that typer would handle itself (closed pipes, ends of files, Ctrl-C) in :class:`PassedError`."""
    try:
        yield
    except (OSError, EOFError, KeyboardInterrupt) as error:
        raise PassedError(error) from error


class _InOrder(TyperGroup):
    """The group of all commands: its help has them under headings, and its errors reach ``ending.py`` unchanged."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse empty values: click takes one for the current folder, and most often a shell variable is not set."""
        for before, argument in pairwise(["isoglot", *args]):
            # An option that ends in its only equals sign: `--out=`.
            is_empty_option = argument.startswith("--") and argument.find("=") == len(argument) - 1
            if not argument or is_empty_option:
                option = argument or f"{before} ''"
                raise ConfigurationError(f"{option}: the value is empty; write one, or leave the option out")
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Make the context of the group; errors that typer would handle itself are passed on."""
        with _past_typer():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors that typer would handle itself are passed on."""
        with _past_typer():
            return super().invoke(ctx)

    def command_groups(self) -> dict[str, list[str]]:
        """The names of the commands under each heading."""
        return {heading: [name_of(command) for command in group] for heading, group in _COMMANDS.items()}

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the help; Typer puts groups last."""
        return list(chain.from_iterable(self.command_groups().values()))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands first: a newcomer looks for one of them."""
        self.format_commands(ctx, formatter)
        records = [parameter.get_help_record(ctx) for parameter in self.get_params(ctx)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each group of commands, with one sentence for each command."""
        widest = max(map(len, self.list_commands(ctx)))
        for heading, names in self.command_groups().items():
            rows = [(name.ljust(widest), short_help(self.commands[name])) for name in names]
            with formatter.section(heading):
                formatter.write_dl(rows)


_PURPOSE = (
    "Find which words translate each other, and train encoders that work across languages.\n\n"
    "An encoder is a model such as mBERT or XLM-R that turns text into vectors. An aligner takes a sentence and its "
    "translation, and links the words that correspond."
)
_NEXT = "`isoglot COMMAND --help` has examples and every option. To see what isoglot does: isoglot demo"
app = typer.Typer(
    name="isoglot",
    cls=_InOrder,
    help=_PURPOSE,
    epilog=_NEXT,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST_HELP},
)
add_commands(app, chain.from_iterable(_COMMANDS.values()))


def _print_version(asked_for: bool) -> None:
    if asked_for:
        typer.echo(f"isoglot {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    ctx: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Options before the command; without a command, the help."""
    # Of RANK, WORLD_SIZE and others, which torchrun sets.
    require_numbers()
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
