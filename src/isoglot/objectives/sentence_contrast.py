"""Contrast of sentences with their translations against a queue of keys: PPA's MoCo, InfoXLM's XlCo."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.losses.base import LossOutput
from isoglot.losses.key_queue_contrast import KeyQueueContrast
from isoglot.modules.contrast import mixed_inputs, pool
from isoglot.modules.encoder import base_of, encode_to_layer, hidden_size, max_length
from isoglot.modules.encodings import Encodings
from isoglot.modules.hashed_noise import hashed_uniform, sentence_key
from isoglot.modules.momentum import MomentumCopy
from isoglot.objectives.base import Batch, LayerObjective, tensor_of


@dataclass(eq=False, repr=False)
class SentenceContrastObjective(LayerObjective, KeyQueueContrast):
    """InfoNCE between a sentence and its translation (PPA, InfoXLM): :class:`~isoglot.losses.KeyQueueContrast`.

    The query comes from the shared encoder, the key from a momentum copy of it without gradient. Keys are enqueued
    batch by batch, in training mode only.

    MoCo's code moves the copy before each key forward. Here the copy moves right after each optimiser step. That is the
    same sequence, as encoder and copy are equal before the first step; and a step that accumulates several batches
    moves the copy once, not once per batch.

    The defaults are PPA's. InfoXLM's XlCo (Chi et al. 2021) is layer 8 of 12, one matrix, no normalisation, mixed
    sentences, K = 131,072, m = 0.9999: the recipe ``xlco``. Without queue and copy:
    :class:`~isoglot.objectives.in_batch_contrast.InBatchContrastObjective`.

    Args:
        pooling: ``cls``, the first token's state (not the pooler), or ``mean``.
        key_dropout: dropout in the momentum encoder too, as in MoCo's code.
        mask_duplicates: ``same_source_id``: keys of other pairs with the query's pivot sentence are not negatives. A
            corpus of several languages has such pairs, as its English sentences (the view's ``pivot``) recur.
            ``none``: the keys of all other pairs are negatives (PPA).
        mixup: contrast concatenations of two sentences of the batch (InfoXLM; its pairs are the batch's items
            2i and 2i + 1), each side in its own random order. The mixed queries need a separate forward pass.
        seed: Seed of the projection's weights, the random keys and the orders of ``mixup``.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs; ``source_key_ids`` for ``mask_duplicates``.

    Raises:
        ConfigurationError: an option or layer does not exist, options exclude each other, or the queue is smaller than
            the global batch.
    """

    _: KW_ONLY
    pooling: Literal["cls", "mean"] = "cls"
    key_dropout: bool = True
    mask_duplicates: Literal["none", "same_source_id"] = "none"
    mixup: bool = False
    hidden_size: int = field(init=False)

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.hidden_size = hidden_size(model)
        self.initial_std = float(getattr(model.config, "initializer_range", 0.02))
        super().__post_init__(model)
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.momentum_encoder: MomentumCopy[PreTrainedModel] = MomentumCopy(base_of(model), self.momentum)

    def check_options(self) -> None:
        """Refuse ``mask_duplicates`` with ``mixup``, as a mixed sentence has two sources."""
        if self.mixup and self.mask_duplicates != "none":
            text = (
                "true does not go with mask_duplicates: same_source_id, as a mixed sentence has two sources; write "
                "mask_duplicates: none"
            )
            raise ConfigurationError(Problem(text, ("mixup",)))

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the InfoNCE of the batch's pairs."""
        if self.mixup:
            encodings = self._mixed(encodings)
        queries = self.pooled(encodings, "query", self.pooling)
        source_ids = None
        if self.mask_duplicates == "same_source_id":
            # Hashes of the pivot sentences, which translations of one sentence share; no keys of the contrast.
            source_ids = tensor_of(batch, self.view, "source_key_ids").flatten()
        return self.measure(queries, self._keys(encodings), source_ids)

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs, or of mixed pairs."""
        pairs = len(tensor_of(batch, self.view, "query_input_ids"))
        return torch.tensor((pairs + 1) // 2 if self.mixup else pairs)

    @torch.no_grad()
    def after_step(self, encoder: PreTrainedModel) -> None:
        """Move the momentum copies one step towards the encoder and the projection (PPA, Eq. 1)."""
        self.step += 1
        self.momentum_encoder.update(base_of(encoder))
        self.advance()

    @torch.no_grad()
    def _keys(self, encodings: Encodings) -> Tensor:
        """Sentence vectors h of the translations (PPA, Eq. 2), by the momentum encoder: (batch, hidden)."""
        inputs = encodings.inputs(self.view, "key")
        states = encode_to_layer(
            self.momentum_encoder.module,
            inputs,
            self.top_layer,
            training=self.key_dropout,
            language_embeddings=encodings.language_embeddings,
        )
        return pool(states, inputs["attention_mask"], self.pooling)

    def _mixed(self, encodings: Encodings) -> Encodings:
        """Encodings of concatenated sentences 2i and 2i + 1.

        An odd last sentence is concatenated with the first one. A batch of one pair stays as it is.
        """
        if len(encodings.inputs(self.view, "query")["input_ids"]) < 2:
            return encodings
        longest = max_length(encodings.model)
        padding_id = int(getattr(encodings.model.config, "pad_token_id", None) or 0)
        tensors: dict[str, Tensor] = {}
        for number, side in enumerate(("query", "key")):
            inputs = encodings.inputs(self.view, side)
            # One draw per mixed sentence, from the hash of its sentence 2i.
            hashes = sentence_key(inputs["input_ids"], inputs["attention_mask"])[::2]
            # The number of the side is hashed too, so that each side has its own orders.
            swap = hashed_uniform(hashes, self.seed, self.step.to(hashes.device), number) < 0.5
            mixed = mixed_inputs(inputs, swap, padding_id=padding_id, longest=longest)
            for name, tensor in mixed.items():
                tensors[f"{side}_{name}"] = tensor
        return Encodings(
            encodings.model,
            {self.view: tensors},
            language_embeddings=encodings.language_embeddings,
            top=self.top_layer,
        )
