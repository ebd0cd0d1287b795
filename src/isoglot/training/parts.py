"""Learning rates of the model's parts, and an encoder that waits until its new head has learnt something."""

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import PreTrainedModel, TrainerCallback, TrainerState

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.modules.encoder import base_of, input_embeddings, layer_modules, num_layers
from isoglot.recipe.sections import PartsSection
from isoglot.training.model import AlignmentModel

# Checkpoints have the key as "waits", so it keeps this name: during the first `freeze_encoder_steps` the groups with
# true are not trained, but wait for the new head.
_IS_ENCODER = "waits"
"""Key of a parameter group of the optimiser: whether its parameters belong to the encoder or the embeddings."""


class PartRate(NamedTuple):
    """The part that a parameter belongs to."""

    is_encoder: bool
    rate: float  # learning rate, as a multiple of the run's


def part_rates(model: AlignmentModel, parts: PartsSection) -> dict[nn.Parameter, PartRate]:
    """Return the learning rate of each parameter, and whether the parameter belongs to the encoder.

    Parts claim their parameters one after another, and the first one keeps a parameter that is in several: an output
    layer that is tied to the word embeddings has the rate of the embeddings.

    1. Layers, from the highest down: ``encoder``, times ``layer_decay`` for each layer above.
    2. Embeddings, below the lowest layer: ``embeddings``, times ``layer_decay`` for each layer.
    3. The rest of the encoder, such as a last normalisation: ``encoder``.
    4. The masked-LM head: ``head``.
    5. Everything else, the objectives and the language embeddings: ``objectives``.

    These are learning rates alone. Weight decay goes by names, for the objectives too: the library
    (``Trainer.get_decay_parameter_names``) leaves biases and normalisations out, and everything else decays.

    With two layers and ``layer_decay: 0.5`` the highest layer has rate 1, the lower one 0.5, the embeddings 0.25.
    """
    rates: dict[nn.Parameter, PartRate] = {}

    def claim(module: nn.Module, rate: float, *, is_encoder: bool) -> None:
        for parameter in module.parameters():
            rates.setdefault(parameter, PartRate(is_encoder, rate))

    base = base_of(model.model)
    layers = layer_modules(model.model)
    if layers is None and parts.layer_decay != 1:
        raise _not_separate(model.model, "layer_decay")
    count = len(layers or ())
    never_trained = frozen_layers(model.model, parts)
    for layers_above, layer in enumerate(reversed(layers or ())):  # 1
        number = count - layers_above
        rate = 0.0 if number in never_trained else parts.encoder * parts.layer_decay**layers_above
        claim(layer, rate, is_encoder=True)
    embeddings_rate = 0.0 if 0 in never_trained else parts.embeddings * parts.layer_decay**count
    tables = [module for name, module in base.named_children() if "embeddings" in name]
    for module in (input_embeddings(model.model), *tables):  # 2
        claim(module, embeddings_rate, is_encoder=True)
    claim(base, parts.encoder, is_encoder=True)  # 3
    claim(model.model, parts.head, is_encoder=False)  # 4
    claim(model, parts.objectives, is_encoder=False)  # 5
    return rates


def frozen_layers(encoder: PreTrainedModel, parts: PartsSection) -> set[int]:
    """Return the numbers of the layers that are never trained: 0 for the embeddings, 1 for the lowest layer.

    Of an encoder with 12 layers, ``freeze_layers`` 2 gives 1 and 2, −2 gives 11 and 12, and the list [0, −1] gives 0
    and 12.

    Raises:
        ConfigurationError: The encoder has no such layer, or its layers share their weights.
    """
    setting, layers = parts.freeze_layers, num_layers(encoder)
    if isinstance(setting, int):
        lowest = 1
        if setting >= 0:  # so many layers from below
            first, last = 1, setting
        else:  # from above: of 12 layers, −2 is 11 and 12
            first, last = layers + setting + 1, layers
        frozen = set(range(first, last + 1))
    else:
        lowest = 0  # a list may name the embeddings
        frozen = set()
        for number in setting:
            # Of 12 layers −1 is layer 12 and −12 is layer 1. −13 is no layer, and not the embeddings: they are only 0.
            is_counted_from_above = -layers <= number < 0
            frozen.add(number + layers + 1 if is_counted_from_above else number)
    if any(not lowest <= number <= layers for number in frozen):
        text = f"got {setting}, but this encoder has layers 1 to {layers}"
        raise ConfigurationError(Problem(text, ("parts", "freeze_layers")))
    if frozen - {0} and layer_modules(encoder) is None:
        raise _not_separate(encoder, "freeze_layers")
    return frozen


def _not_separate(encoder: PreTrainedModel, option: str) -> ConfigurationError:
    text = f"the layers of this {encoder.config.model_type} cannot be separated; remove it"
    return ConfigurationError(Problem(text, ("parts", option)))


def freeze(model: AlignmentModel, parts: PartsSection) -> None:
    """Switch off the gradients of parts with rate 0, so that they take no memory for gradients or optimiser states."""
    for parameter, part in part_rates(model, parts).items():
        if part.rate == 0:
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ConfigurationError(
            "parts: nothing is left to train; raise the rate of one part, for example encoder=1, or freeze fewer layers"
        )


def split_groups(optimizer: torch.optim.Optimizer, model: AlignmentModel, parts: PartsSection) -> None:
    """Split the optimiser's parameter groups by part, each with the learning rate of the part.

    The optimiser has a parameter group with weight decay and one without. They become, say, four: the encoder with
    decay, the head with decay, the encoder without, the head without. Call this function before the first step.
    """
    rates, rate_of_run = part_rates(model, parts), optimizer.defaults["lr"]
    groups: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        by_part: dict[PartRate, list[nn.Parameter]] = {}
        for parameter in group["params"]:
            by_part.setdefault(rates[parameter], []).append(parameter)
        for part, members in by_part.items():
            changes = {"params": members, "lr": group["lr"] * part.rate, _IS_ENCODER: part.is_encoder}
            groups.append({**group, **changes})
    # The trainer logs the first group's rate: it should be the run's, and of a part that is never frozen.
    groups.sort(key=lambda group: (group["lr"] != rate_of_run, group[_IS_ENCODER]))
    optimizer.param_groups[:] = groups


def warm_up_late(scheduler: LRScheduler, frozen_steps: int, warmup: int) -> None:
    """Give the encoder a warm-up of its own after the steps in which it was frozen.

    With 100 frozen steps and a warm-up of 10 the encoder's rate is 0 at step 100, half of the schedule's at step 105,
    and the schedule's from step 110 on. Other parts warm up at the start of the run.
    """
    if not (frozen_steps and warmup):
        return
    if not isinstance(scheduler, LambdaLR):
        raise ConfigurationError(
            "parts.freeze_encoder_steps: the encoder's rate cannot warm up late with this train.lr_scheduler_type; "
            "take linear, cosine or constant_with_warmup"
        )

    def late(schedule: Any) -> Any:
        def rate(step: int) -> float:
            trained_steps = max(0, step - frozen_steps)
            return float(schedule(step)) * min(1.0, trained_steps / warmup)

        return rate

    schedules = []
    for schedule, group in zip(scheduler.lr_lambdas, scheduler.optimizer.param_groups, strict=True):
        schedules.append(late(schedule) if group[_IS_ENCODER] else schedule)
    scheduler.lr_lambdas = schedules


def require_thaw(parts: PartsSection, steps: int, warmup: int) -> int:
    """Return the number of steps in which the encoder is frozen; refuse a run that never trains the encoder."""
    frozen_steps = parts.frozen_steps(steps)
    trained_steps = steps - frozen_steps
    if frozen_steps and warmup:
        trained_steps -= 1  # the first step of the late warm-up has rate 0
    if frozen_steps and trained_steps < 1:
        text = (
            f"got {parts.freeze_encoder_steps}, but the run has {steps:,} steps, so the encoder would not be trained; "
            "train longer, or freeze a share of the steps, for example [[parts.freeze_encoder_steps=0.1]]"
        )
        raise ConfigurationError(Problem(text, ("parts", "freeze_encoder_steps")))
    return frozen_steps


class FreezeFirst(TrainerCallback):
    """Switch off the encoder's gradients for the first ``frozen_steps`` steps, and on again after them."""

    def __init__(self, model: AlignmentModel, parts: PartsSection, frozen_steps: int) -> None:
        self.model, self.parts, self.frozen_steps = model, parts, frozen_steps
        # Parameters that never have a gradient, such as tables of sines, must not get one when the encoder thaws.
        self.trained_names = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        self.encoder: list[nn.Parameter] = []

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Find the encoder's parameters by name: wrapping the model may have replaced the parameters themselves."""
        trained: set[nn.Parameter] = set()
        for name, parameter in self.model.named_parameters():
            if name in self.trained_names:
                trained.add(parameter)
        self.encoder = []
        for parameter, part in part_rates(self.model, self.parts).items():
            if part.is_encoder and part.rate and parameter in trained:
                self.encoder.append(parameter)

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        """Freeze or thaw by the step's number alone, so that a resumed run does the same."""
        is_thawed = state.global_step >= self.frozen_steps
        for parameter in self.encoder:
            parameter.requires_grad_(is_thawed)
