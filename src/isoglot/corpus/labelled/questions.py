"""Extractive questions: SQuAD's JSON, in which XQuAD, MLQA and TyDiQA-GoldP come too."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, Value
from pydantic import BaseModel, ConfigDict, StrictInt, ValidationError, model_validator

from isoglot.checks import mistakes_of
from isoglot.corpus.read.line_files import numbered_lines
from isoglot.errors import InputError
from isoglot.languages import NAMES, two_letters
from isoglot.runs.records import parse_json
from isoglot.schema import SPAN

ARTICLE = "article"
"""Column beside the schema's: number of the article that a context is from."""

_LOGGER = logging.getLogger(__name__)

NOT_FOUND = -1
"""Start of an answer that does not stand in its context: it counts for scoring, not for training."""


def read_questions(path: str | Path, *, language: str) -> Dataset:
    """Read a SQuAD file.

    An answer that is not found at its offset is looked for nearby, then anywhere: the nearest place counts. In
    TyDiQA's file of all languages (ids such as ``finnish-…``) only questions of the one asked for are kept.
    """
    features = Features({**SPAN, ARTICLE: Value("string")})
    rows: dict[str, list[Any]] = {name: [] for name in features}
    others: set[str] = set()
    for question in _questions(path):
        own = language_of_id(question["id"])
        if own is not None and own != two_letters(language):
            others.add(own)
            continue
        for name in features:
            rows[name].append(language if name == "language" else question[name])
    lost = sum(NOT_FOUND in answers["start"] for answers in rows["answers"])
    if lost:
        _LOGGER.warning(
            "%s: %d of %d questions have an answer that is not in the context; it counts for scoring, not for training",
            path, lost, len(rows["id"]),
        )  # fmt: skip
    if not rows["id"]:
        hint = f"; the languages there are {', '.join(sorted(others))}" if others else ""
        raise InputError(f"holds no question in {language!r}{hint}; check the path", path=path)
    return Dataset.from_dict(rows, features=features)


def _questions(path: str | Path) -> Iterator[dict[str, Any]]:
    document = parse_json("\n".join(line for _, line in numbered_lines(path)), path=path)
    try:
        file = _File.model_validate({"data": document} if isinstance(document, list) else document)
    except ValidationError as error:
        mistake = mistakes_of(error)[0]
        *place, last = mistake.location or ("the document",)
        if mistake.kind == "missing":
            text = f"{_place(place) or 'the document'} has no {last!r}"
        else:
            text = f"{_place([*place, last])}: {mistake.reason}"
        raise InputError(f"{text}; a SQuAD file is needed: fix or replace it", path=path) from error
    for number, article in enumerate(file.data):
        for paragraph in article.paragraphs:
            for qa in paragraph.qas:
                answers = qa.answers
                starts = [_nearest(paragraph.context, a.text, a.answer_start) for a in answers]
                yield {
                    "id": qa.id,
                    "question": qa.question,
                    "context": paragraph.context,
                    "answers": {"text": [a.text for a in answers], "start": starts},
                    ARTICLE: str(number),
                }


def _place(location: Sequence[str | int]) -> str:
    """``data[0].paragraphs[1]``."""
    return "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in location).removeprefix(".")


class _Model(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Answer(_Model):
    text: str
    answer_start: StrictInt


class _Question(_Model):
    answers: list[_Answer]
    id: str
    question: str

    @model_validator(mode="before")
    @classmethod
    def _without_answer(cls, values: Any) -> Any:
        impossible = isinstance(values, dict) and values.get("is_impossible")
        return {**values, "answers": []} if impossible else values


class _Paragraph(_Model):
    context: str
    qas: list[_Question]

    @model_validator(mode="after")
    def _answers_inside(self) -> _Paragraph:
        for start in (a.answer_start for qa in self.qas for a in qa.answers):
            if not NOT_FOUND <= start < max(len(self.context), 1):
                raise ValueError(
                    f"an answer_start is {start}, outside the context of {len(self.context)} characters; or give -1"
                )
        return self


class _Article(_Model):
    paragraphs: list[_Paragraph]


class _File(_Model):
    data: list[_Article]


def _nearest(context: str, text: str, start: int) -> int:
    """Where the answer stands: at ``start``, or nearest to it."""
    if not text:
        return NOT_FOUND
    if context.startswith(text, start) and start >= 0:
        return start
    after, before = context.find(text, max(start, 0)), context.rfind(text, 0, max(start, 0) + len(text))
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - start)) if found else NOT_FOUND


def language_of_id(name: str) -> str | None:
    """The language of a TyDiQA question, whose id begins with its English name; ``None`` for other ids."""
    return NAMES.get(name.partition("-")[0])
