"""Training and development data of fine-tuning: languages joined, parts held out, translations code-switched."""

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
from isoglot.tasks.code_switching import ORIGINAL, code_switch, numbered
from isoglot.tasks.features import EncodedRow


class LengthOrder(torch.utils.data.Sampler[int]):
    """A random order in which the items of a batch are of like length, so that little is padded.

    1. The items are shuffled and cut into pools of ``bucket`` batches. With 1 the batches are simply random.
    2. Each pool is sorted by length and cut into batches.
    3. The full batches of a pool are shuffled; a last, smaller batch stays at the end.

    The order follows from the seed and the epoch alone, so a resumed run has the same order.
    """

    def __init__(self, lengths: NDArray[np.int64], batch: int, *, bucket: int, seed: int) -> None:
        self.lengths, self.batch, self.bucket, self.seed = lengths, batch, bucket, seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def set_epoch(self, epoch: int) -> None:
        """Take the order of another epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = generator_for(self.seed, "order", self.epoch)
        order = torch.randperm(len(self.lengths), generator=generator).numpy()
        for start in range(0, len(order), self.batch * self.bucket):
            pool = order[start : start + self.batch * self.bucket]
            pool = pool[np.argsort(-self.lengths[pool], kind="stable")]
            full_batches = len(pool) // self.batch
            for number in [*torch.randperm(full_batches, generator=generator).tolist(), full_batches]:
                yield from pool[number * self.batch : (number + 1) * self.batch].tolist()


def grouped(rows: Sequence[EncodedRow], dataset: Dataset) -> list[list[dict[str, Any]]]:
    """Put the code-switched copies of an original into one batch.

    A copy of a long question has several windows. The first windows of all copies are one group, their second windows
    the next, and so on; a group lacks the copies that have fewer windows.
    """
    original_of = list(dataset[ORIGINAL])
    copies_of: dict[int, dict[int, list[dict[str, Any]]]] = {}  # original -> copy -> inputs of its windows
    for row in rows:
        copies = copies_of.setdefault(original_of[row.example], {})
        copies.setdefault(row.example, []).append(row.inputs)
    groups = []
    for copies in copies_of.values():
        for number in range(max(map(len, copies.values()))):
            group = [windows[number] for windows in copies.values() if number < len(windows)]
            groups.append(group)
    return groups


def training_rows(
    task: TrainableTask, languages: Sequence[str], options: FinetuneOptions, *, seed: int
) -> tuple[Dataset, dict[str, Dataset]]:
    """The training rows of all languages, and the rows that are held out for development, by language.

    For each language: rows whose column names the split ``dev`` are held out, or else, with ``dev_fraction``, a random
    share of the rows, unless there are development data. After that come code-switching and ``max_train_examples``.
    """
    if options.copies > 1 and len(languages) > 1:
        raise ConfigurationError(f"setting {options.setting} takes one language, got {', '.join(languages)}")
    loaded = {code: load_rows(task, code, "train") for code in languages}
    require_distinct_rows(loaded, {code: locations_of(task, code, "train") for code in languages})
    parts, held_out = [], {}
    for code in languages:
        rows, originals = loaded[code], None
        if options.copies > 1:
            if code == options.pivot:
                raise ConfigurationError(
                    f"setting {options.setting} with language {code!r}, which is the pivot; give the language of the "
                    f"translations with [[language]], the originals' with [[pivot='{code}']]"
                )
            rows, originals = numbered(rows, load_rows(task, options.pivot, "train"))
        names_splits = split_column(rows) is not None and options.select != "last"
        dev = _dev_by_column(task, code) if names_splits else None
        if dev is not None:
            held_out[code] = dev
        elif options.dev_fraction and not task.data.has_dev(code):
            rows, held_out[code] = hold_out(
                rows, options.dev_fraction, group=group_column(rows, task.group), seed=seed
            )
        if originals is not None:
            rows = code_switch(rows, originals, keep=options.copies > 2)
        if options.max_train_examples is not None:
            # As many of each language, and whole groups of copies.
            share = max(1, options.max_train_examples // len(languages) // options.copies) * options.copies
            rows = rows.select(range(min(share, len(rows))))
        parts.append(rows)
    if len(parts) == 1:
        return parts[0], held_out
    shared = [name for name in parts[0].column_names if all(name in part.column_names for part in parts)]
    return concatenate_datasets([part.select_columns(shared) for part in parts]), held_out


def dev_sets(
    task: TrainableTask, languages: Sequence[str], options: FinetuneOptions, held_out: dict[str, Dataset]
) -> list[tuple[str, Dataset]]:
    """The languages and development data by which checkpoints are chosen; none with ``select="last"``."""
    if options.select == "last":
        return []
    chosen = list(languages)
    if options.select == "joint":
        if not options.select_languages:
            raise ConfigurationError(
                "select=joint needs the languages to choose by: [[select_languages='en,de,es']]"
            )
        chosen = list(options.select_languages)
    dev = dict(held_out)
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
            "the last "
            "one with [[select='last']]"
        )
    return [(code, dev[code]) for code in chosen]


def _dev_by_column(task: TrainableTask, code: str) -> Dataset | None:
    """The development rows of data whose rows name their split."""
    if not task.data.has_data(code, "dev"):
        return None
    rows = task.load(code, "dev")
    return rows if len(rows) and split_column(rows) is not None else None


def hold_out(dataset: Dataset, share: float, *, group: str | None, seed: int) -> tuple[Dataset, Dataset]:
    """Divide a data set at random; rows with equal values of the column ``group`` stay on one side."""
    values = list(range(len(dataset))) if group is None else list(dataset[group])
    names = list(dict.fromkeys(values))
    if len(names) < 2:
        raise ConfigurationError(
            f"found {len(names)} group of training examples; at least two are needed to hold some out"
        )
    order = torch.randperm(len(names), generator=generator_for(seed, "hold_out")).tolist()
    count = min(max(1, round(share * len(names))), len(names) - 1)
    out = {names[i] for i in order[:count]}
    training = [i for i, value in enumerate(values) if value not in out]
    held_out = [i for i, value in enumerate(values) if value in out]
    return dataset.select(training), dataset.select(held_out)
