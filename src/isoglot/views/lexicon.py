"""A bilingual lexicon at the level of token ids: id → synonyms in the other language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.core.languages import two_letters
from isoglot.core.seeding import generator_for
from isoglot.corpus.encode.templates import IntArray
from isoglot.formats.schema import LEXICON, require

Entry = tuple[int, int, int]
"""Token id, synonym's id, index of the synonym's language."""


@dataclass(frozen=True)
class SynonymTable:
    """Synonyms by token id, as flat arrays.

    The synonyms of ``id`` are ``synonyms[starts[id] : starts[id] + counts[id]]``. Ids 1 → 7 and 2 → 8, 9 are ``starts``
    ``[0, 0, 1, 3]``, ``counts`` ``[0, 1, 2, 0]`` and ``synonyms`` ``[7, 8, 9]``. The last count, 0, stands for all
    larger ids.
    """

    starts: IntArray
    counts: IntArray
    synonyms: IntArray
    languages: IntArray  # of each synonym: index in `TokenLexicon.languages`, −1 if unknown

    @classmethod
    def from_entries(cls, entries: Iterable[Entry]) -> SynonymTable:
        """Make a table of entries, each once; the synonyms of an id ascend."""
        rows = np.asarray(sorted(set(entries)), dtype=np.int64).reshape(-1, 3)
        ids, synonyms, languages = rows[:, 0], rows[:, 1].copy(), rows[:, 2].copy()
        # Ids from 0 to the largest one, and one more for all ids beyond.
        largest = int(ids[-1]) if ids.size else -1
        counts = np.bincount(ids, minlength=largest + 2).astype(np.int64)
        starts = np.cumsum(counts) - counts  # the counts of all smaller ids
        return cls(starts, counts, synonyms, languages)

    def draw(
        self, ids: IntArray, uniform: NDArray[np.float64]
    ) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        """Choose a synonym for each id, all synonyms of an id being equally likely.

        ``uniform``: a number in [0, 1) for each id, which chooses its synonym.

        Returns:
            The synonyms, an id without one itself; their languages, −1 for an id without synonym; and whether an id
            has a synonym.

        **Shape**: (length,) each.
        """
        counts = self.counts.take(ids, mode="clip")
        has_synonym = counts > 0
        places = has_synonym.nonzero()[0]
        # Id 2 of the table in the class's docstring, with the number 0.7: of its 2 synonyms int(0.7 · 2) = 1 is chosen,
        # which stands at 1 + 1 of `synonyms`: 9.
        number_of_synonym = (uniform[places] * counts[places]).astype(np.int64)
        index = self.starts.take(ids[places]) + number_of_synonym
        synonyms = ids.copy()
        synonyms[places] = self.synonyms[index]
        languages = np.full(ids.size, -1, dtype=np.int64)
        languages[places] = self.languages[index]
        return synonyms, languages, has_synonym


@dataclass(frozen=True)
class TokenLexicon:
    """Synonyms for text of several languages."""

    tables: Mapping[str | None, SynonymTable]  # by the language of the text, None: one table for any text
    languages: tuple[str, ...] = ()  # languages of synonyms, counted from 0 in the tables

    def table(self, language: str | None) -> SynonymTable | None:
        """The table for text of a language; ``None`` where the lexicon has no entry for the language."""
        if None in self.tables:
            return self.tables[None]
        return None if language is None else self.tables.get(two_letters(language))


def token_lexicon(
    lexicon: Dataset, tokenizer: PreTrainedTokenizerBase, *, share: float = 1.0, seed: int = 0
) -> TokenLexicon:
    """A random ``share`` of the usable entries of a bilingual lexicon, in both directions.

    ``lexicon``: a data set with the columns of :data:`isoglot.formats.schema.LEXICON`.

    An entry is usable if each side is one piece that is neither unknown nor special, and the two pieces differ. The
    entry *house*, *Haus* makes *Haus* a synonym in English text and *house* one in German text.
    """
    require(lexicon, LEXICON, role="lexicon")
    source_languages, target_languages = list(lexicon["source_language"]), list(lexicon["target_language"])
    languages = tuple(sorted({*source_languages, *target_languages}))
    language_index = {language: index for index, language in enumerate(languages)}

    source_pieces = _single_pieces(list(lexicon["source"]), tokenizer)
    target_pieces = _single_pieces(list(lexicon["target"]), tokenizer)
    usable: set[tuple[int, int, str, str]] = set()
    for source, target, source_language, target_language in zip(
        source_pieces, target_pieces, source_languages, target_languages, strict=True
    ):
        if source is not None and target is not None and source != target:
            usable.add((source, target, source_language, target_language))
    rows = sorted(usable)  # so that a draw does not depend on the order of the file
    if not rows:
        raise ConfigurationError(
            f"lexicon: none of its {len(lexicon)} entries is one known piece on each side for this tokenizer; give one "
            "of frequent words, or a tokenizer with a larger vocabulary"
        )
    entries: dict[str, list[Entry]] = {}
    for i in _sample(len(rows), share, seed):
        source, target, source_language, target_language = rows[i]
        in_source_text: Entry = (source, target, language_index[target_language])
        in_target_text: Entry = (target, source, language_index[source_language])
        entries.setdefault(two_letters(source_language), []).append(in_source_text)
        entries.setdefault(two_letters(target_language), []).append(in_target_text)
    tables: dict[str | None, SynonymTable] = {
        language: SynonymTable.from_entries(entries_of_language)
        for language, entries_of_language in entries.items()
    }
    return TokenLexicon(tables, languages)


def copied_lexicon(
    vocabulary_size: int, *, special: Iterable[int] = (), share: float = 0.25, seed: int = 0
) -> TokenLexicon:
    """The lexicon of a derived language whose token ``id`` is written ``id + vocabulary_size``, in both directions.

    Special tokens are left out before the draw of ``share``. The tables do not name languages.
    """
    ids = np.setdiff1d(np.arange(vocabulary_size), np.asarray(sorted(special), dtype=np.int64))
    chosen = [int(ids[i]) for i in _sample(ids.size, share, seed)]
    if not chosen:
        text = f"{vocabulary_size} ids, share {share} leave an empty lexicon; raise the share"
        raise ConfigurationError(Problem(text, ("copied_vocabulary",)))
    entries: list[Entry] = []
    for original in chosen:
        copy = original + vocabulary_size
        entries += [(original, copy, -1), (copy, original, -1)]
    return TokenLexicon({None: SynonymTable.from_entries(entries)})


def _sample(size: int, share: float, seed: int) -> list[int]:
    """Draw ``int(share · size)`` of the numbers below ``size``, at least one, ascending; equal seeds draw the same."""
    if share == 1 or size == 0:
        return list(range(size))
    drawn = torch.randperm(size, generator=generator_for(seed, "lexicon"))[: max(1, int(share * size))]
    return sorted(drawn.tolist())


def _single_pieces(words: list[str], tokenizer: PreTrainedTokenizerBase) -> list[int | None]:
    """The id of each word that is one known piece, ``None`` for the others."""
    if not words:
        return []
    special = set(tokenizer.all_special_ids)
    # With a space in front, byte-level tokenizers cut a word as inside a sentence; for others it makes no difference.
    encoded = tokenizer([f" {word.strip()}" for word in words], add_special_tokens=False)["input_ids"]
    pieces: list[int | None] = []
    for ids in encoded:
        usable = len(ids) == 1 and ids[0] not in special  # the unknown token is special here
        pieces.append(ids[0] if usable else None)
    return pieces
