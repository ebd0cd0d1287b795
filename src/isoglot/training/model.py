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
"""An objective's weight, or a function from the optimiser step (0-based) to it: a ``WeightSection``."""


class AlignmentModel(nn.Module):
    """The encoder with everything that trains it.

    With ``w`` an objective's weight, ``Σ`` its summed loss and ``N`` its number of items over the *whole optimiser
    step* (all ranks, all accumulated micro-batches), the step's loss is

    * ``token``: ``Σ_objectives w · Σ / N`` (each objective's mean, however the step is split);
    * ``joint_token``: ``Σ_objectives w · Σ / Σ_objectives N`` (fairseq's multi-task weighting, XLM-Align's code);
    * ``batch_mean``: the mean over ranks and micro-batches of ``Σ_objectives w · Σ_batch / N_batch``.

    An objective that cannot count its items before the forward, not even by :meth:`Objective.look_ahead`, is divided by
    its items in this micro-batch over all ranks, and by the number of micro-batches. No item at all gives an exact 0
    with its gradient graph. An objective whose weight is 0 at a step is not run.

    ``transformers.Trainer`` trains it too, with a :class:`~isoglot.training.collate.Collator`,
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
    """``transformers.Trainer`` divides the loss by the number of micro-batches, and gives no count of its own."""

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
        if normalisation not in (known := get_args(Normalisation)):
            text = f"got {normalisation!r}; {did_you_mean(normalisation, known)}"
            raise ConfigurationError(Problem(text, ("normalisation",)))
        if not isinstance(objectives, Mapping):
            raise ConfigurationError(
                f"objectives: expected a dictionary from names to objectives, got a {type(objectives).__name__}"
            )
        for name, objective in objectives.items():
            require_objective(type(objective), f"objective {name!r}")
        if unknown := (weights or {}).keys() - objectives.keys():
            raise ConfigurationError(
                f"got weights of {sorted(unknown)}, but the objectives are {sorted(objectives)}"
            )
        self.model = unwrapped(model)
        self.objectives = nn.ModuleDict(objectives)
        self.weights: dict[str, Weight] = {name: (weights or {}).get(name, 1.0) for name in objectives}
        self.normalisation = normalisation
        self.language_embeddings = language_embeddings
        self.step = 0
        self._watched = True
        self._first_values: Tensor | None = None

    @property
    def _no_split_modules(self) -> list[str]:
        """The classes that FSDP shards by themselves: the transformer layers, a momentum copy's too.

        Not the library's own list, which has the embeddings as well; those are read outside of their module.
        """
        return [type(layer).__name__ for layer in (layer_modules(self.model) or ())[:1]]

    def active(self) -> dict[str, Objective]:
        """The objectives whose weight is not 0 at the current step."""
        return {n: o for n, o in self.objectives.items() if self.weight(n) != 0.0}  # type: ignore[misc]

    def weight(self, name: str) -> float:
        """An objective's weight at the current step."""
        weight = self.weights[name]
        return float(weight(self.step)) if callable(weight) else float(weight)

    def step_counts(
        self, batches: Sequence[OpenBatch], reduce: Callable[[Tensor], Tensor], *, ahead: bool = True
    ) -> dict[str, Tensor | None]:
        """Items of a whole optimiser step per active objective, as :meth:`forward` takes them.

        Args:
            batches: this rank's micro-batches.
            reduce: sums a tensor over ranks.
            ahead: whether objectives that cannot count otherwise may run the encoder, without gradient, where the step
                has several micro-batches; what they find is added to the batches.
        """
        local: dict[str, Tensor] = {}
        for name, objective in self.active().items() if batches else ():
            if ahead and len(batches) > 1:
                self._look_ahead(objective, batches)
            known = [objective.count(batch) for batch in batches]
            parts = [c.detach().reshape(()).float().cpu() for c in known if c is not None]
            if len(parts) == len(known):
                local[name] = torch.stack(parts).sum()
        if not local:
            return {}
        return dict(zip(local, reduce(torch.stack(list(local.values()))), strict=True))

    @torch.no_grad()
    def _look_ahead(self, objective: Objective, batches: Sequence[OpenBatch]) -> None:
        if type(objective).look_ahead is Objective.look_ahead:
            return
        device = next(self.model.parameters()).device
        for batch in batches:
            if objective.count(batch) is None:
                moved = {v: {n: t.to(device) for n, t in tensors.items()} for v, tensors in batch.items()}
                objective.look_ahead(
                    Encodings(self.model, moved, language_embeddings=self.language_embeddings), batch
                )

    def forward(
        self,
        batch: Batch | None = None,
        counts: Mapping[str, Tensor | None] | None = None,
        accumulation: int = 1,
        **views: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """This micro-batch's share of the optimiser step's loss.

        Args:
            batch: view name to collated tensors.
            counts: items of the whole optimiser step per objective, over ranks and micro-batches; else counted here.
            accumulation: number of micro-batches in the step.
            **views: the batch's views by name, as ``transformers.Trainer`` gives them, instead of ``batch``.

        Returns:
            ``loss`` (gradients averaged over ranks and summed over micro-batches are those of the step's loss), and per
            objective, detached: ``totals``, ``counts`` and ``metrics`` (``objective/name`` to a mean and its items).
        """
        batch = views if batch is None else batch
        learning = self.training and torch.is_grad_enabled()
        if learning:
            self._watch_steps()
        active = self.active()
        tops = [objective.top_layer for objective in active.values()]
        top = None if None in tops else max((layer for layer in tops if layer is not None), default=None)
        encodings = Encodings(self.model, batch, language_embeddings=self.language_embeddings, top=top)
        outputs = {name: objective(encodings, batch) for name, objective in active.items()}
        loss = self._combined(outputs, counts or {}, accumulation)
        if learning and not loss.requires_grad:
            raise ConfigurationError(
                f"nothing is trained at step {self.step}: {', '.join(active)} is frozen; raise a part's rate"
            )
        waits = not any(parameter.requires_grad for parameter in base_of(self.model).parameters())
        for name, output in outputs.items() if learning and not waits else ():
            if not output.total.requires_grad and output.count > 0:
                raise ConfigurationError(
                    f"objective {name!r}: its loss carries no gradient, so it trains nothing. Read the encoder with "
                    "`encodings.last(view)` or `encodings.hidden(view, layer)`; `encodings.layer` gives states without "
                    "gradient. If the parts that it reads are frozen (parts:), remove the objective"
                )
        return {
            "loss": loss,
            "totals": {n: o.total.detach().float() for n, o in outputs.items()},
            "counts": {n: o.count.detach().float() for n, o in outputs.items()},
            "metrics": {
                f"{n}/{k}": (v.detach().float(), torch.as_tensor(o.items.get(k, o.count)).detach().float())
                for n, o in outputs.items()
                for k, v in o.metrics.items()
            },
        }

    def _watch_steps(self) -> None:
        """Warn once of an optimiser step without :meth:`after_step`, where objectives depend on it."""
        names = [name for name, weight in self.weights.items() if callable(weight)]
        unmoved = Objective.after_step
        names += [
            n for n, o in self.objectives.items() if getattr(type(o), "after_step", unmoved) is not unmoved
        ]
        if not self._watched or not names:
            return
        values = [p.detach().flatten()[:1].float().cpu() for p in self.parameters() if p.requires_grad]
        before, self._first_values = self._first_values, torch.cat(values)
        if before is not None and not torch.equal(before, self._first_values):
            self.expect_steps()
            _LOGGER.warning(
                "%s: does not know of an optimiser step, so schedules, momentum copies and changes of labels stay at "
                "the first one; add callbacks=[ObjectiveSteps()] of isoglot.training.callbacks to the Trainer, or set "
                "model.step and call model.after_step() in your own loop",
                ", ".join(dict.fromkeys(names)),
            )

    def expect_steps(self) -> None:
        """Trust that :meth:`after_step` follows every optimiser step, which is watched for until its first call."""
        self._watched = False

    @torch.no_grad()
    def after_step(self) -> None:
        """Tell every objective, of weight 0 or not, that an optimiser step has been taken."""
        self.expect_steps()
        for objective in self.objectives.values():
            objective.after_step(self.model)  # type: ignore[operator]

    def activation_checkpointing_enable(self, *args: Any, **kwargs: Any) -> None:
        """Recompute the encoder's activations in the backward pass."""
        self.model.activation_checkpointing_enable(*args, **kwargs)

    def gradient_checkpointing_enable(self, *args: Any, **kwargs: Any) -> None:
        """The older name of :meth:`activation_checkpointing_enable`."""
        self.model.gradient_checkpointing_enable(*args, **kwargs)

    def _combined(
        self, outputs: Mapping[str, LossOutput], counts: Mapping[str, Tensor | None], accumulation: int
    ) -> Tensor:
        """The weighted sum, normalised; each part is scaled by the number of ranks because DDP averages over them."""
        if not outputs:
            raise ConfigurationError(
                f"every objective has weight 0 at step {self.step}; let one start at step 0"
            )
        totals = {n: self.weight(n) * o.total.float() for n, o in outputs.items()}
        if self.normalisation == "batch_mean":
            parts = [totals[n] / o.count.clamp(min=1) / accumulation for n, o in outputs.items()]
            return torch.stack(parts).sum()
        ranks = _world_size()
        known = {n: _of_step(counts.get(n), o, accumulation) for n, o in outputs.items()}
        if self.normalisation == "joint_token":
            everything = torch.stack([c.float().to(totals[n].device) for n, c in known.items()]).sum()
            return torch.stack(list(totals.values())).sum() * ranks / everything.clamp(min=1)
        return torch.stack([totals[n] * ranks / c.clamp(min=1) for n, c in known.items()]).sum()


def _of_step(count: Tensor | None, output: LossOutput, accumulation: int) -> Tensor:
    """Items of the whole step: as given, or this micro-batch's over all ranks times the number of micro-batches."""
    if count is not None:
        return count.to(output.total.device).float()
    here = output.count.detach().to(output.total.device).float().reshape(()).clone()
    if _world_size() > 1:
        dist.all_reduce(here)
    return here * accumulation


def _world_size() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
