"""``isoglot.analyse`` and ``isoglot.transfer``: the analyses as Python calls them, on folders or model objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.aligners.embedding.options import AnyEmbedding
from isoglot.analysis.options import (
    AlignmentRequest,
    AlignmentsRequest,
    CorpusFiles,
    CorrelationRequest,
    GeometryRequest,
    LayersRequest,
    MapRequest,
    SimilarityRequest,
)
from isoglot.core.checks import did_you_mean, validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import ResultList
from isoglot.core.languages import split_codes
from isoglot.core.options import Options, models_in, one_or_more, option_names
from isoglot.results.rows import Result
from isoglot.runs.reporter import AnyReporter
from isoglot.runs.sweep import SweepRequest, check_each, checked_seeds, planned_runs, refuse_given_twice

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.tasks.base import Task

ANALYSES: dict[str, tuple[type[Options], str]] = {
    "alignment": (AlignmentRequest, "isoglot.analysis.analyse:analyse_alignment"),
    "correlation": (CorrelationRequest, "isoglot.analysis.analyse_correlation:analyse_correlation"),
    "map": (MapRequest, "isoglot.analysis.analyse_map:analyse_map"),
    "layers": (LayersRequest, "isoglot.analysis.analyse_links:analyse_layers"),
    "similarity": (SimilarityRequest, "isoglot.analysis.analyse_vectors:analyse_similarity"),
    "geometry": (GeometryRequest, "isoglot.analysis.analyse_vectors:analyse_geometry"),
    "alignments": (AlignmentsRequest, "isoglot.analysis.analyse_links:analyse_alignments"),
}
"""By the name of an analysis, its options and its function (``MODULE:NAME``, imported when it is called)."""


def analyse(
    analysis: str,
    models: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    labels: str | Sequence[str] = (),
    languages: str | Sequence[str] = (),
    progress: AnyReporter = True,
    **options: Any,
) -> Any:
    """Look into encoders, as ``isoglot analyse`` does; figures go to ``OUT/figures``.

    ``alignment`` has no figure; its rows go to ``OUT/results.jsonl``.

    Args:
        analysis: ``alignment``, ``correlation``, ``map``, ``layers``, ``similarity``, ``geometry`` or ``alignments``.
        models: Folders of checkpoints or runs, or hub names; of ``correlation`` files or folders of results.
        out: A run's folder, or any other.
        labels: Names of the models in legends; by default those of the runs.
        languages: Languages of a corpus or lexicon whose files do not name them: ``("en", "de")`` or ``"en,de"``.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **options: Options of the analysis, as ``isoglot analyse layers --help`` lists them: ``gold="dev.jsonl"``, how
            its files are read (``header=True``) and options of the aligner (``level="word"``) among them.

    Returns:
        ``alignment``: rows of results. ``correlation``: Spearman's correlations by task and group. Others: the files
        that were written, which :func:`isoglot.figures` draws.

    Raises:
        ConfigurationError: An unknown analysis or option, or a model that cannot be analysed.
    """
    if analysis not in ANALYSES:
        raise ConfigurationError(f"unknown analysis {analysis!r}; {did_you_mean(analysis, ANALYSES)}")
    request_class, path_of_function = ANALYSES[analysis]
    if languages:
        options["languages"] = tuple(split_codes(languages))
    request = validated(request_class, _arranged(request_class, options, analysis), owner=f"`{analysis}`")
    module, _, name = path_of_function.partition(":")
    run: Callable[..., Any] = getattr(import_module(module), name)
    paths = [models] if isinstance(models, str | Path) else list(models)
    labels = one_or_more(labels)
    if analysis == "correlation":
        if labels:
            raise ConfigurationError("labels: results have the names of their runs; leave it out")
        return run(paths, request, out=out)
    from isoglot.analysis.analyse import Job  # noqa: PLC0415 - loads torch

    findings = run(Job(paths, out=out, labels=labels, progress=progress), request)
    return ResultList(findings) if analysis == "alignment" else findings


def _arranged(request_class: type[Options], options: Mapping[str, Any], analysis: str) -> dict[str, Any]:
    """Put the options of files into ``reading`` and those of an aligner into ``settings``, where requests have them."""
    arranged = dict(options)
    if "reading" in request_class.model_fields:
        files = {name: arranged.pop(name) for name in CorpusFiles.model_fields if name in arranged}
        if files:
            how = validated(CorpusFiles, files, owner=f"`{analysis}`")
            arranged["reading"] = {**arranged.get("reading", {}), **how.reading}
    if "settings" in request_class.model_fields:
        of_aligner = option_names(*models_in(AnyEmbedding)) - request_class.model_fields.keys()
        settings = {name: arranged.pop(name) for name in of_aligner if name in arranged}
        if settings:
            arranged["settings"] = {**arranged.get("settings", {}), **settings}
    return arranged


def transfer(  # noqa: PLR0913 - the face names what users look for
    model: PreTrainedModel | str | Path,
    task: str | Task,
    *,
    languages: str | Sequence[str],
    out: str | Path,
    data: Any = None,
    columns: Mapping[str, Any] | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    seed: int | Sequence[int] = 1,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    workers: int = 1,
    split: str = "dev",
    preset: str = "align_mlm",
    keep: bool = False,
    keep_adapter: bool = False,
    progress: AnyReporter = True,
    **settings: Any,
) -> ResultList[Result]:
    """Measure zero-shot (ZS), supervised (SUP) and Δ = SUP − ZS, as ``isoglot transfer`` does.

    The model is fine-tuned on the source and on each target language, and tested on the targets. A call that was
    stopped goes on where it was. Several seeds or a sweep make several runs, each in a folder in ``out``:
    ``seed-1``, or ``learning_rate=1e-05/seed-1``.

    Args:
        model: Folder of a checkpoint or run, hub name, or a model object.
        task: One by name, or a task object.
        languages: Source first, then the targets: ``"en,de"`` or ``["en", "de"]``.
        out: Folder; ``trained-on-en/`` and so on are runs, ``results.jsonl`` holds the rows.
        data: As for :func:`isoglot.evaluate`, of all languages.
        columns: Column of the task to its name in the data.
        tokenizer: Tokenizer of a model object.
        seed: Seed of all fine-tunings, or several, each for a run of its own: ``[1, 2, 3]``.
        sweep: Values to try, by the name of a setting or of an option of the task: ``{"epochs": [1, 3]}``; of several
            names every combination is tried.
        workers: Runs that go on at a time, each in its own process, where there are several.
        split: Split to test on; the paper reports dev.
        preset: Paper whose settings hold where no other is given.
        keep: Keep the fine-tuned weights after their tests.
        keep_adapter: Also write the adapter of each run separately, as peft reads it.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        **settings: Settings of :class:`isoglot.FinetuneOptions`, such as ``epochs=3``, and options of the task.

    Returns:
        Three rows per target, by the task's primary metric, in %; of several runs those of all.

    Raises:
        ConfigurationError: Fewer than two languages, a task without a head, or settings that do not fit.
        InputError: Data that cannot be read.
    """
    from isoglot.analysis.transfer import (  # noqa: PLC0415 - they load torch
        TransferJob,
        TransferOptions,
        transfer_runs,
    )
    from isoglot.finetuning.api import task_builder  # noqa: PLC0415
    from isoglot.modules.model_folder import model_folder  # noqa: PLC0415

    seeds, request = checked_seeds(seed), validated(SweepRequest, {"sweep": sweep or {}, "workers": workers})
    refuse_given_twice(request.sweep, settings)
    build = task_builder(task, data, columns, preset=preset, settings=settings, keep_adapter=keep_adapter)
    runs = planned_runs(out, request.sweep, seeds)
    with ExitStack() as stack:
        checkpoint = stack.enter_context(model_folder(model, tokenizer))
        jobs = []
        for run, (built, train) in zip(runs, check_each(runs, build), strict=True):
            options = TransferOptions(train, split, keep, run.values)
            jobs.append(TransferJob(run, checkpoint, built, options))
        rows = transfer_runs(jobs, split_codes(languages), workers=request.workers, progress=progress)
    return ResultList(row for of_run in rows for row in of_run)
