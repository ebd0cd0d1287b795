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
    their own (Eq. 10). The links come from the encoder itself (one forward of the unmasked pair up to ``label_layer``,
    no gradient, dropout off), from the corpus, or first from the corpus and then from the encoder.

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
        # With corpus links no layer labels anything, so a layer that this encoder lacks is no error.
        layer = None if self.labels == "corpus" else self.label_layer
        # Both are the same number from here on. `label_layer` is the option that is shown; its type allows None, so
        # code that needs an int reads `_label_layer`.
        self.label_layer = self._label_layer = chosen_layer(model, layer, share=10 / 12, name="label_layer")
        # Saved beside the pointer, for the aligner that reads the pointer.
        self.register_buffer("pointer_layer", torch.tensor(self.top_layer))

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the cross-entropy over the questions to the pointer (the paper's queries), in both directions."""
        hidden = self.states(encodings)
        side_ids = tensor_of(batch, self.view, "side_ids")
        links = self._known_links(batch)
        if links is None:
            links = self._label_with_encoder(encodings, batch)
        labels = batch[self.view].get("labels")
        return self.measure(hidden, side_ids, links, labels, input_ids=self._unmasked_ids(batch))

    def count(self, batch: Batch) -> Tensor | None:
        """The number of questions to the pointer; ``None`` while the encoder's own links are not found yet."""
        links = self._known_links(batch)
        if links is None:
            return None
        side_ids = tensor_of(batch, self.view, "side_ids")
        questions = self.choose(links, side_ids, batch[self.view].get("labels"), self._unmasked_ids(batch))
        return torch.tensor(len(questions.rows), device=questions.rows.device)

    def own_links(self, encodings: Encodings, batch: Batch) -> Tensor:
        """The links that the encoder's states of the unmasked pair give, as positions: (batch, links, 2)."""
        return self._label_with_encoder(encodings, batch).link_ids()

    def _label_with_encoder(self, encodings: Encodings, batch: Batch) -> LinkedPositions:
        """Find links in the states of the unmasked pair at ``label_layer``, without gradient and dropout."""
        states = encodings.layer(self.view, self._label_layer, clean=True)
        return self.label(states, tensor_of(batch, self.view, "side_ids"))

    def _known_links(self, batch: Batch) -> LinkedPositions | None:
        """The links known without running the encoder: the corpus's, or those found ahead; ``None``: not known."""
        if self.from_corpus():
            link_ids = tensor_of(batch, self.view, "link_ids")
            return corpus_links(link_ids, tensor_of(batch, self.view, "side_ids"))
        links = self.links_ahead(batch)
        return None if links is None else LinkedPositions.of_ids(links)

    def _unmasked_ids(self, batch: Batch) -> Tensor:
        """The ids before masking: ``input_ids`` of a view that masks nothing."""
        tensors = batch[self.view]
        return tensors.get("original_ids", tensors["input_ids"])
