"""Heads for texts and for questions on the encoder of T5, mT5 and umT5.

The library's own heads of these families for texts and for questions read a decoder as well (its head for tags does
not). XLM-Align's Table 1 compares encoders of equal size, so mT5-base stands there with its encoder alone.
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
    """The family's encoder and a linear layer on its last states."""

    encoder_class: ClassVar[Any]

    def __init__(self: Any, config: PretrainedConfig) -> None:
        super().__init__(config)  # type: ignore[call-arg]
        self.transformer = self.encoder_class(config)
        self.dropout = nn.Dropout(config.classifier_dropout)
        self.classifier = nn.Linear(config.hidden_size, int(config.num_labels or 0))
        self.post_init()

    def _init_weights(self: Any, module: nn.Module) -> None:
        """Begin the head as small as the library's heads of T5 for texts and questions, and not with weights of 1."""
        if isinstance(module, nn.Linear) and module is self.classifier:
            # The library's functions leave weights alone that were loaded.
            initialization.normal_(module.weight, std=self.config.hidden_size**-0.5)
            initialization.zeros_(module.bias)
        else:
            super()._init_weights(module)  # type: ignore[misc]


class _TextHead(_Head):
    """One label for a text, or for two: a linear layer on the mean of the encoder's last states.

    T5 has no token at the start of a text that stands for the whole of it. The mean is what sentence-T5 reads (Ni et
    al. 2022, §3.1).
    """

    def forward(
        self: Any, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Logits of the labels. **Shape** of ``input_ids`` and ``attention_mask``: (texts, tokens)."""
        states = self.transformer(input_ids, attention_mask=attention_mask)[0]
        kept = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * kept).sum(1) / kept.sum(1).clamp(min=1)
        logits = self.classifier(self.dropout(mean))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class _QuestionHead(_Head):
    """The first and the last token of an answer, each a linear layer on the encoder's last states, as BERT's."""

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
        """Scores of the tokens. **Shape** of ``input_ids`` and ``attention_mask``: (windows, tokens)."""
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
    """The class that loads an encoder with a head: one of those above for T5's families, else the library's.

    ``auto``: The library's class of the head, such as ``AutoModelForQuestionAnswering``.
    """
    return _HEADS.get((config.model_type, auto.__name__), auto)
