"""``isoglot.pretrain``: one run of a recipe, or a run for each seed and each combination of swept values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.modules.isolation import isolated_state
from isoglot.pretraining.check import load_run_recipe
from isoglot.pretraining.options import PretrainRequest
from isoglot.pretraining.pretrain import pretrain_one, run_record
from isoglot.pretraining.recipe import Recipe
from isoglot.pretraining.streams import held_model, held_streams
from isoglot.runs.cache import cache_folder
from isoglot.runs.history import Checkpoint
from isoglot.runs.reporter import AnyReporter, Reporter, reporter_of
from isoglot.runs.run_each import run_each
from isoglot.runs.sweep import PlannedRun, check_each, override, planned_runs, refuse_given_twice

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback


class PretrainArguments(TypedDict, total=False):
    """Arguments of :func:`pretrain` beside the recipe, the folder, seeds and a sweep, for type checkers.

    A value on which the result depends belongs in the recipe (``recipe.py``): a folder made with another value is
    refused. A new argument is for how a run is made, such as ``resume``, and is added

    1. here, to the signature and to the docstring of :func:`pretrain`;
    2. to ``how`` in :func:`pretrain`, if every run gets the argument unchanged, as ``cache`` is; otherwise to each call
       of ``pretrain_one`` there and in ``_make_run``;
    3. to :func:`isoglot.pretraining.pretrain.pretrain_one`, which makes one run;
    4. to ``pretrain`` in ``isoglot/cli/pretraining.py``, if it is a flag.

    ``keep_adapter`` changes the recipe and not how a run is made. ``workers`` is about all runs together, so its check
    and its flag are in :class:`PretrainRequest`.
    """

    streams: Mapping[str, Any] | None
    model: PreTrainedModel | str | Path | None
    tokenizer: PreTrainedTokenizerBase | None
    overrides: Sequence[str]
    workers: int
    keep_adapter: bool
    resume: bool
    overwrite: bool
    progress: AnyReporter
    callbacks: Sequence[TrainerCallback | type[TrainerCallback]]
    cache: str | Path | None


@overload
def pretrain(
    recipe: Recipe | str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    seed: int | None = None,
    sweep: None = None,
    **more: Unpack[PretrainArguments],
) -> Checkpoint: ...
@overload
def pretrain(
    recipe: str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    seed: Sequence[int],
    sweep: Mapping[str, Sequence[Any]] | None = None,
    **more: Unpack[PretrainArguments],
) -> list[Checkpoint]: ...
@overload
def pretrain(
    recipe: str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    seed: int | Sequence[int] | None = None,
    sweep: Mapping[str, Sequence[Any]],
    **more: Unpack[PretrainArguments],
) -> list[Checkpoint]: ...
@isolated_state()
def pretrain(  # noqa: PLR0913 - the face names what users look for
    recipe: Recipe | str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    streams: Mapping[str, Any] | None = None,
    model: PreTrainedModel | str | Path | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    overrides: Sequence[str] = (),
    seed: int | Sequence[int] | None = None,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    workers: int = 1,
    keep_adapter: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    progress: AnyReporter = True,
    callbacks: Sequence[TrainerCallback | type[TrainerCallback]] = (),
    cache: str | Path | None = None,
) -> Checkpoint | list[Checkpoint]:
    """Prepare the recipe's corpora, train, write the run's folder, and return its ``checkpoint``.

    The folder holds ``recipe.yaml`` (everything explicit), ``run.json`` (versions, seed, hashes of the inputs), the
    trainer's ``checkpoint-N`` folders, ``checkpoint`` (the encoder as a plain Hugging Face folder, and
    ``objectives.safetensors``), ``history.jsonl`` (the log), and last ``manifest.json``. A finished run of the same
    recipe on the same data is left alone. Under ``torchrun`` the first rank prepares and writes.

    Several seeds or a sweep make several runs, ``OUT/seed-1`` or ``OUT/layer=4,weight=0.5/seed-1``. All combinations
    are checked before the first run starts. The same call makes only what is missing: finished runs are kept, and
    unfinished ones go on.

    Args:
        recipe: A recipe that :func:`isoglot.pretraining.check.load_recipe` has checked, or its source: a file, the name
            of a built-in recipe, or dictionaries.
        out: the run's folder.
        streams: Data in place of the files of streams, by the stream's name: a data set, a pandas or polars frame, a
            ``pyarrow.Table``, a dictionary of lists, a list of dictionaries or of pairs. The data is written into the
            cache and read from there.
        model: Encoder to begin from, in place of the recipe's ``model.path``: a folder, a hub name, or a model object,
            of which a copy is kept in the cache.
        tokenizer: Tokenizer of a model object.
        overrides: Values in place of the recipe's, as ``--set`` gives them: ``["train.learning_rate=5e-5"]``.
        seed: Seed in place of the recipe's, or several, each for a run of its own: ``[1, 2, 3]``.
        sweep: Values to try, by the recipe's key: ``{"objectives.contrast.layer": [4, 6, 8]}``; of several keys every
            combination is tried.
        workers: Runs that go on at a time, each in its own process, where there are several.
        keep_adapter: Also write the adapter separately, to ``OUT/adapter``, in peft's format.
        resume: go on with an unfinished run; starts one where there is none. Several runs always do.
        overwrite: Replace a run of another recipe, other data or other code; a finished run of the same recipe, data
            and code is kept.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines,
            losses among them.
        callbacks: More callbacks of ``transformers``, which the trainer calls.
        cache: where prepared corpora, tokenizers and streams are kept; by default
            :func:`~isoglot.runs.cache.cache_folder`.

    Returns:
        The checkpoint. For several seeds or a sweep: all checkpoints in the order of the runs, where the first swept
        key changes slowest and the seed fastest.

    Raises:
        ConfigurationError: a recipe that cannot work, or a folder that holds something else; if some of several runs
            failed, it names them after the others are done.
        InputError: bad input, as ``file:line``.
        TrainingError: training cannot go on.

    Example:
        >>> import isoglot as iso
        >>> checkpoint = iso.pretrain("mlm_scratch", "runs/mlm", seed=2)  # doctest: +SKIP
    """
    request = validated(PretrainRequest, {"seed": seed, "sweep": sweep or {}, "workers": workers})
    # `seed=2` or no seed makes one run, in OUT itself; `seed=[2]` makes a list of one run, in OUT/seed-2.
    # Integral: numpy's numbers too.
    has_list_of_seeds = seed is not None and not isinstance(seed, Integral)
    is_single = not request.sweep and not has_list_of_seeds
    # Arguments that every run gets unchanged.
    how: dict[str, Any] = {"overwrite": overwrite, "callbacks": callbacks, "cache": cache}
    if isinstance(recipe, Recipe):
        if request.sweep or request.seed:
            raise ConfigurationError(
                "[[seed]] and [[sweep]] cannot be added to a checked recipe; pass the recipe as a file, a name or "
                "dictionaries"
            )
        _refuse_changes(
            {
                "streams": streams,
                "a model": model is not None,
                "a tokenizer": tokenizer is not None,
                "overrides": overrides,
                "keep_adapter": keep_adapter,
            }
        )
        return pretrain_one(recipe, out, resume=resume, progress=progress, **how)
    # No value may be given twice: by an override and by a sweep, or by an override and `seed`.
    overridden_keys = [text.partition("=")[0].strip() for text in overrides]
    refuse_given_twice(request.sweep, overridden_keys)
    if request.seed and "seed" in overridden_keys:
        raise ConfigurationError("[[seed]]: the overrides have a seed too; give it once")
    if tokenizer is not None and model is None:
        raise ConfigurationError(
            "[[tokenizer]]: only a model object needs it, and there is no [[model]]; leave it out, or pass both"
        )
    # Objects in memory become files of the cache, and overrides that name the files.
    cache_path = cache_folder() if cache is None else Path(cache)
    held = [] if model is None else [held_model(model, tokenizer, cache_path)]
    held += held_streams(streams or {}, cache_path)
    if is_single:
        seed_change = [] if request.seed is None else [f"seed={request.seed[0]}"]
        changes = [*overrides, *seed_change, *held]
        checked = load_run_recipe(recipe, changes, keep_adapter=keep_adapter)
        return pretrain_one(checked, out, resume=resume, progress=progress, **how)
    changes = [*overrides, *held]
    runs = recipe_runs(recipe, out, request, changes, keep_adapter=keep_adapter, overwrite=overwrite)
    make = partial(_make_run, recipe, changes, keep_adapter, how)
    return run_each(runs, make, workers=request.workers, progress=reporter_of(progress), verb="pretrain")


def _refuse_changes(given: Mapping[str, Any]) -> None:
    """Refuse arguments that would change a recipe that is checked already.

    ``given``: For each argument its name in the message, and its value, which is empty if it was not given.
    """
    for name, value in given.items():
        if value:
            raise ConfigurationError(
                f"{name} cannot be added to a checked recipe; pass the recipe as a file, a name or dictionaries"
            )


def recipe_runs(
    recipe: str | Path | Mapping[str, Any],
    out: str | Path,
    request: PretrainRequest,
    overrides: Sequence[str],
    *,
    keep_adapter: bool = False,
    overwrite: bool = False,
) -> list[PlannedRun]:
    """Plan the runs of several seeds or a sweep; check all recipes and all folders before the first run starts.

    ``layer=4,6`` and ``seed=1,2`` give four runs: ``layer=4/seed-1``, ``layer=4/seed-2``, ``layer=6/seed-1``, ...

    Raises:
        ConfigurationError: Mistakes in the recipes, or a folder that holds something else.
    """
    # A recipe is checked once for each combination of swept values: no mistake depends on the seed.
    unseeded = planned_runs(out, request.sweep, [None])
    recipes = checked_recipes(recipe, unseeded, overrides, keep_adapter=keep_adapter)
    seeds = request.seed or (recipes[0].seed,)
    runs = planned_runs(out, request.sweep, seeds)
    for number, run in enumerate(runs):
        # Seeds change fastest, so as many runs as there are seeds in a row have one recipe.
        recipe_of_run = recipes[number // len(seeds)].model_copy(update={"seed": run.seed})
        run_record(recipe_of_run, run.folder, overwrite=overwrite).state()
    return runs


def checked_recipes(
    recipe: str | Path | Mapping[str, Any],
    runs: Sequence[PlannedRun],
    overrides: Sequence[str],
    *,
    keep_adapter: bool = False,
) -> list[Recipe]:
    """Check the recipe of each run, with the run's swept values and without its seed; raise all mistakes together."""

    def load(values: Mapping[str, Any]) -> Recipe:
        return load_run_recipe(recipe, [*overrides, *_swept(values)], keep_adapter=keep_adapter)

    return check_each(runs, load)


def _swept(values: Mapping[str, Any]) -> list[str]:
    """Return swept values as overrides of the recipe: ``["objectives.contrast.layer=4"]``."""
    return [override(key, value) for key, value in values.items()]


@isolated_state()
def _make_run(
    recipe: str | Path | Mapping[str, Any],
    overrides: Sequence[str],
    keep_adapter: bool,
    how: Mapping[str, Any],
    run: PlannedRun,
    progress: Reporter,
) -> Checkpoint:
    """Make one of several runs, in this process or another one."""
    changes = [*overrides, *_swept(run.values), f"seed={run.seed}"]
    checked = load_run_recipe(recipe, changes, keep_adapter=keep_adapter)
    return pretrain_one(checked, run.folder, resume=True, progress=progress, **how)
