"""The word-aligned encoder of Cao et al. (2020): linked words should have the same contextual vectors."""

from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.modules.encodings import Encodings
from isoglot.modules.word_vectors import WordIndex, WordPooling, pool_words, word_index, word_links
from isoglot.objectives.base import Batch, Objective, ObjectiveOutput, tensor_of
from isoglot.objectives.links import link_ids


@dataclass(eq=False, repr=False)
class ContextualAlignment(Objective):
    """Squared distance between the vectors of linked words.

    ``L = Σ_links ‖f(s) − f(t)‖²``, with ``f`` the last layer's vector of the word's last piece and the sentences
    encoded separately. The pair of the sentences' first tokens ([CLS]) and that of their last ([SEP]) count as links.

    Args:
        model: encoder with its masked-LM head; not read, the states come from the encodings.
        view: a ``sentence_pair`` view with links.
        pooling: a word's vector: ``last`` piece (default), ``first`` or ``mean``.
        one_to_one: leave out words with several links.
        drop_identical: leave out pairs of equal words, as the original does.
        special_tokens: add the [CLS] and [SEP] pairs.
        reduction: ``mean`` over the dimensions (the code: MSE) or ``sum`` (the paper's norm).

    **Batch**: ``query_``/``key_`` ``input_ids``, ``attention_mask`` and ``word_ids``; ``link_ids``.

    **Metrics**: ``cosine`` of the linked words' vectors.

    Source: Cao, Kitaev, Klein 2020, *Multilingual Alignment of Contextual Word Representations*, §3.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"
    pooling: WordPooling = "last"
    one_to_one: bool = True
    drop_identical: bool = True
    special_tokens: bool = True
    reduction: Literal["mean", "sum"] = "mean"

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()

    def count(self, batch: Batch) -> Tensor | None:
        """Linked pairs, with those of the special tokens."""
        links, _, _ = self._links(batch)
        mask = batch[self.view]["query_attention_mask"]
        special = 2 * mask.size(0) if self.special_tokens else 0
        return torch.tensor(links.size(0) + special, device=mask.device)

    def forward(self, encodings: Encodings, batch: Batch) -> ObjectiveOutput:
        """Summed squared distances."""
        links, query, key = self._links(batch)
        row = links[:, 0]
        hidden = {side: encodings.last(self.view, side) for side in ("query", "key")}
        first = [pool_words(hidden["query"], query, pooling=self.pooling)[row, links[:, 1]]]
        second = [pool_words(hidden["key"], key, pooling=self.pooling)[row, links[:, 2]]]
        if self.special_tokens:
            tensors = batch[self.view]
            for states, side in ((first, "query"), (second, "key")):
                rows = torch.arange(hidden[side].size(0), device=row.device)
                end = tensors[f"{side}_attention_mask"].sum(dim=1) - 1
                states += [hidden[side][:, 0], hidden[side][rows, end]]
        source, target = torch.cat(first).float(), torch.cat(second).float()
        distance = (source - target).square()
        per_link = distance.mean(dim=1) if self.reduction == "mean" else distance.sum(dim=1)
        # The zero keeps both sides in the graph where there is no link at all.
        total = per_link.sum() + 0.0 * (hidden["query"].sum() + hidden["key"].sum()).float()
        count = torch.tensor(source.size(0), device=total.device)
        cosine = torch.cosine_similarity(source.detach(), target.detach(), dim=1)
        return ObjectiveOutput(total, count, {"cosine": cosine.sum() / count.clamp(min=1)})

    def _links(self, batch: Batch) -> tuple[Tensor, WordIndex, WordIndex]:
        links = link_ids(batch, self.view, objective="contextual_alignment")
        query, key = side_words(batch, self.view, "query"), side_words(batch, self.view, "key")
        found = word_links(links, query, key, one_to_one=self.one_to_one, drop_identical=self.drop_identical)
        return found, query, key


def side_words(batch: Batch, view: str, side: str) -> WordIndex:
    """The words of one side of a sentence-pair view."""
    hint = "use a `sentence_pair` view on a bitext stream"
    words = tensor_of(batch, view, f"{side}_word_ids", objective="contextual_alignment, anchor", hint=hint)
    # The view counts words from 1, so that 0 can pad.
    return word_index(words - 1, batch[view][f"{side}_input_ids"])
