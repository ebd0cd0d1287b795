"""``--beside``: results of a run put beside a row of a paper's table, which the user names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pandas import isna

from isoglot.errors import ConfigurationError
from isoglot.reports.languages import transformation
from isoglot.reports.papers import PaperColumn, PaperRow, PaperTable, paper_table, paper_tables
from isoglot.reports.scores import Measure, ReportScores, common_task
from isoglot.results import Cell

_MBERT, _XLMR = "bert-base-multilingual-cased", "xlm-roberta-base"
_ENCODERS = {
    "mbert": _MBERT, "tlm": _MBERT, "weam": _MBERT, "cao2020": _MBERT, "ppa": _MBERT, "ppa_no_moco": _MBERT,
    "ppa_no_tlm": _MBERT, "ppa_mlm": _MBERT, "xlmr_base": _XLMR, "xlm_align": _XLMR, "xlm_align_no_dwa": _XLMR,
    "xlm_align_no_tlm": _XLMR, "xlmr_continued_mlm": _XLMR,
}  # fmt: skip
"""Encoder that each system of the papers starts from; the others cannot be checked here."""
_TOLD_BY_RESULTS = ("transformation", "task")
"""Rows that differ in nothing else are one place: the language and the task of a result tell them apart."""


@dataclass(frozen=True)
class PaperPlace:
    """Where a run stands."""

    run: str
    table: PaperTable
    rows: tuple[PaperRow, ...]  # one, or those of all transformations or tasks
    system: str = ""  # the columns to fill, where a column stands for a system

    @classmethod
    def parse(cls, text: str) -> PaperPlace:
        """Read ``RUN=PAPER:TABLE:ROW``; the row may be left out where the table has one.

        Example:
            >>> PaperPlace.parse("my-weam=weam:Table2:weam").rows[0].name
            'zero-shot / mBERT+WEAM'
        """
        run, _, place = text.rpartition("=")
        paper, _, rest = place.partition(":")
        number, _, row = rest.partition(":")
        if not (run.strip() and paper.strip() and number.strip()):
            raise ConfigurationError(
                f"--beside expects RUN=PAPER:TABLE:ROW, got {text!r}; for example "
                "--beside tlm=weam:Table2:tlm; `isoglot report papers weam:Table2` lists the rows"
            )
        table = paper_table(f"{paper}:{number}")
        systems = {column.system for column in table.columns} - {""}
        labels = [label.strip() for label in row.split(" / ") if label.strip()]
        system = next((label for label in labels if label in systems), "")
        if systems and not system:
            raise ConfigurationError(
                f"--beside {text!r}: the columns of {table.name} are systems; "
                f"add one of {', '.join(sorted(systems))} to the row, for example / {min(systems)}"
            )
        wanted = " / ".join(label for label in labels if label != system)
        rows = table.rows_of(wanted)
        kinds = {
            tuple(sorted((k, str(v)) for k, v in found.attributes.items() if k not in _TOLD_BY_RESULTS))
            for found in rows
        }
        return cls(run.strip(), table, tuple(rows if len(kinds) == 1 else [table.row(wanted)]), system)

    def find(self, measure: Measure, language: str) -> tuple[PaperRow, PaperColumn] | None:
        """Where a figure of the run belongs; ``None`` where the paper has none like it."""
        applied = transformation(language)
        for row in self.rows:
            own = row.attributes.get("transformation")
            if own is not None and len(self.rows) > 1 and transformation(f"-x-{own}") != applied:
                continue
            for column in self.table.columns:
                if self.system in ("", column.system) and _holds(column, row, measure, language):
                    return row, column
        return None


def beside_cells(
    places: Sequence[PaperPlace], scores: ReportScores, encoders: Mapping[str, str]
) -> list[Cell]:
    """The figures of runs as cells of the papers' tables.

    A column that is a mean over languages gets the run's mean over the languages it was tested in, per seed. What is
    known to differ from the paper (split, starting encoder, languages) is noted.
    """
    cells = []
    for place in places:
        if place.run not in scores.runs:
            raise ConfigurationError(
                f"--beside {place.run}=…: no results of {place.run}; there are {', '.join(scores.runs)}"
            )
        encoder, wanted = encoders.get(place.run, ""), _ENCODERS.get(place.system or place.rows[0].system)
        differs = encoder and wanted and encoder.rstrip("/").rpartition("/")[2] != wanted
        start = f"Starts from {encoder}, the paper from {wanted}." if differs else ""
        found = [
            cell for measure in _measures(place, scores) for cell in _cells(place, measure, scores, start)
        ]
        if not found:
            raise ConfigurationError(
                f"--beside {place.run}=…: no task, metric and language of these results is in {place.table.name}; "
                f"type `isoglot report papers {place.table.name}` to see its columns"
            )
        cells += found
    return cells


def _measures(place: PaperPlace, scores: ReportScores) -> list[Measure]:
    """Of several splits, the paper's, or else the test split."""
    own = [measure for measure in scores.values if scores.languages(measure, place.run)]
    best: dict[tuple[str, str], Measure] = {}
    for measure in sorted(own, key=lambda m: m.split != (place.table.split or "test")):
        best.setdefault((measure.task, measure.metric), measure)
    return [measure for measure in own if measure in best.values()]


def _cells(place: PaperPlace, measure: Measure, scores: ReportScores, start: str) -> Iterator[Cell]:
    """The figures of a measure by language, and their mean where the paper's column is one."""
    languages, theirs = scores.languages(measure, place.run), place.table.split
    split = (
        f"The {measure.split} split here, {theirs} in the paper." if theirs not in ("", measure.split) else ""
    )

    def cells(row: PaperRow, column: PaperColumn, over: Sequence[str], told: str = "") -> Iterator[Cell]:
        shared: dict[str, Any] = {"table": place.table.name, "row": (place.table.address(row),)}
        shared |= {"column": (column.id,), "run": place.run}
        shared["note"] = " ".join(filter(None, (start, split, told)))
        found = scores.complete(measure, over)
        for (_, seed), values in found[found.index.isin([place.run], level="run")].iterrows():
            yield Cell(**shared, value=fmean(values), seed=None if isna(seed) else int(seed))

    for language in languages:
        if found := place.find(measure, language):
            yield from cells(*found, [language])
    column = next((c for c in place.table.columns if _is_mean(c, measure)), None)
    if column is not None and len(place.rows) == 1:
        own = _languages(place.table, measure)
        differ = own and set(languages) != own
        told = f"Mean over {len(languages)} languages here, {len(own)} in the paper." if differ else ""
        yield from cells(place.rows[0], column, languages, told)


def _holds(column: PaperColumn, row: PaperRow, measure: Measure, language: str) -> bool:
    """Whether a column of a row is of our measure and language."""
    task = column.task or str(row.attributes.get("task", ""))
    if column.average or not column.metric or (task and common_task(task) != measure.common_task):
        return False
    if (column.metric, column.quantity) != (measure.base_metric, measure.quantity):
        return False
    if column.quantity:
        return True
    if not column.language:
        return not column.task  # a figure of the model; a task's without language is a mean over languages
    return column.language in (language, "-".join(reversed(language.split("-"))))


def _is_mean(column: PaperColumn, measure: Measure) -> bool:
    if column.average or column.quantity or measure.quantity or column.language or not column.task:
        return False
    return (common_task(column.task), column.metric) == (measure.common_task, measure.base_metric)


def _languages(paper: PaperTable, measure: Measure) -> set[str]:
    """Languages of a task in the same paper's table that gives it by language."""
    for other in paper_tables():
        if other.paper == paper.paper:
            found = {c.language for c in other.columns
                     if c.language and c.task and common_task(c.task) == measure.common_task}  # fmt: skip
            if found:
                return found
    return set()
