"""``isoglot study``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isoglot.cli.task_options import seeds_of

if TYPE_CHECKING:
    from isoglot.studies.program import Inspection, Program

__all__ = ["register", "sizes_of", "study"]

_SHOWN = 3


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(study)


def study(  # noqa: PLR0917 - one parameter a flag
    names: list[str] = typer.Argument(
        None, metavar="NAME", help="Studies (align_mlm/table3), papers (align_mlm), or FILE.py."
    ),
    scale: str = typer.Option("tiny", "--scale", "-s", help="tiny, small or paper."),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Folder; studies in one folder share their runs."
    ),
    only: list[str] = typer.Option(
        None,
        metavar="CELLS|K/N",
        help="Cells by ROW, COLUMN or ROW:COLUMN ('XLM*:pos.*'), or the k-th of n parts of the encoders.",
    ),
    seeds: str | None = typer.Option(None, help="Seeds in place of the scale's, with commas."),
    engine: str = typer.Option("local", help="local, or ray: each call a task on a Ray cluster."),
    workers: int = typer.Option(1, min=1, help="Processes of the local engine, one thread each if several."),
    listed: bool = typer.Option(False, "--list", help="List the studies."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Check everything; print calls, files and what is missing; make nothing."
    ),
    tables_only: bool = typer.Option(
        False, "--tables-only", help="Print the tables from what there is so far."
    ),
    form: str = typer.Option("text", "--format", "-f", help="text, csv or latex."),
    settings: list[str] = typer.Option(
        None, "--set", metavar="SIZE=VALUE", help="Change a size of the study, for example --set steps=200."
    ),
    keep: bool = typer.Option(False, "--keep", help="Keep fine-tuned weights after they are evaluated."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Only print the tables and errors."),
) -> None:
    """Reproduce a paper's table, printed beside the paper's.

    Makes the data, pre-trains, fine-tunes and measures.

    isoglot study align_mlm/table3 --scale tiny --out runs/study

    A run that several cells or studies need is done once; a finished one is not done again; a stopped study goes on
    where it was. `isoglot study --list` shows what there is.
    """
    if listed:
        _list(names)
        return
    from isoglot.errors import ConfigurationError
    from isoglot.studies.catalogue import find_studies
    from isoglot.studies.engine import Store
    from isoglot.studies.program import build_programs, inspect_programs

    if not names:
        raise ConfigurationError("no study given; name one: `isoglot study --list` shows them")
    if out is None and not dry_run:
        raise ConfigurationError("--out is not given; name a folder: --out runs/study")
    if engine not in ("local", "ray"):
        raise ConfigurationError(f"unknown engine {engine!r}; it is local or ray")
    if form not in ("text", "csv", "latex"):
        raise ConfigurationError(f"unknown format {form!r}; it is text, csv or latex")
    changes = sizes_of(settings or [])
    if seeds is not None:
        changes["seeds"] = seeds_of(seeds, option="--seeds")
    part, patterns = _only(only or [])
    programs = build_programs(find_studies(names), scale=scale, changes=changes, only=patterns)
    store = Store(out or Path("runs/study"))
    found = inspect_programs(programs, store, part=part, check=not tables_only)
    if dry_run:
        _show(programs, found)
    failed = {}
    if not tables_only and not dry_run:
        failed = _run(store, found, engine=engine, workers=workers, keep=keep, quiet=quiet)
    if not dry_run:
        _print(programs, store, found, form, quiet=quiet)
    if failed:
        raise ConfigurationError(
            [f"{name}: {message}" for name, message in failed.items()],
            heading=f"{len(failed)} calls could not be done; their cells are empty",
        )
    if not tables_only:
        _require_something(programs, found)


def sizes_of(settings: Sequence[str]) -> dict[str, Any]:
    """Sizes from ``SIZE=VALUE`` each."""
    from isoglot.errors import ConfigurationError
    from isoglot.recipe.document import parse_value

    found = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"--set {text!r}: SIZE=VALUE is needed, for example --set steps=200")
        found[name.strip()] = parse_value(value)
    return found


def _only(given: Sequence[str]) -> tuple[tuple[int, int], list[str]]:
    """The part of the encoders, and patterns of cells."""
    from isoglot.errors import ConfigurationError

    part, patterns = (1, 1), []
    for text in given:
        k, slash, n = text.partition("/")
        if not (slash and k.isdecimal() and n.isdecimal()):
            patterns.append(text)
        elif not 1 <= int(k) <= int(n):
            raise ConfigurationError(f"--only {text}: K/N is needed with 1 <= K <= N, for example --only 2/8")
        else:
            part = int(k), int(n)
    return part, patterns


def _run(store: Any, found: Inspection, *, quiet: bool, **options: Any) -> dict[str, str]:
    from isoglot.cli.console import Console
    from isoglot.studies.engine import do_calls

    targets = [call for call in found.targets if call not in found.blocked]
    with Console(quiet=quiet) as console:
        done = do_calls(targets, store.root, progress=console, **options)
        made = ", ".join(f"{n} {kind} ({done.seconds[kind]:,.0f} s)" for kind, n in done.made.items())
        console.note(f"done: {made or 'nothing was left to do'}")
    return {call.told: message for call, message in done.failed.items()}


def _print(programs: Sequence[Program], store: Any, found: Inspection, form: str, *, quiet: bool) -> None:
    from isoglot.report import export
    from isoglot.studies.program import write_program

    writers = {"text": export.to_text, "csv": export.to_csv, "latex": export.to_latex}
    for program in programs:
        tables, folder = write_program(program, store, found.blocked)
        if form == "text":
            typer.echo(f"{program.study.name}: {program.study.title}\n{program.caption()}\n")
        typer.echo("\n".join(writers[form](table) for table in tables))
        if not quiet:
            typer.echo(f"wrote {folder}; `isoglot report {folder}` shows it as a page", err=True)


def _show(programs: Sequence[Program], found: Inspection) -> None:
    """The tree of calls with the files from outside that each reads; what is missing; what is unavailable."""
    depths: dict[Any, int] = {}
    for call in found.calls:
        depths[call] = 1 + max((depths.get(needed, 0) for needed in call.needs), default=-1)
        typer.echo(f"{'  ' * depths[call]}{call.told}")
        for one in found.inputs[call]:
            typer.echo(f"{'  ' * depths[call]}  {'reads' if one.there else 'MISSING'} {one.path}")
    kinds: dict[str, int] = {}
    for call in found.calls:
        kinds[call.step.kind] = kinds.get(call.step.kind, 0) + 1
    for program in programs:
        blocked = sum(any(c in found.blocked for c, _ in p.value.reads()) for p in program.places)
        lost = [p.value.unavailable for p in program.places if p.value.unavailable]
        can = len(program.places) - blocked - len(lost)
        typer.echo(
            f"{program.study.name}, {program.lab.scale}: {len(program.places)} cells; {can} can be measured, "
            f"{blocked} lack files, {len(lost)} are unavailable"
        )
        for reason in dict.fromkeys(lost):
            typer.echo(f"  unavailable: {reason} ({lost.count(reason)} cells)")
    typer.echo(f"to do: {', '.join(f'{n} {kind}' for kind, n in kinds.items()) or 'nothing'}")
    missing = found.missing()
    for path, calls in missing.items():
        more = f" and {len(calls) - _SHOWN} more" if len(calls) > _SHOWN else ""
        typer.echo(f"missing: {path}, read by {'; '.join(c.told for c in calls[:_SHOWN])}{more}")
    typer.echo(f"{len(missing)} files are missing" if missing else "every file is there; everything resolves")


def _require_something(programs: Sequence[Program], found: Inspection) -> None:
    from isoglot.errors import ConfigurationError

    if any(call not in found.blocked for call in found.targets):
        return
    missing = list(found.missing())
    reasons = {p.value.unavailable for program in programs for p in program.places if p.value.unavailable}
    raise ConfigurationError(
        [*(f"not there: {path}" for path in missing), *sorted(reasons)],
        heading="nothing can be measured; `--dry-run` shows who reads what",
    )


def _list(names: Sequence[str] | None) -> None:
    from textwrap import fill

    from isoglot.studies.catalogue import builtin_studies, find_studies

    studies = find_studies(names) if names else list(builtin_studies().values())
    width = max(len(study.name) for study in studies) + 2
    for study in studies:
        typer.echo(fill(f"{study.name:{width}}{study.title}", 80, subsequent_indent=" " * width))
