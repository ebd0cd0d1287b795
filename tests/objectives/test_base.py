from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.modules.encodings import Encodings
from isoglot.objectives import OBJECTIVES
from isoglot.objectives.base import LayerObjective
from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer
from isoglot.training.callbacks import StepMeter
from isoglot.training.collate import Collator
from isoglot.training.mixture import Mixture
from isoglot.training.model import AlignmentModel
from isoglot.views.masked_pair import MaskedPair
from isoglot.views.sentence_pair import SentencePairView

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in OBJECTIVES if name != "embedding_alignment"),  # which reads no view
    ("denoising_word_alignment", {"labels": "corpus"}),
    ("sentence_contrast", {"mixup": True}),
]


@pytest.fixture(scope="module")
def taught(encoder: Path) -> Iterator[dict[str, dict[str, Any]]]:
    """What an objective cannot be without."""
    corpus, tokenizer = tiny_aligned(8), tiny_tokenizer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISOGLOT_CACHE", str(encoder.parent / "cache"))
        yield {"sentence_distillation": {"bitext": corpus, "teacher": str(encoder), "tokenizer": tokenizer}}


@pytest.fixture(scope="module")
def collator() -> Collator:
    tokenizer = tiny_tokenizer()
    options = EncodeOptions(kind="aligned")
    stream = encode_stream(tiny_aligned(8), tokenizer, options=options)
    mixture = Mixture({"bitext": stream}, primary="bitext", seed=1, concatenate=True)
    views = {
        "pair": ("bitext", MaskedPair(tokenizer)),
        "sentences": ("bitext", SentencePairView(tokenizer, order="source_is_query")),
    }
    return Collator(views, seed=1, pad_token_id=0, samples=mixture.samples())


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_every_objective_is_an_exact_zero_without_rows(
    name: str, options: dict[str, Any], collator: Collator, taught: dict[str, dict[str, Any]]
) -> None:
    batch = collator([{"position": 0}])
    assert all(len(tensor) == 0 for view in batch.values() for tensor in view.values())
    model = tiny_model("bert", tokenizer=tiny_tokenizer()).train()
    objective = OBJECTIVES[name](model, **options, **taught.get(name, {}))
    output = objective(Encodings(model, batch), batch)
    assert float(output.total.detach()) == 0.0
    assert int(output.count) == 0
    known = objective.count(batch)
    assert known is None or int(known) == 0
    assert all(torch.isfinite(value).all() for value in output.metrics.values())
    assert not any(output.items.values()), "an empty batch has no say in a mean"
    output.total.backward()
    assert all(p.grad is not None and not p.grad.any() for p in objective.parameters() if p.requires_grad)
    assert (
        model.get_input_embeddings().weight.grad is not None
    )  # ranks without rows take part in the gradient
    assert not model.get_input_embeddings().weight.grad.any()


@pytest.mark.parametrize(
    "name", [name for name in OBJECTIVES if issubclass(OBJECTIVES[name], LayerObjective)]
)
def test_a_subclass_that_overrides_states_is_trained_on_them(
    name: str, collator: Collator, taught: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def overridden(*_: object) -> torch.Tensor:
        raise KeyError("states")

    batch = collator([{"position": 0}])
    model = tiny_model("bert", tokenizer=tiny_tokenizer())
    objective = OBJECTIVES[name](model, **taught.get(name, {}))
    monkeypatch.setattr(OBJECTIVES[name], "states", overridden)
    with pytest.raises(KeyError, match="states"):
        objective(Encodings(model, batch), batch)


@pytest.mark.parametrize(
    "name", ["in_batch_contrast", "self_training", "sentence_contrast", "sentence_distillation"]
)
def test_a_view_of_one_sequence_is_refused_where_two_are_read(
    name: str, collator: Collator, taught: dict[str, dict[str, Any]]
) -> None:
    model = tiny_model("bert", tokenizer=tiny_tokenizer())
    objective = OBJECTIVES[name](model, view="pair", **taught.get(name, {}))
    with refused(ConfigurationError, "view 'pair'", "query_input_ids is needed", "type sentence_pair"):
        objective.count(collator([{"position": 0}]))


@pytest.mark.parametrize("name", ["anchor", "contextual_alignment", "word_contrast"])
def test_a_stream_without_word_ids_is_named(name: str, collator: Collator) -> None:
    batch = collator([{"position": 0}])
    del batch["sentences"]["query_word_ids"]
    objective = OBJECTIVES[name](tiny_model("bert", tokenizer=tiny_tokenizer()))
    with refused(ConfigurationError, "view 'sentences'", "query_word_ids is needed", "source_word_ids"):
        objective.count(batch)


@pytest.mark.parametrize(
    ("name", "options"),
    [(n, o) for n, o in OPTIONS if "contrast" not in n] + [("self_training", {"labels": "corpus"})],
)
def test_logged_metrics_do_not_depend_on_how_pairs_are_batched(
    name: str, options: dict[str, Any], collator: Collator, taught: dict[str, dict[str, Any]]
) -> None:
    tokenizer = tiny_tokenizer()
    stream = encode_stream(tiny_aligned(8), tokenizer, options=EncodeOptions(kind="aligned"))
    mixture = Mixture({"bitext": stream}, primary="bitext", seed=1)
    encoder = tiny_model("bert", tokenizer=tokenizer)
    model = AlignmentModel(
        encoder, {"o": OBJECTIVES[name](encoder, **options, **taught.get(name, {}))}
    ).eval()
    meter, logs = StepMeter(), []
    for parts in ((range(8),), (range(1), range(1, 8))):
        meter.flush()
        for part in parts:
            meter.add(0, model(collator([mixture[i] for i in part])))
        logs.append({k: v for k, v in meter.flush().items() if k.startswith("o/") and k != "o/loss"})
    assert logs[0] and logs[0] == pytest.approx(logs[1], abs=1e-5)
