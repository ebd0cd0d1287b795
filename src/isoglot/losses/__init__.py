"""Losses for anybody's training loop: tensors in, loss out. A loss never owns or calls the encoder.

    states, labels, links, ... ──> Loss.measure ──> LossOutput: total, count, metrics
                                   loss(...)    ──> total / count

``loss(...)`` is the mean over a batch's items; ``loss.measure(...)`` gives the sum, the count and metrics. Read
``base.py`` first, then ``in_batch_contrast.py``, the shortest. ``isoglot.objectives`` reads the tensors of a recipe's
batch and passes them to these classes.

- *states*: the encoder's vectors of pieces (tokens); *h* the vector of a sentence, *z* its projection. In an equation
  that divides by h or √h: the width of the vectors.
- *query*, *key*: the two sentences of a pair, each encoded alone. Only in
  ``denoising_word_alignment.py`` are queries and keys those of attention: the option ``queries`` chooses the tokens
  that ask a pointer, *questions* in the code.
- *link*: two pieces, one in each sentence, that translate each other. *Aligned*: having a link. Links come as
  ``link_ids`` (batch, links, 2), positions in the inputs, −1 pads; as ``LinkedPositions``, the same without padding; as
  a boolean matrix of the pieces of each pair; or as links of words, (links, 3): batch row, query word, key word.
- *flat position*: a position counted through the whole batch, ``row * length + position``.
- *labels*: the ids of masked tokens. To *label* a pair, by the method ``label``, is something else: to find its links
  in the encoder's own states.
- *masked*: selected for prediction, whatever token stands there now.
- *score*: a similarity as the softmax reads it: divided by the temperature τ, where the loss has one.
- *item*: a summand of the loss: a masked token, a link, a sentence pair.
- *rank*: a process of distributed training.
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
