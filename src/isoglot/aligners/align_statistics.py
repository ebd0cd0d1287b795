"""Statistical aligners over files: the text is kept as word numbers, on disk too where a format shows its words."""

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import IO

import numpy as np

from isoglot.aligners.alignment import MOST_ENTRIES, WINDOW, LinkTable, PairLinks, pair_links
from isoglot.aligners.files.output import NUMBERED
from isoglot.aligners.files.pair_warnings import Warnings
from isoglot.aligners.files.pairs import RawPair, Warn, bitext_sources, read_pairs
from isoglot.aligners.options import AlignRequest, Eflomal, Encoder, FastAlign, Hmm, Saved
from isoglot.aligners.statistical.bitext import Ints, Side, WordNumbers
from isoglot.aligners.statistical.eflomal import EflomalAligner
from isoglot.aligners.statistical.model import AGREEMENT, StatisticalAligner
from isoglot.corpus.read.sources import Source
from isoglot.errors import ConfigurationError

_NONE = ("src", "tgt")
"""Languages of text whose languages play no part."""

Found = Iterator[tuple[RawPair | None, PairLinks]]


def by_statistics(sources: Sequence[Source], request: AlignRequest, warn: Warn) -> Found:
    """The links of bitext files, in their order, each with its pair unless the output format shows no words."""
    aligner = request.aligner
    if isinstance(aligner, Saved):
        yield from _by_loaded(aligner, sources, request, warn)
        return
    if isinstance(aligner, Encoder):
        raise TypeError("an encoder is not a statistical aligner")
    if isinstance(aligner, Eflomal):
        _program(aligner).executable()
    with tempfile.TemporaryFile() as spool:
        shown = request.output not in NUMBERED
        source, target, own = _encoded(sources, aligner, request, warn, spool if shown else None)
        if isinstance(aligner, Eflomal):
            tables = _program(aligner).align_words(source.sentences(), target.sentences()).windows(own)
        else:
            own_options = {**aligner.decoding(), **dict(aligner.options), "words": request.words}
            learner = StatisticalAligner(aligner.kind, lowercase=aligner.lowercase, **own_options)
            keep = aligner.save is not None or aligner.lexicon is not None
            tables = learner.fit_align_sides(source, target, keep=keep).windows(own)
            _keep(learner, aligner)
        links = _kept(tables, source.lengths, target.lengths, aligner, shown)
        spool.seek(0)
        for found in links:
            yield pickle.load(spool) if shown else None, found  # noqa: S301 - our own file


def _program(aligner: Eflomal) -> EflomalAligner:
    return EflomalAligner(
        symmetrisation=aligner.symmetrisation, program=aligner.program, arguments=aligner.arguments
    )


def _by_loaded(wanted: Saved, sources: Sequence[Source], request: AlignRequest, warn: Warn) -> Found:
    """Links by a saved model, a window of pairs at a time."""
    aligner = StatisticalAligner.load(wanted.load, **wanted.decoding())
    if aligner.words not in (None, request.words):
        raise ConfigurationError(
            f"{wanted.load} was trained on text cut by --words {aligner.words}; add --words {aligner.words}"
        )
    if wanted.threshold is not None and aligner.symmetrisation != AGREEMENT:
        raise ConfigurationError(
            f"--set threshold: {wanted.load} is read by {aligner.symmetrisation}, which has none; leave it out"
        )
    _keep(aligner, wanted)
    pairs, first = read_pairs(sources, mode=request.words, warn=warn), 0
    while window := list(islice(pairs, WINDOW)):
        words = [_usable(pair, number, warn) for number, pair in enumerate(window, first + 1)]
        sides = [[pair[side] for pair in words] for side in (0, 1)]
        one, other = (np.array([len(words) for words in side], np.int64) for side in sides)
        tables = aligner.align_words(*sides).windows(len(window))
        yield from zip(window, _kept(tables, one, other, wanted), strict=True)
        first += len(window)


def _encoded(
    sources: Sequence[Source],
    aligner: FastAlign | Hmm | Eflomal,
    request: AlignRequest,
    warn: Warn,
    spool: IO[bytes] | None,
) -> tuple[Side, Side, int]:
    """Both sides as word numbers, those of more training text after the sources', and how many pairs these have.

    The pairs of the sources are written into ``spool``.
    """
    lowercase = not isinstance(aligner, Eflomal) and aligner.lowercase
    one, other = WordNumbers(lowercase=lowercase), WordNumbers(lowercase=lowercase)

    def add(sources: Sequence[Source], warn: Warn, spool: IO[bytes] | None) -> int:
        number = 0
        for number, pair in enumerate(read_pairs(sources, mode=request.words, warn=warn), 1):
            source, target = _usable(pair, number, warn)
            one.add(source)
            other.add(target)
            if spool is not None:
                pickle.dump(pair, spool)
        return number

    own = add(sources, warn, spool)
    more = [source for path in aligner.train_on for source in bitext_sources([path], languages=_NONE)]
    add(more, Warnings(), None)
    return one.side(), other.side(), own


def _usable(pair: RawPair, number: int, warn: Warn) -> tuple[Sequence[str], Sequence[str]]:
    """The words of a pair; none where it cannot be aligned."""
    source, target = pair.words
    if not (source and target):
        warn(number, f"the {'target' if source else 'source'} side is empty; it gets no links")
    elif len(source) * len(target) > MOST_ENTRIES:
        warn(
            number,
            f"{len(source):,} × {len(target):,} words are too long for one pair; it gets no links: split it",
        )
        return (), ()
    return source, target


def _kept(
    tables: Iterator[LinkTable],
    source: Ints,
    target: Ints,
    wanted: FastAlign | Hmm | Saved | Eflomal,
    scored: bool = True,
) -> Iterator[PairLinks]:
    """The links pair by pair, without the improbable ones; ``scored`` if their probabilities and scores are needed.

    ``source`` and ``target`` are the lengths of both sides.
    """
    first = 0
    least = (0.0, 0.0) if isinstance(wanted, Eflomal) else (wanted.min_probability, wanted.min_score)
    for table in tables:
        kept = table.above(least[0])
        if not (scored or least[1]):
            kept = replace(kept, probability=None)
        rows = slice(first, first + len(table))
        yield from pair_links(kept, source[rows], target[rows], min_score=least[1])
        first = rows.stop


def _keep(aligner: StatisticalAligner, wanted: FastAlign | Hmm | Saved) -> None:
    """Write the model and the lexicon that were asked for."""
    if wanted.save is not None:
        aligner.save(wanted.save)
    if wanted.lexicon is not None and aligner.model is not None:
        aligner.model.write_lexicon(wanted.lexicon)
