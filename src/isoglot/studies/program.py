"""Programs of studies, and the plan: what their cells and figures need, read and lack.

Selection (names, scale, sizes) ─> Programs (cells and figures) ─> Plan (every cell asked, nothing made)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isoglot.core.errors import ConfigurationError
from isoglot.runs.reporter import Reporter
from isoglot.studies.catalogue import Study, find_studies
from isoglot.studies.inputs import Input
from isoglot.studies.lab import Lab
from isoglot.studies.parts import StudyPart, Work


@dataclass(frozen=True, eq=False)
class Program:
    """A study at one scale: its cells and figures."""

    study: Study
    lab: Lab
    parts: Sequence[StudyPart]  # cells, then figures
    # Cells that nothing is made for; they are written if they are known already.
    unselected: Sequence[StudyPart] = ()

    @property
    def caption(self) -> str:
        """The scale and variant, and what the study's file says of the scale."""
        return f"{self.lab.setting.caption} {self.study.about.get(self.lab.scale, '')}".strip()

    @property
    def folder(self) -> Path:
        """The folder of the tables: ``ROOT/weam_table1``, or ``ROOT/weam_table1_small_steps=200`` for another setting.

        Each setting has a folder of its own, so that none replaces the tables of another one.
        """
        name = self.study.name.replace("/", "_")
        return self.lab.root / "_".join(filter(None, (name, self.lab.setting.ending)))


@dataclass(frozen=True)
class Selection:
    """Which studies are made, at which scale, and which of their cells.

    A selection can be sent to another process, which builds the same programs from it.

    Args:
        studies: Studies, or names of studies, papers and files.
        root: Folder of the steps and tables.
        scale: ``tiny``, ``small`` or ``paper``.
        changes: Sizes in place of those of the scale.
        only: Patterns of cells; a cell is selected if one of them matches (:meth:`StudyPart.matches`). Without any, all
            cells and figures are selected.
        keep: Keep fine-tuned weights after they are evaluated.
    """

    studies: Sequence[str | Study]
    root: Path | str
    scale: str = "tiny"
    changes: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] = ()
    keep: bool = False

    def programs(self, progress: Reporter | None = None) -> list[Program]:
        """Run each study on a lab, which collects the study's cells and figures.

        Raises:
            ConfigurationError: An unknown study or size, or no cell matches ``only``.
        """
        labs: dict[int, Lab] = {}  # studies of one file have one object of sizes, and share a lab
        programs = []
        for study in find_studies(self.studies):
            lab = labs.get(id(study.sizes))
            if lab is None:
                lab = self._lab_for(study, progress)
                labs[id(study.sizes)] = lab
            lab.parts = []
            lab.size.read.clear()
            study.run(lab)
            programs.append(self._program(study, lab))
        if self.only and not any(program.parts for program in programs):
            raise _no_match([cell for program in programs for cell in program.unselected])
        return programs

    def _lab_for(self, study: Study, progress: Reporter | None) -> Lab:
        return Lab(
            study.sizes,
            root=self.root,
            scale=self.scale,
            changes=self.changes,
            variants=study.variants,
            keep=self.keep,
            progress=progress,
            home=study.home,
        )

    def _program(self, study: Study, lab: Lab) -> Program:
        """Divide what a study added to its lab into selected parts and other cells."""
        selected: list[StudyPart] = []
        unselected: list[StudyPart] = []
        cells_first = sorted(lab.parts, key=lambda part: not part.table)
        for part in cells_first:
            if not self.only or any(part.matches(pattern) for pattern in self.only):
                selected.append(part)
            elif part.table:
                unselected.append(part)
        return Program(study, lab, selected, unselected)


def _no_match(cells: Sequence[StudyPart]) -> ConfigurationError:
    """The error that no cell matches, with the names of the rows and columns that there are."""
    rows = dict.fromkeys(cell.names[0][0] for cell in cells)
    columns = dict.fromkeys(cell.names[1][0] for cell in cells)
    return ConfigurationError(
        f"[[only]]: no cell matches; give a row's or column's label, or ROW:COLUMN, with "
        f"wildcards. Rows: {'; '.join(rows)}. Columns: {', '.join(columns)}"
    )


@dataclass(frozen=True)
class Plan:
    """The cells and figures to measure, and what unfinished steps read from outside."""

    parts: Sequence[StudyPart]
    inputs: Mapping[Work, Sequence[Input]]  # of steps that are not finished

    def missing(self) -> list[str]:
        """Return the files that are not there, each once."""
        paths: dict[str, None] = {}
        for inputs in self.inputs.values():
            paths |= {read.path: None for read in inputs if not read.there}
        return list(paths)

    def require_measurable(self) -> None:
        """Refuse studies of which no cell can be measured, and say why.

        Raises:
            ConfigurationError: Every cell lacks a file or is unavailable.
        """
        if all(part.missing or part.unavailable for part in self.parts):
            reasons = {part.unavailable for part in self.parts}
            raise ConfigurationError(
                [*(f"not there: {path}" for path in self.missing()), *sorted(filter(None, reasons))],
                heading="nothing can be measured; `--dry-run` shows who reads what",
            )


def inspect_programs(
    programs: Sequence[Program], *, part: tuple[int, int] = (1, 1), check: bool = True
) -> Plan:
    """Ask every cell and figure what it needs, and check that; nothing is made.

    Args:
        programs: The programs.
        part: ``(k, n)``: keep the k-th of n parts of the encoders. Parts do not overlap, and all n together are
            everything, so n machines can share a study.
        check: Whether mistakes are raised; without, cells with mistakes are left out.

    Raises:
        ConfigurationError: Every mistake in recipes, tasks, settings, analyses and labels of the papers' tables.
    """
    problems: list[str] = []
    parts: list[StudyPart] = []
    for program in programs:
        program.lab.inputs, program.lab.problems = {}, []
        with program.lab.manifests_read_once():
            for cell in program.parts:
                try:
                    # Reading the names checks that the paper's table has such a row and column.
                    if cell.names:
                        cell.ask()
                except ConfigurationError as error:  # labels, or a step whose fields do not fit changed sizes
                    problems += [f"{program.study.name}: {text}" for text in error.problems]
                else:
                    parts.append(cell)
    works = dict.fromkeys(work for cell in parts for work in cell.steps)
    # Reading the inputs of a step checks its fields, too: the mistakes gather in the labs.
    inputs = {work: work.lab.inputs_of(work) for work in works if not work.manifest}
    for lab in dict.fromkeys(program.lab for program in programs):
        problems += lab.problems
    for work in works:
        problems += _changed_inputs(work)
    if problems and check:
        raise ConfigurationError(list(dict.fromkeys(problems)), heading="nothing was run")
    # Encoders are dealt like cards: with n = 3 the first part has encoders 1, 4, 7, ...
    number_of = {encoder: i for i, encoder in enumerate(dict.fromkeys(cell.encoder for cell in parts))}
    k, n = part
    return Plan([cell for cell in parts if number_of[cell.encoder] % n == k - 1], inputs)


def _changed_inputs(work: Work) -> list[str]:
    """The mistakes of a finished step whose files from outside have other contents now; missing files are none."""
    problems = []
    for path, content in work.manifest.get("outside", {}).items():
        if Input.of(path).content not in ("", content):
            problems.append(
                f"{work.title} is done, with another {path} than there is now; give another [[out]], or delete "
                f"{work.folder} and what was made from it"
            )
    return problems
