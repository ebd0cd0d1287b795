"""Where objectives take word links from: the corpus, the encoder itself, or one after the other."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from transformers import PreTrainedModel

from isoglot.errors import ConfigurationError, Problem
from isoglot.objectives.base import LayerObjective

Labels = Literal["self", "corpus", "corpus_then_self"]


@dataclass(eq=False, repr=False)
class LinkObjective(LayerObjective):
    """An objective whose links come from the corpus or from the encoder itself.

    Args:
        labels: Where the links come from: ``self``, the encoder's states; ``corpus``, the view's links; or
            ``corpus_then_self``, which changes after ``self_after_step``.
        self_after_step: Number of optimiser steps with corpus links, for ``corpus_then_self``.
    """

    _: KW_ONLY
    labels: Labels = "self"
    self_after_step: int | None = None

    def check_options(self) -> None:
        """A change of labels has its step."""
        if (self.labels == "corpus_then_self") != (self.self_after_step is not None):
            text = (
                f"got {self.labels} with self_after_step: {self.self_after_step}; corpus_then_self needs a step and "
                "the others take none: labels: corpus_then_self, self_after_step: 10000"
            )
            raise ConfigurationError(Problem(text, ("labels",)))

    def after_step(self, encoder: PreTrainedModel) -> None:
        """Count the step, for the change of links."""
        self.step += 1

    def from_corpus(self) -> bool:
        """Whether links are the corpus's at this step."""
        changes = self.self_after_step
        return self.labels == "corpus" or (changes is not None and int(self.step) < changes)
