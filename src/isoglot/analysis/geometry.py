"""The shape of a set of vectors: anisotropy, dominant directions, hubs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from isoglot.core.errors import ConfigurationError
from isoglot.modules.neighbours import top_neighbours, unit

_ROWS = 1024
"""Vectors that are centred at once, so that no second copy of all vectors is in memory."""


@dataclass(frozen=True, slots=True)
class Hubness:
    """Two measures of how unevenly vectors occur among the nearest neighbours of others.

    ``skewness``: Of the k-occurrence N, which says how often a vector is among the k neighbours of others:
    E[(N − μ)³] / σ³. It is 0 where all vectors occur equally often, and large where a few hubs are neighbours of all.
    ``anti_hubs``: % of vectors that are nobody's neighbour.
    """

    skewness: float
    anti_hubs: float


def anisotropy(vectors: Tensor) -> float:
    r"""Mean cosine of two different vectors: 0 for directions without preference, 1 for one direction.

    .. math:: \frac{1}{n(n-1)} \sum_{i \ne j} \cos(x_i, x_j) = \frac{\|\sum_i u_i\|^2 - \sum_i \|u_i\|^2}{n(n-1)}

    where u are the unit vectors. The mean is over all pairs; other implementations draw some pairs at random.

    **Shape**: (n, hidden), two vectors at least.

    Source: Ethayarajh 2019, *How Contextual are Contextualized Word Representations?*, §3.3.
    """
    if len(vectors) < 2:
        raise ConfigurationError(f"anisotropy needs at least 2 vectors, got {len(vectors)}")
    normal = unit(vectors).double()
    total = normal.sum(0).square().sum() - normal.square().sum()
    return float(total) / (len(vectors) * (len(vectors) - 1))


def top_component_share(vectors: Tensor) -> float:
    """Percentage of the variance that lies in the first principal component.

    **Shape**: (n, hidden), two vectors at least.

    Source: Mu and Viswanath 2018, *All-but-the-Top*.
    """
    if len(vectors) < 2:
        raise ConfigurationError(f"a variance needs at least 2 vectors, got {len(vectors)}")
    mean = vectors.double().mean(0)
    covariance = mean.new_zeros(len(mean), len(mean))
    for start in range(0, len(vectors), _ROWS):  # only a hidden × hidden matrix is held
        centred = vectors[start : start + _ROWS].double() - mean
        covariance += centred.T @ centred
    values = torch.linalg.eigvalsh(covariance).clamp(min=0)
    variance = float(values.sum())
    # Equal vectors have no variance; as one point they lie on one line.
    return 100.0 * float(values[-1]) / variance if variance > 0 else 100.0


def hubness(queries: Tensor, keys: Tensor, *, k: int = 10) -> Hubness:
    """Measure how unevenly keys occur among the k nearest neighbours of queries, by cosine.

    **Shape**: queries (n, hidden), of another language for hubs of cross-lingual retrieval; keys (m, hidden); k is 1
    to m.

    Source: Radovanović et al. 2010, *Hubs in Space*; Dinu et al. 2015 (in cross-lingual retrieval).
    """
    if not 1 <= k <= len(keys):
        raise ConfigurationError(
            f"k={k} neighbours requested, but there are {len(keys)} vectors; choose 1 to {len(keys)}"
        )
    nearest = top_neighbours(unit(queries), unit(keys), k)
    occurrences = torch.bincount(nearest.flatten(), minlength=len(keys)).double()
    centred = occurrences - occurrences.mean()
    deviation = centred.square().mean().sqrt()
    skewness = float(centred.pow(3).mean() / deviation**3) if float(deviation) > 0 else 0.0
    return Hubness(skewness, anti_hubs=100.0 * float((occurrences == 0).double().mean()))
