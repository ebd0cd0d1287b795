"""isoglot: cross-lingual alignment of multilingual encoders.

``import isoglot as iso`` is cheap: every public name is imported when it is first read.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, str] = {
    "align": "isoglot.aligners.api",
    "AlignedPair": "isoglot.aligners.api",
    "Aligner": "isoglot.aligners.alignment",
    "Alignment": "isoglot.aligners.alignment",
    "AlignmentModel": "isoglot.training.model",
    "AlignmentTrainer": "isoglot.training.trainer",
    "ConfigurationError": "isoglot.errors",
    "EmbeddingAligner": "isoglot.aligners.embedding.aligner",
    "EmbeddingOptions": "isoglot.aligners.embedding.options",
    "encode_stream": "isoglot.corpus.encode.encode",
    "EncodeOptions": "isoglot.corpus.encode.encode",
    "Encodings": "isoglot.modules.encodings",
    "generator_for": "isoglot.seeding",
    "InputError": "isoglot.errors",
    "inspect_recipe": "isoglot.pretraining.inspect",
    "IsoglotError": "isoglot.errors",
    "load_corpus": "isoglot.corpus.manifest",
    "load_masked_lm": "isoglot.modules.load",
    "load_recipe": "isoglot.pretraining.check",
    "Mixture": "isoglot.training.mixture",
    "Objective": "isoglot.objectives.base",
    "ObjectiveOutput": "isoglot.objectives.base",
    "pack_stream": "isoglot.corpus.pack.packing",
    "prepare": "isoglot.corpus.prepare",
    "PrepareOptions": "isoglot.corpus.options",
    "pretrain": "isoglot.pretraining.pretrain",
    "Recipe": "isoglot.pretraining.recipe",
    "require": "isoglot.schema",
    "Result": "isoglot.results",
    "Source": "isoglot.corpus.read.sources",
    "StatisticalAligner": "isoglot.aligners.statistical.model",
    "train_tokenizer": "isoglot.corpus.encode.tokenizer",
    "TrainingError": "isoglot.errors",
    "View": "isoglot.views.base",
}
"""Public name to the module that has it, sorted without regard to case."""

__all__ = [  # noqa: PLE0604 - the names below are strings
    *_HOMES,
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first read."""
    if name not in _HOMES:
        from isoglot.checks import did_you_mean  # noqa: PLC0415 - only for the message

        raise AttributeError(f"module 'isoglot' has no attribute {name!r}; {did_you_mean(name, _HOMES)}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names and the module's special ones."""
    return sorted({*(name for name in globals() if name.startswith("__")), *_HOMES})
