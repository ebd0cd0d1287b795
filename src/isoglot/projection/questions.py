"""Answers of extractive questions: SQuAD's JSON in, rows of the SPAN schema out, context by context.

A context is long, and links over a hundred words are worse than links inside a sentence: both contexts are cut into
sentences, these are aligned by their lengths, and words only inside them (:mod:`isoglot.projection.sentences`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.aligners.alignment import PairLinks
from isoglot.checks import shortened
from isoglot.corpus.labelled.questions import ARTICLE, read_questions, squad_questions
from isoglot.corpus.labelled.tables import read_table
from isoglot.corpus.read.line_files import numbered_objects
from isoglot.corpus.read.sources import bare_suffix
from isoglot.errors import InputError
from isoglot.projection.rule import Words, project_spans
from isoglot.projection.sentences import sentence_windows
from isoglot.projection.units import LabelKind, Unit, span_words
from isoglot.schema import SPAN


class _Question(NamedTuple):
    """A question in the translation."""

    name: str
    question: str
    answers: list[Words]  # source words of each answer; an empty span of one that is not in the context
    article: str | None  # by which data are split, so that equal parts of source and translation are parallel


class _Context(NamedTuple):
    """A translated context and its questions."""

    text: str
    spans: list[Words]  # characters of its words
    asked: list[_Question]


class Answers(LabelKind):
    """Questions, and their translations with contexts of the same ids."""

    def units(self) -> Iterator[Unit]:
        """One unit per context and translation of it; questions without a translation are left out."""
        translated = _translations(self.translation)
        language = self.request.source_language
        if bare_suffix(str(self.labels)) == ".jsonl":
            rows = read_table(str(self.labels), SPAN, language=language, split="train", role="questions")
        else:
            rows = read_questions(self.labels, language=language)
        if not any(name in translated for name in rows["id"]):
            raise InputError(
                f"has no question of {self.labels}; questions are matched by their ids", path=self.translation
            )

        def contexts(row: Any) -> tuple[str, str | None]:
            return row["context"], translated.get(row["id"], ("", None))[1]

        for (text, other), several in groupby(rows, key=contexts):
            own = list(several)
            if other is None:
                self.counts.examples += len(own)
                continue
            spans, others = self.cut(text), self.cut(other)
            asked = [
                _Question(
                    row["id"], translated[row["id"]][0], _places(row["answers"], spans), row.get(ARTICLE)
                )
                for row in own
            ]
            windows = None if self.request.whole else sentence_windows((text, spans), (other, others))
            words = [text[a:b] for a, b in spans], [other[a:b] for a, b in others]
            yield Unit(words[0], words[1], _Context(other, others, asked), windows)

    def text(self, unit: Unit, found: PairLinks) -> str:
        """One row per question; one that had an answer and has none any more is left out."""
        own: _Context = unit.labels
        lines = []
        for question in own.asked:
            self.counts.examples += 1
            projected = project_spans(
                question.answers, found, len(own.spans), exclusive=False, gap=self.request.gap
            )
            self.counts.add(projected)
            kept = [span for span in projected if self.request.uncertain != "drop" or span.fate != "split"]
            places = dict.fromkeys(
                (own.spans[span.words[0]][0], own.spans[span.words[1] - 1][1]) for span in kept if span.words
            )
            if question.answers and not places:
                continue
            answers = {"text": [own.text[a:b] for a, b in places], "start": [a for a, _ in places]}
            row = {
                "id": question.name,
                "question": question.question,
                "context": own.text,
                "answers": answers,
            }
            if question.article is not None:
                row[ARTICLE] = question.article
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        self.counts.written += len(lines)
        return "".join(lines)


def _places(answers: dict[str, Any], spans: list[Words]) -> list[Words]:
    """The words of each answer."""
    return [
        span_words(spans, start, start + len(text)) if start >= 0 else (0, 0)
        for text, start in zip(answers["text"], answers["start"], strict=True)
    ]


def _translations(path: str | Path) -> dict[str, tuple[str, str]]:
    """Question and context by id, of SQuAD's JSON (whose answers play no part) or of JSON lines."""
    rows: Iterator[tuple[int | None, dict[str, Any]]]
    if bare_suffix(str(path)) in (".jsonl", ".ndjson"):
        rows = numbered_objects(path)
    else:
        questions = squad_questions(path, lambda context, qa: {**qa, "context": context})
        rows = ((None, question) for question in questions)
    found = {}
    for number, row in rows:
        match row:
            case {"id": name, "question": str(question), "context": str(context)}:
                found[str(name)] = (question, context)
            case _:
                raise InputError(
                    f"a translated question has an id, a question and a context, got {shortened(row)}; correct it",
                    path=path,
                    line=number,
                )
    return found
