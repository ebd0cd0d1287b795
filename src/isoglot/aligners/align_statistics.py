"""Statistical aligners over files: the text is kept as word numbers, and read again where a format shows its words."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, cast

from isoglot.aligners.alignment import LinkTable, usable_words, with_links
from isoglot.aligners.options import Eflomal, FastAlign, Hmm, SavedModel
from isoglot.aligners.pairs_in_files import ReadPairs, Warn, Warnings, silent
from isoglot.aligners.statistical.bitext import BitextSide, Ints, WordNumbers
from isoglot.aligners.statistical.decoding import SentenceAlignments
from isoglot.aligners.statistical.eflomal import EflomalAligner
from isoglot.aligners.statistical.methods import require_room
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.errors import ConfigurationError, InputError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED
from isoglot.formats.words import WordMode, has_unspaced
from isoglot.modules.allocator import give_back_large_blocks
from isoglot.runs.fingerprint import FileState, files_of, key_of, states
from isoglot.runs.listed import read_whole

_LOG = logging.getLogger(__name__)
_CAPACITY = 4
"""Saved models that are held in memory."""
_LOADING = threading.Lock()
"""Threads that need the same model wait for one of them to load it."""


def by_statistics(
    read: ReadPairs,
    aligner: FastAlign | Hmm | Eflomal | SavedModel,
    warn: Warn,
    *,
    more: ReadPairs,
    words: WordMode | None,
    shown: bool,
    overwrite: bool = False,
) -> Iterator[SentencePair]:
    """The pairs of a bitext with their links, in its order; the links alone if the output format shows no words.

    ``overwrite``: Replace a model that was saved from another text or with other options.
    """
    give_back_large_blocks()
    if isinstance(aligner, SavedModel):
        return _by_loaded(aligner, read, words, warn, overwrite)
    if isinstance(aligner, Eflomal):
        program = EflomalAligner(
            symmetrisation=aligner.symmetrisation, program=aligner.program, arguments=aligner.arguments
        )
        program.executable()  # before the text is read
        mode = words or "whitespace"
        text = _encoded(read, more, aligner, mode, warn)
        tables = program.table(text.source.sentences(), text.target.sentences()).windows(text.pairs)
    else:
        start = None if aligner.start is None else StatisticalAligner.load(aligner.start)
        if start is not None:
            _require_words(start, words)
        mode = _mode(words, start)
        text = _encoded(read, more, aligner, mode, warn)
        tables = _learned(aligner, text, mode, start, overwrite).windows(text.pairs)
    pairs = _unchanged(read(mode, None), text) if shown else (SentencePair() for _ in range(text.pairs))
    return _linked(pairs, tables, text.source.lengths, text.target.lengths, aligner, shown)


def _learned(
    aligner: FastAlign | Hmm, text: _Text, mode: WordMode, start: StatisticalAligner | None, overwrite: bool
) -> SentenceAlignments:
    """Learn from both sides, and align them."""
    source, target = text.source, text.target
    options = {**aligner.decoding(), **dict(aligner.options), "words": mode, "languages": text.languages}
    learner = StatisticalAligner(aligner.kind, lowercase=aligner.lowercase, **options)
    if start is not None and aligner.any_language:
        start.languages = learner.languages
    elif start is not None:
        start.require_languages(text.languages)
    keep = aligner.save is not None or aligner.lexicon is not None
    made_from = None
    if aligner.save is not None:
        learned = source.digest(), target.digest(), start and start.trained().digest()
        made_from = _room(learner, aligner.save, learned, overwrite)
    result = learner.fit_align_sides(source, target, keep=keep, start=start)
    _keep(learner, aligner, made_from)
    return result


def _unchanged(pairs: Iterator[SentencePair], text: _Text) -> Iterator[SentencePair]:
    """The pairs of the input; one that is not as long as when it was learned from is refused."""
    lengths = zip(text.source.lengths.tolist(), text.target.lengths.tolist(), strict=True)
    learned = islice(lengths, text.pairs)
    for number, (pair, expected) in enumerate(zip_longest(pairs, learned), 1):
        if pair is None or tuple(map(len, usable_words(pair.words, number, silent))) != expected:
            raise InputError(f"pair {number} was changed while the input was aligned; align it again")
        yield pair


def _by_loaded(
    request: SavedModel, read: ReadPairs, words: WordMode | None, warn: Warn, overwrite: bool
) -> Iterator[SentencePair]:
    """Links by a saved model."""
    folder = request.load
    with _LOADING:
        identity = read_whole(folder, lambda place: tuple(states(files_of(place))))
        aligner = _loaded(folder, identity, any_language=request.any_language, **request.decoding())
    if request.method not in (None, aligner.method):
        raise ConfigurationError(
            f"--method {request.method}: {folder} holds a trained {aligner.method} aligner; leave it out"
        )
    _require_words(aligner, words)
    made_from = None
    if request.save is not None:
        made_from = _room(aligner, request.save, [aligner.trained().digest()], overwrite)
    _keep(aligner, request, made_from)
    return aligner.align_pairs(
        read(_mode(words, aligner), warn),
        warn=warn,
        min_probability=request.min_probability,
        min_score=request.min_score,
    )


@lru_cache(_CAPACITY)
def _loaded(folder: Path, identity: tuple[FileState, ...], **options: Any) -> StatisticalAligner:
    """A saved model, read again when its files change; nothing may change the aligner, which callers share."""
    del identity
    return StatisticalAligner.load(folder, **options)


def _require_words(aligner: StatisticalAligner, words: WordMode | None) -> None:
    """Refuse text that is cut in another way than the text of a saved model."""
    if words is not None and aligner.words not in (None, words):
        raise ConfigurationError(
            f"{aligner.name} was trained on text split with --words {aligner.words}; leave --words out, or train "
            "another"
        )


def _mode(words: WordMode | None, trained: StatisticalAligner | None) -> WordMode:
    """How text is cut: as the user says, else as for the model that is used."""
    mode: Any = words or (trained and trained.words) or "whitespace"
    return cast(WordMode, mode)


class _Text(NamedTuple):
    """What is learned from, and how many of its pairs are to be aligned, which come first."""

    source: BitextSide
    target: BitextSide
    pairs: int
    languages: tuple[str, str]  # empty where there are several or none is named


def _encoded(
    read: ReadPairs, more: ReadPairs, aligner: FastAlign | Hmm | Eflomal, mode: WordMode, warn: Warn
) -> _Text:
    """Both sides as word numbers, those of more training text after those of the text."""
    lowercase = not isinstance(aligner, Eflomal) and aligner.lowercase
    source, target = WordNumbers(lowercase=lowercase), WordNumbers(lowercase=lowercase)
    languages = set[tuple[str, str]]()

    def add(read: ReadPairs, warn: Warn) -> int:
        number = 0
        for number, pair in enumerate(read(mode, warn), 1):
            words = usable_words(pair.words, number, warn)
            source.add(words[0])
            target.add(words[1])
            languages.add(pair.languages)
        return number

    pairs = add(read, warn)
    if aligner.train_on:
        add(more, Warnings())
    tags = [{tags[side] for tags in languages} - {*UNNAMED} for side in (0, 1)]
    named = [side.pop() if len(side) == 1 else "" for side in tags]
    return _Text(source.side(), target.side(), pairs, (named[0], named[1]))


def _linked(
    pairs: Iterator[SentencePair],
    tables: Iterator[LinkTable],
    source: Ints,
    target: Ints,
    aligner: FastAlign | Hmm | Eflomal,
    scored: bool,
) -> Iterator[SentencePair]:
    """The pairs with their links, without the improbable ones; ``scored``: their probabilities and scores are needed.

    ``source`` and ``target`` are the lengths of both sides.
    """
    first = 0
    least = (0.0, 0.0) if isinstance(aligner, Eflomal) else (aligner.min_probability, aligner.min_score)
    for table in tables:
        probable = table.above(least[0])
        if not (scored or least[1]):
            probable = replace(probable, probability=None)
        rows = slice(first, first + len(table))
        window = islice(pairs, len(table))
        yield from with_links(window, probable, source[rows], target[rows], min_score=least[1])
        first = rows.stop
    yield from pairs  # none is left, unless the input was changed


def _room(aligner: StatisticalAligner, folder: Path, learned: Sequence[Any], overwrite: bool) -> str:
    """A key of how and from what a model is learned; a folder of another one is refused before the work."""
    made_from = key_of([aligner.settings, *learned])
    require_room(folder, None if overwrite else made_from)
    return made_from


def _keep(aligner: StatisticalAligner, settings: FastAlign | Hmm | SavedModel, made_from: str | None) -> None:
    """Write the model and the lexicon that were asked for."""
    if settings.save is not None:
        aligner.save(settings.save, made_from=made_from)
    if settings.lexicon is not None and aligner.model is not None:
        if aligner.words == "unicode" and any(
            has_unspaced(word) for side in aligner.model.words for word in side
        ):
            _LOG.warning(
                "%s: words of scripts without spaces stand as single characters there, as the model learned them; "
                "segment the text first, or take --phrases, which joins them to pieces", settings.lexicon,
            )  # fmt: skip
        aligner.model.write_lexicon(settings.lexicon)
