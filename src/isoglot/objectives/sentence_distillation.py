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

    The teacher may be any encoder, with its own tokenizer. It runs once for each sentence, before training; its
    vectors are kept in the cache.

    Args:
        bitext: the stream that the view reads.
        teacher: folder or hub name of an encoder.
        tokenizer: the student's.
        view: a sentence pair of that stream.
        sides: ``both`` sentences learn the vector, or the ``translation`` alone.
        pivot: the side that the teacher reads, as in the view: ``source`` or ``target``.
        pooling: of the student: ``cls``, the first token's state, or ``mean``.
        teacher_pooling: of the teacher: ``cls`` or ``mean``.
        teacher_prefix: text before each sentence that the teacher reads, such as "query: ".
        teacher_length: most tokens of a sentence that the teacher reads.
        project: learn a linear map from the student's width to the teacher's, if they differ.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs, ``source_key_ids``, ``query_is_pivot_mask``.

    Raises:
        ConfigurationError: student and teacher differ in width, or a sentence that the teacher has not read.
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
        corpus, self.bitext = self.bitext, None  # its vectors are kept, not the corpus
        self.taught = taught_vectors(teacher, corpus, tokenizer, side=self.pivot)
        size = hidden_size(model)
        if size != self.taught.size and not self.project:
            raise ConfigurationError(
                f"sentence_distillation: vectors of {size} and of {self.taught.size} numbers; take a teacher of the "
                "student's width, or set `project: true`"
            )
        self.map = nn.Linear(size, self.taught.size) if self.project else None

    def check_options(self) -> None:
        """The teacher is there."""
        checkpoint_folder(self.teacher)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Summed distances of this rank's sentences."""
        tensors = batch[self.view]
        is_pivot = tensors["query_is_pivot_mask"].bool().reshape(-1)
        taught = self.taught.of(tensor_of(batch, self.view, "source_key_ids").reshape(-1))
        rows = [torch.ones_like(is_pivot)] * 2 if self.sides == "both" else [~is_pivot, is_pivot]
        sides = list(zip(("query", "key"), rows, strict=True))
        # FSDP needs as many forwards on every rank, and a gradient where there are no rows
        anywhere = gather_rows(torch.stack([real.any() for real in rows])[None].int()).any(0).tolist()
        needed = [pair for pair, some in zip(sides, anywhere, strict=True) if some] or sides[:1]
        pooled = torch.cat([self.pooled(encodings, side, self.pooling)[real] for side, real in needed])
        vectors = pooled if self.map is None else self.map(pooled)
        return self.measure(vectors, torch.cat([taught[real] for real in rows]))

    def count(self, batch: Batch) -> Tensor | None:
        """The number of sentences."""
        return torch.tensor((2 if self.sides == "both" else 1) * len(batch[self.view]["query_input_ids"]))
