"""``isoglot transfer``: zero-shot, supervised and the gap between them."""

from __future__ import annotations

from pathlib import Path

from isoglot.cli.flags import with_flags
from isoglot.cli.running import Running
from isoglot.cli.task_options import Checkpoints, TaskData, Training
from isoglot.options import Options, option


class Transferred(Options):
    """Languages and what becomes of the runs."""

    languages: tuple[str, ...] = option(
        ..., "Source, then targets: en,en-x-trans-inv.", flags=["--languages", "-l"], commas=True
    )
    out: Path = option(..., "Folder; each run and seed has its own folder in it.", flags=["--out", "-o"])
    split: str = option("dev", "Split to test on; the paper reports dev.")
    name: str | None = option(None, "Name of the task in results, for example pos_ewt.")
    run: tuple[str, ...] = option(
        (), "Name of a run in results, once for each checkpoint; by default its own.", metavar="NAME"
    )
    keep: bool = option(False, "Keep fine-tuned weights after they are tested.")


class TransferTraining(Training):
    """Settings of fine-tuning; the paper's by default."""

    preset: str = option("align_mlm", str(Training.model_fields["preset"].description))


@with_flags
def transfer(
    checkpoints: Checkpoints,
    data: TaskData,
    options: Transferred,
    train: TransferTraining,
    running: Running,
) -> None:
    """Measure zero-shot (ZS), supervised (SUP) and Δ = SUP − ZS.

    Each checkpoint is fine-tuned on the source and on each target language, and tested on the targets, derived
    languages or any others; then its weights are deleted, unless --keep is given. Finished runs are not done again.
    `isoglot report gap` shows the results; --beside mlm=align_mlm:Table3:mlm puts a paper's figures beside them.

    isoglot transfer mlm align_mlm --task pos --languages en,en-x-trans-inv --data pos --seed 1,2,3 --out gap
    """
    from isoglot.cli.console import Console, print_table
    from isoglot.finetuning.options import task_with_settings
    from isoglot.finetuning.transfer import TransferOptions, run_folders
    from isoglot.finetuning.transfer import transfer as measure

    values = train.changes() | ({} if options.name is None else {"name": options.name})
    built, settings = task_with_settings(data.task, data.data, paper=train.preset, **values)
    rows = []
    with Console(quiet=running.quiet) as console:
        for run, checkpoint in run_folders(checkpoints, options.run).items():
            own = TransferOptions(settings.changed(run=run), options.split, options.keep)
            for seed in train.seeds:
                console.note(f"{run}, seed {seed}")
                rows += measure(
                    checkpoint, built, languages=options.languages, seed=seed, options=own,
                    out=options.out / run.replace("/", "--") / f"seed-{seed}", progress=console,
                )  # fmt: skip
    if not running.quiet:
        heading = ("run", "language", "seed", "metric", "value")
        print_table(heading, [(r.run, r.language, str(r.seed), r.metric, f"{r.value:.2f}") for r in rows])
