"""A study as YAML: what is made, trained and measured, and which cells of a paper's tables that fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from isoglot.errors import ConfigurationError
from isoglot.recipe.source import Document, did_you_mean, parse_value, read_document
from isoglot.studies.values import lay_over

__all__ = [
    "SCALES",
    "Correlation",
    "FigureEntry",
    "PanelEntry",
    "RowEntry",
    "Scale",
    "Setting",
    "Study",
    "TableEntry",
    "builtin_studies",
    "check_changes",
    "find_studies",
    "load_study",
    "scales_of",
    "studies_folder",
]

Scale = Literal["tiny", "small", "paper"]
SCALES: tuple[Scale, ...] = ("tiny", "small", "paper")
Setting = Literal["zero_shot", "supervised", "translate_train", "code_switch", "translate_train_all", "delta"]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class RowEntry(_Section):
    """A row of a paper's table and what is measured for it.

    Args:
        paper: the row's label, or attributes that only it has (``{label: Ours (250k), setting: zero-shot}``).
        system: which system; by default the row's attribute ``system``.
        setting: by default the row's attribute ``setting``, else the table's.
        values: of this row; the row's own attributes that are values of the study count too.
        unavailable: why it cannot be measured; its cells show the mark ``external``.
    """

    paper: str | dict[str, Any]
    system: str | None = None
    setting: Setting | None = None
    values: dict[str, Any] = {}
    unavailable: str = ""


class Correlation(_Section):
    """Spearman's ρ between an analysis and a task's measure, over systems and values (ALIGN-MLM, Fig. 3).

    Args:
        points: names and lists of values; ``system`` is one of the names. All combinations are points.
        x: an analysis.
        rows: the paper's row -> the task that is y.
        setting: of y.
        sign: y is multiplied by it: −1 to correlate with −Δ.
    """

    points: dict[str, list[Any]]
    x: str
    rows: dict[str, str]
    setting: Setting = "delta"
    sign: Literal[1, -1] = -1


class TableEntry(_Section):
    """A table of a paper.

    Args:
        paper: ``align_mlm:Table3``; see ``isoglot report papers``.
        note: printed below it.
        values: of all rows.
        rename: attribute (or ``system``, ``task``, ``metric``, ``language``) -> the paper's value -> the study's.
        rows: by default all rows of the paper, each told by its attributes.
        columns: ids of the paper's columns; by default all.
        setting: of rows and columns that name none.
        split: of the data that it is measured on; by default the task's.
        correlation: instead of rows: how correlations are computed.
    """

    paper: str
    note: str = ""
    values: dict[str, Any] = {}
    rename: dict[str, dict[str, Any]] = {}
    rows: list[RowEntry] | None = None
    columns: list[str] | None = None
    setting: Setting = "zero_shot"
    split: Literal["dev", "test"] | None = None
    correlation: Correlation | None = None


class PanelEntry(_Section):
    """A checkpoint in a figure: a panel, or a line.

    Args:
        system: which.
        label: its title.
        values: of the study, here.
    """

    system: str
    label: str
    values: dict[str, Any] = {}


class FigureEntry(_Section):
    """A figure of a paper, of the first seed.

    Args:
        paper: ``weam:Figure2``.
        type: ``map`` or ``layers``: what ``isoglot analyse`` calls it.
        panels: the checkpoints.
        values: of all panels and of the options.
        options: those of :class:`isoglot.analysis.analyse_map.MapRequest` or
            :class:`isoglot.analysis.analyse_links.LayersRequest`.
    """

    paper: str
    type: Literal["map", "layers"]
    panels: Annotated[list[PanelEntry], Field(min_length=1)]
    values: dict[str, Any] = {}
    options: dict[str, Any] = {}


class Study(_Section):
    """A study at one scale. Entries of data, systems, tasks and analyses are checked when a cell asks for them.

    Args:
        name: for headings.
        title: what it shows.
        scale: ``tiny``, ``small`` or ``paper``.
        about: what this scale runs on, printed with the tables.
        seeds: one run a seed of everything that depends on ``<seed>``.
        source: language that zero-shot transfer starts from.
        values: names and defaults of everything that varies, and of constants.
        told_by_language: values that the tag of the language tells: left out of the names of runs in results.
        data: name -> ``make:`` and its options.
        systems: name -> ``recipe:`` with ``set:``, or ``checkpoint:``.
        tasks: name -> ``task:`` with its data and fine-tuning.
        analyses: name -> ``type:`` and its options.
        tables: name -> table.
        figures: name -> figure.
    """

    name: str
    title: str = ""
    scale: Scale
    about: str = ""
    seeds: Annotated[list[int], Field(min_length=1)] = [1]
    source: str = "en"
    values: dict[str, Any] = {}
    told_by_language: list[str] = []
    data: dict[str, dict[str, Any]] = {}
    systems: dict[str, dict[str, Any]] = {}
    tasks: dict[str, dict[str, Any]] = {}
    analyses: dict[str, dict[str, Any]] = {}
    tables: dict[str, TableEntry] = {}
    figures: dict[str, FigureEntry] = {}

    @model_validator(mode="after")
    def _shows_something(self) -> Study:
        if not self.tables and not self.figures:
            raise ValueError(
                "tables and figures are empty; give one of a paper's: tables: {table2: {paper: weam:Table2}}"
            )
        return self

    @model_validator(mode="after")
    def _one_namespace(self) -> Study:
        names = [*self.values, *self.data, *self.systems, "seed", "system"]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(
                f"{', '.join(twice)}: given twice; values, data and systems share their names (<name>); "
                "seed and system are taken"
            )
        return self


def studies_folder() -> Path:
    """The folder of the studies that come with isoglot."""
    return Path(__file__).parent


def builtin_studies() -> dict[str, Path]:
    """Name (``align_mlm/table3``) to file; files that begin with ``_`` are there to be extended."""
    folder = studies_folder()
    found = [p for p in sorted(folder.rglob("*.yaml")) if not p.name.startswith("_")]
    return {p.relative_to(folder).with_suffix("").as_posix(): p for p in found}


def find_studies(names: Sequence[str | Path]) -> list[Path]:
    """Files of studies, by path or built-in name; a folder stands for all its studies.

    Raises:
        ConfigurationError: there is none.
    """
    found: list[Path] = []
    known = builtin_studies()
    for name in names:
        path, key = Path(name), Path(name).as_posix().removesuffix(".yaml").rstrip("/")
        if path.is_file():
            own = [path]
        elif key in known:
            own = [known[key]]
        else:
            folder = path if path.is_dir() else studies_folder() / key
            own = [p for p in sorted(folder.rglob("*.yaml")) if not p.name.startswith("_")]
        if not own:
            raise ConfigurationError(
                f"study {str(name)!r}: no such file and no built-in study of that name; {did_you_mean(key, known)} "
                "(`isoglot study --list` lists them)"
            )
        found += [p for p in own if p not in found]
    return found


def scales_of(path: Path) -> list[Scale]:
    """The scales that a study has, smallest first."""
    given = _read(path).values.get("scales") or {}
    return [scale for scale in SCALES if scale in given]


def load_study(path: Path, scale: str, overrides: Sequence[str] = ()) -> Study:
    """Read a study at one of its scales. Environment variables stay as they are written.

    The file is laid over the one that it ``extends``; then the section of the scale is laid over that, then the
    overrides.

    Args:
        path: of :func:`find_studies`.
        scale: one of :data:`SCALES`.
        overrides: ``values.steps=200`` and so on.

    Raises:
        ConfigurationError: its mistakes, or a scale that it has not.
        InputError: no YAML.
    """
    document = _read(path)
    values = dict(document.values)
    scales = values.pop("scales", None) or {}
    unknown = sorted(set(scales) - set(SCALES))
    if scale not in scales or unknown:
        given = f"scale {unknown[0]!r}" if unknown else f"--scale {scale}"
        raise ConfigurationError(
            f"{path}: {given} given; the study has {', '.join(s for s in SCALES if s in scales)}"
        )
    merged = lay_over(values, scales[scale] or {})
    for override in overrides:
        merged = lay_over(merged, _nested(override))
    try:
        return Study.model_validate({**merged, "scale": scale})
    except ValidationError as error:
        found = [_mistake(document, scale, e) for e in error.errors()]
        raise ConfigurationError(
            found, heading=f"study {path}: {len(found)} mistakes; nothing was run"
        ) from error


def check_changes(paths: Sequence[Path], scale: str, overrides: Sequence[str]) -> None:
    """Refuse ``values.NAME=...`` where no study has such a value: it would change nothing.

    Args:
        paths: of :func:`find_studies`; one of them having the value is enough.
        scale: one of :data:`SCALES`.
        overrides: as for :func:`load_study`.

    Raises:
        ConfigurationError: all names that no study has.
    """
    named = {name: text for text in overrides for name in (_nested(text).get("values") or {})}
    if not named:
        return
    known = sorted({name for path in paths for name in load_study(path, scale).values})
    problems = [
        f"--set {text}: no value is named {name!r}; {did_you_mean(name, known)}"
        for name, text in named.items()
        if name not in known
    ]
    if problems:
        raise ConfigurationError(problems)


def _read(path: Path) -> Document:
    """The document with its variables unexpanded: each scale needs others."""
    document = read_document(path, builtin=studies_folder(), variables=False)
    if document.problems:
        raise ConfigurationError(document.problems, heading=f"study {path}: nothing was run")
    for location, text in document.raw.items():
        target: Any = document.values
        for part in location[:-1]:
            target = target[part]
        target[location[-1]] = text
    return document


def _nested(override: str) -> dict[str, Any]:
    key, equals, text = override.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts):
        raise ConfigurationError(
            f"--set {override!r}: key=value is needed, for example --set values.steps=200"
        )
    value: Any = parse_value(text)
    for part in reversed(parts):
        value = {part: value}
    nested: dict[str, Any] = value
    return nested


def _mistake(document: Document, scale: str, error: Mapping[str, Any]) -> str:
    place = tuple(error["loc"])
    in_scale = ("scales", scale, *place)
    where = document.where(in_scale if in_scale in document.places else place)
    hint = ""
    if error["type"] == "extra_forbidden" and len(place) == 1:
        hint = f"; {did_you_mean(place[0], Study.model_fields)}"
    return f"{where}: {'.'.join(map(str, place))}: {error['msg']}{hint}"
