"""Tagging: parts of speech and named entities, one tag per word, learned and predicted on one piece of the word."""

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
from isoglot.tasks.metrics.chunks import PREFIXES, ChunkScores, entity_score, pos_chunk_score, tag_accuracy

_LOG = logging.getLogger(__name__)


@dataclass
class TaggingTask(HeadTask):
    """Predict one tag for each word, on one of its pieces; a word without any piece gets the unknown token.

    A sentence that is too long goes on in the next row, cut between words, so every word is tagged. A word of the
    training or dev data whose tag is ``_`` (:data:`UNLABELLED`) is read, and neither learned from nor scored.

    Args:
        max_length: Tokens of a row, special ones included.
        overlap: Words of the row before that a further row begins with, as context (XTREME: 0).
        label_piece: Piece of a word that has its label: first, as in XTREME; or text, the first that is more than the
            word's leading space. SentencePiece cuts many Chinese, Japanese and Thai words into ``▁`` and the rest.
        allowed: Tags that the data may have; by default UPOS, or any IOB2 tags. A trained model sets it to its own.
        format: Format of the files: conllu, panx, indexed, pairs or columns; detected from the file by default.

    **Metrics**: ``f1``, ``precision`` and ``recall`` (micro-averaged over chunks; those of POS are counted as XTREME
    counts them), ``accuracy`` (tokens).
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

    def __post_init__(self) -> None:
        """Refuse a negative overlap, which would skip words."""
        super().__post_init__()
        if self.overlap < 0:
            raise ConfigurationError(f"overlap must be 0 words or more, got {self.overlap}")

    @property
    def _written(self) -> bool:
        """Whether words are read as they are written: an option of :class:`PartsOfSpeech`."""
        return getattr(self, "words", "") == "written"

    def know(self, labels: Sequence[str] | None) -> None:
        """Take the tags of the head; after this, data with other tags are refused. ``None`` changes nothing."""
        self.allowed = self.allowed if labels is None else tuple(labels)

    def load(self, language: str, split: str) -> Dataset:
        """Load TAGGED rows with tags that the task, or the trained model, has.

        1. Data in which no word has a tag are refused.
        2. In test data every word needs a tag, because every word counts. In other data some may lack one.
        """
        rows = super().load(language, split)
        seen = {tag for tags in rows["tags"] for tag in tags}
        problem = ""
        if seen == {UNLABELLED}:  # 1
            problem = f"all words of the {split} data have no tag ({UNLABELLED}); {ADVICE}"
        elif UNLABELLED in seen and split == "test":  # 2
            problem = f"words of the test data have no tag ({UNLABELLED}); tag them, or give other data"
        if problem:
            raise ConfigurationError(f"{self.name} data ({self.data.describe()}): {problem}")
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
        """Read TAGGED rows from a file of words and tags.

        IOB1 of column files becomes IOB2 here. Rows of tables, of memory and of the hub keep the tags that they have.
        """
        return read_tags(
            location.path, language=language, labels=self.allowed, name=self.format, surface=self._written
        )

    def labels(self, dataset: Dataset) -> list[str]:
        """Return the allowed tags; without any, those of the data, with both prefixes of every type, ``O`` first.

        Of data with ``B-PER`` and ``I-LOC``: ``O``, ``B-LOC``, ``I-LOC``, ``B-PER``, ``I-PER``.
        """
        if self.allowed is not None:
            return list(self.allowed)
        seen = {tag for tags in dataset["tags"] for tag in tags}
        types = sorted({tag[2:] for tag in seen - {"O", UNLABELLED}})
        labels = ["O"]
        for entity_type in types:
            labels += [f"B-{entity_type}", f"I-{entity_type}"]
        return labels

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
        if room < 1:
            raise ConfigurationError(
                f"max_length {self.max_length} leaves no room for a word beside {template.size} special tokens; "
                f"raise it to {template.size + 1} or more"
            )
        segments = takes_segments(model, tokenizer)
        spaces = _space_pieces(tokenizer)
        skipped_pieces = spaces if self.label_piece == "text" else frozenset()

        sentences = [list(words) for words in dataset["words"]]
        rows: list[EncodedRow] = []
        word_count = words_begun_by_a_space = 0
        # `cut` has the pieces of a sentence (`ids`), and the number of the word of each piece (`words`).
        for sentence, (cut, tags) in enumerate(
            zip(cut_words(tokenizer, sentences), dataset["tags"], strict=True)
        ):
            unknown_tags = set(tags) - {*label_ids, UNLABELLED}
            if training and unknown_tags:
                raise ConfigurationError(
                    f"tag {min(unknown_tags)!r} in the training data is not of the model's, {', '.join(label_ids)}"
                )
            pieces_of_words = _pieces_by_word(
                cut.ids, cut.words, len(tags), unknown_piece=tokenizer.unk_token_id
            )
            word_count += len(pieces_of_words)
            # Words whose first piece is a space and nothing else.
            words_begun_by_a_space += sum(pieces[0] in spaces for pieces in pieces_of_words)
            lengths = [len(pieces) for pieces in pieces_of_words]
            for first, first_counted, end in _windows(lengths, room, self.overlap):
                pieces_in_row = pieces_of_words[first:end]
                if len(pieces_in_row) == 1:
                    # A word that is longer than a row has one for itself, and is cut.
                    pieces_in_row = [pieces_in_row[0][:room]]
                ids = template.sequence(np.concatenate(pieces_in_row))
                positions = _label_positions(pieces_in_row, len(template.prefix), skipped_pieces)
                position_of = dict(zip(range(first, end), positions, strict=True))
                # Words before the first counted one are context: their labels stand in the row of the window before.
                labelled = [(word, position_of[word]) for word in range(first_counted, end)]
                labels = np.full(len(ids), IGNORED, np.int32)
                for word, position in labelled:
                    # No part in the loss: words without a tag, and tags of dev data that the model does not have.
                    labels[position] = label_ids.get(tags[word], IGNORED)
                if training and (labels == IGNORED).all():  # nothing to learn from
                    continue
                inputs: dict[str, Any] = {"input_ids": ids.astype(np.int32), "labels": labels}
                if segments:
                    inputs["token_type_ids"] = np.zeros(len(ids), np.int8)
                rows.append(EncodedRow(inputs, sentence, labelled))

        labels_stand_on_spaces = self.label_piece == "first" and 2 * words_begun_by_a_space > word_count
        if labels_stand_on_spaces and not training:
            _LOG.warning(
                spelled(
                    "%d of %d words have their tag on a piece that is only a space; a tagger that learned from another "
                    "language hardly saw tags there: fine-tune with [[label_piece='text']]"
                ),
                words_begun_by_a_space,
                word_count,
            )
        return rows

    def reduce(self, logits: Any) -> Any:
        """Keep the best label at each position."""
        return logits.argmax(-1)

    def decode(
        self, dataset: Dataset, rows: Sequence[EncodedRow], outputs: Sequence[RowOutput]
    ) -> Predictions:
        """Give every word its best tag: each is labelled in exactly one row, at one position."""
        labels = list(self.allowed or ())
        predicted = [[""] * len(tags) for tags in dataset["tags"]]
        for row, output in zip(rows, outputs, strict=True):
            for word, position in row.detail:
                predicted[row.example][word] = labels[int(output[position])]
        return predicted

    def gold(self, dataset: Dataset) -> list[list[str]]:
        """Return the tags of the data, in the form of predictions."""
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
        """Count F1, precision and recall of chunks, and accuracy of words, for each sentence."""
        del language
        gold, predicted = _tagged_words(self.gold(dataset), list(predictions))
        return {**self.chunks(gold, predicted), "accuracy": tag_accuracy(gold, predicted)}


def _tagged_words(
    gold: Sequence[list[str]], predicted: Sequence[Any]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the tags and predictions of each sentence without the words that have no tag in the data.

    Of the tags ``DET _ NOUN`` and the predictions ``DET ADJ VERB``: ``DET NOUN`` and ``DET VERB``.
    """
    gold_tags, predicted_tags = list(gold), list(predicted)
    for number, tags in enumerate(gold):
        if UNLABELLED in tags:
            tagged = [word for word, tag in enumerate(tags) if tag != UNLABELLED]
            gold_tags[number] = [tags[word] for word in tagged]
            predicted_tags[number] = [predicted[number][word] for word in tagged]
    return gold_tags, predicted_tags


@dataclass
class PartsOfSpeech(TaggingTask):
    """Tag parts of speech, as Universal Dependencies have them (UDPOS).

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
    """Tag named entities in IOB2 (PAN-X, WikiANN)."""

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

    def __post_init__(self) -> None:
        """Refuse allowed tags whose entities could not be counted."""
        super().__post_init__()
        _require_counted_prefixes(self.allowed or ())

    def know(self, labels: Sequence[str] | None) -> None:
        """Take the tags of the head, whose entities must be countable too."""
        _require_counted_prefixes(labels or ())
        super().know(labels)


def _require_counted_prefixes(tags: Sequence[str]) -> None:
    """Refuse tags with a prefix that :func:`entity_score` does not know, such as L and U of BILOU.

    By seqeval's rules, entities of such tags are lost or joined: ``U-PER U-PER`` would be one entity of two words.
    """
    for tag in tags:
        prefix, hyphen, _ = tag.partition("-")
        if hyphen and len(prefix) == 1 and prefix not in PREFIXES:
            raise ConfigurationError(
                f"[[allowed]]: the entities of {tag!r} cannot be counted, only those of IOB2 and IOBES; "
                "write L- of BILOU as E-, and U- as S-"
            )


def _space_pieces(tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Return the pieces that are a space and nothing else: SentencePiece's ``▁``, and ``Ġ`` of byte-level BPE."""
    numbers: set[Any] = {tokenizer.convert_tokens_to_ids(piece) for piece in ("▁", "Ġ")}
    return frozenset(numbers - {None, tokenizer.unk_token_id})


def _label_positions(
    pieces_of_words: Sequence[Sequence[int]], before: int, skipped_pieces: frozenset[int]
) -> list[int]:
    """Return the position in a row at which each word has its label: its first piece that is not skipped.

    A word of skipped pieces alone has its label on the first. ``before``: Special tokens before the first word.
    """
    positions = []
    start = before
    for pieces in pieces_of_words:
        place = next((place for place, piece in enumerate(pieces) if piece not in skipped_pieces), 0)
        positions.append(start + place)
        start += len(pieces)
    return positions


def _pieces_by_word(
    pieces: Sequence[int], word_of_piece: Sequence[int], count: int, *, unknown_piece: int | None
) -> list[list[int]]:
    """Group pieces by word: pieces 7 8 9 of the words 0 0 1 are ``[[7, 8], [9]]``.

    1. A piece of no word (its word is -1), such as a lone space, goes to the word before it; at the start of the
       sentence, to the first word.
    2. A word without a piece, such as a control character that the tokenizer drops, gets the unknown piece.

    ``count``: Number of words.
    """
    by_word: list[list[int]] = [[] for _ in range(count)]
    current = 0
    for piece, word in zip(pieces, word_of_piece, strict=True):
        current = word if word >= 0 else current  # 1
        by_word[current].append(piece)
    stand_in = [0 if unknown_piece is None else unknown_piece]  # 2
    return [pieces_of_word or stand_in for pieces_of_word in by_word]


def _windows(lengths: Sequence[int], room: int, overlap: int) -> list[tuple[int, int, int]]:
    """Cut a sentence into windows of words that fit in a row each.

    Every word counts in exactly one window. Words of a window before its first counted word are context, and counted in
    the window before. Words of 2, 2 and 3 pieces with room for 5 and an overlap of 1 make the windows (0, 0, 2) and
    (1, 2, 3).

    ``lengths``: Pieces of each word. ``room``: Pieces of words that a row holds. ``overlap``: Maximum words of context.

    Returns:
        Of each window the first word, the first counted word, and the word after the last.
    """
    windows = []
    first_counted = 0
    # A word that is longer than a row is cut to the row.
    sizes = [min(length, room) for length in lengths]
    while first_counted < len(sizes):
        # The first counted word always has its place: context gives way until it fits.
        first = max(0, first_counted - overlap)
        end = first_counted + 1
        while first < first_counted and sum(sizes[first:end]) > room:
            first += 1
        # Further words follow as long as they fit.
        used = sum(sizes[first:end])
        while end < len(sizes) and used + sizes[end] <= room:
            used += sizes[end]
            end += 1
        windows.append((first, first_counted, end))
        first_counted = end
    return windows
