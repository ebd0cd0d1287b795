"""Read the folders given to a report: results, training curves, figures, and what is known of each run."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import common_code
from isoglot.reports.curves import TRAINER_STATE, Curve, read_curves
from isoglot.reports.figure_files import ReportFigure, read_figure
from isoglot.reports.labels import RunLabels, labelled, made_by_row, with_recipes
from isoglot.reports.run_names import NamedRun, VariedRun, told_apart, varied_runs
from isoglot.reports.scores import Combination, row_labels, run_label
from isoglot.reports.viewer import AlignmentRecord, holds_alignments, read_alignments
from isoglot.results import rows as results
from isoglot.results.confusion import ENDING as CONFUSION_ENDING
from isoglot.results.confusion import Confusion
from isoglot.results.example_counts import ENDING, CountsFile
from isoglot.results.rows import Cell, Result
from isoglot.runs.files import read_json
from isoglot.runs.fingerprint import key_of
from isoglot.runs.folder import CHECKPOINT
from isoglot.runs.record import MANIFEST, RUN

Counted = TypeVar("Counted", CountsFile, Confusion)
_FIGURES = "figures"
_HASH = re.compile("[0-9a-f]{16}")
"""Of weights in a folder; of an encoder of the hub its name is recorded instead."""


@dataclass(frozen=True)
class RunInfo:
    """A run as its folder describes it."""

    name: str
    run: str = ""  # the run's own name, without the options by which evaluations of it differ
    encoder: str = ""  # the model that training started from; empty if not recorded
    encoder_hash: str = ""  # of its weights; empty for new ones, and those of the hub
    folder: str = ""
    seeds: tuple[int, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    results: int = 0  # rows of results

    @property
    def start(self) -> str:
        """The encoder with the first digits of its hash."""
        return f"{self.encoder} ({self.encoder_hash[:8]})" if self.encoder_hash else self.encoder


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
    cells: list[Cell] = field(default_factory=list)
    varied: dict[str, VariedRun] = field(default_factory=dict)  # runs of a sweep, by what the rows call them
    infos: dict[str, RunInfo] = field(default_factory=dict)
    curves: list[Curve] = field(default_factory=list)
    figures: list[ReportFigure] = field(default_factory=list)
    alignments: list[tuple[str, list[AlignmentRecord]]] = field(default_factory=list)
    # of predictions, and what their run is called where no row of results says so
    counts: list[tuple[CountsFile, str]] = field(default_factory=list)
    confusions: list[tuple[Confusion, str]] = field(default_factory=list)


def gather(
    paths: Sequence[str | Path],
    combinations: Sequence[Combination] = (),
    names: Mapping[str, str] | None = None,
    *,
    gold: Path | None = None,
) -> Material:
    """Read folders and files.

    A path may be ``LABEL=PATH``, which names its runs. Runs of one name with different recipes are distinguished by
    the values that differ, else by the folders that they came in. A folder is searched through: ``results.jsonl``,
    ``cells.jsonl``, run folders (``run.json`` or ``checkpoint-*``), counts and confusions beside predictions, and
    ``figures`` folders at any depth. A file is results, cells where it is called ``cells.jsonl``, or sentence pairs
    with word links, which ``gold`` links judge.

    Raises:
        InputError: a path is not there, holds nothing to report, or a file in it is wrong.
        ConfigurationError: a name for a run that is not there.
    """
    material, records, of_studies = Material(), list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    inputs = [labelled(path) for path in paths]
    labels, rows, cells = RunLabels(inputs), list[tuple[Result, Path]](), list[tuple[Cell, Path]]()
    curves, empty = list[_FoundCurve](), list[Path]()
    found_counts = list[tuple[CountsFile, Path]]()
    confusions = list[tuple[Confusion, Path]]()
    for path in _searched([path for _, path in inputs]):
        if not path.exists():
            raise InputError("run not found; name a run folder or a results.jsonl", path=path)
        if path.is_file() and holds_alignments(path):
            material.alignments.append((path.stem.replace("_", " "), read_alignments(path, gold)))
            continue
        lines = [path] if path.is_file() else sorted(path.rglob("*.jsonl"))
        tables = [file for file in lines if file.name == results.CELLS]
        files = [f for f in lines if f not in tables and (path.is_file() or f.name == results.FILE_NAME)]
        rows += [(row, file) for file in files for row in results.read(file)]
        cells += [(cell, file) for file in tables for cell in results.read_cells(file)]
        counts = sorted(path.rglob(f"*{ENDING}"))  # of a file nothing is below it
        found_counts += [(CountsFile.read(file), file) for file in counts]
        confused = sorted(path.rglob(f"*{CONFUSION_ENDING}"))
        confusions += [(Confusion.read(file), file) for file in confused]
        for file in sorted(path.rglob(results.RUNS)):
            runs = (read_json(file) or {}).get("runs")
            of_studies += [run for run in runs if isinstance(run, dict)] if isinstance(runs, list) else []
        trained = _curves(path, records)
        curves += trained
        if not (_take_figures(path, material) or files or tables or counts or confused or trained):
            empty.append(path)
    counted = found_counts or confusions
    nothing = not (rows or cells or curves or counted or material.figures or material.alignments)
    for path in empty:
        if nothing or not any(path.rglob(RUN)):  # a run of a few steps has no curve
            raise InputError(
                "no results.jsonl, cells.jsonl, training curves or figures in this folder; "
                "type `isoglot evaluate CHECKPOINT ... --out`, or name another folder",
                path=path,
            )
    if gold is not None and not material.alignments:
        raise ConfigurationError(
            "[[gold]] checks word links, but no input has any; add a file of `isoglot align --format jsonl`"
        )
    material.cells = labels.cells(cells)
    material.counts = _named_counts(found_counts, labels)
    material.confusions = _named_counts(confusions, labels)
    _name_runs(material, rows, curves, labels, records)
    _require_one_value(material.rows, [file for _, file in rows])
    if names:
        _rename(material, names)
        records = [{**r, "name": names.get(str(r.get("name")), r.get("name"))} for r in records]
    material.infos = _infos(material.rows, [*of_studies, *records], combinations)
    return material


def _searched(paths: Sequence[str | Path]) -> list[Path]:
    """The paths, each once, without those that another one's search takes up: a run read twice is not two seeds."""
    resolved = {Path(path).resolve(): Path(path) for path in paths}
    return [
        path
        for full, path in resolved.items()
        if not any(parent in resolved for parent in full.parents)
        or not (full.is_dir() or (full.is_file() and full.name in (results.FILE_NAME, results.CELLS)))
    ]


def _require_one_value(rows: Sequence[Result], files: Sequence[Path]) -> None:
    """Refuse two values of one figure without seeds: neither is a later measurement of the other."""
    first: dict[tuple[Any, ...], int] = {}
    for number, row in enumerate(rows):
        figure = (row.run, row.task, common_code(row.language), row.split, row.metric, row.settings)
        before = first.setdefault(figure, number) if row.seed is None else number
        if rows[before].value != row.value:
            lines = []
            for n in (before, number):  # records are counted among lines that are not blank
                text = files[n].read_bytes().split(b"\n")
                filled = [line for line, content in enumerate(text, 1) if content.strip()]
                lines.append(filled[files[:n].count(files[n])])
            raise InputError(
                f"{row.metric} of {row.run} on {row.task} {row.language} is {row.value:g}, but "
                f"{rows[before].value:g} in {files[before]}:{lines[0]}, and neither row has a seed; delete one, or "
                "give both their seeds",
                path=files[number],
                line=lines[1],
            )


def _rename(material: Material, names: Mapping[str, str]) -> None:
    """Call runs by other names, without their seeds."""
    runs = list(dict.fromkeys([*map(run_label, material.rows), *(curve.run for curve in material.curves)]))
    if unknown := [run for run in names if run not in runs]:
        raise ConfigurationError(
            f"[[rename]]: no results or curves of {', '.join(unknown)}; there are {', '.join(runs)}"
        )
    material.rows = [
        row.model_copy(update={"run": names[run_label(row)]}) if run_label(row) in names else row
        for row in material.rows
    ]
    material.curves = [replace(curve, run=names.get(curve.run, curve.run)) for curve in material.curves]


def _name_runs(
    material: Material,
    rows: Sequence[tuple[Result, Path]],
    curves: Sequence[_FoundCurve],
    labels: RunLabels,
    records: Sequence[Mapping[str, Any]],
) -> None:
    """Fill in rows and curves, under one name where they are of one run and under several where they are not."""
    labelled_rows = labels.rows(rows)
    curve_names = labels.names([(found.curve.run, found.folder) for found in curves])
    made = [made_by_row(row, file) for row, (_, file) in zip(labelled_rows, rows, strict=True)]
    recipes = {
        str(record["recipe_hash"]): record["values"]
        for record in records
        if record.get("recipe_hash") and "objectives" in (record.get("values") or {})
    }
    for name, found in zip(curve_names, curves, strict=True):
        record = found.record
        figure = ("training", found.curve.quantity)
        # Without values the folder stands for the recipe: what was trained in two folders is two runs.
        values = record.get("values")
        recipe = str(record.get("recipe_hash") or key_of(values)) if values else str(found.folder)
        if values:
            recipes[recipe] = values
        # The seeds of a run are one curve, and hashes cover seeds: so each curve has a seed of its own here.
        seed = record.get("seed", values.get("seed")) if values else None
        made.append(NamedRun(name, figure, found.folder, seed, recipe, record.get("changes") or {}))
    made = with_recipes(made, recipes)
    names = told_apart(made)
    material.varied = varied_runs(made[: len(rows)], names[: len(rows)])
    material.rows = [
        row if name == one.name else row.model_copy(update={"run": name})
        for row, one, name in zip(labelled_rows, made, names, strict=False)
    ]
    material.curves = [
        replace(found.curve, run=name) for found, name in zip(curves, names[len(rows) :], strict=True)
    ]


def _named_counts(found: Sequence[tuple[Counted, Path]], labels: RunLabels) -> list[tuple[Counted, str]]:
    """Counts of predictions with their runs' names, two for checkpoints that are called the same."""
    made = []
    for counts, file in found:
        about = counts.about
        figure = tuple(str(about.get(name)) for name in ("task", "language", "split", "options"))
        # PREDICTIONS/TASK/test-de.counts.safetensors: the folder of predictions is one model's.
        made.append(
            NamedRun(
                labels.of(file) or str(about.get("run")),
                figure,
                file.parent.parent,
                about.get("seed"),
                str(about.get("recipe_hash") or ""),
                about.get("changes") or {},
                checkpoint=str(about.get("checkpoint_hash") or ""),
            )
        )
    return [(counts, name) for (counts, _), name in zip(found, told_apart(made), strict=True)]


def _curves(root: Path, records: list[Mapping[str, Any]]) -> list[_FoundCurve]:
    """The curves of the runs below a folder, each with the run's own name; what the runs record is taken up."""
    curves: list[_FoundCurve] = []
    states = [path.parent for path in root.rglob(TRAINER_STATE)]
    trained = {folder.parent if folder.name.startswith("checkpoint-") else folder for folder in states}
    for folder in sorted({path.parent for path in root.rglob(RUN)} | trained):
        record = (read_json(folder / RUN) or {}) | (read_json(folder / MANIFEST) or {})
        # A page travels: no paths of this machine.
        relative = (Path(root.resolve().name) / folder.relative_to(root)).as_posix()
        name = str(record.get("name") or folder.name)
        curves += [_FoundCurve(curve, folder, record) for curve in read_curves(folder, name)]
        records.append({**record, "folder": relative})
    return curves


def _take_figures(root: Path, material: Material) -> bool:
    """Take up the figures below a folder; whether there are any."""
    paths = [
        path
        for folder in sorted(root.rglob(_FIGURES))
        if folder.is_dir()
        for path in sorted(folder.iterdir())
    ]
    for path in paths:
        if path.suffix == ".json":
            material.figures.append(read_figure(path))
        elif path.suffix == ".jsonl":
            title = re.sub(r"^\d+[-_ ]+", "", path.stem).replace("_", " ")
            material.alignments.append((title, read_alignments(path)))
    return any(path.suffix in (".json", ".jsonl") for path in paths)


def _infos(
    rows: Sequence[Result], records: Sequence[Mapping[str, Any]], combinations: Sequence[Combination]
) -> dict[str, RunInfo]:
    """What is known of each run, and of those that are shown as one together."""
    by_hash = {r["recipe_hash"]: r for r in records if r.get("recipe_hash")}
    by_name = {r["name"]: r for r in records if r.get("name")}
    grouped: dict[str, list[Result]] = {}
    for row, label in zip(rows, row_labels(rows), strict=True):
        grouped.setdefault(label, []).append(row)
    runs = {label: [label] for label in grouped}
    for combination in combinations:
        runs[combination.name] = [run for run in dict.fromkeys(combination.models.values()) if run in grouped]
    infos = {}
    for name, members in ((name, members) for name, members in runs.items() if members):
        member_records = []
        for member in members:
            hashed = (by_hash[row.recipe_hash] for row in grouped[member] if row.recipe_hash in by_hash)
            member_records.append(next(hashed, by_name.get(run_label(grouped[member][0]), {})))
        encoders = set(map(_encoder, member_records))
        hashes = {str(record.get("encoder") or "") for record in member_records}
        versions = member_records[0].get("versions")
        folders = (str(record["folder"]) for record in member_records if record.get("folder"))
        infos[name] = RunInfo(
            name=name,
            run=name if len(members) > 1 else run_label(grouped[members[0]][0]),
            encoder=encoders.pop() if len(encoders) == 1 else "",
            encoder_hash=min(hashes) if len(hashes) == 1 and _HASH.fullmatch(min(hashes)) else "",
            folder=", ".join(dict.fromkeys(folders)),
            seeds=tuple(sorted({r.seed for run in members for r in grouped[run] if r.seed is not None})),
            versions=versions if isinstance(versions, Mapping) else {},
            results=sum(len(grouped[member]) for member in members),
        )
    return infos


def _encoder(record: Mapping[str, Any]) -> str:
    """The model that the recipe starts from."""
    model = (record.get("values") or {}).get("model") or {}
    if not model.get("path"):
        return f"{model['architecture']} from scratch" if model.get("architecture") else ""
    path = Path(str(model["path"]))
    if not path.is_absolute():
        return str(model["path"])
    return path.parent.name if path.name == CHECKPOINT else path.name
