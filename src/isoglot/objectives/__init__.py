"""Objectives: losses over the encodings of one batch."""

from isoglot.objectives.anchor import Anchor
from isoglot.objectives.base import Batch, Objective, ObjectiveOutput
from isoglot.objectives.contextual_alignment import ContextualAlignment
from isoglot.objectives.denoising_word_alignment import DenoisingWordAlignment
from isoglot.objectives.embedding_alignment import EmbeddingAlignment
from isoglot.objectives.in_batch_contrast import InBatchContrast
from isoglot.objectives.masked_lm import MaskedLM
from isoglot.objectives.self_training import SelfTraining
from isoglot.objectives.sentence_contrast import SentenceContrast
from isoglot.objectives.word_exchange import WordExchange

__all__ = [
    "OBJECTIVES",
    "Anchor",
    "Batch",
    "ContextualAlignment",
    "DenoisingWordAlignment",
    "EmbeddingAlignment",
    "InBatchContrast",
    "MaskedLM",
    "Objective",
    "ObjectiveOutput",
    "SelfTraining",
    "SentenceContrast",
    "WordExchange",
]

OBJECTIVES: dict[str, type[Objective]] = {
    "anchor": Anchor,
    "contextual_alignment": ContextualAlignment,
    "denoising_word_alignment": DenoisingWordAlignment,
    "embedding_alignment": EmbeddingAlignment,
    "in_batch_contrast": InBatchContrast,
    "masked_lm": MaskedLM,
    "self_training": SelfTraining,
    "sentence_contrast": SentenceContrast,
    "word_exchange": WordExchange,
}
"""Objectives by the name that a recipe gives as ``type``."""
