"""Small stand-ins that the tests of training share."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast, TrainingArguments

from isoglot.losses.base import LossOutput
from isoglot.modules.adapter import add_adapter
from isoglot.modules.adapter_options import AdapterOptions
from isoglot.modules.contrast import gather_rows
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, Objective
from isoglot.objectives.denoising_word_alignment import DenoisingWordAlignmentObjective
from isoglot.objectives.embedding_alignment import EmbeddingAlignmentObjective
from isoglot.objectives.masked_lm import MaskedLMObjective
from isoglot.objectives.sentence_contrast import SentenceContrastObjective
from isoglot.testing import tiny_model
from isoglot.training.batches import BatchOptions
from isoglot.training.collate import Collator
from isoglot.training.mixture import Mixture
from isoglot.training.model import AlignmentModel
from isoglot.training.trainer import AlignmentTrainer
from isoglot.views.masked_pair import MaskedPair
from isoglot.views.masked_text import MaskedText
from isoglot.views.sentence_pair import SentencePairView


def stream(size: int, *, seed: int = 0, offset: int = 0) -> Dataset:
    """A text stream whose lengths vary."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, size=size)
    return Dataset.from_dict(
        {
            "input_ids": [[offset + i] * int(n) for i, n in enumerate(lengths)],
            "links": [[[0, i % 3]] for i in range(size)],
            "language": [f"l{i % 2}" for i in range(size)],
            "length": lengths.astype(np.int32),
        }
    )


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """Whole words, the same in every process (a trained vocabulary is not)."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: i for i, word in enumerate([*specials, *(f"w{i}" for i in range(123))])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {f"{s.strip('[]').lower()}_token": s for s in specials}
    return PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=64, **names)


def bitext_stream(size: int, *, seed: int = 0) -> Dataset:
    """An encoded bitext stream: each target is its source backwards, in the upper half of the vocabulary."""
    rng = np.random.default_rng(seed)
    sources = [rng.integers(5, 60, size=rng.integers(2, 14)).tolist() for _ in range(size)]
    return Dataset.from_dict(
        {
            "source_ids": sources,
            "target_ids": [[i + 60 for i in reversed(s)] for s in sources],
            "links": [[[i, len(s) - 1 - i] for i in range(len(s))] for s in sources],
            "length": np.array([2 * len(s) for s in sources], dtype=np.int32),
        }
    )


def leave_ranks() -> None:
    """End the process group, where there is one; the caller has let go of its trainer.

    A DDP model that outlives its gloo group can hang the process's end (pytorch issue 56297).
    """
    gc.collect()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


class Queue(Objective):
    """State like that of a contrastive objective: a head, a queue, a moving average; its count is not known early."""

    def __init__(self, model: PreTrainedModel, *, view: str = "pair", size: int = 16) -> None:
        super().__init__()
        self.view = view
        self.head = nn.Linear(model.config.hidden_size, 4)
        self.average: Tensor
        self.queue: Tensor
        self.register_buffer("queue", torch.zeros(size, 4))
        self.register_buffer("average", torch.zeros(()))

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        keys = self.head(encodings.last(self.view)[:, 0]).float()
        total = (keys - self.queue.mean(dim=0)).square().sum() + 0.1 * keys.sum()
        if self.training:
            with torch.no_grad():  # the keys of all ranks, as in the product: else each has another queue
                self.queue.copy_(torch.cat([gather_rows(keys.detach()), self.queue])[: len(self.queue)])
        count = torch.tensor(len(keys), device=total.device)
        return LossOutput(total, count, {"size": keys.detach().norm()})

    def after_step(self, encoder: PreTrainedModel) -> None:
        self.average.mul_(0.9).add_(0.1 * encoder.get_input_embeddings().weight.detach().mean())


def make_model(
    *,
    queue: bool = True,
    dictionary: bool = False,
    words: bool = False,
    text: bool = False,
    dropout: float = 0.1,
    adapter: AdapterOptions | Callable[[PreTrainedModel], Any] | None = None,
    **kwargs: Any,
) -> AlignmentModel:
    """A tiny BERT with masked LM and more.

    ``queue``; ``dictionary``: two more readers of its word embeddings; ``words``: word links that it finds itself;
    ``text``.

    ``adapter``: an adapter's options, or what wraps the model.
    """
    model = tiny_model(
        "bert", tokenizer=tokenizer(), hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    if isinstance(adapter, AdapterOptions):
        add_adapter(model, adapter, seed=3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        if callable(adapter):
            model = adapter(model)
        objectives: Mapping[str, Objective] = {
            "masked_lm": MaskedLMObjective(model),
            **({"queue": Queue(model)} if queue else {}),
            **({"words": DenoisingWordAlignmentObjective(model)} if words else {}),
            **({"text_lm": MaskedLMObjective(model, view="text", head="literal")} if text else {}),
            **({"literal_lm": MaskedLMObjective(model, head="literal")} if dictionary else {}),
            **(
                {"dictionary": EmbeddingAlignmentObjective(model, copied_vocabulary=64)} if dictionary else {}
            ),
        }
    return AlignmentModel(model, objectives, {"queue": 0.3} if queue else None, **kwargs)


def contrast_model() -> AlignmentModel:
    """Masked LM beside sentence contrast with its momentum copy and key queue."""
    model = tiny_model("bert", tokenizer=tokenizer(), hidden_dropout_prob=0.1)
    contrast = SentenceContrastObjective(model, projection_size=8, queue_size=40, momentum=0.9)
    return AlignmentModel(model, {"masked_lm": MaskedLMObjective(model), "contrast": contrast})


def make_trainer(
    folder: Path,
    *,
    model: AlignmentModel | None = None,
    batch: BatchOptions | None = None,
    examples: int = 96,
    epochs: int = 2,
    text: int = 0,
    **args: Any,
) -> AlignmentTrainer:
    """A trainer of a tiny model on generated pairs, concatenated with so many examples of text."""
    streams = {"bitext": bitext_stream(examples), **({"text": stream(text, offset=5)} if text else {})}
    length = epochs * (examples + text)
    mixture = Mixture(streams, primary="bitext", length=length, seed=7, bucket=32, concatenate=text > 0)
    views = {
        "pair": ("bitext", MaskedPair(tokenizer(), order="shuffle")),
        "sentences": ("bitext", SentencePairView(tokenizer(), order="shuffle")),
        **({"text": ("text", MaskedText(tokenizer()))} if text else {}),
    }
    callbacks, parts = args.pop("callbacks", None), args.pop("parts", None)
    settings: dict[str, Any] = {
        "learning_rate": 1e-3,
        "lr_scheduler_type": "linear",
        "warmup_steps": 2,
        "logging_steps": 2,
        "save_steps": 3,
        "save_total_limit": 2,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        **args,
    }
    return AlignmentTrainer(
        model or make_model(),
        TrainingArguments(output_dir=str(folder), **settings),
        mixture=mixture,
        batch=batch or BatchOptions(examples=8),
        collator=Collator(views, seed=7, pad_token_id=0, samples=mixture.samples() if text else None),
        tokenizer=tokenizer(),
        callbacks=callbacks,
        parts=parts,
    )


def weights(model: nn.Module) -> dict[str, Tensor]:
    """A copy of everything a module remembers."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def differing(one: Mapping[str, Tensor], two: Mapping[str, Tensor]) -> list[str]:
    """Names whose values are not bit for bit the same."""
    return sorted(
        n for n in one.keys() | two.keys() if n not in one or n not in two or not torch.equal(one[n], two[n])
    )
