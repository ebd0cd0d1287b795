"""Sentence vectors learnt from a frozen teacher, in every language of a bitext."""

from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Literal

import torch
from datasets import Dataset
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Count
from isoglot.losses.base import LossOutput
from isoglot.losses.sentence_distillation import SentenceDistillation
from isoglot.modules.contrast import gather_rows
from isoglot.modules.encoder import hidden_size
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, LayerObjective, tensor_of
from isoglot.objectives.teacher import Teacher, taught_vectors


@dataclass(eq=False, repr=False)
class SentenceDistillationObjective(LayerObjective, SentenceDistillation):
    """Distance from a teacher's vector of the pivot sentence: :class:`~isoglot.losses.SentenceDistillation`.

    The teacher may be any encoder, with its own tokenizer. It encodes the pivot sentence of each pair of ``bitext``
    once, before training; its vectors are kept in the cache.

    Args:
        bitext: the stream that the view reads.
        teacher: folder or hub name of an encoder.
        tokenizer: the student's tokenizer.
        view: a ``sentence_pair`` view of that stream.
        sides: ``both`` sentences of a pair learn the vector, or the ``translation`` alone.
        pivot: the side that the teacher reads, as in the view: ``source`` or ``target``.
        pooling: the student's sentence vector: ``cls``, the first token's state, or ``mean``.
        teacher_pooling: the teacher's sentence vector: ``cls`` or ``mean``.
        teacher_prefix: text before each sentence that the teacher reads, such as "query: ".
        teacher_length: most tokens of a sentence that the teacher reads.
        project: learn a linear map from the student's width to the teacher's, if they differ.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs, ``source_key_ids`` (keys of the pivot sentences, whichever side
    these are on), ``query_is_pivot_mask``.

    Raises:
        ConfigurationError: student and teacher differ in width, or the teacher has no vector of a sentence.
    """

    _: KW_ONLY
    bitext: Dataset = field(repr=False)
    teacher: str
    tokenizer: InitVar[PreTrainedTokenizerBase | None] = None
    sides: Literal["both", "translation"] = "both"
    pivot: Literal["source", "target"] = "source"
    pooling: Literal["cls", "mean"] = "mean"
    teacher_pooling: Literal["cls", "mean"] = "mean"
    teacher_prefix: str = ""
    teacher_length: Count = 128
    project: bool = False

    def __post_init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> None:
        super().__post_init__(model)
        if tokenizer is None:
            raise ConfigurationError(
                "sentence_distillation: the student's tokenizer is needed too: tokenizer=..."
            )
        teacher = Teacher(self.teacher, self.teacher_pooling, self.teacher_prefix, self.teacher_length)
        self.taught = taught_vectors(teacher, self.bitext, tokenizer, side=self.pivot)
        self.bitext = None  # only the teacher's vectors are needed from here on
        size = hidden_size(model)
        if size != self.taught.size and not self.project:
            raise ConfigurationError(
                f"sentence_distillation: vectors of {size} and of {self.taught.size} numbers; take a teacher of the "
                "student's width, or set `project: true`"
            )
        self.map = nn.Linear(size, self.taught.size) if self.project else None

    def check_options(self) -> None:
        """Look for the teacher, so that a wrong path is an error before anything is loaded."""
        checkpoint_folder(self.teacher)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the distances of this rank's sentences from their pairs' taught vectors."""
        query_is_pivot = tensor_of(batch, self.view, "query_is_pivot_mask").bool().reshape(-1)
        taught = self.taught.of(tensor_of(batch, self.view, "source_key_ids").reshape(-1))
        if self.sides == "both":
            learns = {"query": torch.ones_like(query_is_pivot), "key": torch.ones_like(query_is_pivot)}
        else:
            # The translation is the query where the pivot is the key.
            learns = {"query": ~query_is_pivot, "key": query_is_pivot}

        # A side is encoded if it learns anything on any rank: FSDP needs equally many forwards on every rank. Where the
        # batches of all ranks are without pairs, the queries are still encoded, so that the loss of 0 has a gradient.
        learns_here = torch.stack([rows.any() for rows in learns.values()]).int()  # (sides,)
        learns_by_rank = gather_rows(learns_here[None])  # (ranks, sides)
        learns_anywhere = learns_by_rank.any(0).tolist()
        encoded = [side for side, is_needed in zip(learns, learns_anywhere, strict=True) if is_needed]
        encoded = encoded or ["query"]

        # The sentences that learn, those of the query first, and the vectors that they are taught. A side that is not
        # encoded has no sentence that learns, so both lists have the same sentences.
        pooled = torch.cat([self.pooled(encodings, side, self.pooling)[learns[side]] for side in encoded])
        vectors = pooled if self.map is None else self.map(pooled)
        return self.measure(vectors, torch.cat([taught[rows] for rows in learns.values()]))

    def count(self, batch: Batch) -> Tensor | None:
        """The number of sentences that learn: two of each pair, or one."""
        sentences_of_pair = 2 if self.sides == "both" else 1
        return torch.tensor(sentences_of_pair * len(tensor_of(batch, self.view, "query_input_ids")))
