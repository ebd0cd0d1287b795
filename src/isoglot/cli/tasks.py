"""``isoglot finetune``, ``isoglot evaluate``, ``isoglot predict`` and ``isoglot transfer``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from isoglot.cli.console import Console, printed_at_end
from isoglot.cli.flags import KEEP_ADAPTER, CompareFlags, with_flags
from isoglot.core.options import FileName, Options, OutputFile, OutputText, Seed, option, settings_option
from isoglot.evaluation.options import EvaluateOptions, MeasureOptions
from isoglot.finetuning.options import FinetuneOptions, task_with_settings
from isoglot.runs.files import inside
from isoglot.runs.ranks import require_one_process
from isoglot.runs.sweep import SweepRequest, check_each, planned_runs, refuse_given_twice

Checkpoints = Annotated[
    list[str], typer.Argument(metavar="CHECKPOINT", help="Folders of checkpoints or runs, or hub names.")
]
Checkpoint = Annotated[
    str,
    typer.Argument(
        metavar="CHECKPOINT", help="Folder of a checkpoint or a run, packed aligner, or hub name."
    ),
]


class TaskFlags(Options):
    """Flags for a task and its data."""

    task: str = option(
        ...,
        "Name of the task (`isoglot finetune --tasks` lists all), or your own class: package.module:Name.",
        flags=["--task", "-t"],
    )
    data: tuple[str, ...] = option(
        ...,
        "File, folder, template ('wikiann/{language}/{split}') or hub name of the data; repeatable. train=PATH, "
        "dev=PATH or test=PATH for one split; PATH#0:80% for a part of the rows.",
        flags=["--data", "-d"],
        metavar="PLACE",
    )


class TrainingFlags(SweepRequest):
    """Flags for the settings of fine-tuning."""

    preset: str = option(
        "xtreme", "The paper whose training settings are used: xtreme, weam, ppa, align_mlm or xlm_align."
    )
    seed: tuple[Seed, ...] = option(
        (1,),
        "Seed of the random numbers; 1,2,3 for three runs.",
        flags=["--seed"],
        commas=True,
        min_length=1,
    )
    epochs: float | None = option(None, "Passes over the training data; by default the preset's.")
    settings: dict[str, Any] = settings_option(
        "Setting of fine-tuning or option of the task, as `isoglot finetune --tasks` lists them: --set batch_size=16; "
        "repeatable."
    )
    keep_adapter: bool = option(False, KEEP_ADAPTER)

    def changes(self) -> dict[str, Any]:
        """Values that replace those of the preset."""
        return self.settings | ({} if self.epochs is None else {"epochs": self.epochs})

    def task_and_settings(
        self, what: TaskFlags, name: str | None, swept: Mapping[str, Any]
    ) -> tuple[Any, FinetuneOptions]:
        """Build the task of one run of a sweep, and the settings with which it is fine-tuned.

        ``name``: What the task is called in results; by default its own name. ``swept``: The run's values.
        """
        refuse_given_twice(swept, self.changes())
        values = {**self.changes(), **swept}
        if name is not None:
            values["name"] = name
        built, settings = task_with_settings(what.task, what.data, paper=self.preset, **values)
        return built, settings.with_kept_adapter() if self.keep_adapter else settings


def _list_tasks(context: typer.Context, listed: bool) -> None:
    if not listed:
        return
    from isoglot.cli.option_list import settings_list, task_list

    typer.echo(task_list())
    if context.info_name == "finetune":
        typer.echo(f"\n{settings_list()}")
    raise typer.Exit


_Tasks = Annotated[
    bool,
    typer.Option(
        "--tasks",
        is_eager=True,
        callback=_list_tasks,
        help="List what --task can be with all options, and exit.",
    ),
]


@with_flags
def finetune(
    checkpoint: Checkpoint,
    what: TaskFlags,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the run; several runs make one folder each in it.")
    ],
    train: TrainingFlags,
    running: CompareFlags,
    language: Annotated[
        str, typer.Option("--language", "-l", help="Language of the training data; several with commas.")
    ] = "en",
    resume: Annotated[bool, typer.Option(help="Resume an unfinished run in the folder.")] = True,
    tasks: _Tasks = False,
) -> None:
    """Train an encoder for a task such as tagging or questions.

    Tagging parts of speech, in English; `isoglot evaluate` then tests it in other languages:

    isoglot finetune RUN --task pos --language en --data ud --out pos-en

    Several learning rates and seeds; the development data choose the learning rate:

    isoglot finetune RUN --task xnli --data xnli --set learning_rate=1e-5,2e-5 --seed 1,2,3 --out xnli

    A run of its own for each value, to see what it does:

    isoglot finetune RUN --task xnli --data xnli --sweep learning_rate=1e-5,2e-5 --seed 1,2,3 --out xnli

    The checkpoint that is best on the training language's development data is kept; --set select=last keeps the last
    one. A finished run is not run again.
    """
    from isoglot.finetuning.api import finetune_runs

    runs = planned_runs(out, train.sweep, train.seed)
    with Console(quiet=running.quiet) as console:
        made = finetune_runs(
            checkpoint, partial(train.task_and_settings, what, None), language, runs, workers=train.workers,
            resume=resume, progress=console,
        )  # fmt: skip
    if os.environ.get("RANK", "0") == "0":  # under torchrun the first process speaks
        for path in made:
            typer.echo(str(path))


class EvaluateFlags(Options):
    """Flags for what is measured, and where results go."""

    languages: tuple[str, ...] = option(
        ..., "Languages to test; de-es for a pair of languages.", flags=["--languages", "-l"], commas=True
    )
    out: OutputFile = option(
        Path("results.jsonl"), "File that rows of results are added to.", flags=["--out", "-o"]
    )
    predictions: Path | None = option(
        None, "Folder for predictions in XTREME's submission format; one folder per checkpoint in it."
    )
    split: str = option("test", "Part of the data to test on: test, dev or train.")
    name: FileName | None = option(None, "Name of the task in results, for example pos_pud.")
    settings: dict[str, Any] = settings_option(
        "Option of the task, as --tasks lists them: --set layer=8; repeatable."
    )


@with_flags
def evaluate(
    checkpoints: Annotated[
        list[str],
        typer.Argument(
            metavar="CHECKPOINT",
            help="Folders of checkpoints or runs, hub names, or a folder of several runs for all of them.",
        ),
    ],
    what: TaskFlags,
    tested: EvaluateFlags,
    measuring: MeasureOptions,
    running: CompareFlags,
    tasks: _Tasks = False,
) -> None:
    """Test encoders on a task, in any number of languages.

    A model that `isoglot finetune` trained:

    isoglot evaluate pos-en --task pos --languages de,es --data 'ud/{language}_pud-ud-{split}.conllu'

    Any encoder, by how often it finds a sentence's translation:

    isoglot evaluate RUN --task tatoeba --languages de,es --data tatoeba --set layer=8

    Each result is a row of the file, in %. A row that the file has is not measured again, so a stopped evaluation
    continues. Checkpoints of one run with several seeds are printed as mean ± standard deviation.
    """
    from isoglot.checkpoints.folder import checkpoints_of
    from isoglot.evaluation.evaluate import evaluate_checkpoint as measure
    from isoglot.evaluation.prediction_folders import prediction_folders
    from isoglot.tasks import build_task

    require_one_process("evaluate", "runs")
    values = tested.settings | ({} if tested.name is None else {"name": tested.name})
    # `--set language_ids` belongs to the measuring, and not to the task.
    language_ids = values.pop("language_ids", None)
    options = {**dict(measuring), "out": tested.out, "language_ids": language_ids}
    with printed_at_end() as measured, Console(quiet=running.quiet) as console:
        every = [str(checkpoint) for place in checkpoints for checkpoint in checkpoints_of(place)]
        for checkpoint, folder in zip(every, prediction_folders(every, tested.predictions), strict=True):
            measure(
                checkpoint,
                build_task(what.task, what.data, **values),
                languages=tested.languages,
                split=tested.split,
                options=EvaluateOptions(**options, predictions=folder),
                progress=console,
                on_measured=measured.adder(checkpoint, partial(_recipe_of_name, checkpoint)),
            )


def _recipe_of_name(checkpoint: str) -> dict[str, dict[str, Any]]:
    """Read the recipe of a checkpoint, which is named by its folder or on the hub."""
    from isoglot.checkpoints.folder import checkpoint_folder
    from isoglot.tasks.cards import recipe_of

    return recipe_of(checkpoint_folder(checkpoint))


class PredictFlags(Options):
    """Flags for what is predicted, and where it goes."""

    task: str = option(
        ...,
        "Name of the task (`isoglot finetune --tasks` lists all), or package.module:Name.",
        flags=["--task", "-t"],
    )
    out: OutputText = option(
        Path("-"), "File of JSON lines to write; standard output by default.", flags=["--out", "-o"]
    )
    language: str = option(
        "en", "Language of the rows that have no column `language`.", flags=["--language", "-l"]
    )
    columns: dict[str, str] = option(
        {},
        "Where the file calls a column of the task otherwise: text=body; repeatable.",
        flags=["--column", "--columns"],
        metavar="FIELD=COLUMN",
    )
    probabilities: bool = option(
        False, "Also give the probability of every label; for tags those of each word."
    )
    settings: dict[str, Any] = settings_option(
        "Option of the task or of the forward pass: --set max_tokens=4096; repeatable."
    )


@with_flags
def predict(
    checkpoint: Checkpoint,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Rows: .jsonl, .csv or .tsv with a header, .parquet, or one text a line; - is standard input.",
        ),
    ],
    options: PredictFlags,
    running: CompareFlags,
) -> None:
    """Label texts or words, or answer questions, in new data.

    Each row of the file becomes a line of JSON: its own columns, then `prediction` and, for labels of texts and pairs,
    `probability`. Rows need no labels.

    isoglot predict RUN tickets.csv --task text_classification --column text=body -o labelled.jsonl

    isoglot predict RUN tickets.jsonl --task text_classification --probabilities -o labelled.jsonl
    """
    from isoglot.evaluation.predict import predict as label
    from isoglot.formats.row_files import read_rows
    from isoglot.runs.files import refuse_overwriting, require_writable, write_text
    from isoglot.runs.json_lines import json_line

    require_one_process("predict", "labels")
    to_standard_output = str(options.out) == "-"
    if not to_standard_output:
        refuse_overwriting(options.out, [file])
        require_writable(options.out)
    rows = read_rows(file)
    with Console(quiet=running.quiet) as console:
        labelled = label(
            checkpoint, options.task, rows, language=options.language, columns=options.columns,
            probabilities=options.probabilities, progress=console, **options.settings,
        )  # fmt: skip
    text = "".join(map(json_line, labelled))
    if to_standard_output:
        typer.echo(text, nl=False)
    else:
        write_text(options.out, text)


class TransferFlags(Options):
    """Flags for the languages, and for what becomes of the runs."""

    languages: tuple[str, ...] = option(
        ..., "Source language, then target languages: en,de,es.", flags=["--languages", "-l"], commas=True
    )
    out: Path = option(..., "Folder; each run and seed has its own folder in it.", flags=["--out", "-o"])
    split: str = option("dev", "Part of the data to test on: test or dev, which the paper reports.")
    name: FileName | None = option(None, "Name of the task in results, for example pos_ewt.")
    run: tuple[str, ...] = option(
        (), "Name of a run in results, once for each checkpoint; by default its own.", metavar="NAME"
    )
    keep: bool = option(False, "Keep fine-tuned weights after they are tested.")


class TransferTrainingFlags(TrainingFlags):
    """Flags for the settings of fine-tuning; by default those of ALIGN-MLM's paper."""

    preset: str = option("align_mlm", str(TrainingFlags.model_fields["preset"].description))


@with_flags
def transfer(
    checkpoints: Checkpoints,
    what: TaskFlags,
    options: TransferFlags,
    train: TransferTrainingFlags,
    running: CompareFlags,
) -> None:
    """Measure how a task learned in one language works in others.

    isoglot transfer mlm align_mlm --task pos --languages en,en-x-trans-inv --data pos --seed 1,2,3 --out gap

    isoglot report gap

    The first language is the source, the others are targets. Each checkpoint is fine-tuned on the source (zero-shot,
    ZS) and on each target (supervised, SUP), and tested on the targets; Δ = SUP − ZS is what is lost without target
    data. Then the fine-tuned weights are deleted, unless --keep is given. Finished runs are not done again.
    """
    from isoglot.analysis.transfer import TransferJob, TransferOptions, run_folders, transfer_runs

    places: dict[str, Path] = {}  # label of a run to the folder of its checkpoint's runs
    jobs = []
    # Checkpoints by the names of their runs, as results have them.
    checkpoints_by_name = run_folders(checkpoints, options.run)
    for name, checkpoint in checkpoints_by_name.items():
        folder = inside(options.out, name.replace("/", "--"))
        runs = planned_runs(folder, train.sweep, train.seed, always_by_seed=True)
        built = check_each(runs, partial(train.task_and_settings, what, options.name))
        for run, (task, settings) in zip(runs, built, strict=True):
            labelled = replace(run, label=f"{name}/{run.label}")
            how = TransferOptions(settings.changed(run=name), options.split, options.keep, run.values)
            jobs.append(TransferJob(labelled, checkpoint, task, how))
            places[labelled.label] = folder
    with printed_at_end() as measured, Console(quiet=running.quiet) as console:
        transfer_runs(
            jobs, options.languages, workers=train.workers, progress=console,
            on_measured=lambda run, rows: measured.adder(places[run.label])(rows),
        )  # fmt: skip
