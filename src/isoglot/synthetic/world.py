"""The miniature world: labelled English-like data for every task, seeded and offline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from datasets import Dataset, DatasetInfo, Features, List, Value
from datasets.table import InMemoryTable

from isoglot.errors import ConfigurationError
from isoglot.schema import PAIR, SPAN, TAGGED, TEXT, TREEBANK
from isoglot.seeding import seed_for
from isoglot.synthetic.engine import CHUNK, SPLITS, Engine, WorldRows
from isoglot.synthetic.families import inference_patterns
from isoglot.synthetic.grammar import sample_patterns
from isoglot.synthetic.lexicon import Lexicon, build_lexicon
from isoglot.synthetic.paraphrases import wording_patterns
from isoglot.synthetic.patterns import Compiled, Ints, Pattern
from isoglot.synthetic.stories import story_patterns

_PATTERNS = 6000
_STORIES = 1500
_TREES = {
    "text": "_sentences", "pos": "_sentences", "ner": "_named", "nli": "_inferences", "paws": "_wordings",
    "qa": "_stories",
}  # fmt: skip
_TREEBANK = Features({**TREEBANK, "entities": List(Value("string")), "text": Value("string")})


class World:
    """A lexicon and a grammar, and data sets drawn from them.

    Every data set is a pure function of the world's arguments, the method, ``split`` and ``n``; the first rows of a
    longer one are those of a shorter one. A sentence occurs in one split only, whichever task it serves.

    Args:
        seed: frequencies, names, themes, grammar and draws depend on it.
        size: about how many lexemes to keep; all (some 3,800) by default.

    Example:
        >>> world = World(seed=1)
        >>> world.text(3)["text"] == world.text(5)["text"][:3]
        True
    """

    def __init__(self, seed: int = 0, size: int | None = None) -> None:
        self.seed = seed
        self.lexicon: Lexicon = build_lexicon(seed, size=size)
        self.engine = Engine(self.lexicon, seed)

    @cached_property
    def _sentences(self) -> Compiled:
        patterns = sample_patterns(_PATTERNS, seed_for(self.seed, "grammar"))
        return Compiled.of(patterns, self.engine.vocabulary)

    @cached_property
    def _named(self) -> Compiled:
        """Sentence patterns of which most have a name."""

        def weight(pattern: Pattern) -> float:
            return 1.0 if any(t.entity != "O" for t in pattern.sentences[0]) else 0.25

        patterns = [replace(p, weight=weight(p)) for p in self._sentences.patterns]
        return Compiled.of(patterns, self.engine.vocabulary)

    def text(self, n: int, *, split: str = "train") -> Dataset:
        """Plain text (TEXT), punctuation attached."""
        chunks = self._chunks("text", self._sentences, split, n)
        texts = [text for rows in chunks for text in self._texts(rows)]
        return _dataset({"text": texts, "language": ["en"] * n}, TEXT)

    def treebank(self, n: int, *, split: str = "train", of: str = "text") -> Dataset:
        """Dependency trees (TREEBANK) with the further columns ``entities`` (IOB2) and ``text`` (detokenised).

        ``n``: rows of the data set whose sentences these are.
        ``of``: whose sentences, in their order: those of :meth:`text`, :meth:`pos` or :meth:`ner`, one a row, or of
        :meth:`nli` and :meth:`paws` (two a row) or :meth:`qa` (the story's, then the question).
        """
        if of not in _TREES:
            raise ConfigurationError(f"trees of {of!r} asked for; there are those of {', '.join(_TREES)}")
        compiled: Compiled = getattr(self, _TREES[of])
        rows, names = self._collect(of, compiled, split, n, whole=of == "qa"), self.engine.vocabulary.strings
        sentences = rows.sentence_offset

        def words(values: list[str]) -> pa.Array:
            return self._token_column(rows, values, sentences)

        columns = {
            "words": _list_column(sentences, rows.ids, names),
            "upos": words(compiled.upos),
            "heads": _list_column(sentences, compiled.heads[rows.token_index], None),
            "deprels": words(compiled.deprels),
            "language": ["en"] * (len(sentences) - 1),
            "entities": words(compiled.entities),
            "text": self._sentence_texts(rows),
        }
        return _dataset(columns, _TREEBANK)

    def pos(self, n: int, *, split: str = "train") -> Dataset:
        """Words with universal part-of-speech tags (TAGGED)."""
        return self._tagged("pos", self._sentences, self._sentences.upos, split, n)

    def ner(self, n: int, *, split: str = "train") -> Dataset:
        """Words with IOB2 tags of PER, ORG and LOC (TAGGED); about one sentence in eight has no name."""
        return self._tagged("ner", self._named, self._named.entities, split, n)

    def _tagged(self, key: str, compiled: Compiled, tags: list[str], split: str, n: int) -> Dataset:
        rows = self._collect(key, compiled, split, n)
        words = _list_column(rows.row_offset, rows.ids, self.engine.vocabulary.strings)
        columns = {"words": words, "tags": self._token_column(rows, tags), "language": ["en"] * n}
        return _dataset(columns, TAGGED)

    @cached_property
    def _inferences(self) -> Compiled:
        return Compiled.of(inference_patterns(), self.engine.vocabulary)

    @cached_property
    def _wordings(self) -> Compiled:
        return Compiled.of(wording_patterns(), self.engine.vocabulary)

    @cached_property
    def _stories(self) -> Compiled:
        return Compiled.of(story_patterns(_STORIES, seed_for(self.seed, "stories")), self.engine.vocabulary)

    def nli(self, n: int, *, split: str = "train") -> Dataset:
        """Premise and hypothesis (PAIR); the label, entailment, neutral or contradiction, follows from the meanings.

        Quantifiers, hypernyms, modifiers, negation, voice, swapped roles, comparisons, counts, *and* and *or*, reports,
        opposites, before and after. Weights make labels equally frequent and independent of any single word.
        """
        return self._pairs("nli", self._inferences, split, n)

    def paws(self, n: int, *, split: str = "train") -> Dataset:
        """Two wordings with nearly the same words (PAIR): ``"1"`` if they mean the same, else ``"0"``."""
        return self._pairs("paws", self._wordings, split, n)

    def qa(self, n: int, *, split: str = "train") -> Dataset:
        """Stories with a question and the answer's span (SPAN), among distractors of the same type.

        A story as a whole is in one split; single sentences of it may occur in another.
        """
        compiled = self._stories
        rows = self._collect("qa", compiled, split, n, whole=True)
        sentences = self._sentence_texts(rows)
        at = rows.row_sentence.tolist()
        contexts = [" ".join(sentences[a : b - 1]) for a, b in pairwise(at)]
        questions = [sentences[b - 1] for b in at[1:]]
        spans = np.array([p.answer for p in compiled.patterns])[rows.pattern]
        starts, ends = self._characters(rows, spans)
        answers = [c[a:b] for c, a, b in zip(contexts, starts, ends, strict=True)]
        columns = {
            "id": [f"{self.seed}-{split}-{i}" for i in range(n)],
            "question": questions,
            "context": contexts,
            "answers": pa.array(
                [{"text": [a], "start": [s]} for a, s in zip(answers, starts, strict=True)],
                SPAN.arrow_schema.field("answers").type,
            ),
            "language": ["en"] * n,
        }
        return _dataset(columns, SPAN)

    def _characters(self, rows: WorldRows, spans: Ints) -> tuple[list[int], list[int]]:
        """Character offsets of token spans: each token is as long as its piece, with the space before it."""
        pieces = self.engine.vocabulary.arrays.pieces[rows.ids]
        lengths = np.fromiter((len(p) for p in pieces), dtype=np.int64, count=len(pieces))
        ends = np.cumsum(lengths)
        # The first piece of a row has lost its space: hence the one less in what lies before.
        before = (ends - lengths)[rows.row_offset[:-1]] + 1
        first, last = rows.row_offset[:-1] + spans[:, 0], rows.row_offset[:-1] + spans[:, 1] - 1
        spaces = np.array([p.startswith(" ") for p in pieces[first]])
        start = (ends - lengths)[first] - before + spaces
        return start.tolist(), (ends[last] - before).tolist()

    def _pairs(self, key: str, compiled: Compiled, split: str, n: int) -> Dataset:
        rows = self._collect(key, compiled, split, n)
        sentences = self._sentence_texts(rows)
        columns = {
            "first": sentences[::2],
            "second": sentences[1::2],
            "label": [compiled.patterns[i].label for i in rows.pattern.tolist()],
            "language": ["en"] * n,
        }
        return _dataset(columns, PAIR)

    def _sentence_texts(self, rows: WorldRows) -> list[str]:
        """Every sentence of every row."""
        return self._texts(rows, rows.sentence_offset)

    @staticmethod
    def _token_column(rows: WorldRows, values: list[str], offsets: Ints | None = None) -> pa.Array:
        names = sorted(set(values))
        number = {name: i for i, name in enumerate(names)}
        codes = np.array([number[v] for v in values])
        return _list_column(rows.row_offset if offsets is None else offsets, codes[rows.token_index], names)

    def _texts(self, rows: WorldRows, offsets: Ints | None = None) -> list[str]:
        """The rows, or what lies between other offsets, as plain text."""
        pieces = self.engine.vocabulary.arrays.pieces[rows.ids].tolist()
        at = (rows.row_offset if offsets is None else offsets).tolist()
        return ["".join(pieces[a:b])[1:] for a, b in pairwise(at)]

    def _chunks(
        self, key: str, compiled: Compiled, split: str, n: int, *, whole: bool = False
    ) -> Iterator[WorldRows]:
        """Accepted rows, chunk after chunk, until there are ``n``."""
        self._check(n, split)
        found, chunk = 0, 0
        while found < n:
            rng = self.engine.rng(key, split, chunk)
            topics = self.engine.topics(rng, CHUNK)
            rows = self.engine.draw(compiled, rng, split=split, topics=topics, whole=whole)
            rows = rows.take(np.flatnonzero(rows.accepted)[: n - found])
            found, chunk = found + len(rows), chunk + 1
            yield rows

    def _collect(self, key: str, compiled: Compiled, split: str, n: int, *, whole: bool = False) -> WorldRows:
        return WorldRows.joined(list(self._chunks(key, compiled, split, n, whole=whole)))

    @staticmethod
    def _check(n: int, split: str) -> None:
        if n < 1:
            raise ConfigurationError(f"{n} rows given; needed is at least 1; use n=1000")
        if split not in SPLITS:
            raise ConfigurationError(
                f"split {split!r} given; needed is one of {', '.join(SPLITS)}; use split='train'"
            )


def _list_column(
    offsets: npt.NDArray[np.int64], values: npt.NDArray[np.int64], names: Sequence[str] | None
) -> pa.Array:
    """A list column: row ``r`` holds ``values[offsets[r]:offsets[r + 1]]``, as names if names are given, else int32."""
    flat = pa.array(values.astype(np.int32))
    if names is not None:
        flat = pa.array(list(names), pa.string()).take(flat)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), flat)


def _dataset(columns: Mapping[str, Any], features: Features) -> Dataset:
    """A data set of Arrow columns in the order of its features."""
    table = pa.table({name: columns[name] for name in features}).cast(features.arrow_schema)
    return Dataset(InMemoryTable(table), info=DatasetInfo(features=features))
