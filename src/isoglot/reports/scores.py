"""Scores of runs: rows of results in, one frame of values for each measure out.

    rows ──> label of each row's run ──> {measure: frame of values}     languages across
             (row_labels)                                               runs and their seeds down

``collect`` makes the frames; tables then ask for ``ReportScores.means``.
"""

from __future__ import annotations

import re
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
"""Columns that name one value of a measure."""
_DEFAULT = object()
"""Stands for the value of an option that a row does not name."""
_LOWER = frozenset(["aer", "loss", "logloss", "perplexity", "error", "errors", "hours", "delta", "drop"])
"""Words in the names of metrics that are better when smaller: ``aer``, ``mlm_loss``, ``error_rate``."""
_FIRST = ("aer", "f1", "accuracy", "em", "mrr", "csls_precision_at_1")
"""Metrics that the field reports, the most usual one first; the first one that a task has is its main one."""
_QUANTITIES = {"_zero_shot": "zs", "_supervised": "sup", "_delta": "delta"}
"""Ending of a metric of `isoglot transfer` -> quantity in ALIGN-MLM's tables."""
_SAME_METRIC = {"acc": "accuracy", "exact_match": "em", "chunk_f1": "f1", "pos_chunk_f1": "f1"}
"""Other name of a metric -> the name in the papers' tables."""


@dataclass(frozen=True, order=True)
class Measure:
    """A task, one of its splits, and a metric: the numbers that a table shows."""

    task: str
    split: str
    metric: str

    @property
    def title(self) -> str:
        """The task, with the split unless it is the test split: ``pos``, ``pos (dev)``."""
        return self.task if self.split == "test" else f"{self.task} ({self.split})"

    @property
    def quantity(self) -> str:
        """The quantity of ``isoglot transfer``, ``zs``, ``sup`` or ``delta``: ``zs`` of ``f1_zero_shot``; or empty."""
        return self._parts[1]

    @property
    def base_metric(self) -> str:
        """The metric without the quantity, under the name in the papers' tables: ``exact_match`` is ``em``."""
        base = self._parts[0]
        return _SAME_METRIC.get(base, base)

    @property
    def _parts(self) -> tuple[str, str]:
        """The metric in lower case and its quantity: ``f1`` and ``zs`` of ``F1_zero_shot``."""
        name = self.metric.lower()
        for ending, quantity in _QUANTITIES.items():
            if name.endswith(ending):
                return name.removesuffix(ending), quantity
        return name, ""


@dataclass(frozen=True)
class Combination:
    """Several bilingual models that are shown as one row, as in WEAM's tables.

    ``weam=de:weam-en-de,es:weam-en-es`` makes a row ``weam``: German from the model ``weam-en-de`` alone, Spanish from
    ``weam-en-es`` alone, and any other language (English) as the mean over both.
    """

    name: str
    models: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Combination:
        """Read a combination as a user types it: ``weam=de:weam-de,es:weam-es``."""
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
        values: Measure -> frame of values, languages across, runs and their seeds down.
        examples: Measure -> frame of the same shape with the numbers of examples.
        runs: Labels of the runs, in the order of their first rows.
        shared_options: Task and run -> options that all evaluations of the run on the task share, ``layer=3``. The
            label of the run leaves them out.
        checkpoints: Task, run and seed -> split, metric and language -> hash of the checkpoint.
        repeated: Rows that took the place of an earlier row of the same run, seed, measure and language with another
            value.
        doubtful: Rows of other tools whose value may be a share of 1 beside others in percent.
    """

    values: dict[Measure, DataFrame]
    examples: dict[Measure, DataFrame]
    runs: list[str]
    shared_options: dict[tuple[str, str], str] = field(default_factory=dict)
    checkpoints: dict[tuple[str, str, int | None], dict[tuple[str, ...], str]] = field(default_factory=dict)
    repeated: list[Result] = field(default_factory=list)
    doubtful: list[Result] = field(default_factory=list)

    def languages(self, measure: Measure, run: str | None = None) -> list[str]:
        """List the languages in which any run, or the given run, has values; in the order of their first rows.

        Some tables sort them again (``isoglot/reports/__init__.py``).
        """
        table = self.values[measure]
        if run is not None:
            table = _of_runs(table, [run]).dropna(axis=1, how="all")
        return list(table.columns)

    def notes(self, task: str) -> list[str]:
        """Write the notes below a task's table, about differences between rows that the labels do not show.

        1. Some runs were evaluated with options that others were not: tlm without any, weam with ``layer=3``. The note
           is ``Measured with other options than the rest: weam with layer=3.`` If every run has options, there is no
           rest: ``Measured with different options: tlm with layer=4; weam with layer=3.``
        2. One row holds values of several checkpoints: German was measured on one, French on another, and both have the
           same run and seed. The note is ``Numbers of several checkpoints in one row: weam.``
        """
        notes = []
        runs_with: dict[str, list[str]] = defaultdict(list)  # options -> runs
        for (task_of_run, run), options in self.shared_options.items():
            if task_of_run == task:
                runs_with[options].append(run)
        if len(runs_with) > 1:  # 1
            others = []
            for options, runs in runs_with.items():
                if options:
                    others.append(f"{', '.join(runs)} with {options}")
            difference = "other options than the rest" if "" in runs_with else "different options"
            notes.append(f"Measured with {difference}: {'; '.join(others)}.")
        mixed = []
        for (task_of_run, run, _seed), hashes in self.checkpoints.items():
            if task_of_run == task and len(set(hashes.values())) > 1:
                mixed.append(run)
        if mixed:  # 2
            notes.append(f"Numbers of several checkpoints in one row: {', '.join(dict.fromkeys(mixed))}.")
        return notes

    def warnings(self) -> list[str]:
        """Say which rows of results are doubtful: values that were measured again, and shares of 1 beside percent.

        A cell of a paper's table may be measured again too; the table has a note on that
        (:mod:`isoglot.reports.beside_papers`).
        """
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
        """Compute each run's mean over languages and seeds: first over the languages of a seed, then over seeds.

        1. A seed that lacks a language is left out: means over different languages cannot be compared.
        2. A run that has no seed with all languages is not in the result.
        3. The number of examples is the sum over languages, in each language of the seed with the fewest.
        """
        values = self.values[measure].reindex(columns=languages).dropna()  # 1, 2
        examples = self.examples[measure].reindex(columns=languages).dropna()
        counts = examples.groupby(level="run").min().sum(axis=1)  # 3
        means = {}
        for run, seeds in values.groupby(level="run"):
            mean_of_seeds = [fmean(seed) for seed in seeds.to_numpy()]
            means[run] = Score.of(mean_of_seeds, int(counts[run]))
        return means


def main_measures(measures: Sequence[Measure]) -> list[Measure]:
    """Choose the main measure of each task and split.

    1. The metric that the field reports is the main one, by the order of ``_FIRST``: F1 rather than accuracy.
    2. A task without any of these metrics has the metric that was measured first.
    3. Results of ``isoglot transfer`` have a main measure of their own beside that one: zero-shot F1 rather than
       supervised F1 or the gap.

    Example:
        >>> main_measures([Measure("qa", "test", "em"), Measure("qa", "test", "f1"), Measure("lm", "test", "loss")])
        [Measure(task='qa', split='test', metric='f1'), Measure(task='lm', split='test', metric='loss')]
    """
    order = {name: rank for rank, name in enumerate(_FIRST)}

    def rank(measure: Measure) -> tuple[bool, int]:
        is_main_quantity = measure.quantity in ("", "zs")
        return not is_main_quantity, order.get(measure.base_metric, len(order))

    chosen: dict[tuple[str, str, bool], Measure] = {}
    # `sorted` is stable: among equal ranks the measure that came first is chosen (2).
    for measure in sorted(measures, key=rank):
        is_of_transfer = bool(measure.quantity)
        chosen.setdefault((measure.task, measure.split, is_of_transfer), measure)
    return [measure for measure in measures if measure in chosen.values()]


def lower_is_better(metric: str) -> bool:
    """Whether a smaller value of the metric is the better one.

    Example:
        >>> lower_is_better("aer"), lower_is_better("masked_lm/loss"), lower_is_better("gloss_f1")
        (True, True, False)
    """
    words = re.findall("[a-z]+", metric.lower())
    return not _LOWER.isdisjoint(words)


def run_label(row: Result) -> str:
    """Return the name of the run without the seed: ``tlm-seed1`` of seed 1 is ``tlm``, so all seeds share a row."""
    return name_without_seed(row.run, row.seed)


def row_labels(rows: Sequence[Result]) -> list[str]:
    """Label the run of each row: :func:`run_label`, and the options in which evaluations of the run on a task differ.

    Example:
        >>> base = {"run": "tlm", "task": "tatoeba", "metric": "accuracy", "language": "de", "value": 1, "examples": 9}
        >>> row_labels([Result(**base), Result(**base, options={"layer": 3})])
        ['tlm', 'tlm (layer=3)']
    """
    labels = []
    for row, common in zip(rows, _common_options(rows), strict=True):
        differing = {name: value for name, value in row.options.items() if name not in common}
        options = _typed_options(row, differing)
        labels.append(f"{run_label(row)} ({options})" if options else run_label(row))
    return labels


def _typed_options(row: Result, options: Mapping[str, object]) -> str:
    """Write some of a row's options in the form in which a user types them: ``layer=3 pooling=cls``."""
    return row.model_copy(update={"options": dict(options)}).settings


def _common_options(rows: Sequence[Result]) -> list[dict[str, object]]:
    """Find for each row the options that all evaluations of its run on its task share.

    tlm on tatoeba was evaluated with ``layer=3 pooling=cls`` and with ``layer=4 pooling=cls``: both share
    ``pooling=cls``.
    """
    evaluations: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for row in rows:
        evaluations[run_label(row), row.task].append(row)
    shared: dict[tuple[str, str], dict[str, object]] = {}
    for key, group in evaluations.items():
        shared[key] = {}
        for name, value in group[0].options.items():
            if all(row.options.get(name, _DEFAULT) == value for row in group):
                shared[key][name] = value
    return [shared[run_label(row), row.task] for row in rows]


def collect(rows: Sequence[Result], combinations: Sequence[Combination] = ()) -> ReportScores:
    """Sort rows of results into one frame of values for each measure.

    1. Languages. Each language has its short code: ``deu`` is ``de``.
    2. Shares. A metric that is a share (accuracy, F1) is shown in percent.
       a. If no value of the measure is above 1 and no row is isoglot's own, other tools gave shares of 1: all values
          are multiplied by 100.
       b. Otherwise the measure is in percent already. A value of another tool between 0 and 1 may be a share all the
          same: it stays, and is reported as doubtful.
    3. Repetitions. Of several rows for one measure, run, language and seed the last one counts. If the value before it
       was different, the later row is reported as repeated.
    4. Combinations. At last, the models of each combination become one run.
    """
    labels, common = row_labels(rows), _common_options(rows)
    scores = ReportScores({}, {}, list(dict.fromkeys(labels)))
    measures = [Measure(row.task, row.split, row.metric) for row in rows]
    in_percent = {m for m, row in zip(measures, rows, strict=True) if _is_own(row) or row.value > 1}
    table = []
    for measure, row, label, options in zip(measures, rows, labels, common, strict=True):
        value, language = row.value, common_code(row.language)
        is_share = row.metric.lower() in SHARES
        if is_share and measure not in in_percent:  # 2a
            value = 100 * value
        elif is_share and not _is_own(row) and 0 < value < 1:  # 2b
            scores.doubtful.append(row)
        scores.shared_options[row.task, label] = _typed_options(row, options)
        # In results of `isoglot transfer` each language has its own checkpoint, so several are no surprise.
        if row.checkpoint_hash and not measure.quantity:
            hashes = scores.checkpoints.setdefault((row.task, label, row.seed), {})
            hashes[row.split, row.metric, language] = row.checkpoint_hash
        table.append((measure, label, row.seed, language, value, row.examples))
    # Int64 with a capital letter is pandas' type that allows missing values: a row may have no seed.
    frame = DataFrame(table, columns=["measure", *_KEY, "value", "examples"]).astype({"seed": "Int64"})
    # 3. `shift` puts beside each value the one before it for the same measure, run, seed and language.
    value_before = frame.groupby(["measure", *_KEY], dropna=False)["value"].shift()
    replaces_another = value_before.notna() & (value_before != frame["value"])
    scores.repeated = [rows[i] for i in frame.index[replaces_another]]
    for measure, group in frame.groupby("measure", sort=False):
        last = group.drop_duplicates(_KEY, keep="last")
        # `pivot` sorts the languages; this puts them back into the order of their first rows.
        languages = group["language"].unique()
        index = ["run", "seed"]
        scores.values[measure] = last.pivot(index=index, columns="language", values="value")[languages]
        scores.examples[measure] = last.pivot(index=index, columns="language", values="examples")[languages]
    for combination in combinations:  # 4
        _combine(scores, combination)
    return scores


def _is_own(row: Result) -> bool:
    """Whether isoglot measured the row, and so in percent, however small; rows of other tools have no hashes."""
    return bool(row.checkpoint_hash or row.recipe_hash)


def _combine(scores: ReportScores, combination: Combination) -> None:
    """Replace the models of a combination by one run, with a row for each seed of any of the models.

    1. A language that the combination names, or a pair with it, is read from the model of that language.
    2. Any other language is the mean over all models, for the seeds that all models have.
    """
    members = list(dict.fromkeys(combination.models.values()))
    missing = [run for run in members if run not in scores.runs]
    if missing:
        raise ConfigurationError(
            f"[[combine='{combination.name}']]: no results of {', '.join(missing)}; there are "
            f"{', '.join(scores.runs)}; "
            "name runs as in results.jsonl, without their seed"
        )
    if combination.name in scores.runs and combination.name not in members:
        raise ConfigurationError(
            f"[[combine='{combination.name}']]: another run has this name; choose a name that no run has"
        )
    # The mean over models is taken of values. Of the numbers of examples the smallest one stands for all models.
    for tables, how in ((scores.values, "mean"), (scores.examples, "min")):
        for measure, table in list(tables.items()):
            bilingual = _of_runs(table, members)
            columns = {}
            for language in bilingual:
                models = _models_of(language, combination) or members
                # Seeds down, models across; a seed that one of the models lacks is left out.
                seeds = bilingual[language].unstack("run").reindex(columns=models).dropna()
                columns[language] = seeds.agg(how, axis=1)
            combined = DataFrame(columns).dropna(how="all")
            combined = concat({combination.name: combined}, names=["run", "seed"])
            others = table[~table.index.isin(members, level="run")]
            tables[measure] = concat([others, combined]).dropna(axis=1, how="all")
            if not len(tables[measure]):
                del tables[measure]
    # Options that all models share are those of the combined run, which notes on the table then name. Models with
    # different options keep them under their own names.
    for task in dict.fromkeys(task for task, _ in scores.shared_options):
        keys = [(task, run) for run in members if (task, run) in scores.shared_options]
        if len({scores.shared_options[key] for key in keys}) == 1:
            options = [scores.shared_options.pop(key) for key in keys]
            scores.shared_options[task, combination.name] = options[0]
    # The combined run stands where the first of its models stood.
    first = min(scores.runs.index(run) for run in members)
    scores.runs = [run for run in scores.runs if run not in members]
    scores.runs.insert(first, combination.name)


def _models_of(language: str, combination: Combination) -> list[str]:
    """Return the one model that a language or a pair of languages is read from; empty for a language that all share.

    With models for de and es, ``de`` and ``en-de`` are read from the model of de, and ``en`` from all models.
    """
    for part in (language, *language.split("-")):
        if part in combination.models:
            return [combination.models[part]]
    return []


def _of_runs(table: DataFrame, runs: Sequence[str]) -> DataFrame:
    """Return the rows of some runs, with all seeds."""
    return table[table.index.isin(runs, level="run")]
