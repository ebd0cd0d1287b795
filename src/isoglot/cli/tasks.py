"""``isoglot finetune`` and ``isoglot evaluate``."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from isoglot.cli.task_options import DATA_HELP, PRESET_HELP, TASK_HELP, seeds_of, values_of

if TYPE_CHECKING:
    from isoglot.results import Result
    from isoglot.tasks.features import Precision

__all__ = ["evaluate", "finetune", "register"]


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(finetune)
    app.command()(evaluate)


def _list_tasks(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    from isoglot.cli.task_list import settings_list, task_list

    typer.echo(task_list())
    if context.info_name == "finetune":
        typer.echo(f"\n{settings_list()}")
    raise typer.Exit


_TASKS = typer.Option(
    False, "--tasks", is_eager=True, callback=_list_tasks, help="List the tasks and their options."
)


def finetune(  # noqa: PLR0917 - one parameter a flag
    checkpoint: str = typer.Argument(
        ..., metavar="CHECKPOINT", help="Folder of a checkpoint or run, or a hub name."
    ),
    task: str = typer.Option(..., "--task", "-t", help=TASK_HELP),
    data: list[str] = typer.Option(..., "--data", "-d", help=DATA_HELP),
    out: Path = typer.Option(
        ..., "--out", "-o", help="Folder of the run; with several seeds, one folder per seed in it."
    ),
    language: str = typer.Option(
        "en", "--language", "-l", help="Language of the training data; several with commas."
    ),
    preset: str = typer.Option("xtreme", help=PRESET_HELP),
    seed: str = typer.Option("1", help="Seed, or several with commas."),
    epochs: float | None = typer.Option(None, help="Epochs of training; by default the preset's."),
    settings: list[str] = typer.Option(
        None,
        "--set",
        metavar="KEY=VALUE",
        help="Any setting, for example --set learning_rate=1e-5,2e-5 (both are tried), --set select=joint, --set "
        "setting=code_switch, or an option of the task such as --set stride=64.",
    ),
    resume: bool = typer.Option(True, help="Go on with an unfinished run in the folder."),
    tasks: bool = _TASKS,
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Only print errors."),
) -> None:
    """Fine-tune an encoder on a task: a checkpoint in, a checkpoint with a head out.

    [bold]isoglot finetune RUN --task pos --language en --data ud --out pos-en[/bold]

    The best checkpoint on the training language's dev data is kept, unless --set select says otherwise. Zero-shot:
    train on one language, evaluate on others. Translate-train: give the translations' language. A finished
    run is not run again.
    """
    del tasks
    from isoglot.cli.console import Console
    from isoglot.finetuning.finetune import finetune as run
    from isoglot.finetuning.options import task_with_settings

    values = values_of(settings)
    if epochs is not None:
        values["epochs"] = epochs
    built, train = task_with_settings(task, data, paper=preset, **values)
    seeds = seeds_of(seed)
    with Console(quiet=quiet) as console:
        for number in seeds:
            folder = out if len(seeds) == 1 else out / f"seed-{number}"
            found = run(
                checkpoint, built, language=language, seed=number, train=train, out=folder, resume=resume,
                progress=console,
            )  # fmt: skip
            if os.environ.get("RANK", "0") == "0":  # under torchrun the first process speaks
                typer.echo(str(found))


def evaluate(  # noqa: PLR0917 - one parameter a flag
    checkpoints: list[str] = typer.Argument(
        ..., metavar="CHECKPOINT...", help="Folders of checkpoints or runs."
    ),
    task: str = typer.Option(..., "--task", "-t", help=TASK_HELP),
    languages: str = typer.Option(..., "--languages", "-l", help="With commas; de-es for a pair."),
    data: list[str] = typer.Option(..., "--data", "-d", help=DATA_HELP),
    out: Path = typer.Option(
        Path("results.jsonl"), "--out", "-o", help="File that rows of results are added to."
    ),
    split: str = typer.Option("test", help="test, dev or train."),
    name: str | None = typer.Option(None, help="Name of the task in results, for example pos_pud."),
    run: str | None = typer.Option(None, help="Name of the run in results."),
    predictions: Path | None = typer.Option(
        None,
        help="Write predictions here, in XTREME's submission format; of several checkpoints each in a folder of its "
        "own, named as the checkpoint is.",
    ),
    max_tokens: int = typer.Option(8192, min=1, help="Padded tokens in a batch."),
    precision: str = typer.Option("float32", help="float32, bfloat16 or float16."),
    settings: list[str] = typer.Option(
        None, "--set", metavar="KEY=VALUE", help="An option of the task, for example --set layer=8."
    ),
    again: bool = typer.Option(False, help="Measure even what is in the file already."),
    tasks: bool = _TASKS,
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Only print errors."),
) -> None:
    """Measure checkpoints on a task in any number of languages.

    [bold]isoglot evaluate pos-en --task pos --languages de,es --data 'ud/{language}_pud-ud-{split}.conllu'[/bold]

    Rows are added to the file as they are found, and one that is there is not measured again: a stopped evaluation goes
    on where it was. Values are per cent; checkpoints of one run with several seeds are shown as mean ± standard
    deviation.
    """
    del tasks
    from isoglot.cli.console import Console, print_table
    from isoglot.errors import ConfigurationError
    from isoglot.finetuning.evaluate import EvaluateOptions, require_one_process
    from isoglot.finetuning.evaluate import evaluate as measure
    from isoglot.tasks import build_task

    require_one_process("evaluate", "runs")
    if precision not in ("float32", "bfloat16", "float16"):
        raise ConfigurationError(f"--precision {precision!r} given; it is float32, bfloat16 or float16")
    values = values_of(settings) | ({} if name is None else {"name": name})
    options = EvaluateOptions(
        out=out,
        run=run,
        max_tokens=max_tokens,
        precision=cast("Precision", precision),
        again=again,
        language_ids=values.pop("language_ids", None),
    )
    wanted = [code.strip() for code in languages.split(",") if code.strip()]
    rows = []
    with Console(quiet=quiet) as console:
        for checkpoint, place in zip(checkpoints, _places(checkpoints, predictions), strict=True):
            built = build_task(task, data, **values)
            own = replace(options, predictions=place)
            rows += measure(checkpoint, built, languages=wanted, split=split, options=own, progress=console)
    if not quiet:
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
