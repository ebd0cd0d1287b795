"""Training and development data of fine-tuning.

:func:`training_rows` joins languages, holds parts out and code-switches translations; :func:`dev_sets` finds the
development data of each language. :func:`grouped` and :class:`LengthOrder` say which rows share a batch.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset, concatenate_datasets
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.finetuning.options import FinetuneOptions
from isoglot.formats.labelled.splits import split_column
from isoglot.tasks.base import TrainableTask, group_column, load_rows, locations_of, require_distinct_rows
from isoglot.tasks.code_switching import ORIGINAL, code_switch, with_ids
from isoglot.tasks.features import EncodedRow


class LengthOrder(torch.utils.data.Sampler[int]):
    """A random order of the groups of rows, in which the groups of one step are of like length: little is padded.

    1. The groups are shuffled and cut into pools, each of ``bucket`` steps. With 1 the steps are simply random.
    2. Each pool is sorted by length, the longest first, and cut into steps.
    3. The full steps of a pool are shuffled; a last, smaller step stays at the end.

    With steps of 2 groups and ``bucket=2``, a pool of the lengths 5, 9, 4, 8 becomes 9 8 | 5 4 or 5 4 | 9 8. The order
    follows from the seed and the epoch alone, so a resumed run has the same order.

    Args:
        lengths: Length of the longest row of each group.
        groups_per_step: Groups that one process has in one optimiser step. With several processes the order has the
            groups of all of them, and a step of the rules above is the share that one process has in a step.
        bucket: Steps in a pool.
        seed: The run's seed.
    """

    def __init__(self, lengths: NDArray[np.int64], groups_per_step: int, *, bucket: int, seed: int) -> None:
        self.lengths, self.groups_per_step, self.bucket, self.seed = lengths, groups_per_step, bucket, seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def set_epoch(self, epoch: int) -> None:
        """Take the order of another epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = generator_for(self.seed, "order", self.epoch)
        order = torch.randperm(len(self.lengths), generator=generator).numpy()  # 1
        size = self.groups_per_step
        for start in range(0, len(order), size * self.bucket):
            pool = order[start : start + size * self.bucket]
            pool = pool[np.argsort(-self.lengths[pool], kind="stable")]  # 2
            full_steps = len(pool) // size
            shuffled = torch.randperm(full_steps, generator=generator).tolist()  # 3
            # The full steps are numbered from 0, so the smaller step behind them has the number `full_steps`. Its slice
            # of the pool is empty if there is none.
            for step in [*shuffled, full_steps]:
                yield from pool[step * size : (step + 1) * size].tolist()


def grouped(rows: Sequence[EncodedRow], dataset: Dataset) -> list[list[dict[str, Any]]]:
    """Put the code-switched copies of an original into one group, whose rows share a batch.

    A copy of a long question has several rows, its windows. The first windows of all copies are one group, their second
    windows the next, and so on. A group lacks the copies that have fewer windows: copies of 3 and 2 windows make groups
    of 2, 2 and 1 rows.
    """
    original_of = list(dataset[ORIGINAL])
    # By the original, then by the copy: the inputs of the copy's windows.
    copies_of: dict[int, dict[int, list[dict[str, Any]]]] = {}
    for row in rows:
        copies = copies_of.setdefault(original_of[row.example], {})
        copies.setdefault(row.example, []).append(row.inputs)
    groups = []
    for copies in copies_of.values():
        most_windows = max(len(windows) for windows in copies.values())
        for number in range(most_windows):
            group = [windows[number] for windows in copies.values() if number < len(windows)]
            groups.append(group)
    return groups


def training_rows(
    task: TrainableTask, languages: Sequence[str], options: FinetuneOptions, *, seed: int
) -> tuple[Dataset, dict[str, Dataset]]:
    """Read the training rows of all languages, and find their development rows or hold some out.

    For each language:

    1. Code-switching: each row gets an ``id`` that its original in the language ``pivot`` has too. Data without ids get
       the row numbers, before any row is held out and the numbers change.
    2. Development rows of the data themselves: a column may name the split of each row, ``train`` or ``dev``. Those of
       ``dev`` are the development data; the reader of the training data has left them out.
    3. Without a development row by rule 2 and without a file of development data, a random share of the rows is held
       out (``dev_fraction``). The share is held out with ``select="last"`` too, which reads no development rows: a
       change of ``select`` must not change the training rows.
    4. Code-switching: each training row is mixed with the original of its ``id``, and becomes its copies.
    5. ``max_train_examples`` is shared among the languages: each gives its first rows.

    Returns:
        The training rows of all languages in one data set, and the development rows by language. German and French
        with 100 rows each and ``dev_fraction=0.1`` give 180 rows and ``{"de": 10 rows, "fr": 10 rows}``.
    """
    if options.copies > 1 and len(languages) > 1:
        raise ConfigurationError(f"setting {options.setting} takes one language, got {', '.join(languages)}")
    loaded = {code: load_rows(task, code, "train") for code in languages}
    require_distinct_rows(loaded, {code: locations_of(task, code, "train") for code in languages})
    parts: list[Dataset] = []
    dev_rows: dict[str, Dataset] = {}
    for code in languages:
        rows, pivot_rows = loaded[code], None
        if options.copies > 1:  # 1
            if code == options.pivot:
                raise ConfigurationError(
                    f"setting {options.setting} with language {code!r}, which is the pivot; give the language of the "
                    f"translations with [[language]], the originals' with [[pivot='{code}']]"
                )
            rows, pivot_rows = with_ids(rows, load_rows(task, options.pivot, "train"))
        named_dev = None
        # With `select="last"` nobody reads development rows, but `dev_fraction` needs to know whether there are any:
        # rule 3 holds out a share only if there are none.
        looks_for_dev = options.select != "last" or options.dev_fraction > 0
        if looks_for_dev and split_column(rows) is not None:  # 2
            named_dev = _dev_by_column(task, code)
        if named_dev is not None:
            dev_rows[code] = named_dev
        elif options.dev_fraction and not task.data.has_dev(code):  # 3
            column = group_column(rows, task.group)
            rows, dev_rows[code] = hold_out(rows, options.dev_fraction, together=column, seed=seed)
        if pivot_rows is not None:  # 4
            rows = code_switch(rows, pivot_rows, keep=options.keeps_translations)
        if options.max_train_examples is not None:  # 5
            rows = rows.select(range(min(rows_per_language(options, languages), len(rows))))
        parts.append(rows)
    if len(parts) == 1:
        return parts[0], dev_rows
    # Columns that only some of the languages have cannot be joined.
    first, *others = parts
    shared = [name for name in first.column_names if all(name in part.column_names for part in others)]
    return concatenate_datasets([part.select_columns(shared) for part in parts]), dev_rows


def rows_per_language(options: FinetuneOptions, languages: Sequence[str]) -> int:
    """Return the number of rows that ``max_train_examples`` allows each language.

    Of 7 examples, each of two languages gives 3. A share is a multiple of the copies of an original, so that no copies
    are separated: with two copies, 7 examples of one language are 6.

    Raises:
        ConfigurationError: The number is too small for one example (with its copies) of each language.
    """
    most = options.max_train_examples or 0
    originals = most // len(languages) // options.copies
    if not originals:
        raise ConfigurationError(
            f"max_train_examples {most} is too small; one example of each language makes "
            f"{len(languages) * options.copies} rows: raise it"
        )
    return originals * options.copies


def dev_sets(
    task: TrainableTask, languages: Sequence[str], options: FinetuneOptions, dev_rows: dict[str, Dataset]
) -> list[tuple[str, Dataset]]:
    """Find the languages and development data by which the checkpoint is chosen; none with ``select="last"``.

    ``dev_rows``: The development rows that :func:`training_rows` returned. They come first; for a language without any
    the task's own development data are read.
    """
    if options.select == "last":
        return []
    chosen = list(languages)
    if options.select == "joint":
        if not options.select_languages:
            raise ConfigurationError(
                "select=joint needs the languages to choose by: [[select_languages='en,de,es']]"
            )
        chosen = list(options.select_languages)
    dev = dict(dev_rows)
    for code in chosen:
        if code not in dev:
            rows = load_rows(task, code, "dev") if task.data.has_dev(code) else _dev_by_column(task, code)
            if rows is not None:
                dev[code] = rows
    missing = [code for code in chosen if code not in dev]
    if missing:
        raise ConfigurationError(
            f"no dev data for {', '.join(map(repr, missing))} to choose the checkpoint by ({task.data.describe()}); "
            "add [[data={'dev': PATH}]], hold out some of the training data with [[dev_fraction=0.05]], or keep "
            "the last one with [[select='last']]"
        )
    return [(code, dev[code]) for code in chosen]


def _dev_by_column(task: TrainableTask, code: str) -> Dataset | None:
    """Return the development rows of data in which a column names the split of each row; ``None`` for other data.

    The data source's ``has_dev`` is true only if there are development data apart from the training data. Its
    ``has_data`` is true also where the training file is all there is; the column then tells the development rows.
    """
    if not task.data.has_data(code, "dev"):
        return None
    rows = task.load(code, "dev")
    return rows if len(rows) and split_column(rows) is not None else None


def hold_out(dataset: Dataset, share: float, *, together: str | None, seed: int) -> tuple[Dataset, Dataset]:
    """Divide a data set at random into training rows and a share that is held out.

    ``together``: A column whose equal values stay on one side, such as the paragraph of a question; a share of 0.1 is
    then a tenth of the paragraphs, with all of their questions. ``None``: a tenth of the rows.
    """
    values = list(range(len(dataset))) if together is None else list(dataset[together])
    distinct = list(dict.fromkeys(values))
    if len(distinct) < 2:
        raise ConfigurationError(
            f"found {len(distinct)} group of training examples; at least two are needed to hold some out"
        )
    order = torch.randperm(len(distinct), generator=generator_for(seed, "hold_out")).tolist()
    # At least one value on each side.
    count = min(max(1, round(share * len(distinct))), len(distinct) - 1)
    out = {distinct[number] for number in order[:count]}
    training = [row for row, value in enumerate(values) if value not in out]
    held_out = [row for row, value in enumerate(values) if value in out]
    return dataset.select(training), dataset.select(held_out)
