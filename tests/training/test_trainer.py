from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import activation_checkpointing
import pytest
import torch
from training_fakes import make_model, make_trainer, weights
from transformers import AutoModelForMaskedLM

from isoglot.core.errors import ConfigurationError
from isoglot.training import checkpoints
from isoglot.training.batches import BatchOptions


def test_logs(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, epochs=1, logging_steps=4, save_strategy="no")
    trainer.train()
    logs = [h for h in trainer.state.log_history if "loss" in h]
    assert [h["step"] for h in logs] == [4, 8, 12]
    assert [h["epoch"] for h in logs] == pytest.approx([1 / 3, 2 / 3, 1.0])
    for h in logs:
        assert h["loss"] == pytest.approx(h["masked_lm/loss"] + 0.3 * h["queue/loss"], rel=0.05)
        assert 0 <= h["masked_lm/accuracy"] <= 1 and h["tokens_per_second"] > 0
    assert logs[-1]["masked_lm/loss"] < logs[0]["masked_lm/loss"]


def test_hook_after_step_is_called_once_per_optimiser_step(tmp_path: Path) -> None:
    model = make_model()
    calls: list[int] = []
    queue: Any = model.objectives["queue"]
    after = queue.after_step
    queue.after_step = lambda encoder: (calls.append(model.step), after(encoder))
    trainer = make_trainer(tmp_path, model=model, epochs=1, gradient_accumulation_steps=2, save_strategy="no")
    trainer.train()
    assert calls == [0, 1, 2, 3, 4, 5]


def test_token_budget_and_max_steps(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, batch=BatchOptions(tokens=300), save_strategy="no", max_steps=5)
    assert trainer.batches.steps == 5 and len(trainer.get_train_dataloader()) == 5
    trainer.train()
    assert trainer.state.global_step == 5


@pytest.mark.slow
def test_loader_processes_of_several_ranks_on_cpus_are_no_forks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = next(iter(make_trainer(tmp_path / "none").get_train_dataloader()))
    trainer = make_trainer(tmp_path / "some", dataloader_num_workers=1)
    forked = trainer.get_train_dataloader().multiprocessing_context
    monkeypatch.setattr(type(trainer.args), "world_size", property(lambda _: 2))
    loader = trainer.get_train_dataloader()
    if sys.platform == "linux":
        assert forked is None
        assert loader.multiprocessing_context.get_start_method() == "forkserver"
    batch = next(iter(loader))
    assert batch.keys() == alone.keys()
    for view, tensors in batch.items():
        for name, value in tensors.items():
            assert torch.equal(value, alone[view][name]), (view, name)


def test_saving_by_epoch_of_the_primary_stream(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, epochs=2, examples=40, save_strategy="epoch", save_total_limit=None)
    trainer.train()
    assert [p.name for p in checkpoints.checkpoints_in(tmp_path)] == ["checkpoint-5", "checkpoint-10"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [pytest.param({activation_checkpointing.NAME: True}, marks=pytest.mark.slow), {"bf16": True}]
)
def test_training_with_settings_of_speed_stays_close(tmp_path: Path, settings: dict[str, Any]) -> None:
    runs = []
    for name, extra in (("plain", {}), ("other", settings)):
        trainer = make_trainer(
            tmp_path / name,
            model=make_model(dropout=0.0),
            epochs=1,
            logging_steps=1,
            save_strategy="no",
            **extra,
        )
        trainer.train()
        runs.append([h["loss"] for h in trainer.state.log_history if "loss" in h])
    assert runs[0] == pytest.approx(runs[1], rel=0.03 if "bf16" in settings else 1e-5)
    assert all(p.dtype == torch.float32 for p in trainer.model.parameters())


@pytest.mark.slow
def test_compiled_encoder_and_hooks(tmp_path: Path) -> None:
    from isoglot.modules.encoder import encode, encode_to_layer

    trainer = make_trainer(tmp_path, epochs=1)
    batch = trainer.data_collator(trainer.mixture.__getitems__(range(4)))
    model = make_model(dropout=0.0).eval()
    inputs = {
        k: v for k, v in batch["pair"].items() if k in ("input_ids", "attention_mask", "token_type_ids")
    }
    expected = encode(model.model, inputs, layers=(1, 3))
    names = list(model.state_dict())
    graphs: list[int] = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(1)
        return graph.forward

    model.model.base_model.compile(backend=backend)
    assert torch.allclose(encode(model.model, inputs, layers=(3,))[3], expected[3], atol=1e-6)
    assert graphs
    compiled = len(graphs)
    found = encode(model.model, inputs, layers=(1, 3))
    assert all(torch.allclose(found[layer], expected[layer], atol=1e-6) for layer in (1, 3))
    assert torch.allclose(encode_to_layer(model.model, inputs, 1, training=False), expected[1], atol=1e-6)
    assert len(graphs) == compiled  # the forwards with hooks ran uncompiled
    assert list(model.state_dict()) == names


@pytest.mark.slow
def test_torch_compile_argument(tmp_path: Path) -> None:
    """Compiled training ends where uncompiled training does, and its checkpoints are plain."""
    ends = []
    for name, extra in (
        ("plain", {}),
        ("compiled", {"torch_compile": True, "torch_compile_backend": "eager"}),
    ):
        trainer = make_trainer(tmp_path / name, model=make_model(dropout=0.0), examples=48, epochs=1, **extra)
        trainer.train()
        ends.append(weights(trainer.model))
    assert all(torch.allclose(ends[0][n], ends[1][n], atol=1e-5) for n in ends[0])
    assert trainer.args.torch_compile is False
    loaded = AutoModelForMaskedLM.from_pretrained(tmp_path / "compiled" / "checkpoint-6")
    assert torch.equal(
        loaded.get_input_embeddings().weight, trainer.model.model.get_input_embeddings().weight
    )


def test_sharding_in_one_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="torchrun --nproc-per-node 2"):
        make_trainer(tmp_path, fsdp=True)


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    make_trainer(tmp_path, epochs=1, report_to=["tensorboard"], save_strategy="no").train()
    folder = next(p.parent for p in tmp_path.rglob("events.out.tfevents*"))
    events = EventAccumulator(str(folder))
    events.Reload()
    assert {"train/loss", "train/masked_lm/accuracy", "train/tokens_per_second"} <= set(
        events.Tags()["scalars"]
    )
