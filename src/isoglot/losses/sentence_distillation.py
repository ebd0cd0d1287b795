"""A student learns a teacher's sentence vectors, in every language (Reimers and Gurevych 2020)."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import torch
from torch import Tensor

from isoglot.losses.base import Loss, LossOutput, no_loss, require_axes


@dataclass(eq=False, repr=False)
class SentenceDistillation(Loss):
    """Distance of sentence vectors from a frozen teacher's vector of the same sentence or of its original.

    Equation: ``L = (1/n) Σ_i ‖M̂(x_i) − M(s_i)‖² / h``, with M̂ the student, M the teacher, x_i the sentence s_i or its
    translation

    A pair whose two sentences both learn is two items. h is the width of the vectors.

    Args:
        distance: ``mse``, the squared distance as a mean over the h dimensions, or ``cosine``, 1 − cos, for which the
            lengths of the vectors do not matter.

    **Metrics**: ``cosine`` between the student's vectors and the teacher's.

    Source: Reimers and Gurevych 2020, *Making Monolingual Sentence Embeddings Multilingual using Knowledge
    Distillation*, §2, whose loss is the sum over both sides: twice this mean.

    Example:
        >>> teacher, student = torch.nn.Embedding(9, 4).requires_grad_(False), torch.nn.Embedding(9, 4)
        >>> optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        >>> loss_function = SentenceDistillation()
        >>> sources, targets = torch.tensor([1, 2]), torch.tensor([5, 6])
        >>> for _ in range(2):
        ...     loss = loss_function(student(torch.cat([sources, targets])), teacher(sources).repeat(2, 1))
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
    """

    _: KW_ONLY
    distance: Literal["mse", "cosine"] = "mse"

    def measure(self, vectors: Tensor, taught: Tensor) -> LossOutput:
        """Sum the distances.

        Args:
            vectors: the student's vectors, with gradient.
            taught: the teacher's vectors of the same sentences or their originals.

        **Shape**: both (sentences, hidden).
        """
        require_axes(vectors=(vectors, "sentences hidden"), taught=(taught, "sentences hidden"))
        with torch.autocast(vectors.device.type, enabled=False):
            vectors, taught = vectors.float(), taught.float()
            cosines = torch.cosine_similarity(vectors, taught, dim=1)
            distances = (vectors - taught).square().mean(dim=1) if self.distance == "mse" else 1 - cosines
            total = distances.sum() + no_loss(vectors)
        count = torch.tensor(len(vectors), device=vectors.device)
        return LossOutput(total, count, {"cosine": cosines.detach().sum() / count.clamp(min=1)})
