"""Code-switched training data from translations, as in PPA §2.3.

The training data are translations (German, say) of originals in the pivot language (English). A translation and its
original become two *copies*, each in both languages. For a pair of sentences:

    first_de  second_de                        first_de  second_en
                         ── code-switched ──>
    first_en  second_en                        first_en  second_de

For questions it is the question that is exchanged; the answer stays with the context. The translation itself is dropped
(footnote 2 of PPA: it did not help) or kept behind the copies. All rows from one original carry its number, so that
they can be put in one batch.

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
"""Column: number of the original from which a row was made."""


def code_switch(target: Dataset, pivot: Dataset, *, keep: bool = False) -> Dataset:
    """Make two code-switched copies of each translation and its original.

    1. Pairs: ``(first_de, second_en)``, then ``(first_en, second_de)``.
    2. Questions: ``(question_de, context_en)`` with the English answer, then ``(question_en, context_de)`` with the
       German answer. If either answer is missing, the example makes no row.

    Args:
        target: The translations.
        pivot: The originals. A translation and its original have one ``id``; :func:`with_ids` gives them ids.
        keep: Put the translation itself after its two copies.

    Returns:
        Rows of the same schema, those of one original one after another, with its number as :data:`ORIGINAL`.
        ``language`` is that of the second text, :data:`FIRST_LANGUAGE` that of the first.

    Raises:
        ConfigurationError: Data of another kind than pairs or questions, or no row is left.
    """
    # A copy is one side with one column of the other side.
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
    number_of_original = 0
    for target_row, pivot_row in _matched(target, pivot):
        translation = target[target_row]
        rows = _copies(translation, pivot[pivot_row], exchanged)
        if not rows:
            continue
        if keep:
            rows.append({**translation, FIRST_LANGUAGE: translation["language"]})
        for row in rows:
            for name in schema:
                columns[name].append(row[name])
            columns[ORIGINAL].append(number_of_original)
        number_of_original += 1
    if not number_of_original:
        raise ConfigurationError(
            "no example is left after code-switching; the answers of one side are missing"
        )
    return Dataset.from_dict(columns, features=Features({**schema, ORIGINAL: Value("int32")}))


def with_ids(target: Dataset, pivot: Dataset) -> tuple[Dataset, Dataset]:
    """Return translations and originals with an ``id`` by which they are matched, even after rows are taken away.

    Ids of the data are kept if they are unique on both sides. Otherwise row i of the one side belongs to row i of the
    other, and the ids are row numbers.
    """
    if _has_unique_ids(target) and _has_unique_ids(pivot):
        return target, pivot
    if len(target) != len(pivot):
        raise ConfigurationError(
            f"got {len(target)} translated examples for {len(pivot)} originals without ids; add an id column"
        )
    return _with_row_numbers(target), _with_row_numbers(pivot)


def _has_unique_ids(rows: Dataset) -> bool:
    """Whether rows have ids, and no two rows the same id."""
    return "id" in rows.features and len(set(rows["id"])) == len(rows)


def _with_row_numbers(rows: Dataset) -> Dataset:
    """Return rows whose ``id`` is their number."""
    if "id" in rows.column_names:
        rows = rows.remove_columns("id")
    return rows.add_column("id", [str(number) for number in range(len(rows))])


def _copies(
    translation: Mapping[str, Any], original: Mapping[str, Any], exchanged: str
) -> list[dict[str, Any]]:
    """Return the original with a column of the translation, and the other way round.

    Nothing is returned for questions if the answer of either is missing or has no place in the context.

    ``exchanged``: The column that changes sides: ``first`` of pairs, ``question`` of questions.
    """
    sides = (translation, original)
    if exchanged == "question":
        has_answers = [side["answers"]["text"] and side["answers"]["start"][0] >= 0 for side in sides]
        if not all(has_answers):
            return []
    elif translation["label"] != original["label"]:
        raise ConfigurationError(
            f"{translation['first'][:60]!r} is labelled {translation['label']} and its original "
            f"{original['first'][:60]!r} {original['label']}; give translations of the same examples in the same order"
        )
    return [
        {**original, exchanged: translation[exchanged], FIRST_LANGUAGE: translation["language"]},
        {**translation, exchanged: original[exchanged], FIRST_LANGUAGE: original["language"]},
    ]


def _matched(target: Dataset, pivot: Dataset) -> Sequence[tuple[int, int]]:
    """Return the row numbers of each translation and its original, in the order of the translations.

    Translations without an original are left out, and a warning counts them.
    """
    row_of_id = {row_id: row for row, row_id in enumerate(pivot["id"])}
    matches = [(row, row_of_id[row_id]) for row, row_id in enumerate(target["id"]) if row_id in row_of_id]
    if not matches:
        raise ConfigurationError(
            f"no id of the translations ({target['id'][0]!r}, …) is an original's ({pivot['id'][0]!r}, …)"
        )
    lost = len(target) - len(matches)
    if lost:
        _LOG.warning("%d of %d translations have no original of their id: left out", lost, len(target))
    return matches
