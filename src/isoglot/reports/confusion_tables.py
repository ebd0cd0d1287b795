"""Confusions as tables: labels down, predictions across, a block of rows for each language."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isoglot.core.languages import common_code
from isoglot.reports.table import Column, Table, TableCell, TableRow, shown_number, slug
from isoglot.results.confusion import Confusion, ConfusionMatrix
from isoglot.results.rows import typed_options

MOST_LABELS = 24
"""With at most this many labels the table is the whole matrix; with more it lists the most frequent confusions."""
_PAIRS = 30
"""Number of confusions in such a list."""


def confusion_tables(confusions: Sequence[tuple[Confusion, str]]) -> list[Table]:
    """Make a table for each run, task, split and options. Counts of several seeds are added.

    Where a run was evaluated with several options, the options stand behind its name: ``tlm (layer=3)``.

    ``confusions``: Each with the name of its run.
    """
    grouped: dict[tuple[str, str, str], dict[str, list[Confusion]]] = {}
    for confusion, run in confusions:
        about = confusion.about
        key = (run, str(about.get("task") or ""), str(about.get("split") or ""))
        options = typed_options(about.get("options") or {})
        grouped.setdefault(key, {}).setdefault(options, []).append(confusion)
    tables = []
    for (run, task, split), by_options in grouped.items():
        for options, members in by_options.items():
            label = f"{run} ({options})" if options and len(by_options) > 1 else run
            tables.append(_table(label, task, split, members))
    return tables


def _table(run: str, task: str, split: str, members: Sequence[Confusion]) -> Table:
    """Show the counts of one run with one choice of options, all languages below each other."""
    languages: dict[str, ConfusionMatrix] = {}
    for member in members:
        for language, matrix in member.languages.items():
            code = common_code(language)
            languages[code] = _added(languages[code], matrix) if code in languages else matrix
    labels = list(dict.fromkeys(label for matrix in languages.values() for label in matrix.labels))
    seeds = len({member.about.get("seed") for member in members})
    caption = (
        f"{split} split: how many examples of each label (rows) were given each label (columns), by language."
    )
    caption += " The precision of a label that was never predicted is 0."
    caption += f" Counts of {seeds} seeds, added." if seeds > 1 else ""
    title = f"{task}: confusion of {run}"
    if len(labels) > MOST_LABELS:
        return _listed_pairs(title, caption, languages)
    columns = [Column(label, group="predicted") for label in labels]
    columns += [Column(name, group="in %") for name in ("precision", "recall", "F1")]
    table = Table(slug([task, split, "confusion", run]), title, caption, "label", columns, secondary=True)
    for language, matrix in languages.items():
        # The labels of this language may be fewer than those of the table, and in another order.
        place = {label: number for number, label in enumerate(matrix.labels)}
        for score, counts in zip(matrix.classes(), matrix.counts.tolist(), strict=True):
            if not score.examples and not score.predicted:
                continue
            cells = []
            for label in labels:
                count = counts[place[label]] if label in place else 0
                # Bold: right predictions, the diagonal of the matrix.
                cells.append(TableCell(f"{count:,}", float(count), best=label == score.label and count > 0))
            cells += [
                TableCell(shown_number(value), value) for value in (score.precision, score.recall, score.f1)
            ]
            table.rows.append(TableRow(score.label, tuple(cells), "ours", language))
    return table


def _added(one: ConfusionMatrix, other: ConfusionMatrix) -> ConfusionMatrix:
    """Add the counts of two matrices, whose labels may differ in number and order."""
    labels = tuple(dict.fromkeys([*one.labels, *other.labels]))
    number = {label: place for place, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for matrix in (one, other):
        places = [number[label] for label in matrix.labels]
        counts[np.ix_(places, places)] += matrix.counts
    return ConfusionMatrix(labels, counts)


def _listed_pairs(title: str, caption: str, languages: dict[str, ConfusionMatrix]) -> Table:
    """List the pairs of labels that were confused most often, for a task with too many labels for a whole matrix."""
    wrong = []
    for language, label, predicted, count in Confusion(languages).rows():
        if label != predicted and count:
            wrong.append((count, language, label, predicted))
    wrong.sort(key=lambda pair: (-pair[0], pair[1:]))
    texts: list[list[str | TableCell]] = []
    for count, language, label, predicted in wrong[:_PAIRS]:
        texts.append([label, language, predicted, TableCell(f"{count:,}", float(count))])
    caption += f" The {len(texts)} most frequent of {len(wrong)} pairs."
    table = Table.listing(title, caption, ["label", "language", "predicted", "examples"], texts)
    table.secondary = True
    return table
