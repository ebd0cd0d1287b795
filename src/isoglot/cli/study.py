"""``isoglot study``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from isoglot.cli.task_options import seeds_of

__all__ = ["register", "study"]


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(study)


def study(  # noqa: PLR0917 - one parameter a flag
    files: list[str] = typer.Argument(
        None,
        metavar="FILE...",
        help="Files of studies, built-in names (align_mlm/table3), or folders of them.",
    ),
    scale: str = typer.Option("tiny", "--scale", "-s", help="tiny, small or paper."),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Folder; studies that share it share their runs."
    ),
    only: str | None = typer.Option(
        None, metavar="K/N", help="The k-th of n parts: every n-th checkpoint with all that hangs on it."
    ),
    seeds: str | None = typer.Option(None, help="In place of the study's, with commas."),
    listed: bool = typer.Option(
        False, "--list", help="List studies: their tables, runs, and the scales that run here."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Resolve, check and list every run; make nothing."),
    tables_only: bool = typer.Option(
        False, "--tables-only", help="Print the tables from what there is so far."
    ),
    form: str = typer.Option("text", "--format", "-f", help="Of the tables: text, markdown, csv or latex."),
    settings: list[str] = typer.Option(
        None, "--set", metavar="KEY=VALUE", help="Change the study, for example --set values.steps=200."
    ),
    keep: bool = typer.Option(False, "--keep", help="Keep fine-tuned weights after they are evaluated."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print nothing but the tables."),
) -> None:
    """Reproduce a paper's table: make the data, pre-train, fine-tune, measure, and print ours beside the paper's.

    [bold]isoglot study align_mlm/table3 --scale tiny --out runs/study[/bold]

    A run that several cells or studies need is done once; a finished one is not done again; a stopped study goes on
    where it was. `isoglot study --list` shows what there is.
    """
    from isoglot.errors import ConfigurationError
    from isoglot.studies.file import SCALES, builtin_studies, check_changes, find_studies, load_study
    from isoglot.studies.plan import build_plan

    if listed:
        _list(files)
        return
    if not files:
        raise ConfigurationError("no study given; name one: `isoglot study --list` shows them")
    if scale not in SCALES:
        raise ConfigurationError(f"--scale {scale!r} given; it is {', '.join(SCALES)}")
    if out is None:
        raise ConfigurationError("--out is not given; name a folder: --out runs/study")
    part, changes = _part(only), list(settings or [])
    if seeds is not None:
        changes.append(f"seeds={seeds_of(seeds, option='--seeds')}")
    names = {path: name for name, path in builtin_studies().items()}
    problems: dict[str, str] = {}
    paths = find_studies(files)
    check_changes(paths, scale, changes)
    for path in paths:
        plan = build_plan(load_study(path, scale, changes), assume=dry_run)
        if dry_run:
            _show(plan, out, part, names.get(path, str(path)))
            continue
        if not tables_only:
            problems |= _run(plan, out, part, keep=keep, quiet=quiet)
        _print(plan, out, form, quiet=quiet)
    if problems:
        raise ConfigurationError(
            [f"{name}: {message}" for name, message in problems.items()],
            heading=f"{len(problems)} units could not be done; their cells are empty",
        )


def _run(plan: Any, out: Path, part: tuple[int, int], *, keep: bool, quiet: bool) -> dict[str, str]:
    from isoglot.cli.console import Console
    from isoglot.studies.run import run_study

    with Console(quiet=quiet) as console:
        done = run_study(plan, out, part=part, keep=keep, progress=None if quiet else console)
        made = ", ".join(f"{n} {kind} ({done.seconds[kind]:,.0f} s)" for kind, n in done.made.items())
        console.note(f"{plan.study.name}: {made or 'nothing to do'}; {done.found} measurements were there")
    return dict(done.failed)


def _print(plan: Any, out: Path, form: str, *, quiet: bool) -> None:
    from isoglot.errors import ConfigurationError
    from isoglot.report import export
    from isoglot.studies.table import to_markdown, write_study

    writers = {
        "text": export.to_text,
        "markdown": to_markdown,
        "csv": export.to_csv,
        "latex": export.to_latex,
    }
    if form not in writers:
        raise ConfigurationError(f"--format {form!r} given; it is one of {', '.join(writers)}")
    tables, folder = write_study(plan, out)
    typer.echo("\n".join(writers[form](table) for table in tables))
    if not quiet:
        typer.echo(f"wrote {folder}; `isoglot report {folder}` shows it as a page", err=True)


def _show(plan: Any, out: Path, part: tuple[int, int], name: str) -> None:
    from isoglot.studies.check import check_plan

    found = check_plan(plan, out, part)
    for unit in found.units:
        typer.echo(f"{unit.kind:8s} {unit.key}  {unit.name}")
    counts: dict[str, int] = {}
    for unit in found.units:
        counts[unit.kind] = counts.get(unit.kind, 0) + 1
    typer.echo(
        f"{name}, {plan.study.scale}: {', '.join(f'{n} {kind}' for kind, n in counts.items())}; all resolve"
    )
    for missing in found.missing:
        typer.echo(f"  not here: {missing}")


def _list(files: list[str] | None) -> None:
    from isoglot.cli.console import print_table
    from isoglot.studies.check import list_studies
    from isoglot.studies.file import builtin_studies, find_studies

    known = builtin_studies()
    if files:
        names = {path: name for name, path in known.items()}
        known = {names.get(path, str(path)): path for path in find_studies(files)}
    rows = []
    for entry in list_studies(known):
        runs = [f"{s}: {r} x {n} -> {k}" for s, (r, n, k) in entry.runs.items()]
        here = [s for s in entry.runs if not entry.missing[s]]
        needs = [f"{s} needs {', '.join(entry.missing[s])}" for s in entry.runs if entry.missing[s]]
        rows.append(
            [entry.name, ", ".join(entry.tables), "; ".join(runs), ", ".join(here) or "-", "; ".join(needs)]
        )
    print_table(["study", "reproduces", "rows x seeds -> pre-training runs", "runs here", "else"], rows)


def _part(text: str | None) -> tuple[int, int]:
    from isoglot.errors import ConfigurationError

    if text is None:
        return 1, 1
    k, slash, n = text.partition("/")
    if not (slash and k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n)):
        raise ConfigurationError(
            f"--only {text!r} given; K/N is needed with 1 <= K <= N, for example --only 2/8"
        )
    return int(k), int(n)
