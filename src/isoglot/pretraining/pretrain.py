"""``isoglot pretrain``: a recipe in, a run folder with a plain Hugging Face checkpoint out."""

import multiprocessing
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainingArguments,
)

from isoglot.core.errors import ConfigurationError
from isoglot.modules.adapter import write_adapter
from isoglot.modules.isolation import isolated_state
from isoglot.pretraining.build import build_model, build_trainer, explicit, require_columns
from isoglot.pretraining.check import load_run_recipe
from isoglot.pretraining.recipe import Recipe
from isoglot.pretraining.streams import (
    encoded,
    encoder_hash,
    held_model,
    held_streams,
    input_hashes,
    load_tokenizer,
    prepared,
)
from isoglot.recipe.document import dump_yaml
from isoglot.runs.cache import cache_folder
from isoglot.runs.files import require_writable, write_text
from isoglot.runs.folder import CHECKPOINT, RECIPE, checkpoint_entry, clear, require_checkpoint
from isoglot.runs.history import Checkpoint, write_history
from isoglot.runs.listed import add_to_list, require_own, whole_folder
from isoglot.runs.lock import occupied
from isoglot.runs.record import MANIFEST, Record
from isoglot.runs.reporter import AnyReporter, Reporter, Silent, reporter_of
from isoglot.training.callbacks import LossReports, require_callback
from isoglot.training.checkpoints import ADAPTER, checkpoints_in, save_objectives, why_incomplete
from isoglot.training.export import export_encoder
from isoglot.training.trainer import AlignmentTrainer

_PATIENCE = 6 * 3600
"""Seconds that other ranks wait while the first one prepares, unless ``train.ddp_timeout`` says otherwise."""


@isolated_state()
def pretrain(  # noqa: PLR0913 - the face names what users look for
    recipe: Recipe | str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    streams: Mapping[str, Any] | None = None,
    model: PreTrainedModel | str | Path | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    overrides: Sequence[str] = (),
    keep_adapter: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    progress: AnyReporter = True,
    callbacks: Sequence[TrainerCallback | type[TrainerCallback]] = (),
    cache: str | Path | None = None,
) -> Checkpoint:
    """Make one run of a recipe in a folder; the arguments are those of :func:`isoglot.pretraining.api.pretrain`."""
    cache_path = cache_folder() if cache is None else Path(cache)
    if isinstance(recipe, Recipe):
        changes = {
            "streams": streams, "a model": model is not None, "overrides": overrides, "keep_adapter": keep_adapter
        }  # fmt: skip
        if changed := next((name for name, given in changes.items() if given), None):
            raise ConfigurationError(
                f"{changed} cannot be added to a checked recipe; pass the recipe as a file, a name or dictionaries"
            )
    else:
        held = [] if model is None else [held_model(model, tokenizer, cache_path)]
        held += held_streams(streams or {}, cache_path)
        recipe = load_run_recipe(recipe, [*overrides, *held], keep_adapter=keep_adapter)
    out, existed = Path(out), Path(out).exists()
    args = training_arguments(recipe, out)
    main = args.process_index == 0
    report = reporter_of(progress) if main else Silent()
    watchers = [require_callback(callback) for callback in callbacks]
    with occupied(out) if main else nullcontext():
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
    """Train in a folder that no other process works in."""
    main = args.process_index == 0
    values, record = recipe_values(recipe), run_record(recipe, out, overwrite=overwrite)
    state = record.state(resume=resume)
    with args.main_process_first(local=True, desc="preparing"):
        corpora = prepared(recipe, cache_path, report)
        inputs, encoder = input_hashes(recipe, corpora), encoder_hash(recipe)
        if state != "new":
            made_from, what = {"inputs": inputs, "encoder": encoder}, f"{record.what} on other data or code"
            state = Record(out, made_from, what=what, overwrite=overwrite).state(resume=resume)
        if state == "finished" and not (out / CHECKPOINT / "config.json").is_file():
            raise ConfigurationError(
                f"{out} is finished, but its {CHECKPOINT} is missing; delete {out / MANIFEST} and add "
                "[[resume=True]] to write it again, or delete the folder to train again"
            )
        if state == "finished":
            require_checkpoint(out)
            report.note(f"nothing to do: {out} is finished, by this recipe from this data")
            return Checkpoint(out / CHECKPOINT)
        require_writable(out, folder=True)
        require_own(out / CHECKPOINT)
        if main and state == "new" and existed and overwrite:
            clear(out, keep=True)
        # the newest complete checkpoint has the tokenizer that the run began with
        newest = next((path for path in reversed(checkpoints_in(out)) if why_incomplete(path) is None), None)
        tokenizer = load_tokenizer(
            recipe,
            corpora,
            cache_path,
            report,
            checkpoint=newest if state == "unfinished" else None,
        )
        streams = encoded(recipe, corpora, tokenizer, cache_path, report)
        assembly = build_model(recipe, tokenizer, corpora)
        require_columns(assembly.views, streams)
    try:
        if main and state == "new":
            about = {
                "name": recipe.name,
                **record.made_from,
                "seed": recipe.seed,
                "inputs": inputs,
                "encoder": encoder,
                "changes": recipe.changes,
            }
            record.begin({**about, "values": values})
        trainer = build_trainer(recipe, assembly, streams, tokenizer, args)
        if main and not (out / RECIPE).is_file():
            resolved = dump_yaml(explicit(recipe, assembly.modules))
            write_text(out / RECIPE, f"# {recipe.name}, everything explicit\n{resolved}")
        losses = LossReports(report)
        for callback in (losses, *callbacks):
            trainer.add_callback(callback)
        report.note(f"training {recipe.name}: {trainer.batches.steps:,} steps, run folder {out}")
        outcome = trainer.train(resume_from_checkpoint=state == "unfinished" or None)
    except BaseException:
        if main and state == "new" and not checkpoints_in(out):
            clear(out, keep=existed)  # nothing was trained
        raise
    checkpoint = _export(trainer, recipe, out, streams)
    if main:
        write_history(out, trainer.state.log_history)
        steps = {"steps": trainer.batches.steps, "resumed_at": losses.began[0]}
        record.finish(
            {**steps, "metrics": outcome.metrics, "devices": args.world_size, **checkpoint_entry(out)}
        )
    trainer.accelerator.wait_for_everyone()
    report.note(f"wrote {checkpoint}")
    return Checkpoint(checkpoint)


def recipe_values(recipe: Recipe) -> dict[str, Any]:
    """All values of a recipe, as a run records them."""
    return recipe.model_dump(mode="json", exclude={"name"})


def run_record(recipe: Recipe, out: Path, *, overwrite: bool) -> Record:
    """The record of a run's folder, by which a run of another recipe is recognised."""
    made_from, values = {"recipe_hash": recipe.hash}, {"values": recipe_values(recipe)}
    return Record(out, made_from, what="pre-training run", overwrite=overwrite, explained_by=values)


def training_arguments(recipe: Recipe, out: Path) -> TrainingArguments:
    """The recipe's ``train`` section as the library's arguments."""
    settings: dict[str, Any] = {
        "report_to": "none",
        "ddp_timeout": _PATIENCE,
        "disable_tqdm": True,
        **recipe.train,
    }
    # A GPU would wait for batches longer than it computes. Without fork each worker may run the caller's script again.
    if torch.cuda.is_available() and multiprocessing.get_start_method() == "fork":
        settings.setdefault("dataloader_num_workers", 2)
    if not torch.accelerator.is_available():
        settings.setdefault("use_cpu", True)  # else the library refuses bf16 on a CPU that computes in it
    try:
        return TrainingArguments(
            output_dir=str(out),
            seed=recipe.seed,
            data_seed=recipe.seed,
            max_steps=recipe.steps or -1,
            **settings,
        )
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigurationError(
            f"train: {error}; change the setting, for example [[train.NAME=VALUE]]"
        ) from error


def _export(trainer: AlignmentTrainer, recipe: Recipe, out: Path, streams: Mapping[str, Dataset]) -> Path:
    """The encoder as a plain folder with its card, and the objectives' own state beside it."""
    folder, state = out / CHECKPOINT, trainer.whole_state()
    if trainer.is_world_process_zero():
        written = recipe.as_written()
        sections = {name: recipe.streams[name] for name in streams}
        codes = {c for s in recipe.streams.values() for i in s.inputs for c in i.languages(s.kind) if c}
        files = {n: ", ".join(Path(f).name for i in s.inputs for f in i.files()) for n, s in sections.items()}
        card = {
            "name": recipe.name,
            "base_model": written["model"]["path"],
            "languages": sorted(codes),
            "objectives": written["objectives"],
            "data": {
                name: {"examples": len(streams[name]), "kind": section.kind, "files": files[name]}
                for name, section in sections.items()
            },
            "steps": trainer.batches.steps,
            "seed": recipe.seed,
            "recipe": written,
        }
        card = {k: v for k, v in card.items() if v is not None}
        model = trainer.accelerator.unwrap_model(trainer.model, keep_torch_compile=False)
        trainer.warn_if_unchanged(model.state_dict() if state is None else state)
        export_encoder(model, folder, card=card, tokenizer=trainer.tokenizer, state=state)
        add_to_list(save_objectives(model, folder, state=state))
        if recipe.model.adapter is not None and recipe.model.adapter.keep:
            with whole_folder(out / ADAPTER) as adapter_folder:
                write_adapter(model.model, adapter_folder, base=recipe.model.path)
    trainer.accelerator.wait_for_everyone()
    return folder
