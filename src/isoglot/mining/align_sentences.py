"""`isoglot align-sentences`: find the lines of two documents that translate each other, by vectors of lines.

lines ─> parts (between blank lines) ─> vectors of spans of 1, 2, … lines ─> sentence_paths.py ─> groups of lines
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from isoglot.checkpoints.folder import BOX
from isoglot.core.checks import given_texts, validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import ResultList, Tabular
from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.words import is_blank
from isoglot.mining.options import SentenceAlignRequest
from isoglot.mining.sentence_paths import (
    cheapest_groups,
    length_ratio,
    mutual_lines,
    sample_lines,
    skip_cost,
)
from isoglot.mining.text_rows import TextRow, pair_of_rows, require_texts, text_rows
from isoglot.mining.vectors import (
    OnUnknownText,
    SentenceEncoder,
    raw_vectors,
    sentence_encoder,
    unit_vectors,
    unknown_word_counter,
)
from isoglot.modules.neighbours import unit
from isoglot.runs.files import check_outputs
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.tasks.text_vectors import LEFT_OUT

Part = list[TextRow]
"""Lines of a document between two blank ones; the whole document if it has no blank line."""
PartPair = tuple[Part, Part]
"""A part of the source, and the part of the target that translates it."""
Group = tuple[list[TextRow], list[TextRow], float]
"""Source lines and target lines that translate each other, and their score."""
_LINES_TOGETHER = 8192
"""Short parts wait until they have this many lines, of both sides together, and are then encoded together."""


@dataclass(frozen=True, slots=True)
class SentenceGroup(Tabular):
    """Lines that translate each other, or one that has no translation.

    Args:
        source_lines: Numbers of the source lines, from 1; none of a line that only the target has.
        target_lines: Numbers of the target lines.
        score: 1 for the same vectors and lengths, about 0 for a random pair, and 0 for a line without translation.
        source: Text of the source lines, joined by spaces.
        target: Text of the target lines.
    """

    source_lines: tuple[int, ...]
    target_lines: tuple[int, ...]
    score: float
    source: str
    target: str


def align_sentences(
    source: Sequence[str], target: Sequence[str], model: str | Path | SentenceEncoder = BOX, **options: Any
) -> ResultList[SentenceGroup]:
    """Align the lines of two documents, which have the same order.

    Blank lines on both sides separate parts that translate each other, and have to be as many; those on one side alone
    count as nothing. A line without a word that the encoder's vocabulary knows has no translation, unless it is joined
    to another.

    Args:
        source: Lines of a document.
        target: Lines of its translation.
        model: Folder or hub name of an encoder of sentences, ``box`` by default, or any function of texts, such as a
            :class:`isoglot.tasks.text_vectors.TextEncoder`.
        **options: Other fields of :class:`isoglot.mining.options.SentenceAlignRequest`, such as ``max_size=6``; of an
            encoder with a name also those of its vectors, such as ``layer=8``.

    Returns:
        Groups in the order of the documents; every line that is not blank is in one.

    Example:
        >>> import torch
        >>> signs = "abcdxy"
        >>> def encoder(texts):
        ...     return torch.tensor([[text.lower().count(sign) + 0.1 for sign in signs] for text in texts])
        >>> groups = align_sentences(["a", "b", "c d", "x"], ["A", "B", "C", "D"], encoder)
        >>> [(group.source_lines, group.target_lines) for group in groups]
        [((1,), (1,)), ((2,), (2,)), ((3,), (3, 4)), ((4,), ())]

    Sources: Thompson and Koehn 2019 (Vecalign), Liu and Zhu 2023 (Bertalign).
    """
    request = validated(SentenceAlignRequest, {"model": model, **options})
    sides = []
    for name, texts in (("source", source), ("target", target)):
        rows = (TextRow(line, text) for line, text in enumerate(given_texts(texts, name), 1))
        sides.append(_parts(rows, request))
    pairs = _paired(*sides)
    encoder = sentence_encoder(request.model, request)
    return ResultList(
        SentenceGroup(
            tuple(row.line for row in source_rows),
            tuple(row.line for row in target_rows),
            score,
            " ".join(row.text for row in source_rows),
            " ".join(row.text for row in target_rows),
        )
        for source_rows, target_rows, score in _groups(pairs, encoder, request)
    )


def align_sentence_files(
    paths: tuple[str, str],
    out: str,
    request: SentenceAlignRequest,
    *,
    languages: tuple[str, str] = ("", ""),
    progress: AnyReporter | None = None,
) -> dict[str, int]:
    """Align two files and write the groups.

    ``languages``: Codes of both languages, which JSON lines and TMX name.

    Returns:
        The number of groups by their numbers of source and target lines: ``{"1-1": 90, "1-2": 4, "0-1": 1}``.
    """
    check_outputs([out], paths)
    require_texts(paths)
    report, counts = reporter_of(progress).progress, Counter[str]()
    with pair_writer([out], languages) as write:
        sides = [
            _parts(text_rows(path, language), request)
            for path, language in zip(paths, languages, strict=True)
        ]
        total, aligned = sum(map(len, sides[0])), 0  # source lines
        encoder = sentence_encoder(request.model, request)
        for source, target, score in _groups(_paired(*sides), encoder, request):
            counts[f"{len(source)}-{len(target)}"] += 1
            source_lines = ",".join(str(row.line) for row in source)
            target_lines = ",".join(str(row.line) for row in target)
            values = {"score": score, "source_lines": source_lines, "target_lines": target_lines}
            write(pair_of_rows(source, target, languages), values)
            aligned += len(source)
            report("aligning", aligned, total)
    return counts


def _parts(rows: Iterable[TextRow], request: SentenceAlignRequest) -> list[Part]:
    """Divide a document at its blank lines, which are left out; with ``one_document``, all lines are one part."""
    parts: list[Part] = [[]]
    for row in rows:
        if not is_blank(row.cleaned):
            parts[-1].append(row)
        elif parts[-1] and not request.one_document:
            parts.append([])
    return [part for part in parts if part]


def _paired(source: list[Part], target: list[Part]) -> list[PartPair]:
    """Pair the parts of both sides, in their order.

    If one side has no blank line inside, the blank lines of the other one count as nothing: all lines are one part.
    """
    if min(len(source), len(target)) <= 1:
        return [(list(chain(*source)), list(chain(*target)))]
    if len(source) != len(target):
        # A blank line too many shifts all parts behind it, so the first pair of unlike lengths is near.
        unlike = []
        for number, (source_part, target_part) in enumerate(zip(source, target, strict=False), 1):
            if not 1 / 3 <= len(source_part) / len(target_part) <= 3:
                unlike.append(number)
        hint = f"; part {unlike[0]} is the first of very different lengths" if unlike else ""
        raise ConfigurationError(
            f"blank lines divide the source into {len(source)} parts and the target into {len(target)}{hint}; make "
            "them as many, or align across them: [[one_document=True]]"
        )
    return list(zip(source, target, strict=True))


def _groups(
    pairs: Sequence[PartPair], encoder: SentenceEncoder, request: SentenceAlignRequest
) -> Iterator[Group]:
    """Align the lines of each pair of parts; short parts wait for the next ones, to be encoded together."""
    unknown = UnknownWords(LEFT_OUT)
    waiting: list[PartPair] = []
    waiting_lines = 0
    for number, (source, target) in enumerate(pairs, 1):
        waiting.append((source, target))
        waiting_lines += len(source) + len(target)
        if number == len(pairs) or waiting_lines >= _LINES_TOGETHER:
            yield from _groups_together(waiting, encoder, request, unknown)
            waiting, waiting_lines = [], 0
    unknown.warn()


def _groups_together(
    pairs: Sequence[PartPair],
    encoder: SentenceEncoder,
    request: SentenceAlignRequest,
    unknown: UnknownWords,
) -> Iterator[Group]:
    """Align the lines of several pairs of parts, which share sample lines, the cost of a skip and the length ratio."""
    # span_vectors[side][part][size - 1] has for each line the vector of the span of `size` lines that ends there.
    span_vectors: list[list[list[NDArray[np.float32]]]] = []
    lengths: list[list[NDArray[np.float32]]] = []
    # line_vectors[side] has the vectors of the lines of all parts.
    line_vectors: list[NDArray[np.float32]] = []
    for side, name in enumerate(("source", "target")):
        texts = [[row.cleaned for row in pair[side]] for pair in pairs]  # of each part
        line_of_text: dict[str, int] = {}  # the first one of each text
        for pair in pairs:
            for row in pair[side]:
                line_of_text.setdefault(row.cleaned, row.line)
        on_unknown = unknown_word_counter(unknown, name, line_of_text)
        span_vectors.append(_span_vectors(encoder, texts, request, on_unknown))
        line_vectors.append(np.concatenate([vectors_of_part[0] for vectors_of_part in span_vectors[side]]))
        # A line's length has the space that joins it to the next line.
        lengths.append([np.array([len(text) + 1 for text in part], np.float32) for part in texts])

    source_lines, target_lines = line_vectors
    nearest = mutual_lines(source_lines, target_lines)
    skip = skip_cost(source_lines, target_lines, nearest) if request.skip is None else request.skip
    ratio = length_ratio(np.concatenate(lengths[0]), np.concatenate(lengths[1]), nearest)
    samples = sample_lines(source_lines), sample_lines(target_lines)

    for number, (source, target) in enumerate(pairs):
        steps = cheapest_groups(
            span_vectors[0][number],
            span_vectors[1][number],
            max_size=request.max_size,
            skip=skip,
            samples=samples,
            lengths=(lengths[0][number], lengths[1][number] * ratio),
            length_weight=request.length_weight,
        )
        for first_source, first_target, a, b, cost in steps:
            # A group of a and b lines costs a b times the distance of its sides; a skipped line is no group.
            score = 1 - cost / (a * b) if a * b else 0.0
            yield source[first_source : first_source + a], target[first_target : first_target + b], score


def _span_vectors(
    encoder: SentenceEncoder,
    parts: Sequence[Sequence[str]],
    request: SentenceAlignRequest,
    on_unknown: OnUnknownText,
) -> list[list[NDArray[np.float32]]]:
    """Compute the vectors of the spans of lines of one side.

    A part of the lines ``a, b, c`` has the spans ``a, b, c`` of one line and ``a, a b, b c`` of two: one for each line,
    at which it ends. A span that would begin before its part is shorter, and is not looked at.

    Returns:
        For each part, and in it for 1, 2, … ``request.longest_span`` lines, the unit vectors of its spans.
    """
    if request.joined == "sum":
        return _summed_span_vectors(encoder, parts, request, on_unknown)
    # texts_of_parts[part][size - 1] has for each line the text of the span of `size` lines that ends there.
    texts_of_parts: list[list[list[str]]] = []
    for part in parts:
        texts_of_part = []
        for size in range(1, request.longest_span + 1):
            ends = range(1, len(part) + 1)
            texts_of_part.append([" ".join(part[max(0, end - size) : end]) for end in ends])
        texts_of_parts.append(texts_of_part)

    # Each text is encoded once. The lines of all parts come first, then the spans of two lines, and so on: texts that
    # are encoded in one batch are about equally long.
    row_of_text: dict[str, int] = {}
    for texts_of_size in zip(*texts_of_parts, strict=True):
        for text in chain(*texts_of_size):
            row_of_text.setdefault(text, len(row_of_text))
    table = unit_vectors(encoder, list(row_of_text), on_unknown).numpy()

    vectors_of_parts = []
    for texts_of_part in texts_of_parts:
        vectors_of_part = []
        for texts in texts_of_part:
            rows = [row_of_text[text] for text in texts]
            vectors_of_part.append(table[rows])
        vectors_of_parts.append(vectors_of_part)
    return vectors_of_parts


def _summed_span_vectors(
    encoder: SentenceEncoder,
    parts: Sequence[Sequence[str]],
    request: SentenceAlignRequest,
    on_unknown: OnUnknownText,
) -> list[list[NDArray[np.float32]]]:
    """Compute the vectors of :func:`_span_vectors` as sums: those of the lines of each span, weighted by length."""
    texts = list(chain(*parts))
    vectors = raw_vectors(encoder, texts, on_unknown)
    lengths = torch.tensor([float(len(text)) for text in texts])
    weighted = (vectors * lengths[:, None]).double()
    vectors_of_parts = []
    for lines in weighted.split([len(part) for part in parts]):
        # Row n is the sum of the first n lines, so a span is the difference of two rows.
        sums = torch.nn.functional.pad(lines.cumsum(0), (0, 0, 1, 0))
        ends = torch.arange(1, len(sums))
        vectors_of_part = []
        for size in range(1, request.longest_span + 1):
            starts = (ends - size).clamp(min=0)
            vectors_of_part.append(unit(sums[ends] - sums[starts]).numpy())
        vectors_of_parts.append(vectors_of_part)
    return vectors_of_parts
