"""Fills the lists of the reference pages from the code: ``make docs-reference``.

A page says where with two comments, ``<!-- generated: objectives -->`` and ``<!-- end -->``; each name is a function of
:data:`LISTS`. Run with ``--check``, it changes nothing and names the pages that are not as the code is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import click
import typer
from part_tables import Part, listed_losses, made_of
from public_names import public_names

from isoglot.aligners.embedding import options as embedding
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions
from isoglot.aligners.options import STATISTICAL, Eflomal, FastAlign, Hmm
from isoglot.cli import app
from isoglot.cli.flags import RemakeFlags
from isoglot.cli.help import option_groups, option_record, short_help
from isoglot.core.options import Options
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.pack.packing import PackOptions
from isoglot.finetuning.options import FinetuneOptions
from isoglot.formats.sources import Source
from isoglot.modules.adapter_options import AdapterOptions
from isoglot.pretraining.recipe import BUILT
from isoglot.recipe.sections import PartsSection
from isoglot.recipe.source import builtin_recipes
from isoglot.recipe.spec import argument_docs, spec_of
from isoglot.tasks import TASKS, TaskFacts, is_probe, task_class, task_options

__all__ = ["LISTS", "filled", "main"]

PAGES = Path(__file__).parent / "reference"
_NEEDED = "needed"
_MARK = re.compile(r"^(<!-- generated: (\w+) -->)\n.*?^(<!-- end -->)$", re.MULTILINE | re.DOTALL)
_SHARED = {f"--{field}" for field in RemakeFlags.model_fields}
"""Options of many commands, which the page explains once."""


def filled(page: str) -> str:
    """A page with the list in each of its marks."""
    return _MARK.sub(lambda found: f"{found[1]}\n\n{LISTS[found[2]]()}\n\n{found[3]}", page)


def stale() -> Iterator[tuple[Path, str]]:
    """The pages that are not as the code is, and what they should hold."""
    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        if (wanted := filled(page)) != page:
            yield path, wanted


def main() -> int:
    """Write the pages; with ``--check`` only name those that differ."""
    check = "--check" in sys.argv[1:]
    pages = list(stale())
    for path, wanted in pages:
        print(path)
        if not check:
            path.write_text(wanted, encoding="utf-8")
    return int(check and bool(pages))


def _cell(text: Any) -> str:
    """A text as one cell of a table; what stands in backquotes stays as it is."""
    parts = re.split(r"(`[^`]*`)", " ".join(str(text).replace("``", "`").split()).replace("|", "\\|"))
    for place, part in enumerate(parts):
        if not part.startswith("`"):
            parts[place] = re.sub(r"([*\[])", r"\\\1", part).replace("<", "&lt;")
    return "".join(parts)


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _code(value: Any) -> str:
    shown = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{shown}`".replace("|", "\\|")


def commands() -> str:
    """Every command with its arguments and flags, after a list of them."""
    group: Any = typer.main.get_command(app)
    context = click.Context(group, info_name="isoglot")
    lists, pages = [], []
    for heading, names in group.command_groups().items():
        rows = []
        for name in names:
            rows.append((f"[`isoglot {name}`](#isoglot-{name})", _cell(short_help(group.commands[name]))))
            pages.append(_command(group, name, context))
        lists.append(_table([heading, ""], rows))
    return "\n\n".join([*lists, *pages])


def _command(group: Any, name: str, parent: Any, level: int = 2) -> str:
    command = group.get_command(parent, name)
    context = click.Context(command, info_name=name, parent=parent)
    path = context.command_path.removeprefix("None ")
    parts = [f"{'#' * level} {path}", *map(_paragraph, (command.help or "").split("\n\n"))]
    shared = []
    for heading, parameters in option_groups(command, context).items():
        rows = []
        for parameter in parameters:
            record = option_record(parameter, context)
            if record is None or parameter.name == "help":
                continue
            if _SHARED.intersection(parameter.opts):
                shared.append(_code(parameter.opts[0]))
            else:
                rows.append(_parameter(*record))
        if rows:
            parts.append(_table([heading, "default", "meaning"], rows))
    parts += [f"Also {', '.join(shared)}."] if shared else []
    if hasattr(command, "list_commands"):
        inner = command.list_commands(context)
        parts += [_command(command, sub, context, level + 1) for sub in inner]
    return "\n\n".join(parts)


def _parameter(flags: str, meaning: str) -> tuple[str, str, str]:
    """A row: how the option is written, its default, what it does."""
    default = re.search(r" ?\[default: (.*?)\]$", meaning)
    needed = meaning.endswith("[required]")
    meaning = re.sub(r" ?\[(default: .*?|required)\]$", "", meaning)
    return _code(flags), _NEEDED if needed else _code(default[1]) if default else "", _cell(meaning)


def _paragraph(text: str) -> str:
    """A paragraph of help; an example command becomes a block of code."""
    body = text.replace("\b", "").strip()
    return f"```bash\n{body}\n```" if body.startswith(("isoglot ", "torchrun ")) else body


def _constructors(section: str) -> str:
    shared = ", ".join(f"`{key}`" for key in BUILT[section].own_keys())
    parts = [f"Every entry of `{section}:` has {shared} beside the options below."]
    for name, maker in BUILT[section].registry.items():
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


def parts(rows: Iterable[Part]) -> str:
    """Losses, objectives or views, a row each: what it does, its equation, the paper, a line that uses it."""
    cells = []
    for part in rows:
        recipe = f" in [`{part.recipe}`](recipes.md)" if part.recipe else ""
        line = f"{_code(part.line)}{recipe}" if part.line else ""
        # Titles of papers are in italics in docstrings and stay so.
        equation, source = (text.replace("|", "\\|") for text in (part.equation, part.source))
        cells.append((_code(part.name), _cell(part.summary), equation, source, line))
    return _table(["name", "what it does", "equation", "source", "a line that uses it"], cells)


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


def encoder() -> str:
    """Adapters of an encoder, and the learning rates of its parts."""
    sections = (
        ("model.adapter", AdapterOptions),
        ("parts", PartsSection),
    )
    return "\n\n".join(f"### {heading}\n\n{_fields(model)}" for heading, model in sections)


def aligner() -> str:
    """The options of every kind of aligner: those that all have, then each kind's own."""
    shared = {*EmbeddingOptions.model_fields}
    kinds: list[type[Options]] = [
        embedding.IterMax,
        embedding.Threshold,
        embedding.Transport,
        embedding.PointerNetwork,
    ]
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
    "table_of_losses": lambda: parts(listed_losses()),
    "table_of_objectives": lambda: parts(made_of("objectives")),
    "table_of_views": lambda: parts(made_of("views")),
    "tasks": tasks,
    "finetuning": lambda: _fields(FinetuneOptions),
    "aligner": aligner,
    "methods": lambda: _table(
        ["method", "links"], ((_code(n), _cell(text)) for n, text in {**STATISTICAL, **METHODS}.items())
    ),
    "recipes": recipes,
    "streams": streams,
    "encoder": encoder,
    "api": public_names,
}
"""Name of a list to what makes it."""

if __name__ == "__main__":
    sys.exit(main())
