"""Which of our rows stands beside which row of a paper, and whether the two may be subtracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from isoglot.errors import ConfigurationError, InputError
from isoglot.report.papers import PaperColumn, PaperRow, PaperTable, paper_table
from isoglot.report.scores import Measure, common_task

__all__ = ["Comparison", "RunInfo", "matching_column", "objections", "paper_rows", "read_comparisons"]

_MBERT, _XLMR = "bert-base-multilingual-cased", "xlm-roberta-base"
_ENCODERS = {
    "mbert": _MBERT, "tlm": _MBERT, "weam": _MBERT, "cao2020": _MBERT, "ppa": _MBERT, "ppa-moco": _MBERT,
    "ppa-tlm": _MBERT, "ppa_repl_tlm_mlm": _MBERT, "xlmr_base": _XLMR, "xlm_align": _XLMR, "xlm_align-dwa": _XLMR,
    "xlm_align-tlm": _XLMR, "xlmr_continued_mlm": _XLMR,
}  # fmt: skip
"""Encoder that each system of the papers starts from; the others cannot be checked here."""


@dataclass(frozen=True)
class RunInfo:
    """What is known of a run from the folder it came in.

    Args:
        name: label of the run.
        encoder: the model that training started from; empty if not recorded.
        folder: where it was found.
        seeds: of its rows.
        recipe_hash: of its recipe.
        checkpoint_hashes: of the weights that were measured.
        versions: package -> version.
        examples: rows of results.
    """

    name: str
    encoder: str = ""
    folder: str = ""
    seeds: tuple[int, ...] = ()
    recipe_hash: str = ""
    checkpoint_hashes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    examples: int = 0


class Comparison(BaseModel):
    """One table of a paper to be put beside ours.

    Args:
        paper: the table (``weam:Table1``; ``isoglot report papers`` lists them).
        rows: our run -> the paper's row (``zero-shot / mBERT+WEAM``, or ``mBERT+WEAM``, or its system ``weam``).
            Without it, a run stands beside the row whose system has its name.
        task: only for this task of ours.
        comparable: ``true`` or ``false`` as you judge the settings. Without it, split and starting encoder are
            compared, and what is not known counts as not comparable.
        reason: why not (or why) comparable; printed with the table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper: Annotated[str, Field(min_length=1)]
    rows: dict[str, str] = {}
    task: str | None = None
    comparable: bool | None = None
    reason: str = ""

    @model_validator(mode="after")
    def _has_reason(self) -> Self:
        if self.comparable is False and not self.reason:
            raise ValueError("comparable: false needs a reason, which the report prints")
        return self


def read_comparisons(path: str | Path) -> list[Comparison]:
    """Comparisons from a YAML file: a list of sections with the fields of :class:`Comparison`.

    Raises:
        InputError: the file is missing, is no YAML, or a section is wrong.
        ConfigurationError: a section names a table that no paper has.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - only needed with a file
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    path = Path(path)
    try:
        given: Any = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        found = TypeAdapter(list[Comparison]).validate_python(given if isinstance(given, list) else [given])
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror}); name a YAML file of comparisons", path=path
        ) from error
    except (YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        message = (
            f"no YAML ({getattr(error, 'problem', None) or error}); write `- paper: weam:Table2` and so on"
        )
        raise InputError(message, path=path, line=None if mark is None else mark.line + 1) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{place}: {first['msg']}; a section has {', '.join(Comparison.model_fields)}", path=path
        ) from error
    for comparison in found:
        paper_table(comparison.paper)
    return found


def matching_column(table: PaperTable, measure: Measure, language: str) -> PaperColumn | None:
    """The paper's column of our measure in a language, or of the same pair the other way round.

    For derived languages a column of ``sup``, ``zs`` or ``delta`` stands for results whose language, or the end of
    whose metric (``accuracy_zs``), is that word.
    """
    metric, _, quantity = measure.common_metric.partition("_")
    swapped = "-".join(reversed(language.split("-")))
    for column in table.columns:
        if (
            column.average
            or not column.metric
            or (column.task and common_task(column.task) != measure.common_task)
        ):
            continue
        if not column.task and measure.common_metric != "aer":
            continue
        if column.quantity:
            if column.metric == metric and column.quantity in (language, quantity):
                return column
        elif column.metric == measure.common_metric and language and column.language in (language, swapped):
            return column
    return None


def paper_rows(
    table: PaperTable, comparison: Comparison, runs: Sequence[str]
) -> tuple[dict[str, PaperRow], list[PaperRow]]:
    """The paper's row of each run, and the paper's other rows.

    Raises:
        ConfigurationError: the comparison names a run that has no results, or a row that the table has not.
    """
    if comparison.rows:
        missing = [run for run in comparison.rows if run not in runs]
        if missing:
            raise ConfigurationError(
                f"comparison with {table.name}: no results of {', '.join(missing)}; there are {', '.join(runs)}; "
                "name runs as the report shows them"
            )
        return {run: table.row(name) for run, name in comparison.rows.items()}, []
    matched: dict[str, PaperRow] = {}
    for run in runs:
        own = [row for row in table.rows if row.system and row.system == run.lower().replace("-", "_")]
        own = [row for row in own if row.setting in ("", "zero-shot")]
        if len(own) == 1:
            matched[run] = own[0]
    return matched, [row for row in table.rows if row not in matched.values()]


def objections(
    comparison: Comparison, table: PaperTable, row: PaperRow, measure: Measure, run: RunInfo
) -> list[str]:
    """Why our figure and the paper's must not be subtracted; empty if they may.

    The user's word counts where it is given. Otherwise the split and the starting encoder have to be known to be
    the same; the amount of training is not looked at, which the report says.
    """
    if comparison.comparable is not None:
        return [] if comparison.comparable else [comparison.reason]
    found = []
    if table.split and table.split != measure.split:
        found.append(f"{measure.split} here, {table.split} in the paper")
    wanted = _ENCODERS.get(row.system)
    if wanted is None:
        found.append("the paper's encoder is none that can be checked")
    elif not run.encoder:
        found.append("the encoder that this run started from is not recorded")
    elif run.encoder.rstrip("/").rsplit("/", 1)[-1] != wanted:
        found.append(f"starts from {run.encoder}, the paper from {wanted}")
    return found
