"""`isoglot align-sentences`: which lines of two documents translate each other, by vectors of lines and their joins."""

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
from isoglot.mining.sentence_paths import cheapest_groups, length_ratio, mutual_lines, spaced, usual_skip
from isoglot.mining.text_rows import TextRow, pair_of_rows, require_texts, text_rows
from isoglot.mining.vectors import (
    OnUnknownText,
    SentenceEncoder,
    line_counter,
    raw_vectors,
    sentence_encoder,
    unit_vectors,
)
from isoglot.modules.neighbours import unit
from isoglot.runs.files import check_outputs
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.tasks.text_vectors import LEFT_OUT

Block = list[TextRow]
"""Rows without a blank one between them."""
Group = tuple[Block, Block, float]
"""Rows that translate each other, and their score."""
_LINES = 8192
"""Lines of short documents that are encoded together."""


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
    sides = [
        _blocks((TextRow(line, text) for line, text in enumerate(given_texts(texts, name), 1)), request)
        for name, texts in (("source", source), ("target", target))
    ]
    return ResultList(
        SentenceGroup(
            tuple(row.line for row in rows),
            tuple(row.line for row in translations),
            score,
            " ".join(row.text for row in rows),
            " ".join(row.text for row in translations),
        )
        for rows, translations, score in _groups(
            _paired(*sides), sentence_encoder(request.model, request), request
        )
    )


def align_sentence_files(
    paths: tuple[str, str],
    out: str,
    request: SentenceAlignRequest,
    *,
    languages: tuple[str, str] = ("", ""),
    progress: AnyReporter | None = None,
) -> dict[str, int]:
    """Align two files and write the groups; how many there are of each size, such as ``1-2``.

    ``languages``: Codes of both languages, which JSON lines and TMX name.
    """
    check_outputs([out], paths)
    require_texts(paths)
    report, counts = reporter_of(progress).progress, Counter[str]()
    with pair_writer([out], languages) as write:
        sides = [
            _blocks(text_rows(path, language), request)
            for path, language in zip(paths, languages, strict=True)
        ]
        total, aligned = sum(map(len, sides[0])), 0
        encoder = sentence_encoder(request.model, request)
        for source, target, score in _groups(_paired(*sides), encoder, request):
            counts[f"{len(source)}-{len(target)}"] += 1
            lines = [",".join(str(row.line) for row in rows) for rows in (source, target)]
            values = {"score": score, "source_lines": lines[0], "target_lines": lines[1]}
            write(pair_of_rows(source, target, languages), values)
            aligned += len(source)
            report("aligning", aligned, total)
    return counts


def _blocks(rows: Iterable[TextRow], options: SentenceAlignRequest) -> list[Block]:
    """The rows between blank ones; of one document all."""
    blocks: list[Block] = [[]]
    for row in rows:
        if not is_blank(row.cleaned):
            blocks[-1].append(row)
        elif blocks[-1] and not options.one_document:
            blocks.append([])
    return [block for block in blocks if block]


def _paired(source: list[Block], target: list[Block]) -> list[tuple[Block, Block]]:
    """The parts of both sides that belong together."""
    if min(len(source), len(target)) <= 1:
        return [(list(chain(*source)), list(chain(*target)))]
    if len(source) != len(target):
        ratios = enumerate((len(a) / len(b) for a, b in zip(source, target, strict=False)), 1)
        unlike = [number for number, ratio in ratios if not 1 / 3 <= ratio <= 3]
        hint = f"; part {unlike[0]} is the first of very different lengths" if unlike else ""
        raise ConfigurationError(
            f"blank lines divide the source into {len(source)} parts and the target into {len(target)}{hint}; make "
            "them as many, or align across them: [[one_document=True]]"
        )
    return list(zip(source, target, strict=True))


def _groups(
    pairs: Sequence[tuple[Block, Block]], encoder: SentenceEncoder, options: SentenceAlignRequest
) -> Iterator[Group]:
    """The groups of all parts; short parts are encoded together."""
    unknown = UnknownWords(LEFT_OUT)
    window: list[tuple[Block, Block]] = []
    for number, pair in enumerate(pairs, 1):
        window.append(pair)
        if number == len(pairs) or sum(len(rows) for pair in window for rows in pair) >= _LINES:
            yield from _window_groups(window, encoder, options, unknown)
            window = []
    unknown.warn()


def _window_groups(
    window: Sequence[tuple[Block, Block]],
    encoder: SentenceEncoder,
    options: SentenceAlignRequest,
    unknown: UnknownWords,
) -> Iterator[Group]:
    vectors, lines, lengths = [], [], []
    for side, name in enumerate(("source", "target")):
        texts = [[row.cleaned for row in pair[side]] for pair in window]
        numbers = {row.cleaned: row.line for pair in reversed(window) for row in reversed(pair[side])}
        vectors.append(_runs(encoder, texts, options, line_counter(unknown, name, numbers)))
        lines.append(np.concatenate([runs[0] for runs in vectors[side]]))
        # with the space that joins a line to the next one
        lengths.append([np.array([len(text) + 1 for text in part], np.float32) for part in texts])
    nearest = mutual_lines(lines[0], lines[1])
    skip = usual_skip(lines[0], lines[1], nearest) if options.skip is None else options.skip
    ratio = length_ratio(np.concatenate(lengths[0]), np.concatenate(lengths[1]), nearest)
    samples = spaced(lines[0]), spaced(lines[1])
    for number, (source, target) in enumerate(window):
        steps = cheapest_groups(
            vectors[0][number],
            vectors[1][number],
            max_size=options.max_size,
            skip=skip,
            samples=samples,
            lengths=(lengths[0][number], lengths[1][number] * ratio),
            length_weight=options.length_weight,
        )
        for i, j, a, b, price in steps:
            yield source[i : i + a], target[j : j + b], 1 - price / (a * b) if a * b else 0.0


def _runs(
    encoder: SentenceEncoder,
    parts: Sequence[Sequence[str]],
    options: SentenceAlignRequest,
    unknown: OnUnknownText,
) -> list[list[NDArray[np.float32]]]:
    """For each part, and each length of a run, unit vectors of the runs that end at each line."""
    sizes = range(1, options.max_size)
    if options.joined == "encode":
        # a run that would begin before its part has a vector as well, which is not looked at
        runs = [
            [" ".join(part[max(0, end - size) : end]) for end in range(1, len(part) + 1)]
            for size in sizes
            for part in parts
        ]
        rows = {text: row for row, text in enumerate(dict.fromkeys(chain(*runs)))}
        table = unit_vectors(encoder, list(rows), unknown).numpy()
        vectors = [table[[rows[text] for text in run]] for run in runs]
    else:
        texts = list(chain(*parts))
        raw = raw_vectors(encoder, texts, unknown)
        lengths = torch.tensor([float(len(text)) for text in texts])
        split = (raw * lengths[:, None]).double().split([len(part) for part in parts])
        sums = [torch.nn.functional.pad(part.cumsum(0), (0, 0, 1, 0)) for part in split]
        vectors = [
            unit(part[1:] - part[(torch.arange(1, len(part)) - size).clamp(min=0)]).numpy()
            for size in sizes
            for part in sums
        ]
    return [vectors[number :: len(parts)] for number in range(len(parts))]
