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
    """Figures of how well two vocabularies are aligned.

    An entry is a vector of one side: a row of the embedding table, or the mean of the pieces of a lexicon's word.
    """

    score: float  # % of source entries whose nearest candidate is a translation
    backward: float  # the same from the target side: % of asked targets whose nearest source vector is a translation
    cosine: float  # mean cosine of the gold pairs, from −1 to 1
    asked_sources: int  # distinct source entries of the gold pairs
    asked_targets: int  # distinct target entries of the gold pairs
    gold_pairs: int  # pairs that ``cosine`` is the mean over
    candidates: int  # target entries that were searched
    entries: Tensor  # numbers of the source entries that were asked for, ascending. Shape: (asked_sources,)
    correct: Tensor  # whether the nearest candidate of each is a translation. Shape: (asked_sources,), bool

    def among(self, numbers: Collection[int]) -> tuple[float | None, int]:
        """Compute the score of some source entries alone, and count how many of these were asked for.

        The score is None if none was asked for.
        """
        chosen = torch.isin(self.entries, torch.tensor(sorted(numbers), dtype=self.entries.dtype))
        count = int(chosen.sum())
        if count == 0:
            return None, 0
        return 100.0 * float(self.correct[chosen].double().mean()), count


def alignment_score(
    embeddings: Tensor,
    *,
    pairs: Tensor | None = None,
    copied_from: int | None = None,
    exclude: Collection[int] = (),
    subset: Subset | None = None,
    offsets: tuple[Tensor, Tensor] | None = None,
) -> EmbeddingScore:
    """Score the alignment of an embedding table.

    The candidates are the target rows of all pairs: with ``copied_from`` the derived language's whole vocabulary.
    Those of the backward score are the source rows of the scored pairs.

    Args:
        embeddings: the input embeddings. Shape: (V or more, size).
        pairs: rows that are translations, ``[source, target]``; several translations of a row all count. Shape:
            (pairs, 2).
        copied_from: instead of pairs: the size V of a vocabulary whose copy stands at ``id + V``.
        exclude: source rows whose pairs are left out, so that their targets are not candidates either: special tokens,
            and ids that the derived language shares.
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
        all_pairs = torch.stack([ids, ids + len(ids)], dim=1)  # each id and its copy
    else:
        all_pairs = torch.as_tensor(pairs).long().cpu().reshape(-1, 2)
    is_outside = (all_pairs < 0) | (all_pairs >= len(embeddings))
    if bool(is_outside.any()):
        row = int(all_pairs[is_outside][0])
        raise ConfigurationError(f"alignment score: row {row} asked for, the table has {len(embeddings)}")
    is_excluded = torch.isin(all_pairs[:, 0], torch.tensor(sorted(exclude), dtype=torch.long))
    gold, candidates = _gold_and_candidates(all_pairs[~is_excluded], subset)
    if not len(gold):
        raise ConfigurationError("alignment score: no pair is left; exclude fewer tokens or raise subset")
    # Each row of the table is taken once. A pair then names its rows by their places among those that are taken: of the
    # rows 7 and 9, row 9 has place 1. unique() sorts, as searchsorted needs it.
    source_rows, source_places = gold[:, 0].unique(return_inverse=True)
    target_rows = candidates.unique()
    target_places = torch.searchsorted(target_rows, gold[:, 1].contiguous())
    source = embeddings[source_rows.to(embeddings.device)].float()
    target = embeddings[target_rows.to(embeddings.device)].float()
    if offsets is not None:
        source, target = source + offsets[0].to(source), target + offsets[1].to(target)
    score = score_vectors(source, target, torch.stack([source_places, target_places], dim=1))
    # `score_vectors` knows places only, so the entries of its score are places: place 1 is row 9.
    entry_rows = source_rows[score.entries]
    return replace(score, entries=entry_rows)


def _gold_and_candidates(pairs: Tensor, subset: Subset | None) -> tuple[Tensor, Tensor]:
    """Choose the gold pairs that are scored, and the candidates: the target rows that are searched.

    1. Without a subset, all pairs are scored, and their targets are searched.
    2. With ``candidates="drawn"``, only drawn pairs are scored, and only their targets are searched.
    3. With ``candidates="all"``, the targets of all pairs are searched, and a drawn source row keeps all of its
       translations: if (1, 5) is drawn, (1, 6) is scored too.
    """
    if subset is None:  # 1
        return pairs, pairs[:, 1]
    drawn = pairs[draw(subset, len(pairs))]
    if subset.candidates == "drawn":  # 2
        return drawn, drawn[:, 1]
    return pairs[torch.isin(pairs[:, 0], drawn[:, 0])], pairs[:, 1]  # 3


@torch.no_grad()
def score_vectors(source: Tensor, target: Tensor, gold: Tensor) -> EmbeddingScore:
    """Score the alignment of two sets of vectors.

    ``source``: Vectors (n, size), all of which are candidates of the backward score.
    ``target``: Vectors (m, size), all of which are candidates of the score.
    ``gold``: Rows that are translations, ``[source, target]`` (pairs, 2). Of several translations of a row, the nearest
        vector may be any.
    """
    if not len(gold):
        raise ConfigurationError("alignment score: at least one pair is needed, got none")
    nearest_targets, nearest_sources = nearest_numbers(source, target)
    # A pair (i, j) as the number i · m + j, so that `isin` tells whether it is a gold pair.
    target_count = len(target)
    gold_numbers = gold[:, 0] * target_count + gold[:, 1]
    asked_sources, asked_targets = gold[:, 0].unique(), gold[:, 1].unique()
    correct = torch.isin(asked_sources * target_count + nearest_targets[asked_sources], gold_numbers)
    backward_correct = torch.isin(nearest_sources[asked_targets] * target_count + asked_targets, gold_numbers)
    rows = gold.to(source.device)
    cosine = torch.nn.functional.cosine_similarity(
        source[rows[:, 0]].float(), target[rows[:, 1]].float(), dim=-1
    )
    return EmbeddingScore(
        score=100.0 * float(correct.double().mean()),
        backward=100.0 * float(backward_correct.double().mean()),
        cosine=float(cosine.double().mean()),
        asked_sources=len(asked_sources),
        asked_targets=len(asked_targets),
        gold_pairs=len(gold),
        candidates=len(target),
        entries=asked_sources,
        correct=correct,
    )


@torch.no_grad()
def draw(subset: Subset, count: int) -> Tensor:
    """Draw a share of ``count`` pairs; return their numbers, ascending.

    As in the paper's code, these are the last ones of a shuffled list.
    """
    order = np.random.RandomState(subset.seed).permutation(count)
    drawn_count = int(count * subset.share)
    return torch.from_numpy(np.sort(order[count - drawn_count :]))


def nearest_numbers(
    source: Tensor, target: Tensor, *, name: str = "alignment score"
) -> tuple[Tensor, Tensor]:
    """Find the nearest vector of the other set for each vector, by cosine; of equally near ones the first.

    ``name``: The measure that needs the neighbours; an error's message begins with it.

    Returns:
        Numbers of target vectors by source vector, and of source vectors by target vector, on the CPU.
    """
    if not (all_finite(source) and all_finite(target)):
        raise ConfigurationError(
            f"{name}: some embeddings are not finite, so the run has diverged; use an earlier checkpoint"
        )
    forward, backward = nearest_both_ways(unit(source), unit(target), 1)
    return forward.numbers[:, 0].cpu(), backward.numbers[:, 0].cpu()
