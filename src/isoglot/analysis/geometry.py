"""The shape of a set of vectors: anisotropy, dominant directions, hubs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from isoglot.errors import ConfigurationError
from isoglot.modules.neighbours import top_neighbours, unit

__all__ = ["Hubness", "anisotropy", "hubness", "k_occurrence", "top_component_share"]


@dataclass(frozen=True, slots=True)
class Hubness:
    """How unevenly vectors are among others' nearest neighbours.

    Args:
        skewness: of the k-occurrences, E[(N − μ)³] / σ³; 0 where all are equal, large where a few hubs are everyone's
            neighbours.
        anti_hubs: per cent of vectors that are nobody's neighbour.
        largest: the greatest k-occurrence.
    """

    skewness: float
    anti_hubs: float
    largest: int


def anisotropy(vectors: Tensor) -> float:
    r"""Mean cosine of two different vectors: 0 for directions without preference, 1 for one direction.

    .. math:: \frac{1}{n(n-1)} \sum_{i \ne j} \cos(x_i, x_j) = \frac{\|\sum_i u_i\|^2 - \sum_i \|u_i\|^2}{n(n-1)}

    All pairs, where others draw some at random; u are the unit vectors.

    Args:
        vectors: Shape: (n, hidden).

    Raises:
        ConfigurationError: fewer than two vectors.

    Source: Ethayarajh 2019, *How Contextual are Contextualized Word Representations?*, §3.3.
    """
    if len(vectors) < 2:
        raise ConfigurationError(f"{len(vectors)} vectors given; anisotropy needs at least 2")
    normal = unit(vectors).double()
    total = normal.sum(0).square().sum() - normal.square().sum()
    return float(total) / (len(vectors) * (len(vectors) - 1))


def top_component_share(vectors: Tensor, *, components: int = 1, chunk: int = 1024) -> float:
    """Per cent of the variance that lies in the first principal components.

    Args:
        vectors: Shape: (n, hidden).
        components: how many.
        chunk: rows at a time; only a hidden × hidden matrix is held.

    Raises:
        ConfigurationError: fewer than two vectors, or as many components as there are not.

    Source: Mu and Viswanath 2018, *All-but-the-Top*.
    """
    if len(vectors) < 2 or not 1 <= components <= vectors.shape[1]:
        raise ConfigurationError(
            f"{components} components of {len(vectors)} vectors of {vectors.shape[1]} asked for; give two vectors or "
            f"more, and 1 to {vectors.shape[1]} components"
        )
    mean = vectors.double().mean(0)
    covariance = mean.new_zeros(len(mean), len(mean))
    for start in range(0, len(vectors), chunk):
        centred = vectors[start : start + chunk].double() - mean
        covariance += centred.T @ centred
    values = torch.linalg.eigvalsh(covariance).clamp(min=0)
    whole = float(values.sum())
    return 100.0 * float(values[-components:].sum()) / whole if whole > 0 else 100.0


def hubness(queries: Tensor, keys: Tensor, *, k: int = 10) -> Hubness:
    """Hubness of the keys among the queries' nearest neighbours by cosine.

    Args:
        queries: Shape: (n, hidden). Of another language, for hubs of cross-lingual retrieval.
        keys: Shape: (m, hidden).
        k: neighbours of each query.

    Raises:
        ConfigurationError: k does not fit.

    Source: Radovanović et al. 2010, *Hubs in Space*; Dinu et al. 2015 (in cross-lingual retrieval).
    """
    counts = k_occurrence(queries, keys, k=k).double()
    centred = counts - counts.mean()
    deviation = centred.square().mean().sqrt()
    skewness = float(centred.pow(3).mean() / deviation**3) if float(deviation) > 0 else 0.0
    return Hubness(skewness, 100.0 * float((counts == 0).double().mean()), int(counts.max()))


def k_occurrence(queries: Tensor, keys: Tensor, *, k: int) -> Tensor:
    """Of how many queries each key is among the k nearest. **Shape**: (m,)."""
    if not 1 <= k <= len(keys):
        raise ConfigurationError(f"k={k} neighbours asked for of {len(keys)} vectors; give 1 to {len(keys)}")
    found = top_neighbours(unit(queries), unit(keys), k)
    return torch.bincount(found.flatten(), minlength=len(keys))
