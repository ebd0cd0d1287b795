"""Cut the positions of a run into batches: contiguous ranges, by a token budget or by a number of examples.

With batches of 4 examples, 2 ranks and accumulation 1, positions 0 to 15 become 2 groups of 2 batches:

    positions   0..3      4..7    │  8..11    12..15
                rank 0    rank 1  │  rank 0   rank 1
                └── one step ──┘     └── one step ──┘

A *window* is a range of positions inside which the mixture sorts examples by length; a *group* is the batches of one
optimiser step, over all ranks and micro-batches. Groups never reach over the end of a window.
"""

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
"""The batches of one optimiser step, each a range of positions."""


@dataclass(frozen=True)
class StreamCost:
    """The cost of one example of a stream in tokens: its pieces times ``views``, and ``specials``.

    An example of 10 pieces costs 23 tokens with ``views=2`` and the usual ``specials=3``.

    Args:
        views: How often the pieces of an example are encoded.
        specials: Special tokens of all views of an example together.
        limit: Pieces of the longest input that the views build, if they cut off the rest.
    """

    views: int = 1
    specials: int = 3
    limit: int | None = None

    def tokens(self, lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the tokens of examples with these numbers of pieces; a length of −1 (no example) costs 0."""
        pieces = (lengths if self.limit is None else lengths.clip(max=self.limit)).astype(np.int64)
        return np.where(lengths < 0, 0, np.maximum(1, pieces * self.views + self.specials))


@dataclass(frozen=True)
class BatchOptions:
    """The size of a batch of one device, in ``examples`` or ``tokens``.

    Padding and special tokens count: a batch of examples with 5 and 20 tokens has 40 tokens. Of several streams the
    tokens are added up. An example that is longer than the budget makes a batch of its own. A stream without ``costs``
    costs its pieces and three special tokens.
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
    """Return the positions of a window of about ``batches`` optimiser steps.

    With 4 examples in a batch, ``batches=50`` and ``group=2`` that is 400. With a budget of tokens the mean cost of a
    position decides, and a window has at least two positions for each batch of a step.

    Args:
        lengths: Lengths of all examples in pieces, by stream.
        options: The size of a batch.
        batches: Optimiser steps in a window.
        group: Batches in one optimiser step.
        concatenate: Whether a position has one example of one stream, instead of one of each stream.
    """
    if options.examples is not None:
        return options.examples * group * max(1, batches)
    costs = _stream_tokens(lengths, options)
    # Positions hold one example of one stream, or one of each stream, whose costs add up.
    mean = float(np.concatenate(costs).mean()) if concatenate else sum(float(cost.mean()) for cost in costs)
    return max(2 * group, round((options.tokens or 0) * group * max(1, batches) / mean))


def _stream_tokens(
    lengths: Mapping[str, NDArray[np.int32]], options: BatchOptions
) -> list[NDArray[np.int64]]:
    """Return the tokens of each stream's examples, by the lengths of the examples in pieces."""
    return [options.costs.get(stream, StreamCost()).tokens(values) for stream, values in lengths.items()]


class TokenBudgetBatches(torch.utils.data.Sampler[Sequence[int]]):
    """The batches of one rank over a whole run, as ranges of positions.

    An optimiser step takes a *group* of ``world_size · accumulation`` neighbouring batches:

    1. Micro-batch ``a`` of rank ``r`` is the group's number ``a · world_size + r``. So a step has the same examples
       however ranks and accumulation share them out, ranks get inputs of about equal length, and two ranks take the
       examples that one rank takes with batches of twice as many.
    2. If the mixture sorts its windows by length, the groups of each window are shuffled: training should not run from
       short to long examples.
    3. Every position is in exactly one batch. If the last batches of a window are too few for a group, they are cut
       smaller until there are enough, or shared with the group before them (:func:`_whole_groups`).

    Args:
        mixture: The examples.
        options: The size of a batch.
        rank: Number of this process.
        world_size: Number of processes.
        accumulation: Micro-batches of one process in an optimiser step.
        steps: Optimiser steps of the run; by default as many as the mixture's ``length`` gives.
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
        self._ends = self._count(steps)  # of each window: the steps up to its end
        self.steps = int(self._ends[-1]) if steps is None else steps
        if self.steps == 0:
            raise ConfigurationError(
                f"one optimiser step needs {self.group} positions, the run has {mixture.length}; train longer"
            )

    def __len__(self) -> int:
        return self.steps * self.accumulation

    def __iter__(self) -> Iterator[Sequence[int]]:
        steps_before = [0, *self._ends[:-1].tolist()]
        for window, before in enumerate(steps_before):
            # A run of a given number of steps may end inside its last window.
            for group in self.groups(window)[: self.steps - before]:
                yield from group[self.rank :: self.world_size]

    def groups(self, window: int) -> list[Group]:
        """Return a window's groups in the order in which they are trained on."""
        start, stop = self.mixture.window(window)
        groups = self._cut(window, start, stop)
        if self.mixture.bucket is not None:
            # By the seed and the window alone: a resumed run makes the same order without replaying the one before.
            generator = np.random.default_rng(seed_for(self.mixture.seed, "batches", window))
            groups = [groups[number] for number in generator.permutation(len(groups))]
        return groups

    def epoch_at(self, step: int) -> float:
        """Return how many epochs of the primary stream are done after ``step`` optimiser steps.

        This is exact at the end of every window; inside a window every step counts as the same share.
        """
        if step <= 0:
            return 0.0
        window = min(int(np.searchsorted(self._ends, step, side="left")), len(self._ends) - 1)
        steps_before = int(self._ends[window - 1]) if window else 0
        start, stop = self.mixture.window(window)
        done = (step - steps_before) / max(1, int(self._ends[window]) - steps_before)
        return (start + done * (stop - start)) / self.mixture.epoch_size

    def fingerprint(self) -> dict[str, Any]:
        """Return the values on which the batches depend; a resumed run compares them with those of the checkpoint."""
        size = {"examples": self.options.examples, "tokens": self.options.tokens}
        costs = {}
        if self.options.tokens:  # batches of a number of examples do not depend on costs
            costs = {name: asdict(cost) for name, cost in self.options.costs.items()}
        return {**self.mixture.fingerprint(), **size, "costs": costs, "group": self.group}

    def _count(self, steps: int | None) -> NDArray[np.int64]:
        """Count the groups up to the end of each window of the run: windows of 5, 5 and 2 groups give 5, 10, 12."""
        ends: list[int] = []
        total = 0
        # With a fixed number of examples the size of a window decides, so windows of one size are cut only once.
        groups_of_size: dict[int, int] = {}
        while steps is None or total < steps:
            window = len(ends)
            start, stop = self.mixture.window(window)
            if stop <= start:  # after the end of the mixture
                if steps is None:
                    break
                raise ConfigurationError(
                    f"{steps} steps requested, but {self.mixture.length} positions make {total}; train less"
                )
            groups = groups_of_size.get(stop - start) if self.options.tokens is None else None
            if groups is None:
                groups = len(self._cut(window, start, stop))
                groups_of_size[stop - start] = groups
            total += groups
            ends.append(total)
        return np.array(ends, dtype=np.int64)

    def _cut(self, window: int, start: int, stop: int) -> list[Group]:
        """Cut a window's positions, ``start`` to ``stop - 1``, into groups of exactly ``self.group`` batches."""
        if stop - start < self.group:
            if self.mixture.length == stop:  # the run ends here, in less than one step
                return []
            raise ConfigurationError(
                f"one optimiser step needs {self.group} positions, a window has {stop - start}; raise `bucket`"
            )
        # Borders between batches, counted from the start of the window.
        if self.options.examples is not None:
            borders = [*range(0, stop - start, self.options.examples), stop - start]
        else:
            costs = _stream_tokens(self.mixture.window_lengths(window), self.options)
            borders = _budget_borders(costs, self.options.tokens or 0)
        batches = [range(start + first, start + end) for first, end in pairwise(borders)]
        in_whole_groups = len(batches) // self.group * self.group
        groups = [batches[i : i + self.group] for i in range(0, in_whole_groups, self.group)]
        remaining = batches[in_whole_groups:]
        if remaining:
            before = groups.pop() if groups else []
            groups += _whole_groups(before, remaining, self.group)
        return groups


def _budget_borders(costs: Sequence[NDArray[np.int64]], budget: int) -> list[int]:
    """Cut a window greedily: each batch takes examples as long as its padded size stays within the budget.

    The padded size is, added up over the streams, the number of examples times the longest one. Costs of 3, 4, 5, 9 and
    a budget of 10 give the borders 0, 2, 3, 4: the first two examples are 2 × 4 tokens, three would be 3 × 5.

    Args:
        costs: Tokens of the examples at the window's positions, for each stream; 0 if a position has no example of it.
        budget: Tokens of a batch.
    """
    size = len(costs[0])
    # No batch can have more positions than the budget has room for the cheapest; this bounds the arrays below.
    cheapest = max(1, int(np.sum(costs, axis=0).min()))
    most = max(1, budget // cheapest)
    borders = [0]
    while borders[-1] < size:
        start = borders[-1]
        reach = slice(start, min(start + most, size))
        # Padded sizes of a batch of 1, 2, 3, ... positions: the longest example so far times the number of examples.
        padded = sum(np.maximum.accumulate(cost[reach]) * np.cumsum(cost[reach] > 0) for cost in costs)
        # The padded size never falls when a batch grows, so bisection finds how many examples fit.
        fits = int(np.searchsorted(padded, budget, side="right"))
        borders.append(start + max(1, fits))  # an example that is over the budget is alone
    return borders


def _whole_groups(before: Group, remaining: Group, size: int) -> list[Group]:
    """Make whole groups of the last batches of a window, which are too few for a group.

    For groups of 4 batches, where batches have 8 examples:

    1. Two batches remain, 16 positions: they are halved into four batches of 4.
    2. Three positions remain, too few for four batches: with the group before them they are cut into two groups.
    3. Three positions remain, and there are under eight positions in both together, which only happens where nearly
       every batch holds one example: all of them become one group. Here a batch can grow, by one example.

    ``before``: The whole group before them, or an empty list in a window without one.
    """
    positions = range(remaining[0].start, remaining[-1].stop)
    if len(positions) >= size:  # 1
        return [*([before] if before else []), _halved(remaining, size)]
    joined = range(before[0].start, positions.stop)
    if len(joined) >= 2 * size:  # 2
        batches = _halved([*before, *remaining], 2 * size)
        return [batches[:size], batches[size:]]
    parts = np.array_split(np.asarray(joined), size)  # 3
    return [[range(int(part[0]), int(part[-1]) + 1) for part in parts]]


def _halved(batches: Group, size: int) -> Group:
    """Cut the same positions into exactly ``size`` batches: the longest one, the first of equals, is halved each time.

    Two batches of 8 and 4 positions become three of 4.
    """
    batches = list(batches)
    while len(batches) < size:
        longest = max(range(len(batches)), key=lambda number: len(batches[number]))
        middle = len(batches[longest]) // 2
        batches[longest : longest + 1] = [batches[longest][:middle], batches[longest][middle:]]
    return batches
