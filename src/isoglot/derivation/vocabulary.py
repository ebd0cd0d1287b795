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
    readable_alone,
    space_letter,
    spell,
    spellings,
)
from isoglot.derivation.sharing import COPY_FILE, draw_positions

SCRIPTS: dict[str, tuple[int, int]] = {"tangut": (0x17000, 6136), "hangul": (0xAC00, 11172)}
"""Blocks of Unicode in which copies are written: the first character, and the number of characters."""


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
        ids_around_text = {getattr(tokenizer, name, None) for name in around_text}
        # Ids of the tokens around a text, which stand for themselves in both languages: they are never shifted.
        self.unshifted = tuple(sorted(i for i in ids_around_text if i is not None))
        self._pieces = list(tokenizer.convert_ids_to_tokens(list(range(self.size))))
        self._check()
        # The derived id of each original id.
        self._shifted = np.arange(self.size, dtype=np.int64) + self.size
        without_copy = [*self.shared, *self.unshifted]
        self._shifted[without_copy] = without_copy

    def _check(self) -> None:
        """Refuse a tokenizer whose ids have gaps, and one that knows the script in which copies would be written."""
        tokenizer, script = self.original, self.script
        if script not in SCRIPTS:
            raise ConfigurationError(f"unknown script {script!r}; known: {', '.join(SCRIPTS)}")
        if None in self._pieces or not getattr(tokenizer, "is_fast", False):
            raise ConfigurationError(
                f"got a {type(tokenizer).__name__} with {self.size} entries; a fast tokenizer with ids 0 to V − 1 is "
                "needed"
            )
        first, count = SCRIPTS[script]
        for piece in self._pieces:
            if SEPARATOR in piece:
                raise ConfigurationError(
                    f"the tokenizer knows {piece!r}, whose U+16FE0 is the separator of derived text in either script; "
                    "give a tokenizer without it"
                )
            if any(first <= ord(letter) < first + count for letter in piece):
                other = next((name for name in SCRIPTS if name != script), script)
                raise ConfigurationError(
                    f"the tokenizer knows {piece!r}, which is in the script of the copies; set script: {other}"
                )

    @classmethod
    def draw(cls, tokenizer: PreTrainedTokenizerBase, options: TransformOptions) -> VocabularyCopy:
        """Draw a copy that shares a random part of the vocabulary; special tokens are not among it.

        Some pieces of BPE and Unigram cannot be shared, because no text would be read back as them: the bare space,
        fragments of characters, and pieces that the tokenizer never makes of their own letters.
        """
        overlap, script = options.overlap, options.script
        special = set(tokenizer.all_special_ids)
        ids = [i for i in range(len(tokenizer)) if i not in special]
        eligible = None  # positions in `ids`
        if overlap and not _is_wordpiece(tokenizer):
            spelled = spellings(tokenizer, cls(tokenizer, script=script)._pieces)
            readable = readable_alone(tokenizer, spelled, special=special)
            eligible = [position for position, i in enumerate(ids) if i in readable]
        drawn = draw_positions(len(ids), **options.sharing(), eligible=eligible)
        return cls(tokenizer, shared=[ids[position] for position in drawn], script=script)

    def shift(self, ids: Iterable[int] | NDArray[Any]) -> NDArray[np.int64]:
        """Turn ids of the original into ids of the derived language; ids that are shifted already stay."""
        array = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
        is_shifted = array >= self.size
        # `%` gives ids that are shifted already an entry in the table too, which is then not used.
        return np.where(is_shifted, array, self._shifted[array % self.size])

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
            self._shared_spellings  # noqa: B018 - refuses ids that cannot be written before any text is derived
            doubled: PreTrainedTokenizerBase = cut_at_separators(self.original)
        else:
            doubled = copy.deepcopy(self.original)
        # `lstrip`: white space before a copy is no piece of its own.
        copies = [AddedToken(self._code(i), lstrip=True, normalized=False) for i in range(self.size)]
        doubled.add_tokens(copies)
        if self.shared and wordpiece:
            # Shared pieces inside a word (`##ing`) are written with their mark, so they must be read as one token.
            prefix = str(self.original.backend_tokenizer.model.continuing_subword_prefix)
            inner = [self._pieces[i] for i in sorted(self.shared) if self._pieces[i].startswith(prefix)]
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
            return "".join([self._pieces[i] if i in shared else self._code(i) for i in ids])
        space, spelling_of = self._shared_spellings
        written = []
        for position, i in enumerate(ids):
            if i in shared:
                written.append(spell(spelling_of[i], space, first=position == 0))
            else:
                written.append(self._code(i))
        return "".join(written)

    @cached_property
    def _shared_spellings(self) -> tuple[str, dict[int, Spelling]]:
        """The letter for a space, and the spelling of each shared id; for models other than WordPiece."""
        all_spellings = spellings(self.original, self._pieces)
        spelling_of = {}
        for i in self.shared:
            spelling = all_spellings[i]
            if spelling is not None:
                spelling_of[i] = spelling
        missing = [self._pieces[i] for i in sorted(self.shared) if i not in spelling_of]
        if missing:
            raise ConfigurationError(
                f"{len(missing)} shared ids are not text, the first {missing[0]!r} (a part of a character, "
                "or a bare space); leave them out, or draw the ids with VocabularyCopy.draw"
            )
        return space_letter(self.original) or "", spelling_of

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
        """The characters of the copy of an id: one if the script has enough of them, else two.

        With two, a character is a first or a second one and never both, so that codes need no space between them. In a
        script of the ten letters a to j, 20 ids would have a, b, c as first letters and d to j as second ones: ``ad``,
        ``ae``, …, ``aj``, ``bd`` and so on. (Two first letters and eight second ones make only 16 codes.)
        """
        first_character, count = SCRIPTS[self.script]
        if self.size <= count:
            return chr(first_character + i)
        # As few first characters as give enough codes.
        first_count = next(n for n in range(1, count) if n * (count - n) >= self.size)
        first, second = divmod(i, count - first_count)
        return chr(first_character + first) + chr(first_character + first_count + second)


class TokenTransliteration:
    """Writes every word as the copies of its pieces.

    Args:
        vocabulary: The copies.
        pieces: The words of the input are pieces themselves (after an inversion of tokens).
    """

    def __init__(self, vocabulary: VocabularyCopy, *, pieces: bool = False) -> None:
        self.vocabulary = vocabulary
        self.pieces = pieces
        self._backend = fast_backend(vocabulary.original)
        # A byte-level tokenizer: spaces are part of pieces.
        self._spaced = self._ids(["a"]) != self._ids([" a"])
        # The derived words so far, by the original ones. A word may be cut otherwise where it is the first of a text.
        self._derived_inside: dict[str, str] = {}
        self._derived_first: dict[str, str] = {}
        vocabulary.tokenizer  # noqa: B018 - refuses a copy that cannot be written before any text is derived

    def _ids(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._backend.encode_batch(texts, add_special_tokens=False)]

    def prime(self, words: Iterable[str], *, first: bool = False) -> None:
        """Derive words that are not known yet, in one call of the tokenizer.

        ``first``: The words are the first ones of their texts.
        """
        derived = self._derived_first if first else self._derived_inside
        new = [word for word in dict.fromkeys(words) if word not in derived]
        if not new:
            return
        if self.pieces:
            id_of, unknown = self.vocabulary.original.get_vocab(), self.vocabulary.original.unk_token_id
            encoded = [[id_of.get(word, unknown)] for word in new]
        else:
            space = " " if self._spaced and not first else ""
            encoded = self._ids([f"{space}{word}" for word in new])
        for word, ids in zip(new, encoded, strict=True):
            # A word of shared pieces alone is the same word in both languages, and needs no separators.
            all_shared = self.vocabulary.shared.issuperset(ids)
            if all_shared and not self.pieces:
                derived[word] = word
            else:
                derived[word] = self.vocabulary.written(ids) or word  # a word without pieces stays itself

    def __call__(self, sentence: Sentence, *, key: int = 0) -> DerivedSentence:
        """Write the words of a sentence in the script of the copy; ``key`` has no effect."""
        del key
        words = sentence.words
        self.prime(words)
        derived = [self._derived_inside[word] for word in words]
        if self._spaced and words and not self.pieces:
            # A byte-level tokenizer reads a text's first word without the space that the others have.
            self.prime(words[:1], first=True)
            derived[0] = self._derived_first[words[0]]
        return DerivedSentence(tuple(derived), tuple(range(len(words))))


def _is_wordpiece(tokenizer: PreTrainedTokenizerBase) -> bool:
    return type(tokenizer.backend_tokenizer.model).__name__ == "WordPiece"
