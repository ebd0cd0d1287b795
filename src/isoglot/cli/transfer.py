"""``isoglot transfer``: zero-shot, supervised and the gap between them."""

from __future__ import annotations

from pathlib import Path

import typer

from isoglot.cli.task_options import DATA_HELP, PRESET_HELP, TASK_HELP, seeds_of, values_of

__all__ = ["register", "transfer"]


def register(app: typer.Typer) -> None:
    """Add this group's command."""
    app.command()(transfer)


def transfer(  # noqa: PLR0917 - one parameter a flag
    checkpoints: list[str] = typer.Argument(
        ..., metavar="CHECKPOINT...", help="Pre-trained: folders of checkpoints or runs, or hub names."
    ),
    task: str = typer.Option(..., "--task", "-t", help=TASK_HELP.replace("--tasks", "finetune --tasks")),
    languages: str = typer.Option(
        ..., "--languages", "-l", help="With commas: the source, then the targets, such as en,en-x-trans-inv."
    ),
    data: list[str] = typer.Option(..., "--data", "-d", help=DATA_HELP),
    out: Path = typer.Option(..., "--out", "-o", help="Folder; every run and seed has one of its own in it."),
    preset: str = typer.Option("align_mlm", help=PRESET_HELP),
    seed: str = typer.Option("1", help="Seed, or several with commas."),
    split: str = typer.Option("dev", help="To test on; the paper reports dev."),
    epochs: float | None = typer.Option(None, help="Epochs of training; by default the preset's."),
    name: str | None = typer.Option(None, help="Name of the task in results, for example pos_ewt."),
    run: list[str] = typer.Option(
        None, "--run", help="Name of a run in results, once for each checkpoint; by default its own."
    ),
    settings: list[str] = typer.Option(
        None,
        "--set",
        metavar="KEY=VALUE",
        help="Any setting of fine-tuning or option of the task, as in finetune.",
    ),
    keep: bool = typer.Option(False, "--keep", help="Keep fine-tuned weights after they are tested."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Only print errors."),
) -> None:
    """Zero-shot (ZS), supervised (SUP) and the gap Δ = SUP − ZS for derived languages, or for any others.

    [bold]isoglot transfer mlm align_mlm --task pos --languages en,en-x-trans-inv --data 'pos/{language}-{split}.conllu'
    --seed 1,2,3 --out gap[/bold]

    Each checkpoint is fine-tuned on the source and on each target language, and tested on the targets; then its
    weights are deleted, unless --keep is given. What is finished is not done again. Show it with
    isoglot report gap; --beside mlm=align_mlm:Table3:mlm puts a paper's figures beside it.
    """
    from isoglot.cli.console import Console, print_table
    from isoglot.finetuning.options import task_with_settings
    from isoglot.finetuning.transfer import TransferOptions, run_folders
    from isoglot.finetuning.transfer import transfer as measure

    values = values_of(settings) | ({} if epochs is None else {"epochs": epochs})
    built, train = task_with_settings(
        task, data, paper=preset, **values | ({} if name is None else {"name": name})
    )
    wanted = [code.strip() for code in languages.split(",") if code.strip()]
    numbers, runs = seeds_of(seed), run_folders(checkpoints, run or ())
    rows = []
    with Console(quiet=quiet) as console:
        for called, checkpoint in runs.items():
            options = TransferOptions(train.changed(run=called), split, keep)
            for number in numbers:
                console.note(f"{called}, seed {number}")
                rows += measure(
                    checkpoint, built, languages=wanted, seed=number, options=options,
                    out=out / called.replace("/", "--") / f"seed-{number}", progress=console,
                )  # fmt: skip
    if not quiet:
        heading = ("run", "language", "seed", "metric", "value")
        print_table(heading, [(r.run, r.language, str(r.seed), r.metric, f"{r.value:.2f}") for r in rows])
