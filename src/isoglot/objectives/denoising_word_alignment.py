"""XLM-Align's denoising word alignment: point from a masked token to its translation."""

from dataclasses import KW_ONLY, dataclass, field

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.losses.base import LossOutput
from isoglot.losses.denoising_word_alignment import DenoisingWordAlignment
from isoglot.modules.encoder import hidden_size
from isoglot.modules.encodings import Encodings
from isoglot.modules.self_labelling import LinkedPositions, corpus_links
from isoglot.objectives.base import Batch, chosen_layer, tensor_of
from isoglot.objectives.links import LinkObjective


@dataclass(eq=False, repr=False)
class DenoisingWordAlignmentObjective(LinkObjective, DenoisingWordAlignment):
    """Point from masked tokens to those they are linked to: :class:`~isoglot.losses.DenoisingWordAlignment`.

    The states are those of the masked pair that masked-LM objectives on the same view read, so they cost no forward of
    their own; the links come from the encoder itself (one forward of the unmasked pair up to ``label_layer``, no
    gradient, dropout off), from the corpus, or from both in turn.

    Args:
        view: a masked pair.
        label_layer: layer whose states label the links, 0 the embeddings. By default ten twelfths of the depth,
            rounded: 10 of 12 in the paper (Table 11), 3 of 4.
        layer: layer whose states the pointer reads; the last by default (Table 5 also tries 8 and 10).

    **Batch**: ``side_ids``; ``labels`` unless queries are all_aligned; ``original_ids``; ``link_ids`` for
    corpus links.
    """

    _: KW_ONLY
    view: str = "pair"
    label_layer: int | None = None
    hidden_size: int = field(init=False)

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.hidden_size = hidden_size(model)
        super().__post_init__(model)
        layer = None if self.labels == "corpus" else self.label_layer  # not read then
        self.label_layer = self._label_layer = chosen_layer(model, layer, share=10 / 12, name="label_layer")
        # Saved beside the pointer, for the aligner that reads it.
        self.register_buffer("pointer_layer", torch.tensor(self.layer))

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Summed cross-entropy over the queries of both directions."""
        hidden, side_ids = self.states(encodings), tensor_of(batch, self.view, "side_ids")
        links = self._links(batch) or self._labelled(encodings, batch)
        return self.measure(
            hidden, side_ids, links, batch[self.view].get("labels"), input_ids=self._unmasked(batch)
        )

    def count(self, batch: Batch) -> Tensor | None:
        """How many queries there are: with corpus links, and with own ones that it found ahead."""
        links = self._links(batch)
        if links is None:
            return None
        side_ids = tensor_of(batch, self.view, "side_ids")
        queries = self.choose(links, side_ids, batch[self.view].get("labels"), self._unmasked(batch))
        return torch.tensor(len(queries.rows), device=queries.rows.device)

    def own_links(self, encodings: Encodings, batch: Batch) -> Tensor:
        """The links of the encoder's states of the unmasked pair, as positions."""
        return self._labelled(encodings, batch).link_ids()

    def _labelled(self, encodings: Encodings, batch: Batch) -> LinkedPositions:
        side_ids = tensor_of(batch, self.view, "side_ids")
        return self.label(encodings.layer(self.view, self._label_layer, clean=True), side_ids)

    def _links(self, batch: Batch) -> LinkedPositions | None:
        """The links that are known without the encoder."""
        if self.from_corpus():
            link_ids = tensor_of(batch, self.view, "link_ids")
            return corpus_links(link_ids, tensor_of(batch, self.view, "side_ids"))
        links = self.links_ahead(batch)
        return None if links is None else LinkedPositions.of_ids(links)

    def _unmasked(self, batch: Batch) -> Tensor:
        tensors = batch[self.view]
        return tensors.get("original_ids", tensors["input_ids"])
