"""``isoglot finetune`` and ``isoglot evaluate``."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoglot.cli.flags import with_flags
from isoglot.cli.running import Running
from isoglot.cli.task_options import Checkpoints, TaskData, Training
from isoglot.finetuning.options import EvaluateOptions, Measuring
from isoglot.options import Options, option

if TYPE_CHECKING:
    from isoglot.results import Result


def _list_tasks(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    from isoglot.cli.option_list import settings_list, task_list

    typer.echo(task_list())
    if context.info_name == "finetune":
        typer.echo(f"\n{settings_list()}")
    raise typer.Exit


_Tasks = Annotated[
    bool,
    typer.Option("--tasks", is_eager=True, callback=_list_tasks, help="List the tasks and their options."),
]


@with_flags
def finetune(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="Folder of a checkpoint or run, or a hub name.")
    ],
    data: TaskData,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the run; several seeds make one folder each in it.")
    ],
    train: Training,
    running: Running,
    language: Annotated[
        str, typer.Option("--language", "-l", help="Language of the training data; several with commas.")
    ] = "en",
    resume: Annotated[bool, typer.Option(help="Resume an unfinished run in the folder.")] = True,
    tasks: _Tasks = False,
) -> None:
    """Fine-tune an encoder on a task.

    The best checkpoint on the training language's dev data is kept; --set select=last keeps the last one. Zero-shot:
    train on one language, evaluate on others. Translate-train: give the translations' language. A finished run is not
    run again.

    isoglot finetune RUN --task pos --language en --data ud --out pos-en

    isoglot finetune RUN --task xnli --data xnli --set learning_rate=1e-5,2e-5 --seed 1,2,3 --out xnli
    """
    del tasks
    from isoglot.cli.console import Console
    from isoglot.finetuning.finetune import finetune as run
    from isoglot.finetuning.options import task_with_settings

    built, settings = task_with_settings(data.task, data.data, paper=train.preset, **train.changes())
    with Console(quiet=running.quiet) as console:
        for seed in train.seeds:
            folder = out if len(train.seeds) == 1 else out / f"seed-{seed}"
            found = run(
                checkpoint, built, language=language, seed=seed, train=settings, out=folder, resume=resume,
                progress=console,
            )  # fmt: skip
            if os.environ.get("RANK", "0") == "0":  # under torchrun the first process speaks
                typer.echo(str(found))


class Tested(Options):
    """What is measured, and where it goes."""

    languages: tuple[str, ...] = option(
        ..., "Languages to test; de-es for a pair.", flags=["--languages", "-l"], commas=True
    )
    out: Path = option(
        Path("results.jsonl"), "File that rows of results are added to.", flags=["--out", "-o"]
    )
    predictions: Path | None = option(
        None, "Folder for predictions in XTREME's submission format; one folder per checkpoint in it."
    )
    split: str = option("test", "Split to test on: test, dev or train.")
    name: str | None = option(None, "Name of the task in results, for example pos_pud.")
    settings: dict[str, Any] = option(
        {},
        "Option of the task (--tasks lists them): --set layer=8; repeatable.",
        flags=["--set"],
        metavar="KEY=VALUE",
    )


@with_flags
def evaluate(
    checkpoints: Checkpoints,
    data: TaskData,
    tested: Tested,
    measuring: Measuring,
    running: Running,
    tasks: _Tasks = False,
) -> None:
    """Measure checkpoints on a task in any number of languages.

    Rows are added to the file as they are measured, and a row that the file has is not measured again: a stopped
    evaluation resumes. Values are in %. Checkpoints of one run with several seeds are printed as mean ± standard
    deviation.

    isoglot evaluate pos-en --task pos --languages de,es --data 'ud/{language}_pud-ud-{split}.conllu'

    isoglot evaluate RUN --task tatoeba --languages de,es --data tatoeba --set layer=8
    """
    del tasks
    from isoglot.cli.console import Console, print_table
    from isoglot.finetuning.evaluate import evaluate as measure
    from isoglot.finetuning.evaluate import require_one_process
    from isoglot.tasks import build_task

    require_one_process("evaluate", "runs")
    values = tested.settings | ({} if tested.name is None else {"name": tested.name})
    options = {**dict(measuring), "out": tested.out, "language_ids": values.pop("language_ids", None)}
    rows = []
    with Console(quiet=running.quiet) as console:
        for checkpoint, place in zip(checkpoints, _places(checkpoints, tested.predictions), strict=True):
            built = build_task(data.task, data.data, **values)
            own = EvaluateOptions(**options, predictions=place)
            rows += measure(
                checkpoint,
                built,
                languages=tested.languages,
                split=tested.split,
                options=own,
                progress=console,
            )
    if not running.quiet:
        print_table(*_wide(rows))


def _places(checkpoints: Sequence[str], folder: Path | None) -> list[Path | None]:
    """Where each checkpoint's predictions go."""
    if folder is None or len(checkpoints) == 1:
        return [folder] * len(checkpoints)
    paths = [os.path.abspath(checkpoint) for checkpoint in checkpoints]  # noqa: PTH100 - hub names are no paths
    shared = os.path.commonpath([os.path.dirname(path) for path in paths])  # noqa: PTH120
    return [folder / os.path.relpath(path, shared) for path in paths]


def _wide(rows: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Languages as columns, their mean last; mean ± standard deviation over seeds."""
    languages = list(dict.fromkeys(row.language for row in rows))
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for row in rows:
        task = f"{row.task} {row.settings}".strip()
        found.setdefault((row.run, task, row.metric), {}).setdefault(row.language, []).append(row.value)
    lines = []
    for names, own in found.items():
        cells = [_cell(own.get(language, [])) for language in languages]
        means = [statistics.fmean(own[language]) for language in languages if own.get(language)]
        if len(languages) > 1:
            cells.append(f"{statistics.fmean(means):.2f}" if len(means) == len(languages) else "")
        lines.append([*names, f"{max(map(len, own.values()))}", *cells])
    return ["run", "task", "metric", "seeds", *languages, *(["mean"] if len(languages) > 1 else [])], lines


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ""
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{spread}"
