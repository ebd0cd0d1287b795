"""``isoglot analyse map``: frequent aligned words of two languages in one plane (WEAM, Fig. 2)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from isoglot.aligners.embedding.loading import load_encoder
from isoglot.analysis import word_map
from isoglot.analysis.analyse import Job, corpus_rows
from isoglot.analysis.options import MapRequest
from isoglot.core.checks import is_number
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.formats.line_files import numbered_lines
from isoglot.modules.encoder import layer_number
from isoglot.reports.figure_files import EmbeddingMap, MapPanel, MapPoint


class _Point(NamedTuple):
    """A word of a map."""

    side: int  # 0 the source, 1 the target
    word: str
    pair: int  # the number of its pair; 0 for all pairs if vectors are static, so that the word is one point


def analyse_map(job: Job, request: MapRequest) -> list[Path]:
    """Map frequent aligned words, with a panel for each checkpoint (WEAM, Fig. 2: before and after).

    Both languages of a panel are projected together.
    """
    # How often each source word is linked to each target word.
    counts: Counter[tuple[str, str]] = Counter()
    languages, sentences = ("", ""), 0
    for row in _rows(request):
        if sentences == 0:
            languages = (str(row["source_language"]), str(row["target_language"]))
        source, target = row["source_words"], row["target_words"]
        counts.update((source[i], target[j]) for i, j in row["links"])
        sentences += 1
    job.report.note(f"{sentences:,} sentence pairs, {len(counts):,} different word links")
    stop_words, remark = _stop_words(request.stop_words, counts, languages)
    usable: Mapping[tuple[str, str], int] = counts
    if request.pieces == "single":
        tokenizers = [load_tokenizer(subject.source) for subject in job.subjects]
        single = word_map.one_piece(tokenizers, chain.from_iterable(counts))
        usable = {pair: times for pair, times in counts.items() if single.issuperset(pair)}
    pairs = word_map.frequent_pairs(
        usable, count=request.count, stop_words=stop_words, distinct=request.distinct
    )
    panels = []
    for subject in job.subjects:
        model, tokenizer = load_encoder(subject.source)
        if request.layer is None:
            source = word_map.static_vectors(model, tokenizer, [word for word, _ in pairs])
            target = word_map.static_vectors(model, tokenizer, [word for _, word in pairs])
        else:
            layer = layer_number(model, request.layer, name="[[layer]]")
            source, target = word_map.contextual_vectors(model, tokenizer, _rows(request), pairs, layer=layer)
        vectors = list(zip(source, target, strict=True))
        panels.append(_panel(subject.label, pairs, vectors, languages, request))
        job.report.progress("panels", len(panels), len(job.subjects))
    vectors_of = "input embeddings" if request.layer is None else f"vectors of layer {request.layer}"
    projection = "t-SNE" if request.projection.method == "tsne" else "Principal components"
    note = (
        f"{projection} of the {vectors_of} of the {len(pairs)} most frequent word links in {sentences:,} sentence "
        f"pairs, {remark}; both languages projected together, each panel by itself."
    )
    title = f"Frequent aligned words, {languages[0]}-{languages[1]}"
    job.figure(request.name, EmbeddingMap(kind="embedding_map", title=title, panels=panels, note=note))
    return job.written


def _rows(request: MapRequest) -> Iterator[dict[str, Any]]:
    """Read the sentence pairs, which may be larger than memory: whoever needs them again reads the files again."""
    return corpus_rows(
        request.corpus, "aligned", languages=request.languages, limit=request.limit, **request.reading
    )


def _panel(
    title: str,
    pairs: Sequence[word_map.LinkedWords],
    vectors: Sequence[tuple[Tensor, Tensor]],
    languages: tuple[str, str],
    request: MapRequest,
) -> MapPanel:
    """Make a panel whose points are the different words, and whose lines join the words of a pair.

    A word that is in several pairs is one point if vectors are static. Contextual vectors are means over the
    occurrences of a pair, so there the word is a point for each of its pairs.
    """
    vector_of: dict[_Point, Tensor] = {}
    points_of_pairs = []
    for number, (source, target) in enumerate(pairs):
        source_vector, target_vector = vectors[number]
        pair = 0 if request.layer is None else number
        source_point, target_point = _Point(0, source, pair), _Point(1, target, pair)
        vector_of.setdefault(source_point, source_vector)
        vector_of.setdefault(target_point, target_vector)
        points_of_pairs.append((source_point, target_point))
    # In the figure, pairs name their points by number.
    number_of = {point: number for number, point in enumerate(vector_of)}
    joined = [(number_of[source], number_of[target]) for source, target in points_of_pairs]
    places = word_map.project(torch.stack(list(vector_of.values())), request.projection)
    drawn = []
    for (x, y), point in zip(places.tolist(), vector_of, strict=True):
        drawn.append(MapPoint(x=x, y=y, word=point.word, language=languages[point.side]))
    return MapPanel(title=title, points=drawn, pairs=joined)


def _stop_words(
    choice: str, counts: Mapping[tuple[str, str], int], languages: tuple[str, str]
) -> tuple[tuple[Collection[str], Collection[str]], str]:
    """Read the option ``stop_words``; return the stop words of both sides, and a remark on them for the figure."""
    if choice == "auto":
        choice = "english" if "en" in languages else "frequent:100"
    if choice == "none":
        return ((), ()), "stop words included"
    if choice == "english":
        if "en" not in languages:
            raise ConfigurationError(
                f"[[stop_words='english']] does not fit a {'-'.join(languages)} corpus; give frequent:100 or a file"
            )
        english = word_map.english_stop_words()
        source, target = (english if language == "en" else frozenset() for language in languages)
        remark = "without scikit-learn's English stop words (but for *our*) and what they are linked with"
        return (source, target), remark
    if choice.startswith("frequent:") and is_number(choice.removeprefix("frequent:")):
        top = int(choice.removeprefix("frequent:"))
        return word_map.frequent_words(counts, top), f"without the {top} most frequent words of either side"
    path = Path(choice)
    if not path.is_file():
        raise ConfigurationError(
            f"[[stop_words]] must be auto, english, frequent:100, none or a file of one word per line, got {choice!r}"
        )
    listed = {line.strip().lower() for _, line in numbered_lines(path)} - {""}
    return (listed, listed), f"without the {len(listed)} stop words of {path.name}"
