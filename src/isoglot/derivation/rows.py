"""Rows of every kind of corpus, derived one by one: words move, and links, labels, trees and answers move along.

:class:`Deriver` has a method for each schema, which :meth:`Deriver.rows` calls: ``_text``, ``_bitext``, ``_aligned``,
``_treebank``, ``_tagged``, ``_pair`` (NLI, paraphrases), ``_span`` (questions). Each takes a row and its number, which
is the key of its random draws, and returns the derived row together with its gold pairs. A *gold pair* is an original
sentence and its derived one, with the word links that follow from the origins.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import DerivedSentence, Sentence, Transform, Underivable, with_derived_words
from isoglot.derivation.labels import (
    Passage,
    carry_entities,
    flip_reversed_entities,
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
"""A row of the derived corpus, and its gold pairs."""
_Side = Literal["source", "target"]


@dataclass
class Deriver:
    """Derives rows one by one and counts those that cannot be derived.

    Example:
        >>> from isoglot.derivation.spec import build
        >>> deriver = Deriver(build("inv"), name="inv")
        >>> [(row, _)] = deriver.rows("text", [{"text": "the old house", "language": "en"}])
        >>> row
        {'text': 'house old the', 'language': 'en-x-inv'}
    """

    transform: Transform
    name: str  # ends the code of the derived language: ``inv`` makes ``en-x-inv`` of ``en``
    derived_code: str | None = None  # the code of the derived language, instead of one made from the name
    options: DeriverOptions = field(default_factory=DeriverOptions)
    parse: Callable[[str], Sentence] | None = None  # finds the tree of a raw sentence, for syn
    counts: Counter[str] = field(default_factory=Counter)  # derived rows; rows or answers dropped, by reason

    def rows(self, schema: str, rows: Iterable[Row]) -> Iterator[DerivedRow]:
        """Derive rows, in their order; rows that cannot be derived are counted and left out.

        Args:
            schema: One of those in :data:`isoglot.derivation.input.INPUT_KINDS`.
            rows: Rows with the columns of that schema; with ``upos``, ``heads`` and ``deprels`` beside ``words``
                where there are trees.
        """
        derive: Callable[[Row, int], DerivedRow] = getattr(self, f"_{schema}")
        if schema == "text":
            rows = chain.from_iterable(map(self._lines_of, rows))
        for key, row in enumerate(rows):
            try:
                derived_row = derive(row, key)
            except Underivable as reason:
                self.counts[str(reason)] += 1
            else:
                self.counts["derived"] += 1
                yield derived_row

    def derived_language(self, language: str, *others: str) -> str:
        """The code of the language that is derived from a language: ``en-x-inv`` of ``en``.

        ``others``: Further languages of the row. A given code must be different from these and from ``language``.
        """
        if self.derived_code in (language, *others):
            raise ConfigurationError(
                f"[[derived_language='{self.derived_code}']]: is another language of the corpus; give a tag of its "
                "own, such as qaa"
            )
        return self.derived_code or f"{language}-x-{self.name}"

    def _lines_of(self, row: Row) -> Iterator[Row]:
        """Yield the rows that a row of text becomes.

        1. A row whose words are known is one sentence.
        2. Text that is not to be split is one row, or none if it is blank.
        3. Text that is to be split has a row for each sentence.
        """
        if "words" in row:  # 1
            yield row
            return
        if not self.options.split_sentences:  # 2
            if not is_blank(row["text"]):
                yield row
            return
        words = split_words(row["text"], mode="whitespace")
        for start, stop in split_at_marks(words, self.options.end_marks):  # 3
            yield {**row, "text": " ".join(words[start:stop])}

    def _sentence_of(self, text: str) -> Sentence:
        return Sentence.of(text) if self.parse is None else self.parse(text)

    def _text(self, row: Row, key: int) -> DerivedRow:
        sentence = Sentence.of_row(row) if "words" in row else self._sentence_of(row["text"])
        pair = self._gold_pair(sentence, self.transform(sentence, key=key), row["language"])
        return {"text": pair.target, "language": pair.languages[1]}, [pair]

    def _bitext(self, row: Row, key: int) -> DerivedRow:
        if self.options.side != "both":
            out, pair = self._with_derived_side(row, self.options.side, key)
            return out, [pair]
        # One side after the other, as both move the same links. Each side has random numbers of its own.
        if self.derived_code is not None:
            raise ConfigurationError(
                f"[[derived_language='{self.derived_code}']]: is one code, but [[side='both']] derives two languages; "
                "leave it out"
            )
        half_derived, source_pair = self._with_derived_side(row, "source", 2 * key)
        out, target_pair = self._with_derived_side(half_derived, "target", 2 * key + 1)
        return out, [source_pair, target_pair]

    _aligned = _bitext

    def _with_derived_side(self, row: Row, side: _Side, key: int) -> tuple[dict[str, Any], SentencePair]:
        """Copy a row of sentence pairs with one side derived; return the copy, and the gold pair of that side."""
        words = row.get(f"{side}_words")
        sentence = self._sentence_of(row[side]) if words is None else Sentence(tuple(words))
        derived = self.transform(sentence, key=key)
        language, other = row[f"{side}_language"], row[f"{_other(side)}_language"]
        pair = self._gold_pair(sentence, derived, language)
        out = {**row, side: pair.target, f"{side}_language": self.derived_language(language, other)}
        if words is not None:
            out[f"{side}_words"] = list(derived.words)
            out["links"] = _moved_links(row["links"], derived, side)
        return out, pair

    def _treebank(self, row: Row, key: int) -> DerivedRow:
        sentence = Sentence.of_row(row)
        derived = self._reordered(sentence, key)
        if self.options.labels == "first_match":
            # The words are looked up among themselves: a word that occurs twice gets the tag of its first occurrence.
            # Heads and relations are not looked up by form.
            sentence = sentence._replace(upos=tags_by_form(sentence.words, sentence.words, sentence.upos))
        pair = self._gold_pair(sentence, derived, row["language"])
        tree = with_derived_words(sentence, derived)
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
            # Looked up among themselves: a word that occurs twice gets the tag of its first occurrence.
            tags = tags_by_form(labelled, labelled, tags)
        derived = self._reordered(sentence, key)
        pair = self._gold_pair(sentence, derived, row["language"])
        moved_tags = self._moved_tags(tags, derived)
        out = {"words": list(derived.words), "tags": moved_tags, "language": pair.languages[1]}
        out |= {name: row[name] for name in SPLIT_COLUMNS if name in row}
        return out, [pair]

    def _moved_tags(self, tags: Sequence[str], derived: DerivedSentence) -> list[str]:
        """Put tags into the order of the derived words.

        1. Parts of speech, and all tags without ``repair``, are only moved.
        2. Tags of entities are repaired, since an entity must begin with ``B`` in the new order too: by entity, or in
           one of two ways of ALIGN-MLM's code.
        3. Tags found by word form belong to no entity of the original, so they cannot be repaired by entity.
        """
        moved_tags = [tags[old] for old in derived.origin]
        repair = self.options.repair
        has_entities = any(tag[:2] in ("B-", "I-") for tag in tags)
        if repair == "none" or not has_entities:  # 1
            return moved_tags
        if repair == "flip":  # 2
            return flip_reversed_entities(moved_tags)
        if repair == "entities" and self.options.labels == "exact":  # 2
            return carry_entities(tags, derived.origin)
        return make_tags_consistent(moved_tags)  # 2, 3

    def _pair(self, row: Row, key: int) -> DerivedRow:
        out, pairs = dict(row), []
        for number, column in enumerate(("first", "second")):
            if self.options.single_spaces:
                sentence = Sentence(tuple(row[column].strip().split(" ")))
            else:
                sentence = self._sentence_of(row[column])
            derived = self.transform(sentence, key=2 * key + number)
            out[column] = " ".join(derived.words)
            pairs.append(self._gold_pair(sentence, derived, row["language"]))
        out["language"] = self.derived_language(row["language"])
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
            "language": self.derived_language(row["language"]),
        }
        pairs = [
            self._gold_pair(context.sentence, derived_context, row["language"]),
            self._gold_pair(question.sentence, derived_question, row["language"]),
        ]
        return out, pairs

    def _passage(self, text: str) -> Passage:
        return Passage.of(text) if self.parse is None else Passage.parsed(text, self.parse(text))

    def _reordered(self, sentence: Sentence, key: int) -> DerivedSentence:
        """Derive a labelled sentence, whose labels need exactly one derived word for each original one."""
        derived = self.transform(sentence, key=key)
        if not derived.renders_each_once(len(sentence.words)):
            raise ConfigurationError(
                "labelled words were cut into pieces by the transformation; use level: word for labelled data"
            )
        return derived

    def _gold_pair(self, sentence: Sentence, derived: DerivedSentence, language: str) -> SentencePair:
        """Pair a sentence with the derived one, with gold links.

        The literal inversion has empty words. They are left out, and the links have the numbers of the other words
        without them.
        """
        source, target = sentence.words, derived.words
        links = derived.links()
        if "" in source or "" in target:
            source_number, target_number = _numbers_without_empty(source), _numbers_without_empty(target)
            renumbered = []
            for old, new in links:
                if old in source_number and new in target_number:
                    renumbered.append((source_number[old], target_number[new]))
            links = renumbered
            source, target = tuple(filter(None, source)), tuple(filter(None, target))
        return SentencePair.of(
            source, target, links=links, languages=(language, self.derived_language(language))
        )


def _numbers_without_empty(words: Sequence[str]) -> dict[int, int]:
    """The new number of each word that is not empty, once empty words are left out: ``("", "a")`` gives ``{1: 0}``."""
    filled = [number for number, word in enumerate(words) if word]
    return {old: new for new, old in enumerate(filled)}


def _other(side: _Side) -> _Side:
    return "target" if side == "source" else "source"


def _moved_links(links: Iterable[Sequence[int]], derived: DerivedSentence, side: _Side) -> list[list[int]]:
    """Move the word links ``(source, target)`` of a sentence pair of which one side was derived."""
    renderings = derived.renderings()
    moved_links = []
    for source, target in links:
        if side == "source":
            moved_links += [[new, target] for new in renderings.get(source, ())]
        else:
            moved_links += [[source, new] for new in renderings.get(target, ())]
    return sorted(moved_links)
