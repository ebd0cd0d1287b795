"""Losses for anybody's training loop: tensors in, loss out.

``loss(...)`` is the mean over a batch's items; ``loss.measure(...)`` also gives the sum, the count and metrics.
"""

from isoglot.losses.base import Loss, LossOutput
from isoglot.losses.contextual_alignment import ContextualAlignment, EncodedSentences
from isoglot.losses.denoising_word_alignment import DenoisingWordAlignment
from isoglot.losses.embedding_alignment import EmbeddingAlignment
from isoglot.losses.in_batch_contrast import InBatchContrast
from isoglot.losses.key_queue_contrast import KeyQueueContrast
from isoglot.losses.self_training import SelfTraining, link_matrix
from isoglot.losses.sentence_distillation import SentenceDistillation
from isoglot.losses.vocabulary_loss import VocabularyLoss
from isoglot.losses.word_contrast import WordContrast
from isoglot.losses.word_exchange import WordExchange

__all__ = [
    "ContextualAlignment",
    "DenoisingWordAlignment",
    "EmbeddingAlignment",
    "EncodedSentences",
    "InBatchContrast",
    "KeyQueueContrast",
    "Loss",
    "LossOutput",
    "SelfTraining",
    "SentenceDistillation",
    "VocabularyLoss",
    "WordContrast",
    "WordExchange",
    "link_matrix",
]
