"""Build the objects of a run from a checked recipe and its streams: views, encoder, objectives, batches, trainer."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
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
from isoglot.pretraining.recipe import BUILT, Recipe
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
"""Maximum rows of a corpus whose pieces are counted for a new head."""


@dataclass(frozen=True)
class Assembly:
    """The objects that were built from a recipe's sections."""

    model: AlignmentModel
    views: dict[str, tuple[str, View]]  # by name: the name of the stream that the view reads, and the view

    @property
    def modules(self) -> dict[Location, Any]:
        """Views and objectives by section and name: ``{("views", "pair"): MaskedPair(...)}``."""
        modules: dict[Location, Any] = {}
        for name, (_, view) in self.views.items():
            modules["views", name] = view
        for name, objective in self.model.objectives.items():
            modules["objectives", name] = objective
        return modules


def build_views(
    recipe: Recipe,
    tokenizer: PreTrainedTokenizerFast,
    corpora: Mapping[str, Dataset],
    *,
    longest: int | None = None,
) -> dict[str, tuple[str, View]]:
    """Build the views of a recipe.

    Args:
        recipe: The recipe.
        tokenizer: The run's tokenizer, whose pieces and special tokens views arrange.
        corpora: The streams' corpora, which views read lexicons from.
        longest: The encoder's longest input: the ``max_length`` of views that give none, and the limit of the others.

    Returns:
        Each view by its name, with the name of the stream that it reads.
    """
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
    """Build the encoder, views, objectives and language embeddings of a recipe.

    Each new part draws its weights from a seed of its own, made of the run's seed and the part's name. So another
    objective in the recipe changes no weight of this one.
    """
    encoder = load_masked_lm(recipe.model.settings, tokenizer=tokenizer, seed=recipe.seed)
    # The encoder is finished before the objectives are built: an objective may copy the head or the whole encoder.
    if recipe.model.settings.get("new_head"):
        counts = _piece_counts(recipe, tokenizer, corpora, size=input_embeddings(encoder).num_embeddings)
        start_new_head(encoder, torch.from_numpy(counts))
    if recipe.model.adapter is not None:
        add_adapter(encoder, recipe.model.adapter, seed=seed_for(recipe.seed, "adapter"))
    views = build_views(recipe, tokenizer, corpora, longest=longest_input(encoder.config))
    _require_embeddings(views, input_embeddings(encoder).num_embeddings)
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


def _piece_counts(
    recipe: Recipe, tokenizer: PreTrainedTokenizerFast, corpora: Mapping[str, Dataset], *, size: int
) -> NDArray[np.int64]:
    """Count how often each piece occurs in the sentences of the corpora: one number for each word embedding.

    Of a large corpus every n-th row is read, at most ``_COUNTED`` rows. Lexicons are left out: each word stands in a
    dictionary about once, however frequent it is in text.

    ``size``: Number of the encoder's word embeddings. The number of the tokenizer's entries would not do: if ids have
    gaps, the largest id is beyond it.
    """
    pieces = PieceEncoder(tokenizer)
    counts = np.zeros(size, dtype=np.int64)
    for name, corpus in corpora.items():
        if recipe.streams[name].kind == "lexicon":
            continue
        step = max(1, math.ceil(len(corpus) / _COUNTED))
        sample = corpus.select(range(0, len(corpus), step))
        for column in text_columns(corpus):
            ids = pieces.texts(list(sample[column])).ids
            counts += np.bincount(ids, minlength=len(counts))
    return counts


def _require_embeddings(views: Mapping[str, tuple[str, View]], embeddings: int) -> None:
    """Refuse views that make ids for which the encoder has no embedding.

    ``random_pool``, ids from first to end, replaces pieces by random ones; ``copied_vocabulary: V`` replaces the piece
    ``id`` by its copy ``id + V``, so the ids reach ``2 * V``.
    """
    with reported_together() as problems:
        for name, (_, view) in views.items():
            pool = getattr(view, "random_pool", None)
            end_of_pool = pool[1] if isinstance(pool, list | tuple) else 0
            end_of_copies = 2 * (getattr(view, "copied_vocabulary", None) or 0)
            for option, end in (("random_pool", end_of_pool), ("copied_vocabulary", end_of_copies)):
                if end > embeddings:
                    text = f"ids reach {end}, but the encoder has {embeddings} embeddings; lower it"
                    problems.append(Problem(text, ("views", name, option)))


def explicit(recipe: Recipe, modules: Mapping[Location, Any] | None = None) -> dict[str, Any]:
    """Return the recipe with all values that will be used, defaults included.

    ``views: {pair: {type: masked_pair}}`` becomes ``{"pair": {"type": "masked_pair", "probability": 0.15, ...}}``.
    Values that the recipe gives stay.

    Args:
        recipe: The recipe.
        modules: The views and objectives of the run by location (:attr:`Assembly.modules`). Options that the recipe
            leaves open, and that views and objectives choose themselves, are read from there; by default from the
            choices that the check of the recipe recorded.
    """
    # A module is a view or an objective. The check keeps none of them: it recorded namespaces with the values that they
    # choose, such as `SimpleNamespace(max_length=512)`. Both will do, since `in_use` below only reads attributes.
    modules = recipe.filled_in if modules is None else modules
    values = recipe.model_dump(mode="json", exclude_none=True)
    for name, stream in recipe.streams.items():
        entry = values["streams"][name]
        for key, options in (("encode", encoding(recipe, name)), ("pack", stream.pack)):
            if options is not None:
                # The kind of `encode` is not written by users: `encoding` took it from the stream's own `kind`.
                defaults = options.model_dump(mode="json", exclude_none=True, exclude={"kind"})
                entry[key] = {**defaults, **entry.get(key, {})}
        # A prepared corpus has been filtered already, perhaps by other defaults. The first source tells, because the
        # check of the recipe refuses a prepared folder beside other sources.
        if not is_prepared(stream.inputs[0].path):
            for option, value in stream.prepare.model_dump(mode="json", exclude_none=True).items():
                if option not in entry and value not in ([], {}):
                    entry[option] = value
    for key in BUILT:
        for name, section in getattr(recipe, key).items():
            entry = values[key][name]
            in_use = section.in_use(modules.get((key, name)))
            entry |= {option: value for option, value in in_use.items() if option not in entry}
    return values


def _language_table(recipe: Recipe, encoder: PreTrainedModel) -> nn.Embedding | None:
    """Build the language embeddings, if a view or a packed stream numbers languages (``language_ids: {en: 0, de: 1}``).

    1. Embeddings are drawn from a normal distribution of standard deviation 0.02.
    2. If the run continues a checkpoint that has language embeddings, those of the languages that the checkpoint knows
       are copied. They are found by the code of the language: its number may have changed.
    """
    packs = [stream.pack for stream in recipe.streams.values() if stream.pack is not None]
    views = [view.options for view in recipe.views.values()]
    id_maps: list[Mapping[Any, Any]] = []
    numbers: list[int] = []
    for options in (*views, *packs):
        language_ids = getattr(options, "language_ids", None)
        if isinstance(language_ids, Mapping):
            id_maps.append(language_ids)
            numbers += map(int, language_ids.values())
    if not numbers:
        return None
    # Padding of a packed block has a number too.
    numbers += [pack.language_padding for pack in packs]
    if min(numbers) < 0:
        raise ConfigurationError(f"language_ids: got {min(numbers)}, but ids of languages count from 0")
    table = nn.Embedding(max(numbers) + 1, input_embeddings(encoder).embedding_dim)
    generator = torch.Generator().manual_seed(seed_for(recipe.seed, "language embeddings"))
    with torch.no_grad():
        table.weight.normal_(0.0, 0.02, generator=generator)  # 1
        known = None if recipe.model.path is None else read_vectors(checkpoint_folder(recipe.model.path))
        if known is None or known.weight.shape[1] != table.embedding_dim:
            return table
        for language_ids in id_maps:  # 2
            for code, number in language_ids.items():
                if str(code) in known.ids:
                    table.weight[int(number)] = known.weight[known.ids[str(code)]]
    return table


def batch_options(
    recipe: Recipe, views: Mapping[str, tuple[str, View]], streams: Mapping[str, Dataset]
) -> BatchOptions:
    """Return the batch size, with the cost of one example of each stream in tokens.

    The cost adds up over the views that read the stream. Take a stream of pairs and three views: ``masked`` of both
    sides, and ``english`` and ``german`` of one side each, with ``max_length`` 128, 64 and 64.

    1. Pieces. ``masked`` encodes all pieces of a pair; ``english`` and ``german`` (they have ``side``) encode about
       half of them each. Counted in halves that is 2 + 1 + 1, so the pieces are encoded twice: ``views=2``. (This field
       of :class:`~isoglot.training.batches.StreamCost` is not the number of views, which is three here.)
    2. Special tokens. The views add 3 + 2 + 2 (``special_tokens``; 3, as of a pair, for a view without this
       attribute): ``specials=7``. The blocks of a packed stream hold their special tokens already: ``specials=0``.
    3. Longest input. No view encodes more than 128 pieces of a pair: ``limit=128``, however long the pair is. A view
       with two ``inputs``, a query and a key, may encode twice its ``max_length``. If a view has no ``max_length``,
       there is no limit.

    So a pair of 100 pieces costs 100 · 2 + 7 tokens, and one of 200 pieces 128 · 2 + 7.
    """
    costs = {}
    for stream in dict.fromkeys(stream_of_view for stream_of_view, _ in views.values()):
        readers = [view for stream_of_view, view in views.values() if stream_of_view == stream]
        half_encodings = 0
        special_tokens = 0
        longest_inputs: list[int] = []
        for view in readers:
            half_encodings += 1 if getattr(view, "side", None) else 2  # 1
            special_tokens += int(getattr(view, "special_tokens", 3))  # 2
            max_length = getattr(view, "max_length", None)
            if isinstance(max_length, int):  # 3
                longest_inputs.append(max_length * getattr(view, "inputs", 1))
        packed = is_packed(streams[stream].column_names)
        costs[stream] = StreamCost(
            views=math.ceil(half_encodings / 2),
            specials=0 if packed else special_tokens,
            limit=max(longest_inputs) if len(longest_inputs) == len(readers) else None,
        )
    return BatchOptions(examples=recipe.batch.examples, tokens=recipe.batch.tokens, costs=costs)


def require_columns(views: Mapping[str, tuple[str, View]], streams: Mapping[str, Dataset]) -> None:
    """Refuse views whose stream lacks a column that they read: word links, say, of a bitext without any."""
    with reported_together() as problems:
        for name, (stream, view) in views.items():
            present = streams[stream].column_names
            packed = is_packed(present)
            needed = getattr(view, "packed_columns", view.columns) if packed else view.columns
            missing = [column for column in needed if column not in present]
            if missing:
                text = (
                    f"stream {stream!r} has no {', '.join(missing)} (it has {', '.join(sorted(present))}); "
                    "read another stream, or change the stream's `kind`"
                )
                problems.append(Problem(text, ("views", name)))


def build_trainer(
    recipe: Recipe,
    built: Assembly,
    streams: Mapping[str, Dataset],
    tokenizer: PreTrainedTokenizerFast,
    args: TrainingArguments,
) -> AlignmentTrainer:
    """Build the trainer of a run, ready to train."""
    batch = batch_options(recipe, built.views, streams)
    batches_per_step = args.world_size * args.gradient_accumulation_steps
    mixture = build_mixture(recipe, streams, batch, batches_per_step=batches_per_step)
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
    recipe: Recipe, streams: Mapping[str, Dataset], batch: BatchOptions, *, batches_per_step: int
) -> Mixture:
    """Build the mixture of a run's streams, which says which examples stand at which position.

    Args:
        recipe: The recipe. Its ``epochs`` name the stream that is counted; in a run of ``steps`` it is the first one.
        streams: The encoded streams that views read.
        batch: Batch size, and the cost of one example of each stream.
        batches_per_step: Ranks times micro-batches.
    """
    primary = recipe.epochs.stream if recipe.epochs is not None else next(iter(streams))
    if primary not in streams:
        raise ConfigurationError(
            f"epochs.stream: no view reads {primary!r}; count the epochs of one of {', '.join(streams)}"
        )
    concatenate = recipe.mixing == "concatenate"
    positions_in_epoch = sum(map(len, streams.values())) if concatenate else len(streams[primary])
    length = None if recipe.epochs is None else max(1, round(recipe.epochs.count * positions_in_epoch))
    lengths = {name: stream.with_format("numpy")["length"][:] for name, stream in streams.items()}
    # Examples are sorted by length inside windows. The option `bucket` is the number of optimiser steps in a window;
    # without it a window holds one step, so which examples share a step stays random.
    window_size = bucket_positions(
        lengths,
        batch,
        steps=recipe.batch.bucket or 1,
        batches_per_step=batches_per_step,
        concatenate=concatenate,
    )
    return Mixture(
        streams,
        primary=primary,
        length=length,
        seed=recipe.seed,
        bucket=window_size,
        least=batches_per_step,
        concatenate=concatenate,
    )
