r"""ALIGN-MLM's alignment score: how often a token's nearest input embedding in the other language is its translation.

.. math:: \mathrm{score} = \frac{100}{|B|} \sum_{(i, i') \in B} [\arg\max_{j'} \cos(E_i, E_{j'}) = i']

where B pairs each token of one language with its copy or translation and j' runs over the other language's whole
vocabulary.

Source: Tang et al. 2022, §5 and Table 8.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from isoglot.analysis.options import Subset
from isoglot.core.errors import ConfigurationError
from isoglot.modules.finite import all_finite
from isoglot.modules.neighbours import nearest_both_ways, unit


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingScore:
    """How well two vocabularies are aligned."""

    score: float  # % of source entries whose nearest candidate is a translation
    backward: float  # the same from the target side, among the source entries that were asked for
    cosine: float  # mean cosine of the gold pairs, from −1 to 1
    tokens: int  # source entries that were asked for
    answered: int  # target entries of the gold pairs, of which ``backward`` is the share
    candidates: int  # target entries that were searched
    entries: (
        Tensor  # their numbers (rows of the table, or of the source vectors), ascending. Shape: (tokens,)
    )
    correct: Tensor  # whether each was right. Shape: (tokens,), bool

    def among(self, numbers: Collection[int]) -> tuple[float | None, int]:
        """The score of some of the source entries, and how many of them were asked for; ``None`` of none."""
        chosen = torch.isin(self.entries, torch.tensor(sorted(numbers), dtype=self.entries.dtype))
        count = int(chosen.sum())
        return (100.0 * float(self.correct[chosen].double().mean()) if count else None), count


def alignment_score(
    embeddings: Tensor,
    *,
    pairs: Tensor | None = None,
    copied_from: int | None = None,
    exclude: Collection[int] = (),
    subset: Subset | None = None,
    offsets: tuple[Tensor, Tensor] | None = None,
) -> EmbeddingScore:
    """The alignment score of an embedding table.

    The candidates are the target rows of all pairs: with ``copied_from`` the derived language's whole vocabulary.

    Args:
        embeddings: the input embeddings. Shape: (V or more, size).
        pairs: rows that are translations, ``[source, target]``; several translations of a row all count. Shape:
            (pairs, 2).
        copied_from: instead of pairs: the size V of a vocabulary whose copy stands at ``id + V``.
        exclude: source rows to leave out on both sides: special tokens, and ids that the derived language shares.
        subset: draw a part of the pairs first; by default all are used.
        offsets: vectors added to the source and to the target rows before the cosine: the language embeddings of XLM
            and DICT-MLM, as the paper's code does. Shape: (size,) each.

    Source: Tang et al. 2022, §5.

    Example:
        >>> table = torch.eye(4).repeat(2, 1)
        >>> alignment_score(table, copied_from=4).score
        100.0
    """
    if (pairs is None) == (copied_from is None):
        raise ConfigurationError("alignment score: give exactly one of pairs and copied_from (the size V)")
    if pairs is None:
        ids = torch.arange(int(copied_from or 0))
        gold = torch.stack([ids, ids + len(ids)], dim=1)
    else:
        gold = torch.as_tensor(pairs).long().cpu().reshape(-1, 2)
    if len(gold) and (int(gold.max()) >= len(embeddings) or int(gold.min()) < 0):
        raise ConfigurationError(
            f"alignment score: row {int(gold.max())} asked for, the table has {len(embeddings)}"
        )
    gold = gold[~torch.isin(gold[:, 0], torch.tensor(sorted(exclude), dtype=torch.long))]
    searched = gold[:, 1]
    if subset is not None:
        drawn = gold[draw(subset, len(gold))]
        if subset.candidates == "drawn":
            gold, searched = drawn, drawn[:, 1]
        else:
            gold = gold[torch.isin(gold[:, 0], drawn[:, 0])]
    if not len(gold):
        raise ConfigurationError("alignment score: no pair is left; exclude fewer tokens or raise subset")
    sources, source_at = gold[:, 0].unique(return_inverse=True)
    targets = searched.unique()
    target_at = torch.searchsorted(targets, gold[:, 1].contiguous())
    left, right = (embeddings[rows.to(embeddings.device)].float() for rows in (sources, targets))
    if offsets is not None:
        left, right = left + offsets[0].to(left), right + offsets[1].to(right)
    score = score_vectors(left, right, torch.stack([source_at, target_at], dim=1))
    return replace(score, entries=sources[score.entries])


@torch.no_grad()
def score_vectors(source: Tensor, target: Tensor, gold: Tensor) -> EmbeddingScore:
    """The alignment score of two sets of vectors.

    ``source`` (n, size) and ``target`` (m, size) are vectors, all of the latter candidates; ``gold`` (pairs, 2) are
    rows that are translations.
    """
    if not len(gold):
        raise ConfigurationError("alignment score: at least one pair is needed, got none")
    forward, backward = nearest_numbers(source, target)
    width = len(target)
    keys = gold[:, 0] * width + gold[:, 1]
    scored, answered = gold[:, 0].unique(), gold[:, 1].unique()
    correct = torch.isin(scored * width + forward[scored], keys)
    back = torch.isin(backward[answered] * width + answered, keys)
    rows = gold.to(source.device)
    cosine = torch.nn.functional.cosine_similarity(
        source[rows[:, 0]].float(), target[rows[:, 1]].float(), dim=-1
    )
    return EmbeddingScore(
        100.0 * float(correct.double().mean()), 100.0 * float(back.double().mean()),
        float(cosine.double().mean()), len(scored), len(answered), width, scored, correct,
    )  # fmt: skip


@torch.no_grad()
def draw(subset: Subset, count: int) -> Tensor:
    """Which of ``count`` pairs a subset takes, ascending: as in the paper's code the last of a shuffled list."""
    order = np.random.RandomState(subset.seed).permutation(count)
    return torch.from_numpy(np.sort(order[count - int(count * subset.share) :]))


def nearest_numbers(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Number of each vector's nearest one in the other set by cosine, on the CPU; of equally near ones the first."""
    if not (all_finite(source) and all_finite(target)):
        raise ConfigurationError(
            "alignment score: some embeddings are not finite, so the run has diverged; use an earlier checkpoint"
        )
    forward, backward = nearest_both_ways(unit(source), unit(target), 1)
    return forward.numbers[:, 0].cpu(), backward.numbers[:, 0].cpu()
