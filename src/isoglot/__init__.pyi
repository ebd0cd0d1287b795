"""The public names: what type checkers and editors see, and what :mod:`isoglot` imports when a name is first read."""

from isoglot import losses as losses
from isoglot import objectives as objectives
from isoglot import views as views
from isoglot.aligners.alignment import Aligner as Aligner
from isoglot.aligners.api import align as align
from isoglot.aligners.api import align_many as align_many
from isoglot.aligners.embedding.aligner import EmbeddingAligner as EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions as EmbeddingOptions
from isoglot.aligners.embedding.packing import pack as pack
from isoglot.aligners.scoring import score as score
from isoglot.aligners.statistical.merging import merge as merge
from isoglot.aligners.statistical.model import StatisticalAligner as StatisticalAligner
from isoglot.aligners.tuning import TuningResult as TuningResult
from isoglot.aligners.tuning import tune as tune
from isoglot.analysis.api import analyse as analyse
from isoglot.analysis.api import transfer as transfer
from isoglot.corpus.api import prepare as prepare
from isoglot.corpus.encode.batch import EncodeOptions as EncodeOptions
from isoglot.corpus.encode.encode import encode_stream as encode_stream
from isoglot.corpus.encode.tokenizer import train_tokenizer as train_tokenizer
from isoglot.corpus.manifest import load_corpus as load_corpus
from isoglot.corpus.options import PrepareOptions as PrepareOptions
from isoglot.corpus.pack.packing import pack_stream as pack_stream
from isoglot.derivation.api import derive as derive
from isoglot.errors import ConfigurationError as ConfigurationError
from isoglot.errors import InputError as InputError
from isoglot.errors import IsoglotError as IsoglotError
from isoglot.errors import TrainingError as TrainingError
from isoglot.errors import UnknownWordsWarning as UnknownWordsWarning
from isoglot.evaluation.api import evaluate as evaluate
from isoglot.evaluation.predict import predict as predict
from isoglot.finetuning.finetune import finetune as finetune
from isoglot.finetuning.options import FinetuneOptions as FinetuneOptions
from isoglot.formats.links import Alignment as Alignment
from isoglot.formats.sentence_pair import SentencePair as SentencePair
from isoglot.formats.sources import Source as Source
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
from isoglot.pretraining.new_recipe import init as init
from isoglot.pretraining.options import TrimRequest as TrimRequest
from isoglot.pretraining.pretrain import pretrain as pretrain
from isoglot.pretraining.recipe import Recipe as Recipe
from isoglot.pretraining.sentence_export import export as export
from isoglot.pretraining.trim import trim as trim
from isoglot.projection.one_segment import project_tags as project_tags
from isoglot.projection.project import project as project
from isoglot.reports.notebook import figures as figures
from isoglot.reports.options import ReportOptions as ReportOptions
from isoglot.reports.paired import Comparison as Comparison
from isoglot.reports.paired import compare as compare
from isoglot.reports.render import report as report
from isoglot.results import Result as Result
from isoglot.runs.history import Checkpoint as Checkpoint
from isoglot.schema import require as require
from isoglot.seeding import generator_for as generator_for
from isoglot.studies.api import study as study
from isoglot.tasks.text_vectors import TextEncoder as TextEncoder
from isoglot.training.batches import BatchOptions as BatchOptions
from isoglot.training.collate import Collator as Collator
from isoglot.training.mixture import Mixture as Mixture
from isoglot.training.model import AlignmentModel as AlignmentModel
from isoglot.training.trainer import AlignmentTrainer as AlignmentTrainer
from isoglot.views.base import View as View

__version__: str
__all__: list[str]
_HOMES: dict[str, str]
_PACKAGES: tuple[str, ...]
