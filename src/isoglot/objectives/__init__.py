"""Objectives: the encodings of one batch go in, one loss comes out. A recipe adds several up by weight.

    encoder inputs of each view ──> Encodings ──hidden states──> Objective ──> its loss ──> sum, count, metrics
                                    (isoglot.modules)               ^          (isoglot.losses)
    labels, masks, word links ──────────────────────────────────────┘

Read ``base.py`` first, then ``masked_lm.py``, the simplest. An objective chooses the states, labels and links that its
loss needs; the loss, a class of ``isoglot.losses`` that the objective inherits from, computes. ``links.py`` says where
word links come from: the corpus, or the encoder itself. ``teacher.py`` keeps the vectors of a frozen teacher.

An objective does not know its weight. The recipe has it (``weight``), as a number or as a ``WeightSection``, with which
it starts later and grows over the first steps (``isoglot.recipe.sections``). ``isoglot.training.model`` multiplies each
loss by its weight; an objective whose weight is 0 at a step is not run at that step. So a new rule for the weight at a
step goes into ``WeightSection``.

- *view*: one way to make encoder inputs of an example (``isoglot.views``); ``pair`` and ``sentences`` are usual names.
- *side*: a sentence of a ``sentence_pair`` view. ``source`` and ``target`` are the corpus's columns; ``query`` and
  ``key`` are the two in the order of this example.
- *piece*: a token of the tokenizer; a *word* has one or more. *Position*: the place of a piece in an encoder input.
- *link*: two positions (or words), one in each sentence, that translate each other.
- *labels*: in a batch, the ids of the masked tokens; as an option of objectives with links (``links.py``), where the
  links come from.
- *pivot*: the side whose sentences recur in several language pairs, usually English. The key ``source_key_ids`` of a
  batch is the hash of the pivot sentence, on whichever side it stands.
- *item*: a summand of a loss: a masked token, a link, a sentence pair. *count*: the number that the sum is divided by.
- *rank*: a process of distributed training.
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
