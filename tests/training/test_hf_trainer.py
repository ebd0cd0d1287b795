"""A plain transformers.Trainer trains an alignment model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

import isoglot as iso
from isoglot.objectives import MaskedLMObjective, SentenceContrastObjective
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer
from isoglot.training.callbacks import ObjectiveSteps
from isoglot.views import MaskedPair, SentencePairView


def contrast_trainer(
    folder: Path, *, accumulation: int = 1, callbacks: tuple[TrainerCallback, ...] = (), **settings: Any
) -> Trainer:
    encoder, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    stream = iso.encode_stream(tiny_bitext(16), tokenizer, cache_dir=folder / "cache")
    mixture = iso.Mixture({"bitext": stream}, primary="bitext", length=32, seed=1)
    views = {"pair": ("bitext", MaskedPair(tokenizer)), "sentences": ("bitext", SentencePairView(tokenizer))}
    model = iso.AlignmentModel(
        encoder,
        {
            "tlm": MaskedLMObjective(encoder),
            "contrast": SentenceContrastObjective(encoder, queue_size=32, projection_size=8, momentum=0.5),
        },
        {"contrast": lambda step: float(step > 0)},
    )
    arguments = TrainingArguments(
        str(folder / "out"),
        max_steps=4,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=accumulation,
        learning_rate=1e-3,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        **{"remove_unused_columns": False, **settings},
    )
    return Trainer(
        model,
        arguments,
        train_dataset=mixture,
        data_collator=iso.Collator(views, seed=1, pad_token_id=tokenizer.pad_token_id),
        callbacks=list(callbacks),
    )


@pytest.mark.parametrize("accumulation", [1, 2])
def test_the_librarys_trainer_takes_an_alignment_model(
    tmp_path: Path, accumulation: int, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = contrast_trainer(tmp_path, accumulation=accumulation, callbacks=(ObjectiveSteps(),))
    model: Any = trainer.model
    encoder, slow = model.model, model.objectives["contrast"].momentum_encoder
    start = encoder.get_input_embeddings().weight.detach().clone()
    first = [p.clone() for p in slow.parameters()]
    result = trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert result.global_step == 4 == len(losses) and all(0 < loss < 20 for loss in losses)
    assert not torch.equal(encoder.get_input_embeddings().weight, start)
    assert int(model.objectives["contrast"].step) == 4 and model.step == 3
    assert any(not torch.equal(a, b) for a, b in zip(first, slow.parameters(), strict=True))
    assert "does not know of" not in caplog.text
    encoder.save_pretrained(tmp_path / "encoder")
    assert (tmp_path / "encoder" / "model.safetensors").is_file()


@pytest.mark.parametrize("accumulation", [1, 2])
def test_objectives_that_are_not_told_of_steps_are_warned_of(
    tmp_path: Path, accumulation: int, caplog: pytest.LogCaptureFixture
) -> None:
    contrast_trainer(tmp_path, accumulation=accumulation).train()
    assert caplog.text.count("contrast: does not know of an optimiser step") == 1
    assert "callbacks=[ObjectiveSteps()]" in caplog.text


def test_columns_that_the_librarys_trainer_drops_are_named(tmp_path: Path) -> None:
    with pytest.raises(iso.ConfigurationError, match=r"no 'position'.*remove_unused_columns=False"):
        contrast_trainer(tmp_path, callbacks=(ObjectiveSteps(),), remove_unused_columns=True).train()


def test_views_by_name_are_the_batch(tmp_path: Path) -> None:
    encoder, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    stream = iso.encode_stream(tiny_bitext(4), tokenizer, cache_dir=tmp_path / "cache")
    mixture = iso.Mixture({"bitext": stream}, primary="bitext", seed=1)
    views = {"pair": ("bitext", MaskedPair(tokenizer))}
    batch = iso.Collator(views, seed=1, pad_token_id=0)([mixture[i] for i in range(4)])
    model = iso.AlignmentModel(encoder, {"tlm": MaskedLMObjective(encoder)}).eval()
    assert torch.equal(model(batch)["loss"], model(**batch)["loss"])
