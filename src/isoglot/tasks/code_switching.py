"""Code-switched training data from translations, as in PPA §2.3.

Of an example and its original in the pivot language two are made: one sentence, or the question, is exchanged for the
other language's. The monolingual example is dropped (footnote 2: it did not help) or kept; what one original makes
carries its number, so that it can be put in one batch.

Source: Pan et al. 2021, *Multilingual BERT Post-Pretraining Alignment*, §2.3 and Table 5 (−CS).
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from datasets import Dataset, Features, Value

from isoglot.core.errors import ConfigurationError
from isoglot.formats.schema import PAIR, SPAN
from isoglot.tasks.features import FIRST_LANGUAGE

_LOG = logging.getLogger(__name__)
ORIGINAL = "original"
"""Column: number of the original that a copy was made from."""


def code_switch(target: Dataset, pivot: Dataset, *, keep: bool = False) -> Dataset:
    """Exchange one half of every example for its original's; ``keep``: the example itself comes after both copies.

    Pairs (l, en): ``(first_l, second_en)`` and ``(first_en, second_l)``. Questions: ``(question_l, context_en)`` with
    the English answer and ``(question_en, context_l)`` with the translated one; where either answer is missing both
    copies are dropped.

    Rows belong together by ``id``; see :func:`numbered`.

    Returns:
        Rows of the same schema with :data:`ORIGINAL`, the language of the second half as ``language`` and that of the
        first as :data:`FIRST_LANGUAGE`; copies of an original follow each other.
    """
    if all(column in target.features for column in SPAN):
        exchanged, schema = "question", SPAN
    elif all(column in target.features for column in PAIR):
        exchanged, schema = "first", PAIR
    else:
        raise ConfigurationError(
            "code-switching exchanges sentences of pairs or questions; use setting translate_train for this task"
        )
    schema = Features({**schema, FIRST_LANGUAGE: Value("string")})
    columns: dict[str, list[Any]] = {name: [] for name in (*schema, ORIGINAL)}
    number = 0
    for translation, original in _matched(target, pivot):
        row = target[translation]
        copies = _copies(row, pivot[original], exchanged)
        copies += [{**row, FIRST_LANGUAGE: row["language"]}] if keep and copies else []
        for copy in copies:
            for name in schema:
                columns[name].append(copy[name])
            columns[ORIGINAL].append(number)
        number += bool(copies)
    if not number:
        raise ConfigurationError(
            "no example is left after code-switching; the answers of one side are missing"
        )
    return Dataset.from_dict(columns, features=Features({**schema, ORIGINAL: Value("int32")}))


def numbered(target: Dataset, pivot: Dataset) -> tuple[Dataset, Dataset]:
    """Both with an ``id`` by which rows are matched, so that parts of either can be taken away.

    Where ids are not there or not unique, the order counts.
    """
    if all("id" in side.features and len(set(side["id"])) == len(side) for side in (target, pivot)):
        return target, pivot
    if len(target) != len(pivot):
        raise ConfigurationError(
            f"got {len(target)} translated examples for {len(pivot)} originals without ids; add an id column"
        )
    names = [str(i) for i in range(len(target))]
    first, second = (
        side.remove_columns([c for c in side.column_names if c == "id"]).add_column("id", names)
        for side in (target, pivot)
    )
    return first, second


def _copies(row: Mapping[str, Any], original: Mapping[str, Any], exchanged: str) -> list[dict[str, Any]]:
    """Both examples with each other's column; none where an answer is missing."""
    if exchanged == "question":
        if not all(side["answers"]["text"] and side["answers"]["start"][0] >= 0 for side in (row, original)):
            return []
    elif row["label"] != original["label"]:
        raise ConfigurationError(
            f"{row['first'][:60]!r} is labelled {row['label']} and its original {original['first'][:60]!r} "
            f"{original['label']}; give translations of the same examples in the same order"
        )
    return [
        {**second, exchanged: first[exchanged], FIRST_LANGUAGE: first["language"]}
        for first, second in ((row, original), (original, row))
    ]


def _matched(target: Dataset, pivot: Dataset) -> Sequence[tuple[int, int]]:
    """The row numbers of each translation and its original."""
    numbers = {name: i for i, name in enumerate(pivot["id"])}
    matches = [(i, numbers[name]) for i, name in enumerate(target["id"]) if name in numbers]
    if not matches:
        raise ConfigurationError(
            f"no id of the translations ({target['id'][0]!r}, …) is an original's ({pivot['id'][0]!r}, …)"
        )
    if lost := len(target) - len(matches):
        _LOG.warning("%d of %d translations have no original of their id: left out", lost, len(target))
    return matches
