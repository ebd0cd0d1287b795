"""``isoglot analyse layers`` and ``isoglot analyse alignments``: word links of checkpoints beside gold links."""

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import with_kept
from isoglot.aligners.embedding.options import MEASURED, EmbeddingOptions
from isoglot.aligners.embedding.score_layers import layer_error
from isoglot.aligners.gold import gold_pairs
from isoglot.analysis.analyse import Job, asked_layers
from isoglot.analysis.options import AlignmentsRequest, LayersRequest
from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import codes
from isoglot.reports.figure_files import Lines, LineSeries

_TWO_CODES = re.compile(r"(?<![A-Za-z])(?=([a-z]{2,3})-([a-z]{2,3})(?![A-Za-z]))")
"""Two neighbours in a file's name that could be codes of languages.

As a look-ahead it moves past no letter, so a code can be in two matches: ``dev-en`` and ``en-fr`` in ``dev-en-fr``.
"""
_SPLITS = {"dev", "val", "trn", "tst"}
"""Names of splits that look like codes of languages."""


def analyse_layers(job: Job, request: LayersRequest) -> list[Path]:
    """Draw AER by layer for each gold file, and their mean if there are several (XLM-Align, Fig. 2)."""
    fixed = sorted({"method", "layer"} & set(request.settings))
    if fixed:
        raise ConfigurationError(
            f"[[{fixed[0]}]] is not allowed here: [[method]] and [[layers]] choose what is compared; leave it out"
        )
    options = {}
    for method in request.methods:
        options[method] = EmbeddingOptions.build(**{"method": method, **MEASURED, **request.settings})
    names = [_title(path) for path in request.gold]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"several gold files have the same name ({', '.join(names)}); rename one")
    gold = {_title(path): gold_pairs(path, limit=None, base=request.base) for path in request.gold}
    series_of: dict[str, list[LineSeries]] = {name: [] for name in gold}
    several = (len(job.subjects) > 1, len(request.methods) > 1)
    for subject in job.subjects:
        # The model is loaded once; aligners of the other methods share it.
        first = EmbeddingAligner(str(subject.source), options=options[request.methods[0]])
        for method, method_options in options.items():
            aligner = first.with_options(method_options)
            label = _label(subject.label, method, several=several)
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
        # The n-th line of every gold file is of the same checkpoint and method.
        mean = [_mean(lines) for lines in zip(*series_of.values(), strict=True)]
        job.figure(f"{request.name}-mean", _lines(f"mean of {', '.join(series_of)}", mean, request))
    return job.written


def _label(subject: str, method: str, *, several: tuple[bool, bool]) -> str:
    """The label of a line: its checkpoint, its method, or both, depending on which of the two there are several of.

    ``several``: Whether there are several checkpoints, and whether there are several methods.
    """
    several_subjects, several_methods = several
    if not several_methods:
        return subject
    return f"{subject}, {method}" if several_subjects else method


def _mean(lines: Sequence[LineSeries]) -> LineSeries:
    """The mean of lines at each layer."""
    at_layers = zip(*(line.y for line in lines), strict=True)
    return LineSeries(label=lines[0].label, x=lines[0].x, y=[fmean(values) for values in at_layers])


def analyse_alignments(job: Job, request: AlignmentsRequest) -> list[Path]:
    """Write sentence pairs with predicted and gold links, for the report's viewer; one file for each checkpoint."""
    pairs = gold_pairs(request.gold, sure=False, base=request.base)
    languages = _languages_in(Path(request.gold).name)
    count = len(pairs) if request.limit is None else min(request.limit, len(pairs))
    settings = dict(request.settings)
    if request.method is not None:
        settings["method"] = request.method
    if request.layer is not None:
        settings["layer"] = request.layer
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
            if languages is not None:
                row |= {"src_language": languages[0], "tgt_language": languages[1]}
            rows.append(row)
            job.report.progress(subject.label, number, count)
        # The viewer shows no empty side.
        lines = [json.dumps(row, ensure_ascii=False) for row in rows if row["src"] and row["tgt"]]
        job.write(f"{request.name}_{name}.jsonl", "\n".join(lines))
    return job.written


def _languages_in(name: str) -> tuple[str, str] | None:
    """Find the codes of two languages in a file's name; None if there are none.

    1. Names of splits are no codes: in ``dev-en-xx`` the codes are ``en-xx``.
    2. Codes of known languages come before others: in ``en-fr-wmt`` they are ``en-fr``.
    3. Of several pairs the last one counts.
    """
    pairs: list[tuple[str, str]] = []
    for match in _TWO_CODES.finditer(name):
        first, second = match.groups()
        if first not in _SPLITS and second not in _SPLITS:  # 1
            pairs.append((first, second))
    # A known language has other codes too: `codes("fr")` is `("fr", "fra")`.
    known = [pair for pair in pairs if all(len(codes(code)) > 1 for code in pair)]  # 2
    candidates = known or pairs
    return candidates[-1] if candidates else None  # 3


def _lines(name: str, series: list[LineSeries], request: LayersRequest) -> Lines:
    is_error = request.metric == "aer"
    metric = "Alignment error rate" if is_error else request.metric.capitalize()
    methods = request.methods[0] if len(request.methods) == 1 else "several methods"
    return Lines(
        kind="layers",
        title=f"{metric} by layer, {name}",
        x_label="layer",
        y_label="AER (%)" if is_error else f"{request.metric} (%)",
        series=series,
        better="lower" if is_error else "higher",
        note=f"Links by {methods}; layer 0: the embeddings.",
    )


def _title(path: str) -> str:
    """The file's name without its endings: ``de-en`` of ``de-en.jsonl``."""
    return Path(path).name.removesuffix(".gz").removesuffix(".jsonl")
