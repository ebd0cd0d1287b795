"""isoglot: cross-lingual alignment of multilingual encoders.

``import isoglot as iso`` is cheap: every public name is imported when it is first read.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see; a test holds it against the names below
    from isoglot import losses as losses
    from isoglot import objectives as objectives
    from isoglot import views as views
    from isoglot.aligners.alignment import AlignedPair as AlignedPair
    from isoglot.aligners.alignment import Aligner as Aligner
    from isoglot.aligners.alignment import Alignment as Alignment
    from isoglot.aligners.api import align as align
    from isoglot.aligners.api import align_many as align_many
    from isoglot.aligners.embedding.aligner import EmbeddingAligner as EmbeddingAligner
    from isoglot.aligners.embedding.options import EmbeddingOptions as EmbeddingOptions
    from isoglot.aligners.files.gold import GoldPairs as GoldPairs
    from isoglot.aligners.scoring import GoldAlignment as GoldAlignment
    from isoglot.aligners.scoring import score as score
    from isoglot.aligners.statistical.model import StatisticalAligner as StatisticalAligner
    from isoglot.aligners.tuning import TuningResult as TuningResult
    from isoglot.aligners.tuning import tune as tune
    from isoglot.corpus.encode.batch import EncodeOptions as EncodeOptions
    from isoglot.corpus.encode.encode import encode_stream as encode_stream
    from isoglot.corpus.encode.tokenizer import train_tokenizer as train_tokenizer
    from isoglot.corpus.manifest import load_corpus as load_corpus
    from isoglot.corpus.options import PrepareOptions as PrepareOptions
    from isoglot.corpus.pack.packing import pack_stream as pack_stream
    from isoglot.corpus.prepare import prepare as prepare
    from isoglot.corpus.read.sources import Source as Source
    from isoglot.errors import ConfigurationError as ConfigurationError
    from isoglot.errors import InputError as InputError
    from isoglot.errors import IsoglotError as IsoglotError
    from isoglot.errors import TrainingError as TrainingError
    from isoglot.evaluation.api import evaluate as evaluate
    from isoglot.finetuning.api import finetune as finetune
    from isoglot.link_counts import AlignmentScore as AlignmentScore
    from isoglot.losses.base import LossOutput as LossOutput
    from isoglot.mining.align_sentences import align_sentences as align_sentences
    from isoglot.mining.filter_pairs import filter_pairs as filter_pairs
    from isoglot.mining.mine import mine as mine
    from isoglot.modules.encodings import Encodings as Encodings
    from isoglot.modules.load import load_masked_lm as load_masked_lm
    from isoglot.objectives.base import Objective as Objective
    from isoglot.pretraining.check import load_recipe as load_recipe
    from isoglot.pretraining.inspect import inspect_recipe as inspect_recipe
    from isoglot.pretraining.pretrain import pretrain as pretrain
    from isoglot.pretraining.recipe import Recipe as Recipe
    from isoglot.pretraining.trim import trim as trim
    from isoglot.pretraining.trim_options import TrimRequest as TrimRequest
    from isoglot.projection.project import project as project
    from isoglot.report.options import ReportOptions as ReportOptions
    from isoglot.report.paired import Comparison as Comparison
    from isoglot.report.paired import compare as compare
    from isoglot.report.render import render as render
    from isoglot.results import Result as Result
    from isoglot.schema import require as require
    from isoglot.seeding import generator_for as generator_for
    from isoglot.tasks.text_vectors import TextEncoder as TextEncoder
    from isoglot.training.collate import Collator as Collator
    from isoglot.training.mixture import Mixture as Mixture
    from isoglot.training.model import AlignmentModel as AlignmentModel
    from isoglot.training.trainer import AlignmentTrainer as AlignmentTrainer
    from isoglot.views.base import View as View

__version__ = "0.1.0"

_HOMES: dict[str, str] = {
    "align": "isoglot.aligners.api",
    "align_many": "isoglot.aligners.api",
    "align_sentences": "isoglot.mining.align_sentences",
    "AlignedPair": "isoglot.aligners.alignment",
    "Aligner": "isoglot.aligners.alignment",
    "Alignment": "isoglot.aligners.alignment",
    "AlignmentModel": "isoglot.training.model",
    "AlignmentScore": "isoglot.link_counts",
    "AlignmentTrainer": "isoglot.training.trainer",
    "Collator": "isoglot.training.collate",
    "compare": "isoglot.report.paired",
    "Comparison": "isoglot.report.paired",
    "ConfigurationError": "isoglot.errors",
    "EmbeddingAligner": "isoglot.aligners.embedding.aligner",
    "EmbeddingOptions": "isoglot.aligners.embedding.options",
    "encode_stream": "isoglot.corpus.encode.encode",
    "EncodeOptions": "isoglot.corpus.encode.batch",
    "Encodings": "isoglot.modules.encodings",
    "evaluate": "isoglot.evaluation.api",
    "filter_pairs": "isoglot.mining.filter_pairs",
    "finetune": "isoglot.finetuning.api",
    "generator_for": "isoglot.seeding",
    "GoldAlignment": "isoglot.aligners.scoring",
    "GoldPairs": "isoglot.aligners.files.gold",
    "InputError": "isoglot.errors",
    "inspect_recipe": "isoglot.pretraining.inspect",
    "IsoglotError": "isoglot.errors",
    "load_corpus": "isoglot.corpus.manifest",
    "load_masked_lm": "isoglot.modules.load",
    "load_recipe": "isoglot.pretraining.check",
    "LossOutput": "isoglot.losses.base",
    "mine": "isoglot.mining.mine",
    "Mixture": "isoglot.training.mixture",
    "Objective": "isoglot.objectives.base",
    "pack_stream": "isoglot.corpus.pack.packing",
    "prepare": "isoglot.corpus.prepare",
    "PrepareOptions": "isoglot.corpus.options",
    "pretrain": "isoglot.pretraining.pretrain",
    "project": "isoglot.projection.project",
    "Recipe": "isoglot.pretraining.recipe",
    "render": "isoglot.report.render",
    "ReportOptions": "isoglot.report.options",
    "require": "isoglot.schema",
    "Result": "isoglot.results",
    "score": "isoglot.aligners.scoring",
    "Source": "isoglot.corpus.read.sources",
    "StatisticalAligner": "isoglot.aligners.statistical.model",
    "TextEncoder": "isoglot.tasks.text_vectors",
    "train_tokenizer": "isoglot.corpus.encode.tokenizer",
    "TrainingError": "isoglot.errors",
    "trim": "isoglot.pretraining.trim",
    "TrimRequest": "isoglot.pretraining.trim_options",
    "tune": "isoglot.aligners.tuning",
    "TuningResult": "isoglot.aligners.tuning",
    "View": "isoglot.views.base",
}
"""Public name to the module that has it, sorted without regard to case."""

_PACKAGES = ("losses", "objectives", "views")
"""Packages that are public as a whole."""

__all__ = [  # noqa: PLE0604 - the names below are strings
    *_HOMES,
]


if not TYPE_CHECKING:  # else every unknown name would be there for a type checker

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first read."""
        if name in _PACKAGES:
            return import_module(f"isoglot.{name}")
        if name not in _HOMES:
            from isoglot.checks import did_you_mean  # noqa: PLC0415 - only for the message

            raise AttributeError(f"module 'isoglot' has no attribute {name!r}; {did_you_mean(name, _HOMES)}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The public names and the module's special ones."""
    return sorted({*(name for name in globals() if name.startswith("__")), *_HOMES, *_PACKAGES})
