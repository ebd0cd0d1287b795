"""Answers of extractive questions: SQuAD's JSON in, rows of the SPAN schema out, context by context.

A context is long, and links over a hundred words are worse than links inside a sentence: both contexts are cut into
sentences, these are aligned by their lengths, and words only inside them (:mod:`isoglot.projection.sentences`).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from isoglot.aligners.alignment import PairLinks
from isoglot.checks import shortened
from isoglot.corpus.labelled.questions import ARTICLE, question_id, read_questions, squad_questions
from isoglot.corpus.labelled.tables import read_table
from isoglot.corpus.read.line_files import numbered_objects, parsed
from isoglot.corpus.read.sources import bare_suffix
from isoglot.errors import InputError
from isoglot.projection.rule import Words
from isoglot.projection.sentences import sentence_windows
from isoglot.projection.units import CutText, LabelKind, Unit
from isoglot.schema import SPAN


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
        if twice := next((name for name, count in Counter(rows["id"]).items() if count > 1), None):
            raise _repeated(twice, self.labels)
        if not any(name in translated for name in rows["id"]):
            raise InputError(
                f"has no question of {self.labels}; questions are matched by their ids", path=self.translation
            )

        def contexts(row: Any) -> tuple[str, str | None]:
            return row["context"], translated.get(row["id"], ("", None))[1]

        for (text, other), several in groupby(rows, key=contexts):
            if other is None:
                self.counts.examples += len(list(several))
                continue
            source, target = self.cut(text), self.cut(other)
            asked = [
                ({**row, "question": translated[row["id"]][0]}, _answer_words(row["answers"], source))
                for row in several
            ]
            windows = None if self.request.whole else sentence_windows(source, target)
            yield Unit(source.words, target.words, (target, asked), windows)

    def text(self, unit: Unit, found: PairLinks) -> str:
        """One row per question; one that had an answer and has none any more is left out."""
        context: CutText
        context, asked = unit.labels
        lines = []
        for question, answers in asked:
            self.counts.examples += 1
            projected = self.projected(answers, found, len(unit.target), exclusive=False)
            kept = [span for span in projected if self.request.uncertain != "drop" or span.fate != "split"]
            places = dict.fromkeys(context.characters(span.words) for span in kept if span.words)
            if answers and not places:
                continue
            texts, starts = [context.text[a:b] for a, b in places], [a for a, _ in places]
            row = {"id": question["id"], "question": question["question"], "context": context.text}
            row["answers"] = {"text": texts, "start": starts}
            # data are split by it: parts of both languages stay parallel
            if (article := question.get(ARTICLE)) is not None:
                row[ARTICLE] = article
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        self.counts.written += len(lines)
        return "".join(lines)


def _answer_words(answers: dict[str, Any], context: CutText) -> list[Words]:
    """The words of each answer; an empty span of one that is not in the context."""
    return [
        context.covered(start, start + len(text)) if start >= 0 else (0, 0)
        for text, start in zip(answers["text"], answers["start"], strict=True)
    ]


def _translations(path: str | Path) -> dict[str, tuple[str, str]]:
    """Question and context by id, of SQuAD's JSON (whose answers play no part) or of JSON lines."""
    rows: Iterable[tuple[int | None, dict[str, Any]]]
    if bare_suffix(str(path)) in (".jsonl", ".ndjson"):
        rows = numbered_objects(path)
    else:
        rows = ((None, own) for own in squad_questions(path, lambda context, qa: {**qa, "context": context}))
    translated: dict[str, tuple[str, str]] = {}
    for name, texts in parsed(_translation, rows, path):
        if name in translated:
            raise _repeated(name, path)
        translated[name] = texts
    return translated


def _translation(row: dict[str, Any]) -> tuple[str, tuple[str, str]]:
    match row:
        case {"id": _, "question": str(question), "context": str(context)}:
            return question_id(row), (question, context)
    raise InputError(
        f"a translated question has an id, a question and a context, got {shortened(row)}; correct it"
    )


def _repeated(name: str, path: str | Path) -> InputError:
    return InputError(
        f"id {name!r} is used for several questions, which are matched by their ids; give each its own",
        path=path,
    )
