"""Read extractive questions from SQuAD's JSON, which XQuAD, MLQA and TyDiQA-GoldP have too."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, Value

from isoglot.core.checks import shortened
from isoglot.core.errors import InputError
from isoglot.core.languages import NAMES, two_letters
from isoglot.formats.line_files import numbered_lines
from isoglot.formats.schema import SPAN
from isoglot.runs.json_lines import parse_json, row_id

ARTICLE = "article"
"""A column that the schema lacks: the number of the article that a context is from."""

_MOVED = "moved"
"""Key of a question: the number of its answers that were found at another place than the file says."""

_LOGGER = logging.getLogger(__name__)

NOT_FOUND = -1
"""Start of an answer that is not in its context: the answer counts for scoring, not for training."""


def read_questions(path: str | Path, *, language: str) -> Dataset:
    """Read a SQuAD file.

    1. An answer that is not at its ``answer_start`` moves to the nearest place where its text stands; a warning counts
       the answers that moved, and those that were not found.
    2. Of TyDiQA's file of all languages (ids such as ``finnish-…``), only questions in ``language`` are read.
    """
    features = Features({**SPAN, ARTICLE: Value("string")})
    rows: dict[str, list[Any]] = {name: [] for name in features}
    languages: set[str] = set()
    moved = 0
    for question in squad_questions(path, _question):
        tag = language_of_id(question["id"])
        if tag is not None and tag != two_letters(language):
            languages.add(tag)
            continue
        moved += question[_MOVED]
        for name in features:
            rows[name].append(language if name == "language" else question[name])
    if moved:
        _LOGGER.warning(
            "%s: %d of %d answers are not at their answer_start; the nearest place in the context is used",
            path, moved, sum(len(answers["text"]) for answers in rows["answers"]),
        )  # fmt: skip
    lost = sum(NOT_FOUND in answers["start"] for answers in rows["answers"])
    if lost:
        _LOGGER.warning(
            "%s: %d of %d questions have an answer that is not in the context; it counts for scoring, not for training",
            path, lost, len(rows["id"]),
        )  # fmt: skip
    if not rows["id"]:
        hint = f"; the languages there are {', '.join(sorted(languages))}" if languages else ""
        raise InputError(f"holds no question in {language!r}{hint}; check the path", path=path)
    return Dataset.from_dict(rows, features=features)


def squad_questions(
    path: str | Path, read: Callable[[str, Mapping[str, Any]], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Read each question of a SQuAD file by ``read(context, question)``, and add the number of its article.

    SQuAD's JSON is ``{"data": [{"paragraphs": [{"context": ..., "qas": [question, ...]}]}]}``; a list of articles, the
    value of ``data`` alone, is read too.

    Raises:
        InputError: A file that is not SQuAD's JSON, or a question that ``read`` refuses by a KeyError, TypeError or
            ValueError.
    """
    document = parse_json("\n".join(line for _, line in numbered_lines(path)), path=path)
    number = -1
    try:
        for number, article in enumerate(document if isinstance(document, list) else document["data"]):
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    yield {**read(paragraph["context"], qa), ARTICLE: str(number)}
    except (KeyError, TypeError, AttributeError) as error:
        problem = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"is not a SQuAD file ({f'article {number}: ' if number >= 0 else ''}{problem}); fix or replace it",
            path=path,
        ) from error
    except (ValueError, InputError) as error:
        raise InputError(f"article {number}: {error}", path=path) from error


def _question(context: str, qa: Mapping[str, Any]) -> dict[str, Any]:
    """Read a question and find its answers; one that cannot be answered (SQuAD 2's ``is_impossible``) has none."""
    answers = [] if qa.get("is_impossible") else qa["answers"]
    texts = [answer["text"] for answer in answers]
    starts = [answer["answer_start"] for answer in answers]
    for text in (context, qa["question"], *texts):
        if not isinstance(text, str):
            raise TypeError(f"expected text, got {shortened(text)}")
    for start in starts:
        if not isinstance(start, int) or not NOT_FOUND <= start < max(len(context), 1):
            raise ValueError(
                f"an answer_start is {shortened(start)}, outside the context of {len(context)} characters; or give -1"
            )
    found = [_nearest(context, text, start) for text, start in zip(texts, starts, strict=True)]
    moved = [place not in (NOT_FOUND, start) for place, start in zip(found, starts, strict=True)]
    return {
        "id": question_id(qa),
        "question": qa["question"],
        "context": context,
        "answers": {"text": texts, "start": found},
        _MOVED: sum(moved),
    }


def question_id(row: Mapping[str, Any]) -> str:
    """A question's id, which every question has."""
    name = row_id(row)
    if name is None:
        raise InputError("a question has no id; add one")
    return name


def _nearest(context: str, text: str, start: int) -> int:
    """Find an answer: at ``start``, or nearest to it; of two places that are equally near, the one before it."""
    if not text:
        return NOT_FOUND
    if context.startswith(text, start) and start >= 0:
        return start
    from_start = max(start, 0)  # -1: the file does not say where the answer stands
    after = context.find(text, from_start)
    before = context.rfind(text, 0, from_start + len(text))
    positions = [position for position in (before, after) if position >= 0]
    return min(positions, key=lambda position: abs(position - start), default=NOT_FOUND)


def language_of_id(name: str) -> str | None:
    """The language of a TyDiQA question, whose id begins with the language's English name; ``None`` for other ids."""
    return NAMES.get(name.partition("-")[0])
