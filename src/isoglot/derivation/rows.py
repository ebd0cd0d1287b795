"""Rows of every kind of corpus in the derived language: words move, and what is known about them moves along."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from isoglot.derivation.order import sentence_bounds
from isoglot.formats.labelled.splits import SPLIT_COLUMNS
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import is_blank, split_words

Row = Mapping[str, Any]


DerivedRow = tuple[dict[str, Any], list[SentencePair]]
"""A row, and its original sentences with the derived ones and gold links."""


@dataclass
class Deriver:
    """Derives rows one by one and counts those that cannot be."""

    transform: Transform
    name: str  # what the derived language is called: ``inv`` makes ``en-x-inv`` of ``en``
    language: str | None = None  # its tag, instead
    options: DeriverOptions = field(default_factory=DeriverOptions)
    parse: Callable[[str], Sentence] | None = None  # finds the tree of a raw sentence, for syn
    counts: Counter[str] = field(default_factory=Counter)  # derived rows; rows or answers dropped, by reason

    def rows(self, kind: str, rows: Iterable[Row]) -> Iterator[DerivedRow]:
        """The rows' images, in order.

        Args:
            kind: a schema of :mod:`isoglot.derivation.input.INPUT_KINDS`.
            rows: rows with the columns of that schema; with ``upos``, ``heads`` and ``deprels`` beside ``words``
                where there are trees.
        """
        derive: Callable[[Row, int], DerivedRow] = getattr(self, f"_{kind}")
        parts = (part for row in rows for part in self._cut(row)) if kind == "text" else rows
        for key, row in enumerate(parts):
            try:
                image = derive(row, key)
            except Underivable as reason:
                self.counts[str(reason)] += 1
            else:
                self.counts["derived"] += 1
                yield image

    def tag(self, language: str, *others: str) -> str:
        """The derived language's tag, which must not be that of the original or of ``others``."""
        if self.language in (language, *others):
            raise ConfigurationError(
                f"[[derived_language='{self.language}']]: is another language of the corpus; give a tag of its "
                "own, such as qaa"
            )
        return self.language or f"{language}-x-{self.name}"

    def _cut(self, row: Row) -> Iterator[Row]:
        if "words" in row:
            yield row
            return
        if not self.options.split_sentences:
            if not is_blank(row["text"]):
                yield row
            return
        words = split_words(row["text"], mode="whitespace")
        for start, stop in sentence_bounds(words, self.options.end_marks):
            yield {**row, "text": " ".join(words[start:stop])}

    def _read(self, text: str) -> Sentence:
        return Sentence.of(text) if self.parse is None else self.parse(text)

    def _text(self, row: Row, key: int) -> DerivedRow:
        sentence = Sentence.of_row(row) if "words" in row else self._read(row["text"])
        pair = self._pair_of(sentence, self.transform(sentence, key=key), row["language"])
        return {"text": pair.target, "language": pair.languages[1]}, [pair]

    def _bitext(self, row: Row, key: int) -> DerivedRow:
        out, pairs = dict(row), []
        both = self.options.side == "both"
        for number, side in enumerate(("source", "target") if both else (self.options.side,)):
            words = row.get(f"{side}_words")
            sentence = self._read(row[side]) if words is None else Sentence(tuple(words))
            derived = self.transform(sentence, key=2 * key + number if both else key)
            pair = self._pair_of(sentence, derived, row[f"{side}_language"])
            other = out["target_language" if side == "source" else "source_language"]
            out |= {side: pair.target, f"{side}_language": self.tag(row[f"{side}_language"], other)}
            if words is not None:
                column = ("source", "target").index(side)
                renders = derived.renderings()
                out[f"{side}_words"] = list(derived.words)
                out["links"] = sorted(
                    [new if end == column else link[end] for end in (0, 1)]
                    for link in out["links"]
                    for new in renders.get(link[column], ())
                )
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
        moved_tags, repair = [tags[o] for o in derived.origin], self.options.repair
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
        context, question = (
            Passage.of(text) if self.parse is None else Passage.parsed(text, self.parse(text))
            for text in (row["context"], row["question"])
        )
        images = [self.transform(p.sentence, key=2 * key + i) for i, p in enumerate((context, question))]
        answers = list(zip(row["answers"]["text"], row["answers"]["start"], strict=True))
        kept = moved_answers(context, images[0], answers, self.counts)
        if answers and not kept:
            raise Underivable("no answer left in one piece")
        text, asked = (" ".join(d.words) for d in images)
        out = {
            **row,
            "context": text,
            "question": asked,
            "answers": {"text": [a for a, _ in kept], "start": [s for _, s in kept]},
            "language": self.tag(row["language"]),
        }
        pairs = [
            self._pair_of(p.sentence, d, row["language"])
            for p, d in zip((context, question), images, strict=True)
        ]
        return out, pairs

    def _reordered(self, sentence: Sentence, key: int) -> DerivedSentence:
        """The derived sentence, where labels need one derived word for each original one."""
        derived = self.transform(sentence, key=key)
        if len(derived.origin) != len(sentence.words) or len(set(derived.origin)) != len(derived.origin):
            raise ConfigurationError(
                "labelled words were cut into pieces by the transformation; use level: word for labelled data"
            )
        return derived

    def _pair_of(self, sentence: Sentence, derived: DerivedSentence, language: str) -> SentencePair:
        """A sentence and its image with gold links."""
        words, image = sentence.words, derived.words
        links = derived.links()
        if "" in words or "" in image:  # the literal inversion has empty words; nothing is linked to them
            filled = [[i for i, word in enumerate(side) if word] for side in (words, image)]
            numbers = [{old: new for new, old in enumerate(side)} for side in filled]
            links = [
                (numbers[0][old], numbers[1][new])
                for old, new in links
                if old in numbers[0] and new in numbers[1]
            ]
            words, image = tuple(words[i] for i in filled[0]), tuple(image[i] for i in filled[1])
        return SentencePair.of(words, image, links=links, languages=(language, self.tag(language)))
