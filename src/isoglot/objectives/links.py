"""Word links for objectives: from the corpus, from the encoder itself, or from one after the other."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from torch import Tensor
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, LayerObjective, OpenBatch

Labels = Literal["self", "corpus", "corpus_then_self"]
"""Sources of links, the values of the option ``labels``."""


@dataclass(eq=False, repr=False)
class LinkObjective(LayerObjective):
    """An objective whose links come from the corpus or from the encoder itself.

    A subclass defines :meth:`own_links`. It needs the buffer ``step``, which :meth:`after_step` counts: the loss
    ``DenoisingWordAlignment`` registers it; ``SelfTrainingObjective``, whose loss has none, registers its own.

    With ``labels: corpus_then_self`` and ``self_after_step: 10000`` the links of steps 0 to 9,999 are the corpus's,
    those from step 10,000 on the encoder's.

    Args:
        labels: Where the links come from (not the ``labels`` of a batch, the ids of masked tokens): ``self``, the
            encoder's states; ``corpus``, the view's links; or ``corpus_then_self``, which changes from corpus to self
            after ``self_after_step``.
        self_after_step: Number of optimiser steps with corpus links, for ``corpus_then_self``.
    """

    _: KW_ONLY
    labels: Labels = "self"
    self_after_step: int | None = None

    def check_options(self) -> None:
        """Require ``self_after_step`` for ``labels: corpus_then_self``, and refuse it otherwise."""
        if (self.labels == "corpus_then_self") != (self.self_after_step is not None):
            text = (
                f"got {self.labels} with self_after_step: {self.self_after_step}; corpus_then_self needs a step and "
                "the others take none: labels: corpus_then_self, self_after_step: 10000"
            )
            raise ConfigurationError(Problem(text, ("labels",)))

    @abstractmethod
    def own_links(self, encodings: Encodings, batch: Batch) -> Tensor:
        """Find the links of a batch with the encoder itself, as one tensor of the subclass's own form."""

    def look_ahead(self, encodings: Encodings, batch: OpenBatch) -> None:
        """Let the encoder find its links now and keep them in the batch, so that they can be counted."""
        if not self.from_corpus():
            view = batch[self.view]
            # `batch` may still be on the CPU. `encodings.batch` is its copy on the GPU, where the links are found.
            links = self.own_links(encodings, encodings.batch)
            device_of_batch = next(iter(view.values())).device
            view[self._key_of_links] = links.to(device_of_batch)

    def links_ahead(self, batch: Batch) -> Tensor | None:
        """The links that :meth:`look_ahead` kept in the batch; ``None`` where it was not called."""
        return batch[self.view].get(self._key_of_links)

    @property
    def _key_of_links(self) -> str:
        """The key of this objective's links in its view: another objective on the same view finds other links."""
        return f"links_{id(self)}"

    def after_step(self, encoder: PreTrainedModel) -> None:
        """Count the step, which decides when ``corpus_then_self`` changes."""
        # This is all that `advance` of `DenoisingWordAlignment` does, and `SelfTraining` has nothing to advance.
        self.step += 1

    def from_corpus(self) -> bool:
        """Whether the links of this optimiser step are the corpus's."""
        if self.labels == "corpus":
            return True
        return self.self_after_step is not None and int(self.step) < self.self_after_step
