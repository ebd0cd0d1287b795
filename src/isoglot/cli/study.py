"""``isoglot study`` and ``isoglot demo``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.checks import is_number
from isoglot.cli.console import Console, print_results
from isoglot.cli.flags import CompareFlags, RunFlags, with_flags
from isoglot.errors import ConfigurationError
from isoglot.options import Options, Seed, Workers, option, settings_option

if TYPE_CHECKING:
    from isoglot.studies.engine import Store
    from isoglot.studies.program import Inspection, Program


Form = Literal["text", "csv", "latex"]


class StudyOptions(Options):
    """What is done of a study, where and how."""

    scale: str = option("tiny", "tiny, small or paper.", flags=["--scale", "-s"])
    out: Path | None = option(None, "Folder; studies in one folder share their runs.", flags=["--out", "-o"])
    only: tuple[str, ...] = option(
        (),
        "Cells by ROW, COLUMN or ROW:COLUMN ('XLM*:pos.*'), or the k-th of n parts of the encoders.",
        metavar="CELLS|K/N",
    )
    seeds: tuple[Seed, ...] | None = option(
        None, "Seeds in place of the scale's: 1,2,3.", commas=True, min_length=1
    )
    settings: dict[str, Any] = settings_option(
        "Change a size of the study: --set steps=200; repeatable.", metavar="SIZE=VALUE"
    )
    listed: bool = option(False, "List the studies.", flags=["--list"])
    dry_run: bool = option(
        False, "Check everything, print calls, files and missing inputs, and write nothing."
    )
    tables_only: bool = option(False, "Print the tables from the results so far.")
    form: Form = option("text", "Format of the tables.", flags=["--format", "-f"])
    keep: bool = option(False, "Keep fine-tuned weights after they are evaluated.")
    engine: Literal["local", "ray"] = option("local", "ray runs each call as a task on a Ray cluster.")
    workers: Workers = option(1, "Processes of the local engine, one thread each if several.")


@with_flags
def study(
    options: StudyOptions,
    running: CompareFlags,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Studies (align_mlm/table3), papers (align_mlm), or FILE.py."),
    ] = None,
) -> None:
    """Reproduce a paper's table, printed beside the paper's.

    Makes the data, pre-trains, fine-tunes and measures.

    isoglot study align_mlm/table3 --scale tiny --out runs/study

    A run that several cells or studies need is done once; finished runs are not repeated; a stopped study
    continues. `isoglot study --list` shows what there is.
    """
    if options.listed:
        _list(names)
        return
    from isoglot.studies.catalogue import find_studies
    from isoglot.studies.engine import Store
    from isoglot.studies.program import build_programs, inspect_programs

    if not names:
        raise ConfigurationError("no study named; `isoglot study --list` shows them")
    if options.out is None and not options.dry_run:
        raise ConfigurationError("--out is missing; name a folder: --out runs/study")
    changes = dict(options.settings)
    if options.seeds is not None:
        changes["seeds"] = options.seeds
    part, patterns = _only(options.only)
    programs = build_programs(find_studies(names), scale=options.scale, changes=changes, only=patterns)
    store = Store(options.out or Path("runs/study"))
    found = inspect_programs(programs, store, part=part, check=not options.tables_only)
    failed: dict[str, str] = {}
    if options.dry_run:
        _show(programs, found)
    else:
        if not options.tables_only:
            failed = _run(store, found, options, quiet=running.quiet)
        _print(programs, store, found, options.form, quiet=running.quiet)
    if failed:
        raise ConfigurationError(
            [f"{name}: {message}" for name, message in failed.items()],
            heading=f"{len(failed)} calls could not be done; their cells are empty",
        )
    if not options.tables_only:
        _require_something(programs, found)


def _only(given: Sequence[str]) -> tuple[tuple[int, int], list[str]]:
    """The part of the encoders, and patterns of cells."""
    part, patterns = (1, 1), list[str]()
    for text in given:
        k, slash, n = text.partition("/")
        if not (slash and is_number(k) and is_number(n)):
            patterns.append(text)
        elif not 1 <= int(k) <= int(n):
            raise ConfigurationError(f"--only {text}: K/N is needed with 1 <= K <= N, for example --only 2/8")
        elif part != (1, 1):
            raise ConfigurationError(
                f"--only {text}: another part is selected already; run one part at a time"
            )
        else:
            part = int(k), int(n)
    return part, patterns


def _run(store: Store, found: Inspection, options: StudyOptions, *, quiet: bool) -> dict[str, str]:
    from isoglot.studies.engine import make_calls

    targets = [call for call in found.targets if call not in found.blocked]
    how: dict[str, Any] = {"engine": options.engine, "workers": options.workers, "keep": options.keep}
    with Console(quiet=quiet) as console:
        tally = make_calls(targets, store.root, progress=console, **how)
        made = ", ".join(f"{n} {kind}" for kind, n in tally.made.items())
        console.note(f"done: {made or 'nothing was left to do'}")
    return {call.title: message for call, message in tally.failed.items()}


def _print(programs: Sequence[Program], store: Store, found: Inspection, form: Form, *, quiet: bool) -> None:
    from isoglot.reports.export import FORMS
    from isoglot.studies.program import write_program

    for program in programs:
        tables, folder = write_program(program, store, found.blocked)
        if form == "text":
            typer.echo(f"{program.study.name}: {program.study.title}\n{'' if tables else program.caption()}")
        typer.echo("\n".join(FORMS[form](table) for table in tables))
        if not quiet:
            typer.echo(f"wrote {folder}; `isoglot report {folder}` shows it as a page", err=True)


def _show(programs: Sequence[Program], found: Inspection) -> None:
    """The tree of calls with the files from outside that each reads; what is missing; what is unavailable."""
    depths: dict[Any, int] = {}
    for call in found.calls:
        depths[call] = 1 + max((depths.get(needed, 0) for needed in call.needs), default=-1)
        typer.echo(f"{'  ' * depths[call]}{call.title}")
        for one in found.inputs[call]:
            typer.echo(f"{'  ' * depths[call]}  {'reads' if one.there else 'MISSING'} {one.path}")
    kinds = Counter(call.step.kind for call in found.calls)
    for program in programs:
        values = [cell.value for cell in program.cells]
        blocked = sum(any(call in found.blocked for call in value.calls()) for value in values)
        lost = [value.unavailable for value in values if value.unavailable]
        can = len(values) - blocked - len(lost)
        typer.echo(
            f"{program.study.name}, {program.lab.scale}: {len(values)} cells; {can} can be measured, "
            f"{blocked} lack files, {len(lost)} are unavailable"
        )
        for reason in dict.fromkeys(lost):
            typer.echo(f"  unavailable: {reason} ({lost.count(reason)} cells)")
    typer.echo(f"to do: {', '.join(f'{n} {kind}' for kind, n in kinds.items()) or 'nothing'}")
    missing = found.missing()
    for path in missing:
        typer.echo(f"missing: {path}")
    typer.echo(f"{len(missing)} files are missing" if missing else "every file is there; everything resolves")


def _require_something(programs: Sequence[Program], found: Inspection) -> None:
    if any(call not in found.blocked for call in found.targets):
        return
    missing = list(found.missing())
    reasons = {cell.value.unavailable for program in programs for cell in program.cells}
    raise ConfigurationError(
        [*(f"not there: {path}" for path in missing), *sorted(filter(None, reasons))],
        heading="nothing can be measured; `--dry-run` shows who reads what",
    )


def _list(names: Sequence[str] | None) -> None:
    from isoglot.studies.catalogue import builtin_studies, find_studies

    studies = find_studies(names) if names else list(builtin_studies().values())
    width = max(len(study.name) for study in studies) + 2
    for study in studies:
        typer.echo(fill(f"{study.name:{width}}{study.title}", 80, subsequent_indent=" " * width))


class DemoOptions(Options):
    """Size and place of the demo."""

    out: Path = option(Path("runs/demo"), "Folder to write; finished parts are kept.", flags=["--out", "-o"])
    steps: int | None = option(None, "Optimiser steps of each pre-training; by default 800.", ge=1)
    seed: Seed = option(1, "Seed of the generated text and of all runs.")
    workers: Workers | None = option(
        None, "Processes of one thread each; by default one per core, four at most."
    )
    settings: dict[str, Any] = settings_option(
        "Change a size: --set alpha=1; repeatable.", metavar="SIZE=VALUE"
    )


@with_flags
def demo(options: DemoOptions, running: RunFlags) -> None:
    """Train four objectives from scratch and compare what transfers.

    MLM, XLM, DICT-MLM and ALIGN-MLM (Tang et al. 2022) learn two languages that share no word and no word order:
    English of a small made-up world, and its copy in other letters with each sentence's words reversed. Each is
    fine-tuned on English (zero-shot) and on the copy (supervised), and tested on the copy; a report shows all of it.
    Offline and without any data: under five minutes on two cores.

    Each is given every sentence pair and the whole dictionary. The paper's quarter takes longer to spread to the rest:

    isoglot demo --set dictionary=0.25 --set parallel=0.25 --out runs/quarter
    """
    from isoglot.studies.demo import run_demo

    changes: dict[str, Any] = {"seeds": [options.seed], "world_seed": options.seed}
    if options.steps is not None:
        changes |= {"steps": options.steps, "warmup": options.steps // 10}
    changes |= options.settings
    with Console(quiet=running.quiet) as console:
        results, page = run_demo(options.out, changes=changes, workers=options.workers, progress=console)
    print_results(results)
    typer.echo(str(page))
