"""The commands. One module per group of them; every heavy import stands inside its command."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
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
from isoglot.cli.help import add_commands, name_of
from isoglot.core.errors import ConfigurationError
from isoglot.runs.ranks import require_numbers

_COMMANDS: dict[Any, str] = {
    corpora.prepare: "raw parallel or plain text -> filtered corpus",
    pretraining.trim: "encoder, text -> encoder with the pieces the text needs",
    alignment.align: "two texts, or a corpus -> links between words",
    alignment.score: "links, gold links -> precision, recall, AER",
    alignment.tune: "encoder, gold links -> its best layer and method",
    mining.filter_: "bitext -> the pairs that are translations",
    mining.align_sentences: "two documents -> groups of lines that translate",
    mining.mine: "two monolingual texts -> pairs with scores",
    pretraining.pack: "aligner -> one small file, and back",
    alignment.merge: "statistical aligners of parts -> one aligner",
    pretraining.export: "encoder -> sentence-transformers, ONNX",
    pretraining.init: "bitext, encoder -> commented recipe",
    pretraining.inspect: "recipe -> what the model will see",
    pretraining.pretrain: "recipe -> checkpoint, a plain Hugging Face folder",
    projection.project: "labels, a translation -> training data in its language",
    tasks.finetune: "checkpoint, labelled data -> fine-tuned model",
    tasks.evaluate: "models, test data -> results.jsonl",
    tasks.predict: "fine-tuned model, rows -> labels and their probabilities",
    tasks.transfer: "checkpoints, data of a task -> zero-shot gap",
    analysis.analyse: "checkpoints -> alignment, layers, maps of words",
    reporting.report: "results -> one HTML page, CSV, LaTeX",
    study.study: "name of a paper's table -> ours beside the paper's",
    derivation.derive: "text, treebank, task -> the same in another order, script",
    derivation.fit_order: "treebank -> word-order model for derive",
    derivation.world: "seed -> generated text with labels for every task",
    pretraining.recipes: "-> the recipes that come along, what they are made of",
    study.demo: "-> four encoders, trained and compared, in minutes",
}
"""In the order of the work: what each takes and gives."""


class PassedError(Exception):
    """Takes an error past typer, which would end with its own words and exit codes."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


@contextmanager
def _past_typer() -> Iterator[None]:
    """Pass errors on that typer answers itself: closed pipes, ends of files, Ctrl-C."""
    try:
        yield
    except (OSError, EOFError, KeyboardInterrupt) as error:
        raise PassedError(error) from error


class _InOrder(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse empty values, most often a shell variable that is not set: click takes one for the current folder."""
        for before, argument in pairwise(["isoglot", *args]):
            if not argument or (argument.startswith("--") and argument.find("=") == len(argument) - 1):
                option = argument or f"{before} ''"
                raise ConfigurationError(f"{option}: the value is empty; write one, or leave the option out")
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """The group's context; typer answers no error that it does not know better."""
        with _past_typer():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """The command; typer answers no error that it does not know better."""
        with _past_typer():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the work; Typer puts groups last."""
        return [name_of(command) for command in _COMMANDS]


_PURPOSE = "Align the languages of multilingual encoders, and measure what it buys."
_NEXT = "isoglot COMMAND --help has examples and every option. Start with: isoglot demo"
app = typer.Typer(
    name="isoglot",
    cls=_InOrder,
    help=_PURPOSE,
    epilog="Start with: isoglot demo",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_commands(app, _COMMANDS)


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
    """Options before the command; without one, the map of all commands."""
    require_numbers()
    if ctx.invoked_subcommand is None:
        rows = "\n".join(f"  {name_of(command):15} {text}" for command, text in _COMMANDS.items())
        typer.echo(f"{_PURPOSE}\n\n{rows}\n\n{_NEXT}")
