"""Which line of a paper's table a run stands beside, told from the run's name and the language that was tested.

A run is called by its system, with what sets it apart from the paper's main setting behind it: ``xlm``,
``xlm parallel=0.1``, ``ppa 600k translate-train``, ``align_mlm dictionary=50%``, ``xlm_align filtering=union``,
``xlmr_base ot``; ``dictionary 0.5`` is ``dictionary=0.5``. What a name does not say is the main setting of the paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from isoglot.report.papers import PaperColumn, PaperRow, PaperTable, PaperValue, paper_tables
from isoglot.report.scores import Measure, common_task

__all__ = ["PaperLine", "Placement", "find_line", "in_order", "paper_lines", "placement", "transformation"]

_DEFAULTS: Mapping[str, Any] = {
    "setting": "zero-shot", "code_switch": True, "pairs": "250k", "dictionary": 0.25, "overlap": 0.0,
    "self_label_layer": 10, "dwa_layer": 12, "filtering": "itermax", "query": "masked",
    "aligner": "simalign_itermax", "layer": 8,
}  # fmt: skip
"""Main settings of the papers; ``parallel`` is 25 % for XLM and nothing for the others."""
_KEYS = frozenset([*_DEFAULTS, "parallel", "transformation"])
_TELLING = frozenset(["pairs"])
"""Keys that a run's name has to give before figures may be subtracted: no main setting is known."""
_LOOSE = _TELLING | {"code_switch", "layer"}
"""Keys that do not count in lines that do not say them."""
_ALIGNERS = frozenset(["fast_align", "eflomal"])
_BESIDES = frozenset(["system", "source", "runs", "model", "transformation", "task"])
"""Attributes of rows that do not tell lines apart."""

_ALIASES: Mapping[str, tuple[tuple[str, Mapping[str, Any]], ...]] = {
    "bert_base_multilingual_cased": (("mbert", {}),),
    "xlm_roberta_base": (("xlmr_base", {}),),
    "xlmr": (("xlmr_base", {}),),
    "xlm_r": (("xlmr_base", {}),),
    "word_l2": (("cao2020", {}),),
    "cao": (("cao2020", {}),),
    "mlm": (("xlmr_continued_mlm", {}),),
    "tlm": (("ppa_no_moco", {}),),
    "tlm_weam": (("tlm", {}),),
    "moco": (("ppa_no_tlm", {}),),
    "xlm_align_no_dwa": (("xlm_align", {"query": "none"}),),
}
"""Other names of a system, tried after its own. PPA without the contrast is TLM, and without TLM the contrast."""

_TRANSFORMATION = r"(?:trans|inv|perm|syn)(?:\+(?:trans|inv|perm|syn))*"
_OTHERS = frozenset(["mlm_sides", "dict_mlm_label", "in_batch", "xlco", "combined"])
"""Recipes that are no system of a paper, though their names begin like one."""
_ORDER: Sequence[str] = (
    "fast_align", "mbert", "xlmr_base", "mlm", "xlmr_continued_mlm", "tlm", "xlm", "dict_mlm", "align_mlm", "cao2020",
    "weam", "ppa_no_tlm", "ppa_mlm", "ppa", "xlm_align_no_tlm", "xlm_align_no_dwa", "xlm_align",
)  # fmt: skip
_WORDS: Sequence[tuple[str, str, Any]] = (
    ("no_code_switch(?:ing|ed)?|no_cs", "code_switch", False),
    ("code_switch(?:ing|ed)?|cs", "code_switch", True),
    ("translate_train", "setting", "translate-train"),
    ("zero_shot", "setting", "zero-shot"),
    ("simalign_argmax|argmax", "aligner", "simalign_argmax"),
    ("simalign_itermax|itermax", "aligner", "simalign_itermax"),
    ("optimal_transport|ot", "aligner", "ot"),
    (r"\d+(?:\.\d+)?[km]", "pairs", None),
)
"""Words in a run's name that say a setting; the word itself is the value where none is given."""


@dataclass(frozen=True)
class Placement:
    """What a run's name says.

    Args:
        system: ``align_mlm``, in lower case, words joined by underscores.
        attributes: what differs from the paper's main setting.
        rest: what the name says beyond the system (``en_de`` of ``tlm_en_de``).
    """

    system: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    rest: str = ""

    def alternatives(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The system and its other names, each with all attributes."""
        for system, extra in ((self.system, {}), *_ALIASES.get(self.system, ())):
            yield system, {**extra, **self.attributes}


@dataclass(frozen=True)
class PaperLine:
    """What a paper prints for one system in one setting: one row, or the rows of all its transformations.

    Args:
        table: of the paper.
        name: shown as the row's heading.
        system: empty where the table has none.
        attributes: the setting.
        rows: of the table.
        column_system: where columns stand for systems, those of which one belong to this line.
        pinned: whether the run's name says the transformation, so that its language need not.
    """

    table: PaperTable
    name: str
    system: str
    attributes: Mapping[str, Any]
    rows: tuple[PaperRow, ...]
    column_system: str = ""
    pinned: bool = False

    def pin(self, attributes: Mapping[str, Any]) -> PaperLine:
        """This line in the transformation that a run's name says, if it says one."""
        wanted = _order(str(attributes.get("transformation", "")))
        rows = tuple(r for r in self.rows if _order(str(r.attributes.get("transformation", ""))) == wanted)
        return replace(self, rows=rows, pinned=True) if wanted and rows else self

    def cell(self, measure: Measure, language: str) -> PaperValue | None:
        """The figure for our measure in a language, ``None`` where the paper has none.

        The language of pairs may be either way round. Of a derived language (``en-x-trans-inv``) the
        transformation tells the row.
        """
        wanted = transformation(language)
        for row in self.rows:
            applied = row.attributes.get("transformation")
            if applied is not None and _order(applied) != wanted and (wanted or not self.pinned):
                continue
            for column in self.columns():
                if _holds(column, row, measure, language):
                    return self.table.value(row, column)
        return None

    def columns(self) -> list[PaperColumn]:
        """Columns that belong to this line."""
        return [c for c in self.table.columns if not self.column_system or c.system == self.column_system]

    def at(self, column: str, over: Sequence[str] = ()) -> PaperValue | None:
        """The figure in a column, where the line is one row.

        Args:
            column: its id.
            over: for a mean, the columns to take it over, where they are not all of them.
        """
        if len(self.rows) != 1:
            return None
        if not over:
            return self.table.value(self.rows[0], self.table.column(column))
        values = {name: self.rows[0].values.get(name) for name in over}
        if not all(isinstance(value, int | float) for value in values.values()):
            return None
        mean = self.table.mean(values, self.table.column(column), partial=True)
        return None if mean is None else PaperValue(mean, mean)

    def assumed(self, placed: Placement) -> list[str]:
        """What the run's name leaves open, which is to be told before figures are subtracted."""
        found = [f"{key}: {self.attributes[key]} in the paper, not told by the run's name"
                 for key in sorted(_TELLING & set(self.attributes)) if key not in placed.attributes]  # fmt: skip
        if placed.rest:
            found.append(f"the run's name says more than {placed.system}: {placed.rest}")
        return found


def in_order(runs: Sequence[str]) -> list[str]:
    """Runs of known systems as papers list them, baselines first; the others after them, as given."""
    systems = [next((s for s, _ in placement(run).alternatives() if s in _ORDER), "") for run in runs]
    places = [_ORDER.index(system) if system else len(_ORDER) for system in systems]
    return [run for _, _, run in sorted(zip(places, range(len(runs)), runs, strict=True))]


def transformation(language: str) -> str:
    """``trans+inv`` of ``en-x-trans-inv``; empty for a natural language."""
    return _order(language.partition("-x-")[2])


def placement(run: str, task: str = "") -> Placement:
    """What the name of a run says, and of the task that its result is of (``word_alignment_ot``).

    Example:
        >>> found = placement("ppa 600k translate-train")
        >>> found.system, found.attributes["pairs"]
        ('ppa', '600k')
    """
    given: dict[str, Any] = {}
    rest = []
    named = re.sub(rf"(?<![\w=])({'|'.join(sorted(_KEYS))}) +(?=[^\s=]+)", r"\1=", run.strip())
    for token in re.split(r"[\s,;/()\[\]]+", named):
        key, separator, value = token.partition("=")
        if separator and key in _KEYS:
            given[key] = _value(value)
        elif re.fullmatch(_TRANSFORMATION, token):
            given["transformation"] = token
        elif token:
            rest.append(token)
    name = _normal("_".join(rest))
    for pattern, key, meant in _WORDS:
        found = re.search(rf"(?:^|_)({pattern})(?=_|$)", name)
        if found and found.group(0) != name:
            given.setdefault(key, found.group(1) if meant is None else meant)
            name = (name[: found.start()] + name[found.end() :]).strip("_")
        elif key == "aligner" and re.search(rf"_({pattern})$", _normal(task)):
            given.setdefault(key, meant)
    if name not in _known():
        longest = max((s for s in _known() if name.startswith(f"{s}_")), key=len, default="")
        if longest:
            return Placement(longest, given, name.removeprefix(f"{longest}_"))
    return Placement(name, given)


@cache
def _known() -> frozenset[str]:
    """Names of systems: the papers', other names of theirs, and those of recipes that no paper has."""
    printed = {row.system for table in paper_tables() for row in table.rows}
    columns = {column.system for table in paper_tables() for column in table.columns}
    return frozenset(printed | columns | set(_ALIASES) | _OTHERS) - {""}


def find_line(lines: Sequence[PaperLine], run: str, task: str = "") -> tuple[PaperLine, Placement] | None:
    """The line a run stands beside: one of its system and setting, or else of its name as printed.

    Of several that fit, the paper's own figure goes before one that it quotes, and the fullest before others.
    """
    wanted = placement(run, task)
    found = None if wanted.rest else _fitting(lines, wanted)
    if found is None:
        printed = [line for line in lines if run in (line.name, *(row.label for row in line.rows))]
        if len(printed) == 1:
            return printed[0], Placement(wanted.system, {**wanted.attributes, **printed[0].attributes})
        found = _fitting(lines, wanted)
    return None if found is None else (found, wanted)


def _fitting(lines: Sequence[PaperLine], wanted: Placement) -> PaperLine | None:
    for system, attributes in wanted.alternatives():
        fitting = [line for line in lines if line.system in ("", system) and _agree(line, attributes, system)]
        if fitting:
            return max(fitting, key=_preference)
    return None


def paper_lines(paper: PaperTable) -> tuple[PaperLine, ...]:
    """A table's lines in the order of its rows."""
    groups: dict[tuple[Any, ...], list[PaperRow]] = {}
    systems = list(dict.fromkeys(c.system for c in paper.columns if c.system)) or [""]
    for place, row in enumerate(paper.rows):
        several = "transformation" in row.attributes or "task" in row.attributes
        key = tuple(
            sorted((k, str(v)) for k, v in row.attributes.items() if k not in ("transformation", "task"))
        )
        groups.setdefault(key if several else (place,), []).append(row)
    lines = []
    for rows in groups.values():
        first = rows[0]
        setting = {k: v for k, v in first.attributes.items() if k not in _BESIDES}
        for system in systems:
            own = system or first.system
            name = first.name if len(rows) == 1 else first.label.partition(" / ")[0] if own else "the paper"
            printed = own.replace("_", "-").upper()
            if name == own:
                name = printed
            elif own and not any(c.isalpha() for c in name):
                name = f"{printed}, {name}"
            lines.append(PaperLine(paper, name, own, setting, tuple(rows), system))
    names = [line.name for line in lines]
    return tuple(
        replace(line, name=f"{line.name} ({line.attributes['pairs']})")
        if names.count(line.name) > 1 and "pairs" in line.attributes
        else line
        for line in lines
    )


def _holds(column: PaperColumn, row: PaperRow, measure: Measure, language: str) -> bool:
    """Whether a column of a row is of our measure and language."""
    task = column.task or str(row.attributes.get("task", ""))
    if column.average or not column.metric or (task and common_task(task) != measure.common_task):
        return False
    if column.quantity:
        return (column.metric, column.quantity) == (measure.base_metric, measure.quantity)
    if column.metric != measure.common_metric:
        return False
    if not column.language:
        return not column.task  # a figure of the model; a task's without language is a mean over languages
    return column.language in (language, "-".join(reversed(language.split("-"))))


def _agree(line: PaperLine, attributes: Mapping[str, Any], system: str) -> bool:
    defaults = {**_DEFAULTS, "parallel": 0.25 if system == "xlm" else 0.0}
    if system in _ALIGNERS:
        defaults["aligner"] = system
    theirs = {k: v for k, v in line.attributes.items() if v != ""}
    own = {k: v for k, v in attributes.items() if k != "transformation" and (k in theirs or k not in _LOOSE)}
    keys = set(own) | set(theirs)
    return all(_plain(own.get(k, defaults.get(k))) == _plain(theirs.get(k, defaults.get(k))) for k in keys)


def _plain(value: Any) -> Any:
    return _normal(value) if isinstance(value, str) else value


def _preference(line: PaperLine) -> tuple[bool, int]:
    row = line.rows[0]
    return row.attributes.get("source") == "paper", sum(v is not None for v in row.values.values())


def _order(names: str) -> str:
    """Names of transformations in one order: ``syn-trans`` and ``trans+syn`` are one."""
    return "+".join(sorted(part for part in re.split(r"[-+_]", names.lower()) if part))


def _normal(text: str) -> str:
    return re.sub(r"[\s\-./]+", "_", text.strip().lower()).strip("_")


def _value(text: str) -> Any:
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    number = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    if number:
        value = float(number.group(1))
        return value / 100 if number.group(2) else value
    return text.lower()
