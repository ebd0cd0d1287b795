"""Tagging: parts of speech and named entities, one label a word on one of its pieces."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np
from datasets import Dataset
from transformers import AutoModelForTokenClassification, PreTrainedModel, PreTrainedTokenizerBase

from isoglot.aligners.embedding.piece_states import cut_words
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.named_options import spelled
from isoglot.corpus.encode.templates import single_template
from isoglot.formats.labelled.hub import HubSpec
from isoglot.formats.labelled.sources import Location
from isoglot.formats.labelled.tags import UNLABELLED, UPOS, check_tag, read_tags
from isoglot.formats.labelled.withheld import ADVICE
from isoglot.formats.schema import TAGGED
from isoglot.results.confusion import ConfusionMatrix
from isoglot.results.example_counts import ExampleCounts
from isoglot.tasks.base import Predictions
from isoglot.tasks.features import IGNORED, EncodedRow, RowOutput, takes_segments
from isoglot.tasks.head_task import ALIGN_MLM, XLM_ALIGN, XTREME, HeadTask, model_labels
from isoglot.tasks.metrics.chunks import ChunkScores, entity_score, pos_chunk_score, tag_accuracy

_LOG = logging.getLogger(__name__)


@dataclass
class TaggingTask(HeadTask):
    """One label a word, on one of its pieces; a word without any piece gets the unknown token.

    A sentence that is too long goes on in the next row, cut between words, so every word is tagged. A word of the
    training or dev data whose tag is ``_`` is read, and neither learned from nor scored.

    Args:
        max_length: Tokens of a row, special ones included.
        overlap: Words of the row before that a further row begins with, as context (XTREME: 0).
        label_piece: Piece of a word that has its label: first, as in XTREME; or text, the first that is more than the
            word's leading space. SentencePiece cuts many Chinese, Japanese and Thai words into ``▁`` and the rest.
        allowed: Tags that the data may have; by default UPOS, or any IOB2 tags. A trained model sets it to its own.
        format: Format of the files: conllu, panx, indexed, pairs or columns; detected from the file by default.

    **Metrics**: ``f1`` (chunks; of POS as XTREME counts them), ``precision``, ``recall``, ``accuracy`` (tokens).
    """

    max_length: int = 128
    overlap: int = 0
    label_piece: Literal["first", "text"] = "first"
    allowed: tuple[str, ...] | None = None
    format: str | None = None
    auto = AutoModelForTokenClassification
    schema = TAGGED
    primary_metric: ClassVar[str] = "f1"
    inherited: ClassVar = ("max_length", "label_piece")
    presets: ClassVar = {"xtreme": {**XTREME, "epochs": 10}, "align_mlm": {**ALIGN_MLM, "epochs": 10}}
    chunks: ClassVar[Callable[..., ChunkScores]]

    @property
    def _written(self) -> bool:
        """Whether words are read as they are written."""
        return getattr(self, "words", "") == "written"

    def know(self, labels: Sequence[str] | None) -> None:
        """Allow only these tags in data after this."""
        self.allowed = self.allowed if labels is None else tuple(labels)

    def load(self, language: str, split: str) -> Dataset:
        """TAGGED rows with tags that the task, or the trained model, has."""
        rows = super().load(language, split)
        seen = {tag for tags in rows["tags"] for tag in tags}
        if UNLABELLED in seen and (split == "test" or len(seen) == 1):
            advice = "tag them, or give other data" if len(seen) > 1 else ADVICE
            lacking = "words" if len(seen) > 1 else "all words"
            raise ConfigurationError(
                f"{self.name} data ({self.data.describe()}): {lacking} of the {split} data have no tag ({UNLABELLED}); "
                f"{advice}"
            )
        for tag in sorted(seen):
            try:
                check_tag(tag, self.allowed)
            except InputError as error:
                raise ConfigurationError(f"{self.name} data ({self.data.describe()}): {error}") from error
        return rows

    def is_table(self, path: str) -> bool:
        """Whether a path holds TAGGED rows."""
        table = super().is_table(path)
        if table and self._written:
            raise ConfigurationError(f"{path}: words=written needs a CoNLL-U file; leave words out")
        return table

    def read_file(self, location: Location, language: str, split: str) -> Dataset:
        """TAGGED rows."""
        return read_tags(
            location.path, language=language, labels=self.allowed, name=self.format, surface=self._written
        )

    def labels(self, dataset: Dataset) -> list[str]:
        """The allowed tags; without any, those of the data, with both prefixes of every type, ``O`` first."""
        if self.allowed is not None:
            return list(self.allowed)
        seen = {tag for tags in dataset["tags"] for tag in tags}
        types = sorted({tag[2:] for tag in seen - {"O", UNLABELLED}})
        return ["O", *(f"{prefix}-{kind}" for kind in types for prefix in "BI")]

    def encode(
        self, dataset: Dataset, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, *, training: bool
    ) -> list[EncodedRow]:
        """Make one row for each sentence, and several for a sentence that is too long.

        With labels on the first piece of each word, `▁Hal lo ▁Welt` of the words Hallo and Welt has labels on `▁Hal`
        and `▁Welt`; `lo` and the special tokens have :data:`IGNORED`.
        """
        label_ids = {label: number for number, label in enumerate(model_labels(model))}
        template = single_template(tokenizer)
        room = self.max_length - template.size
        segments = takes_segments(model, tokenizer)
        spaces = _space_pieces(tokenizer)
        unlabelled_pieces = spaces if self.label_piece == "text" else frozenset()

        sentences = [list(words) for words in dataset["words"]]
        rows: list[EncodedRow] = []
        word_count = words_behind_a_space = 0
        for number, (cut, tags) in enumerate(
            zip(cut_words(tokenizer, sentences), dataset["tags"], strict=True)
        ):
            if training and (unknown := set(tags) - {*label_ids, UNLABELLED}):
                raise ConfigurationError(
                    f"tag {min(unknown)!r} in the training data is not of the model's, {', '.join(label_ids)}"
                )
            words = _pieces_by_word(cut.ids, cut.words, len(tags), unknown=tokenizer.unk_token_id)
            word_count += len(words)
            # Words whose first piece is a space and nothing else.
            words_behind_a_space += sum(pieces[0] in spaces for pieces in words)
            for first, first_counted, end in _windows([len(pieces) for pieces in words], room, self.overlap):
                # A word alone that is longer than a row is cut.
                pieces_by_word = words[first:end] if end - first > 1 else [words[first][:room]]
                ids = template.sequence(np.concatenate(pieces_by_word))
                positions = _label_positions(pieces_by_word, len(template.prefix), unlabelled_pieces)
                # Words before the first that counts are context: their labels stand in the row before.
                labelled = [(word, positions[word - first]) for word in range(first_counted, end)]
                labels = np.full(len(ids), IGNORED, np.int32)
                for word, position in labelled:
                    labels[position] = label_ids.get(tags[word], IGNORED)
                if training and (labels == IGNORED).all():  # nothing to learn from
                    continue
                inputs: dict[str, Any] = {"input_ids": ids.astype(np.int32), "labels": labels}
                if segments:
                    inputs["token_type_ids"] = np.zeros(len(ids), np.int8)
                rows.append(EncodedRow(inputs, number, labelled))

        labels_stand_on_spaces = self.label_piece == "first" and 2 * words_behind_a_space > word_count
        if labels_stand_on_spaces and not training:
            _LOG.warning(
                spelled(
                    "%d of %d words have their tag on a piece that is only a space; a tagger that learned from another "
                    "language hardly saw tags there: fine-tune with [[label_piece='text']]"
                ),
                words_behind_a_space,
                word_count,
            )
        return rows

    def reduce(self, logits: Any) -> Any:
        """The best label at each position."""
        return logits.argmax(-1)

    def decode(
        self, dataset: Dataset, rows: Sequence[EncodedRow], outputs: Sequence[RowOutput]
    ) -> Predictions:
        """Give every word its best tag: each is labelled in exactly one row, at one position."""
        names = list(self.allowed or ())
        predicted = [[""] * len(tags) for tags in dataset["tags"]]
        for row, output in zip(rows, outputs, strict=True):
            for word, position in row.detail:
                predicted[row.example][word] = names[int(output[position])]
        return predicted

    def gold(self, dataset: Dataset) -> list[list[str]]:
        """The tags of the data, in the form of predictions."""
        return list(dataset["tags"])

    def confusion(self, dataset: Dataset, predictions: Predictions) -> ConfusionMatrix:
        """Count how often each tag was predicted for each tag, in words; words without a tag do not count."""
        gold, predicted = _tagged_words(self.gold(dataset), list(predictions))
        return ConfusionMatrix.of(
            list(chain.from_iterable(gold)), list(chain.from_iterable(predicted)), self.allowed or ()
        )

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Chunk F1, precision, recall; token accuracy."""
        del language
        gold, predicted = _tagged_words(self.gold(dataset), list(predictions))
        return {**self.chunks(gold, predicted), "accuracy": tag_accuracy(gold, predicted)}


def _tagged_words(
    gold: Sequence[list[str]], predicted: Sequence[Any]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the tags and predictions of each sentence without the words that have no tag in the data."""
    kept, guesses = list(gold), list(predicted)
    for number, tags in enumerate(gold):
        if UNLABELLED in tags:
            known = [place for place, tag in enumerate(tags) if tag != UNLABELLED]
            kept[number] = [tags[place] for place in known]
            guesses[number] = [guesses[number][place] for place in known]
    return kept, guesses


@dataclass
class PartsOfSpeech(TaggingTask):
    """Universal Dependencies' parts of speech (UDPOS).

    Args:
        words: Of CoNLL-U: syntactic ones, or as written, which XTREME's UDPOS has: a multiword token (zum, don't) is
            one word with the tag of its head.
    """

    allowed: tuple[str, ...] | None = UPOS
    words: Literal["syntactic", "written"] = "syntactic"
    kind = "pos"
    xtreme = "udpos"
    hub = HubSpec("google/xtreme", "udpos.{name}", {"words": "tokens", "tags": "pos_tags"})
    languages = (
        "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th tl tr ur vi yo zh"
    )
    presets = TaggingTask.presets | {
        "xlm_align": {
            **XLM_ALIGN, "batch_size": (8, 16, 32), "learning_rate": (1e-5, 2e-5, 3e-5), "epochs": 10,
        }
    }  # fmt: skip
    chunks = staticmethod(pos_chunk_score)


@dataclass
class NamedEntities(TaggingTask):
    """Named entities in IOB2 (PAN-X, WikiANN)."""

    kind = "ner"
    xtreme = "panx"
    hub = HubSpec("google/xtreme", "PAN-X.{language}", {"words": "tokens", "tags": "ner_tags"})
    languages = (
        "af ar bg bn de el en es et eu fa fi fr he hi hu id it ja jv ka kk ko ml mr ms my nl pt ru sw ta te th tl tr "
        "ur vi yo zh"
    )
    presets = TaggingTask.presets | {
        "xlm_align": {
            **XLM_ALIGN, "batch_size": 8, "learning_rate": (5e-6, 6e-6, 7e-6, 8e-6, 9e-6), "epochs": 10,
        }
    }  # fmt: skip
    chunks = staticmethod(entity_score)


def _space_pieces(tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Numbers of the pieces that are a space and nothing else: SentencePiece's ``▁``, and ``Ġ`` of byte-level BPE."""
    numbers: set[Any] = {tokenizer.convert_tokens_to_ids(piece) for piece in ("▁", "Ġ")}
    return frozenset(numbers - {None, tokenizer.unk_token_id})


def _label_positions(
    pieces_by_word: Sequence[Sequence[int]], before: int, unlabelled: frozenset[int]
) -> list[int]:
    """Return the position in a row at which each word has its label: its first piece that is not ``unlabelled``.

    A word of such pieces alone has its label on the first. ``before``: Special tokens before the first word.
    """
    positions = []
    start = before
    for pieces in pieces_by_word:
        place = next((place for place, piece in enumerate(pieces) if piece not in unlabelled), 0)
        positions.append(start + place)
        start += len(pieces)
    return positions


def _pieces_by_word(
    ids: Sequence[int], words: Sequence[int], count: int, *, unknown: int | None
) -> list[list[int]]:
    """Group pieces by word.

    1. A piece of no word (its word is -1), such as a lone space, goes to the word before it.
    2. A word without a piece, such as a control character that the tokenizer drops, gets the unknown one.

    ``count``: Number of words. ``unknown``: Number of the unknown piece.
    """
    by_word: list[list[int]] = [[] for _ in range(count)]
    current = 0
    for piece, word in zip(ids, words, strict=True):
        current = word if word >= 0 else current
        by_word[current].append(piece)
    missing = [0 if unknown is None else unknown]
    return [pieces or missing for pieces in by_word]


def _windows(lengths: Sequence[int], room: int, overlap: int) -> list[tuple[int, int, int]]:
    """Cut a sentence into runs of words that fit in a row: first word, first word that counts, word after the last.

    Every word counts in exactly one run; the words of a run before it are context. Words of 2, 2 and 3 pieces with room
    for 5 and an overlap of 1 make the runs (0, 0, 2) and (1, 2, 3).

    ``lengths``: Pieces of each word. ``overlap``: Most words of context.
    """
    windows = []
    first_counted = 0
    while first_counted < len(lengths):
        first = max(0, first_counted - overlap) if first_counted else 0
        # Context gives way until the first word that counts fits; a longer word than the room is cut to it.
        while first < first_counted and sum(min(n, room) for n in lengths[first : first_counted + 1]) > room:
            first += 1
        end, used = first, 0
        while end < len(lengths) and (used + lengths[end] <= room or end <= first_counted):
            used += min(lengths[end], room)
            end += 1
        windows.append((first, first_counted, end))
        first_counted = end
    return windows
