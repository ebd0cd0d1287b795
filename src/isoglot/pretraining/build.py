"""Build the objects of a run from a checked recipe and its streams: views, encoder, objectives, batches, trainer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast, TrainingArguments

from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError, Location, Problem, collected, reported_together
from isoglot.core.seeding import seed_for
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.corpus.manifest import is_prepared
from isoglot.modules.adapter import add_adapter
from isoglot.modules.encoder import input_embeddings
from isoglot.modules.load import load_masked_lm, longest_input
from isoglot.modules.masked_lm_head import start_new_head
from isoglot.objectives.base import Objective
from isoglot.pretraining.recipe import MADE, Recipe
from isoglot.pretraining.streams import encoding, text_columns
from isoglot.tasks.language_vectors import read_vectors
from isoglot.training.batches import BatchOptions, StreamCost, bucket_positions
from isoglot.training.collate import Collator
from isoglot.training.mixture import Mixture
from isoglot.training.model import AlignmentModel
from isoglot.training.trainer import AlignmentTrainer
from isoglot.views.base import View
from isoglot.views.instance import is_packed

_COUNTED = 10_000
"""Rows of a corpus, at most, whose pieces are counted for a new head."""


@dataclass(frozen=True)
class Assembly:
    """The objects that were built from a recipe's sections."""

    model: AlignmentModel
    views: dict[str, tuple[str, View]]

    @property
    def modules(self) -> dict[Location, Any]:
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
    supplied = {} if longest is None else {"max_length": longest}
    views: dict[str, tuple[str, View]] = {}
    with reported_together() as problems:
        for name, section in recipe.views.items():
            with collected(problems, "views", name):
                section.require_room(longest)
                views[name] = section.stream, section.build(tokenizer, corpora, **supplied)
    return views


def build_model(
    recipe: Recipe,
    tokenizer: PreTrainedTokenizerFast,
    corpora: Mapping[str, Dataset],
) -> Assembly:
    """Encoder, views, objectives and language embeddings of a recipe; all new weights follow from its seed."""
    encoder = load_masked_lm(recipe.model.settings, tokenizer=tokenizer, seed=recipe.seed)
    if recipe.model.settings.get("new_head"):  # before the objectives, which may copy the head
        pieces, counts = PieceEncoder(tokenizer), np.zeros(len(tokenizer), dtype=np.int64)
        for name, corpus in corpora.items():
            sample = corpus.select(range(0, len(corpus), 1 + len(corpus) // _COUNTED))
            for column in text_columns(corpus) if recipe.streams[name].kind != "lexicon" else ():
                counts += np.bincount(pieces.texts(list(sample[column])).ids, minlength=len(counts))
        start_new_head(encoder, torch.from_numpy(counts))
    if recipe.model.adapter is not None:  # before the objectives, which may copy the encoder
        add_adapter(encoder, recipe.model.adapter, seed=seed_for(recipe.seed, "adapter"))
    views = build_views(recipe, tokenizer, corpora, longest=longest_input(encoder.config))
    rows = input_embeddings(encoder).num_embeddings
    with reported_together() as problems:
        for name, (_, view) in views.items():
            pool, copied = getattr(view, "random_pool", None), getattr(view, "copied_vocabulary", None)
            pool_end = pool[1] if isinstance(pool, list | tuple) else 0
            for option, end in (("random_pool", pool_end), ("copied_vocabulary", 2 * (copied or 0))):
                if end > rows:
                    text = f"ids reach {end}, but the encoder has {rows} embeddings; lower it"
                    problems.append(Problem(text, ("views", name, option)))
    objectives: dict[str, Objective] = {}
    with reported_together() as problems:
        for name, section in recipe.objectives.items():
            with collected(problems, "objectives", name):
                seed = seed_for(recipe.seed, "objective", name)
                objectives[name] = section.build(encoder, corpora, tokenizer=tokenizer, seed=seed)
    model = AlignmentModel(
        encoder,
        objectives,
        {name: section.weight for name, section in recipe.objectives.items()},
        normalisation=recipe.normalisation,
        language_embeddings=_language_table(recipe, encoder),
    )
    return Assembly(model, views)


def explicit(recipe: Recipe, modules: Mapping[Location, Any] | None = None) -> dict[str, Any]:
    """The recipe with the values that will be used.

    A stream has all of its limits and filters, but those of a corpus that is prepared already. Options that are not
    given have the values that ``modules`` fill in: the run's views and objectives; by default those of the check.
    """
    modules = recipe.filled_in if modules is None else modules
    values = recipe.model_dump(mode="json", exclude_none=True)
    for name, stream in recipe.streams.items():
        entry = values["streams"][name]
        parts = {"encode": encoding(recipe, name), "pack": stream.pack}
        for key, options in parts.items():
            if options is not None:
                known = options.model_dump(mode="json", exclude_none=True, exclude={"kind"})
                entry[key] = {**known, **entry.get(key, {})}
        if not is_prepared(stream.inputs[0].path):
            filters = stream.prepare.model_dump(mode="json", exclude_none=True)
            entry |= {k: v for k, v in filters.items() if k not in entry and v not in ([], {})}
    for key in MADE:
        for name, section in getattr(recipe, key).items():
            entry, used = values[key][name], section.in_use(modules.get((key, name)))
            entry |= {option: value for option, value in used.items() if option not in entry}
    return values


def _language_table(recipe: Recipe, encoder: PreTrainedModel) -> nn.Embedding | None:
    """Language embeddings where a view or a packed stream numbers the languages.

    They are those of the run that is continued, for the languages it knew; new ones are normal with deviation 0.02.
    """
    packs = [s.pack for s in recipe.streams.values() if s.pack is not None]
    id_maps = [
        getattr(options, "language_ids", None)
        for options in (*(v.options for v in recipe.views.values()), *packs)
    ]
    numbers = [int(i) for ids in id_maps if isinstance(ids, Mapping) for i in ids.values()]
    numbers += [pack.language_padding for pack in packs if numbers]
    if not numbers:
        return None
    if min(numbers) < 0:
        raise ConfigurationError(f"language_ids: got {min(numbers)}, but ids of languages count from 0")
    table = nn.Embedding(max(numbers) + 1, input_embeddings(encoder).embedding_dim)
    generator = torch.Generator().manual_seed(seed_for(recipe.seed, "language embeddings"))
    with torch.no_grad():
        table.weight.normal_(0.0, 0.02, generator=generator)
        known = None if recipe.model.path is None else read_vectors(checkpoint_folder(recipe.model.path))
        if known is not None and known.weight.shape[1] == table.embedding_dim:
            for code, number in (
                (c, n) for ids in id_maps if isinstance(ids, Mapping) for c, n in ids.items()
            ):
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
    with reported_together() as problems:
        for name, (stream, view) in views.items():
            present = streams[stream].column_names
            packed = is_packed(dict.fromkeys(present))
            needed = getattr(view, "packed_columns", view.columns) if packed else view.columns
            if missing := [column for column in needed if column not in present]:
                text = (
                    f"stream {stream!r} has no {', '.join(missing)} (it has {', '.join(sorted(present))}); "
                )
                text += "read another stream, or change the stream's `kind`"
                problems.append(Problem(text, ("views", name)))


def build_trainer(
    recipe: Recipe,
    built: Assembly,
    streams: Mapping[str, Dataset],
    tokenizer: PreTrainedTokenizerFast,
    args: TrainingArguments,
) -> AlignmentTrainer:
    """The trainer of a run, ready to train."""
    batch = batch_options(recipe, built.views, streams)
    mixture = build_mixture(recipe, streams, batch, group=args.world_size * args.gradient_accumulation_steps)
    collator = Collator(
        built.views,
        seed=recipe.seed,
        pad_token_id=int(tokenizer.pad_token_id or 0),
        pad_to_multiple_of=recipe.batch.pad_to_multiple_of,
        samples=mixture.samples() if mixture.concatenate else None,
    )
    return AlignmentTrainer(
        built.model,
        args,
        mixture=mixture,
        batch=batch,
        collator=collator,
        tokenizer=tokenizer,
        parts=recipe.parts,
    )


def build_mixture(
    recipe: Recipe, streams: Mapping[str, Dataset], batch: BatchOptions, *, group: int
) -> Mixture:
    """Which example stands where: the epochs of the named stream, or of the first one where steps are counted."""
    primary = recipe.epochs.stream if recipe.epochs is not None else next(iter(streams))
    if primary not in streams:
        raise ConfigurationError(
            f"epochs.stream: no view reads {primary!r}; count the epochs of one of {', '.join(streams)}"
        )
    concatenate = recipe.mixing == "concatenate"
    size = sum(map(len, streams.values())) if concatenate else len(streams[primary])
    length = None if recipe.epochs is None else max(1, round(recipe.epochs.count * size))
    lengths = {name: stream.with_format("numpy")["length"][:] for name, stream in streams.items()}
    # Without `bucket` a window holds one optimiser step: which examples share a step stays random.
    bucket = bucket_positions(
        lengths, batch, batches=recipe.batch.bucket or 1, group=group, concatenate=concatenate
    )
    return Mixture(
        streams,
        primary=primary,
        length=length,
        seed=recipe.seed,
        bucket=bucket,
        least=group,
        concatenate=concatenate,
    )
