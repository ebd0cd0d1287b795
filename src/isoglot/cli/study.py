"""``isoglot study`` and ``isoglot demo``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isoglot.cli.console import Console, print_results
from isoglot.cli.flags import CompareFlags, RunFlags, with_flags
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options, Seed, Workers, option, settings_option
from isoglot.study_request import StudyRequest, part_and_cells

if TYPE_CHECKING:
    from isoglot.studies.parts import StudyPart
    from isoglot.studies.program import Plan, Program


Form = Literal["text", "csv", "latex"]


class StudyOptions(StudyRequest):
    """Flags for what is done of a study, where, and how it is printed."""

    out: Path | None = option(
        None, "Folder to write; studies in one folder share their runs.", flags=["--out", "-o"]
    )
    listed: bool = option(False, "List the studies.", flags=["--list"])
    dry_run: bool = option(
        False, "Check everything, print steps, files and missing inputs, and write nothing."
    )
    show: bool = option(
        False,
        "With --dry-run, also print every value of the steps: composed recipes, hyper-parameters.",
        only_with="dry_run",
    )
    form: Form = option("text", "How tables are printed.", flags=["--format", "-f"])
    workers: Workers = option(1, str(StudyRequest.model_fields["workers"].description))


@with_flags
def study(
    options: StudyOptions,
    running: CompareFlags,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Studies (align_mlm/table3), papers (align_mlm), or FILE.py."),
    ] = None,
) -> None:
    """Repeat a table of a paper, and print both side by side.

    See which tables there are, and what one of them needs:

    isoglot study --list

    isoglot study align_mlm/table3 --dry-run

    Make the data, train the encoders, fine-tune and measure them:

    isoglot study align_mlm/table3 --scale tiny --out runs/study

    A run that several cells or studies need is done once. Finished runs are not repeated, and a stopped study
    continues.
    """
    if options.listed:
        _list(names)
        return
    from isoglot.studies.making import Tally, measure
    from isoglot.studies.program import Selection, inspect_programs

    if not names:
        raise ConfigurationError("no study named; `isoglot study --list` shows them")
    if options.out is None and not options.dry_run:
        raise ConfigurationError("--out is missing; name a folder: --out runs/study")
    part_of_encoders, cell_patterns = part_and_cells(options.only)
    root = options.out or Path("runs/study")
    selection = Selection(names, root, options.scale, options.changes, cell_patterns, options.keep)
    with Console(quiet=running.quiet) as console:
        programs = selection.programs(console)
        plan = inspect_programs(programs, part_of_encoders=part_of_encoders, check=not options.tables_only)
        tally = Tally()
        if options.dry_run:
            _show(programs, plan, values=options.show)
        elif not options.tables_only:
            engine, workers = options.engine, options.workers
            tally = measure(programs, plan, selection, engine=engine, workers=workers, progress=console)
            steps = ", ".join(f"{count} {kind}" for kind, count in tally.made.items())
            console.note(f"done: {steps or 'nothing was left to do'}")
    if not options.dry_run:
        _print(programs, options, quiet=running.quiet)
    tally.require_all()
    if not options.tables_only:
        plan.require_measurable()


def _print(programs: Sequence[Program], options: StudyOptions, *, quiet: bool) -> None:
    from isoglot.reports.export import FORMS
    from isoglot.studies.tables import write_study

    for program in programs:
        written = write_study(program, even_without_numbers=not options.tables_only)
        if options.form == "text":
            caption = "" if written.tables else program.caption
            typer.echo(f"{program.study.name}: {program.study.title}\n{caption}")
        typer.echo("\n".join(FORMS[options.form](table) for table in written.tables))
        if not quiet and written.folder.is_dir():
            typer.echo(
                f"wrote {written.folder}; `isoglot report {written.folder}` shows it as a page", err=True
            )


def _show(programs: Sequence[Program], plan: Plan, *, values: bool) -> None:
    """Print the plan of a dry run: steps, files that they read, cells that can be measured, what is missing.

    With ``values`` every step comes first, with all values that it will use.
    """
    if values:
        _show_values(plan)
    # Each step to make, and the files from outside that it reads.
    for work, reads in plan.inputs.items():
        typer.echo(work.title)
        for read in reads:
            typer.echo(f"  {'reads' if read.there else 'MISSING'} {read.path}")
    # Each study: how many of its cells and figures can be had.
    for program in programs:
        selected = set(program.parts)
        parts = [part for part in plan.parts if part in selected]
        _show_counts(program, parts)
    # All steps by kind, and the files that are missing.
    kinds = Counter(work.step.kind for work in plan.inputs)
    typer.echo(f"to do: {', '.join(f'{count} {kind}' for kind, count in kinds.items()) or 'nothing'}")
    missing = plan.missing()
    for path in missing:
        typer.echo(f"missing: {path}")
    typer.echo(f"{len(missing)} files are missing" if missing else "every file is there; everything resolves")


def _show_values(plan: Plan) -> None:
    """Print each step once, with all values that it will use."""
    from isoglot.recipe.document import dump_yaml

    # `part.steps` are works: a step with its lab and title.
    works: list[Any] = []
    for part in plan.parts:
        works += part.steps
    for work in dict.fromkeys(works):
        typer.echo(f"# {work.title}\n{dump_yaml(work.lab.shown(work.step.explicit()))}")


def _show_counts(program: Program, parts: Sequence[StudyPart]) -> None:
    """Print how many cells and figures of a study can be had, and why others cannot."""
    cells = [part for part in parts if part.is_cell]
    figures = [part for part in parts if not part.is_cell]
    counted = []
    if cells or not figures:
        counted.append(_counted(cells, "cells", "measured"))
    if figures:
        counted.append(_counted(figures, "figures", "drawn"))
    typer.echo(f"{program.study.name}, {program.lab.scale}: {'. '.join(counted)}")
    for reason in dict.fromkeys(part.unavailable for part in parts if part.unavailable):
        counts = []
        for group, what in ((cells, "cells"), (figures, "figures")):
            count = sum(part.unavailable == reason for part in group)
            if count:
                counts.append(f"{count} {what}")
        typer.echo(f"  unavailable: {reason} ({', '.join(counts)})")


def _counted(parts: Sequence[StudyPart], what: str, done: str) -> str:
    """Say how many parts there are, and how many can be had.

    ``12 cells; 9 can be measured, 3 lack files, 0 are unavailable``: ``what`` is ``cells``, ``done`` is ``measured``.
    """
    unavailable = sum(bool(part.unavailable) for part in parts)
    blocked = sum(bool(part.missing) and not part.unavailable for part in parts)
    return (
        f"{len(parts)} {what}; {len(parts) - blocked - unavailable} can be {done}, {blocked} lack files, "
        f"{unavailable} are unavailable"
    )


def _list(names: Sequence[str] | None) -> None:
    from isoglot.studies.catalogue import builtin_studies, find_studies

    studies = find_studies(names) if names else list(builtin_studies().values())
    width = max(len(study.name) for study in studies) + 2
    for study in studies:
        typer.echo(fill(f"{study.name:{width}}{study.title}", 80, subsequent_indent=" " * width))


class DemoOptions(Options):
    """Flags for the size and the place of the demo."""

    out: Path = option(Path("runs/demo"), "Folder to write; finished parts are kept.", flags=["--out", "-o"])
    steps: int | None = option(None, "Training steps of each encoder; by default 800.", ge=1)
    seed: Seed = option(1, "Seed of the random numbers, for the generated text and all runs.")
    workers: Workers | None = option(
        None, "Processes of one thread each; by default one per core, four at most."
    )
    settings: dict[str, Any] = settings_option(
        "Another size of the demo: --set alpha=1; repeatable.", metavar="SIZE=VALUE"
    )


@with_flags
def demo(options: DemoOptions, running: RunFlags) -> None:
    """Train and compare four small encoders, in ten minutes.

    isoglot demo

    MLM, XLM, DICT-MLM and ALIGN-MLM (Tang et al. 2022) learn two languages that share no word and no word order:
    English of a small made-up world, and its copy in other letters with each sentence's words reversed. Each is
    fine-tuned on English (zero-shot) and on the copy (supervised), and tested on the copy; a report shows all of it.
    Offline and without any data: five to ten minutes on two cores, by their speed.

    Each is given every sentence pair and the whole dictionary. The paper's quarter takes longer to spread to the rest:

    isoglot demo --set dictionary=0.25 --set parallel=0.25 --out runs/quarter
    """
    from isoglot.papers.demo import run_demo

    changes: dict[str, Any] = {"seeds": [options.seed], "world_seed": options.seed}
    if options.steps is not None:
        changes |= {"steps": options.steps, "warmup": options.steps // 10}
    changes |= options.settings
    with Console(quiet=running.quiet) as console:
        results, page = run_demo(options.out, changes=changes, workers=options.workers, progress=console)
    print_results([(row, options.out) for row in results])
    typer.echo(str(page))
