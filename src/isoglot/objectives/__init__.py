"""Objectives: the encodings of one batch go in, one loss comes out. A recipe combines any of them by weight.

Open ``base.py`` first, then ``masked_lm.py``, the simplest. An objective reads encodings, which run each forward pass
once for all objectives, and inherits its loss over tensors from ``isoglot.losses``. ``links.py`` says where word links
come from: the corpus, or the encoder itself; ``teacher.py`` keeps the vectors of a frozen teacher.
"""

from isoglot.objectives.anchor import AnchorObjective
from isoglot.objectives.base import Batch, Objective
from isoglot.objectives.contextual_alignment import ContextualAlignmentObjective
from isoglot.objectives.denoising_word_alignment import DenoisingWordAlignmentObjective
from isoglot.objectives.embedding_alignment import EmbeddingAlignmentObjective
from isoglot.objectives.in_batch_contrast import InBatchContrastObjective
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.objectives.self_training import SelfTrainingObjective
from isoglot.objectives.sentence_contrast import SentenceContrastObjective
from isoglot.objectives.sentence_distillation import SentenceDistillationObjective
from isoglot.objectives.word_contrast import WordContrastObjective
from isoglot.objectives.word_exchange import WordExchangeObjective

__all__ = [
    "OBJECTIVES",
    "AnchorObjective",
    "Batch",
    "ContextualAlignmentObjective",
    "DenoisingWordAlignmentObjective",
    "EmbeddingAlignmentObjective",
    "InBatchContrastObjective",
    "MaskedLMObjective",
    "Objective",
    "SelfTrainingObjective",
    "SentenceContrastObjective",
    "SentenceDistillationObjective",
    "WordContrastObjective",
    "WordExchangeObjective",
]

OBJECTIVES: dict[str, type[Objective]] = {
    "anchor": AnchorObjective,
    "contextual_alignment": ContextualAlignmentObjective,
    "denoising_word_alignment": DenoisingWordAlignmentObjective,
    "embedding_alignment": EmbeddingAlignmentObjective,
    "in_batch_contrast": InBatchContrastObjective,
    "masked_lm": MaskedLMObjective,
    "self_training": SelfTrainingObjective,
    "sentence_contrast": SentenceContrastObjective,
    "sentence_distillation": SentenceDistillationObjective,
    "word_contrast": WordContrastObjective,
    "word_exchange": WordExchangeObjective,
}
"""Objectives by the name that a recipe gives as ``type``."""
