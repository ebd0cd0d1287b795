"""From a checked recipe and its streams to the objects of a run: views, encoder, objectives, batches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.errors import ConfigurationError, Location, Problem
from isoglot.modules.checkpoint import load_config
from isoglot.modules.encoder import input_embeddings
from isoglot.modules.load import load_masked_lm, longest_input, model_config
from isoglot.modules.masked_lm_head import start_new_head
from isoglot.objectives.base import Objective
from isoglot.pretraining.constructors import constructor, make_view
from isoglot.pretraining.streams import TEXT_COLUMNS
from isoglot.recipe.sections import Recipe
from isoglot.runs.checkpoint import checkpoint_folder
from isoglot.seeding import seed_for
from isoglot.tasks.language_vectors import read_vectors
from isoglot.training.batches import BatchOptions, StreamCost
from isoglot.training.model import AlignmentModel, Weight
from isoglot.views.base import View
from isoglot.views.instance import is_packed

_COUNTED = 10_000
"""Rows of a corpus, at most, whose pieces are counted for a new head."""


@dataclass(frozen=True)
class Built:
    """What a recipe's sections became."""

    model: AlignmentModel
    views: dict[str, tuple[str, View]]

    @property
    def made(self) -> dict[Location, Any]:
        """Views and objectives by section and name."""
        views: dict[Location, Any] = {("views", name): view for name, (_, view) in self.views.items()}
        return {**views, **{("objectives", name): o for name, o in self.model.objectives.items()}}


def build_views(
    recipe: Recipe,
    tokenizer: PreTrainedTokenizerFast,
    corpora: Mapping[str, Dataset],
    *,
    longest: int | None = None,
) -> dict[str, tuple[str, View]]:
    """The views of a recipe, by default as long as the encoder's ``longest`` input; ``corpora`` are for lexicons."""
    views: dict[str, tuple[str, View]] = {}
    problems: list[Problem] = []
    for name, section in recipe.views.items():
        try:
            made = make_view(constructor("views", section.type), section.options, tokenizer, corpora, longest)
            views[name] = (section.stream, made)
        except ConfigurationError as error:
            problems.extend(problem.below("views", name) for problem in error.problems)
    if problems:
        raise ConfigurationError(problems)
    return views


def build_model(
    recipe: Recipe,
    tokenizer: PreTrainedTokenizerFast,
    corpora: Mapping[str, Dataset],
) -> Built:
    """Encoder, views, objectives and language embeddings of a recipe; all new weights follow from its seed."""
    spec = recipe.model.model_dump(exclude_none=True)
    encoder = load_masked_lm(spec, tokenizer=tokenizer, seed=recipe.seed)
    if recipe.model.options.get("new_head"):  # before the objectives, which may copy the head
        start_new_head(encoder, _piece_counts(recipe, tokenizer, corpora))
    views = build_views(recipe, tokenizer, corpora, longest=longest_input(encoder.config))
    _check_ids(views, input_embeddings(encoder).num_embeddings)
    objectives, weights = _objectives(recipe, encoder, tokenizer, corpora)
    model = AlignmentModel(
        encoder,
        objectives,
        weights,
        normalisation=recipe.normalisation,
        language_embeddings=_language_table(recipe, encoder),
    )
    return Built(model, views)


def _check_ids(views: Mapping[str, tuple[str, View]], rows: int) -> None:
    """The ids that views put into inputs have embeddings."""
    problems = []
    for name, (_, view) in views.items():
        pool = getattr(view, "random_pool", "")
        ends = {"random_pool": pool[1] if isinstance(pool, list | tuple) else 0}
        ends["copied_vocabulary"] = 2 * (getattr(view, "copied_vocabulary", None) or 0)
        problems += [
            f"views.{name}.{option}: ids below {end} given, the encoder has {rows} embeddings; lower it"
            for option, end in ends.items()
            if end > rows
        ]
    if problems:
        raise ConfigurationError(problems)


def encoder_config(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> PreTrainedConfig:
    """The configuration of the recipe's encoder, without its weights."""
    path = recipe.model.path
    if path is None:
        settings = {"architecture": recipe.model.architecture, **recipe.model.options}
        return model_config(settings, tokenizer=tokenizer)
    return load_config(path, revision=recipe.model.options.get("revision", "main"))


def _piece_counts(
    recipe: Recipe, tokenizer: PreTrainedTokenizerFast, corpora: Mapping[str, Dataset]
) -> Tensor:
    """How often each piece occurs in a sample of the recipe's corpora, rows at equal distances of each."""
    encoder, counts = PieceEncoder(tokenizer), np.zeros(len(tokenizer), dtype=np.int64)
    for name, corpus in corpora.items():
        sample = corpus.select(range(0, len(corpus), 1 + len(corpus) // _COUNTED))
        for column in TEXT_COLUMNS if recipe.streams[name].kind != "lexicon" else ():
            if column in corpus.column_names:
                counts += np.bincount(encoder.texts(list(sample[column])).ids, minlength=len(counts))
    return torch.from_numpy(counts)


def _objectives(
    recipe: Recipe,
    encoder: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    corpora: Mapping[str, Dataset],
) -> tuple[dict[str, Objective], dict[str, Weight]]:
    objectives: dict[str, Objective] = {}
    weights: dict[str, Weight] = {}
    problems: list[Problem] = []
    for name, section in recipe.objectives.items():
        made_by = constructor("objectives", section.type)
        seed = seed_for(recipe.seed, "objective", name)
        with torch.random.fork_rng(devices=[]):  # a new head's weights depend on the seed and its name alone
            torch.manual_seed(seed)
            try:
                objectives[name] = made_by.build(
                    encoder, section.options, corpora, tokenizer=tokenizer, seed=seed
                )
            except ConfigurationError as error:
                problems.extend(problem.below("objectives", name) for problem in error.problems)
        weights[name] = section.weight
    if problems:
        raise ConfigurationError(problems)
    return objectives, weights


def _language_table(recipe: Recipe, encoder: PreTrainedModel) -> nn.Embedding | None:
    """Language embeddings where a view or a packed stream numbers the languages.

    They are those of the run that is continued, for the languages it knew; new ones are normal with deviation 0.02.
    """
    given = [v.options.get("language_ids") for v in recipe.views.values()]
    given += [(s.pack or {}).get("language_ids") for s in recipe.streams.values()]
    numbers = [int(i) for ids in given if isinstance(ids, Mapping) for i in ids.values()]
    numbers += [int((s.pack or {}).get("language_padding", 0)) for s in recipe.streams.values() if numbers]
    if not numbers:
        return None
    if min(numbers) < 0:
        raise ConfigurationError(f"language_ids: {min(numbers)} given; ids of languages count from 0")
    table = nn.Embedding(max(numbers) + 1, input_embeddings(encoder).embedding_dim)
    generator = torch.Generator().manual_seed(seed_for(recipe.seed, "language embeddings"))
    with torch.no_grad():
        table.weight.normal_(0.0, 0.02, generator=generator)
        known = None if recipe.model.path is None else read_vectors(checkpoint_folder(recipe.model.path))
        if known is not None and known.weight.shape[1] == table.embedding_dim:
            for code, number in ((c, n) for ids in given if isinstance(ids, Mapping) for c, n in ids.items()):
                if str(code) in known.ids:
                    table.weight[int(number)] = known.weight[known.ids[str(code)]]
    return table


def batch_options(
    recipe: Recipe, views: Mapping[str, tuple[str, View]], streams: Mapping[str, Dataset]
) -> BatchOptions:
    """Batch size with what one example of each stream costs in tokens.

    A view's ``special_tokens`` says how many it adds (one that does not say: 3), its ``inputs`` how many ``max_length``
    is of each (1); packed blocks hold theirs.
    """
    costs = {}
    for stream in dict.fromkeys(name for name, _ in views.values()):
        readers = [view for name, view in views.values() if name == stream]
        packed = is_packed(dict.fromkeys(streams[stream].column_names))
        limits = [(getattr(view, "max_length", None), getattr(view, "inputs", 1)) for view in readers]
        known = [limit * inputs for limit, inputs in limits if isinstance(limit, int)]
        halves = sum(1 if getattr(view, "side", None) else 2 for view in readers)
        costs[stream] = StreamCost(
            views=-(-halves // 2),  # two views of one side each encode a pair once
            specials=0 if packed else sum(int(getattr(view, "special_tokens", 3)) for view in readers),
            limit=max(known) if known and len(known) == len(limits) else None,
        )
    return BatchOptions(examples=recipe.batch.examples, tokens=recipe.batch.tokens, costs=costs)


def require_columns(views: Mapping[str, tuple[str, View]], streams: Mapping[str, Dataset]) -> None:
    """Every view finds the columns that it reads."""
    problems = []
    for name, (stream, view) in views.items():
        present = streams[stream].column_names
        packed = is_packed(dict.fromkeys(present))
        needed = getattr(view, "packed_columns", view.columns) if packed else view.columns
        missing = [column for column in needed if column not in present]
        if missing:
            problems.append(
                f"views.{name}: stream {stream!r} has no {', '.join(missing)} (it has "
                f"{', '.join(sorted(present))}); read another stream, or change the stream's `kind`"
            )
    if problems:
        raise ConfigurationError(problems)
