"""Rows of every kind of corpus, derived one by one: words move, and links, labels, trees and answers move along.

:class:`Deriver` has a method for each schema: ``_text``, ``_bitext``, ``_treebank``, ``_tagged``, ``_pair``, ``_span``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import DerivedSentence, Sentence, Transform, Underivable, moved
from isoglot.derivation.labels import (
    Passage,
    carry_entities,
    flip_runs,
    make_tags_consistent,
    moved_answers,
    tags_by_form,
    tags_of_parse,
)
from isoglot.derivation.options import DeriverOptions
from isoglot.derivation.order import split_at_marks
from isoglot.formats.labelled.splits import SPLIT_COLUMNS
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import is_blank, split_words

Row = Mapping[str, Any]
DerivedRow = tuple[dict[str, Any], list[SentencePair]]
"""A row of the derived corpus; and pairs of its original and derived sentences, with gold links."""


@dataclass
class Deriver:
    """Derives rows one by one and counts those that cannot be derived."""

    transform: Transform
    name: str  # ends the tag of the derived language: ``inv`` makes ``en-x-inv`` of ``en``
    language: str | None = None  # the tag of the derived language, instead of one made from the name
    options: DeriverOptions = field(default_factory=DeriverOptions)
    parse: Callable[[str], Sentence] | None = None  # finds the tree of a raw sentence, for syn
    counts: Counter[str] = field(default_factory=Counter)  # derived rows; rows or answers dropped, by reason

    def rows(self, kind: str, rows: Iterable[Row]) -> Iterator[DerivedRow]:
        """Derive rows, in their order; those that cannot be derived are counted and left out.

        Args:
            kind: A schema of :mod:`isoglot.derivation.input.INPUT_KINDS`.
            rows: Rows with the columns of that schema; with ``upos``, ``heads`` and ``deprels`` beside ``words``
                where there are trees.
        """
        derive: Callable[[Row, int], DerivedRow] = getattr(self, f"_{kind}")
        if kind == "text":
            rows = chain.from_iterable(map(self._cut, rows))
        for key, row in enumerate(rows):
            try:
                derived_row = derive(row, key)
            except Underivable as reason:
                self.counts[str(reason)] += 1
            else:
                self.counts["derived"] += 1
                yield derived_row

    def tag(self, language: str, *others: str) -> str:
        """The tag of the derived language of a language; it must not be that of the original or of ``others``."""
        if self.language in (language, *others):
            raise ConfigurationError(
                f"[[derived_language='{self.language}']]: is another language of the corpus; give a tag of its "
                "own, such as qaa"
            )
        return self.language or f"{language}-x-{self.name}"

    def _cut(self, row: Row) -> Iterator[Row]:
        """Yield the sentences of a row of text, if they are to be split; else the row, unless it is blank."""
        if "words" in row:
            yield row
            return
        if not self.options.split_sentences:
            if not is_blank(row["text"]):
                yield row
            return
        words = split_words(row["text"], mode="whitespace")
        for start, stop in split_at_marks(words, self.options.end_marks):
            yield {**row, "text": " ".join(words[start:stop])}

    def _read(self, text: str) -> Sentence:
        return Sentence.of(text) if self.parse is None else self.parse(text)

    def _text(self, row: Row, key: int) -> DerivedRow:
        sentence = Sentence.of_row(row) if "words" in row else self._read(row["text"])
        pair = self._pair_of(sentence, self.transform(sentence, key=key), row["language"])
        return {"text": pair.target, "language": pair.languages[1]}, [pair]

    def _bitext(self, row: Row, key: int) -> DerivedRow:
        out, pairs = dict(row), []
        keys = {self.options.side: key}
        if self.options.side == "both":
            keys = {"source": 2 * key, "target": 2 * key + 1}  # each side draws for itself
        for side, side_key in keys.items():
            words = row.get(f"{side}_words")
            sentence = self._read(row[side]) if words is None else Sentence(tuple(words))
            derived = self.transform(sentence, key=side_key)
            pair = self._pair_of(sentence, derived, row[f"{side}_language"])
            other = out["target_language" if side == "source" else "source_language"]
            out |= {side: pair.target, f"{side}_language": self.tag(row[f"{side}_language"], other)}
            if words is not None:
                out[f"{side}_words"] = list(derived.words)
                out["links"] = _moved_links(out["links"], derived, 0 if side == "source" else 1)
            pairs.append(pair)
        return out, pairs

    _aligned = _bitext

    def _treebank(self, row: Row, key: int) -> DerivedRow:
        sentence = Sentence.of_row(row)
        derived = self._reordered(sentence, key)
        if self.options.labels == "first_match":  # tags alone: heads and relations are not looked up by form
            sentence = sentence._replace(upos=tags_by_form(sentence.words, sentence.words, sentence.upos))
        pair, tree = self._pair_of(sentence, derived, row["language"]), moved(sentence, derived)
        out = {name: list(getattr(tree, name)) for name in ("words", "upos", "heads", "deprels")}
        return {**out, "language": pair.languages[1]}, [pair]

    def _tagged(self, row: Row, key: int) -> DerivedRow:
        sentence, tags = Sentence.of_row(row), tuple(row["tags"])
        labelled = sentence.words
        by_form = self.options.labels == "first_match"
        if not sentence.heads and self.parse is not None:
            sentence = self.parse(" ".join(labelled))
            tags = tags_of_parse(sentence.words, labelled, tags, by_form=by_form)
        elif by_form:
            tags = tags_by_form(labelled, labelled, tags)
        derived = self._reordered(sentence, key)
        pair = self._pair_of(sentence, derived, row["language"])
        moved_tags = self._moved_tags(tags, derived)
        out = {"words": list(derived.words), "tags": moved_tags, "language": pair.languages[1]}
        return out | {name: row[name] for name in SPLIT_COLUMNS if name in row}, [pair]

    def _moved_tags(self, tags: Sequence[str], derived: DerivedSentence) -> list[str]:
        """Tags in the order of the derived words; those of entities are repaired."""
        moved_tags, repair = [tags[old] for old in derived.origin], self.options.repair
        if repair == "none" or not any(tag[:2] in ("B-", "I-") for tag in tags):
            return moved_tags
        if repair == "flip":
            return flip_runs(moved_tags)
        if repair == "entities" and self.options.labels == "exact":
            return carry_entities(tags, derived.origin)
        return make_tags_consistent(moved_tags)  # tags found by word form belong to no entity of the original

    def _pair(self, row: Row, key: int) -> DerivedRow:
        out, pairs = dict(row), []
        for number, side in enumerate(("first", "second")):
            if self.options.single_spaces:
                sentence = Sentence(tuple(row[side].strip().split(" ")))
            else:
                sentence = self._read(row[side])
            derived = self.transform(sentence, key=2 * key + number)
            out[side] = " ".join(derived.words)
            pairs.append(self._pair_of(sentence, derived, row["language"]))
        out["language"] = self.tag(row["language"])
        return out, pairs

    def _span(self, row: Row, key: int) -> DerivedRow:
        context, question = self._passage(row["context"]), self._passage(row["question"])
        derived_context = self.transform(context.sentence, key=2 * key)
        derived_question = self.transform(question.sentence, key=2 * key + 1)
        answers = list(zip(row["answers"]["text"], row["answers"]["start"], strict=True))
        kept = moved_answers(context, derived_context, answers, self.counts)
        if answers and not kept:
            raise Underivable("no answer left in one piece")
        out = {
            **row,
            "context": " ".join(derived_context.words),
            "question": " ".join(derived_question.words),
            "answers": {"text": [text for text, _ in kept], "start": [start for _, start in kept]},
            "language": self.tag(row["language"]),
        }
        pairs = [
            self._pair_of(context.sentence, derived_context, row["language"]),
            self._pair_of(question.sentence, derived_question, row["language"]),
        ]
        return out, pairs

    def _passage(self, text: str) -> Passage:
        return Passage.of(text) if self.parse is None else Passage.parsed(text, self.parse(text))

    def _reordered(self, sentence: Sentence, key: int) -> DerivedSentence:
        """Derive a labelled sentence, whose labels need exactly one derived word for each original one."""
        derived = self.transform(sentence, key=key)
        if len(derived.origin) != len(sentence.words) or len(set(derived.origin)) != len(derived.origin):
            raise ConfigurationError(
                "labelled words were cut into pieces by the transformation; use level: word for labelled data"
            )
        return derived

    def _pair_of(self, sentence: Sentence, derived: DerivedSentence, language: str) -> SentencePair:
        """Pair a sentence with the derived one, with gold links.

        The literal inversion has empty words; they are left out, and the others are counted without them.
        """
        source, target = sentence.words, derived.words
        links = derived.links()
        if "" in source or "" in target:
            source_number, target_number = _numbers_of_filled(source), _numbers_of_filled(target)
            kept = [(old, new) for old, new in links if old in source_number and new in target_number]
            links = [(source_number[old], target_number[new]) for old, new in kept]
            source, target = tuple(filter(None, source)), tuple(filter(None, target))
        return SentencePair.of(source, target, links=links, languages=(language, self.tag(language)))


def _numbers_of_filled(words: Sequence[str]) -> dict[int, int]:
    """The number of each word that is not empty, counted without empty ones."""
    filled = [number for number, word in enumerate(words) if word]
    return {old: new for new, old in enumerate(filled)}


def _moved_links(links: Iterable[Sequence[int]], derived: DerivedSentence, end: int) -> list[list[int]]:
    """Word links of which one side was derived: ``end`` 0 is the source, 1 the target."""
    renderings = derived.renderings()
    moved_links = []
    for link in links:
        for new in renderings.get(link[end], ()):
            moved = [link[0], link[1]]
            moved[end] = new
            moved_links.append(moved)
    return sorted(moved_links)
