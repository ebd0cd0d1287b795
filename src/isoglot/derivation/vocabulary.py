"""Transliteration as a copy of a tokenizer's vocabulary: token ``id`` of the original is ``id + V`` in the copy."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import AddedToken, PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.corpus.encode.pieces import fast_backend
from isoglot.derivation.base import DerivedSentence, Sentence
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.shared_pieces import (
    SEPARATOR,
    Spelling,
    cut_at_separators,
    marks_spaces,
    readable_alone,
    spell,
    spellings,
)
from isoglot.derivation.sharing import COPY_FILE, draw_shared

SCRIPTS: dict[str, tuple[int, int]] = {"tangut": (0x17000, 6136), "hangul": (0xAC00, 11172)}
"""Blocks of Unicode that copies are written in: first character, and how many there are."""


class VocabularyCopy:
    """A tokenizer whose vocabulary is doubled, and the script that its second half is written in.

    Each piece of the original has its own copy, written as one character (two for large vocabularies) of a
    script that the tokenizer does not know. So the derived language can be written as text. The doubled tokenizer reads
    a derived word as exactly ``id + V`` for every piece ``id`` of the original word, whatever its algorithm; it is a
    plain tokenizer that ``AutoTokenizer`` loads from its folder.

    Args:
        shared: Ids that have no copy (vocabulary overlap). In text each is written as itself: with ``##`` (WordPiece),
            or after a separator (see :mod:`isoglot.derivation.shared_pieces`).
        script: ``tangut`` (no living language writes it) or ``hangul``.

    Source: Tang et al. 2022, T_trans: all ids but ``<s>``, ``</s>`` and ``<pad>`` are shifted by V. ``<mask>`` is
    shared in effect: masking comes after the shift.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, *, shared: Collection[int] = (), script: str = "tangut"
    ) -> None:
        self.original = tokenizer
        self.size = len(tokenizer)
        self.script = script
        self.shared = frozenset(map(int, shared))
        around_text = ("cls_token_id", "bos_token_id", "sep_token_id", "eos_token_id", "pad_token_id")
        ids = {getattr(tokenizer, name, None) for name in around_text}
        self.unshifted = tuple(sorted(i for i in ids if i is not None))
        self._tokens = list(tokenizer.convert_ids_to_tokens(list(range(self.size))))
        if script not in SCRIPTS:
            raise ConfigurationError(f"unknown script {script!r}; known: {', '.join(SCRIPTS)}")
        if None in self._tokens or not getattr(tokenizer, "is_fast", False):
            raise ConfigurationError(
                f"got a {type(tokenizer).__name__} with {self.size} entries; a fast tokenizer with ids 0 to V − 1 is "
                "needed"
            )
        first, count = SCRIPTS[script]
        for token in self._tokens:
            if SEPARATOR in token or any(first <= ord(letter) < first + count for letter in token):
                other = next((name for name in SCRIPTS if name != script), script)
                raise ConfigurationError(
                    f"the tokenizer knows {token!r}, which is in the script of the copies; set script: {other}"
                )
        self._table = np.arange(self.size, dtype=np.int64) + self.size
        without_copy = [*self.shared, *self.unshifted]
        self._table[without_copy] = without_copy

    @classmethod
    def draw(cls, tokenizer: PreTrainedTokenizerBase, options: TransformOptions) -> VocabularyCopy:
        """Draw a copy that shares a random part of the vocabulary; special tokens are not among it.

        Some pieces of BPE and Unigram cannot be shared, because no text would be read back as them: the bare space,
        fragments of characters, and pieces that the tokenizer never makes of their own letters.
        """
        overlap, script = options.overlap, options.script
        special = set(tokenizer.all_special_ids)
        ids = [i for i in range(len(tokenizer)) if i not in special]
        eligible = None
        if overlap and not _is_wordpiece(tokenizer):
            written = spellings(tokenizer, cls(tokenizer, script=script)._tokens)
            readable = readable_alone(tokenizer, written, special=special)
            eligible = [position for position, i in enumerate(ids) if i in readable]
        chosen = draw_shared(len(ids), **options.sharing(), eligible=eligible)
        return cls(tokenizer, shared=[ids[i] for i in chosen], script=script)

    def shift(self, ids: Iterable[int] | NDArray[Any]) -> NDArray[np.int64]:
        """Turn ids of the original into ids of the derived language; ids that are shifted already stay."""
        array = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
        return np.where(array < self.size, self._table[array % self.size], array)

    def unshift(self, ids: Iterable[int] | NDArray[Any]) -> NDArray[np.int64]:
        """Turn ids of the derived language back into ids of the original, whose own ids stay."""
        return np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64) % self.size

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids of either language with the original tokenizer, without special tokens."""
        return str(self.original.decode(self.unshift(ids).tolist(), skip_special_tokens=True))

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The doubled tokenizer, of size 2V: original text gives ids below V, derived text the copies' ids."""
        wordpiece = _is_wordpiece(self.original)
        if self.shared and not wordpiece:
            self._spelled  # noqa: B018 - refuses ids that cannot be written before any text is derived
            doubled: PreTrainedTokenizerBase = cut_at_separators(self.original)
        else:
            doubled = copy.deepcopy(self.original)
        doubled.add_tokens(
            [AddedToken(self._code(i), lstrip=True, normalized=False) for i in range(self.size)]
        )
        if self.shared and wordpiece:
            # Shared pieces inside a word (`##ing`) are written with their mark, so they must be read as one token.
            prefix = str(self.original.backend_tokenizer.model.continuing_subword_prefix)
            inner = [self._tokens[i] for i in sorted(self.shared) if self._tokens[i].startswith(prefix)]
            doubled.add_tokens([AddedToken(piece, normalized=False) for piece in inner])
        last = doubled.convert_tokens_to_ids(self._code(self.size - 1))
        if len(doubled) != 2 * self.size or last != 2 * self.size - 1:
            raise ConfigurationError(
                f"the doubled tokenizer has {len(doubled)} entries instead of 2 x {self.size}: the original's ids "
                "have gaps; save it with ids 0 to V − 1"
            )
        return doubled

    def written(self, ids: Iterable[int]) -> str:
        """Write the derived word that has these pieces, which are ids of the original."""
        shared = self.shared
        if not shared or _is_wordpiece(self.original):
            return "".join([self._tokens[i] if i in shared else self._code(i) for i in ids])
        mark, spelled = self._spelled
        written = []
        for position, i in enumerate(ids):
            written.append(spell(spelled[i], mark, first=position == 0) if i in shared else self._code(i))
        return "".join(written)

    @cached_property
    def _spelled(self) -> tuple[str, dict[int, Spelling]]:
        """The letter for a space, and the spelling of each shared id, where the model is not WordPiece."""
        spelled = spellings(self.original, self._tokens)
        named = {i: spelling for i in self.shared if (spelling := spelled[i]) is not None}
        missing = [self._tokens[i] for i in sorted(self.shared) if i not in named]
        if missing:
            raise ConfigurationError(
                f"{len(missing)} shared ids are not text, the first {missing[0]!r} (a part of a character, "
                "or a bare space); leave them out, or draw the ids with VocabularyCopy.draw"
            )
        return marks_spaces(self.original) or "", named

    def save(self, folder: str | Path) -> None:
        """Write the doubled tokenizer, and how it came about, so that :meth:`load` opens it again."""
        path = Path(folder)
        self.tokenizer.save_pretrained(str(path))
        self.original.save_pretrained(str(path / "original"))
        values = {
            "size": self.size,
            "script": self.script,
            "shared": sorted(self.shared),
            "unshifted": self.unshifted,
        }
        (path / COPY_FILE).write_text(json.dumps(values) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> VocabularyCopy:
        """Open what :meth:`save` wrote."""
        path = Path(folder) / COPY_FILE
        if not path.is_file():
            raise InputError(
                "no vocabulary copy here; a folder that VocabularyCopy.save wrote is needed", path=folder
            )
        values = json.loads(path.read_text(encoding="utf-8"))
        original = load_tokenizer(Path(folder) / "original")
        return cls(original, shared=values["shared"], script=values["script"])

    def _code(self, i: int) -> str:
        """The characters of the copy of an id: one if the script has enough of them, else two."""
        first, count = SCRIPTS[self.script]
        if self.size <= count:
            return chr(first + i)
        # A character is a first or a second one and never both, so that codes need no space between them. First ones
        # are as few as give enough codes.
        leads = next(n for n in range(1, count) if n * (count - n) >= self.size)
        lead, trail = divmod(i, count - leads)
        return chr(first + lead) + chr(first + leads + trail)


class TokenTransliteration:
    """Writes every word as the copies of its pieces.

    Args:
        pieces: The words of the input are pieces themselves (after an inversion of tokens).
    """

    def __init__(self, vocabulary: VocabularyCopy, *, pieces: bool = False) -> None:
        self.vocabulary = vocabulary
        self.pieces = pieces
        self._backend = fast_backend(vocabulary.original)
        self._spaced = self._ids(["a"]) != self._ids(
            [" a"]
        )  # a byte-level tokenizer: spaces are part of pieces
        # Derived words that are known, by the original: of words inside a text, and of first words.
        self._known: tuple[dict[str, str], dict[str, str]] = ({}, {})
        vocabulary.tokenizer  # noqa: B018 - refuses a copy that cannot be written before any text is derived

    def _ids(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._backend.encode_batch(texts, add_special_tokens=False)]

    def prime(self, words: Iterable[str], *, first: bool = False) -> None:
        """Derive words that are not known yet, in one call of the tokenizer; ``first``: as first words of a text."""
        known = self._known[first]
        new = [w for w in dict.fromkeys(words) if w not in known]
        if not new:
            return
        if self.pieces:
            lookup, unknown = self.vocabulary.original.get_vocab(), self.vocabulary.original.unk_token_id
            encoded = [[lookup.get(w, unknown)] for w in new]
        else:
            encoded = self._ids([f" {w}" if self._spaced and not first else w for w in new])
        for word, ids in zip(new, encoded, strict=True):
            all_shared = self.vocabulary.shared.issuperset(ids)
            known[word] = word
            if self.pieces or not all_shared:
                known[word] = self.vocabulary.written(ids) or word  # a word without pieces stays itself

    def __call__(self, sentence: Sentence, *, key: int = 0) -> DerivedSentence:
        """Write the words of a sentence in the script of the copy; ``key`` has no effect."""
        del key
        words = sentence.words
        self.prime(words)
        derived = [self._known[False][word] for word in words]
        if self._spaced and words and not self.pieces:
            # A byte-level tokenizer reads a text's first word without the space that the others have.
            self.prime(words[:1], first=True)
            derived[0] = self._known[True][words[0]]
        return DerivedSentence(tuple(derived), tuple(range(len(words))))


def _is_wordpiece(tokenizer: PreTrainedTokenizerBase) -> bool:
    return type(tokenizer.backend_tokenizer.model).__name__ == "WordPiece"
