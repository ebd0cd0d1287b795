"""`isoglot align-sentences`: which lines of two documents translate each other, by vectors of lines and their joins."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from isoglot.checkpoints.folder import BOX
from isoglot.checks import given_texts, validated
from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.corpus.filter.filters import clean
from isoglot.corpus.read.line_files import blocks, numbered_lines
from isoglot.corpus.text_pairs import TextPair
from isoglot.errors import ConfigurationError
from isoglot.mining.files import pair_writer, require_lines
from isoglot.mining.options import SentenceAlignOptions
from isoglot.mining.sentence_paths import cheapest_groups, length_ratio, mutual_lines, spaced, usual_skip
from isoglot.mining.vectors import OnUnknownText, SentenceEncoder, raw_vectors, sentence_encoder, unit_vectors
from isoglot.modules.neighbours import unit
from isoglot.runs.files import check_outputs
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.tasks.text_vectors import LEFT_OUT

Block = list[tuple[int, str]]
"""Numbered lines without a blank one between them."""
_LINES = 8192
"""Lines of short documents that are encoded together."""


@dataclass(frozen=True, slots=True)
class SentenceGroup:
    """Lines that translate each other, or one that has no translation.

    Args:
        source_lines: Numbers of the source lines, from 1; none of a line that only the target has.
        target_lines: Numbers of the target lines.
        score: 1 for the same vectors and lengths, about 0 for a pair of chance, and 0 for a line without translation.
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
) -> list[SentenceGroup]:
    """Align the lines of two documents, which have the same order.

    Blank lines on both sides separate parts that translate each other, and have to be as many; those on one side alone
    count as nothing. A line without a word that the encoder's vocabulary knows has no translation, unless it is joined
    to another.

    Args:
        source: Lines of a document.
        target: Lines of its translation.
        model: Folder or hub name of an encoder of sentences, ``box`` by default, or any function of texts, such as a
            :class:`isoglot.tasks.text_vectors.TextEncoder`.
        **options: Fields of :class:`isoglot.mining.options.SentenceAlignOptions`, such as ``max_size=6``.

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
    wanted = validated(SentenceAlignOptions, options, what="align-sentences option")
    given = given_texts(source, "source"), given_texts(target, "target")
    sides = [_blocks(enumerate(lines, 1), wanted) for lines in given]
    return list(_aligned(_paired(*sides), sentence_encoder(model), wanted))


def align_sentence_files(
    paths: tuple[str, str],
    out: str,
    encoder: Callable[[], SentenceEncoder],
    options: SentenceAlignOptions,
    *,
    languages: tuple[str, str] = ("", ""),
    progress: AnyReporter | None = None,
) -> dict[str, int]:
    """Align two files and write the groups; how many there are of each size, such as ``1-2``.

    ``languages``: Codes of both languages, which JSON lines and TMX name.
    """
    check_outputs([out], paths)
    require_lines(paths)
    show, counts = reporter_of(progress).progress, Counter[str]()
    with pair_writer([out], languages) as write:
        sides = [_blocks(numbered_lines(path), options) for path in paths]
        total = sum(map(len, sides[0]))
        for group in _aligned(_paired(*sides), encoder(), options):
            counts[f"{len(group.source_lines)}-{len(group.target_lines)}"] += 1
            source, target = (",".join(map(str, own)) for own in (group.source_lines, group.target_lines))
            values = {"score": group.score, "source_lines": source, "target_lines": target}
            write(TextPair((group.source, group.target), languages=languages), values)
            if group.source_lines:
                show("aligning", group.source_lines[-1], total)
    return counts


def _blocks(lines: Iterable[tuple[int, str]], options: SentenceAlignOptions) -> list[Block]:
    found = list(blocks((number, clean(line)) for number, line in lines))
    return [list(chain(*found))] if options.one_document and found else found


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
            "them as many, or align across them: --one-document"
        )
    return list(zip(source, target, strict=True))


def _aligned(
    pairs: Sequence[tuple[Block, Block]], encoder: SentenceEncoder, options: SentenceAlignOptions
) -> Iterator[SentenceGroup]:
    unknown = UnknownWords(LEFT_OUT)
    for window in _windows(pairs):
        texts = [[[text for _, text in pair[side]] for pair in window] for side in (0, 1)]
        numbers = [
            {text: n for pair in reversed(window) for n, text in reversed(pair[side])} for side in (0, 1)
        ]
        vectors = [
            _runs(encoder, own, options, partial(_count, unknown, side, lines))
            for own, side, lines in zip(texts, ("source", "target"), numbers, strict=True)
        ]
        lines = [np.concatenate([runs[0] for runs in own]) for own in vectors]
        # with the space that joins a line to the next one
        long = [[np.array([len(text) + 1 for text in part], np.float32) for part in own] for own in texts]
        nearest = mutual_lines(lines[0], lines[1])
        skip = usual_skip(lines[0], lines[1], nearest) if options.skip is None else options.skip
        ratio = length_ratio(np.concatenate(long[0]), np.concatenate(long[1]), nearest)
        for (source, target), one, other, lengths, others in zip(window, *vectors, *long, strict=True):
            found = cheapest_groups(
                one,
                other,
                max_size=options.max_size,
                skip=skip,
                samples=(spaced(lines[0]), spaced(lines[1])),
                lengths=(lengths, others * ratio),
                length_weight=options.length_weight,
            )
            for i, j, a, b, price in found:
                yield _group(source[i : i + a], target[j : j + b], 1 - price / (a * b) if a * b else 0.0)
    unknown.warn()


def _count(
    unknown: UnknownWords, side: str, lines: dict[str, int], text: str, words: Sequence[str], whole: bool
) -> None:
    """Count the unknown words of lines; those of lines that are joined have been counted."""
    if text in lines:
        unknown.add(f"line {lines[text]} of the {side}", words, whole)


def _group(source: Block, target: Block, score: float) -> SentenceGroup:
    lines = [tuple(number for number, _ in side) for side in (source, target)]
    texts = [" ".join(text for _, text in side) for side in (source, target)]
    return SentenceGroup(lines[0], lines[1], score, texts[0], texts[1])


def _windows(pairs: Sequence[tuple[Block, Block]]) -> Iterator[list[tuple[Block, Block]]]:
    """Consecutive parts, enough of them to be worth a run of the encoder."""
    window: list[tuple[Block, Block]] = []
    size = 0
    for pair in pairs:
        window.append(pair)
        size += len(pair[0]) + len(pair[1])
        if size >= _LINES:
            yield window
            window, size = [], 0
    if window:
        yield window


def _runs(
    encoder: SentenceEncoder,
    parts: Sequence[Sequence[str]],
    options: SentenceAlignOptions,
    unknown: OnUnknownText,
) -> list[list[NDArray[np.float32]]]:
    """For each part, and each length of a run, unit vectors of the runs that end at each line."""
    sizes = range(1, options.max_size)
    # a run that would begin before its part has a vector as well, which is not looked at
    runs = [
        [" ".join(part[max(0, end - size) : end]) for end in range(1, len(part) + 1)]
        for size in sizes
        for part in parts
    ]
    if options.joined == "encode":
        different = {text: n for n, text in enumerate(dict.fromkeys(chain(*runs)))}
        table = unit_vectors(encoder, list(different), unknown).numpy()
        found = [table[[different[text] for text in run]] for run in runs]
    else:
        texts = list(chain(*parts))
        raw, lengths = (
            raw_vectors(encoder, texts, unknown),
            torch.tensor([float(len(text)) for text in texts]),
        )
        split = (raw * lengths[:, None]).double().split([len(part) for part in parts])
        sums = [torch.nn.functional.pad(own.cumsum(0), (0, 0, 1, 0)) for own in split]
        found = [
            unit(own[1:] - own[(torch.arange(1, len(own)) - size).clamp(min=0)]).numpy()
            for size in sizes
            for own in sums
        ]
    return [found[place :: len(parts)] for place in range(len(parts))]
