"""Contrast of sentences with their translations against a queue of keys: PPA's MoCo, InfoXLM's XlCo."""

from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Annotated, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.errors import ConfigurationError, Problem
from isoglot.modules.contrast import ProjectionHead, gather_rows, key_queue_loss, mixed_inputs, pool
from isoglot.modules.encoder import encode_to_layer, hidden_size, max_length
from isoglot.modules.encodings import Encodings
from isoglot.modules.hashed_noise import hashed_uniform, sentence_key
from isoglot.modules.momentum import KeyQueue, MomentumCopy
from isoglot.objectives.base import Batch, Objective, ObjectiveOutput, chosen_layer, tensor_of
from isoglot.options import Positive, Share
from isoglot.seeding import generator_for


@dataclass(eq=False, repr=False)
class SentenceContrast(Objective):
    r"""InfoNCE between a sentence and its translation (PPA, Pan et al. 2021, Eq. 1-3).

    .. math:: z = W_2\,\mathrm{ReLU}(W_1\,h / \|h\|),\qquad
        L = -\log \frac{\exp(z_q \cdot z_k / \tau)}{\exp(z_q \cdot z_k / \tau) + \sum_{i=1}^{K} \exp(z_q \cdot
        z_i / \tau)}

    The query's z comes from the shared encoder, the key's from a momentum copy of encoder and projection
    without gradient, the K negatives from a queue of earlier keys of all ranks. A step is: key forward, loss
    with the queue as it was, enqueue. MoCo averages the weights before each key forward; here that happens
    right after each optimiser step, which is the same sequence (before the first step both copies are equal),
    and leaves a step that accumulates several batches with one average, not several. Keys are enqueued batch
    by batch, in training mode only.

    The defaults are PPA's. InfoXLM's XlCo (Chi et al. 2021) is layer 8 of 12, one matrix, no normalisation, mixed
    sentences, K = 131,072, m = 0.9999: the recipe ``xlco``. Without queue and copy:
    :class:`~isoglot.objectives.in_batch_contrast.InBatchContrast`.

    Args:
        model: encoder with its masked-LM head; the copy leaves the head out.
        view: a sentence pair.
        layer: whose states are pooled, 0 the embeddings; the last by default.
        pooling: ``cls``, the first token's state (not the pooler), or ``mean``.
        projection: ``mlp`` (PPA) or ``linear``, one matrix (XlCo).
        projection_size: Size of z.
        bias: Bias of the projection; the papers write none.
        normalize_h: divide h by its length.
        normalize_z: divide z by its length, as MoCo does; PPA does not say so.
        temperature: τ.
        queue_size: K.
        momentum: m.
        key_dropout: dropout in the momentum encoder too, as in MoCo's code.
        positive_in_denominator: MoCo's code; false is Eq. 3 to the letter, whose loss can be negative.
        mask_duplicates: ``same_source_id``: keys that are translations of the query's own sentence (corpora
            of several languages share their English side) are no negatives; ``none``: PPA.
        mixup: contrast concatenations of two sentences of the batch (InfoXLM; its pairs are the batch's items
            2i and 2i + 1), each side in its own random order. The mixed queries take a forward of their own.
        seed: Seed of the projection's weights, the random keys and the orders of ``mixup``.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs; ``source_key_ids`` for ``mask_duplicates``.

    **Metrics**: ``accuracy`` (the positive scores highest), ``positive`` (mean score of the positives before
    τ).

    Raises:
        ConfigurationError: an option or layer that does not exist, options that exclude each other, or a
            queue smaller than the global batch.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"
    layer: int | None = None
    pooling: Literal["cls", "mean"] = "cls"
    projection: Literal["mlp", "linear"] = "mlp"
    projection_size: int = 300
    bias: bool = False
    normalize_h: bool = True
    normalize_z: bool = False
    temperature: Positive = 0.05
    queue_size: Annotated[int, Field(ge=0)] = 32_000
    momentum: Share = 0.999
    key_dropout: bool = True
    positive_in_denominator: bool = True
    mask_duplicates: Literal["none", "same_source_id"] = "none"
    mixup: bool = False
    seed: int = 0
    top_layer: int = field(init=False)
    step: Tensor = field(init=False)

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()
        self.layer = self.top_layer = chosen_layer(model, self.layer)
        head = ProjectionHead(
            hidden_size(model),
            self.projection_size,
            kind=self.projection,
            bias=self.bias,
            std=float(getattr(model.config, "initializer_range", 0.02)),
            generator=generator_for(self.seed, "projection"),
        )
        self.projection = head  # type: ignore[assignment]
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        base: PreTrainedModel = model.base_model  # type: ignore[assignment]
        self.momentum_encoder: MomentumCopy[PreTrainedModel] = MomentumCopy(base, self.momentum)
        self.momentum_projection: MomentumCopy[ProjectionHead] = MomentumCopy(head, self.momentum)
        self.queue = KeyQueue(
            self.queue_size, self.projection_size, generator=generator_for(self.seed, "queue")
        )

    def check_options(self) -> None:
        """A mixed sentence has two sources."""
        if self.mixup and self.mask_duplicates != "none":
            text = (
                "true and mask_duplicates: same_source_id given; a mixed sentence has two sources, so write "
                "mask_duplicates: none"
            )
            raise ConfigurationError(Problem(text, ("mixup",)))

    @property
    def head(self) -> ProjectionHead:
        """The projection of the query."""
        return cast(ProjectionHead, self._modules["projection"])

    def forward(self, encodings: Encodings, batch: Batch) -> ObjectiveOutput:
        """Summed InfoNCE of the batch's pairs."""
        if self.mixup:
            encodings = self._mixed(encodings)
        queries = self._online(encodings, "query")
        keys = self._keys(encodings)
        losses, correct = self._against_queue(queries, keys, self._source_ids(batch))
        total, count = losses.sum(), len(losses)
        scores = (queries.detach().float() * keys.detach().float()).sum()
        metrics = {"accuracy": correct.float().sum() / max(1, count), "positive": scores / max(1, count)}
        return ObjectiveOutput(total, torch.tensor(count, device=total.device), metrics)

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs, or of mixed pairs."""
        ids = batch[self.view]["query_input_ids"]
        return torch.tensor((len(ids) + 1) // 2 if self._mixes(len(ids)) else len(ids), device=ids.device)

    @torch.no_grad()
    def after_step(self, encoder: PreTrainedModel) -> None:
        """Move the momentum copies one step towards the encoder and the projection (Eq. 1)."""
        self.step += 1
        self.momentum_encoder.update(encoder.base_model)
        self.momentum_projection.update(self.head)

    def _online(self, encodings: Encodings, side: str) -> Tensor:
        states = encodings.hidden(self.view, self.top_layer, side=side)
        return self._vectors(states, encodings.inputs(self.view, side), self.head)

    @torch.no_grad()
    def _keys(self, encodings: Encodings) -> Tensor:
        inputs = encodings.inputs(self.view, "key")
        states = encode_to_layer(
            self.momentum_encoder.module,
            inputs,
            self.top_layer,
            training=self.key_dropout,
            language_embeddings=encodings.language_embeddings,
        )
        return self._vectors(states, inputs, self.momentum_projection.module)

    def _vectors(self, states: Tensor, inputs: dict[str, Tensor], projection: ProjectionHead) -> Tensor:
        """H pooled and normalised, then z."""
        pooled = pool(states, inputs["attention_mask"], self.pooling)
        if self.normalize_h:
            pooled = nn.functional.normalize(pooled.float(), dim=1)
        vectors: Tensor = projection(pooled)
        return nn.functional.normalize(vectors.float(), dim=1) if self.normalize_z else vectors

    def _against_queue(
        self, queries: Tensor, keys: Tensor, source_ids: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        losses, correct = key_queue_loss(
            queries,
            keys,
            self.queue.keys.clone(),  # enqueuing changes the buffer before the backward pass reads it
            temperature=self.temperature,
            positive_in_denominator=self.positive_in_denominator,
            excluded=None if source_ids is None else source_ids[:, None] == self.queue.source_ids[None, :],
        )
        if self.training:
            self._enqueue(keys, source_ids)
        return losses, correct

    def _enqueue(self, keys: Tensor, source_ids: Tensor | None) -> None:
        gathered = gather_rows(keys.float())
        if 0 < self.queue.size < len(gathered):
            raise ConfigurationError(
                f"sentence_contrast: queue_size: {self.queue.size} given for a global batch of "
                f"{len(gathered)} pairs; "
                f"the queue has to hold one batch at least: queue_size: {len(gathered)} or more (PPA: 32000)"
            )
        self.queue.enqueue(gathered, None if source_ids is None else gather_rows(source_ids))

    def _source_ids(self, batch: Batch) -> Tensor | None:
        if self.mask_duplicates == "none":
            return None
        hint = "give a view of type sentence_pair, or mask_duplicates: none"
        return tensor_of(
            batch, self.view, "source_key_ids", objective="sentence_contrast", hint=hint
        ).flatten()

    def _mixes(self, pairs: int) -> bool:
        return self.mixup and pairs > 1

    def _mixed(self, encodings: Encodings) -> Encodings:
        """Encodings of concatenated sentences; the encoder's own run through the same class."""
        tensors: dict[str, Tensor] = {}
        longest = max_length(encodings.model)
        padding_id = int(getattr(encodings.model.config, "pad_token_id", None) or 0)
        if not self._mixes(len(encodings.inputs(self.view, "query")["input_ids"])):
            return encodings
        for salt, side in enumerate(("query", "key")):
            inputs = encodings.inputs(self.view, side)
            key = sentence_key(inputs["input_ids"], inputs["attention_mask"])[::2]
            swap = hashed_uniform(key, self.seed, self.step.to(key.device), salt) < 0.5
            mixed = mixed_inputs(inputs, swap, padding_id=padding_id, longest=longest)
            tensors |= {f"{side}_{name}": tensor for name, tensor in mixed.items()}
        return Encodings(
            encodings.model,
            {self.view: tensors},
            language_embeddings=encodings.language_embeddings,
            top=self.top_layer,
        )


# The module has the name of its option, as in checkpoints: the class's default would hide it.
del SentenceContrast.projection
