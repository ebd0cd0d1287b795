"""Parts of the model: which of them move, how fast, and from which step on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau
from training_fakes import make_model, make_trainer, tokenizer, weights
from transformers import AlbertConfig, AlbertForMaskedLM, TrainerCallback

from isoglot.core.errors import ConfigurationError
from isoglot.objectives.in_batch_contrast import InBatchContrastObjective
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.recipe.sections import PartsSection
from isoglot.testing import FAMILIES, tiny_model
from isoglot.training.model import AlignmentModel
from isoglot.training.parts import part_rates, warm_up_late
from isoglot.training.trainer import AlignmentTrainer

PREFIXES = {
    "embeddings": ("model.bert.embeddings.",),
    "encoder": ("model.bert.encoder.",),
    "head": ("model.cls.",),
    "objectives": ("objectives.queue.head.",),
}


def trainer_with(folder: Path, parts: PartsSection | None, **settings: Any) -> AlignmentTrainer:
    return make_trainer(folder, epochs=1, save_strategy="no", parts=parts, **settings)


def moved(before: dict[str, torch.Tensor], trainer: AlignmentTrainer) -> set[str]:
    """The parts of which anything differs bit for bit."""
    named = dict(trainer.model.named_parameters())  # a tied output layer once, among the embeddings
    changed = {name for name, value in named.items() if not torch.equal(before[name], value)}
    return {part for part, prefixes in PREFIXES.items() if any(n.startswith(prefixes) for n in changed)}


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize("frozen", [*PREFIXES, "encoder embeddings", "head objectives"])
def test_frozen_parts_do_not_move_and_cost_nothing(tmp_path: Path, frozen: str) -> None:
    parts = PartsSection(**dict.fromkeys(frozen.split(), 0.0))
    trainer = trainer_with(tmp_path, parts, weight_decay=0.1)
    before = weights(trainer.model)
    trainer.train()
    assert moved(before, trainer) == set(PREFIXES) - set(frozen.split())
    held = {id(p) for p in trainer.optimizer.optimizer.state}
    for name, parameter in trainer.model.named_parameters():
        still = any(name.startswith(PREFIXES[part]) for part in frozen.split())
        assert (parameter.grad is None and id(parameter) not in held) if still else parameter.requires_grad


def test_each_part_has_its_rate_and_layers_decay(tmp_path: Path) -> None:
    parts = PartsSection(encoder=2, embeddings=0.5, head=10, objectives=1, layer_decay=0.5)
    trainer = trainer_with(
        tmp_path, parts, lr_scheduler_type="constant", learning_rate=1e-3, weight_decay=0.01, logging_steps=1
    )
    trainer.train()
    names = {id(p): n for n, p in trainer.model.named_parameters()}
    found = {
        names[id(p)]: (group["lr"], group["weight_decay"])
        for group in trainer.optimizer.param_groups
        for p in group["params"]
    }
    assert len(found) == len(names), "each parameter stands in one group"
    plain = trainer_with(tmp_path / "plain", None, weight_decay=0.01)
    plain.create_optimizer()
    own = {id(p): n for n, p in plain.model.named_parameters()}
    decays = {own[id(p)]: g["weight_decay"] for g in plain.optimizer.param_groups for p in g["params"]}
    for name, (rate, decay) in found.items():
        wanted = 10.0 if name.startswith(PREFIXES["head"]) else 1.0
        if name.startswith(PREFIXES["encoder"]):
            wanted = 2 * 0.5 ** (2 - int(name.split(".layer.")[1].split(".")[0]))
        elif name.startswith(PREFIXES["embeddings"]):
            wanted = 0.5 * 0.5**3
        assert rate == pytest.approx(1e-3 * wanted), name
        assert decay == decays[name], name
    assert {h["learning_rate"] for h in trainer.state.log_history if "loss" in h} == {1e-3}


@pytest.mark.fast_variants(3)
@pytest.mark.parametrize(("given", "frozen"), [
    (0, set()), (2, {1, 2}), (-1, {3}), (3, {1, 2, 3}), ([2], {2}), ([0, 1], {0, 1}), ([-1, 0], {0, 3}),
])  # fmt: skip
def test_frozen_layers_do_not_move_and_the_others_do(
    tmp_path: Path, given: int | list[int], frozen: set[int]
) -> None:
    model = AlignmentModel(
        found := tiny_model("bert", tokenizer=tokenizer()), {"lm": MaskedLMObjective(found)}
    )
    trainer = trainer_with(tmp_path, PartsSection(freeze_layers=given), model=model, weight_decay=0.1)
    before = weights(trainer.model)
    trainer.train()
    held = {id(p) for p in trainer.optimizer.optimizer.state}
    places = {1: ".layer.0.", 2: ".layer.1.", 3: ".layer.2.", 0: "bert.embeddings."}
    for name, parameter in trainer.model.named_parameters():
        number = next((n for n, place in places.items() if place in name), None)
        still = number in frozen
        assert parameter.requires_grad is (id(parameter) in held) is not still, name
        # The bias of keys and unused positions have no gradient of their own, and BERT decays no bias.
        if still or "dense.weight" in name:
            assert torch.equal(before[name], parameter) is still, name


@pytest.mark.parametrize("given", [4, -4, [1, 4], [-4], [-5]])
def test_a_layer_that_the_encoder_lacks_is_refused(tmp_path: Path, given: int | list[int]) -> None:
    with pytest.raises(ConfigurationError, match="this encoder has layers 1 to 3") as refused:
        trainer_with(tmp_path, PartsSection(freeze_layers=given))
    assert refused.value.problems[0].location == ("parts", "freeze_layers")


class Watch(TrainerCallback):
    """The rates of the encoder and the head, and which parts have moved, after each step."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float, set[str]]] = []
        self.trainer: AlignmentTrainer
        self.before: dict[str, torch.Tensor]

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        groups = self.trainer.optimizer.param_groups
        self.rates = [max(g["lr"] for g in groups if g["waits"] is waits) for waits in (True, False)]

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.seen.append((*self.rates, moved(self.before, self.trainer)))


def test_the_encoder_waits_and_then_warms_up(tmp_path: Path) -> None:
    watch = Watch()
    trainer = trainer_with(
        tmp_path,
        PartsSection(freeze_encoder_steps=4),
        warmup_steps=3,
        lr_scheduler_type="constant_with_warmup",
        learning_rate=3e-3,
        callbacks=[watch],
    )
    watch.trainer, watch.before = trainer, weights(trainer.model)
    trainer.train()
    encoder, head, parts = zip(*watch.seen, strict=True)
    assert head == pytest.approx([0, 1e-3, 2e-3, *[3e-3] * 9])
    assert encoder[4:] == pytest.approx([0, 1e-3, 2e-3, *[3e-3] * 5])
    assert parts[3] == parts[4] == {"head", "objectives"} and parts[5] == set(PREFIXES)


def test_layers_that_no_objective_reads_are_not_trained(tmp_path: Path) -> None:
    model = tiny_model("bert", tokenizer=tokenizer())
    trainer = make_trainer(
        tmp_path,
        model=AlignmentModel(model, {"contrast": InBatchContrastObjective(model, layer=1)}),
        epochs=1,
        save_strategy="no",
    )
    before = weights(trainer.model)
    trainer.train()
    changed = {n for n, value in weights(trainer.model).items() if not torch.equal(value, before[n])}
    assert any(".layer.0." in name for name in changed)
    assert not any(".layer.1." in name or ".layer.2." in name or "transform" in name for name in changed)


def test_parts_that_leave_nothing_to_train_are_an_error(tmp_path: Path) -> None:
    parts = PartsSection(encoder=0, embeddings=0, head=0)
    with pytest.raises(ConfigurationError, match="nothing is left to train"):
        trainer_with(tmp_path, parts, model=make_model(queue=False))
    model = tiny_model("bert", tokenizer=tokenizer())
    alone = AlignmentModel(model, {"contrast": InBatchContrastObjective(model)})
    with pytest.raises(ConfigurationError, match=r"nothing is trained at step 0.*contrast"):
        trainer_with(tmp_path, PartsSection(freeze_encoder_steps=2), model=alone).train()


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_of_every_family(family: str) -> None:
    model = tiny_model(family)
    aligned = AlignmentModel(model, {"masked_lm": MaskedLMObjective(model)})
    rates = part_rates(aligned, PartsSection(encoder=1, embeddings=2, head=3, objectives=4))
    found = {name: rates[p] for name, p in aligned.named_parameters()}
    assert set(found.values()) == {(True, 1.0), (True, 2.0), (False, 3.0)}
    base, tables = (set(module.parameters()) for module in (model.base_model, model.base_model.embeddings))
    for name, parameter in aligned.named_parameters():
        assert found[name] == (parameter in base, 2 if parameter in tables else 1 if parameter in base else 3)


def test_layers_that_share_their_weights_cannot_decay() -> None:
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16, "embedding_size": 8}
    model = AlbertForMaskedLM(AlbertConfig(vocab_size=20, num_hidden_layers=2, **sizes))
    aligned = AlignmentModel(model, {"masked_lm": MaskedLMObjective(model)})
    assert {rate for _, rate in part_rates(aligned, PartsSection(encoder=2)).values()} == {1.0, 2.0}
    for parts in (PartsSection(layer_decay=0.9), PartsSection(freeze_layers=1)):
        with pytest.raises(ConfigurationError, match=r"the layers of this albert cannot be separated"):
            part_rates(aligned, parts)
    frozen = part_rates(aligned, PartsSection(freeze_layers=[0]))
    assert frozen[model.get_input_embeddings().weight] == (True, 0.0)


def test_parameters_without_a_gradient_stay_so_after_the_thaw(tmp_path: Path) -> None:
    model = make_model()
    fixed = model.model.base_model.encoder.layer[0].output.dense.bias
    fixed.requires_grad_(False)
    parts = PartsSection(freeze_encoder_steps=2, embeddings=0)
    trainer = trainer_with(tmp_path, parts, model=model)
    before = weights(model)
    trainer.train()
    assert moved(before, trainer) == set(PREFIXES) - {"embeddings"}
    still = {id(fixed), *(id(p) for p in model.model.base_model.embeddings.parameters())}
    assert all(p.requires_grad == (id(p) not in still) for p in model.model.base_model.parameters())


def test_a_schedule_that_cannot_warm_up_late_is_refused() -> None:
    schedule = ReduceLROnPlateau(torch.optim.SGD([torch.zeros(1, requires_grad=True)]))
    with pytest.raises(ConfigurationError, match=r"cannot warm up late with this train\.lr_scheduler_type"):
        warm_up_late(schedule, 2, 3)


def test_a_share_of_the_steps_is_frozen(tmp_path: Path) -> None:
    shares = {0: 0, 0.001: 0, 0.1: 10, 0.25: 25, 7: 7}
    assert {s: PartsSection(freeze_encoder_steps=s).frozen_steps(100) for s in shares} == shares
    trainer = trainer_with(tmp_path, PartsSection(freeze_encoder_steps=0.25))
    assert (trainer.batches.steps, trainer.frozen_steps) == (12, 3)


@pytest.mark.parametrize(("frozen", "warmup", "fits"), [
    (12, 0, False), (11, 0, True), (11, 0.1, False), (10, 0.1, True), (0.95, 0, True), (0.95, 1, False),
    (200, 2, False),
])  # fmt: skip
def test_an_encoder_that_would_never_be_trained_is_refused(
    tmp_path: Path, frozen: float, warmup: float, fits: bool
) -> None:
    parts = PartsSection(freeze_encoder_steps=frozen)
    if not fits:
        with pytest.raises(
            ConfigurationError, match=rf"got {frozen}, but the run has 12 steps, so the encoder"
        ):
            trainer_with(tmp_path, parts, warmup_steps=warmup)
        return
    trainer = trainer_with(tmp_path, parts, warmup_steps=warmup, lr_scheduler_type="linear")
    before = weights(trainer.model)
    trainer.train()
    assert moved(before, trainer) == set(PREFIXES)
