"""``isoglot analyse similarity`` and ``geometry``: two languages' vectors by layer."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

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


def analyse_similarity(job: Job, request: SimilarityRequest) -> list[Path]:
    """How alike two languages are by layer: linear CKA, shared neighbours, retrieval; a line each checkpoint."""
    kind: Kind = "bitext" if request.level == "sentence" else "aligned"
    rows = list(
        corpus_rows(request.corpus, kind, languages=request.languages, limit=request.limit, **request.reading)
    )
    languages = (str(rows[0]["source_language"]), str(rows[0]["target_language"]))
    series: dict[str, list[LineSeries]] = {measure: [] for measure in request.measures}
    count = 0
    for subject in job.subjects:
        model, tokenizer = load_encoder(subject.source)
        layers = asked_layers(request.layers, model)
        step = partial(job.report.progress, subject.label)
        if request.level == "sentence":
            first, second = (
                sentence_vectors(model, tokenizer, [row[side] for row in rows], layers=layers, progress=step)
                for side in ("source", "target")
            )
        else:
            words, links, left = [], [], request.limit  # the first links, of as many sentences as have them
            for row in rows:
                if chosen := row["links"][:left]:
                    words.append((row["source_words"], row["target_words"]))
                    links.append(chosen)
                    left -= len(chosen)
            if not words:
                raise ConfigurationError("the corpus has no word link; give one that `isoglot align` linked")
            first, second = linked_vectors(model, tokenizer, words, links, layers=layers, progress=step)
        count = len(first[layers[0]])
        for measure in request.measures:
            similarity: dict[str, Callable[[Tensor, Tensor], float]] = {
                "cka": partial(linear_cka, debiased=request.debiased),
                "neighbours": partial(neighbour_overlap, k=request.neighbours),
                "retrieval": lambda left, right: sum(retrieval(left, right)) / 2,
            }
            values = [similarity[measure](first[n], second[n]) for n in layers]
            series[measure].append(_series(subject.label, layers, values))
    for name, lines in series.items():
        items = "sentences" if request.level == "sentence" else "linked words"
        note = f"{count:,} pairs of {items}; layer 0: the embeddings."
        if name == "cka":
            plain = "Not debiased: grows with hidden size over vectors."
            note += f" {'Debiased: 0 for unrelated vectors.' if request.debiased else plain}"
        figure = _figure(name, lines, languages, k=request.neighbours, note=note, count=count)
        job.figure(f"{request.name}-{name}", figure.model_copy(update={"better": "higher"}))
    return job.written


def analyse_geometry(job: Job, request: GeometryRequest) -> list[Path]:
    """The shape of the space by layer: anisotropy, the first component's variance, hubs and anti-hubs.

    The first two have a line a checkpoint and language, the others one a checkpoint and direction of search.
    """
    rows = list(
        corpus_rows(
            request.corpus, "bitext", languages=request.languages, limit=request.sentences, **request.reading
        )
    )
    languages = (str(rows[0]["source_language"]), str(rows[0]["target_language"]))
    series: dict[str, list[LineSeries]] = {measure: [] for measure in request.measures}
    for subject in job.subjects:
        model, tokenizer = load_encoder(subject.source)
        layers = asked_layers(request.layers, model)
        prefix = f"{subject.label}, " if len(job.subjects) > 1 else ""
        sides: list[dict[int, Tensor]] = [
            unit_vectors(
                model,
                tokenizer,
                [row[side] for row in rows],
                unit=request.unit,
                layers=layers,
                limit=request.limit,
                # One draw for both sides: sentences stay side by side.
                generator=generator_for(request.seed, "geometry", request.unit),
                progress=partial(job.report.progress, f"{subject.label}, {language}"),
            )
            for side, language in zip(("source", "target"), languages, strict=True)
        ]
        for measure, a in product(request.measures, (0, 1)):
            towards = f" to {languages[1 - a]}" if measure in ("hubness", "anti-hubs") else ""
            shape: dict[str, Callable[[Tensor, Tensor], float]] = {
                "anisotropy": lambda vectors, _: anisotropy(vectors),
                "variance": lambda vectors, _: top_component_share(vectors),
                "hubness": lambda *both: hubness(*both, k=request.neighbours).skewness,
                "anti-hubs": lambda *both: hubness(*both, k=request.neighbours).anti_hubs,
            }
            values = [shape[measure](sides[a][n], sides[1 - a][n]) for n in layers]
            series[measure].append(_series(f"{prefix}{languages[a]}{towards}", layers, values))
    for name, lines in series.items():
        note = f"A vector a {request.unit}; layer 0: the embeddings."
        job.figure(f"{request.name}-{name}", _figure(name, lines, languages, k=request.neighbours, note=note))
    return job.written


def _figure(
    measure: str, lines: list[LineSeries], languages: tuple[str, str], *, k: int, note: str, count: int = 0
) -> Lines:
    title, y_label, about = {
        "cka": ("Linear CKA by layer", "CKA", ""),
        "neighbours": (f"Shared neighbours by layer (k = {k})", "shared neighbours (%)",
                       f"By chance {100 * k / max(1, count - 1):.1f} %."),
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
    return Lines(kind="layers", title=title, y_label=y_label, series=lines, note=f"{note} {about}".strip())


def _series(label: str, layers: Sequence[int], values: Sequence[float]) -> LineSeries:
    """A line; where a layer has no finite value (vectors that do not vary), it has no point there."""
    finite = [(float(n), v) for n, v in zip(layers, values, strict=True) if math.isfinite(v)]
    if not finite:
        raise ConfigurationError(f"{label}: the vectors do not vary at any layer; give other sentences")
    return LineSeries(label=label, x=[n for n, _ in finite], y=[v for _, v in finite])
