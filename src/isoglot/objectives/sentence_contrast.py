"""Contrast of sentences with their translations: MoCo's key queue, InfoXLM's XlCo, in-batch contrast."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.errors import ConfigurationError
from isoglot.modules.contrast import ProjectionHead, in_batch_loss, key_queue_loss, mixed_inputs, pool
from isoglot.modules.encoder import encode_to_layer, hidden_size, max_length, num_layers
from isoglot.modules.encodings import Encodings
from isoglot.modules.gather import gather_rows, gather_rows_with_gradient
from isoglot.modules.hashed_noise import hashed_uniform, sentence_key
from isoglot.modules.key_queue import KeyQueue
from isoglot.modules.momentum import MomentumCopy
from isoglot.objectives.base import Batch, Objective, ObjectiveOutput
from isoglot.seeding import generator_for

__all__ = ["SentenceContrast"]

_PRESETS: dict[str, dict[str, Any]] = {
    "moco": {
        "layer": 1.0,
        "projection": "mlp",
        "projection_size": 300,
        "normalize_h": True,
        "temperature": 0.05,
        "queue_size": 32_000,
        "momentum": 0.999,
    },
    "xlco": {
        "layer": 8 / 12,
        "projection": "linear",
        "projection_size": None,
        "normalize_h": False,
        "temperature": 0.25,
        "queue_size": 131_072,
        "momentum": 0.9999,
    },
    "in_batch": {
        "layer": 1.0,
        "projection": "none",
        "projection_size": None,
        "normalize_h": True,
        "temperature": 0.05,
        "queue_size": 0,
        "momentum": 0.0,
    },
}


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

    ``variant`` sets the defaults of the options that say "by variant": ``moco`` (PPA: last layer, two-layer
    projection to 300, K = 32,000, m = 0.999, τ = 0.05), ``xlco`` (InfoXLM, Chi et al. 2021: layer 8 of 12, one
    matrix, K = 131,072, m = 0.9999, no normalisation, τ = 0.25 of its code) and ``in_batch``, which has
    neither queue nor momentum copy: both sides through the shared encoder, symmetric, against all ranks'
    pairs.

    Args:
        model: encoder with its masked-LM head; the copy leaves the head out.
        view: a sentence pair.
        variant: ``moco``, ``xlco`` or ``in_batch``.
        layer: whose states are pooled, 0 the embeddings; by variant: the last, or two thirds of the depth, rounded,
            for xlco.
        pooling: ``cls``, the first token's state (not the pooler), or ``mean``.
        projection: ``mlp``, ``linear`` or ``none``; by variant.
        projection_size: of z; by variant, the hidden size if not 300.
        bias: of the projection; the papers write none.
        normalize_h: divide h by its length; by variant.
        normalize_z: divide z by its length, as MoCo does; PPA does not say so.
        temperature: τ; by variant.
        queue_size: K; by variant.
        queue_init: ``random`` unit keys (MoCo), or ``warm``: only real keys count, and the denominators grow
            until the queue is full. :meth:`fill` fills it beforehand, as InfoXLM does.
        momentum: m; by variant.
        key_dropout: dropout in the momentum encoder too, as in MoCo's code.
        positive_in_denominator: MoCo's code; false is Eq. 3 to the letter, whose loss can be negative.
        mask_duplicates: ``same_source_id``: keys that are translations of the query's own sentence (corpora
            of several languages share their English side) are no negatives; ``none``: PPA.
        mixup: contrast concatenations of two sentences of the batch (InfoXLM; its pairs are the batch's items
            2i and 2i + 1), each side in its own random order. The mixed queries take a forward of their own.
        seed: of the projection's weights, the random keys and the orders of ``mixup``.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs; ``source_key_ids`` for ``mask_duplicates``.

    **Metrics**: ``accuracy`` (the positive scores highest), ``positive`` (mean score of the positives before
    τ).

    Raises:
        ConfigurationError: an option or layer that does not exist, options that exclude each other, or a
            queue smaller than the global batch.
    """

    step: Tensor

    def __init__(  # noqa: PLR0913 - flat, because the signature is the recipe's schema
        self,
        model: PreTrainedModel,
        *,
        view: str = "sentences",
        variant: Literal["moco", "xlco", "in_batch"] = "moco",
        layer: int | None = None,
        pooling: Literal["cls", "mean"] = "cls",
        projection: Literal["mlp", "linear", "none"] | None = None,
        projection_size: int | None = None,
        bias: bool = False,
        normalize_h: bool | None = None,
        normalize_z: bool = False,
        temperature: float | None = None,
        queue_size: int | None = None,
        queue_init: Literal["random", "warm"] = "random",
        momentum: float | None = None,
        key_dropout: bool = True,
        positive_in_denominator: bool = True,
        mask_duplicates: Literal["none", "same_source_id"] = "none",
        mixup: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        _check_choices(
            variant=variant, pooling=pooling, projection=projection, mask_duplicates=mask_duplicates
        )
        preset = _PRESETS[variant]

        def given(name: str, value: Any) -> Any:
            return preset[name] if value is None else value

        self.view, self.variant, self.pooling, self.seed = view, variant, pooling, seed
        depth, width = num_layers(model), hidden_size(model)
        chosen: float = preset["layer"]
        # A preset's layer is a part of the depth.
        self.layer: int = round(chosen * depth) if layer is None else layer
        self.normalize_h: bool = given("normalize_h", normalize_h)
        self.normalize_z, self.key_dropout, self.mixup = normalize_z, key_dropout, mixup
        self.temperature: float = given("temperature", temperature)
        self.positive_in_denominator, self.mask_duplicates = positive_in_denominator, mask_duplicates
        kind = given("projection", projection)
        self._check(
            depth,
            queue_size=queue_size or None,
            momentum=momentum or None,
            queue_init=None if queue_init == "random" else queue_init,
            key_dropout=None if key_dropout else key_dropout,
            positive_in_denominator=None if positive_in_denominator else positive_in_denominator,
        )
        if kind == "none" and (projection_size not in (None, width) or bias):
            raise ConfigurationError(
                f"sentence_contrast: projection: none given with projection_size: {projection_size} and bias: {bias}, "
                "which it does not have; leave them out or write projection: mlp"
            )
        size = width if kind == "none" else given("projection_size", projection_size) or width
        std = float(getattr(model.config, "initializer_range", 0.02))
        self.projection = ProjectionHead(
            width, size, kind=kind, bias=bias, std=std, generator=generator_for(seed, "projection")
        )
        self.projection_size, self.queue_size = size, given("queue_size", queue_size)
        self.momentum = given("momentum", momentum)
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.queue: KeyQueue | None = None
        if variant != "in_batch":
            m = given("momentum", momentum)
            base: PreTrainedModel = model.base_model  # type: ignore[assignment]
            self.momentum_encoder: MomentumCopy[PreTrainedModel] = MomentumCopy(base, m)
            self.momentum_projection: MomentumCopy[ProjectionHead] = MomentumCopy(self.projection, m)
            self.queue = KeyQueue(
                given("queue_size", queue_size),
                size,
                init=queue_init,
                generator=generator_for(seed, "queue"),
            )

    def forward(self, encodings: Encodings, batch: Batch) -> ObjectiveOutput:
        """Summed InfoNCE of the batch's pairs."""
        if self.mixup:
            encodings = self._mixed(encodings)
        queries = self._online(encodings, "query")
        if self.queue is None:
            keys = self._online(encodings, "key")
            losses, correct = self._in_batch(queries, keys)
        else:
            keys = self._keys(encodings)
            losses, correct = self._against_queue(self.queue, queries, keys, self._source_ids(batch))
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
        if self.queue is not None:
            self.momentum_encoder.update(encoder.base_model)
            self.momentum_projection.update(self.projection)

    @torch.no_grad()
    def fill(self, encodings: Encodings, batch: Batch) -> None:
        """Enqueue a batch's keys without a loss, to start with a queue of real keys."""
        if self.queue is not None:
            keys = self._keys(self._mixed(encodings) if self.mixup else encodings)
            self._enqueue(self.queue, keys, self._source_ids(batch))

    def _online(self, encodings: Encodings, side: str) -> Tensor:
        states = encodings.hidden(self.view, self.layer, side=side)
        return self._vectors(states, encodings.inputs(self.view, side), self.projection)

    @torch.no_grad()
    def _keys(self, encodings: Encodings) -> Tensor:
        inputs = encodings.inputs(self.view, "key")
        states = encode_to_layer(
            self.momentum_encoder.module,
            inputs,
            self.layer,
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
        self, queue: KeyQueue, queries: Tensor, keys: Tensor, source_ids: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        valid = queue.valid()
        excluded = None if valid is None else ~valid[None, :]
        if source_ids is not None:
            same = source_ids[:, None] == queue.source_ids[None, :]
            excluded = same if excluded is None else same | excluded
        losses, correct = key_queue_loss(
            queries,
            keys,
            queue.keys.clone(),  # enqueuing changes the buffer before the backward pass reads it
            temperature=self.temperature,
            positive_in_denominator=self.positive_in_denominator,
            excluded=excluded,
        )
        if self.training:
            self._enqueue(queue, keys, source_ids)
        return losses, correct

    def _enqueue(self, queue: KeyQueue, keys: Tensor, source_ids: Tensor | None) -> None:
        gathered = gather_rows(keys.float())
        if 0 < queue.size < len(gathered):
            raise ConfigurationError(
                f"sentence_contrast: queue_size: {queue.size} given for a global batch of "
                f"{len(gathered)} pairs; "
                f"the queue has to hold one batch at least: queue_size: {len(gathered)} or more (PPA: 32000)"
            )
        queue.enqueue(gathered, None if source_ids is None else gather_rows(source_ids))

    def _in_batch(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        all_queries, start = gather_rows_with_gradient(queries)
        all_keys, _ = gather_rows_with_gradient(keys)
        return in_batch_loss(all_queries, all_keys, start, len(queries), temperature=self.temperature)

    def _source_ids(self, batch: Batch) -> Tensor | None:
        if self.mask_duplicates == "none":
            return None
        if "source_key_ids" not in batch[self.view]:
            raise ConfigurationError(
                f"sentence_contrast: mask_duplicates: same_source_id given, but view {self.view!r} has no "
                "source_key_ids; give a view of type sentence_pair, or mask_duplicates: none"
            )
        return batch[self.view]["source_key_ids"].flatten()

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
            encodings.model, {self.view: tensors}, language_embeddings=encodings.language_embeddings
        )

    def _check(self, depth: int, **of_queue: Any) -> None:
        """Options that contradict each other; ``of_queue`` those that only a key queue has, ``None`` by default."""
        problems = []
        if not 0 <= self.layer <= depth:
            problems.append(
                f"layer: {self.layer} given; this encoder has layers 0 (embeddings) to {depth}: "
                f"layer: {depth}"
            )
        if self.temperature <= 0:
            problems.append(
                f"temperature: {self.temperature} given; a positive number is needed: temperature: 0.05"
            )
        unused = [f"{name}: {value}" for name, value in of_queue.items() if value is not None]
        if self.variant == "in_batch" and unused:
            problems.append(
                f"{', '.join(unused)} given with variant: in_batch, which has no queue and no momentum copy; "
                "leave it out or write variant: moco"
            )
        if self.mixup and self.mask_duplicates != "none":
            problems.append(
                "mixup: true and mask_duplicates: same_source_id given; a mixed sentence has two sources, so "
                "write mask_duplicates: none"
            )
        if self.variant == "in_batch" and self.mask_duplicates != "none":
            problems.append(
                "mask_duplicates: same_source_id given with variant: in_batch; it is for key queues: "
                "mask_duplicates: none"
            )
        if problems:
            raise ConfigurationError(problems, heading="sentence_contrast:")


def _check_choices(**given: str | None) -> None:
    known = {
        "variant": ("moco", "xlco", "in_batch"),
        "pooling": ("cls", "mean"),
        "projection": (None, "mlp", "linear", "none"),
        "mask_duplicates": ("none", "same_source_id"),
    }
    problems = [
        f"{name}: {value!r} given; it is one of {', '.join(str(k) for k in known[name] if k)}"
        for name, value in given.items()
        if value not in known[name]
    ]
    if problems:
        raise ConfigurationError(problems, heading="sentence_contrast:")
