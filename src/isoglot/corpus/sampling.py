"""How often each language is seen: sampling exponents, and random parts of corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from isoglot.errors import ConfigurationError
from isoglot.seeding import seed_for

__all__ = ["language_probabilities", "resampled_counts", "subsample"]


def language_probabilities(sizes: Mapping[str, int], *, alpha: float) -> dict[str, float]:
    r"""Sampling probabilities from corpus sizes.

    .. math:: p_l = \frac{n_l^{\alpha}}{\sum_k n_k^{\alpha}}

    :math:`\alpha = 1` keeps the sizes' proportions, 0 makes all languages equal, 0.7 is XLM's and InfoXLM's, 0.3
    XLM-R's value.

    Args:
        sizes: examples of each language; a language without any gets probability 0.
        alpha: the exponent, 0 or more.

    Raises:
        ConfigurationError: no examples at all, or a negative size or exponent.

    Source: Lample and Conneau 2019, section 3.1.
    """
    if alpha < 0 or any(n < 0 for n in sizes.values()) or not any(sizes.values()):
        raise ConfigurationError(
            f"sizes {dict(sizes)} and alpha={alpha} given; at least one language needs examples and alpha must be 0 or "
            "more; check the corpora"
        )
    logs = {name: alpha * np.log(n) for name, n in sizes.items() if n > 0}
    top = max(logs.values())
    weights = {name: float(np.exp(value - top)) for name, value in logs.items()}
    total = sum(weights.values())
    return {name: weights.get(name, 0.0) / total for name in sizes}


def resampled_counts(sizes: Mapping[str, int], *, alpha: float, total: int | None = None) -> dict[str, int]:
    """How many examples of each language make up ``total``, by largest remainders, so they sum to it exactly.

    Args:
        sizes: examples that there are.
        alpha: the exponent of :func:`language_probabilities`.
        total: examples wanted; as many as there are if not given.
    """
    probabilities = language_probabilities(sizes, alpha=alpha)
    wanted = sum(sizes.values()) if total is None else total
    exact = {name: p * wanted for name, p in probabilities.items()}
    counts = {name: int(value) for name, value in exact.items()}
    spare = wanted - sum(counts.values())
    able = [name for name in sizes if probabilities[name] > 0]
    for name in sorted(able, key=lambda n: counts[n] - exact[n])[
        :spare
    ]:  # sorted() keeps ties in their order
        counts[name] += 1
    return counts


def subsample(
    size: int, fraction: float, *, seed: int = 0, key: Sequence[str | int] = ()
) -> NDArray[np.int64]:
    """A random part of a corpus's rows, in ascending order; smaller fractions are parts of larger ones.

    Args:
        size: rows that there are.
        fraction: from 0 to 1 (ALIGN-MLM's parallel data: 0.01, 0.1, 0.25, 1); rounded to whole rows.
        seed: the run's seed.
        key: what the part is for, if there are several.

    Raises:
        ConfigurationError: the fraction is not between 0 and 1.
    """
    if not 0 <= fraction <= 1:
        raise ConfigurationError(
            f"fraction={fraction} given; a part of a corpus is 0 to 1; for 25 % write 0.25"
        )
    order = _generator(seed, "subsample", *key).permutation(size)
    part: NDArray[np.int64] = np.sort(order[: round(size * fraction)]).astype(np.int64)
    return part


def _generator(seed: int, *key: str | int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed_for(seed, "sampling", *key)))
