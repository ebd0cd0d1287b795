"""Extractive question answering: windows over the context, the best span of all of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Literal

import numpy as np
from datasets import Dataset
from transformers import AutoModelForQuestionAnswering, PreTrainedModel, PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import two_letters
from isoglot.formats.labelled.hub import HubSpec
from isoglot.formats.labelled.questions import ARTICLE, language_of_id, read_questions
from isoglot.formats.labelled.sources import Location
from isoglot.formats.labelled.withheld import without_labels
from isoglot.formats.schema import SPAN
from isoglot.results.example_counts import ExampleCounts
from isoglot.tasks.base import Predictions, split_pair
from isoglot.tasks.features import FIRST_LANGUAGE, EncodedRow, RowOutput, takes_segments
from isoglot.tasks.head_task import PPA, XLM_ALIGN, XTREME_QUESTIONS, HeadTask
from isoglot.tasks.metrics.answers import MLQA_LANGUAGES, answer_score
from isoglot.tasks.spans import Window, best_answer

_ANSWERS = {"answers": "answers"}
_ENCODED_AT_ONCE = 2_000
"""Questions that are tokenized at a time, so that not all encodings are in memory at once."""
# The paper prints 386, and not the usual 384. The windows are those of BERT's script.
_PPA = {**PPA, "learning_rate": 3e-5, "max_length": 386, "windows": "advance"}
_XLM_ALIGN = {**XLM_ALIGN, "max_length": 384, "windows": "advance"}


@dataclass
class QuestionTask(HeadTask):
    """Extractive question answering. A context that does not fit is read in windows that overlap.

    Args:
        max_length: Tokens of a row.
        stride: Tokens that neighbouring windows share, or tokens between their starts, as windows says.
        windows: share: neighbours share stride tokens, as in transformers' current examples; advance: each starts
            stride tokens after the one before, as in BERT's and XTREME's scripts (there doc_stride), which read a long
            context in more windows.
        max_question_length: Pieces of a question; further pieces are cut off.
        n_best: Starts and ends considered.
        max_answer_length: Tokens of an answer.
        null_threshold: Answer nothing when the score of no answer exceeds the best answer's by more than this. By
            default (None) always answer.

    **Metrics**: ``f1`` and ``exact_match`` (MLQA's normalisation for MLQA, SQuAD's English one for the others, as in
    XTREME) and, for the others in MLQA's languages, ``mlqa_f1`` and ``mlqa_exact_match``.
    """

    max_length: int = 384
    stride: int = 128
    windows: Literal["share", "advance"] = "share"
    max_question_length: int = 64
    n_best: int = 20
    max_answer_length: int = 30
    null_threshold: float | None = None
    auto = AutoModelForQuestionAnswering
    schema = SPAN
    heads: ClassVar[str] = "questions"
    inherited: ClassVar[tuple[str, ...]] = ("max_length", "stride", "windows", "max_question_length")
    primary_metric: ClassVar[str] = "f1"
    group: ClassVar[tuple[str, ...]] = (ARTICLE, "context")
    presets: ClassVar = {"xtreme": XTREME_QUESTIONS, "ppa": _PPA}
    by_mlqa: ClassVar[bool] = False
    """Whether ``f1`` and ``exact_match`` compare answers by MLQA's normalisation, and not by SQuAD's."""

    def read_file(self, location: Location, language: str, split: str) -> Dataset:
        """Read SPAN rows from a file in SQuAD's format."""
        return read_questions(location.path, language=language)

    def require_gold(self, dataset: Dataset) -> None:
        """Refuse data in which no question has an answer, which every model would get wrong.

        XTREME's download writes an empty answer at 0 for each test question. A question without an answer beside
        others that have one is unanswerable, as in SQuAD 2.0.
        """
        answered = sum(any(answers["text"]) for answers in dataset["answers"])
        if not answered:
            raise ConfigurationError(
                f"{self.name} data ({self.data.describe()}): {without_labels('question has an answer')}"
            )

    def labels(self, dataset: Dataset) -> None:
        """Return None: the outputs of a head for questions are scores of positions, and no labels."""
        del dataset

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> list[EncodedRow]:
        """Make one row for each window of each question's context.

        1. A window that shows the whole answer is labelled with the answer's first and last token.
        2. Any other window is labelled with its null position twice: no answer stands here.
        3. For training, questions whose answer was not found in the context are left out.
        """
        # Answers are found by the id of their question (`decode`).
        repeated = [question_id for question_id, count in Counter(dataset["id"]).items() if count > 1]
        if repeated and not training:
            raise ConfigurationError(
                f"{self.name}: {len(repeated)} ids ({repeated[0]!r}, …) are used for several questions; give each its "
                "own id"
            )
        segments = takes_segments(model, tokenizer)
        rows = []
        for start in range(0, len(dataset), _ENCODED_AT_ONCE):
            batch = dataset[start : start + _ENCODED_AT_ONCE]
            for encoded, row, number in self._tokenize(batch, tokenizer, segments=segments):
                answer = _first_answer(batch["answers"][number])
                if training and answer is not None and answer[0] < 0:  # 3
                    continue
                token_ids = encoded["input_ids"][row]
                window = _window(encoded, row, token_ids, tokenizer)
                begin, end = _positions(window, answer)  # 1, 2
                inputs: dict[str, Any] = {"input_ids": np.array(token_ids, np.int32)}
                inputs |= {"start_positions": begin, "end_positions": end}
                if segments:
                    inputs["token_type_ids"] = np.array(encoded["token_type_ids"][row], np.int8)
                rows.append(EncodedRow(inputs, start + number, window, second=window.first))
        return rows

    def _tokenize(
        self, batch: dict[str, Any], tokenizer: PreTrainedTokenizerBase, *, segments: bool
    ) -> list[tuple[Any, int, int]]:
        """Cut questions with their contexts into windows: an encoding, a row of it, and the number of the question.

        Windows are in the order of the questions, and those of one question in the order of the context.
        """
        specials = tokenizer.num_special_tokens_to_add(pair=True)
        # Pieces that are left for the context beside the longest question.
        least_room = self.max_length - specials - self.max_question_length
        if least_room <= self.stride:
            raise ConfigurationError(
                f"max_length {self.max_length} is too small; stride and max_question_length need more than "
                f"{self.stride + specials + self.max_question_length}: raise it, or lower them"
            )
        stripped = [question.strip() for question in batch["question"]]
        questions, lengths = _cut(stripped, tokenizer, self.max_question_length)

        # The tokenizer takes one overlap per call, so questions with the same overlap are tokenized together.
        by_overlap: dict[int, list[int]] = {}
        for number, length in enumerate(lengths):
            room = self.max_length - specials - length  # beside this question
            # windows=advance: starts are `stride` tokens apart, so neighbours share all the room but the stride.
            overlap = self.stride if self.windows == "share" else room - self.stride
            by_overlap.setdefault(overlap, []).append(number)

        windows: list[tuple[Any, int, int]] = []
        for overlap, numbers in by_overlap.items():
            encoded = tokenizer(
                [questions[number] for number in numbers],
                [batch["context"][number] for number in numbers],
                truncation="only_second",
                max_length=self.max_length,
                # The tokenizer calls the overlap `stride`.
                stride=overlap,
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
                return_token_type_ids=segments,
                return_attention_mask=False,
            )
            for row, sample in enumerate(encoded["overflow_to_sample_mapping"]):
                windows.append((encoded, row, numbers[int(sample)]))
        return sorted(windows, key=lambda window: window[2])

    def reduce(self, logits: Any) -> Any:
        """Keep the start scores and the end scores of all positions."""
        return logits[0], logits[1]

    def decode(
        self, dataset: Dataset, rows: Sequence[EncodedRow], outputs: Sequence[RowOutput]
    ) -> Predictions:
        """Return the answer to each question, by the question's id."""
        ids, contexts = list(dataset["id"]), list(dataset["context"])
        predicted = dict.fromkeys(ids, "")
        rows_and_outputs = sorted(zip(rows, outputs, strict=True), key=lambda pair: pair[0].example)
        for example, of_example in groupby(rows_and_outputs, key=lambda pair: pair[0].example):
            # Windows in the order of the context: of equally good answers the first one counts.
            in_order = sorted(of_example, key=lambda pair: _start_of_window(pair[0].detail))
            answer, _ = best_answer(
                contexts[example],
                [row.detail for row, _ in in_order],
                [output for _, output in in_order],
                n_best=self.n_best,
                max_answer_length=self.max_answer_length,
                null_threshold=self.null_threshold,
            )
            predicted[ids[example]] = answer
        return predicted

    def gold(self, dataset: Dataset) -> dict[str, str]:
        """Return the first right answer to each question, in the form of predictions; empty where there is none."""
        gold = {}
        for question_id, answers in zip(dataset["id"], dataset["answers"], strict=True):
            gold[question_id] = next(iter(answers["text"]), "")
        return gold

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Count F1 and exact match for each question."""
        gold = {}
        for question_id, answers in zip(dataset["id"], dataset["answers"], strict=True):
            gold[question_id] = list(answers["text"])
        predicted = dict(predictions) if isinstance(predictions, dict) else {}
        code = two_letters(self.language_of(language))
        if self.by_mlqa:
            # MLQA's rules are those of the language, whatever the script: `zh` of `zh-Hant`.
            return answer_score(gold, predicted, mlqa_language=code.partition("-")[0])
        scores = answer_score(gold, predicted)
        # Only the plain codes have MLQA scores beside SQuAD's: `zh-Hant` has none.
        if code not in MLQA_LANGUAGES:
            return scores
        mlqa_scores = answer_score(gold, predicted, mlqa_language=code)
        return scores | {f"mlqa_{name}": value for name, value in mlqa_scores.items()}


@dataclass
class SQuAD(QuestionTask):
    """SQuAD 1.1, which the models for XQuAD and MLQA are trained on."""

    kind = "squad"
    hub = HubSpec("rajpurkar/squad", None, _ANSWERS, {"dev": "validation", "test": "validation"})
    languages = "en"


@dataclass
class XQuAD(QuestionTask):
    """XQuAD: SQuAD's dev data translated."""

    kind = "xquad"
    hub = HubSpec("google/xquad", "xquad.{language}", _ANSWERS, {"test": "validation"})
    languages = "ar de el en es hi ru th tr vi zh"
    presets = QuestionTask.presets | {
        "xlm_align": {**_XLM_ALIGN, "learning_rate": (2e-5, 3e-5, 4e-5), "epochs": 4}
    }


@dataclass
class MLQA(QuestionTask):
    """MLQA. Language de: question and context in German (XLT); de-es: German contexts, Spanish questions (G-XLT)."""

    kind = "mlqa"
    hub = HubSpec("google/xtreme", "MLQA.{context}.{question}", _ANSWERS, {"dev": "validation"})
    languages = "ar de en es hi vi zh"
    presets = QuestionTask.presets | {
        "xlm_align": {**_XLM_ALIGN, "learning_rate": (2e-5, 3e-5, 4e-5), "epochs": (2, 3, 4)}
    }
    by_mlqa = True

    def language_of(self, language: str) -> str:
        """Return the language of the contexts: ``de`` of ``de-es``."""
        context_language, _ = split_pair(language)
        return context_language

    def load(self, language: str, split: str) -> Dataset:
        """Load SPAN rows; those of ``de-es`` have the language of the questions as :data:`FIRST_LANGUAGE`."""
        rows = super().load(language, split)
        _, question_language = split_pair(language)
        if not question_language:
            return rows
        return rows.add_column(FIRST_LANGUAGE, [question_language] * len(rows))


@dataclass
class TyDiQA(QuestionTask):
    """TyDiQA-GoldP, in one file of all languages or one each; its test data are not public, so dev is read as test."""

    kind = "tydiqa"
    hub = HubSpec("google/xtreme", "tydiqa", _ANSWERS, {"dev": "validation", "test": "validation"})
    languages = "ar bn en fi id ko ru sw te"
    presets = QuestionTask.presets | {
        "xlm_align": {**_XLM_ALIGN, "learning_rate": (2e-5, 3e-5), "epochs": (5, 10, 15, 20)}
    }

    def load(self, language: str, split: str) -> Dataset:
        """Load SPAN rows. Of a file of all languages, those whose ids begin with the language's name: ``finnish-…``."""
        rows = super().load(language, split)
        # An id that names no language (None) is in the language of its file.
        wanted = (None, two_letters(language))
        chosen = [row for row, question_id in enumerate(rows["id"]) if language_of_id(question_id) in wanted]
        return rows if len(chosen) == len(rows) else rows.select(chosen)


def _cut(questions: list[str], tokenizer: PreTrainedTokenizerBase, most: int) -> tuple[list[str], list[int]]:
    """Cut questions to at most ``most`` pieces each; return their texts, and the number of pieces of each.

    The text is cut and not its pieces, because the tokenizer takes question and context as one pair of texts.
    """
    encoded = tokenizer(questions, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    texts, lengths = [], []
    for text, offsets in zip(questions, encoded["offset_mapping"], strict=True):
        end_of_last_piece = offsets[most - 1][1] if len(offsets) > most else len(text)
        texts.append(text[:end_of_last_piece])
        lengths.append(min(len(offsets), most))
    return texts, lengths


def _start_of_window(window: Window) -> int:
    """Return the character of the context at which a window begins; 0 for an empty window."""
    return int(window.offsets[0, 0]) if len(window.offsets) else 0


def _first_answer(answers: dict[str, Any]) -> tuple[int, int] | None:
    """Return the span of the first answer in the context, in characters; ``None`` without answer.

    The end is one behind the last character: ``Berlin`` at the start of the context is ``(0, 6)``.

    1. Spaces around the answer do not count, because no token holds them: `` Berlin`` at 0 is ``(1, 7)``.
    2. The start is negative if the answer was not found in the context.
    """
    if not answers["text"]:
        return None
    start, text = int(answers["start"][0]), answers["text"][0]
    if start < 0:  # 2
        return start, start + len(text)
    leading_spaces = len(text) - len(text.lstrip())  # 1
    return start + leading_spaces, start + len(text.rstrip())


def _window(encoded: Any, row: int, token_ids: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> Window:
    """Describe the part of the context that a row holds.

    "No answer" is labelled on the first special token (``[CLS]``), as in BERT's code. If truncation left no room for
    the context, the window is empty and begins behind the row.
    """
    # 0 for the question's tokens, 1 for the context's, None for special ones.
    sequences = encoded.sequence_ids(row)
    context = [i for i, sequence in enumerate(sequences) if sequence == 1]
    offsets = np.array([encoded["offset_mapping"][row][i] for i in context], np.int32).reshape(-1, 2)
    null = list(token_ids).index(tokenizer.cls_token_id) if tokenizer.cls_token_id in token_ids else 0
    return Window(context[0] if context else len(token_ids), offsets, null)


def _positions(window: Window, answer: tuple[int, int] | None) -> tuple[int, int]:
    """Return the positions of the answer's first and last token in the row.

    They are the null position twice if there is no answer, or if a part of the answer lies outside the window. A token
    belongs to the answer if they share a character: of "Haus" in the piece ``Haustür`` the position is that piece.
    """
    if answer is None or answer[0] < 0 or not len(window.offsets):
        return window.null, window.null
    first_character, end_of_answer = answer
    starts, ends = window.offsets[:, 0], window.offsets[:, 1]
    inside = np.flatnonzero((ends > first_character) & (starts < end_of_answer))
    is_cut = starts[0] > first_character or ends[-1] < end_of_answer
    if not len(inside) or is_cut:
        return window.null, window.null
    return window.first + int(inside[0]), window.first + int(inside[-1])
