"""Heads for texts and for questions on the encoder of T5, mT5 and umT5.

Of these encoder-decoder models only the encoder is used: XLM-Align's Table 1 compares encoders of equal size, so
mT5-base stands there with its encoder alone. transformers' own heads for texts and for questions also run the decoder
(its head for tags does not), so these heads replace them; :func:`class_with_head` chooses.

Each class is a head of this module (first base) and the family's base class of transformers (second base).
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import (
    MT5EncoderModel,
    PretrainedConfig,
    PreTrainedModel,
    T5EncoderModel,
    UMT5EncoderModel,
    initialization,
)
from transformers.modeling_outputs import QuestionAnsweringModelOutput, SequenceClassifierOutput
from transformers.models.mt5.modeling_mt5 import MT5PreTrainedModel
from transformers.models.t5.modeling_t5 import T5PreTrainedModel
from transformers.models.umt5.modeling_umt5 import UMT5PreTrainedModel


class _Head:
    """A family's encoder and a linear layer on the encoder's last states."""

    encoder_class: ClassVar[Any]

    def __init__(self: Any, config: PretrainedConfig) -> None:
        super().__init__(config)  # type: ignore[call-arg]
        self.transformer = self.encoder_class(config)
        self.dropout = nn.Dropout(config.classifier_dropout)
        self.classifier = nn.Linear(config.hidden_size, int(config.num_labels or 0))
        self.post_init()

    def _init_weights(self: Any, module: nn.Module) -> None:
        """Start the head with weights as small as those of transformers' heads of T5 for texts and questions.

        The standard deviation is ``hidden_size**-0.5``, and not 1 as in transformers' head of T5 for tags.
        """
        if isinstance(module, nn.Linear) and module is self.classifier:
            # These functions of transformers leave weights unchanged that were loaded from a checkpoint.
            initialization.normal_(module.weight, std=self.config.hidden_size**-0.5)
            initialization.zeros_(module.bias)
        else:
            super()._init_weights(module)  # type: ignore[misc]


class _TextHead(_Head):
    """Predict one label for a text, or for two: a linear layer on the mean of the encoder's last states.

    T5 has no token at the start of a text that stands for the whole of it. The mean is what sentence-T5 reads (Ni et
    al. 2022, §3.1).
    """

    def forward(
        self: Any, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Return logits of the labels. **Shape** of ``input_ids`` and ``attention_mask``: (texts, tokens)."""
        states = self.transformer(input_ids, attention_mask=attention_mask)[0]
        # The mean over real tokens, without padding.
        is_token = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * is_token).sum(1) / is_token.sum(1).clamp(min=1)
        logits = self.classifier(self.dropout(mean))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class _QuestionHead(_Head):
    """Score each token as the first and as the last of an answer: two linear layers on the last states, as BERT's."""

    def __init__(self: Any, config: PretrainedConfig) -> None:
        config.num_labels = 2  # a score for the first token of the answer, and one for the last
        super().__init__(config)

    def forward(
        self: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
    ) -> QuestionAnsweringModelOutput:
        """Return two scores of each token. **Shape** of ``input_ids`` and ``attention_mask``: (windows, tokens)."""
        states = self.transformer(input_ids, attention_mask=attention_mask)[0]
        starts, ends = self.classifier(self.dropout(states)).unbind(-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            losses = (
                nn.functional.cross_entropy(starts, start_positions),
                nn.functional.cross_entropy(ends, end_positions),
            )
            loss = torch.stack(losses).mean()
        return QuestionAnsweringModelOutput(loss=loss, start_logits=starts, end_logits=ends)


class T5EncoderForSequenceClassification(_TextHead, T5PreTrainedModel):
    """T5's encoder with a head for texts."""

    encoder_class = T5EncoderModel


class MT5EncoderForSequenceClassification(_TextHead, MT5PreTrainedModel):
    """mT5's encoder with a head for texts."""

    encoder_class = MT5EncoderModel


class UMT5EncoderForSequenceClassification(_TextHead, UMT5PreTrainedModel):
    """umT5's encoder with a head for texts."""

    encoder_class = UMT5EncoderModel


class T5EncoderForQuestionAnswering(_QuestionHead, T5PreTrainedModel):
    """T5's encoder with a head for questions."""

    encoder_class = T5EncoderModel


class MT5EncoderForQuestionAnswering(_QuestionHead, MT5PreTrainedModel):
    """mT5's encoder with a head for questions."""

    encoder_class = MT5EncoderModel


class UMT5EncoderForQuestionAnswering(_QuestionHead, UMT5PreTrainedModel):
    """umT5's encoder with a head for questions."""

    encoder_class = UMT5EncoderModel


_HEADS: dict[tuple[str, str], type[PreTrainedModel]] = {
    ("t5", "AutoModelForSequenceClassification"): T5EncoderForSequenceClassification,
    ("mt5", "AutoModelForSequenceClassification"): MT5EncoderForSequenceClassification,
    ("umt5", "AutoModelForSequenceClassification"): UMT5EncoderForSequenceClassification,
    ("t5", "AutoModelForQuestionAnswering"): T5EncoderForQuestionAnswering,
    ("mt5", "AutoModelForQuestionAnswering"): MT5EncoderForQuestionAnswering,
    ("umt5", "AutoModelForQuestionAnswering"): UMT5EncoderForQuestionAnswering,
}


def class_with_head(auto: Any, config: PretrainedConfig) -> Any:
    """Return the class that loads an encoder with a head: a class of this module for T5's families, else ``auto``.

    ``auto``: The class of transformers for this head, such as ``AutoModelForQuestionAnswering``.
    """
    return _HEADS.get((config.model_type, auto.__name__), auto)
