"""Read the folders given to a report: results, training curves, figures, and what is known of each run.

``gather`` is the way in. It searches the inputs (``_search``), then gives runs their names (``_name_runs``), and
collects what is known of each run (``run_infos``).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import common_code
from isoglot.reports.curves import TRAINER_STATE, Curve, read_curves
from isoglot.reports.figure_files import ReportFigure, read_figure
from isoglot.reports.labels import RunLabels, entry_of_row, labelled, with_recipes, with_run_names
from isoglot.reports.run_infos import RunInfo, run_infos
from isoglot.reports.run_names import RunEntry, VariedRun, told_apart, varied_runs
from isoglot.reports.scores import Combination, run_label
from isoglot.reports.viewer import AlignmentRecord, holds_alignments, read_alignments
from isoglot.results import rows as results
from isoglot.results.confusion import ENDING as CONFUSION_ENDING
from isoglot.results.confusion import Confusion
from isoglot.results.example_counts import ENDING, CountsFile
from isoglot.results.rows import Cell, Result, name_without_seed
from isoglot.runs.files import read_json
from isoglot.runs.fingerprint import key_of
from isoglot.runs.record import MANIFEST, RUN

Counted = TypeVar("Counted", CountsFile, Confusion)
_FIGURES = "figures"


@dataclass(frozen=True)
class _FoundCurve:
    """A training curve, the folder of its run, and what the run records of itself."""

    curve: Curve
    folder: Path
    record: Mapping[str, Any]


@dataclass
class Material:
    """All that a report is made from."""

    rows: list[Result] = field(default_factory=list)
    # Places in `rows` of the rows in a study's folder; the cells of the study hold the same numbers.
    rows_of_studies: set[int] = field(default_factory=set)
    cells: list[Cell] = field(default_factory=list)
    varied: dict[str, VariedRun] = field(default_factory=dict)  # runs of a sweep, by their names in the rows
    infos: dict[str, RunInfo] = field(default_factory=dict)
    curves: list[Curve] = field(default_factory=list)
    figures: list[ReportFigure] = field(default_factory=list)
    alignments: list[tuple[str, list[AlignmentRecord]]] = field(default_factory=list)
    # Counts of predictions, each with its run's name for the case that no row of results names the run.
    counts: list[tuple[CountsFile, str]] = field(default_factory=list)
    confusions: list[tuple[Confusion, str]] = field(default_factory=list)


def gather(
    paths: Sequence[str | Path],
    combinations: Sequence[Combination] = (),
    *,
    rename: Mapping[str, str] | None = None,
    gold: Path | None = None,
) -> Material:
    """Read folders and files.

    1. A folder is searched at any depth for ``results.jsonl``, ``cells.jsonl``, folders of runs (``run.json`` or
       ``checkpoint-*``), counts and confusions beside predictions, and ``figures`` folders.
    2. A file is cells if it is called ``cells.jsonl``, sentence pairs if its lines have word links, else results.
    3. Runs of one name with different recipes get the values that differ as an ending, else their folders
       (:mod:`isoglot.reports.run_names`).

    Args:
        paths: Folders and files; ``LABEL=PATH`` names the runs of a path.
        combinations: Bilingual models that are shown as one row.
        rename: Name of a run -> the name that the report calls the run by.
        gold: File of gold links, which judge the word links of the files of sentence pairs.

    Raises:
        InputError: A path does not exist, holds nothing to report, or a file in it is wrong.
        ConfigurationError: ``rename`` names a run that does not exist, or there are no word links for ``gold``.
    """
    inputs = [labelled(path) for path in paths]
    found = _search([path for _, path in inputs], gold)
    # Word links in a run's `figures` folder have gold links of their own, if any: `gold` judges input files alone.
    if gold is not None and not any(_is_file_of_links(path) for _, path in inputs):
        raise ConfigurationError(
            "[[gold]] checks word links, but no input has any; add a file of `isoglot align --format jsonl`"
        )
    labels = RunLabels(inputs)
    material = found.material
    material.cells = labels.cells(found.cells)
    material.counts = _named_counts(found.counts, labels)
    material.confusions = _named_counts(found.confusions, labels)
    study_folders = {file.parent for _, file in found.cells}
    for place, (_, file) in enumerate(found.rows):
        if not study_folders.isdisjoint(file.parents):
            material.rows_of_studies.add(place)
    _name_runs(material, found, labels)
    _require_one_value(material.rows, [file for _, file in found.rows])
    records = found.run_records
    if rename:
        _rename(material, rename)
        records = [{**r, "name": rename.get(str(r.get("name")), r.get("name"))} for r in records]
    material.infos = run_infos(material.rows, [*found.study_records, *records], combinations)
    return material


@dataclass
class _Found:
    """Everything that the inputs hold, with the files it was read from, before runs are named."""

    material: Material = field(default_factory=Material)  # figures and alignments, which belong to no run
    rows: list[tuple[Result, Path]] = field(default_factory=list)
    cells: list[tuple[Cell, Path]] = field(default_factory=list)
    curves: list[_FoundCurve] = field(default_factory=list)
    counts: list[tuple[CountsFile, Path]] = field(default_factory=list)
    confusions: list[tuple[Confusion, Path]] = field(default_factory=list)
    # What runs record of themselves: in their own folders, and in the lists of runs that studies keep.
    run_records: list[Mapping[str, Any]] = field(default_factory=list)
    study_records: list[Mapping[str, Any]] = field(default_factory=list)

    def is_empty(self) -> bool:
        """Whether there is nothing to report."""
        contents = (self.rows, self.cells, self.curves, self.counts, self.confusions)
        return not (any(contents) or self.material.figures or self.material.alignments)


def _search(paths: Sequence[Path], gold: Path | None) -> _Found:
    """Read every input; refuse one that is missing, or that holds nothing."""
    found = _Found()
    empty: list[Path] = []
    for path in _without_overlaps(paths):
        if not path.exists():
            raise InputError("run not found; name a run folder or a results.jsonl", path=path)
        if _is_file_of_links(path):
            title = path.stem.replace("_", " ")
            found.material.alignments.append((title, read_alignments(path, gold)))
            continue
        # A file that is named is results whatever it is called, unless it is cells; in a folder only results.jsonl is.
        files = [path] if path.is_file() else sorted(path.rglob("*.jsonl"))
        cell_files = [file for file in files if file.name == results.CELLS]
        row_files = [file for file in files if path.is_file() or file.name == results.FILE_NAME]
        row_files = [file for file in row_files if file not in cell_files]
        found.rows += [(row, file) for file in row_files for row in results.read(file)]
        found.cells += [(cell, file) for file in cell_files for cell in results.read_cells(file)]
        # Below a file nothing is found.
        count_files = sorted(path.rglob(f"*{ENDING}"))
        found.counts += [(CountsFile.read(file), file) for file in count_files]
        confusion_files = sorted(path.rglob(f"*{CONFUSION_ENDING}"))
        found.confusions += [(Confusion.read(file), file) for file in confusion_files]
        for file in sorted(path.rglob(results.RUNS)):
            runs = (read_json(file) or {}).get("runs")
            if isinstance(runs, list):
                found.study_records += [run for run in runs if isinstance(run, dict)]
        curves = _curves(path, found.run_records)
        found.curves += curves
        has_figures = _take_figures(path, found.material)
        if not (has_figures or row_files or cell_files or count_files or confusion_files or curves):
            empty.append(path)
    nothing_at_all = found.is_empty()
    for path in empty:
        # A run of a few steps has no curve: beside other inputs it may stay.
        if nothing_at_all or not any(path.rglob(RUN)):
            raise InputError(
                "no results.jsonl, cells.jsonl, training curves or figures in this folder; "
                "type `isoglot evaluate CHECKPOINT ... --out`, or name another folder",
                path=path,
            )
    return found


def _is_file_of_links(path: Path) -> bool:
    """Whether an input is a file of sentence pairs with word links; otherwise it is results, cells or a folder."""
    return path.is_file() and holds_alignments(path)


def _without_overlaps(paths: Sequence[Path]) -> list[Path]:
    """Return the paths, each once, without those that are read with another one: a run read twice is not two seeds.

    Of ``runs`` and ``runs/a`` only ``runs`` is read. A file in ``runs`` under a name that a search does not look for,
    such as ``other.jsonl``, stays.
    """
    resolved = {path.resolve(): path for path in paths}
    kept = []
    for full, path in resolved.items():
        is_below_another = any(parent in resolved for parent in full.parents)
        is_found_by_search = full.is_dir() or (
            full.is_file() and full.name in (results.FILE_NAME, results.CELLS)
        )
        if not (is_below_another and is_found_by_search):
            kept.append(path)
    return kept


def _require_one_value(rows: Sequence[Result], files: Sequence[Path]) -> None:
    """Refuse two rows without seeds that measured the same thing and have different values.

    With a seed the last row counts, because a run may be measured again. Without one, the rows may be of two seeds.

    ``files``: The file of each row.
    """
    first: dict[tuple[Any, ...], int] = {}
    for number, row in enumerate(rows):
        if row.seed is not None:
            continue
        measured = (row.run, row.task, common_code(row.language), row.split, row.metric, row.settings)
        before = first.setdefault(measured, number)
        if rows[before].value != row.value:
            earlier, later = _line_of(before, files), _line_of(number, files)
            raise InputError(
                f"{row.metric} of {row.run} on {row.task} {row.language} is {row.value:g}, but "
                f"{rows[before].value:g} in {files[before]}:{earlier}, and neither row has a seed; delete one, or "
                "give both their seeds",
                path=files[number],
                line=later,
            )


def _line_of(number: int, files: Sequence[Path]) -> int:
    """Return the line of a row in its file; rows are counted among the lines that are not blank."""
    text = files[number].read_bytes().split(b"\n")
    filled = [line for line, content in enumerate(text, 1) if content.strip()]
    rows_before = files[:number].count(files[number])
    return filled[rows_before]


def _rename(material: Material, rename: Mapping[str, str]) -> None:
    """Call runs by other names.

    ``rename``: Name of a run, without its seed -> the new name.
    """
    runs_with_rows = [run_label(row) for row in material.rows]
    runs_with_curves = [curve.run for curve in material.curves]
    runs_with_counts = [name for _, name in (*material.counts, *material.confusions)]
    runs = list(dict.fromkeys([*runs_with_rows, *runs_with_curves, *runs_with_counts]))
    if unknown := [run for run in rename if run not in runs]:
        raise ConfigurationError(
            f"[[rename]]: no results or curves of {', '.join(unknown)}; there are {', '.join(runs)}"
        )
    renamed = []
    for row in material.rows:
        name = rename.get(run_label(row))
        renamed.append(row if name is None else row.model_copy(update={"run": name}))
    material.rows = renamed
    new_names = [rename.get(run, run) for run in runs]
    varied = {}
    for label, run in material.varied.items():
        new_label = rename.get(label, label)
        # Two runs that now share a name are one run, which has no single value of what was varied.
        if new_names.count(new_label) <= 1:
            varied[new_label] = replace(run, label=new_label)
    material.varied = varied
    material.curves = [replace(curve, run=rename.get(curve.run, curve.run)) for curve in material.curves]
    material.counts = [(counts, rename.get(run, run)) for counts, run in material.counts]
    material.confusions = [(confusion, rename.get(run, run)) for confusion, run in material.confusions]


def _name_runs(material: Material, found: _Found, labels: RunLabels) -> None:
    """Fill in rows and curves with the names of their runs: one run has one name, and two runs have two.

    1. Labels that the user gave come first.
    2. Rows and curves are then compared together: where one name stands for several runs, it gets endings.
    """
    rows = labels.rows(found.rows)  # 1
    curve_names = labels.names([(curve.curve.run, curve.folder) for curve in found.curves])
    recipes = {}
    for record in found.run_records:
        # Only the record of a training holds a whole recipe; values without objectives are not one.
        if record.get("recipe_hash") and "objectives" in (record.get("values") or {}):
            recipes[str(record["recipe_hash"])] = record["values"]
    entries = [entry_of_row(row, file) for row, (_, file) in zip(rows, found.rows, strict=True)]
    for name, found_curve in zip(curve_names, found.curves, strict=True):
        record = found_curve.record
        measured = ("training", found_curve.curve.quantity)
        values = record.get("values")
        if values:
            recipe = str(record.get("recipe_hash") or key_of(values))
            recipes[recipe] = values
            # Seeds of one run become one curve. Their recipe hashes differ, because a hash covers the seed, and
            # `told_apart` compares hashes within one seed only: so each curve must say its seed.
            seed = record.get("seed", values.get("seed"))
        else:
            # Without values the folder stands for the recipe: trainings in two folders are two runs.
            recipe, seed = str(found_curve.folder), None
        changes = record.get("changes") or {}
        entries.append(RunEntry(name, measured, found_curve.folder, seed, recipe, changes))
    entries = with_recipes(entries, recipes)
    names = told_apart(entries)  # 2
    # The entries of rows stand first, those of curves after them.
    count = len(rows)
    material.varied = varied_runs(entries[:count], names[:count])
    material.rows = with_run_names(rows, names[:count])
    for found_curve, name in zip(found.curves, names[count:], strict=True):
        material.curves.append(replace(found_curve.curve, run=name))


def _named_counts(found: Sequence[tuple[Counted, Path]], labels: RunLabels) -> list[tuple[Counted, str]]:
    """Give counts of predictions the names of their runs, as :func:`_name_runs` does for rows and curves.

    ``tlm-seed1`` and ``tlm-seed2`` are both ``tlm``; two checkpoints of one name and seed get two names.
    """
    own_names = []
    for counts, file in found:
        run_name = name_without_seed(str(counts.about.get("run")), counts.about.get("seed"))
        own_names.append((run_name, file))
    entries = []
    for (counts, file), name in zip(found, labels.names(own_names), strict=True):
        about = counts.about
        measured = tuple(str(about.get(key)) for key in ("task", "language", "split", "options"))
        entry = RunEntry(
            name=name,
            measured=measured,
            # PREDICTIONS/TASK/test-de.counts.safetensors: the folder of predictions belongs to one model.
            place=file.parent.parent,
            seed=about.get("seed"),
            recipe_hash=str(about.get("recipe_hash") or ""),
            values=about.get("changes") or {},
            checkpoint=str(about.get("checkpoint_hash") or ""),
        )
        entries.append(entry)
    return [(counts, name) for (counts, _), name in zip(found, told_apart(entries), strict=True)]


def _curves(root: Path, records: list[Mapping[str, Any]]) -> list[_FoundCurve]:
    """Read the curves of the runs below a folder, each under the run's own name, and add the runs' records.

    ``records``: Receives what each run records of itself, with the run's folder below ``root``.
    """
    curves: list[_FoundCurve] = []
    trained: set[Path] = set()
    for state in root.rglob(TRAINER_STATE):
        folder = state.parent
        # The run is the folder that holds the checkpoint, unless the checkpoint alone was given.
        is_checkpoint_of_run = folder != root and folder.name.startswith("checkpoint-")
        trained.add(folder.parent if is_checkpoint_of_run else folder)
    for folder in sorted({path.parent for path in root.rglob(RUN)} | trained):
        record = (read_json(folder / RUN) or {}) | (read_json(folder / MANIFEST) or {})
        # A page travels: no paths of this machine.
        relative = (Path(root.resolve().name) / folder.relative_to(root)).as_posix()
        name = str(record.get("name") or folder.name)
        curves += [_FoundCurve(curve, folder, record) for curve in read_curves(folder, name)]
        records.append({**record, "folder": relative})
    return curves


def _take_figures(root: Path, material: Material) -> bool:
    """Read the figures and word alignments in the ``figures`` folders below a folder; return whether there are any."""
    paths: list[Path] = []
    for folder in sorted(root.rglob(_FIGURES)):
        if folder.is_dir():
            paths += sorted(folder.iterdir())
    for path in paths:
        if path.suffix == ".json":
            material.figures.append(read_figure(path))
        elif path.suffix == ".jsonl":
            # The number in front orders the files: `02_de-en.jsonl` is called "de-en".
            title = re.sub(r"^\d+[-_ ]+", "", path.stem).replace("_", " ")
            material.alignments.append((title, read_alignments(path)))
    return any(path.suffix in (".json", ".jsonl") for path in paths)
