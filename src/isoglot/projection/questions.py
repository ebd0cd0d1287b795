"""Answers of extractive questions: SQuAD's JSON in, rows of the SPAN schema out, context by context.

Links over the hundred words of a context are worse than links inside a sentence. So both contexts are cut into
sentences, sentences are aligned by their lengths, and words only inside sentences that translate each other
(:mod:`isoglot.projection.sentences`).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from isoglot.core.checks import shortened
from isoglot.core.errors import InputError
from isoglot.corpus.labelled_tables import read_table
from isoglot.formats.labelled.questions import ARTICLE, question_id, read_questions, squad_questions
from isoglot.formats.line_files import numbered_objects, parsed
from isoglot.formats.schema import SPAN
from isoglot.formats.sentence_pair import SentencePair
from isoglot.projection.labels import LabelKind, LabelledPair, characters, covered
from isoglot.projection.rule import Range
from isoglot.projection.sentences import sentence_windows
from isoglot.runs.files import bare_suffix
from isoglot.runs.json_lines import JSON_LINES

_OUTPUT_KEYS = {"id", "question", "context", "answers", "language", ARTICLE}
"""Keys of a row that are written here; others are copied from the translation."""


class Answers(LabelKind):
    """Questions, and their translations with contexts of the same ids."""

    def pairs(self) -> Iterator[LabelledPair]:
        """Yield one pair per context and translation of it; questions without a translation are left out.

        The labels of a pair are the rows of its questions as they are written, without answers yet, each with the
        ranges of source words of its answers.
        """
        translations = _translations(self.translation_path)
        language = self.options.source_language
        if bare_suffix(str(self.labels_path)) in JSON_LINES:
            rows = read_table(str(self.labels_path), SPAN, language=language, split="train", role="questions")
        else:
            rows = read_questions(self.labels_path, language=language)
        if twice := next((name for name, count in Counter(rows["id"]).items() if count > 1), None):
            raise _repeated(twice, self.labels_path)
        if not any(name in translations for name in rows["id"]):
            raise InputError(
                f"has no question of {self.labels_path}; questions are matched by their ids",
                path=self.translation_path,
            )

        def contexts(row: Any) -> tuple[str, str | None]:
            return row["context"], translations.get(row["id"], {}).get("context")

        for (context, translated_context), questions in groupby(rows, key=contexts):
            if translated_context is None:
                self.counts.examples += len(list(questions))
                continue
            pair = LabelledPair((context, translated_context), labels=[])
            pair.words, pair.spans = zip(*map(self.cut, pair.texts), strict=True)
            for question in questions:
                row = {"id": question["id"], **translations[question["id"]], "answers": None}
                # Training data are split by article, so that the splits of both languages stay parallel.
                if question.get(ARTICLE) is not None:
                    row[ARTICLE] = question[ARTICLE]
                pair.labels.append((row, _answer_ranges(question["answers"], pair.spans[0])))
            yield pair

    def windows(self, pair: SentencePair) -> Iterable[tuple[Range, Range]]:
        """Ranges of words of sentences that translate each other; with the option ``whole`` the whole contexts."""
        if self.options.whole:
            return super().windows(pair)
        source, target = zip(*pair.texts_and_spans, strict=True)
        return sentence_windows(source, target)

    def carried(self, pair: LabelledPair) -> str:
        """Write one row per question; a question whose answers are all lost is left out."""
        _, (_, target_spans) = pair.texts_and_spans
        lines = []
        for row, answers in pair.labels:
            self.counts.examples += 1
            projected = self.project(answers, pair, exclusive=False)
            if self.options.uncertain == "drop":
                projected = [span for span in projected if span.fate != "split"]
            ranges = [span.target_range for span in projected if span.target_range]
            located = list(dict.fromkeys(characters(target_spans, words) for words in ranges))  # each once
            if answers and not located:
                continue
            texts = [pair.target[start:end] for start, end in located]
            row["answers"] = {"text": texts, "start": [start for start, _ in located]}
            if self.options.target_language:
                row["language"] = self.options.target_language
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        self.counts.written += len(lines)
        return "".join(lines)


def _answer_ranges(answers: dict[str, Any], source_spans: Sequence[Range]) -> list[Range]:
    """The source words of each answer; (0, 0) for an answer that is not in the context."""
    ranges = []
    for text, start in zip(answers["text"], answers["start"], strict=True):
        ranges.append(covered(source_spans, start, start + len(text)) if start >= 0 else (0, 0))
    return ranges


def _translations(path: str | Path) -> dict[str, dict[str, Any]]:
    """Read translated questions by id: question and context, and of JSON lines also the other keys."""
    rows: Iterable[tuple[int | None, dict[str, Any]]]
    if bare_suffix(str(path)) in JSON_LINES:
        rows = numbered_objects(path)
    else:
        questions = squad_questions(path, lambda context, qa: {**qa, "context": context})
        names = ("id", "question", "context")
        rows = ((None, {name: row[name] for name in names if name in row}) for row in questions)
    translations: dict[str, dict[str, Any]] = {}
    for name, row in parsed(_translation, rows, path):
        if name in translations:
            raise _repeated(name, path)
        translations[name] = row
    return translations


def _translation(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Read the id of a translated question, and its row."""
    match row:
        case {"id": _, "question": str(question), "context": str(context)}:
            rest = {name: value for name, value in row.items() if name not in _OUTPUT_KEYS}
            return question_id(row), {"question": question, "context": context, **rest}
    raise InputError(
        f"a translated question has an id, a question and a context, got {shortened(row)}; correct it"
    )


def _repeated(name: str, path: str | Path) -> InputError:
    return InputError(
        f"id {name!r} is used for several questions, which are matched by their ids; give each its own",
        path=path,
    )
