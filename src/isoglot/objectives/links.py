"""Where objectives take word links from: the corpus, the encoder itself, or one after the other."""

from typing import Literal

from torch import Tensor

from isoglot.errors import ConfigurationError, Problem
from isoglot.objectives.base import Batch

Labels = Literal["self", "corpus", "corpus_then_self"]


def link_ids(batch: Batch, view: str, *, objective: str, otherwise: str = "") -> Tensor:
    """The word links of a view, (batch, links, 2), −1 pads; ``otherwise`` ends the error where it has none."""
    if "link_ids" not in batch[view]:
        raise ConfigurationError(
            f"{objective}: view {view!r} has no word links; it needs a stream of word-aligned bitext. Align one with "
            "`isoglot align BITEXT --method fast_align --format corpus --out ALIGNED` and give the stream "
            f"`kind: aligned` and that path{otherwise}"
        )
    return batch[view]["link_ids"]


def from_corpus(labels: Labels, self_after_step: int | None, step: Tensor) -> bool:
    """Whether links are the corpus's at a step."""
    return labels == "corpus" or (labels == "corpus_then_self" and int(step) < int(self_after_step or 0))


def require_step(labels: Labels, self_after_step: int | None) -> None:
    """Refuse a change of labels without its step, and a step without a change."""
    if (labels == "corpus_then_self") != (self_after_step is not None):
        text = (
            f"got {labels} with self_after_step: {self_after_step}; corpus_then_self needs a step and the others "
            "take none: labels: corpus_then_self, self_after_step: 10000"
        )
        raise ConfigurationError(Problem(text, ("labels",)))
