"""Learning rates of the model's parts, and an encoder that waits until its new head has learnt something."""

from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import PreTrainedModel, TrainerCallback, TrainerState

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.modules.encoder import base_of, input_embeddings, layer_modules, num_layers
from isoglot.recipe.sections import PartsSection
from isoglot.training.model import AlignmentModel

_WAITS = "waits"
"""Key of the optimiser's groups that belong to the encoder or its embeddings."""


def part_rates(model: AlignmentModel, parts: PartsSection) -> dict[nn.Parameter, tuple[bool, float]]:
    """For each parameter, whether it is the encoder's, and its learning rate as a multiple of the run's."""
    rates: dict[nn.Parameter, tuple[bool, float]] = {}

    def claim(module: nn.Module, rate: float, *, encoder: bool) -> None:
        for parameter in module.parameters():
            rates.setdefault(parameter, (encoder, rate))

    base = base_of(model.model)
    layers = layer_modules(model.model)
    frozen = frozen_layers(model.model, parts)
    if layers is None and parts.layer_decay != 1:
        raise _not_separate(model.model, "layer_decay")
    for depth, layer in enumerate(reversed(layers or ())):
        number = len(layers or ()) - depth
        claim(layer, 0.0 if number in frozen else parts.encoder * parts.layer_decay**depth, encoder=True)
    lowest = 0.0 if 0 in frozen else parts.layer_decay ** len(layers or ())
    tables = [module for name, module in base.named_children() if "embeddings" in name]
    for module in (input_embeddings(model.model), *tables):
        claim(module, parts.embeddings * lowest, encoder=True)
    claim(base, parts.encoder, encoder=True)  # what is neither, such as a last normalisation
    claim(model.model, parts.head, encoder=False)
    claim(model, parts.objectives, encoder=False)
    return rates


def frozen_layers(encoder: PreTrainedModel, parts: PartsSection) -> set[int]:
    """The numbers of the layers that are never trained: 0 for the embeddings, 1 for the lowest layer.

    Raises:
        ConfigurationError: The encoder has no such layer, or its layers share their weights.
    """
    setting, layers = parts.freeze_layers, num_layers(encoder)
    if isinstance(setting, int):
        frozen = set(range(1, setting + 1) if setting >= 0 else range(layers + 1 + setting, layers + 1))
    else:
        frozen = {number + layers + 1 if number < 0 else number for number in setting}
    least = 1 if isinstance(setting, int) else 0
    if any(not least <= number <= layers for number in frozen):
        text = f"got {setting}, but this encoder has layers 1 to {layers}"
        raise ConfigurationError(Problem(text, ("parts", "freeze_layers")))
    if frozen - {0} and layer_modules(encoder) is None:
        raise _not_separate(encoder, "freeze_layers")
    return frozen


def _not_separate(encoder: PreTrainedModel, option: str) -> ConfigurationError:
    text = f"the layers of this {encoder.config.model_type} cannot be separated; remove it"
    return ConfigurationError(Problem(text, ("parts", option)))


def freeze(model: AlignmentModel, parts: PartsSection) -> None:
    """Let the parts of rate 0 need no gradient, so that neither gradients nor optimiser states are made for them."""
    for parameter, (_, rate) in part_rates(model, parts).items():
        if rate == 0:
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigurationError(
            "parts: nothing is left to train; raise the rate of one part, for example encoder=1, or freeze fewer layers"
        )


def split_groups(optimizer: torch.optim.Optimizer, model: AlignmentModel, parts: PartsSection) -> None:
    """Split the optimiser's groups by part, each with its learning rate; to be called before the first step."""
    rates, rate_of_run = part_rates(model, parts), optimizer.defaults["lr"]
    groups: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        by_part: dict[tuple[bool, float], list[nn.Parameter]] = {}
        for parameter in group["params"]:
            by_part.setdefault(rates[parameter], []).append(parameter)
        groups += [
            {**group, "params": members, "lr": group["lr"] * rate, _WAITS: encoder}
            for (encoder, rate), members in by_part.items()
        ]
    # The first group's rate is the one that is logged.
    groups.sort(key=lambda group: (group["lr"] != rate_of_run, group[_WAITS]))
    optimizer.param_groups[:] = groups


def warm_up_late(scheduler: LRScheduler, frozen: int, warmup: int) -> None:
    """Let the encoder's rate, after its frozen steps, grow over as many steps as the run's did at its start."""
    if not (frozen and warmup):
        return
    if not isinstance(scheduler, LambdaLR):
        raise ConfigurationError(
            "parts.freeze_encoder_steps: the encoder's rate cannot warm up late with this train.lr_scheduler_type; "
            "take linear, cosine or constant_with_warmup"
        )

    def late(schedule: Any) -> Any:
        def rate(step: int) -> float:
            waited = step - frozen
            return float(schedule(step)) * min(1.0, max(0, waited) / warmup)

        return rate

    groups = scheduler.optimizer.param_groups
    scheduler.lr_lambdas = [
        late(s) if group[_WAITS] else s for s, group in zip(scheduler.lr_lambdas, groups, strict=True)
    ]


def require_thaw(parts: PartsSection, steps: int, warmup: int) -> int:
    """The frozen steps of a run, after which there is one at least that trains the encoder."""
    frozen = parts.frozen_steps(steps)
    trained = steps - frozen - (1 if frozen and warmup else 0)  # the late warm-up begins at a rate of 0
    if frozen and trained < 1:
        text = (
            f"got {parts.freeze_encoder_steps}, but the run has {steps:,} steps, so the encoder would not be trained; "
            "train longer, or freeze a share of the steps, for example [[parts.freeze_encoder_steps=0.1]]"
        )
        raise ConfigurationError(Problem(text, ("parts", "freeze_encoder_steps")))
    return frozen


class FreezeFirst(TrainerCallback):
    """Keeps the encoder without gradient for the first, ``frozen`` steps."""

    def __init__(self, model: AlignmentModel, parts: PartsSection, frozen: int) -> None:
        self.model, self.parts, self.frozen = model, parts, frozen
        # Others have no gradient ever, such as tables of sines.
        self.trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        self.encoder: list[nn.Parameter] = []

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Find the parameters, which wrapping the model may have replaced."""
        rates = part_rates(self.model, self.parts)
        trained = {parameter for name, parameter in self.model.named_parameters() if name in self.trained}
        self.encoder = [p for p, (encoder, rate) in rates.items() if encoder and rate and p in trained]

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Freeze or thaw by the step's number alone, so that a resumed run does the same."""
        for parameter in self.encoder:
            parameter.requires_grad_(state.global_step >= self.frozen)
