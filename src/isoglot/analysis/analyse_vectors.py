"""``isoglot analyse similarity`` and ``geometry``: the vectors of two languages, layer by layer.

A measure is in these places:

- ``options.py``: its name, in the type and the default of ``measures``.
- ``similarity.py`` or ``geometry.py``: a function that computes it from the vectors of both languages at a layer.
- ``measures`` in :func:`analyse_similarity` or :func:`analyse_geometry`: its name and the function.
- :func:`_figure`: its titles and note. The note of CKA depends on an option; :func:`analyse_similarity` writes it.
- The docstrings of the analysis, of the module that computes it, and of the command (``cli/analysis.py``, the help).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from isoglot.aligners.embedding.loading import load_encoder
from isoglot.analysis.analyse import Job, asked_layers, corpus_rows
from isoglot.analysis.geometry import anisotropy, hubness, top_component_share
from isoglot.analysis.options import GeometryRequest, SimilarityRequest
from isoglot.analysis.similarity import linear_cka, neighbour_overlap, retrieval
from isoglot.analysis.vectors import linked_vectors, sentence_vectors, unit_vectors
from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.formats.sources import Kind
from isoglot.reports.figure_files import Lines, LineSeries

_Layers = dict[int, Tensor]
"""Vectors by layer."""
_Measure = Callable[[Tensor, Tensor], float]
_DIRECTED = ("hubness", "anti-hubs")
"""Measures of geometry that go from one language to the other; the other measures are of one language."""


def analyse_similarity(job: Job, request: SimilarityRequest) -> list[Path]:
    """Draw how alike two languages are by layer: linear CKA, shared neighbours, retrieval; one line a checkpoint."""
    kind: Kind = "bitext" if request.level == "sentence" else "aligned"
    rows = list(
        corpus_rows(request.corpus, kind, languages=request.languages, limit=request.limit, **request.reading)
    )
    measures: dict[str, _Measure] = {
        "cka": partial(linear_cka, debiased=request.debiased),
        "neighbours": partial(neighbour_overlap, k=request.neighbours),
        "retrieval": _retrieval_both_ways,
    }
    series: dict[str, list[LineSeries]] = {measure: [] for measure in request.measures}
    # The number of pairs of vectors (of sentences or linked words) of each checkpoint. The numbers can differ: links of
    # words without a known piece are left out, and a piece can be known to one tokenizer and unknown to another.
    pair_counts: list[int] = []
    for subject in job.subjects:
        model, tokenizer = load_encoder(subject.source)
        layers = asked_layers(request.layers, model)
        progress = partial(job.report.progress, subject.label)
        if request.level == "sentence":
            source_texts = [row["source"] for row in rows]
            target_texts = [row["target"] for row in rows]
            encode = partial(sentence_vectors, model, tokenizer, layers=layers, progress=progress)
            source, target = encode(source_texts), encode(target_texts)
        else:
            words, links = _first_links(rows, request.limit)
            source, target = linked_vectors(model, tokenizer, words, links, layers=layers, progress=progress)
        pair_counts.append(len(source[layers[0]]))
        for measure in request.measures:
            values = [measures[measure](source[layer], target[layer]) for layer in layers]
            series[measure].append(_series(subject.label, layers, values))
    for name, lines in series.items():
        items = "sentences" if request.level == "sentence" else "linked words"
        fewest, most = min(pair_counts), max(pair_counts)
        count = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
        note = f"{count} pairs of {items}; layer 0: the embeddings."
        if name == "cka" and request.debiased:
            note += " Debiased: 0 for unrelated vectors."
        elif name == "cka":
            note += " Not debiased: grows with hidden size over vectors."
        figure = _figure(
            name,
            lines,
            _languages(rows),
            k=request.neighbours,
            note=note,
            fewest_pairs=fewest,
            better="higher",
        )
        job.figure(f"{request.name}-{name}", figure)
    return job.written


def _retrieval_both_ways(source: Tensor, target: Tensor) -> float:
    forward, backward = retrieval(source, target)
    return (forward + backward) / 2


def _first_links(
    rows: Sequence[Mapping[str, Any]], limit: int
) -> tuple[list[tuple[Sequence[str], Sequence[str]]], list[Sequence[Sequence[int]]]]:
    """Take the first ``limit`` links of a corpus.

    Returns:
        The words of both sides of each sentence that has such a link; and the links of each of these sentences.
    """
    words, links = [], []
    still_wanted = limit
    for row in rows:
        chosen = row["links"][:still_wanted]
        if chosen:
            words.append((row["source_words"], row["target_words"]))
            links.append(chosen)
            still_wanted -= len(chosen)
    if not words:
        raise ConfigurationError("the corpus has no word link; give one that `isoglot align` linked")
    return words, links


def analyse_geometry(job: Job, request: GeometryRequest) -> list[Path]:
    """Draw the shape of the space by layer: anisotropy, the first component's variance, hubs and anti-hubs.

    The first two have a line for each checkpoint and language, the others one for each checkpoint and direction of
    search.
    """
    rows = list(
        corpus_rows(
            request.corpus, "bitext", languages=request.languages, limit=request.sentences, **request.reading
        )
    )
    languages = _languages(rows)
    measures: dict[str, _Measure] = {
        "anisotropy": lambda vectors, _: anisotropy(vectors),
        "variance": lambda vectors, _: top_component_share(vectors),
        "hubness": lambda queries, keys: hubness(queries, keys, k=request.neighbours).skewness,
        "anti-hubs": lambda queries, keys: hubness(queries, keys, k=request.neighbours).anti_hubs,
    }
    series: dict[str, list[LineSeries]] = {measure: [] for measure in request.measures}
    for subject in job.subjects:
        model, tokenizer = load_encoder(subject.source)
        layers = asked_layers(request.layers, model)
        prefix = f"{subject.label}, " if len(job.subjects) > 1 else ""
        vectors_of_sides: list[_Layers] = []
        for side, language in zip(("source", "target"), languages, strict=True):
            vectors_of_side = unit_vectors(
                model,
                tokenizer,
                [row[side] for row in rows],
                unit=request.unit,
                layers=layers,
                limit=request.limit,
                # The same draw for both sides: sentences stay side by side.
                generator=generator_for(request.seed, "geometry", request.unit),
                progress=partial(job.report.progress, f"{subject.label}, {language}"),
            )
            vectors_of_sides.append(vectors_of_side)
        source, target = vectors_of_sides
        both_ways: list[tuple[str, str, _Layers, _Layers]] = [
            (languages[0], languages[1], source, target),
            (languages[1], languages[0], target, source),
        ]
        for measure in request.measures:
            for language, other, vectors, others in both_ways:
                towards = f" to {other}" if measure in _DIRECTED else ""
                values = [measures[measure](vectors[layer], others[layer]) for layer in layers]
                series[measure].append(_series(f"{prefix}{language}{towards}", layers, values))
    for name, lines in series.items():
        note = f"A vector a {request.unit}; layer 0: the embeddings."
        job.figure(f"{request.name}-{name}", _figure(name, lines, languages, k=request.neighbours, note=note))
    return job.written


def _languages(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    return str(rows[0]["source_language"]), str(rows[0]["target_language"])


def _figure(
    measure: str,
    lines: list[LineSeries],
    languages: tuple[str, str],
    *,
    k: int,
    note: str,
    fewest_pairs: int = 0,
    better: Literal["higher"] | None = None,
) -> Lines:
    """Make the figure of a measure of either analysis.

    ``k``: The number of neighbours that were compared.
    ``note``: The beginning of the note below the figure, which goes on with what is measured.
    ``fewest_pairs``: For shared neighbours, the smallest number of pairs of any checkpoint. The note gives the share
        that is found by chance, which is largest there.
    ``better``: Whether to mark the highest point of each line as the best.
    """
    # For each measure: the title, the label of the y axis, and the end of the note.
    title, y_label, about = {
        "cka": ("Linear CKA by layer", "CKA", ""),
        "neighbours": (f"Shared neighbours by layer (k = {k})", "shared neighbours (%)",
                       f"By chance {100 * k / max(1, fewest_pairs - 1):.1f} %."),
        "retrieval": ("Retrieval by layer", "precision at 1 (%)", "Mean of both directions, by cosine."),
        "anisotropy": ("Anisotropy by layer", "mean cosine", "Mean cosine of two different vectors of a language."),
        "variance": ("Variance of the first component by layer", "share of variance (%)",
                     "Share of the variance in the first principal component."),
        "hubness": (f"Hubness by layer (k = {k})", f"skewness of the {k}-occurrence",
                    "How often a vector is among the neighbours of the other language's vectors: skewness."),
        "anti-hubs": (f"Anti-hubs by layer (k = {k})", "vectors (%)",
                      "Share of vectors that are among the neighbours of none of the other language's vectors."),
    }[measure]  # fmt: skip
    title = f"{title}, {languages[0]}-{languages[1]}"
    note = f"{note} {about}".strip()
    return Lines(kind="layers", title=title, y_label=y_label, series=lines, better=better, note=note)


def _series(label: str, layers: Sequence[int], values: Sequence[float]) -> LineSeries:
    """Make a line of values by layer; values that are NaN, as CKA of vectors that do not vary, are left out."""
    finite = [(layer, value) for layer, value in zip(layers, values, strict=True) if math.isfinite(value)]
    if not finite:
        raise ConfigurationError(f"{label}: the vectors do not vary at any layer; give other sentences")
    return LineSeries(label=label, x=[float(layer) for layer, _ in finite], y=[value for _, value in finite])
