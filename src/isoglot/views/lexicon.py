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
    """Synonyms by token id, as flat arrays: where an id's begin, how many it has, and the index of each one's language.

    The last count, 0, stands for every larger id; a language is −1 if unknown.
    """

    starts: IntArray
    counts: IntArray
    synonyms: IntArray
    languages: IntArray

    @classmethod
    def from_entries(cls, entries: Iterable[Entry]) -> SynonymTable:
        """A table of distinct entries, in their sorted order."""
        rows = np.asarray(sorted(set(entries)), dtype=np.int64).reshape(-1, 3)
        size = int(rows[-1, 0]) + 2 if rows.size else 1
        counts = np.bincount(rows[:, 0], minlength=size).astype(np.int64)
        return cls(np.cumsum(counts) - counts, counts, rows[:, 1].copy(), rows[:, 2].copy())

    def draw(
        self, ids: IntArray, uniform: NDArray[np.float64]
    ) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        """One synonym for each id, all of an id's equally likely; the index of its language; and whether there is one.

        An id without synonym keeps itself, with language −1.

        **Shape**: (length,) each.
        """
        counts = self.counts.take(ids, mode="clip")
        present = counts > 0
        synonyms, languages = ids.copy(), np.full(ids.size, -1, dtype=np.int64)
        where = present.nonzero()[0]
        index = self.starts.take(ids[where]) + (uniform[where] * counts[where]).astype(np.int64)
        synonyms[where], languages[where] = self.synonyms[index], self.languages[index]
        return synonyms, languages, present


@dataclass(frozen=True)
class TokenLexicon:
    """Synonym tables by the language of the text they apply to (``None``: any), and the languages they count."""

    tables: Mapping[str | None, SynonymTable]
    languages: tuple[str, ...] = ()

    def table(self, language: str | None) -> SynonymTable | None:
        """The table for text of a language; ``None`` where the lexicon has nothing for it."""
        return self.tables.get(None, self.tables.get(language and two_letters(language)))


def token_lexicon(
    lexicon: Dataset, tokenizer: PreTrainedTokenizerBase, *, share: float = 1.0, seed: int = 0
) -> TokenLexicon:
    """The drawn ``share`` of a LEXICON's entries whose two sides are one piece each, in both directions.

    Entries with an unknown or special piece and entries whose sides are the same piece are left out.
    """
    require(lexicon, LEXICON, role="lexicon")
    source = _single_pieces(list(lexicon["source"]), tokenizer)
    target = _single_pieces(list(lexicon["target"]), tokenizer)
    languages = tuple(sorted({*lexicon["source_language"], *lexicon["target_language"]}))
    number = {language: i for i, language in enumerate(languages)}
    rows = sorted(
        {
            (a, b, x, y)
            for a, b, x, y in zip(
                source, target, lexicon["source_language"], lexicon["target_language"], strict=True
            )
            if a is not None and b is not None and a != b
        }
    )
    if not rows:
        raise ConfigurationError(
            f"lexicon: none of its {len(lexicon)} entries is one known piece on each side for this tokenizer; give one "
            "of frequent words, or a tokenizer with a larger vocabulary"
        )
    entries: dict[str, list[Entry]] = {}
    for i in _sample(len(rows), share, seed):
        a, b, x, y = rows[i]
        entries.setdefault(two_letters(x), []).append((a, b, number[y]))
        entries.setdefault(two_letters(y), []).append((b, a, number[x]))
    tables: dict[str | None, SynonymTable] = {
        language: SynonymTable.from_entries(pairs) for language, pairs in entries.items()
    }
    return TokenLexicon(tables, languages)


def copied_lexicon(
    vocabulary_size: int, *, special: Iterable[int] = (), share: float = 0.25, seed: int = 0
) -> TokenLexicon:
    """The lexicon of a derived language whose token ``id`` is written ``id + vocabulary_size``, in both directions."""
    ids = np.setdiff1d(np.arange(vocabulary_size), np.asarray(sorted(special), dtype=np.int64))
    chosen = [int(ids[i]) for i in _sample(ids.size, share, seed)]
    if not chosen:
        text = f"{vocabulary_size} ids, share {share} leave an empty lexicon; raise the share"
        raise ConfigurationError(Problem(text, ("copied_vocabulary",)))
    entries = [(i, i + vocabulary_size, -1) for i in chosen] + [(i + vocabulary_size, i, -1) for i in chosen]
    return TokenLexicon({None: SynonymTable.from_entries(entries)})


def _sample(size: int, share: float, seed: int) -> list[int]:
    """``int(share · size)`` of the numbers below ``size`` (at least one), in order; the same for a seed everywhere."""
    if share == 1 or size == 0:
        return list(range(size))
    drawn = torch.randperm(size, generator=generator_for(seed, "lexicon"))[: max(1, int(share * size))]
    return sorted(drawn.tolist())


def _single_pieces(words: list[str], tokenizer: PreTrainedTokenizerBase) -> list[int | None]:
    """The id of each word that is one known piece, ``None`` for the others."""
    if not words:
        return []
    special = set(tokenizer.all_special_ids)
    # a leading space: the form a word has inside a sentence for byte-level tokenizers, no difference for others
    encoded = tokenizer([f" {word.strip()}" for word in words], add_special_tokens=False)["input_ids"]
    return [ids[0] if len(ids) == 1 and ids[0] not in special else None for ids in encoded]
