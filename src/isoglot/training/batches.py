"""Cut the positions of a run into batches: contiguous ranges, by a token budget or by a number of examples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.training.mixture import Mixture

Group = list[range]


@dataclass(frozen=True)
class StreamCost:
    """The cost of one example of a stream.

    ``views`` counts how often its pieces are encoded, ``specials`` the special tokens added over all its views, and
    ``limit`` is the longest input in pieces that its views build, if they cut off the rest.
    """

    views: int = 1
    specials: int = 3
    limit: int | None = None

    def tokens(self, lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """Tokens of examples with the given numbers of pieces, 0 for a length of −1 (no example)."""
        pieces = (lengths if self.limit is None else lengths.clip(max=self.limit)).astype(np.int64)
        return np.where(lengths < 0, 0, np.maximum(1, pieces * self.views + self.specials))


@dataclass(frozen=True)
class BatchOptions:
    """The size of a batch of one device, in ``examples`` or ``tokens``.

    Tokens count padding and special ones: for each stream, examples times the longest of them. An example that is
    longer all by itself makes a batch of one. A stream without ``costs`` costs its pieces and three specials.
    """

    examples: int | None = None
    tokens: int | None = None
    costs: Mapping[str, StreamCost] = field(default_factory=dict)


def bucket_positions(
    lengths: Mapping[str, NDArray[np.int32]],
    options: BatchOptions,
    *,
    batches: int,
    group: int = 1,
    concatenate: bool = False,
) -> int:
    """Positions of a window of about ``batches`` steps of ``group`` batches; ``concatenate``: of one example each."""
    if options.examples is not None:
        return options.examples * group * max(1, batches)
    costs = [options.costs.get(name, StreamCost()).tokens(values) for name, values in lengths.items()]
    mean = float(np.concatenate(costs).mean()) if concatenate else sum(float(c.mean()) for c in costs)
    return max(2 * group, round((options.tokens or 0) * group * max(1, batches) / mean))


class TokenBudgetBatches(torch.utils.data.Sampler[Sequence[int]]):
    """The batches of one rank over a whole run, as ranges of positions.

    An optimiser step takes a *group* of ``world_size · accumulation`` neighbouring batches; micro-batch ``a`` of rank
    ``r`` is the group's number ``a · world_size + r``. So the examples of a step do not depend on how ranks and
    accumulation share them out, ranks get inputs of about equal length, and two ranks take what one rank takes with
    batches of twice as many examples. Groups are shuffled inside each window of the mixture. Every position is in
    exactly one batch: a window's last, short group is divided among all ranks, or shared with the group before it.

    The run has as many ``steps`` as given, or as the mixture's ``length`` gives.
    """

    def __init__(
        self,
        mixture: Mixture,
        options: BatchOptions,
        *,
        rank: int = 0,
        world_size: int = 1,
        accumulation: int = 1,
        steps: int | None = None,
    ) -> None:
        self.mixture, self.options = mixture, options
        self.rank, self.world_size, self.accumulation = rank, world_size, accumulation
        self.group = world_size * accumulation
        if steps is None and mixture.length is None:
            raise ConfigurationError("steps, or a mixture with a length, is needed; write `steps: 1000`")
        if mixture.epoch_size < self.group:
            raise ConfigurationError(
                f"stream {mixture.primary!r} has {mixture.epoch_size} examples, one optimiser step needs {self.group}: "
                "lower train.gradient_accumulation_steps"
            )
        self._ends = self._count(steps)
        self.steps = int(self._ends[-1]) if steps is None else steps
        if self.steps == 0:
            raise ConfigurationError(
                f"one optimiser step needs {self.group} positions, the run has {mixture.length}; train longer"
            )

    def __len__(self) -> int:
        return self.steps * self.accumulation

    def __iter__(self) -> Iterator[Sequence[int]]:
        for window, first in enumerate([0, *self._ends[:-1].tolist()]):
            for group in self.groups(window)[: self.steps - first]:
                yield from group[self.rank :: self.world_size]

    def groups(self, window: int) -> list[Group]:
        """A window's groups in the order in which they are trained on."""
        start, stop = self.mixture.window(window)
        groups = self._cut(window, start, stop)
        if self.mixture.bucket is not None:
            generator = np.random.default_rng(seed_for(self.mixture.seed, "batches", window))
            groups = [groups[i] for i in generator.permutation(len(groups))]
        return groups

    def epoch_at(self, step: int) -> float:
        """Epochs of the primary stream after ``step`` optimiser steps (exact at the end of every window)."""
        if step <= 0:
            return 0.0
        index = min(int(np.searchsorted(self._ends, step, side="left")), len(self._ends) - 1)
        first = int(self._ends[index - 1]) if index else 0
        start, stop = self.mixture.window(index)
        done = (step - first) / max(1, int(self._ends[index]) - first)
        return (start + done * (stop - start)) / self.mixture.epoch_size

    def fingerprint(self) -> dict[str, Any]:
        """Values on which the batches depend; a resumed run compares them with the checkpoint's."""
        size = {"examples": self.options.examples, "tokens": self.options.tokens}
        costs = (
            {name: asdict(cost) for name, cost in self.options.costs.items()} if self.options.tokens else {}
        )
        return {**self.mixture.fingerprint(), **size, "costs": costs, "group": self.group}

    def _count(self, steps: int | None) -> NDArray[np.int64]:
        """Number of groups up to the end of each window of the run."""
        ends: list[int] = []
        same_size: dict[int, int] = {}
        total = 0
        while steps is None or total < steps:
            start, stop = self.mixture.window(len(ends))
            if stop <= start:
                if steps is None:
                    break
                raise ConfigurationError(
                    f"{steps} steps requested, but {self.mixture.length} positions make {total}; train less"
                )
            count = same_size.get(stop - start) if self.options.tokens is None else None
            if count is None:
                count = len(self._cut(len(ends), start, stop))
                same_size[stop - start] = count  # a fixed number of examples: the size of the window decides
            total += count
            ends.append(total)
        return np.array(ends, dtype=np.int64)

    def _cut(self, window: int, start: int, stop: int) -> list[Group]:
        """A window's positions as groups of exactly ``self.group`` non-empty ranges."""
        if stop - start < self.group:
            if self.mixture.length == stop:  # the run ends here, in less than one step
                return []
            raise ConfigurationError(
                f"one optimiser step needs {self.group} positions, a window has {stop - start}; raise `bucket`"
            )
        if self.options.examples is not None:
            borders = [*range(0, stop - start, self.options.examples), stop - start]
        else:
            lengths = self.mixture.window_lengths(window)
            costs = [self.options.costs.get(n, StreamCost()).tokens(v) for n, v in lengths.items()]
            borders = _budget_borders(costs, self.options.tokens or 0)
        pieces = [range(start + a, start + b) for a, b in pairwise(borders)]
        whole = len(pieces) // self.group * self.group
        groups = [pieces[i : i + self.group] for i in range(0, whole, self.group)]
        if whole < len(pieces):
            groups += _short(groups.pop() if groups else [], pieces[whole:], self.group)
        return groups


def _budget_borders(costs: Sequence[NDArray[np.int64]], budget: int) -> list[int]:
    """Greedy cut: each range as long as Σ_streams count · longest stays within the budget; a cost of 0: no example."""
    size = len(costs[0])
    cheapest = max(1, int(np.sum(costs, axis=0).min()))
    most = max(1, budget // cheapest)  # no range can be longer
    borders = [0]
    while borders[-1] < size:
        start = borders[-1]
        reach = slice(start, min(start + most, size))
        padded = sum(np.maximum.accumulate(c[reach]) * np.cumsum(c[reach] > 0) for c in costs)
        # The padded size never falls as a range grows, so the first excess can be found by bisection.
        fits = int(np.searchsorted(padded, budget, side="right"))
        borders.append(start + max(1, fits))
    return borders


def _short(before: Group, last: Group, size: int) -> list[Group]:
    """The last pieces of a window, too few for a group, as whole groups.

    They are cut smaller where they have enough positions, else joined with the group before them; a piece can grow, by
    one example, only where nearly every batch holds a single one.
    """
    positions = range(last[0].start, last[-1].stop)
    if len(positions) >= size:
        return [*([before] if before else []), _halved(last, size)]
    joined = range(before[0].start, positions.stop)
    if len(joined) >= 2 * size:
        pieces = _halved([*before, *last], 2 * size)
        return [pieces[:size], pieces[size:]]
    return [[range(int(part[0]), int(part[-1]) + 1) for part in np.array_split(np.asarray(joined), size)]]


def _halved(pieces: Group, size: int) -> Group:
    """The same positions in exactly ``size`` pieces, the longest halved again and again."""
    pieces = list(pieces)
    while len(pieces) < size:
        i = max(range(len(pieces)), key=lambda k: len(pieces[k]))
        middle = len(pieces[i]) // 2
        pieces[i : i + 1] = [pieces[i][:middle], pieces[i][middle:]]
    return pieces
