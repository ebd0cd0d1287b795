"""Studies at one scale: their cells and figures, and what these read and lack."""

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
    unselected: Sequence[StudyPart] = ()  # cells that are written where they are known already

    @property
    def caption(self) -> str:
        """Which scale and variant it is, and what that runs on."""
        return f"{self.lab.setting.caption} {self.study.about.get(self.lab.scale, '')}".strip()

    @property
    def folder(self) -> Path:
        """Its folder, one for each scale and what was changed of it: none replaces another's tables."""
        name = self.study.name.replace("/", "_")
        return self.lab.root / "_".join(filter(None, (name, self.lab.setting.ending)))


@dataclass(frozen=True)
class Selection:
    """Studies, their scale and cells, in a form from which each process builds the same programs.

    ``changes`` replace sizes of the scale; a cell is taken if it :meth:`~StudyPart.matches` one pattern of ``only``.
    """

    studies: Sequence[str | Study]
    root: Path | str
    scale: str = "tiny"
    changes: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] = ()
    keep: bool = False

    def programs(self, progress: Reporter | None = None) -> list[Program]:
        """The studies' functions run on labs, one a paper."""
        labs: dict[int, Lab] = {}
        programs = []
        fields: dict[str, Any] = {name: getattr(self, name) for name in ("root", "scale", "changes", "keep")}
        for study in find_studies(self.studies):
            if (lab := labs.get(id(study.sizes))) is None:
                about: dict[str, Any] = {"variants": study.variants, "home": study.home}
                lab = Lab(study.sizes, progress=progress, **about, **fields)
                labs[id(study.sizes)] = lab
            lab.parts = []
            lab.size.read.clear()
            study.run(lab)
            parts: dict[bool, list[StudyPart]] = {True: [], False: []}
            for part in sorted(lab.parts, key=lambda part: not part.table):
                parts[not self.only or any(part.matches(pattern) for pattern in self.only)].append(part)
            unselected = [part for part in parts[False] if part.table]
            programs.append(Program(study, lab, parts[True], unselected))
        if not any(program.parts for program in programs) and self.only:
            cells = [part for program in programs for part in program.unselected]
            rows, columns = (dict.fromkeys(cell.names[i][0] for cell in cells) for i in (0, 1))
            raise ConfigurationError(
                f"[[only]]: no cell matches; give a row's or column's label, or ROW:COLUMN, with "
                f"wildcards. Rows: {'; '.join(rows)}. Columns: {', '.join(columns)}"
            )
        return programs


@dataclass(frozen=True)
class Plan:
    """The plan of studies: what they would do, read and lack."""

    parts: Sequence[StudyPart]
    inputs: Mapping[Work, Sequence[Input]]  # of steps that are not finished

    def missing(self) -> list[str]:
        """Files that are not there."""
        reads = (read for inputs in self.inputs.values() for read in inputs)
        return list(dict.fromkeys(read.path for read in reads if not read.there))

    def require_measurable(self) -> None:
        """Refuse studies of which nothing can be measured, with the reasons."""
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

    ``part`` is (k, n) of the encoders: parts do not overlap, and all n together are everything.

    Raises:
        ConfigurationError: every mistake in recipes, tasks, settings, analyses and labels of the papers' tables.
    """
    problems, parts = list[str](), list[StudyPart]()
    for program in programs:
        program.lab.inputs, program.lab.problems = {}, []
        with program.lab.one_look():
            for cell in program.parts:
                try:
                    if cell.names:  # the paper's table has such labels
                        cell.ask()
                except ConfigurationError as error:  # labels, or fields of a step by sizes that are changed
                    problems += [f"{program.study.name}: {text}" for text in error.problems]
                else:
                    parts.append(cell)
    inputs = {work: work.lab.reads(work) for cell in parts for work in cell.steps if not work.manifest}
    for lab in dict.fromkeys(program.lab for program in programs):
        problems += lab.problems
    for work in dict.fromkeys(work for cell in parts for work in cell.steps):
        for path, content in work.manifest.get("outside", {}).items():
            if Input.of(path).content not in ("", content):
                problems.append(
                    f"{work.title} is done, with another {path} than there is now; give another [[out]], or delete "
                    f"{work.folder} and what was made from it"
                )
    if problems and check:
        raise ConfigurationError(list(dict.fromkeys(problems)), heading="nothing was run")
    encoders = {encoder: i for i, encoder in enumerate(dict.fromkeys(cell.encoder for cell in parts))}
    k, n = part
    return Plan([cell for cell in parts if encoders[cell.encoder] % n == k - 1], inputs)
