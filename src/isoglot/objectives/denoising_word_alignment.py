"""XLM-Align's denoising word alignment: point from a masked token to its translation."""

from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.modules.encoder import hidden_size
from isoglot.modules.encodings import Encodings
from isoglot.modules.hashed_noise import hashed_uniform, sentence_key
from isoglot.modules.pointer import Pointer
from isoglot.modules.self_labelling import Filtering, LinkGrid, corpus_grid, self_label
from isoglot.modules.sinkhorn import Order
from isoglot.objectives.base import Batch, Objective, ObjectiveOutput, chosen_layer, tensor_of
from isoglot.objectives.links import Labels, from_corpus, link_ids, require_step
from isoglot.options import Count, Positive, Share
from isoglot.seeding import generator_for

_UNSELECTED = -100  # label of a position that is not masked


class Queries(NamedTuple):
    """Which positions ask, and which in the other sentence are right for each: bool (queries, length), at least one."""

    rows: Tensor
    positions: Tensor
    targets: Tensor


@dataclass(eq=False, repr=False)
class DenoisingWordAlignment(Objective):
    r"""Cross-entropy of a pointer network from masked tokens to the tokens they are linked to.

    .. math:: L = \sum_{i \in P} \mathrm{CE}(a_i, A(i)),\qquad P = \text{aligned} \cap \text{masked}

    over both sides of the pair (forward and backward), where :math:`a_i` is the :class:`Pointer`'s
    distribution over all tokens of the *other* sentence. The states are those of the masked pair that
    masked-LM objectives on the same view read, so they cost no forward of their own; the links come from the
    encoder itself (one forward of the unmasked pair up to ``label_layer``, no gradient, dropout off), from
    the corpus, or from both in turn. An encoder that was not pre-trained cannot label itself (section 6 of
    the paper): start it on corpus links.

    Args:
        model: encoder with its masked-LM head.
        view: a masked pair.
        label_layer: layer whose states label the links, 0 the embeddings. By default ten twelfths of the depth,
            rounded: 10 of 12 in the paper (Table 11), 3 of 4.
        layer: layer whose states the pointer reads; the last by default (Table 5 also tries 8 and 10).
        labels: ``self``, ``corpus`` (the view's links) or ``corpus_then_self``, which changes over after
            optimiser step ``self_after_step``.
        self_after_step: see ``labels``. To start the objective later, write its weight as a schedule.
        iterations: Sinkhorn iterations; 2 in the paper.
        mu: entropy weight μ; 1 in the paper.
        order: ``official`` (columns, then rows) or ``paper`` (Eq. 6: rows, then columns).
        epsilon: floor of the similarities; 1e-6 in the code.
        filtering: ``itermax`` (the authors' code), ``printed`` (Eq. 7-9 to the letter), ``intersection`` (the released
            aligner) or ``union`` (the ablation).
        alpha: discount of itermax and printed; 0.9 in the code.
        passes: their passes in all; 2 in the code.
        queries: which aligned tokens ask: ``masked`` ones (selected for prediction, whatever stands there
            now), ``unmasked`` ones (a random share of those not selected), ``all_aligned`` (of every link one
            of its two tokens at random): three rows of Table 7; the fourth, no query, is a recipe without this
            objective. Of several links of a token the last in the other sentence is its answer (the released
            code); with ``all_aligned`` every link is a question of its own.
        unmasked_share: for ``unmasked``; 0.15 in the paper.
        seed: Seed of the pointer's initial weights and of the draws for ``queries``. Draws are hashes of seed,
            step and sentence, so neither a resume nor the split of a batch changes them.

    **Batch**: ``side_ids``; ``labels`` unless queries are all_aligned; ``original_ids``; ``link_ids`` for
    corpus links.

    **Metrics**: ``accuracy``; ``queries_per_pair``; ``links_per_pair``.

    Source: Chi et al. 2021, *Improving Pretrained Cross-Lingual Language Models via Self-Labeled Word
    Alignment*, Eq. 1-15.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "pair"
    label_layer: int | None = None
    layer: int | None = None
    labels: Labels = "self"
    self_after_step: int | None = None
    iterations: Annotated[int, Field(ge=0)] = 2
    mu: Positive = 1.0
    order: Order = "official"
    epsilon: Positive = 1e-6
    filtering: Filtering = "itermax"
    alpha: float = 0.9
    passes: Count = 2
    queries: Literal["masked", "unmasked", "all_aligned"] = "masked"
    unmasked_share: Share = 0.15
    seed: int = 0
    top_layer: int = field(init=False)
    step: Tensor = field(init=False)

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()
        self.layer = self.top_layer = chosen_layer(model, self.layer)
        own = None if self.labels == "corpus" else self.label_layer  # not read then
        self.label_layer = self._label_layer = chosen_layer(model, own, share=10 / 12, name="label_layer")
        self.pointer = Pointer(hidden_size(model), generator=generator_for(self.seed, "pointer"))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        # Saved beside the pointer, for the aligner that reads it.
        self.register_buffer("pointer_layer", torch.tensor(self.layer))

    def check_options(self) -> None:
        """A change of labels has its step."""
        require_step(self.labels, self.self_after_step)

    def forward(self, encodings: Encodings, batch: Batch) -> ObjectiveOutput:
        """Summed cross-entropy over the queries of both directions."""
        tensors = batch[self.view]
        side_ids = self._tensor(batch, "side_ids")
        hidden = encodings.hidden(self.view, self.top_layer)
        if self._from_corpus():
            grid = self._corpus_links(batch)
        else:
            states = encodings.layer(self.view, self._label_layer, clean=True)
            grid = self_label(
                states,
                side_ids,
                iterations=self.iterations,
                mu=self.mu,
                epsilon=self.epsilon,
                order=self.order,
                filtering=self.filtering,
                alpha=self.alpha,
                passes=self.passes,
            )
        queries = self._choose(grid, batch)
        total, correct = pointer_loss(self.pointer, hidden, side_ids, queries)
        count, pairs = len(queries.rows), tensors["input_ids"].shape[0]
        metrics = {
            "accuracy": correct.float() / max(1, count),
            "queries_per_pair": total.new_tensor(count / max(1, pairs)),
            "links_per_pair": grid.links.sum().float() / max(1, pairs),
        }
        items = {"queries_per_pair": pairs, "links_per_pair": pairs}
        return ObjectiveOutput(total, torch.tensor(count, device=total.device), metrics, items)

    def count(self, batch: Batch) -> Tensor | None:
        """How many queries there are, where that does not take the encoder: with corpus links."""
        if not self._from_corpus():
            return None
        queries = self._choose(self._corpus_links(batch), batch)
        return torch.tensor(len(queries.rows), device=queries.rows.device)

    def after_step(self, encoder: PreTrainedModel) -> None:
        """Counts optimiser steps, for the change of labels and the draws."""
        self.step += 1

    def _choose(self, grid: LinkGrid, batch: Batch) -> Queries:
        """The queries of a batch and their targets."""
        length = self._tensor(batch, "side_ids").shape[1]
        if self.queries == "all_aligned":
            rows, source, target = grid.pairs()
            heads = self._draw(batch, rows, source, target) < 0.5
            asked, answer = torch.where(heads, source, target), torch.where(heads, target, source)
            return Queries(rows, asked, _one_hot(answer, length))
        selected = self._tensor(batch, "labels") != _UNSELECTED
        if self.queries == "unmasked":
            every = torch.arange(selected.numel(), device=selected.device)
            draws = self._draw(batch, every // length, every % length).view_as(selected)
            selected = ~selected & (draws < self.unmasked_share)
        partner = grid.partners(length)
        rows, positions = (selected & (partner >= 0)).nonzero(as_tuple=True)
        return Queries(rows, positions, _one_hot(partner[rows, positions], length))

    def _draw(self, batch: Batch, rows: Tensor, *positions: Tensor) -> Tensor:
        """A uniform number for each row and position, or row and pair of positions."""
        tensors = batch[self.view]
        ids = tensors.get("original_ids", tensors["input_ids"])
        key = sentence_key(ids, self._tensor(batch, "side_ids") > 0)
        return hashed_uniform(key[rows], self.seed, self.step.to(ids.device), *positions)

    def _corpus_links(self, batch: Batch) -> LinkGrid:
        links = link_ids(
            batch, self.view, objective="denoising_word_alignment", otherwise=", or set labels: self"
        )
        return corpus_grid(links, self._tensor(batch, "side_ids"))

    def _tensor(self, batch: Batch, key: str) -> Tensor:
        hint = f"give a masked pair: views: {{{self.view}: {{type: masked_pair, stream: …}}}}"
        return tensor_of(batch, self.view, key, objective="denoising_word_alignment", hint=hint)

    def _from_corpus(self) -> bool:
        return from_corpus(self.labels, self.self_after_step, self.step)


def pointer_loss(
    pointer: Pointer, hidden: Tensor, side_ids: Tensor, queries: Queries
) -> tuple[Tensor, Tensor]:
    """Summed cross-entropy of the pointer (0 with its graph for no query) and the number of right answers (Eq. 15).

    Each query's keys are all tokens of the other sentence, masked or not; a query with several targets has its
    probability mass spread uniformly over them, and is right if its best key is any of them.

    **Shape**: hidden (batch, length, hidden), side_ids (batch, length).
    """
    rows, positions = queries.rows, queries.positions
    allowed = side_ids[rows] == 3 - side_ids[rows, positions][:, None]
    log_probabilities = pointer(hidden, rows, positions, allowed).log_softmax(1)
    share = queries.targets.float() / queries.targets.sum(1, keepdim=True)
    # Positions that are not allowed hold −inf, which a product with 0 would turn into NaN.
    total = -(log_probabilities.masked_fill(~queries.targets, 0.0) * share).sum()
    if not len(rows):
        return total, torch.zeros((), device=hidden.device)
    best = log_probabilities.argmax(1, keepdim=True)
    return total, queries.targets.gather(1, best).sum().detach()


def _one_hot(index: Tensor, length: int) -> Tensor:
    return index[:, None] == torch.arange(length, device=index.device)
