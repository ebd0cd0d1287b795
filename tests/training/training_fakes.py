"""Small stand-ins that the tests of training share."""

from __future__ import annotations

import numpy as np
from datasets import Dataset


def stream(size: int, *, seed: int = 0, offset: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, size=size)
    return Dataset.from_dict(
        {
            "input_ids": [[offset + i] * int(n) for i, n in enumerate(lengths)],
            "links": [[[0, i % 3]] for i in range(size)],
            "language": [f"l{i % 2}" for i in range(size)],
            "length": lengths.astype(np.int32),
        }
    )
