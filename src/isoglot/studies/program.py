"""A study at one scale: its cells and calls, what they read, what is missing, and what is written of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from isoglot.checks import problems_of
from isoglot.errors import ConfigurationError
from isoglot.report.papers import PAPERS, paper_table
from isoglot.results import CELLS, FILE_NAME, Cell, Result, write_cells
from isoglot.runs.files import write_json, write_text
from isoglot.studies.calls import Call, Input, Value, leaves
from isoglot.studies.catalogue import Study
from isoglot.studies.engine import Store
from isoglot.studies.lab import Drawing, Lab, Place

if TYPE_CHECKING:
    from isoglot.report.table import Table

_QUANTITIES = {
    "sup": "_supervised",
    "zs": "_zero_shot",
    **dict.fromkeys(("delta", "DICT", "ALIGN"), "_delta"),
}
"""The last part of a column's label to the end of a metric's name in ``results.jsonl``."""


@dataclass(frozen=True)
class Program:
    """What a study measures at one scale."""

    study: Study
    lab: Lab
    places: Sequence[Place]
    drawings: Sequence[Drawing]
    # cells that were not asked for now, and are written where they are known already
    others: Sequence[Place] = ()

    def targets(self) -> list[Call]:
        """The calls whose results it wants."""
        values = [p.value for p in self.places if not p.value.unavailable]
        values += [v for d in self.drawings for v in leaves(d.content, Value) if not v.unavailable]
        drawn = [d.call for d in self.drawings if d.call is not None]
        return list(dict.fromkeys([*(call for value in values for call, _ in value.reads()), *drawn]))

    def caption(self) -> str:
        """Which scale and variant it is, and what that runs on."""
        return f"{self.lab.setting.told} {self.study.about.get(self.lab.scale, '')}".strip()

    def named(self, run: str) -> str:
        """A run's name in results: what was changed of the study's sizes stands after it."""
        changed = self.lab.setting.name
        return f"{run} ({changed})" if changed else run

    @property
    def folder(self) -> str:
        """The name of its folder, one for each scale and what was changed of it: none replaces another's tables."""
        return "_".join(filter(None, (self.study.name.replace("/", "_"), self.lab.setting.ending)))


def build_programs(
    studies: Sequence[Study], *, scale: str, changes: Mapping[str, Any], only: Sequence[str] = ()
) -> list[Program]:
    """Run the studies' functions on labs, one a paper.

    ``changes`` replace sizes of the scale; a cell is taken if one pattern of ``only`` matches it, see
    :func:`matches`.
    """
    labs: dict[int, Lab] = {}
    programs = []
    for study in studies:
        if (lab := labs.get(id(study.sizes))) is None:
            lab = Lab(study.sizes, scale=scale, changes=changes, variants=study.variants)
            labs[id(study.sizes)] = lab
        lab.places, lab.drawings = [], []
        try:
            study.run(lab)
        except ValidationError as error:  # of a step, by sizes that are changed
            raise ConfigurationError(problems_of(error), heading=f"{study.name} with these sizes:") from error
        parts: dict[bool, list[Place]] = {True: [], False: []}
        for place in lab.places:
            parts[not only or any(matches(place, text) for text in only)].append(place)
        programs.append(Program(study, lab, parts[True], [] if only else lab.drawings, parts[False]))
    if only and not any(program.places for program in programs):
        known = [place for program in programs for place in program.others]
        rows, columns = ({" / ".join(getattr(p, part)): 0 for p in known} for part in ("row", "column"))
        raise ConfigurationError(
            f"--only {' '.join(only)}: no cell matches; give a row's or column's label, or ROW:COLUMN, with wildcards. "
            f"Rows: {'; '.join(rows)}. Columns: {', '.join(columns)}"
        )
    return programs


def matches(place: Place, pattern: str) -> bool:
    """Whether a cell's row, column or both (``ROW:COLUMN``) match a pattern with wildcards."""
    row, column = " / ".join(place.row), ".".join(place.column)
    wanted_row, colon, wanted_column = pattern.partition(":")
    if colon:
        return fnmatchcase(row, wanted_row) and fnmatchcase(column, wanted_column)
    return any(fnmatchcase(text, pattern) for text in (row, column, *place.row, *place.column))


@dataclass(frozen=True)
class Inspection:
    """What studies would do."""

    targets: Sequence[Call]
    calls: Sequence[Call]  # that are not done, each after what it needs
    inputs: Mapping[Call, Sequence[Input]]
    blocked: Mapping[Call, str]  # call -> the first file that it, or what it needs, misses

    def missing(self) -> list[str]:
        """Files that are not there."""
        return list(dict.fromkeys(one.path for own in self.inputs.values() for one in own if not one.there))


def inspect_programs(
    programs: Sequence[Program], store: Store, *, part: tuple[int, int] = (1, 1), check: bool = True
) -> Inspection:
    """Look at every call that is not done; nothing is made.

    ``part`` is (k, n) of the encoders: parts do not overlap, and all n together are everything.

    Raises:
        ConfigurationError: every mistake in recipes, tasks, settings, analyses and labels of the papers' tables.
    """
    targets = _part(list(dict.fromkeys(call for p in programs for call in p.targets())), part)
    calls = store.missing(targets)
    inputs: dict[Call, Sequence[Input]] = {}
    blocked: dict[Call, str] = {}
    problems = _unknown_labels(programs) if check else []
    changed = _changed(targets, store) if check else {}
    for path, call in changed.items():
        problems.append(
            f"{call.told} is done, with another {path} than there is now; give another --out, or delete "
            f"{store.folder(call)} and what was made from it"
        )
    for call in calls:
        try:
            if check:
                store.resolved(call, assume=True).check()
            inputs[call] = call.step.files()
        except ConfigurationError as error:
            problems += [f"{call.told}: {problem}" for problem in error.problems]
            continue
        absent = [one.path for one in inputs[call] if not one.there]
        absent += [blocked[needed] for needed in call.needs if needed in blocked]
        if absent:
            blocked[call] = absent[0]
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)), heading="nothing was run")
    return Inspection(targets, calls, inputs, blocked)


def _unknown_labels(programs: Sequence[Program]) -> list[str]:
    """Cells whose labels single out no row or column of the paper's table that they name."""
    problems = []
    for program in programs:
        for place in program.places:
            if place.table.partition(":")[0] not in PAPERS:
                continue
            try:
                table = paper_table(place.table)
                table.row(*place.row)
                table.column(*place.column)
            except ConfigurationError as error:
                problems += [f"{program.study.name}: {problem}" for problem in error.problems]
    return problems


def _changed(targets: Sequence[Call], store: Store) -> dict[str, Call]:
    """Paths of outside that changed since a call read them, with the first such call."""
    found: dict[str, Call] = {}
    waiting, seen = list(targets), set[str]()
    while waiting:
        call = waiting.pop()
        if call.key not in seen:
            seen.add(call.key)
            waiting += call.needs
            read = (store.manifest(call) or {}).get("outside", {})
            changed = [path for path, held in read.items() if Input.of(path).content not in ("", held)]
            found |= dict.fromkeys(changed, call)
    return found


def write_program(program: Program, store: Store, blocked: Mapping[Call, str]) -> tuple[list[Table], Path]:
    """Write ``cells.jsonl``, ``results.jsonl``, ``table.txt`` and ``figures`` of a study from what there is so far."""
    from isoglot.report.compare import compare  # noqa: PLC0415 - loads scipy
    from isoglot.report.export import to_text  # noqa: PLC0415

    folder = store.root / program.folder
    cells = [_cell(program, place, store, blocked) for place in program.places]
    others = [_cell(program, place, store, {}) for place in program.others]
    cells += [cell for cell in others if cell.value is not None]
    write_cells(folder / CELLS, cells)
    tables = compare(cells)
    text = "\n".join(to_text(table) for table in tables) or f"{program.caption()}\n"
    write_text(folder / "table.txt", f"{program.study.title}\n\n{text}")
    lines = dict.fromkeys(f"{row.model_dump_json()}\n" for row in _results(program, store))
    if lines:
        write_text(folder / FILE_NAME, "".join(lines))
    else:
        (folder / FILE_NAME).unlink(missing_ok=True)
    for drawing in program.drawings:
        _draw(drawing, store, folder / "figures")
    return tables, folder


def _cell(program: Program, place: Place, store: Store, blocked: Mapping[Call, str]) -> Cell:
    value = place.value.known(store.value) if not place.value.unavailable else None
    setting = program.lab.setting
    lost = [blocked[call] for call, _ in place.value.reads() if call in blocked]
    reason = place.value.unavailable or (f"not there: {lost[0]}" if lost and value is None else "")
    return Cell(
        table=place.table, row=place.row, column=place.column, value=value, seed=place.seed,
        unavailable=reason or None, scale=program.lab.scale, note=place.note, about=program.caption(),
        setting=setting.name, sizes=setting.shown, paper_sizes=setting.paper,
    )  # fmt: skip


def _results(program: Program, store: Store) -> Iterator[Result]:
    """One row a cell of a task or analysis; a mean over languages or models has the language ``mean``.

    A number that is no result, such as a layer, has none.
    """
    for place in (*program.places, *program.others):
        reads, tolds = place.value.reads(), [leaf.told for leaf in place.value.leaves()]
        number = None if place.value.unavailable else place.value.known(store.value)
        if number is None or place.value.correlates:
            continue
        if any(told is not None and not told.task for told in tolds):
            continue
        manifests = [store.manifest(call) or {} for call, _ in reads]
        names = [
            told[1:] if told else name.rpartition("/")[::2]
            for (_, name), told in zip(reads, tolds, strict=True)
        ]
        rows = [
            row
            for (language, metric), manifest in zip(names, manifests, strict=True)
            for row in manifest.get("rows", [])
            if row["language"] == language and metric in ("", row["metric"])
        ]
        languages = sorted({language for language, _ in names})
        first = rows[0] if rows else {}
        quantity = _QUANTITIES.get(place.column[-1].rpartition(".")[2], "")
        yield Result(
            run=program.named(_run(reads[0][0], by_metric=bool(quantity))),
            task=first.get("task") or (tolds[0].task if tolds[0] else reads[0][0].step.kind),
            language=languages[0] if len(languages) == 1 else "mean",
            split=first.get("split", "test"),
            metric=(names[0][1] or first["metric"]) + quantity,
            value=number,
            seed=place.seed,
            examples=min((int(r["examples"]) for r in rows), default=0),
            checkpoint_hash=str(first.get("checkpoint_hash", "")) if len(reads) == 1 else "",
            recipe_hash=str(first.get("recipe_hash") or reads[0][0].key),
        )


def _run(call: Call, *, by_metric: bool) -> str:
    """A run's name, with how it was fine-tuned where neither the metric nor English says that."""
    settings = {"translate_train": "translate-train, no-cs", "code_switch": "translate-train, code-switched"}
    tuned = [getattr(needed.step, "train", {}).get("setting", "") for needed in call.needs]
    told = [settings[setting] for setting in tuned if setting in settings and not by_metric]
    return " / ".join([call.step.label or call.name, *told])


def _draw(drawing: Drawing, store: Store, folder: Path) -> None:
    """Copy a figure that is drawn, or write one of the values that are known."""
    if drawing.call is not None:
        for path in sorted((store.folder(drawing.call) / "figures").glob("*.json*")):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.name)
        return
    content = _filled(drawing.content, store)
    if all(inner for inner in content.values() if isinstance(inner, list)):
        write_json(folder / f"{drawing.name}.json", content)
    else:
        (folder / f"{drawing.name}.json").unlink(missing_ok=True)


def _filled(tree: Any, store: Store) -> Any:
    """A tree with numbers for its values; entries of lists in which one is not known are left out."""
    if isinstance(tree, Value):
        return None if tree.unavailable else tree.known(store.value)
    if isinstance(tree, Mapping):
        return {key: _filled(inner, store) for key, inner in tree.items()}
    if isinstance(tree, list | tuple):
        filled = [_filled(inner, store) for inner in tree]
        return [one for one in filled if not (isinstance(one, dict) and None in one.values())]
    return tree


def _part(targets: Sequence[Call], part: tuple[int, int]) -> list[Call]:
    """Every n-th encoder with all that is measured of it."""
    groups: dict[str, list[Call]] = {}
    for call in targets:
        tuned = next((needed for needed in call.needs if needed.step.kind == "finetune"), call)
        groups.setdefault(str(getattr(tuned.step, "checkpoint", tuned)), []).append(call)
    k, n = part
    return [call for number, calls in enumerate(groups.values()) if number % n == k - 1 for call in calls]
