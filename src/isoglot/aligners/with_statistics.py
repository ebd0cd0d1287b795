"""Statistical models as aligners of a verb: learners, which learn from the pairs that they link, and saved models.

A learner loops over the pairs twice. The first loop stores the text as word numbers, from which it learns; the second
one gives the pairs their links. Where the words are not needed (``Use.needs_words``) the second loop is left out:

    pairs ──> _read ──> _Text ──> learn ──> tables of links ──> _with_learned_links ──> linked pairs
      └───────────────────────── second loop ──────────────────────^
"""

from __future__ import annotations

import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.aligner import Aligner, Use
from isoglot.aligners.alignment import LinkTable, give_links, starts_and_end, usable_words, windows
from isoglot.aligners.lexicon import with_lexicon
from isoglot.aligners.lexicon_options import LexiconOptions
from isoglot.aligners.options import Eflomal, FastAlign, Hmm, SavedModel
from isoglot.aligners.pairs_in_files import Warn, Warnings, more_bitext, read_pairs, silent
from isoglot.aligners.statistical.bitext import BitextSide, WordNumbers
from isoglot.aligners.statistical.decoding import SentenceAlignments
from isoglot.aligners.statistical.eflomal import EflomalAligner
from isoglot.aligners.statistical.methods import require_replaceable
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.named_options import spelled
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED
from isoglot.formats.words import WordMode, has_unspaced
from isoglot.modules.allocator import give_back_large_blocks
from isoglot.runs.fingerprint import FileState, files_of, key_of, states
from isoglot.runs.listed import read_whole
from isoglot.runs.parts import SECONDS_OF_WORK, BlockResult, Parts, content_of

_LOG = logging.getLogger(__name__)
_CAPACITY = 4
"""Saved models that are held in memory."""
_LOADING = threading.Lock()
"""Threads that need the same model wait for one of them to load it."""


class _Text(NamedTuple):
    """The text that is learned from: first the pairs to be aligned, then those of ``train_on``."""

    source: BitextSide
    target: BitextSide
    pair_count: int  # pairs to be aligned, without those of `train_on`
    languages: tuple[str, str]  # empty where there are several or none is named
    word_mode: WordMode


class _Learner(Aligner):
    """An aligner that learns from the pairs that it links, and from the text of ``train_on``."""

    learns = True
    lowercase = False
    min_probability = min_score = 0.0

    def __init__(self, train_on: Sequence[str], use: Use) -> None:
        give_back_large_blocks()
        self.words = use.word_mode or use.default_word_mode
        self._train_on, self._use = train_on, use
        self._warn: Warn = use.warn or Warnings()

    @abstractmethod
    def learn(self, text: _Text) -> Iterator[LinkTable]:
        """Learn from a text before returning (so no generator); the iterator gives the links, a window at a time."""

    @property
    def writes_model(self) -> bool:
        """Whether learning also writes files. Then a resumed run learns again, even if links were kept."""
        return False

    def align(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Learn from the pairs, and link their words; without ``needs_words`` new pairs come back, with links alone."""
        # An iterator can be read once only, but pairs are read twice: to learn, and to be given links.
        if iter(pairs) is pairs:
            pairs = list(pairs)
        text = self._read(pairs)
        kept_links = self._use.kept_links
        if kept_links is None or not kept_links.is_kept or self.writes_model:
            tables = self.learn(text)
        else:
            tables = kept_or_learned(self, text, kept_links)
        linked: Iterator[SentencePair] = (SentencePair() for _ in range(text.pair_count))
        if self._use.needs_words:
            linked = _unchanged((pair.cut(text.word_mode) for pair in pairs), text)
        return self._with_learned_links(linked, tables, text)

    def _read(self, pairs: Iterable[SentencePair]) -> _Text:
        """Read both sides as word numbers: first the pairs, then the text of ``train_on``."""
        mode = self.words or _mode_of(pairs)
        source, target = (WordNumbers(lowercase=self.lowercase) for _ in range(2))
        languages = dict[tuple[str, str], None]()

        def add(pairs: Iterable[SentencePair], warn: Warn) -> int:
            """Add pairs to both sides, and note their languages; returns the number of pairs."""
            number = 0
            for number, pair in enumerate(pairs, 1):
                words = usable_words(pair.cut(mode).words, number, warn)
                source.add(words[0])
                target.add(words[1])
                languages.setdefault(pair.languages)
            return number

        count = add(pairs, self._warn)
        if self._train_on:
            add(self._more_text(next(iter(languages), UNNAMED), mode), Warnings())
        # The language of a side, if it is named and there is only one.
        of_source = {source_tag for source_tag, _ in languages} - {*UNNAMED}
        of_target = {target_tag for _, target_tag in languages} - {*UNNAMED}
        source_language = of_source.pop() if len(of_source) == 1 else ""
        target_language = of_target.pop() if len(of_target) == 1 else ""
        return _Text(source.side(), target.side(), count, (source_language, target_language), mode)

    def _more_text(self, languages: Sequence[str], mode: WordMode) -> Iterator[SentencePair]:
        """Read the pairs of ``train_on``, in the languages of the pairs that are linked."""
        use = self._use
        # Words that a row has are taken as they are, unless somebody says how text is cut.
        accept_words = use.word_mode is None and use.train_on_word_mode is None
        bitext = more_bitext(self._train_on, languages)
        mode = use.train_on_word_mode or mode
        return read_pairs(bitext, mode=mode, warn=Warnings(), accept_words=accept_words)

    def _with_learned_links(
        self, pairs: Iterator[SentencePair], tables: Iterator[LinkTable], text: _Text
    ) -> Iterator[SentencePair]:
        """Give the pairs their links, without improbable ones."""
        first = 0
        for table in tables:
            probable = table.above(self.min_probability)
            # `min_score` compares the score, which is made of probabilities.
            if not self._use.needs_probabilities and not self.min_score:
                probable = replace(probable, probability=None)
            rows = slice(first, first + len(table))
            lengths = text.source.lengths[rows], text.target.lengths[rows]
            window = islice(pairs, len(table))
            yield from give_links(window, probable, *lengths, min_score=self.min_score)
            first = rows.stop
        # No pair is left here, unless the input has grown since it was read: then `_unchanged` refuses it.
        yield from pairs


class EflomalLearner(_Learner):
    """The external program, which keeps no model and reports no probabilities."""

    def __init__(self, request: Eflomal, use: Use) -> None:
        super().__init__(request.train_on, use)
        self._program = EflomalAligner(
            symmetrisation=request.symmetrisation, program=request.program, arguments=request.arguments
        )
        self._program.executable()  # a program that is missing is reported before the text is read

    def learn(self, text: _Text) -> Iterator[LinkTable]:
        """Run the program on the text."""
        table = self._program.table(text.source.sentences(), text.target.sentences())
        return table.windows(text.pair_count)


class ModelLearner(_Learner):
    """fast_align's model or the HMM, which can be saved, and can start from a saved one."""

    def __init__(self, request: FastAlign | Hmm, use: Use) -> None:
        super().__init__(request.train_on, use)
        self.lowercase = request.lowercase
        self.min_probability, self.min_score = request.min_probability, request.min_score
        self._request = request
        self._start = None if request.start is None else StatisticalAligner.load(request.start)
        if self._start is not None:
            _require_word_mode(self._start, use.word_mode)
            self.words = use.word_mode or self._start.words or "whitespace"

    def align(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Learn from the pairs, link their words, and write the lexicon that is counted from the links."""
        return with_counted_lexicon(super().align(pairs), self._request, self._use)

    def learn(self, text: _Text) -> Iterator[LinkTable]:
        """Learn from the text and write what was asked for, as ``_alignments`` does; the links come in windows."""
        return self._alignments(text).windows(text.pair_count)

    @property
    def writes_model(self) -> bool:
        """Whether the model or a lexicon of its own probabilities is asked for."""
        request = self._request
        return request.save is not None or (request.lexicon is not None and not request.counts_links)

    def _alignments(self, text: _Text) -> SentenceAlignments:
        """Learn from the text, align it, and write the model and its lexicon if they were asked for."""
        request, start = self._request, self._start
        learner = StatisticalAligner(
            request.kind,
            symmetrisation=request.symmetrisation,
            threshold=request.threshold,
            lowercase=request.lowercase,
            words=text.word_mode,
            languages=text.languages,
            options=request.options,
        )
        if start is not None and request.any_language:
            start.languages = learner.languages
        elif start is not None:
            start.require_languages(text.languages)
        made_from = None
        if request.save is not None:
            learned_from = text.source.digest(), text.target.digest(), start and start.trained().digest()
            made_from = _key_of_model(learner, request.save, learned_from, self._use.overwrite)
        result = learner.fit_align_sides(text.source, text.target, keep=self.writes_model, start=start)
        _write_outputs(learner, request, made_from)
        return result


def kept_or_learned(learner: _Learner, text: _Text, kept_links: Parts) -> Iterator[LinkTable]:
    """Yield the links that an earlier run has kept of the same text, or learn now, and keep the links.

    1. Links of an earlier run are used only if all of them were kept.
    2. Learning takes nearly all the time of a run, so its links are kept before the first one is written.
    3. Links that were learned within seconds are not kept.
    4. Links that could not be kept, because the disk is full, stay in memory.
    """
    content = content_of([text.source.digest(), text.target.digest(), text.pair_count, text.word_mode])
    numbers = range(len(list(windows(text.pair_count))))
    unkept: dict[int, LinkTable] = {}
    if any(kept_links.read(number, content) is None for number in numbers):
        began = time.monotonic()
        learned = learner.learn(text)
        # `learn` is no generator: all learning is done when it returns, so the time until here is that of learning.
        if time.monotonic() - began < SECONDS_OF_WORK:
            yield from learned
            return
        for number, table in enumerate(learned):
            kept_links.write(number, content, _stored(table))
            if kept_links.read(number, content) is None:  # the disk is full
                unkept[number] = table
    for number in numbers:
        found = kept_links.read(number, content)
        yield unkept[number] if found is None else _restored(found)


def _stored(table: LinkTable) -> BlockResult:
    """Store the links of some sentences as columns, one row a sentence."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and learning of seconds keeps nothing

    flat: dict[str, npt.NDArray[Any]] = {"source": table.source, "target": table.target}
    if table.probability is not None:
        flat["probability"] = table.probability
    offsets = _array(table.offsets.astype(np.int32))
    columns = {name: pa.ListArray.from_arrays(offsets, _array(values)) for name, values in flat.items()}
    return BlockResult(columns, dict.fromkeys(columns, "arrow"))


def _array(values: npt.NDArray[Any]) -> Any:
    """Return numbers as an Arrow array; `pa.array` would import pandas, which is slow and not needed here."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and learning of seconds keeps nothing

    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _restored(found: BlockResult) -> LinkTable:
    """Read the links from columns that :func:`_stored` made."""
    lengths = found.columns["source"].value_lengths().to_numpy()
    flat = {name: column.flatten().to_numpy() for name, column in found.columns.items()}
    return LinkTable(starts_and_end(lengths), flat["source"], flat["target"], flat.get("probability"))


def _mode_of(pairs: Iterable[SentencePair]) -> WordMode:
    """Return how pairs are cut if nobody says so: as running text, unless all of them have words."""
    have_words = [all(pair.words) for pair in pairs]
    return "whitespace" if have_words and all(have_words) else "unicode"


def _unchanged(pairs: Iterator[SentencePair], text: _Text) -> Iterator[SentencePair]:
    """Yield the pairs of the second loop; refuse one that is missing, added or of another length than in the first."""
    lengths = zip(text.source.lengths.tolist(), text.target.lengths.tolist(), strict=True)
    first_lengths = islice(lengths, text.pair_count)
    for number, (pair, expected) in enumerate(zip_longest(pairs, first_lengths), 1):
        if pair is None or tuple(map(len, usable_words(pair.words, number, silent))) != expected:
            raise InputError(f"pair {number} was changed while the input was aligned; align it again")
        yield pair


class SavedAligner(Aligner):
    """A statistical model that was trained before."""

    def __init__(self, model: StatisticalAligner, use: Use, request: SavedModel | None = None) -> None:
        _require_word_mode(model, use.word_mode)
        self.languages = model.languages
        self.words: WordMode = use.word_mode or model.words or "whitespace"
        self.name = model.name
        self.model = model
        self._use, self._request = use, request
        self._foreign_text = model.foreign_text()  # counts over all that this aligner links

    def align(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Link the words of each pair with the model as it is; some thousand pairs are read ahead."""
        request, options = self._request, dict[str, Any]()
        if request is not None:
            self.write_outputs()
            options = {"min_probability": request.min_probability, "min_score": request.min_score}
        cut = (pair.cut(self.words) for pair in pairs)
        warn = self._use.warn or Warnings()
        linked = self.model.align_pairs(cut, foreign_text=self._foreign_text, warn=warn, **options)
        return linked if request is None else with_counted_lexicon(linked, request, self._use)

    def write_outputs(self) -> None:
        """Write the model and the lexicon that the request asks for."""
        request, made_from = self._request, None
        if request is None:
            return
        if request.save is not None:
            learned_from = [self.model.trained().digest()]
            made_from = _key_of_model(self.model, request.save, learned_from, self._use.overwrite)
        _write_outputs(self.model, request, made_from)


def load_saved_aligner(request: SavedModel, use: Use) -> SavedAligner:
    """The aligner of a folder that ``isoglot align --save`` wrote; it stays in memory for the next call."""
    give_back_large_blocks()
    folder = request.load
    with _LOADING:
        identity = read_whole(folder, lambda place: tuple(states(files_of(place))))
        model = _loaded(folder, identity, any_language=request.any_language, **request.decoding())
    if request.method not in (None, model.method):
        raise ConfigurationError(
            f"[[method='{request.method}']]: {folder} holds a trained {model.method} aligner; leave it out"
        )
    return SavedAligner(model, use, request)


@lru_cache(_CAPACITY)
def _loaded(folder: Path, identity: tuple[FileState, ...], **options: Any) -> StatisticalAligner:
    """Load a saved model, or take it from memory. Callers share the aligner, so nobody may change it.

    ``identity``: The state of its files; a model whose files have changed is another entry, and is read again.
    """
    del identity
    return StatisticalAligner.load(folder, **options)


def _require_word_mode(aligner: StatisticalAligner, word_mode: WordMode | None) -> None:
    """Refuse text that is cut in another way than the text of a saved model."""
    if word_mode is not None and aligner.words not in (None, word_mode):
        raise ConfigurationError(
            f"{aligner.name} was trained on text split with [[words='{aligner.words}']]; leave [[words]] out, or train "
            "another"
        )


def _key_of_model(
    aligner: StatisticalAligner, folder: Path, learned_from: Sequence[Any], overwrite: bool
) -> str:
    """Return a key of how and from what a model is learned; a folder that holds another one is refused.

    ``learned_from``: Hashes of the text, and of a model that learning starts from.
    """
    made_from = key_of([aligner.settings, *learned_from])
    require_replaceable(folder, None if overwrite else made_from)
    return made_from


def _write_outputs(
    aligner: StatisticalAligner, request: FastAlign | Hmm | SavedModel, made_from: str | None
) -> None:
    """Write the model, and the lexicon of the model's own probabilities, if they were asked for."""
    if request.save is not None:
        aligner.save(request.save, made_from=made_from)
    if request.lexicon is not None and not request.counts_links and aligner.model is not None:
        if aligner.words == "unicode" and any(
            has_unspaced(word) for side in aligner.model.words for word in side
        ):
            note = spelled(
                "%s: words of scripts without spaces stand as single characters there, as the model learned them; "
                "segment the text first, or take [[phrases]], which joins them to pieces"
            )
            _LOG.warning(note, request.lexicon)
        aligner.model.write_lexicon(request.lexicon)


def with_counted_lexicon(
    linked: Iterator[SentencePair], request: LexiconOptions, use: Use
) -> Iterator[SentencePair]:
    """Pass pairs on; count a lexicon from their links if one is asked for that a model cannot write itself."""
    if not request.counts_links:
        return linked
    return with_lexicon(
        linked, request, piece_tokenizers=use.piece_tokenizers, unit_tokenizers=use.unit_tokenizers
    )
