"""Predictions in XTREME's submission format, written, read and scored.

One file a task and language, ``TASK/test-LANGUAGE.tsv`` (``.json`` for questions): tags one a line with blank lines
between sentences, labels one a line, answers as one JSON object from question to answer, neighbours one 0-based line
number a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.corpus.labelled.files import blocks, numbered_lines, read_json
from isoglot.errors import ConfigurationError, InputError
from isoglot.runs.files import write_text
from isoglot.tasks.metrics.answers import MLQA_LANGUAGES, answer_score
from isoglot.tasks.metrics.chunks import entity_score, pos_chunk_score, tag_accuracy

__all__ = [
    "XTREME_NAMES",
    "mean_scores",
    "score_answers",
    "score_files",
    "score_labels",
    "score_tags",
    "write",
    "written",
]

XTREME_NAMES = {"pos": "udpos", "ner": "panx"}
"""Names of tasks that are others in XTREME."""

_TAGS = {"udpos": True, "panx": False}
_QUESTIONS = {"xquad": False, "squad": False, "tydiqa": False, "mlqa": True}
_LABELS = ("xnli", "pawsx", "tatoeba")


def write(folder: Path, task: str, language: str, split: str, predictions: Any) -> Path:
    """Write predictions for submission.

    Args:
        folder: of all submissions.
        task: our name or XTREME's.
        language: ISO code.
        split: ``test`` or ``dev``.
        predictions: a list of lists of tags, a list of labels, or a mapping from question to answer.

    Returns:
        The file.
    """
    stem = _stem(folder, task, language, split)
    if isinstance(predictions, Mapping):
        text = json.dumps(dict(predictions), ensure_ascii=False, indent=2) + "\n"
        return write_text(stem.with_name(f"{stem.name}.json"), text)
    if predictions and isinstance(predictions[0], list | tuple):
        text = "\n\n".join("\n".join(tags) for tags in predictions) + "\n"
    else:
        text = "".join(f"{label}\n" for label in predictions)
    return write_text(stem.with_name(f"{stem.name}.tsv"), text)


def written(folder: Path, task: str, language: str, split: str) -> bool:
    """Whether there are predictions already; arguments as for :func:`write`."""
    stem = _stem(folder, task, language, split)
    return any(stem.with_name(f"{stem.name}.{suffix}").is_file() for suffix in ("tsv", "json"))


def _stem(folder: Path, task: str, language: str, split: str) -> Path:
    return folder / XTREME_NAMES.get(task, task) / f"{split}-{language}"


def score_files(predictions: Path, labels: Path, task: str, *, language: str) -> dict[str, float]:
    """Score one file of predictions against one of labels as XTREME does.

    Args:
        predictions: in the submission format.
        labels: the same format; for questions a SQuAD file.
        task: our name or XTREME's.
        language: of the data.

    Returns:
        Metric to value, in per cent.

    Raises:
        InputError: files that cannot be read or have different numbers of items.
        ConfigurationError: a task without such a format.
    """
    task = XTREME_NAMES.get(task, task)
    if task in _TAGS:
        gold, given = (
            [[line.strip() for _, line in s] for s in blocks(numbered_lines(p))]
            for p in (labels, predictions)
        )
        _same_number(predictions, labels, len(given), len(gold), "sentences")
        for number, (g, p) in enumerate(zip(gold, given, strict=True), 1):
            if len(g) != len(p):
                raise InputError(
                    f"sentence {number} has {len(p)} tags, {labels} has {len(g)}; one for every token is needed",
                    path=predictions,
                )
        return score_tags(gold, given, bare=_TAGS[task])
    if task in _QUESTIONS:
        return score_answers(
            _gold_answers(labels), _answers(predictions), mlqa=_QUESTIONS[task], language=language
        )
    if task in _LABELS:
        right, guessed = ([line.strip() for _, line in numbered_lines(p)] for p in (labels, predictions))
        _same_number(predictions, labels, len(guessed), len(right), "labels")
        return score_labels(right, guessed)
    known = ", ".join([*_TAGS, *_QUESTIONS, *_LABELS])
    raise ConfigurationError(f"task {task!r} has no submission format; there are {known}")


def score_tags(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, bare: bool
) -> dict[str, float]:
    """Chunk F1, precision and recall, and token accuracy.

    Args:
        gold: tags a sentence.
        predicted: as many.
        bare: tags without prefixes (part of speech).
    """
    score = (pos_chunk_score if bare else entity_score)(gold, predicted)
    return {
        "f1": score.f1,
        "precision": score.precision,
        "recall": score.recall,
        "accuracy": tag_accuracy(gold, predicted),
    }


def score_labels(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Accuracy; 0 without examples."""
    right = sum(g == p for g, p in zip(gold, predicted, strict=True))
    return {"accuracy": 100 * right / len(gold) if gold else 0.0}


def score_answers(
    gold: Mapping[str, Sequence[str]], predicted: Mapping[str, str], *, mlqa: bool, language: str
) -> dict[str, float]:
    """F1 and exact match; by SQuAD's normalisation also by MLQA's where that knows the language.

    Args:
        gold: question to answers.
        predicted: question to answer.
        mlqa: MLQA's normalisation is the one that counts.
        language: of the contexts.
    """
    own = answer_score(gold, predicted, mlqa_language=language if mlqa else None)
    scores = {"f1": own.f1, "exact_match": own.exact_match}
    if not mlqa and language in MLQA_LANGUAGES:
        other = answer_score(gold, predicted, mlqa_language=language)
        scores |= {"mlqa_f1": other.f1, "mlqa_exact_match": other.exact_match}
    return scores


def mean_scores(scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Mean over languages of each metric that all of them have."""
    if not scores:
        return {}
    shared = set.intersection(*(set(row) for row in scores.values()))
    first = next(iter(scores.values()))
    return {name: sum(row[name] for row in scores.values()) / len(scores) for name in first if name in shared}


def _gold_answers(path: Path) -> dict[str, list[str]]:
    document = read_json(path)
    articles = document["data"] if isinstance(document, dict) else document
    try:
        return {
            question["id"]: [answer["text"] for answer in question["answers"]]
            for article in articles
            for paragraph in article["paragraphs"]
            for question in paragraph["qas"]
        }
    except (KeyError, TypeError) as error:
        raise InputError(
            f"is not SQuAD JSON (no {error}); data/paragraphs/qas/answers are needed", path=path
        ) from error


def _answers(path: Path) -> dict[str, str]:
    given = read_json(path)
    if not isinstance(given, dict):
        raise InputError("holds no JSON object from question to answer; write one", path=path)
    return given


def _same_number(predictions: Path, labels: Path, given: int, needed: int, what: str) -> None:
    if given != needed:
        raise InputError(
            f"{given} {what}, {labels} has {needed}; predict each of them in order", path=predictions
        )
