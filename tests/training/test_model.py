from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from training_fakes import Queue, make_model, make_trainer, tokenizer

from isoglot.core.errors import ConfigurationError, TrainingError
from isoglot.losses.base import LossOutput
from isoglot.objectives.base import Batch, Objective
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.recipe.sections import WeightSection
from isoglot.testing import tiny_model
from isoglot.training.model import AlignmentModel
from isoglot.views.masked_pair import MaskedPair


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, dict[str, Tensor]]]:
    """Four batches of four, and the same sixteen pairs in one."""
    trainer = make_trainer(tmp_path_factory.mktemp("run"))
    parts = [trainer.data_collator(trainer.mixture.__getitems__(range(i, i + 4))) for i in range(0, 16, 4)]
    return [*parts, trainer.data_collator(trainer.mixture.__getitems__(range(16)))]


def gradients(model: AlignmentModel) -> dict[str, Tensor]:
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def two_losses(normalisation: str) -> AlignmentModel:
    """Two masked-LM losses with different weights, both countable."""
    model = tiny_model("bert", tokenizer=tokenizer())
    objectives = {"first": MaskedLMObjective(model), "second": MaskedLMObjective(model)}
    return AlignmentModel(model, objectives, {"second": 0.5}, normalisation=normalisation).eval()


@pytest.mark.parametrize("normalisation", ["token", "joint_token"])
def test_accumulated_batches_equal_one_large_batch(batches: list[Any], normalisation: str) -> None:
    *parts, whole = batches
    model = two_losses(normalisation)
    large = model(whole)["loss"]
    large.backward()
    expected = gradients(model)
    model.zero_grad()
    counts = model.step_counts(parts, lambda t: t)
    losses = [model(part, counts=counts, accumulation=4)["loss"] for part in parts]
    torch.stack(losses).sum().backward()
    assert torch.allclose(torch.stack(losses).sum(), large, atol=1e-6)
    for name, gradient in gradients(model).items():
        assert torch.allclose(gradient, expected[name], atol=1e-6), name


@pytest.mark.parametrize("normalisation", ["token", "joint_token"])
def test_links_that_the_encoder_finds_itself_accumulate_as_one_large_batch(
    batches: list[Any], normalisation: str
) -> None:
    """Their number differs from part to part, and is known before the first loss all the same."""
    *parts, whole = ({view: dict(own) for view, own in batch.items()} for batch in batches)
    model = make_model(queue=False, words=True, normalisation=normalisation).eval()
    large = model(whole)
    large["loss"].backward()
    expected = gradients(model)
    model.zero_grad()
    counts = model.step_counts(parts, lambda t: t)
    outputs = [model(part, counts=counts, accumulation=4) for part in parts]
    queries = [float(output["counts"]["words"]) for output in outputs]
    assert len(set(queries)) > 1 and sum(queries) == float(large["counts"]["words"]) == float(counts["words"])
    torch.stack([output["loss"] for output in outputs]).sum().backward()
    for name, gradient in gradients(model).items():
        assert torch.allclose(gradient, expected[name], atol=1e-6), name
    alone = model.step_counts([{view: dict(own) for view, own in batches[0].items()}], lambda t: t)
    assert "words" not in alone, "one forward counts for itself"


def test_normalisations_against_their_definitions(batches: list[Any]) -> None:
    parts = batches[:4]
    outputs = [two_losses("token")(part) for part in parts]
    sums = {n: sum(float(o["totals"][n]) for o in outputs) for n in ("first", "second")}
    items = {n: sum(float(o["counts"][n]) for o in outputs) for n in ("first", "second")}
    expected = {
        "token": sums["first"] / items["first"] + 0.5 * sums["second"] / items["second"],
        "joint_token": (sums["first"] + 0.5 * sums["second"]) / (items["first"] + items["second"]),
        "batch_mean": sum(
            w * float(o["totals"][n] / o["counts"][n])
            for o in outputs
            for n, w in (("first", 1.0), ("second", 0.5))
        )
        / 4,
    }
    for normalisation, value in expected.items():
        model = two_losses(normalisation)
        counts = model.step_counts(parts, lambda t: t)
        total = sum(model(part, counts=counts, accumulation=4)["loss"].item() for part in parts)
        assert total == pytest.approx(value, rel=1e-5), normalisation


def test_an_objective_that_cannot_count_early(batches: list[Any]) -> None:
    model = make_model(dropout=0.0).eval()
    counts = model.step_counts(batches[:4], lambda t: t)
    assert set(counts) == {"masked_lm"}
    output = model(batches[0], counts=counts, accumulation=4)
    expected = output["totals"]["masked_lm"] / counts["masked_lm"] + 0.3 * output["totals"]["queue"] / (4 * 4)
    assert torch.allclose(output["loss"], expected)


def test_no_item_gives_zero_with_a_graph(batches: list[Any]) -> None:
    batch = {"pair": {**batches[0]["pair"], "labels": torch.full_like(batches[0]["pair"]["labels"], -100)}}
    for normalisation in ("token", "joint_token", "batch_mean"):
        model = two_losses(normalisation)
        loss = model(batch, counts=model.step_counts([batch], lambda t: t))["loss"]
        loss.backward()
        assert loss.item() == 0.0
        found = gradients(model)
        assert found and all(not g.any() for g in found.values())


def test_schedules(batches: list[Any]) -> None:
    schedule = WeightSection(value=2.0, start_step=3, ramp_steps=4)
    assert [schedule(s) for s in (0, 2, 3, 4, 6, 7, 99)] == [0.0, 0.0, 0.5, 1.0, 2.0, 2.0, 2.0]
    assert WeightSection(start_step=1)(1) == 1.0
    encoder = tiny_model("bert", tokenizer=tokenizer())
    model = AlignmentModel(
        encoder,
        {"masked_lm": MaskedLMObjective(encoder), "queue": Queue(encoder)},
        {"queue": WeightSection(start_step=2)},
    )
    assert set(model(batches[0])["totals"]) == {"masked_lm"}
    model.step = 2
    assert set(model(batches[0])["totals"]) == {"masked_lm", "queue"}


def test_the_pair_is_encoded_once(batches: list[Any]) -> None:
    model = two_losses("token")
    calls: list[int] = []
    model.model.base_model.register_forward_hook(lambda *_: calls.append(1))
    model(batches[0])
    assert len(calls) == 1


class Broken(Objective):
    def forward(self, encodings: Any, batch: Batch) -> LossOutput:
        total = encodings.last("pair").sum() * float("nan")
        return LossOutput(total, torch.tensor(2))


def test_a_broken_loss_is_named_with_its_step(batches: list[Any], tmp_path: Path) -> None:
    encoder = tiny_model("bert", tokenizer=tokenizer())
    model = AlignmentModel(
        encoder,
        {"masked_lm": MaskedLMObjective(encoder), "broken": Broken()},
        {"broken": WeightSection(start_step=4)},
    )
    trainer = make_trainer(tmp_path, model=model)
    with pytest.raises(TrainingError, match=r"'broken' has loss nan at step 5; .*learning_rate"):
        trainer.train()
    assert all(torch.isfinite(p).all() for p in model.parameters())  # stopped before the step was taken
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint-3"]


def test_mistakes() -> None:
    encoder = tiny_model("bert", tokenizer=tokenizer())
    with pytest.raises(ConfigurationError, match=r"got weights of \['b'\]"):
        AlignmentModel(encoder, {"a": MaskedLMObjective(encoder)}, {"b": 1.0})
    with pytest.raises(ConfigurationError, match="normalisation: got 'mean'; known: batch_mean"):
        AlignmentModel(encoder, {"a": MaskedLMObjective(encoder)}, normalisation="mean")
    model = AlignmentModel(encoder, {"a": MaskedLMObjective(encoder)}, {"a": 0.0})
    with pytest.raises(ConfigurationError, match="weight 0 at step 0"):
        model({})


class _Detached(Objective):
    """Reads the encoder without gradient."""

    def forward(self, encodings, batch):
        states = encodings.layer("pair", 1, clean=False)
        return LossOutput(states.sum(), torch.tensor(len(states)))


def test_a_loss_without_gradient_is_an_error_that_says_so():
    encoder = tiny_model("bert").train()
    ids = torch.tensor([[2, 7, 8, 3]])
    labels = torch.tensor([[-100, 9, -100, -100]])
    batch = {"pair": {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}}
    model = AlignmentModel(encoder, {"tlm": MaskedLMObjective(encoder), "own": _Detached()}).train()
    with pytest.raises(
        ConfigurationError, match=r"objective 'own': its loss carries no gradient.*encodings.hidden"
    ):
        model(batch)
    model.eval()(batch)
    with torch.no_grad():
        model.train()(batch)
    encoder.base_model.requires_grad_(False)  # as in the first steps of `parts.freeze_encoder_steps`
    model(batch)


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        ({"x": MaskedPair(tokenizer())}, "objective 'x': MaskedPair is not an objective"),
        ({"x": MaskedLMObjective}, "objective 'x': .* is not an objective"),
        ([], "objectives: expected a dictionary from names to objectives, got a list"),
    ],
)
def test_model_names_an_object_that_is_no_objective(objectives: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        AlignmentModel(tiny_model("bert"), objectives)
