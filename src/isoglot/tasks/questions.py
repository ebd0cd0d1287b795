"""Extractive question answering: windows over the context, the best span of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from datasets import Dataset
from transformers import AutoModelForQuestionAnswering, PreTrainedModel, PreTrainedTokenizerBase

from isoglot.corpus.labelled.hub import HubSpec
from isoglot.corpus.labelled.places import DataSource, Place
from isoglot.corpus.labelled.questions import ARTICLE, language_of_id, read_questions
from isoglot.corpus.labelled.tables import is_table, read_table
from isoglot.errors import ConfigurationError
from isoglot.schema import SPAN
from isoglot.tasks.base import Predictions, load_places
from isoglot.tasks.features import Array, Rows, takes_segments
from isoglot.tasks.heads import new_head, trained_head
from isoglot.tasks.spans import SpanOptions, Window, best_answer
from isoglot.tasks.submission import score_answers

__all__ = ["QuestionTask"]

_COLUMNS = {"answers": "answers"}
_HUB = {
    "squad": HubSpec("rajpurkar/squad", None, _COLUMNS, {"dev": "validation", "test": "validation"}),
    "xquad": HubSpec("google/xquad", "xquad.{language}", _COLUMNS, {"test": "validation"}),
    "mlqa": HubSpec("google/xtreme", "MLQA.{context}.{question}", _COLUMNS, {"dev": "validation"}),
    "tydiqa": HubSpec("google/xtreme", "tydiqa", _COLUMNS, {"dev": "validation", "test": "validation"}),
}
_ENCODED_AT_ONCE = 2_000


@dataclass
class QuestionTask:
    """SQuAD, XQuAD, MLQA and TyDiQA-GoldP.

    A context that does not fit is read in windows that overlap by ``stride`` tokens. For MLQA a language ``de`` means
    question and context in German (XLT); ``de-es`` means contexts in German with Spanish questions (G-XLT).

    Args:
        data: where the data are.
        kind: ``squad``, ``xquad``, ``mlqa`` or ``tydiqa``.
        name: in results; by default the kind.
        max_length: tokens of a row.
        stride: tokens that neighbouring windows share, or those between their starts.
        windows: ``share``: neighbours share ``stride`` tokens, as in transformers' current examples; ``advance``: each
            starts ``stride`` tokens after the one before, as in BERT's and XTREME's scripts (there ``doc_stride``),
            which read a long context in more windows.
        max_question_length: pieces of a question; what is over is cut off.
        n_best: starts and ends considered.
        max_answer_length: tokens of an answer.
        null_threshold: see :class:`SpanOptions`.

    **Metrics**: ``f1`` and ``exact_match`` (MLQA's normalisation for MLQA, SQuAD's English one for the others, as in
    XTREME) and, for the others in MLQA's languages, ``mlqa_f1`` and ``mlqa_exact_match``.
    """

    data: DataSource
    kind: str = "xquad"
    name: str = ""
    max_length: int = 384
    stride: int = 128
    windows: Literal["share", "advance"] = "share"
    max_question_length: int = 64
    n_best: int = 20
    max_answer_length: int = 30
    null_threshold: float | None = None
    primary_metric: str = "f1"
    group: ClassVar[tuple[str, ...]] = (ARTICLE, "context")

    def __post_init__(self) -> None:
        self.name = self.name or self.kind
        if self.windows not in ("share", "advance"):
            raise ConfigurationError(f"windows {self.windows!r} given; they share or advance stride tokens")

    def load(self, language: str, split: str) -> Dataset:
        """SPAN rows; for TyDiQA's hub data set those whose id begins with the language's name."""
        context_language = language.partition("-")[0] if self.kind == "mlqa" else language

        def read(place: Place) -> Dataset:
            if is_table(place.path):
                return read_table(
                    place.path, SPAN, language=context_language, split=split, role=f"{self.name} data"
                )
            return read_questions(place.path, language=context_language)

        found = load_places(
            self.data, language, split, read=read, hub=_HUB[self.kind], schema=SPAN, group=self.group
        )
        if self.kind != "tydiqa":
            return found
        kept = [i for i, name in enumerate(found["id"]) if language_of_id(name) in (None, language)]
        return found if len(kept) == len(found) else found.select(kept)

    def labels(self, dataset: Dataset) -> None:
        """A span head has no labels."""
        del dataset

    def head(
        self,
        checkpoint: str | Path,
        *,
        labels: Sequence[str] | None,
        seed: int,
        dropout: float | None = None,
    ) -> PreTrainedModel:
        """A new span head."""
        del labels
        return new_head(AutoModelForQuestionAnswering, checkpoint, labels=None, seed=seed, dropout=dropout)

    def trained(self, checkpoint: str | Path) -> PreTrainedModel:
        """A fine-tuned span head."""
        return trained_head(AutoModelForQuestionAnswering, checkpoint, task=self.kind)

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> Rows:
        """One row a window. A window without the whole answer is labelled with its null position.

        For training, questions whose answer does not stand in the context are left out.
        """
        segments = takes_segments(model) and "token_type_ids" in tokenizer.model_input_names
        inputs: list[dict[str, Any]] = []
        examples: list[int] = []
        details: list[Window] = []
        for start in range(0, len(dataset), _ENCODED_AT_ONCE):
            batch = dataset[start : start + _ENCODED_AT_ONCE]
            for encoded, row, own in self._tokenise(batch, tokenizer, segments=segments):
                answer = _first_answer(batch["answers"][own])
                if training and answer is not None and answer[0] < 0:
                    continue
                ids = encoded["input_ids"][row]
                window = _window(encoded, row, ids, tokenizer)
                begin, end = _positions(window, answer)
                item: dict[str, Any] = {"input_ids": np.array(ids, np.int32)}
                item |= {"start_positions": begin, "end_positions": end}
                if segments:
                    item["token_type_ids"] = np.array(encoded["token_type_ids"][row], np.int8)
                inputs.append(item)
                examples.append(start + own)
                details.append(window)
        return Rows(inputs, examples, details)

    def _tokenise(
        self, batch: dict[str, Any], tokenizer: PreTrainedTokenizerBase, *, segments: bool
    ) -> list[tuple[Any, int, int]]:
        """Windows in the order of the questions: an encoding, its row, and the number of the question."""
        specials = tokenizer.num_special_tokens_to_add(pair=True)
        room = self.max_length - specials - self.max_question_length
        if room <= self.stride:
            raise ConfigurationError(
                f"max_length {self.max_length} given; with questions of {self.max_question_length} pieces and a stride "
                f"of {self.stride} more than {self.stride + specials + self.max_question_length} is needed: set "
                "max_length higher, or stride and max_question_length lower"
            )
        questions, lengths = _cut([q.strip() for q in batch["question"]], tokenizer, self.max_question_length)
        shared: dict[int, list[int]] = {}
        for number, length in enumerate(lengths):
            whole = self.max_length - specials - length
            shared.setdefault(self.stride if self.windows == "share" else whole - self.stride, []).append(
                number
            )
        found = []
        for overlap, numbers in shared.items():
            encoded = tokenizer(
                [questions[n] for n in numbers],
                [batch["context"][n] for n in numbers],
                truncation="only_second",
                max_length=self.max_length,
                stride=overlap,
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
                return_token_type_ids=segments,
                return_attention_mask=False,
            )
            owners = [numbers[int(n)] for n in encoded["overflow_to_sample_mapping"]]
            found += [(encoded, row, own) for row, own in enumerate(owners)]
        return sorted(found, key=lambda window: window[2])

    def reduce(self, logits: Any) -> Any:
        """Start and end scores."""
        return logits[0], logits[1]

    def decode(self, dataset: Dataset, rows: Rows, outputs: Sequence[Array]) -> Predictions:
        """Question to answer."""
        options = SpanOptions(self.n_best, self.max_answer_length, self.null_threshold)
        order = sorted(range(len(rows)), key=lambda i: (rows.examples[i], i))
        predicted = dict.fromkeys(dataset["id"], "")
        names, contexts = list(dataset["id"]), list(dataset["context"])
        for example, several in groupby(order, key=lambda i: rows.examples[i]):
            own = sorted(several, key=lambda i: int(rows.details[i].offsets[:1, 0].sum()))
            windows = [rows.details[i] for i in own]
            answer, _ = best_answer(contexts[example], windows, [outputs[i] for i in own], options)
            predicted[names[example]] = answer
        return predicted

    def score(self, dataset: Dataset, predictions: Predictions, *, language: str) -> dict[str, float]:
        """F1 and exact match."""
        gold = {row_id: list(a["text"]) for row_id, a in zip(dataset["id"], dataset["answers"], strict=True)}
        given = dict(predictions) if isinstance(predictions, dict) else {}
        context_language = language.partition("-")[0] if self.kind == "mlqa" else language
        return score_answers(gold, given, mlqa=self.kind == "mlqa", language=context_language)


def _cut(questions: list[str], tokenizer: PreTrainedTokenizerBase, most: int) -> tuple[list[str], list[int]]:
    """Questions of at most so many pieces, cut in the text, so that the pair is tokenised as one; their pieces."""
    encoded = tokenizer(questions, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    offsets = encoded["offset_mapping"]
    texts = [
        text if len(own) <= most else text[: own[most - 1][1]]
        for text, own in zip(questions, offsets, strict=True)
    ]
    return texts, [min(len(own), most) for own in offsets]


def _first_answer(answers: dict[str, Any]) -> tuple[int, int] | None:
    """First and past-the-last character of the first answer; ``None`` without one, negative where it is not found."""
    if not answers["text"]:
        return None
    start = int(answers["start"][0])
    return start, start + len(answers["text"][0])


def _window(encoded: Any, row: int, ids: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> Window:
    sequences = encoded.sequence_ids(row)
    places = [i for i, sequence in enumerate(sequences) if sequence == 1]
    offsets = np.array([encoded["offset_mapping"][row][i] for i in places], np.int32).reshape(-1, 2)
    null = list(ids).index(tokenizer.cls_token_id) if tokenizer.cls_token_id in ids else 0
    return Window(places[0] if places else len(ids), offsets, null)


def _positions(window: Window, answer: tuple[int, int] | None) -> tuple[int, int]:
    """The answer's first and last token in the row, or the null position where the window lacks a part of it."""
    if answer is None or answer[0] < 0 or not len(window.offsets):
        return window.null, window.null
    starts, ends = window.offsets[:, 0], window.offsets[:, 1]
    inside = np.flatnonzero((ends > answer[0]) & (starts < answer[1]))
    if not len(inside) or starts[0] > answer[0] or ends[-1] < answer[1]:
        return window.null, window.null
    return window.first + int(inside[0]), window.first + int(inside[-1])
