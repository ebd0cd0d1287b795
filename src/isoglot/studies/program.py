"""Programs of studies, and the plan: which cells and figures are measured, and which files their steps need.

Selection (names, scale, sizes) ─> Programs (cells and figures) ─> Plan (every cell asked, nothing made)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.runs.reporter import Reporter
from isoglot.studies.catalogue import Study, find_studies
from isoglot.studies.inputs import Input
from isoglot.studies.lab import Lab
from isoglot.studies.parts import LabNotes, StudyPart, Work


@dataclass(frozen=True, eq=False)
class Program:
    """A study at one scale: its cells and figures."""

    study: Study
    lab: Lab
    parts: Sequence[StudyPart]  # the selected cells, then the selected figures
    # Cells that `--only` leaves out: no steps are made for them, but their numbers are written where they are known.
    # Figures that it leaves out are nowhere.
    unselected: Sequence[StudyPart] = ()

    @property
    def caption(self) -> str:
        """The scale and variant, and the sentence of the study's file about the scale (``ABOUT``)."""
        return f"{self.lab.setting.caption} {self.study.about.get(self.lab.scale, '')}".strip()

    @property
    def folder(self) -> Path:
        """The folder of the tables: ``ROOT/weam_table1``, or ``ROOT/weam_table1_small_steps=200`` for another setting.

        Each setting has a folder of its own, so that no setting overwrites the tables of another one.
        """
        name = self.study.name.replace("/", "_")
        return self.lab.root / "_".join(filter(None, (name, self.lab.setting.ending)))


@dataclass(frozen=True)
class Selection:
    """Which studies are made, at which scale, and which of their cells.

    A selection can be sent to another process, which builds the same programs from it, with the same parts in the same
    order: the processes name parts to each other by number. So what is selected must depend on the fields below alone,
    and never on which steps are finished: that changes while the processes work.

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
            ConfigurationError: An unknown study or size, a step that no cell asks for, or no cell matches ``only``.
        """
        # Studies of one file share the file's object SIZES, and by its identity they share a lab. A step that several
        # of them ask for is then found once.
        labs: dict[int, Lab] = {}
        programs = []
        for study in find_studies(self.studies):
            lab = labs.get(id(study.sizes))
            if lab is None:
                lab = self._lab_for(study, progress)
                labs[id(study.sizes)] = lab
            # The lab may have served an earlier study. To empty it loses nothing: the program of that study holds the
            # parts, and each part has a copy of the sizes that were read for it.
            lab.parts, lab.notes = [], LabNotes()
            lab.size.read.clear()
            study.run(lab)
            _require_no_steps(study, lab)
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
        cells_first = sorted(lab.parts, key=lambda part: not part.is_cell)
        for part in cells_first:
            if not self.only or any(part.matches(pattern) for pattern in self.only):
                selected.append(part)
            elif part.is_cell:
                unselected.append(part)
        return Program(study, lab, selected, unselected)


def _require_no_steps(study: Study, lab: Lab) -> None:
    """Refuse a study whose function asked for steps itself: no cell would need them, so they would never be made."""
    if lab.notes.steps:
        first = next(iter(lab.notes.steps))
        raise ConfigurationError(
            f"{study.name}: asks for the step {first.title!r} outside of its cells; ask for steps inside the function "
            "that is given to `lab.cell` or `lab.figure`"
        )


def _no_match(cells: Sequence[StudyPart]) -> ConfigurationError:
    """Return the error that no cell matches; it lists the names of all rows and columns."""
    names = [cell.names if cell.has_place else cell.names_in_study for cell in cells]
    rows = dict.fromkeys(row_names[0] for row_names, _ in names)
    columns = dict.fromkeys(column_names[0] for _, column_names in names)
    return ConfigurationError(
        f"[[only]]: no cell matches; give a row's or column's label, or ROW:COLUMN, with "
        f"wildcards. Rows: {'; '.join(rows)}. Columns: {', '.join(columns)}"
    )


@dataclass(frozen=True)
class Plan:
    """The cells and figures to measure, and the inputs from outside of their unfinished steps."""

    parts: Sequence[StudyPart]
    inputs: Mapping[Work, Sequence[Input]]  # by unfinished step
    encoder_count: int  # of all encoders of the study, also those that another machine measures

    def missing(self) -> list[str]:
        """Return the paths of the inputs that are not there, each once."""
        paths: dict[str, None] = {}
        for inputs in self.inputs.values():
            for entry in inputs:
                if not entry.there:
                    paths[entry.path] = None
        return list(paths)

    def require_measurable(self) -> None:
        """Refuse a plan in which no cell can be measured, and say why.

        Raises:
            ConfigurationError: Every cell lacks a file or is unavailable, the part of the encoders is empty, or the
                studies have neither cells nor figures.
        """
        if not self.parts and self.encoder_count:
            raise ConfigurationError(
                f"[[only]]: this part has no encoder, because there are only {self.encoder_count}; divide them into "
                "fewer parts"
            )
        if not self.parts:
            raise ConfigurationError("no cell and no figure; add them with `lab.cell` and `lab.figure`")
        if all(part.missing or part.unavailable for part in self.parts):
            reasons = {part.unavailable for part in self.parts}
            raise ConfigurationError(
                [*(f"not there: {path}" for path in self.missing()), *sorted(filter(None, reasons))],
                heading="nothing can be measured; `--dry-run` shows who reads what",
            )


def inspect_programs(
    programs: Sequence[Program], *, part_of_encoders: tuple[int, int] = (1, 1), check: bool = True
) -> Plan:
    """Ask every cell and figure which steps it needs, and check these steps; nothing is made.

    Args:
        programs: The programs.
        part_of_encoders: ``(2, 8)`` keeps the cells of the second of eight parts of the encoders. The eight parts do
            not overlap and cover all encoders, so eight machines can share a study.
        check: Whether mistakes are raised. Without it, cells that cannot be asked are left out, and all other mistakes
            are ignored.

    Raises:
        ConfigurationError: Every mistake in recipes, tasks, settings, analyses and labels of the papers' tables.
    """
    problems: list[str] = []
    parts: list[StudyPart] = []
    # The studies of one file share a lab.
    for lab in dict.fromkeys(program.lab for program in programs):
        lab.inputs, lab.problems = {}, []
    for program in programs:
        with program.lab.manifests_read_once():
            for part in program.parts:
                try:
                    # To look the names up checks that the paper's table has such a row and column.
                    _ = part.names
                    part.ask()
                except ConfigurationError as error:
                    # Wrong labels, or a step whose fields do not fit changed sizes.
                    problems += [f"{program.study.name}: {text}" for text in error.problems]
                except IsoglotError as error:
                    # A fact that the finished step did not record.
                    problems.append(f"{program.study.name}: {error}")
                else:
                    parts.append(part)
    works = dict.fromkeys(work for part in parts for work in part.steps)
    # To list the inputs of a step checks the fields of the step too: the labs collect the mistakes.
    inputs = {work: work.lab.inputs_of(work) for work in works if not work.manifest}
    for lab in dict.fromkeys(program.lab for program in programs):
        problems += lab.problems
    for work in works:
        problems += _changed_inputs(work)
    if problems and check:
        raise ConfigurationError(list(dict.fromkeys(problems)), heading="nothing was run")
    # Encoders are dealt like cards: of three parts the first one has the encoders 1, 4, 7, ...
    number, count = part_of_encoders
    distinct_encoders = dict.fromkeys(part.encoder for part in parts)
    kept_encoders = set(list(distinct_encoders)[number - 1 :: count])
    kept_parts = [part for part in parts if part.encoder in kept_encoders]
    kept_works = {work for part in kept_parts for work in part.steps}
    kept_inputs = {work: entries for work, entries in inputs.items() if work in kept_works}
    return Plan(kept_parts, kept_inputs, len(distinct_encoders))


def _changed_inputs(work: Work) -> list[str]:
    """Return a mistake for each input of a finished step that has another content now.

    An input that was deleted since is no mistake: the step is done and does not need it.
    """
    problems = []
    for path, recorded_content in work.manifest.get("outside", {}).items():
        content_now = Input.of(path).content
        if content_now not in ("", recorded_content):
            problems.append(
                f"{work.title} is done, with another {path} than there is now; give another [[out]], or delete "
                f"{work.folder} and what was made from it"
            )
    return problems
