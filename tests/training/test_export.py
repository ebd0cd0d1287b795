from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from training_fakes import differing, make_model, make_trainer, tokenizer, weights
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoTokenizer,
    PreTrainedModel,
    TrainerCallback,
)

from isoglot.modules.checkpoint import left_out
from isoglot.modules.load import load_masked_lm
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.tasks import build_task
from isoglot.testing import tiny_model
from isoglot.training import checkpoints
from isoglot.training.export import export_encoder, model_card, save_encoder
from isoglot.training.model import AlignmentModel


def test_export(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path / "run", epochs=1, save_strategy="no")
    trainer.train()
    card = {
        "name": "tlm-small",
        "languages": ["en", "de"],
        "objectives": {"masked_lm": {"type": "masked_lm", "weight": 1.0}},
        "data": {"bitext": {"pairs": 96, "path": "a|b"}},
        "recipe": {"name": "tlm", "path": Path("x/y"), "train": {"learning_rate": 5e-5}},
        "seed": 7,
    }
    out = export_encoder(trainer.model, tmp_path / "encoder", card=card, tokenizer=trainer.tokenizer)
    model = AutoModelForMaskedLM.from_pretrained(out)
    assert not differing(weights(model), weights(trainer.model.model))
    assert AutoTokenizer.from_pretrained(out).get_vocab() == tokenizer().get_vocab()
    text = (out / "README.md").read_text()
    for part in (
        "language:\n- en\n- de",
        "# tlm-small",
        "learning_rate: 5e-05",
        "a\\|b",
    ):
        assert part in text, part
    assert "## Seed\n\n7" in text and f"| torch | {version('torch')} |" in text
    assert not (out / checkpoints.OBJECTIVES).exists()
    again = export_encoder(trainer.model, tmp_path / "second", card={"name": "plain"}, tokenizer=tokenizer())
    assert "# plain" in (again / "README.md").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["encoder", "run", "second"]


def test_card_header_is_yaml(tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    text = model_card({"name": "x", "objectives": {"b": {}, "a": {}}}, model=make_model().model)
    header = ModelCard(text).data.to_dict()
    assert header["tags"] == ["isoglot", "cross-lingual", "a", "b"] and header["pipeline_tag"] == "fill-mask"


SIZES = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 24, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}  # fmt: skip


OTHER_NAMES: dict[str, dict[str, Any]] = {
    "distilbert": {"vocab_size": 60, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24},
    "xlm": {"vocab_size": 60, "emb_dim": 16, "n_layers": 2, "n_heads": 2},
    "albert": {**SIZES, "embedding_size": 8},
    "modernbert": {**SIZES, "cls_token_id": 1, "sep_token_id": 2},
}


POOLED = {"bert", "roberta", "xlm-roberta", "camembert", "albert", "mpnet"}


FAMILIES = [*sorted(POOLED), "distilbert", "deberta-v2", "modernbert", "xlm"]


def whole_checkpoint(family: str, folder: Path) -> dict[str, torch.Tensor]:
    """A masked-LM checkpoint with all that the bare encoder and the family's pre-training class have beside it."""
    config = AutoConfig.for_model(family, **OTHER_NAMES.get(family, SIZES))
    torch.manual_seed(3)
    model = AutoModelForMaskedLM.from_config(config)
    model.save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    prefix = f"{model.base_model_prefix}."
    others = {f"{prefix}{n}": t for n, t in AutoModel.from_config(config).state_dict().items()}
    if family in ("bert", "albert"):
        others |= AutoModelForPreTraining.from_config(config).state_dict()
    more = {n: t.clone() for n, t in others.items() if n not in model.state_dict()}
    save_file({**tensors, **more}, folder / "model.safetensors", {"format": "pt"})
    return {**tensors, **more}


@pytest.mark.fast_variants(4)
@pytest.mark.parametrize("family", FAMILIES)
def test_an_exported_encoder_has_the_tensors_it_came_with(family: str, tmp_path: Path) -> None:
    before = whole_checkpoint(family, tmp_path / "before")
    assert any("pooler" in name for name in before) == (family in POOLED)
    model = load_masked_lm(tmp_path / "before")
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1)
    save_encoder(model, tmp_path / "after")
    after = load_file(tmp_path / "after" / "model.safetensors")
    assert sorted(after) == sorted(before)
    kept = left_out(model)
    assert all(torch.equal(after[name], before[name]) for name in kept)
    assert not any(torch.equal(after[name], before[name]) for name in set(after) - set(kept))
    again = load_masked_lm(tmp_path / "after")
    assert sorted(left_out(again)) == sorted(kept)


def test_a_new_head_finds_the_pooler_that_the_checkpoint_had(tmp_path: Path) -> None:
    before = whole_checkpoint("bert", tmp_path / "before")
    save_encoder(load_masked_lm(tmp_path / "before"), tmp_path / "after")
    heads = [build_task("xnli", []).head(tmp_path / "after", labels=["a", "b"], seed=seed) for seed in (1, 2)]
    for model in heads:
        assert torch.equal(model.bert.pooler.dense.weight, before["bert.pooler.dense.weight"])
    assert not torch.equal(heads[0].classifier.weight, heads[1].classifier.weight)


@pytest.mark.parametrize("family", sorted(POOLED))
def test_the_pooler_of_a_bare_encoder_gets_the_name_that_a_model_with_a_head_has(
    family: str, tmp_path: Path
) -> None:
    config = AutoConfig.for_model(family, **OTHER_NAMES.get(family, SIZES))
    bare = AutoModel.from_config(config)
    bare.save_pretrained(tmp_path / "before")
    model = load_masked_lm({"path": tmp_path / "before", "new_head": True})
    save_encoder(model, tmp_path / "after")
    loaded, info = AutoModel.from_pretrained(tmp_path / "after", output_loading_info=True)
    assert not info["missing_keys"]
    for (name, one), other in zip(bare.state_dict().items(), loaded.state_dict().values(), strict=True):
        assert torch.equal(one, other), name


def test_a_sharded_checkpoint_keeps_them_too(tmp_path: Path) -> None:
    before = whole_checkpoint("bert", tmp_path / "one")
    model: PreTrainedModel = load_masked_lm(tmp_path / "one")
    model.save_pretrained(
        tmp_path / "many", state_dict={**model.state_dict(), **left_out(model)}, max_shard_size="4KB"
    )
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 1
    kept = left_out(load_masked_lm(tmp_path / "many"))
    assert sorted(kept) == sorted(left_out(model)) != []
    assert all(torch.equal(kept[name], before[name]) for name in kept)


def test_a_checkpoint_without_pooler_stays_without(tmp_path: Path) -> None:
    tiny_model("bert").save_pretrained(tmp_path / "before")
    save_encoder(load_masked_lm(tmp_path / "before"), tmp_path / "after")
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("before", "after"))
    assert sorted(after) == sorted(before)


@pytest.mark.slow
def test_trained_stopped_and_resumed_the_pooler_is_there(tmp_path: Path) -> None:
    source = tmp_path / "before"
    pooler = {
        f"bert.pooler.dense.{kind}": torch.randn(32, *shape)
        for kind, shape in (("weight", [32]), ("bias", []))
    }
    tiny_model("bert", tokenizer=tokenizer()).save_pretrained(source)
    held = load_file(source / "model.safetensors")
    save_file({**held, **pooler}, source / "model.safetensors", {"format": "pt"})

    class Stop(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 4:
                raise KeyboardInterrupt

    def trainer(callbacks: list[TrainerCallback]) -> Any:
        encoder = load_masked_lm(source)
        model = AlignmentModel(encoder, {"masked_lm": MaskedLMObjective(encoder)})
        return make_trainer(tmp_path / "run", model=model, epochs=1, save_steps=2, callbacks=callbacks)

    with pytest.raises(KeyboardInterrupt):
        trainer([Stop()]).train()
    resumed = trainer([])
    resumed.train(resume_from_checkpoint=True)
    save_encoder(resumed.model.model, tmp_path / "after")
    places = [*sorted((tmp_path / "run").glob("checkpoint-*")), tmp_path / "after"]
    assert len(places) > 1
    for place in places:
        after = load_file(place / "model.safetensors")
        assert sorted(after) == sorted([*held, *pooler]), place
        assert all(torch.equal(after[name], pooler[name]) for name in pooler), place


@pytest.mark.parametrize(
    ("family", "name"), [("xlm-roberta", "hidden_dropout_prob"), ("distilbert", "dropout")]
)
def test_dropout_of_the_training_is_not_that_of_fine_tuning(family: str, name: str, tmp_path: Path) -> None:
    """XLM-Align is trained without dropout and fine-tuned with XLM-R's, as XLM-R is."""
    whole_checkpoint(family, tmp_path / "before")
    model = load_masked_lm({"path": tmp_path / "before", "hidden_dropout_prob": 0})
    assert getattr(model.config, name) == 0
    save_encoder(model, tmp_path / "after")
    assert getattr(model.config, name) == 0
    tuned = build_task("xnli", []).head(tmp_path / "after", labels=["a", "b"], seed=1)
    assert (
        getattr(tuned.config, name) == getattr(AutoConfig.from_pretrained(tmp_path / "before"), name) == 0.1
    )
