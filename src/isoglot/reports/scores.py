"""Rows of results put in order: seeds of one run together, means over languages computed here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from pandas import DataFrame, concat

from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import common_code
from isoglot.reports.stats import Score
from isoglot.results.rows import SHARES, Result, name_without_seed

_KEY = ["run", "seed", "language"]
_DEFAULT = object()
_LOWER = ("aer", "loss", "perplexity", "error", "hours", "delta", "drop")
_FIRST = ("aer", "f1", "accuracy", "em", "mrr", "csls_precision_at_1")
_QUANTITIES = {"_zero_shot": "zs", "_supervised": "sup", "_delta": "delta"}
_SAME_METRIC = {"acc": "accuracy", "exact_match": "em", "chunk_f1": "f1", "pos_chunk_f1": "f1"}


@dataclass(frozen=True, order=True)
class Measure:
    """What one table shows: a task, its split and a metric."""

    task: str
    split: str
    metric: str

    @property
    def title(self) -> str:
        """The task, with its split where that is not the test split."""
        return self.task if self.split == "test" else f"{self.task} ({self.split})"

    @property
    def quantity(self) -> str:
        """``zs``, ``sup`` or ``delta`` for results of ``isoglot transfer`` (``f1_zero_shot``), else empty."""
        return next((q for ending, q in _QUANTITIES.items() if self.metric.lower().endswith(ending)), "")

    @property
    def base_metric(self) -> str:
        """The metric without its quantity, as the papers' tables call it here (``exact_match`` is ``em``)."""
        name = self.metric.lower()
        bare = next((name.removesuffix(ending) for ending in _QUANTITIES if name.endswith(ending)), name)
        return _SAME_METRIC.get(bare, bare)


@dataclass(frozen=True)
class Combination:
    """Several bilingual models shown as one row, as WEAM's tables do.

    A language that has its own model is read from that model alone; any other one (English) is the mean over
    the models.
    """

    name: str
    models: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Combination:
        """Read ``weam=de:weam-de,es:weam-es``."""
        name, separator, rest = text.partition("=")
        pairs = [part.partition(":") for part in rest.split(",")]
        if not (name and separator and all(language and colon and run for language, colon, run in pairs)):
            raise ConfigurationError(
                f"[[combine]] expects NAME=LANGUAGE:RUN,…, got {text!r}; "
                "for example [[combine='weam=de:weam-en-de,es:weam-en-es']]"
            )
        models = {common_code(language.strip()): run.strip() for language, _, run in pairs}
        return cls(name.strip(), models)


@dataclass
class ReportScores:
    """All scores of a report.

    Args:
        values: By measure the values in each language; runs and their seeds down.
        examples: The same of numbers of examples.
        settings: task and run -> options of the evaluation that the run's label does not tell, as they are typed.
        checkpoints: task, run and seed -> split, metric and language -> hash of the checkpoint.
        repeated: rows that a later row of the same run, seed and measure took the place of, with another value.
        doubtful: rows of other tools whose value may be a share of 1 beside others in percent.
    """

    values: dict[Measure, DataFrame]
    examples: dict[Measure, DataFrame]
    runs: list[str]
    settings: dict[tuple[str, str], str] = field(default_factory=dict)
    checkpoints: dict[tuple[str, str, int | None], dict[tuple[str, ...], str]] = field(default_factory=dict)
    repeated: list[Result] = field(default_factory=list)
    doubtful: list[Result] = field(default_factory=list)

    def languages(self, measure: Measure, run: str | None = None) -> list[str]:
        """Of any run or of one, in the order in which they were first measured."""
        table = self.values[measure]
        return [*(table if run is None else _of_runs(table, [run]).dropna(axis=1, how="all"))]

    def notes(self, task: str) -> list[str]:
        """What the runs' labels do not tell: options in which they differ, and rows that several checkpoints share."""
        by_settings: dict[str, list[str]] = defaultdict(list)
        for (name, run), settings in self.settings.items():
            if name == task:
                by_settings[settings].append(run)
        differ = [f"{', '.join(runs)} with {settings}" for settings, runs in by_settings.items() if settings]
        differ = differ if len(by_settings) > 1 else []
        shared = [run for (name, run, _), hashes in self.checkpoints.items()
                  if name == task and len(set(hashes.values())) > 1]  # fmt: skip
        notes = [f"Measured with other options than the rest: {'; '.join(differ)}."] if differ else []
        if shared:
            notes.append(f"Figures of several checkpoints in one row: {', '.join(dict.fromkeys(shared))}.")
        return notes

    def warnings(self) -> list[str]:
        """What makes figures doubtful: values that were replaced, and shares of 1 beside percent."""
        texts = []
        if self.repeated:
            row = self.repeated[0]
            texts.append(
                f"{len(self.repeated)} results were measured again with another value; the last one counts "
                f"(first: {row.run}, {row.task}, {row.language}, {row.metric})."
            )
        if self.doubtful:
            row = self.doubtful[0]
            texts.append(
                f"{len(self.doubtful)} results below 1 are mixed with results in percent and are not converted "
                f"(first: {row.run}, {row.task}, {row.language}, {row.metric} {row.value:g}); "
                "give all of them in percent."
            )
        return texts

    def means(self, measure: Measure, languages: Sequence[str]) -> dict[str, Score]:
        """By run the mean over languages and seeds.

        A seed that lacks a language is left out: means over different languages cannot be compared.
        """
        values, examples = (
            table[measure].reindex(columns=languages).dropna().groupby(level="run")
            for table in (self.values, self.examples)
        )
        counts = examples.min().sum(axis=1)
        return {run: Score.of([*map(fmean, seeds.to_numpy())], int(counts[run])) for run, seeds in values}


def main_measures(measures: Sequence[Measure]) -> list[Measure]:
    """The first metric of each task and split that the field reports; the first measured one without.

    Results of ``isoglot transfer`` count apart, by their zero-shot figure.
    """
    chosen: dict[tuple[str, str, bool], Measure] = {}
    order = {name: rank for rank, name in enumerate(_FIRST)}
    for measure in sorted(
        measures, key=lambda m: (m.quantity not in ("", "zs"), order.get(m.base_metric, len(order)))
    ):
        chosen.setdefault((measure.task, measure.split, bool(measure.quantity)), measure)
    return [m for m in measures if m in chosen.values()]


def lower_is_better(metric: str) -> bool:
    """Whether a smaller value of the metric is the better one (``aer``, a loss, a drop)."""
    return any(part in metric.lower() for part in _LOWER)


def run_label(row: Result) -> str:
    """The run's name without its seed: ``tlm-seed1`` of seed 1 is ``tlm``, so that seeds meet in one row."""
    return name_without_seed(row.run, row.seed)


def row_labels(rows: Sequence[Result]) -> list[str]:
    """What each row's run is called: :func:`run_label`, with the options by which its evaluations of a task differ.

    Example:
        >>> base = {"run": "tlm", "task": "tatoeba", "metric": "accuracy", "language": "de", "value": 1, "examples": 9}
        >>> row_labels([Result(**base), Result(**base, options={"layer": 3})])
        ['tlm', 'tlm (layer=3)']
    """
    labels = []
    for row, common in zip(rows, _common_options(rows), strict=True):
        settings = _settings(row, {n: v for n, v in row.options.items() if n not in common})
        labels.append(f"{run_label(row)} ({settings})" if settings else run_label(row))
    return labels


def _settings(row: Result, options: Mapping[str, object]) -> str:
    return row.model_copy(update={"options": dict(options)}).settings


def _common_options(rows: Sequence[Result]) -> list[dict[str, object]]:
    """For each row the options that all evaluations of its run on its task have."""
    labels = [run_label(row) for row in rows]
    evaluations: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for label, row in zip(labels, rows, strict=True):
        evaluations[label, row.task].append(row)
    shared = {
        key: {
            k: v for k, v in group[0].options.items() if all(r.options.get(k, _DEFAULT) == v for r in group)
        }
        for key, group in evaluations.items()
    }
    return [shared[label, row.task] for label, row in zip(labels, rows, strict=True)]


def collect(rows: Sequence[Result], combinations: Sequence[Combination] = ()) -> ReportScores:
    """Order rows by measure, run, language (``deu`` is ``de``) and seed.

    Of several rows for one figure the last one counts. Metrics that are shares of 1 throughout are turned into
    percent; rows with hashes are isoglot's own, in percent however small.
    """
    labels, common = row_labels(rows), _common_options(rows)
    scores = ReportScores({}, {}, list(dict.fromkeys(labels)))
    measures = [Measure(row.task, row.split, row.metric) for row in rows]
    percent = {m for m, row in zip(measures, rows, strict=True) if _is_own(row) or row.value > 1}
    table = []
    for measure, row, label, options in zip(measures, rows, labels, common, strict=True):
        value, share, language = row.value, row.metric.lower() in SHARES, common_code(row.language)
        if share and measure not in percent:
            value = 100 * value
        elif share and not _is_own(row) and 0 < value < 1:
            scores.doubtful.append(row)
        scores.settings[row.task, label] = _settings(row, options)
        if row.checkpoint_hash and not measure.quantity:  # of `transfer` each language has its own
            hashes = scores.checkpoints.setdefault((row.task, label, row.seed), {})
            hashes[row.split, row.metric, language] = row.checkpoint_hash
        table.append((measure, label, row.seed, language, value, row.examples))
    frame = DataFrame(table, columns=["measure", *_KEY, "value", "examples"]).astype({"seed": "Int64"})
    before = frame.groupby(["measure", *_KEY], dropna=False)["value"].shift()
    scores.repeated = [rows[i] for i in frame.index[before.notna() & (before != frame["value"])]]
    for measure, group in frame.groupby("measure", sort=False):
        last, languages = group.drop_duplicates(_KEY, keep="last"), group["language"].unique()
        scores.values[measure], scores.examples[measure] = (
            last.pivot(index=["run", "seed"], columns="language", values=name)[languages]
            for name in ("value", "examples")
        )
    for combination in combinations:
        _combine(scores, combination)
    return scores


def _is_own(row: Result) -> bool:
    """Whether isoglot has measured it, in percent."""
    return bool(row.checkpoint_hash or row.recipe_hash)


def _combine(scores: ReportScores, combination: Combination) -> None:
    """Make the models one run, with a row for each seed."""
    members = list(dict.fromkeys(combination.models.values()))
    missing = [run for run in members if run not in scores.runs]
    if missing:
        raise ConfigurationError(
            f"[[combine='{combination.name}']]: no results of {', '.join(missing)}; there are "
            f"{', '.join(scores.runs)}; "
            "name runs as in results.jsonl, without their seed"
        )
    for tables, how in ((scores.values, "mean"), (scores.examples, "min")):
        for measure, table in list(tables.items()):
            bilingual, columns = _of_runs(table, members), {}
            for language in bilingual:
                # A pair of languages is the model's that is of one of them.
                parts = (part for part in (language, *language.split("-")) if part in combination.models)
                models = [combination.models[part] for part in parts][:1] or members
                seeds = bilingual[language].unstack("run").reindex(columns=models).dropna()
                columns[language] = seeds.agg(how, axis=1)
            rows = concat({combination.name: DataFrame(columns).dropna(how="all")}, names=["run", "seed"])
            rest = table[~table.index.isin(members, level="run")]
            tables[measure] = concat([rest, rows]).dropna(axis=1, how="all")
            if not len(tables[measure]):
                del tables[measure]
    first = min(scores.runs.index(run) for run in members)
    scores.runs = [run for run in scores.runs if run not in members]
    scores.runs.insert(first, combination.name)


def _of_runs(table: DataFrame, runs: Sequence[str]) -> DataFrame:
    return table[table.index.isin(runs, level="run")]
