"""Which of our rows stands beside which row of a paper, and whether the two may be subtracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from isoglot.errors import ConfigurationError, InputError
from isoglot.report.papers import PAPERS, PaperTable, paper_table, paper_tables
from isoglot.report.placing import PaperLine, find_line, paper_lines
from isoglot.report.scores import Measure

__all__ = ["Comparison", "RunInfo", "objections", "paper_names", "placed_lines", "read_comparisons"]

_MBERT, _XLMR = "bert-base-multilingual-cased", "xlm-roberta-base"
_ENCODERS = {
    "mbert": _MBERT, "tlm": _MBERT, "weam": _MBERT, "cao2020": _MBERT, "ppa": _MBERT, "ppa_no_moco": _MBERT,
    "ppa_no_tlm": _MBERT, "ppa_mlm": _MBERT, "xlmr_base": _XLMR, "xlm_align": _XLMR, "xlm_align_no_dwa": _XLMR,
    "xlm_align_no_tlm": _XLMR, "xlmr_continued_mlm": _XLMR,
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
        rows: our run -> the paper's row (``zero-shot / mBERT+WEAM``, or ``mBERT+WEAM``, or its system ``weam``, or
            what a run of its kind is called: ``ppa 600k``). Without it, runs are placed by their names
            (:mod:`isoglot.report.placing`).
        task: only for this task of ours.
        comparable: ``true`` or ``false`` as you judge the settings. Without it, split and starting encoder are
            compared, and what is not known counts as not comparable.
        reason: why not (or why) comparable; printed with the table.
        placed_only: leave the table out where it has a line for none of our runs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    paper: Annotated[str, Field(min_length=1)]
    rows: dict[str, str] = {}
    task: str | None = None
    comparable: bool | None = None
    reason: str = ""
    placed_only: bool = False

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


def paper_names(name: str) -> list[str]:
    """Tables that ``--paper`` means: one (``weam:Table1``), a paper's (``weam``), or ``all`` with results.

    Raises:
        ConfigurationError: there is none of this name.
    """
    wanted = name.strip().lower().replace("-", "_")
    if wanted == "all" or wanted in PAPERS:
        return [t.name for t in paper_tables()
                if t.kind == "results" and not t.duplicate_of and wanted in ("all", t.paper)]  # fmt: skip
    return [paper_table(name).name]


def placed_lines(
    table: PaperTable, comparison: Comparison, runs: Sequence[str], task: str
) -> tuple[dict[str, tuple[PaperLine, list[str]]], list[PaperLine]]:
    """The paper's line of each run with what its name leaves open, and the paper's other lines.

    Raises:
        ConfigurationError: the comparison names a run that has no results, or a row that the table has not.
    """
    lines = paper_lines(table)
    if comparison.rows:
        missing = [run for run in comparison.rows if run not in runs]
        if missing:
            raise ConfigurationError(
                f"comparison with {table.name}: no results of {', '.join(missing)}; there are {', '.join(runs)}; "
                "name runs as the report shows them"
            )
        return {run: (_named_line(table, lines, name), []) for run, name in comparison.rows.items()}, []
    matched: dict[str, tuple[PaperLine, list[str]]] = {}
    for run in runs:
        found = find_line(lines, run, task)
        if found is not None:
            line, placed = found
            matched[run] = line.pin(placed.attributes), line.assumed(placed)
    taken = [line.name for line, _ in matched.values()]
    return matched, [line for line in lines if line.name not in taken]


def _named_line(table: PaperTable, lines: Sequence[PaperLine], name: str) -> PaperLine:
    """The line of a row that is named as printed, as its system, or as a run of its kind would be."""
    for line in lines:
        if line.name == name:
            return line
    try:
        row = table.row(name)
    except ConfigurationError:
        found = find_line(lines, name)
        if found is None:
            raise
        return found[0]
    return next(line for line in lines if row in line.rows)


def objections(
    comparison: Comparison,
    line: PaperLine,
    measures: Sequence[Measure],
    run: RunInfo,
    assumed: Sequence[str] = (),
) -> list[str]:
    """Why our figure and the paper's must not be subtracted; empty if they may.

    The user's word counts where it is given. Otherwise the split and the starting encoder have to be known to be
    the same; the amount of training is not looked at, which the report says.

    Args:
        comparison: what the user said of the table.
        line: the paper's.
        measures: ours.
        run: ours.
        assumed: what the run's name leaves open.
    """
    if comparison.comparable is not None:
        return [] if comparison.comparable else [comparison.reason]
    found = list(assumed)
    splits = [m.split for m in measures if line.table.split and m.split != line.table.split]
    if splits:
        found.append(f"{splits[0]} here, {line.table.split} in the paper")
    wanted = _ENCODERS.get(line.system)
    if wanted is None and line.table.paper == "align_mlm":
        found.append("the paper trains from scratch, on data and for steps that a name does not tell")
    elif wanted is None:
        found.append("the paper's encoder is none that can be checked")
    elif not run.encoder:
        found.append("the encoder that this run started from is not recorded")
    elif run.encoder.rstrip("/").rsplit("/", 1)[-1] != wanted:
        found.append(f"starts from {run.encoder}, the paper from {wanted}")
    return found
