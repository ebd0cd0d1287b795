"""The miniature world: labelled English-like data for every task, seeded and offline."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset, DatasetInfo, Features, List, Value
from datasets.table import InMemoryTable

from isoglot.errors import ConfigurationError
from isoglot.schema import PAIR, SPAN, TAGGED, TEXT, TREEBANK
from isoglot.seeding import seed_for
from isoglot.synthetic.engine import SPLITS, Engine
from isoglot.synthetic.families import inference_patterns
from isoglot.synthetic.grammar import sample_patterns
from isoglot.synthetic.lexicon import Lexicon, build_lexicon
from isoglot.synthetic.paraphrases import wording_patterns
from isoglot.synthetic.patterns import CompiledPatterns, Ints, Pattern, flat, offsets, starts
from isoglot.synthetic.stories import story_patterns

_PATTERNS = 6000
_STORIES = 1500
_KINDS = ("text", "pos", "ner", "nli", "paws", "qa")
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
        self._compiled: dict[str, CompiledPatterns] = {}

    def text(self, n: int, *, split: str = "train") -> Dataset:
        """Plain text (TEXT), punctuation attached."""
        rows = self._rows("text", n, split)
        return _dataset({"text": self._texts(rows, starts(rows, "ids"))}, TEXT, n)

    def treebank(self, n: int, *, split: str = "train", of: str = "text") -> Dataset:
        """Dependency trees (TREEBANK) with the further columns ``entities`` (IOB2) and ``text`` (detokenised).

        ``n``: rows of the data set whose sentences these are.
        ``of``: whose sentences, in their order: those of :meth:`text`, :meth:`pos` or :meth:`ner`, one a row, or of
        :meth:`nli` and :meth:`paws` (two a row) or :meth:`qa` (the story's, then the question).
        """
        if of not in _KINDS:
            raise ConfigurationError(f"no trees of {of!r}; there are trees of {', '.join(_KINDS)}")
        rows, compiled = self._rows(of, n, split), self._patterns(of)
        sentences, tokens = offsets(flat(rows, "sentences")), flat(rows, "tokens")
        columns = {
            "words": _lists(sentences, self.engine.vocabulary.strings, flat(rows, "ids")),
            **{
                name: _lists(sentences, getattr(compiled, name), tokens)
                for name in ("upos", "heads", "deprels", "entities")
            },
            "text": self._texts(rows, sentences),
        }
        return _dataset(columns, _TREEBANK, len(sentences) - 1)

    def pos(self, n: int, *, split: str = "train") -> Dataset:
        """Words with universal part-of-speech tags (TAGGED)."""
        return self._tagged("pos", self._patterns("pos").upos, n, split)

    def ner(self, n: int, *, split: str = "train") -> Dataset:
        """Words with IOB2 tags of PER, ORG and LOC (TAGGED); about one sentence in eight has no name."""
        return self._tagged("ner", self._patterns("ner").entities, n, split)

    def nli(self, n: int, *, split: str = "train") -> Dataset:
        """Premise and hypothesis (PAIR); the label, entailment, neutral or contradiction, follows from the meanings.

        Quantifiers, hypernyms, modifiers, negation, voice, swapped roles, comparisons, counts, *and* and *or*, reports,
        opposites, before and after. Weights make labels equally frequent and independent of any single word.
        """
        return self._pairs("nli", n, split)

    def paws(self, n: int, *, split: str = "train") -> Dataset:
        """Two wordings with nearly the same words (PAIR): ``"1"`` if they mean the same, else ``"0"``."""
        return self._pairs("paws", n, split)

    def qa(self, n: int, *, split: str = "train") -> Dataset:
        """Stories with a question and the answer's span (SPAN), among distractors of the same type.

        A story as a whole is in one split; single sentences of it may occur in another.
        """
        rows = self._rows("qa", n, split)
        sentences = self._texts(rows, offsets(flat(rows, "sentences")))
        at = starts(rows, "sentences").tolist()
        contexts = [" ".join(sentences[a : b - 1]) for a, b in pairwise(at)]
        spans = np.array([p.answer for p in self._patterns("qa").patterns])[rows["pattern"].to_numpy()]
        answers = [
            {"text": [context[a:b]], "start": [a]}
            for context, a, b in zip(contexts, *self._characters(rows, spans), strict=True)
        ]
        columns = {
            "id": [f"{self.seed}-{split}-{i}" for i in range(n)],
            "question": [sentences[b - 1] for b in at[1:]],
            "context": contexts,
            "answers": pa.array(answers, SPAN.arrow_schema.field("answers").type),
        }
        return _dataset(columns, SPAN, n)

    def _patterns(self, kind: str) -> CompiledPatterns:
        """The patterns of a data set, made when they are first needed."""
        kind = "text" if kind == "pos" else kind
        if kind in self._compiled:
            return self._compiled[kind]
        patterns: Sequence[Pattern]
        if kind == "text":
            patterns = sample_patterns(_PATTERNS, seed_for(self.seed, "grammar"))
        elif kind == "ner":  # most have a name
            plain = self._patterns("text").patterns
            named = [any(token.entity != "O" for token in p.sentences[0]) for p in plain]
            patterns = [replace(p, weight=1.0 if n else 0.25) for p, n in zip(plain, named, strict=True)]
        elif kind == "qa":
            patterns = story_patterns(_STORIES, seed_for(self.seed, "stories"))
        else:
            patterns = inference_patterns() if kind == "nli" else wording_patterns()
        return self._compiled.setdefault(kind, CompiledPatterns(patterns, self.engine.vocabulary))

    def _rows(self, kind: str, n: int, split: str) -> pa.Table:
        """The rows of a data set, before their words are joined."""
        if n < 1:
            raise ConfigurationError(f"at least 1 row is needed, got {n}; use n=1000")
        if split not in SPLITS:
            raise ConfigurationError(f"unknown split {split!r}; known: {', '.join(SPLITS)}")
        return self.engine.rows(kind, self._patterns(kind), split, n, whole=kind == "qa")

    def _tagged(self, kind: str, tags: list[str], n: int, split: str) -> Dataset:
        rows = self._rows(kind, n, split)
        words = _lists(starts(rows, "ids"), self.engine.vocabulary.strings, flat(rows, "ids"))
        columns = {"words": words, "tags": _lists(starts(rows, "tokens"), tags, flat(rows, "tokens"))}
        return _dataset(columns, TAGGED, n)

    def _pairs(self, kind: str, n: int, split: str) -> Dataset:
        rows, patterns = self._rows(kind, n, split), self._patterns(kind).patterns
        sentences = self._texts(rows, offsets(flat(rows, "sentences")))
        labels = [patterns[i].label for i in rows["pattern"].to_pylist()]
        return _dataset({"first": sentences[::2], "second": sentences[1::2], "label": labels}, PAIR, n)

    def _texts(self, rows: pa.Table, begin: Ints) -> list[str]:
        """The words from each of these places to the next, as plain text."""
        pieces = self.engine.vocabulary.arrays.pieces[flat(rows, "ids")].tolist()
        return ["".join(pieces[a:b])[1:] for a, b in pairwise(begin.tolist())]

    def _characters(self, rows: pa.Table, spans: Ints) -> tuple[list[int], list[int]]:
        """Character offsets of token spans: each token is as long as its piece, with the space before it."""
        pieces, begin = self.engine.vocabulary.arrays.pieces[flat(rows, "ids")], starts(rows, "ids")[:-1]
        at = np.cumsum([0, *map(len, pieces)])
        # The first piece of a row has lost its space, so what lies before has one more.
        first, last, before = begin + spans[:, 0], begin + spans[:, 1], at[begin] + 1
        spaces = np.array([p.startswith(" ") for p in pieces[first]])
        return (at[first] - before + spaces).tolist(), (at[last] - before).tolist()


def _lists(begin: Ints, values: Sequence[Any], chosen: Ints) -> pa.Array:
    """A list column: row ``r`` holds the values that are chosen from ``begin[r]`` to ``begin[r + 1]``."""
    return pa.ListArray.from_arrays(pa.array(begin.astype(np.int32)), pa.array(values).take(pa.array(chosen)))


def _dataset(columns: Mapping[str, Any], features: Features, count: int) -> Dataset:
    """A data set of this many rows in English, its columns in the order of the features."""
    filled = {**columns, "language": ["en"] * count}
    table = pa.table({name: filled[name] for name in features}).cast(features.arrow_schema)
    return Dataset(InMemoryTable(table), info=DatasetInfo(features=features))
