"""Cut the positions of a run into batches: contiguous ranges, by a token budget or by a number of examples.

With batches of 4 examples, 2 ranks and accumulation 1, positions 0 to 15 become 2 steps of 2 batches:

    positions   0..3      4..7    │  8..11    12..15
                rank 0    rank 1  │  rank 0   rank 1
                └── one step ──┘     └── one step ──┘

A *window* is a range of positions inside which the mixture sorts examples by length. A *step* is here the batches of
one optimiser step, over all ranks and micro-batches; a step never reaches over the end of a window.
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

Step = list[range]
"""The batches of one optimiser step, each a range of positions: ``[range(0, 4), range(4, 8)]``."""


@dataclass(frozen=True)
class StreamCost:
    """The cost of one example of a stream in tokens: its pieces times ``views``, and ``specials``.

    An example of 10 pieces costs 23 tokens with ``views=2`` and the usual ``specials=3``.

    Args:
        views: How often all pieces of an example are encoded. A view of a whole pair and one of a single side encode
            them 1.5 times, which is rounded up to 2. Checkpoints hold the field, so it keeps its name.
        specials: Special tokens of all views of an example together.
        limit: Pieces of the longest input that the views build, if they cut off the rest.
    """

    views: int = 1
    specials: int = 3
    limit: int | None = None

    def tokens(self, lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the tokens of examples with these numbers of pieces; a length of −1 (no example) costs 0."""
        pieces = lengths.astype(np.int64)
        if self.limit is not None:
            pieces = pieces.clip(max=self.limit)
        tokens = pieces * self.views + self.specials
        # An example without pieces or special tokens costs 1: a budget would hold any number of free ones.
        return np.where(lengths < 0, 0, np.maximum(1, tokens))


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
    steps: int,
    batches_per_step: int = 1,
    concatenate: bool = False,
) -> int:
    """Return the number of positions in a window of about ``steps`` optimiser steps.

    1. Batches of 4 examples, ``steps=50`` and ``batches_per_step=2`` give 400 positions.
    2. With a budget of tokens the mean cost of a position decides: ``tokens=100`` and examples of 10 tokens give 10
       positions a batch. A window has at least two positions for each batch of a step.

    Args:
        lengths: Lengths of all examples in pieces, by stream.
        options: The size of a batch.
        steps: Optimiser steps in a window.
        batches_per_step: Ranks times micro-batches.
        concatenate: Whether a position has one example of one stream, instead of one of each stream.
    """
    batches = batches_per_step * max(1, steps)
    if options.examples is not None:  # 1
        return options.examples * batches
    costs = _stream_tokens(lengths, options)  # 2
    # A position has one example of each stream, and their costs add up; or one example of any stream.
    mean = sum(float(cost.mean()) for cost in costs)
    if concatenate:
        mean = float(np.concatenate(costs).mean())
    return max(2 * batches_per_step, round((options.tokens or 0) * batches / mean))


def _stream_tokens(
    lengths: Mapping[str, NDArray[np.int32]], options: BatchOptions
) -> list[NDArray[np.int64]]:
    """Return the tokens of each stream's examples, by the lengths of the examples in pieces."""
    return [options.costs.get(stream, StreamCost()).tokens(values) for stream, values in lengths.items()]


class TokenBudgetBatches(torch.utils.data.Sampler[Sequence[int]]):
    """The batches of one rank over a whole run, as ranges of positions.

    An optimiser step takes ``world_size · accumulation`` neighbouring batches:

    1. Micro-batch ``a`` of rank ``r`` is batch ``a · world_size + r`` of the step: with 2 ranks, rank 1 takes batches
       1, 3, 5, ... So a step has the same examples for 2 ranks with 3 micro-batches as for 3 ranks with 2, and ranks
       get inputs of about equal length.
    2. If the mixture sorts its windows by length, the steps of each window are shuffled: training should not run from
       short to long examples.
    3. Every position is in exactly one batch. If the last batches of a window are too few for a step, they are cut
       smaller until there are enough, or shared with the step before them (:func:`_whole_steps`).

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
        self.batches_per_step = world_size * accumulation
        if steps is None and mixture.length is None:
            raise ConfigurationError("steps, or a mixture with a length, is needed; write `steps: 1000`")
        if mixture.epoch_size < self.batches_per_step:
            these_have = f"stream {mixture.primary!r} has"
            if mixture.concatenate:
                these_have = f"streams {', '.join(map(repr, mixture.sizes))} together have"
            raise ConfigurationError(
                f"{these_have} {mixture.epoch_size} examples, one optimiser step needs "
                f"{self.batches_per_step}: lower train.gradient_accumulation_steps"
            )
        # Entry w is the number of steps from the start of the run to the end of window w.
        self._steps_up_to = self._count_steps(steps)
        self.steps = int(self._steps_up_to[-1]) if steps is None else steps
        if self.steps == 0:
            raise ConfigurationError(
                f"one optimiser step needs {self.batches_per_step} positions, the run has {mixture.length}; "
                "train longer"
            )

    def __len__(self) -> int:
        return self.steps * self.accumulation

    def __iter__(self) -> Iterator[Sequence[int]]:
        steps_before_window = [0, *self._steps_up_to[:-1].tolist()]
        for window, steps_before in enumerate(steps_before_window):
            # A run of a given number of steps may end inside its last window.
            for step in self.steps_of(window)[: self.steps - steps_before]:
                yield from step[self.rank :: self.world_size]

    def steps_of(self, window: int) -> list[Step]:
        """Return the steps of a window in the order of training, each with the batches of all ranks."""
        start, stop = self.mixture.window(window)
        steps = self._cut(window, start, stop)
        if self.mixture.bucket is not None:
            # By the seed and the window alone: a resumed run makes the same order without replaying the one before.
            generator = np.random.default_rng(seed_for(self.mixture.seed, "batches", window))
            steps = [steps[number] for number in generator.permutation(len(steps))]
        return steps

    def epoch_at(self, step: int) -> float:
        """Return how many epochs of the primary stream are done after ``step`` optimiser steps.

        This is exact at the end of every window. Inside a window every step counts as the same share: after 3 of 4
        steps of a window of 100 positions it is 75 positions.
        """
        if step <= 0:
            return 0.0
        # The first window that ends with this step or later.
        window = int(np.searchsorted(self._steps_up_to, step, side="left"))
        window = min(window, len(self._steps_up_to) - 1)
        steps_before = int(self._steps_up_to[window - 1]) if window else 0
        steps_in_window = int(self._steps_up_to[window]) - steps_before
        share = (step - steps_before) / max(1, steps_in_window)
        start, stop = self.mixture.window(window)
        return (start + share * (stop - start)) / self.mixture.epoch_size

    def fingerprint(self) -> dict[str, Any]:
        """Return the values on which the batches depend; a resumed run compares them with those of the checkpoint."""
        size = {"examples": self.options.examples, "tokens": self.options.tokens}
        costs = {}
        if self.options.tokens:  # batches of a number of examples do not depend on costs
            costs = {name: asdict(cost) for name, cost in self.options.costs.items()}
        # "group": the batches of a step. Checkpoints hold the key, so it keeps its name.
        return {**self.mixture.fingerprint(), **size, "costs": costs, "group": self.batches_per_step}

    def _count_steps(self, requested: int | None) -> NDArray[np.int64]:
        """Count the steps up to the end of each window of the run: windows of 5, 5 and 2 steps give 5, 10, 12.

        ``requested``: Steps of the run, whose last window is the one with the last of them; ``None`` for all windows.
        """
        steps_up_to: list[int] = []
        total = 0
        # With a fixed number of examples the size of a window decides, so windows of one size are cut only once.
        steps_by_size: dict[int, int] = {}
        while requested is None or total < requested:
            window = len(steps_up_to)
            start, stop = self.mixture.window(window)
            size = stop - start
            if size <= 0:  # after the end of the mixture
                if requested is None:
                    break
                raise ConfigurationError(
                    f"{requested} steps requested, but {self.mixture.length} positions make {total}; train less"
                )
            steps = steps_by_size.get(size) if self.options.tokens is None else None
            if steps is None:
                steps = len(self._cut(window, start, stop))
                steps_by_size[size] = steps
            total += steps
            steps_up_to.append(total)
        return np.array(steps_up_to, dtype=np.int64)

    def _cut(self, window: int, start: int, stop: int) -> list[Step]:
        """Cut the positions of a window, ``start`` to ``stop - 1``, into batches, and these into steps."""
        if stop - start < self.batches_per_step:
            if self.mixture.length == stop:  # the run ends here, in less than one step
                return []
            raise ConfigurationError(
                f"one optimiser step needs {self.batches_per_step} positions, a window has {stop - start}; "
                "raise `bucket`"
            )
        # Borders between batches, counted from the start of the window.
        if self.options.examples is not None:
            borders = [*range(0, stop - start, self.options.examples), stop - start]
        else:
            costs = _stream_tokens(self.mixture.window_lengths(window), self.options)
            borders = _budget_borders(costs, self.options.tokens or 0)
        batches = [range(start + first, start + end) for first, end in pairwise(borders)]
        steps = [
            batches[i : i + self.batches_per_step] for i in range(0, len(batches), self.batches_per_step)
        ]
        if len(steps[-1]) < self.batches_per_step:
            remaining = steps.pop()
            step_before = steps.pop() if steps else []
            steps += _whole_steps(step_before, remaining, self.batches_per_step)
        return steps


def _budget_borders(costs: Sequence[NDArray[np.int64]], budget: int) -> list[int]:
    """Cut a window greedily: each batch takes examples as long as its padded size stays within the budget.

    The padded size is, added up over the streams, the number of examples times the longest one. Costs of 3, 4, 5, 9 and
    a budget of 10 give the borders 0, 2, 3, 4: the first two examples are 2 × 4 tokens, three would be 3 × 5.

    Args:
        costs: Tokens of the examples at the window's positions, for each stream; 0 if a position has no example of it.
        budget: Tokens of a batch.
    """
    size = len(costs[0])
    # A batch of more than `most_positions` would be over the budget even if each position were as cheap as the cheapest
    # one. The limit keeps the arrays below short: they are made again for each batch.
    cheapest = max(1, int(np.sum(costs, axis=0).min()))
    most_positions = max(1, budget // cheapest)
    borders = [0]
    while borders[-1] < size:
        start = borders[-1]
        stop = min(start + most_positions, size)
        # Entry k is the padded size of a batch of the next k + 1 positions.
        padded = np.zeros(stop - start, np.int64)
        for cost in costs:
            longest_so_far = np.maximum.accumulate(cost[start:stop])
            examples_so_far = np.cumsum(cost[start:stop] > 0)
            padded += longest_so_far * examples_so_far
        # The padded size never falls when a batch grows, so a binary search finds how many positions fit.
        fitting = int(np.searchsorted(padded, budget, side="right"))
        borders.append(start + max(1, fitting))  # an example over the budget is a batch by itself
    return borders


def _whole_steps(step_before: Step, remaining: Step, size: int) -> list[Step]:
    """Make whole steps of the last batches of a window, which are too few for a step.

    For steps of 4 batches of 8 examples:

    1. Two batches remain, 16 positions: they are halved into four batches of 4.
    2. Three positions remain, too few for four batches: together with the step before them they are cut into two steps.
    3. Three positions remain, and with the step before them they are fewer than eight: too few for two steps, whose
       2 × 4 batches need at least a position each. All of them become one step, in which a batch may have one example
       more than its budget: a step of batches of 1 1 1 1 positions and three more become 2 2 2 1. This happens only if
       a small budget of tokens leaves nearly every batch one example.

    Args:
        step_before: The whole step before them, or an empty list in a window without one.
        remaining: The last batches.
        size: Batches of a step.
    """
    positions = range(remaining[0].start, remaining[-1].stop)
    if len(positions) >= size:  # 1
        last_step = _halved(remaining, size)
        return [step_before, last_step] if step_before else [last_step]
    # There is a step before them: `_cut` refuses a whole window of too few positions for a step.
    joined = range(step_before[0].start, positions.stop)
    if len(joined) >= 2 * size:  # 2
        batches = _halved([*step_before, *remaining], 2 * size)
        return [batches[:size], batches[size:]]
    # 3. array_split makes parts whose lengths differ by one at most.
    parts = np.array_split(np.asarray(joined), size)
    return [[range(int(part[0]), int(part[-1]) + 1) for part in parts]]


def _halved(batches: Step, size: int) -> Step:
    """Halve the longest batch again and again until there are ``size`` batches, which hold the same positions.

    1. Of batches of equal length the first one is halved: two batches of 8 and 4 positions become three of 4.
    2. The first half of an odd number of positions is the smaller one: 5 positions become 2 and 3.
    """
    batches = list(batches)
    while len(batches) < size:
        # 1. `max` returns the first of equals.
        longest = max(range(len(batches)), key=lambda number: len(batches[number]))
        middle = len(batches[longest]) // 2  # 2
        halves = [batches[longest][:middle], batches[longest][middle:]]
        # The two halves take the place of the batch.
        batches[longest : longest + 1] = halves
    return batches
