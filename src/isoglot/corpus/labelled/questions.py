"""Extractive questions: SQuAD's JSON, in which XQuAD, MLQA and TyDiQA-GoldP come too."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, Value

from isoglot.corpus.labelled.files import read_json
from isoglot.corpus.labelled.languages import NAMES
from isoglot.errors import InputError
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
        if own is not None and own != language:
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
    document = read_json(path)
    articles = _member(document, "data", path, "") if isinstance(document, dict) else document
    for a, article in enumerate(_list(articles, path, "data")):
        here = f"data[{a}]"
        paragraphs = _list(_member(article, "paragraphs", path, here), path, f"{here}.paragraphs")
        for p, paragraph in enumerate(paragraphs):
            there = f"{here}.paragraphs[{p}]"
            context = str(_member(paragraph, "context", path, there))
            for q, qa in enumerate(_list(_member(paragraph, "qas", path, there), path, f"{there}.qas")):
                yield _question(qa, context, path, f"{there}.qas[{q}]") | {ARTICLE: str(a)}


def _question(qa: Any, context: str, path: str | Path, place: str) -> dict[str, Any]:
    texts, starts = [], []
    answers = [] if isinstance(qa, dict) and qa.get("is_impossible") else _member(qa, "answers", path, place)
    for number, answer in enumerate(_list(answers, path, f"{place}.answers")):
        where = f"{place}.answers[{number}]"
        text = str(_member(answer, "text", path, where))
        start = _member(answer, "answer_start", path, where)
        if not isinstance(start, int) or isinstance(start, bool):
            raise InputError(f"{where}.answer_start is {start!r}, a number is needed; correct it", path=path)
        if not NOT_FOUND <= start < max(len(context), 1):
            raise InputError(
                f"{where}.answer_start is {start}, outside the context of {len(context)} characters; correct it, or "
                f"give {NOT_FOUND} for an answer that does not stand there",
                path=path,
            )
        texts.append(text)
        starts.append(_nearest(context, text, start))
    return {
        "id": str(_member(qa, "id", path, place)),
        "question": str(_member(qa, "question", path, place)),
        "context": context,
        "answers": {"text": texts, "start": starts},
    }


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


def _member(value: Any, name: str, path: str | Path, place: str) -> Any:
    if isinstance(value, Mapping) and name in value:
        return value[name]
    where = place or "the document"
    raise InputError(f"{where} has no {name!r}; a SQuAD file is needed: fix or replace it", path=path)


def _list(value: Any, path: str | Path, place: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise InputError(
        f"{place} is not a list; a SQuAD file (data/paragraphs/qas) is needed: fix or replace it", path=path
    )
