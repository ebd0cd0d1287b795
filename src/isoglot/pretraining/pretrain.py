"""``isoglot pretrain``: a recipe in, a run folder with a plain Hugging Face checkpoint out."""

import multiprocessing
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import TrainerCallback, TrainingArguments

from isoglot.core.errors import ConfigurationError
from isoglot.modules.adapter import write_adapter
from isoglot.modules.isolation import isolated_state
from isoglot.pretraining.build import build_model, build_trainer, explicit, require_columns
from isoglot.pretraining.recipe import Recipe
from isoglot.pretraining.streams import encoded, encoder_hash, input_hashes, prepared, tokenizer_of_run
from isoglot.recipe.document import dump_yaml
from isoglot.runs.cache import cache_folder
from isoglot.runs.files import require_writable, write_text
from isoglot.runs.folder import CHECKPOINT, RECIPE, checkpoint_entry, clear, require_checkpoint
from isoglot.runs.history import Checkpoint, write_history
from isoglot.runs.listed import require_own, whole_folder, write_listed
from isoglot.runs.lock import occupied
from isoglot.runs.record import MANIFEST, Record
from isoglot.runs.reporter import AnyReporter, Reporter, Silent, reporter_of
from isoglot.training.callbacks import LossReports, require_callback
from isoglot.training.checkpoints import ADAPTER, OBJECTIVES, checkpoints_in, save_objectives, why_incomplete
from isoglot.training.export import export_encoder
from isoglot.training.trainer import AlignmentTrainer

_TIMEOUT = 6 * 3600
"""Seconds that other ranks wait while the first one prepares, unless ``train.ddp_timeout`` says otherwise."""


@isolated_state()
def pretrain_one(
    recipe: Recipe,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: AnyReporter = True,
    callbacks: Sequence[TrainerCallback | type[TrainerCallback]] = (),
    cache: str | Path | None = None,
) -> Checkpoint:
    """Make one run of a checked recipe in a folder; the arguments are those of :func:`isoglot.pretrain`."""
    cache_path = cache_folder() if cache is None else Path(cache)
    out, existed = Path(out), Path(out).exists()
    args = training_arguments(recipe, out)
    is_main = args.process_index == 0
    report = reporter_of(progress) if is_main else Silent()
    watchers = [require_callback(callback) for callback in callbacks]
    with occupied(out) if is_main else nullcontext():
        return _pretrained(
            recipe, out, args, watchers, resume=resume, overwrite=overwrite, existed=existed, report=report,
            cache_path=cache_path,
        )  # fmt: skip


def _pretrained(  # noqa: PLR0913 - what one run is made of
    recipe: Recipe,
    out: Path,
    args: TrainingArguments,
    callbacks: Sequence[TrainerCallback],
    *,
    resume: bool,
    overwrite: bool,
    existed: bool,
    report: Reporter,
    cache_path: Path,
) -> Checkpoint:
    """Train in a folder that no other process works in; return its checkpoint.

    1. Look at the folder: refuse the run of another recipe before anything is prepared.
    2. Prepare the corpora. Look at the folder again, now that the data are known: refuse a run of this recipe on other
       data, or return the checkpoint of a finished one.
    3. Load the tokenizer, encode the streams, build the model.
    4. Write ``run.json`` and ``recipe.yaml``, then train, from the newest checkpoint if the run was killed.
    5. Export the encoder, and write the manifest last: with a manifest the run counts as finished.

    *States of the folder.* A new folder becomes unfinished at 4, when it gets ``run.json``, and finished at 5. Only a
    finished run has a checkpoint to return. A run that cannot go on raises: it stays unfinished, or is deleted if it
    was new and has not saved a ``checkpoint-N``. If a callback stops training early, without an exception, the
    callbacks' ``on_train_end`` and step 5 follow as after the last step: the run counts as finished.

    *Ranks.* Every rank runs all of this function. The first rank of each machine prepares while the others wait. Only
    the first rank of all (``is_main``) writes records. All ranks must decide alike (which state, which checkpoint, when
    to stop), or some wait for the others for ever. Here they do because they look at the same files. A decision that
    ranks could make differently, such as one by the clock, is made by the first rank and sent to the others, as
    :func:`isoglot.training.checkpoints.chosen_checkpoint` does.

    ``existed``: Whether the folder existed before; if nothing was trained, a new folder is deleted again.
    """
    is_main = args.process_index == 0
    record = run_record(recipe, out, overwrite=overwrite)
    state = record.state(resume=resume)  # 1
    with args.main_process_first(local=True, desc="preparing"):
        corpora = prepared(recipe, cache_path, report)  # 2
        made_from_data = {"inputs": input_hashes(recipe, corpora), "encoder": encoder_hash(recipe)}
        if state != "new":
            # The folder holds a run of this recipe. The recipe's data may have changed since, or the code of the user's
            # own classes. `run.json` has the values of both the recipe and the data (4): the first record compares the
            # recipe, this one the data.
            what = f"{record.what} on other data or code"
            data_record = Record(out, made_from_data, what=what, overwrite=overwrite)
            state = data_record.state(resume=resume)
        if state == "finished":
            return _finished_before(out, report)
        require_writable(out, folder=True)
        require_own(out / CHECKPOINT)
        if is_main and state == "new" and existed and overwrite:
            clear(out, keep=True)
        checkpoint_before = _newest_complete(out) if state == "unfinished" else None
        tokenizer = tokenizer_of_run(recipe, corpora, cache_path, report, checkpoint=checkpoint_before)  # 3
        streams = encoded(recipe, corpora, tokenizer, cache_path, report)
        assembly = build_model(recipe, tokenizer, corpora)
        require_columns(assembly.views, streams)
    try:
        if is_main and state == "new":  # 4
            record.begin(
                {
                    "name": recipe.name,
                    **record.made_from,
                    "seed": recipe.seed,
                    **made_from_data,
                    "changes": recipe.changes,
                    "values": recipe_values(recipe),
                }
            )
        trainer = build_trainer(recipe, assembly, streams, tokenizer, args)
        if is_main and not (out / RECIPE).is_file():
            resolved = dump_yaml(explicit(recipe, assembly.modules))
            write_text(out / RECIPE, f"# {recipe.name}, everything explicit\n{resolved}")
        losses = LossReports(report)
        for callback in (losses, *callbacks):
            trainer.add_callback(callback)
        report.note(f"training {recipe.name}: {trainer.batches.steps:,} steps, run folder {out}")
        # True: from the newest complete checkpoint.
        outcome = trainer.train(resume_from_checkpoint=True if state == "unfinished" else None)
    except BaseException:
        # Without a checkpoint nothing was trained: the folder must not look like a run that can be resumed.
        if is_main and state == "new" and not checkpoints_in(out):
            clear(out, keep=existed)
        raise
    checkpoint = _export(trainer, recipe, out, streams)  # 5
    if is_main:
        write_history(out, trainer.state.log_history)
        record.finish(
            {
                "steps": trainer.batches.steps,
                "resumed_at": losses.first_step,
                "metrics": outcome.metrics,
                "devices": args.world_size,
                **checkpoint_entry(out),
            }
        )
    trainer.accelerator.wait_for_everyone()
    report.note(f"wrote {checkpoint}")
    return Checkpoint(checkpoint)


def _finished_before(out: Path, report: Reporter) -> Checkpoint:
    """Return the checkpoint of a run that was finished before; refuse one that is missing or was changed."""
    if not (out / CHECKPOINT / "config.json").is_file():
        raise ConfigurationError(
            f"{out} is finished, but its {CHECKPOINT} is missing; delete {out / MANIFEST} and add "
            "[[resume=True]] to write it again, or delete the folder to train again"
        )
    require_checkpoint(out)
    report.note(f"nothing to do: {out} is finished, by this recipe from this data")
    return Checkpoint(out / CHECKPOINT)


def _newest_complete(out: Path) -> Path | None:
    """Return the newest complete checkpoint of a run, which holds the tokenizer that the run began with."""
    for path in reversed(checkpoints_in(out)):
        if why_incomplete(path) is None:
            return path
    return None


def recipe_values(recipe: Recipe) -> dict[str, Any]:
    """Return all values of a recipe as a run records them; its name is no part of what was run."""
    return recipe.model_dump(mode="json", exclude={"name"})


def run_record(recipe: Recipe, out: Path, *, overwrite: bool) -> Record:
    """Return the record of a run's folder, by which the run of another recipe is recognised.

    Recipes are compared by their hashes; the recorded values say in a message what differs.
    """
    return Record(
        out,
        {"recipe_hash": recipe.hash},
        what="pre-training run",
        overwrite=overwrite,
        explained_by={"values": recipe_values(recipe)},
    )


def training_arguments(recipe: Recipe, out: Path) -> TrainingArguments:
    """Make the library's arguments of a recipe's ``train`` section, whose values replace the defaults here."""
    settings: dict[str, Any] = {
        "report_to": "none",
        "ddp_timeout": _TIMEOUT,
        "disable_tqdm": True,
        **recipe.train,
    }
    # A GPU would wait for batches longer than it computes, so two processes make them. Where Python does not fork,
    # each of these processes would import the caller's script again, and perhaps run it.
    if torch.cuda.is_available() and multiprocessing.get_start_method() == "fork":
        settings.setdefault("dataloader_num_workers", 2)
    # Unless `use_cpu` is set the library refuses bf16 on a CPU, also on one that can compute in bf16.
    if not torch.accelerator.is_available():
        settings.setdefault("use_cpu", True)
    try:
        return TrainingArguments(
            output_dir=str(out),
            seed=recipe.seed,
            data_seed=recipe.seed,
            max_steps=recipe.steps or -1,  # -1: the epochs of the mixture decide
            **settings,
        )
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigurationError(
            f"train: {error}; change the setting, for example [[train.NAME=VALUE]]"
        ) from error


def _export(trainer: AlignmentTrainer, recipe: Recipe, out: Path, streams: Mapping[str, Dataset]) -> Path:
    """Write the encoder as a plain folder with its card, and the objectives' own state beside it."""
    folder = out / CHECKPOINT
    state = trainer.gathered_state()  # on every rank: each sends its shards
    if trainer.is_world_process_zero():
        model = trainer.accelerator.unwrap_model(trainer.model, keep_torch_compile=False)
        trainer.warn_if_unchanged(model.state_dict() if state is None else state)
        card = _card(recipe, streams, trainer.batches.steps)
        export_encoder(model, folder, card=card, tokenizer=trainer.tokenizer, state=state)
        write_listed(folder / OBJECTIVES, lambda _: save_objectives(model, folder, state=state))
        if recipe.model.adapter is not None and recipe.model.adapter.keep:
            with whole_folder(out / ADAPTER) as adapter_folder:
                write_adapter(model.model, adapter_folder, base=recipe.model.path)
    trainer.accelerator.wait_for_everyone()
    return folder


def _card(recipe: Recipe, streams: Mapping[str, Dataset], steps: int) -> dict[str, Any]:
    """Return the facts of a run's model card: from what the encoder was trained, on which data, and how long."""
    written = recipe.as_written()
    languages: set[str] = set()
    for section in recipe.streams.values():
        for source in section.inputs:
            languages.update(code for code in source.languages(section.kind) if code)
    data: dict[str, dict[str, Any]] = {}
    for name, stream in streams.items():
        section = recipe.streams[name]
        files: list[str] = []
        for source in section.inputs:
            files += [Path(file).name for file in source.files()]
        data[name] = {"examples": len(stream), "kind": section.kind, "files": ", ".join(files)}
    card = {
        "name": recipe.name,
        "base_model": written["model"]["path"],
        "languages": sorted(languages),
        "objectives": written["objectives"],
        "data": data,
        "steps": steps,
        "seed": recipe.seed,
        "recipe": written,
    }
    return {title: value for title, value in card.items() if value is not None}
