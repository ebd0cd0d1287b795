"""Fills the reference pages from the code when the site is built.

A page says where with a comment, ``<!-- generated: objectives -->``; each name is a function of :data:`LISTS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

import click
import typer

from isoglot import _HOMES
from isoglot.aligners.embedding import options as embedding
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions
from isoglot.aligners.options import STATISTICAL, Eflomal, FastAlign, Hmm
from isoglot.cli import app
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.pack.packing import PackOptions
from isoglot.corpus.read.sources import Source
from isoglot.finetuning.options import FinetuneOptions
from isoglot.pretraining.recipe import MADE
from isoglot.recipe.source import builtin_recipes
from isoglot.recipe.spec import argument_docs, spec_of
from isoglot.tasks import TASKS, is_probe, task_class, task_options
from isoglot.tasks.facts import TaskFacts

__all__ = ["LISTS", "on_page_markdown"]

_NEEDED = "needed"
_MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each mark of a page by its list."""
    return _MARK.sub(lambda found: LISTS[found[1]](), markdown)


def _cell(text: Any) -> str:
    """A text as one cell of a table."""
    plain = " ".join(str(text).replace("``", "`").split())
    return plain.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _code(value: Any) -> str:
    shown = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{shown}`".replace("|", "\\|")


def commands() -> str:
    """Every command with its arguments and flags."""
    group = typer.main.get_command(app)
    context = click.Context(group, info_name="isoglot")
    return "\n\n".join(_command(group, name, context) for name in group.list_commands(context))


def _command(group: Any, name: str, parent: Any, level: int = 2) -> str:
    command = group.get_command(parent, name)
    context = click.Context(command, info_name=name, parent=parent)
    path = context.command_path.removeprefix("None ")
    parts = [f"{'#' * level} {path}", *map(_paragraph, (command.help or "").split("\n\n"))]
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in record[0]:
            panel = getattr(parameter, "rich_help_panel", None)
            own = "Arguments" if parameter.param_type_name == "argument" else "Options"
            sections.setdefault(panel or own, []).append((_code(record[0]), _cell(record[1])))
    for heading, rows in sections.items():
        parts.append(_table([heading, ""], rows))
    if hasattr(command, "list_commands"):
        inner = command.list_commands(context)
        parts += [_command(command, sub, context, level + 1) for sub in inner]
    return "\n\n".join(parts)


def _paragraph(text: str) -> str:
    """A paragraph of help; an example command becomes a block of code."""
    body = text.replace("\b", "").strip()
    return f"```bash\n{body}\n```" if body.startswith(("isoglot ", "torchrun ")) else body


def _constructors(section: str) -> str:
    shared = ", ".join(f"`{key}`" for key in MADE[section].own_keys())
    parts = [f"Every entry of `{section}:` has {shared} beside the options below."]
    for name, maker in MADE[section].registry.items():
        spec = spec_of(maker)
        parts += [f"## {name}", _cell(spec.__doc__), _fields(spec)]
    return "\n\n".join(parts)


def _fields(model: Any, *, without: Iterable[str] = ()) -> str:
    meanings = argument_docs(model)
    rows = [
        (
            _code(name),
            _code(_NEEDED if f.is_required() else f.default),
            _cell(f.description or meanings.get(name, "")),
        )
        for name, f in model.model_fields.items()
        if name not in without
    ]
    return _table(["option", "default", "meaning"], rows)


def streams() -> str:
    """The keys of a stream: how files are read, what is dropped, how text is tokenised and packed."""
    parts = []
    for heading, model, without in (
        ("How files are read", Source, ()),
        ("What is kept", PrepareOptions, ("processes", "shard_rows")),
        ("encode", EncodeOptions, ()),
        ("pack", PackOptions, ()),
    ):
        parts += [f"### {heading}", _fields(model, without=without)]
    return "\n\n".join(parts)


def aligner() -> str:
    """The options of every kind of aligner: those that all have, then each kind's own."""
    shared = {*EmbeddingOptions.model_fields}
    kinds = [embedding.IterMax, embedding.Threshold, embedding.Transport, embedding.PointerNetwork]
    parts = ["### All methods with an encoder", _fields(EmbeddingOptions, without=["method"])]
    for kind in kinds:
        methods = (
            "argmax, match, forward, backward, itermax"
            if kind is embedding.IterMax
            else ", ".join(get_args(kind.model_fields["method"].annotation))
        )
        parts += [f"### {methods}", _fields(kind, without=shared - {"encode"})]
    for kind, name in ((FastAlign, "fast_align"), (Hmm, "hmm"), (Eflomal, "eflomal")):
        parts += [f"### {name}", _fields(kind, without=["method"])]
    return "\n\n".join(parts)


def tasks() -> str:
    """Every task with its options."""
    parts = []
    for name in TASKS:
        build = task_class(name)
        facts = TaskFacts.of(build)
        how = "Measures any encoder." if is_probe(name) else "Fine-tunes a head."
        known = [how, f"Scored by `{build.primary_metric}`."]
        known += [f"Presets: {', '.join(facts.presets)}."] if facts.presets else []
        known += [f"Languages: {facts.languages}."] if facts.languages else []
        parts += [f"### {name}", _cell(build.__doc__.splitlines()[0]) + "  \n" + " ".join(known)]
        options = task_options(name)
        parts += [_fields(options, without=["name"])] if options.model_fields.keys() - {"name"} else []
    return "\n\n".join(parts)


def recipes() -> str:
    """Every recipe with the first line of its file."""
    rows = []
    for name, path in builtin_recipes().items():
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        rows.append((_code(name), _cell(first.removeprefix("#").strip())))
    return _table(["recipe", "purpose"], rows)


LISTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "objectives": lambda: _constructors("objectives"),
    "views": lambda: _constructors("views"),
    "tasks": tasks,
    "finetuning": lambda: _fields(FinetuneOptions),
    "aligner": aligner,
    "methods": lambda: _table(
        ["method", "links"], ((_code(n), _cell(text)) for n, text in {**STATISTICAL, **METHODS}.items())
    ),
    "recipes": recipes,
    "streams": streams,
    "api": lambda: "\n\n".join(f"::: {home}.{name}" for name, home in _HOMES.items()),
}
"""Name of a list to what makes it."""
