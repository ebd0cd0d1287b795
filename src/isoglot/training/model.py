"""Encoder, objectives and weights as one module: a batch of views in, one loss out."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import torch
import torch.distributed as dist
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError, Problem
from isoglot.losses.base import LossOutput
from isoglot.modules.encoder import base_of, layer_modules, unwrapped
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, Objective, OpenBatch, require_objective

_LOGGER = logging.getLogger(__name__)

Normalisation = Literal["token", "joint_token", "batch_mean"]

Weight = float | Callable[[int], float]
"""An objective's weight, or a function from the optimiser step (0-based) to the weight, such as a ``WeightSection``."""


class AlignmentModel(nn.Module):
    """The encoder with everything that trains it.

    An objective has a weight ``w``. Over the *whole optimiser step*, all ranks and all accumulated micro-batches, its
    losses add up to ``L``, and it has ``N`` items (masked pieces, pairs). ``Σ`` runs over the objectives. The loss of
    the step is

    * ``token``: ``Σ (w · L / N)``, the mean of each objective, however the step is split;
    * ``joint_token``: ``Σ (w · L) / Σ N`` (fairseq's multi-task weighting, XLM-Align's code);
    * ``batch_mean``: ``Σ (w · L / N)`` with ``L`` and ``N`` of each micro-batch, averaged over ranks and micro-batches.

    With ``token``, an objective of 1 item in one micro-batch and 9 in the other is a mean over 10 items; with
    ``batch_mean`` the one item counts as much as the other nine together.

    Special cases:

    1. Some objectives know the number of their items only after the forward pass, even with
       :meth:`Objective.look_ahead`. For these the items of this micro-batch over all ranks, times the number of
       micro-batches, stand for the items of the step.
    2. An objective without any item gives an exact 0 with its gradient graph.
    3. An objective whose weight is 0 at a step is not run.

    ``transformers.Trainer`` trains this model too, with a :class:`~isoglot.training.collate.Collator`,
    ``remove_unused_columns=False``, ``save_strategy="no"`` and the callback
    :class:`~isoglot.training.callbacks.ObjectiveSteps`; each micro-batch then has the same weight.

    Args:
        model: encoder with its masked-LM head, shared by every objective; of a ``PeftModel`` the model inside.
        objectives: name to objective.
        weights: name to weight; 1 where it is not named.
        normalisation: as above.
        language_embeddings: table added to the inputs of views that have ``language_ids``.

    Attributes:
        step: the optimiser step (0-based) that weights are read at; the trainer sets it.
    """

    accepts_loss_kwargs = False
    """Makes a plain ``transformers.Trainer`` divide the loss by the number of micro-batches, and pass no count of its
    own: :class:`~isoglot.training.saving.StagedTrainer` says who divides the loss by what."""

    def __init__(
        self,
        model: PreTrainedModel,
        objectives: Mapping[str, Objective],
        weights: Mapping[str, Weight] | None = None,
        *,
        normalisation: Normalisation = "token",
        language_embeddings: nn.Embedding | None = None,
    ) -> None:
        super().__init__()
        known = get_args(Normalisation)
        if normalisation not in known:
            text = f"got {normalisation!r}; {did_you_mean(normalisation, known)}"
            raise ConfigurationError(Problem(text, ("normalisation",)))
        if not isinstance(objectives, Mapping):
            raise ConfigurationError(
                f"objectives: expected a dictionary from names to objectives, got a {type(objectives).__name__}"
            )
        for name, objective in objectives.items():
            require_objective(type(objective), f"objective {name!r}")
        unknown = (weights or {}).keys() - objectives.keys()
        if unknown:
            raise ConfigurationError(
                f"got weights of {sorted(unknown)}, but the objectives are {sorted(objectives)}"
            )
        self.model = unwrapped(model)
        self.objectives = nn.ModuleDict(objectives)
        self.weights: dict[str, Weight] = {name: (weights or {}).get(name, 1.0) for name in objectives}
        self.normalisation = normalisation
        self.language_embeddings = language_embeddings
        self.step = 0
        # Until `after_step` is called for the first time, `forward` looks whether parameters change without it.
        self._looks_for_steps = True
        self._values_before: Tensor | None = None

    @property
    def _no_split_modules(self) -> list[str]:
        """The classes whose modules FSDP shards one by one: the transformer layers, also those of a momentum copy.

        The library's own list has the embeddings too. These are left out: objectives read the table of embeddings
        outside of its module's forward, where its shards are not gathered.
        """
        return [type(layer).__name__ for layer in (layer_modules(self.model) or ())[:1]]

    def active(self) -> dict[str, Objective]:
        """Return the objectives whose weight is not 0 at the current step."""
        return {
            name: objective  # type: ignore[misc]
            for name, objective in self.objectives.items()
            if self.weight(name) != 0.0
        }

    def weight(self, name: str) -> float:
        """Return an objective's weight at the current step."""
        weight = self.weights[name]
        return float(weight(self.step)) if callable(weight) else float(weight)

    def step_counts(
        self, batches: Sequence[OpenBatch], reduce: Callable[[Tensor], Tensor], *, ahead: bool = True
    ) -> dict[str, Tensor | None]:
        """Count the items of a whole optimiser step for each active objective, for :meth:`forward`.

        ``{"mlm": 320, "contrast": 64}``. An objective that cannot count the items of every micro-batch is left out.

        Args:
            batches: this rank's micro-batches.
            reduce: sums a tensor over ranks.
            ahead: whether objectives that cannot count otherwise may run the encoder, without gradient. They add what
                they find to the batches, such as links, and count that. In a step of one micro-batch they need not:
                their items are counted after the forward pass.
        """
        if not batches:
            return {}
        on_this_rank: dict[str, Tensor] = {}
        for name, objective in self.active().items():
            if ahead and len(batches) > 1:
                self._look_ahead(objective, batches)
            counts = [objective.count(batch) for batch in batches]
            known = [count.detach().reshape(()).float().cpu() for count in counts if count is not None]
            if len(known) == len(counts):
                on_this_rank[name] = torch.stack(known).sum()
        if not on_this_rank:
            return {}
        # One message between the ranks for all objectives.
        over_ranks = reduce(torch.stack(list(on_this_rank.values())))
        return dict(zip(on_this_rank, over_ranks, strict=True))

    @torch.no_grad()
    def _look_ahead(self, objective: Objective, batches: Sequence[OpenBatch]) -> None:
        """Let an objective that has a ``look_ahead`` run it on each micro-batch whose items it cannot count yet."""
        if type(objective).look_ahead is Objective.look_ahead:
            return
        device = next(self.model.parameters()).device
        for batch in batches:
            if objective.count(batch) is not None:
                continue
            on_device: dict[str, dict[str, Tensor]] = {}
            for view, tensors in batch.items():
                on_device[view] = {key: tensor.to(device) for key, tensor in tensors.items()}
            encodings = Encodings(self.model, on_device, language_embeddings=self.language_embeddings)
            objective.look_ahead(encodings, batch)

    def forward(
        self,
        batch: Batch | None = None,
        counts: Mapping[str, Tensor | None] | None = None,
        accumulation: int = 1,
        **views: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """Compute this micro-batch's share of the optimiser step's loss.

        Args:
            batch: view name to collated tensors.
            counts: items of the whole optimiser step per objective, over ranks and micro-batches
                (:meth:`step_counts`); objectives that are not in it are counted here.
            accumulation: number of micro-batches in the step.
            **views: the batch's views by name, as ``transformers.Trainer`` gives them, instead of ``batch``.

        Returns:
            ``loss``: the share. Its gradients, averaged over ranks and summed over micro-batches, are those of the
            step's loss. The other three are of this micro-batch alone, and detached:

            * ``totals``: the sum of each objective's losses, ``{"mlm": 640.0}``;
            * ``counts``: the number of items in each sum, ``{"mlm": 300}``; the argument ``counts`` has the numbers of
              the whole step;
            * ``metrics``: ``{"mlm/accuracy": (mean, number of items)}``.

            The graph can be walked backwards several times (``retain_graph=True``), as for the gradient of one
            objective: the vocabulary loss then computes its gradients once more.
        """
        batch = views if batch is None else batch
        is_learning = self.training and torch.is_grad_enabled()
        if is_learning:
            self._watch_steps()
        active = self.active()
        encodings = Encodings(
            self.model, batch, language_embeddings=self.language_embeddings, top=_highest_layer(active)
        )
        outputs = {name: objective(encodings, batch) for name, objective in active.items()}
        loss = self._combined(outputs, counts or {}, accumulation)
        if is_learning:
            self._require_gradients(loss, outputs)
        metrics: dict[str, tuple[Tensor, Tensor]] = {}
        for name, output in outputs.items():
            # A metric is a mean over as many items as the loss, unless `LossOutput.items` has another number for it.
            counts_of_metrics = output.items
            for metric, mean in output.metrics.items():
                count = torch.as_tensor(counts_of_metrics.get(metric, output.count))
                metrics[f"{name}/{metric}"] = mean.detach().float(), count.detach().float()
        return {
            "loss": loss,
            "totals": {name: output.total.detach().float() for name, output in outputs.items()},
            "counts": {name: output.count.detach().float() for name, output in outputs.items()},
            "metrics": metrics,
        }

    def _require_gradients(self, loss: Tensor, outputs: Mapping[str, LossOutput]) -> None:
        """Refuse a loss that trains nothing: the whole one, or that of one objective."""
        if not loss.requires_grad:
            raise ConfigurationError(
                f"nothing is trained at step {self.step}: {', '.join(outputs)} is frozen; raise a part's rate"
            )
        # While the whole encoder is frozen an objective without weights of its own has no gradient, and needs none.
        if not any(parameter.requires_grad for parameter in base_of(self.model).parameters()):
            return
        for name, output in outputs.items():
            if not output.total.requires_grad and output.count > 0:
                raise ConfigurationError(
                    f"objective {name!r}: its loss carries no gradient, so it trains nothing. Read the encoder with "
                    "`encodings.last(view)` or `encodings.hidden(view, layer)`; `encodings.layer` gives states without "
                    "gradient. If the parts that it reads are frozen (parts:), remove the objective"
                )

    def _watch_steps(self) -> None:
        """Warn once if objectives depend on :meth:`after_step`, but an optimiser step was taken without it.

        An optimiser step shows in the parameters: the first number of a trained tensor has changed since the last call.
        """
        if not self._looks_for_steps:
            return
        # Objectives that depend on steps: by a scheduled weight, or by an `after_step` of their own.
        names = [name for name, weight in self.weights.items() if callable(weight)]
        for name, objective in self.objectives.items():
            # The method of `Objective` itself does nothing.
            if type(objective).after_step is not Objective.after_step:  # type: ignore[attr-defined]
                names.append(name)
        if not names:
            return
        trained = [parameter for parameter in self.parameters() if parameter.requires_grad]
        values = torch.cat([parameter.detach().flatten()[:1].float().cpu() for parameter in trained])
        before, self._values_before = self._values_before, values
        if before is not None and not torch.equal(before, values):
            self.stop_watching_steps()
            _LOGGER.warning(
                "%s: does not know of an optimiser step, so schedules, momentum copies and changes of labels stay at "
                "the first one; add callbacks=[ObjectiveSteps()] of isoglot.training.callbacks to the Trainer, or set "
                "model.step and call model.after_step() in your own loop",
                ", ".join(dict.fromkeys(names)),
            )

    def stop_watching_steps(self) -> None:
        """Stop looking for optimiser steps without :meth:`after_step`: the caller calls it after every step."""
        self._looks_for_steps = False

    @torch.no_grad()
    def after_step(self) -> None:
        """Tell every objective, of weight 0 or not, that an optimiser step has been taken."""
        self.stop_watching_steps()
        for objective in self.objectives.values():
            objective.after_step(self.model)  # type: ignore[operator]

    def activation_checkpointing_enable(self, *args: Any, **kwargs: Any) -> None:
        """Recompute the encoder's activations in the backward pass."""
        self.model.activation_checkpointing_enable(*args, **kwargs)

    def gradient_checkpointing_enable(self, *args: Any, **kwargs: Any) -> None:
        """The older name of :meth:`activation_checkpointing_enable`."""
        self.model.gradient_checkpointing_enable(*args, **kwargs)

    def _combined(
        self, outputs: Mapping[str, LossOutput], known_counts: Mapping[str, Tensor | None], accumulation: int
    ) -> Tensor:
        """Combine the objectives' losses into this micro-batch's share, by weight and normalisation.

        The share is a sum of parts, one per objective. Its scale: gradients, averaged over ranks and summed over
        micro-batches, are those of the step's loss. The part of one objective then gives the gradients of ``w · L / N``
        (``w · L / Σ N`` with ``joint_token``).

        1. DDP averages over ranks. A loss that is divided by the items of all ranks is therefore multiplied by the
           number of ranks, so that the average is a sum.
        2. Micro-batches are summed, so only ``batch_mean``, an average, divides by their number here. The library
           divides every loss by that number; the trainer's ``compute_loss`` multiplies by it before.

        ``known_counts``: Items of the whole step, for the objectives that could count them.
        """
        if not outputs:
            raise ConfigurationError(
                f"every objective has weight 0 at step {self.step}; let one start at step 0"
            )
        weighted = {name: self.weight(name) * output.total.float() for name, output in outputs.items()}
        if self.normalisation == "batch_mean":
            parts = [
                weighted[name] / output.count.clamp(min=1) / accumulation for name, output in outputs.items()
            ]
            return torch.stack(parts).sum()
        ranks = _world_size()
        counts_of_step: dict[str, Tensor] = {}
        for name, output in outputs.items():
            counts_of_step[name] = _count_of_step(known_counts.get(name), output, accumulation)
        if self.normalisation == "joint_token":
            # Counts may be on the CPU, and parts of the model on other devices.
            on_device = [count.float().to(weighted[name].device) for name, count in counts_of_step.items()]
            total_count = torch.stack(on_device).sum()
            return torch.stack(list(weighted.values())).sum() * ranks / total_count.clamp(min=1)
        parts = [weighted[name] * ranks / count.clamp(min=1) for name, count in counts_of_step.items()]
        return torch.stack(parts).sum()


def _highest_layer(objectives: Mapping[str, Objective]) -> int | None:
    """Return the highest layer that objectives read with gradient; ``None`` if one may read all, or there are none."""
    layers: list[int] = []
    for objective in objectives.values():
        if objective.top_layer is None:
            return None
        layers.append(objective.top_layer)
    return max(layers, default=None)


def _count_of_step(count: Tensor | None, output: LossOutput, accumulation: int) -> Tensor:
    """Return the number of an objective's items in the whole optimiser step, on the device of its loss.

    If the ``count`` is not known, it is estimated: the items of this micro-batch on all ranks, times the number of
    micro-batches.
    """
    if count is not None:
        return count.to(output.total.device).float()
    of_micro_batch = output.count.detach().to(output.total.device).float().reshape(()).clone()
    if _world_size() > 1:
        dist.all_reduce(of_micro_batch)  # in place: the sum over ranks
    return of_micro_batch * accumulation


def _world_size() -> int:
    """Return the number of processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
