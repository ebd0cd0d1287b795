"""Contrast of sentences with their translations against a queue of earlier keys: the loss of MoCo, PPA and XlCo."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Positive, Share
from isoglot.core.seeding import generator_for
from isoglot.losses.base import Loss, LossOutput, require_axes
from isoglot.modules.contrast import ProjectionHead, gather_rows, key_queue_loss
from isoglot.modules.momentum import KeyQueue, MomentumCopy


@dataclass(eq=False, repr=False)
class KeyQueueContrast(Loss):
    """InfoNCE between a sentence and its translation, with a queue of earlier keys as negatives.

    Equation: ``L = −(1/n) Σ log [e^(z_q·z_k / τ) / (e^(z_q·z_k / τ) + Σ_{i ≤ K} e^(z_q·z_i / τ))]``,
    ``z = W₂ ReLU(W₁ h/‖h‖)``

    The query's h comes from the encoder, the key's from a momentum copy of it
    (:class:`~isoglot.modules.momentum.MomentumCopy`). Both are projected to z here, the key by a momentum copy of the
    projection. The K negatives z_i are earlier keys of all ranks: first the loss is computed, then the keys of this
    batch are enqueued, in training mode only. Call :meth:`advance` after each optimiser step.

    Args:
        hidden_size: Size of h.
        projection: ``mlp`` (PPA), ``linear``, one matrix (XlCo), or ``none``: z is h.
        projection_size: Size of z, unless the projection is ``none``.
        bias: Bias of the projection; the papers write none.
        normalize_h: divide h by its length.
        normalize_z: divide z by its length, as MoCo does; PPA does not say so.
        temperature: τ.
        queue_size: K.
        momentum: m, the part of its old weights that a momentum copy keeps at each step: ``θ' ← m θ' + (1 − m) θ``.
        positive_in_denominator: add the positive's own term to the denominator, as MoCo's code does; false is PPA's
            Eq. 3 to the letter, whose loss can be negative.
        seed: Seed of the projection's weights and the random keys.

    **Metrics**: ``accuracy`` (the positive scores highest), ``positive`` (mean z_q·z_k of the positives, not
    divided by τ).

    Raises:
        ConfigurationError: an option has an unknown value, or the queue is smaller than the global batch.

    Source: Pan et al. 2021, *Multilingual BERT Post-Pretraining Alignment* (PPA), §2.1, Eq. 1-3; He et al. 2020 (MoCo).

    Example:
        >>> encoder = torch.nn.Linear(8, 4)
        >>> slow = MomentumCopy(encoder, 0.99)
        >>> contrast = KeyQueueContrast(4, projection_size=6, queue_size=12, momentum=0.99)
        >>> optimizer = torch.optim.SGD([*encoder.parameters(), *contrast.head.parameters()], lr=0.1)
        >>> for source, target in [(torch.randn(3, 8), torch.randn(3, 8)) for _ in range(2)]:
        ...     with torch.no_grad():
        ...         keys = slow.module(target)
        ...     loss = contrast(encoder(source), keys)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
        ...     slow.update(encoder)
        ...     contrast.advance()
        >>> int(contrast.queue.pointer)
        6
    """

    hidden_size: int
    _: KW_ONLY
    projection: Literal["mlp", "linear", "none"] = "mlp"
    projection_size: int = 300
    bias: bool = False
    normalize_h: bool = True
    normalize_z: bool = False
    temperature: Positive = 0.05
    queue_size: Annotated[int, Field(ge=0)] = 32_000
    momentum: Share = 0.999
    positive_in_denominator: bool = True
    seed: int = 0

    initial_std = 0.02
    """Standard deviation of the projection's initial weights."""

    def __post_init__(self) -> None:
        self.settle()
        head = ProjectionHead(
            self.hidden_size,
            self.projection_size,
            kind=self.projection,
            bias=self.bias,
            std=self.initial_std,
            generator=generator_for(self.seed, "projection"),
        )
        size = self.hidden_size if self.projection == "none" else self.projection_size
        # Code that uses the head reads `self.head` and needs none of this.
        #
        # Checkpoints name the weights of the head `projection.*`. So it is the only module with the name of an option,
        # against the rule of `OptionsModule`: up to here `self.projection` is the option, and the line below this
        # comment puts the module in its place.
        #
        # Python looks for an attribute of the class before it asks `nn.Module` for a module of that name. An option's
        # default is an attribute of the class, so `self.projection` would still be "mlp". Hence:
        #
        # 1. The end of this file deletes the default from this class.
        # 2. A subclass that gives the option another default has such an attribute again. `head` looks among the
        #    modules only, so it finds the head there too. This package reads `head` alone.
        self.projection = head  # type: ignore[assignment]
        self.momentum_projection: MomentumCopy[ProjectionHead] = MomentumCopy(head, self.momentum)
        self.queue = KeyQueue(self.queue_size, size, generator=generator_for(self.seed, "queue"))

    @property
    def head(self) -> ProjectionHead:
        """The projection of the query, whose momentum copy projects the key."""
        # In a subclass that gives the option `projection` a default, `self.projection` is this default, not the module.
        return cast(ProjectionHead, self._modules["projection"])

    def measure(self, queries: Tensor, keys: Tensor, source_ids: Tensor | None = None) -> LossOutput:
        """Sum the InfoNCE of the batch's pairs.

        Args:
            queries: h of the sentences, with gradient.
            keys: h of their translations by the momentum encoder.
            source_ids: for each pair an id that all translations of one sentence share, such as the hash of its pivot
                sentence. Keys in the queue with the id of a query's own pair are not negatives for it. −1: unknown,
                all keys are negatives.

        **Shape**: queries and keys (batch, hidden); source_ids (batch,), int64.
        """
        require_axes(
            queries=(queries, "batch hidden"), keys=(keys, "batch hidden"), source_ids=(source_ids, "batch")
        )
        queries = self.project(queries, self.head)
        with torch.no_grad():
            keys = self.project(keys, self.momentum_projection.module)
        same_source = None
        if source_ids is not None:
            is_known = source_ids != -1
            same_source = (source_ids[:, None] == self.queue.source_ids[None, :]) & is_known[:, None]
        losses, correct = key_queue_loss(
            queries,
            keys,
            self.queue.keys.clone(),  # enqueuing changes the buffer before the backward pass reads it
            temperature=self.temperature,
            positive_in_denominator=self.positive_in_denominator,
            excluded=same_source,
        )
        if self.training:
            self._enqueue(keys, source_ids)
        total, count = losses.sum(), len(losses)
        positive = (queries.detach().float() * keys.detach().float()).sum()
        metrics = {"accuracy": correct.float().sum() / max(1, count), "positive": positive / max(1, count)}
        return LossOutput(total, torch.tensor(count, device=total.device), metrics)

    def project(self, vectors: Tensor, projection: ProjectionHead) -> Tensor:
        """Map h to z by the projection or its momentum copy (PPA, Eq. 2): (batch, hidden) -> (batch, size)."""
        if self.normalize_h:
            vectors = nn.functional.normalize(vectors.float(), dim=1)
        projected: Tensor = projection(vectors)
        return nn.functional.normalize(projected.float(), dim=1) if self.normalize_z else projected

    @torch.no_grad()
    def advance(self) -> None:
        """Move the momentum copy of the projection one step towards the projection (PPA, Eq. 1)."""
        self.momentum_projection.update(self.head)

    def _enqueue(self, keys: Tensor, source_ids: Tensor | None) -> None:
        """Put the keys of all ranks into the queue, so that it is the same on every rank."""
        gathered = gather_rows(keys.float())
        if 0 < self.queue.size < len(gathered):
            raise ConfigurationError(
                f"queue_size: {self.queue.size} is less than the global batch of {len(gathered)} pairs; "
                f"the queue must hold at least one batch: queue_size: {len(gathered)} or more (PPA: 32000)"
            )
        self.queue.enqueue(gathered, None if source_ids is None else gather_rows(source_ids))


# Rule 1 in `__post_init__`.
del KeyQueueContrast.projection
