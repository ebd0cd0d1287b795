"""``isoglot analyse layers`` and ``isoglot analyse alignments``: word links of checkpoints beside gold links."""

import json
import re
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import with_kept
from isoglot.aligners.embedding.layer_error import layer_error
from isoglot.aligners.embedding.options import MEASURED, EmbeddingOptions
from isoglot.aligners.gold import gold_pairs
from isoglot.analysis.analyse import Job, asked_layers
from isoglot.analysis.options import AlignmentsRequest, LayersRequest
from isoglot.core.errors import ConfigurationError
from isoglot.reports.figure_files import Lines, LineSeries

_PAIR = re.compile(r"(?<![A-Za-z])([a-z]{2,3})-([a-z]{2,3})(?![A-Za-z])")


def analyse_layers(job: Job, request: LayersRequest) -> list[Path]:
    """A figure of AER by layer for each gold file, and of their mean where there are several (XLM-Align, Fig. 2)."""
    if fixed := sorted({"method", "layer"} & set(request.settings)):
        raise ConfigurationError(
            f"[[{fixed[0]}]] is not allowed here: [[method]] and [[layers]] choose what is compared; leave it out"
        )
    options = {
        m: EmbeddingOptions.build(**{"method": m, **MEASURED, **request.settings}) for m in request.methods
    }
    names = [_title(path) for path in request.gold]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"several gold files have the same name ({', '.join(names)}); rename one")
    gold = {_title(path): gold_pairs(path, limit=None, base=request.base) for path in request.gold}
    series_of: dict[str, list[LineSeries]] = {name: [] for name in gold}
    for subject in job.subjects:
        first = EmbeddingAligner(str(subject.source), options=options[request.methods[0]])
        for method, setting in options.items():
            aligner = first.with_options(setting)
            label = subject.label if len(request.methods) == 1 else f"{subject.label}, {method}"
            label = method if len(job.subjects) == 1 < len(request.methods) else label
            layers = asked_layers(request.layers, aligner.model)
            for name, pairs in gold.items():
                job.report.note(f"{label}, {name}: layers {layers[0]} to {layers[-1]}")
                scores = layer_error(
                    aligner, pairs, layers=layers, progress=partial(job.report.progress, name)
                )
                values = [float(getattr(score, request.metric)) for score in scores.values()]
                series_of[name].append(LineSeries(label=label, x=[float(x) for x in scores], y=values))
    for name, series in series_of.items():
        file = request.name if len(series_of) == 1 else f"{request.name}-{name}"
        job.figure(file, _lines(name, series, request))
    if len(series_of) > 1:
        mean = [
            LineSeries(label=lines[0].label, x=lines[0].x,
                       y=[fmean(values) for values in zip(*(line.y for line in lines), strict=True)])
            for lines in zip(*series_of.values(), strict=True)  # of each checkpoint and method
        ]  # fmt: skip
        job.figure(f"{request.name}-mean", _lines(f"mean of {', '.join(series_of)}", mean, request))
    return job.written


def analyse_alignments(job: Job, request: AlignmentsRequest) -> list[Path]:
    """Sentence pairs with predicted and gold links, for the report's viewer; a file each checkpoint."""
    pairs = gold_pairs(request.gold, sure=False, base=request.base)
    languages = next(reversed(list(_PAIR.finditer(Path(request.gold).name))), None)  # the last two: dev-en-fr
    count = len(pairs) if request.limit is None else min(request.limit, len(pairs))
    chosen = {"method": request.method, "layer": request.layer}
    settings = {**request.settings, **{name: value for name, value in chosen.items() if value is not None}}
    files = [re.sub(r"[^\w.+-]+", "-", subject.label).strip("-") or "checkpoint" for subject in job.subjects]
    if len(set(files)) < len(files):
        raise ConfigurationError(
            f"the files of these checkpoints would have the same name ({', '.join(files)}); label them"
        )
    for name, subject in zip(files, job.subjects, strict=True):
        aligner = EmbeddingAligner(str(subject.source), **with_kept(subject.source, settings))
        rows = []
        for number, pair in enumerate(aligner.align_pairs(pairs[:count]), 1):
            row: dict[str, Any] = {
                "id": pair.id,
                "src": list(pair.source_words),
                "tgt": list(pair.target_words),
                "links": [list(link) for link in pair.links],
                "sure": sorted(map(list, pair.sure or ())),
                "possible": sorted(map(list, pair.possible)),
            }
            if languages:
                row |= {"src_language": languages[1], "tgt_language": languages[2]}
            rows.append(row)
            job.report.progress(subject.label, number, count)
        rows = [row for row in rows if row["src"] and row["tgt"]]  # the viewer shows no empty side
        job.write(
            f"{request.name}_{name}.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        )
    return job.written


def _lines(name: str, series: list[LineSeries], request: LayersRequest) -> Lines:
    what = "Alignment error rate" if request.metric == "aer" else request.metric.capitalize()
    unit = "AER (%)" if request.metric == "aer" else f"{request.metric} (%)"
    how = request.methods[0] if len(request.methods) == 1 else "several methods"
    return Lines(
        kind="layers", title=f"{what} by layer, {name}", x_label="layer", y_label=unit, series=series,
        better="lower" if request.metric == "aer" else "higher", note=f"Links by {how}; layer 0: the embeddings.",
    )  # fmt: skip


def _title(path: str) -> str:
    """The file's name without its endings: ``de-en`` of ``de-en.jsonl``."""
    return Path(path).name.removesuffix(".gz").removesuffix(".jsonl")
