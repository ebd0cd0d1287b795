"""``isoglot analyse correlation``: does alignment go with transfer? (ALIGN-MLM, §5 and Fig. 3)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from isoglot.analysis.analyse import Job
from isoglot.analysis.options import CorrelationRequest
from isoglot.core.errors import ConfigurationError
from isoglot.reports.figure_files import Scatter, ScatterPoint
from isoglot.reports.papers import PAPERS, paper_table
from isoglot.reports.scores import run_label
from isoglot.reports.stats import Correlation, rank_correlation
from isoglot.results.rows import Result, read

_SCORE, _DELTA = "alignment_score", "_delta"
_PAPER_TASKS = ("xnli", "ner", "pos")
_PAPER = "align_mlm"
_BySeed = dict[int | None, float]
"""Scores or drops of one run and language, by seed."""
_Scores = dict[str, dict[str, _BySeed]]
"""Scores by run or by recipe, each then by language and seed."""
_OURS, _THEIRS = "ours", PAPERS[_PAPER]
"""Groups of points: those of the given results, and the paper's."""


class _Measured(NamedTuple):
    """The task, run and language of a drop, which is one point of a figure, or one point for each seed."""

    task: str
    run: str
    language: str


class _Match(NamedTuple):
    """A drop and the alignment score that belongs to it."""

    score: float
    drop: float
    seed: int | None  # None for the mean of all seeds


def analyse_correlation(
    results: Sequence[str | Path], request: CorrelationRequest, *, out: str | Path
) -> dict[str, dict[str, Correlation | None]]:
    """Correlate alignment scores with −Δ by Spearman's rank correlation, and draw a figure for each task.

    ``results``: Files or folders with rows of ``isoglot analyse alignment`` and of ``isoglot transfer``; none for the
    paper's points alone.

    Returns:
        The correlations by task and by group of points: ours, and the paper's.
    """
    job = Job((), out=out)
    if not results and not request.with_paper:
        raise ConfigurationError("no results; name files or folders of results, or add [[with_paper=True]]")
    rows = read(list(results)) if results else []
    ours = study_points(rows, each_seed=request.each_seed) if results else {}
    tasks = list(request.tasks)
    if not tasks:
        tasks = list(ours)
        if request.with_paper:
            tasks += [task for task in _PAPER_TASKS if task not in ours]
    correlations: dict[str, dict[str, Correlation | None]] = {}
    for task in tasks:
        points = list(ours.get(task, []))
        if request.with_paper and task in _PAPER_TASKS:
            points += paper_points(task)
        if not points:
            raise ConfigurationError(
                f"task {task!r} has no run with an alignment score and a drop; there is {', '.join(ours) or 'none'}"
            )
        groups: dict[str, list[ScatterPoint]] = defaultdict(list)
        for point in points:
            groups[point.group].append(point)
        correlations[task] = {}
        for group, members in groups.items():
            scores = [point.x for point in members]
            negative_drops = [-point.y for point in members]
            correlations[task][group] = rank_correlation(scores, negative_drops)
        if len(groups) < 2:
            points = _grouped_by_system(points)
        note = "A point is a run on a derived language."
        if _THEIRS in groups:
            note += f" Points of {_THEIRS}: its Tables 3 and 8."
        figure = Scatter(
            kind="scatter",
            title=f"Alignment and transfer: {task}",
            x_label="alignment score (%)",
            y_label=f"Δ = SUP − ZS, {task} (points)",
            points=points,
            correlate="-y",
            each_group=len(groups) > 1,
            note=note,
        )
        job.figure(f"{request.name}-{task}", figure)
    return correlations


def _grouped_by_system(points: Sequence[ScatterPoint]) -> list[ScatterPoint]:
    """Make each system a group of the figure: ``XLM / trans`` and ``XLM, en-x-inv`` both join the group ``XLM``."""
    grouped = []
    for point in points:
        system = point.label.replace(" / ", ", ").partition(", ")[0]
        grouped.append(point.model_copy(update={"group": system}))
    return grouped


def study_points(rows: Iterable[Result], *, each_seed: bool = False) -> dict[str, list[ScatterPoint]]:
    """Make the points of a study's own results, by task: an alignment score and the drop that belongs to it.

    Two kinds of seed meet here. The recipe's hash is that of pre-training and covers the seed of pre-training, so each
    pre-trained checkpoint has its own hash. The column ``seed`` of a drop is the seed of fine-tuning. The column
    ``seed`` of a score is the seed of pre-training; only a score of a fine-tuned checkpoint has the seed of fine-tuning
    there (``seed_of`` in ``tasks/cards.py``).

    Results of the run ``mlm`` in one language, pre-trained twice, where two drops lack the recipe's hash:

    =====  ======  ====  =====  ===============================
    row    recipe  seed  value  score that belongs to the drop
    =====  ======  ====  =====  ===============================
    score  aaaa    1     50
    score  bbbb    2     60
    drop   aaaa    1     12     50, by the recipe (rule 1)
    drop   bbbb    1     10     60, by the recipe (rule 1)
    drop           2     9      60, by the seed (rule 3b)
    drop           3     8      55, the mean (rule 3b)
    =====  ======  ====  =====  ===============================

    1. Recipe or run. A drop belongs to the scores with its recipe's hash. If there are none, it belongs to all scores
       of its run.
    2. Language. Of these scores, those of the drop's language count (:func:`_scores_of_language`).
    3. Seed. Several scores can be left, with different seeds:

       a. Scores with the drop's recipe are several only if checkpoints were scored that were fine-tuned from one
          pre-trained checkpoint. The drop takes their mean; seeds are not compared.
       b. Of the scores of the run, the drop takes the one whose seed equals its own, as equal seeds probably belong
          together, and the mean of all if no score has its seed.
    4. Points. The drops of a task, run and language are one point: the mean of their scores and the mean of the drops.
       With ``each_seed`` each drop is a point of its own.
    """
    rows = [row for row in rows if row.metric == _SCORE or row.metric.endswith(_DELTA)]
    _require_one_measurement(rows)
    scores_of_run: _Scores = defaultdict(lambda: defaultdict(dict))
    scores_of_recipe: _Scores = defaultdict(lambda: defaultdict(dict))
    # Drops by what was measured, then by recipe and seed.
    drops: dict[_Measured, dict[str, _BySeed]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        run = run_label(row)
        if row.metric != _SCORE:
            drops[_Measured(row.task, run, row.language)][row.recipe_hash][row.seed] = row.value
            continue
        scores_of_run[run][row.language][row.seed] = row.value
        if row.recipe_hash:
            scores_of_recipe[row.recipe_hash][row.language][row.seed] = row.value
    if not scores_of_run or not drops:
        lacking = f"{_SCORE} (isoglot analyse alignment)" if not scores_of_run else "drops (isoglot transfer)"
        raise ConfigurationError(f"the results have no {lacking}; a correlation needs both")
    points: dict[str, list[ScatterPoint]] = defaultdict(list)
    for measured, drops_of_recipe in drops.items():
        matches = _matches(measured, drops_of_recipe, scores_of_run, scores_of_recipe)  # 1, 2, 3
        if matches and not each_seed:  # 4
            mean_score = fmean(match.score for match in matches)
            mean_drop = fmean(match.drop for match in matches)
            matches = [_Match(mean_score, mean_drop, seed=None)]
        for match in matches:
            label = f"{measured.run}, {measured.language}"
            if match.seed is not None:
                label += f", seed {match.seed}"
            points[measured.task].append(ScatterPoint(x=match.score, y=match.drop, label=label, group=_OURS))
    if not any(points.values()):
        runs_of_drops = sorted({measured.run for measured in drops})
        raise ConfigurationError(
            f"no drop belongs to an alignment score: drops are of {', '.join(runs_of_drops)}, "
            f"scores of {', '.join(sorted(scores_of_run))}; give both the same run name ([[labels]])"
        )
    return dict(points)


def _matches(
    measured: _Measured,
    drops_of_recipe: Mapping[str, _BySeed],
    scores_of_run: _Scores,
    scores_of_recipe: _Scores,
) -> list[_Match]:
    """Find the score that belongs to each drop of a task, run and language, by rules 1 to 3 of :func:`study_points`."""
    matches: list[_Match] = []
    of_run = _scores_of_language(scores_of_run.get(measured.run), measured.language)
    for recipe, drop_of_seed in drops_of_recipe.items():
        of_recipe = _scores_of_language(scores_of_recipe.get(recipe), measured.language)
        scores = of_recipe or of_run  # 1, 2
        if not scores:
            continue
        mean = fmean(scores.values())
        for seed, drop in drop_of_seed.items():
            score = mean if of_recipe else scores.get(seed, mean)  # 3a, 3b
            matches.append(_Match(score, drop, seed))
    return matches


def _require_one_measurement(rows: Iterable[Result]) -> None:
    """Refuse results of one run, metric and language that were measured on several splits or with several options."""
    first_row: dict[tuple[str, ...], Result] = {}
    for row in rows:
        run = run_label(row)
        first = first_row.setdefault((row.task, row.metric, run, row.language), row)
        if (first.split, first.options) != (row.split, row.options):
            raise ConfigurationError(
                f"{row.metric} of {run} in {row.language} was measured in two ways ({first.split} {first.options}; "
                f"{row.split} {row.options}); give results of one split and of the same options"
            )


def paper_points(task: str) -> list[ScatterPoint]:
    """Make ALIGN-MLM's twelve points of xnli, ner or pos: four systems, three transformations (Tables 3 and 8)."""
    drops, scores = paper_table(f"{_PAPER}:Table3"), paper_table(f"{_PAPER}:Table8")
    column, alignment = drops.column(f"{task}.delta"), scores.column("alignment")
    score_of = {}
    for row in scores.rows:
        score_of[row.system, row.attributes["transformation"]] = scores.value(row, alignment)
    points = []
    for row in drops.rows:
        drop, score = drops.value(row, column), score_of[row.system, row.attributes["transformation"]]
        if drop is not None and score is not None:
            points.append(ScatterPoint(x=score.value, y=drop.value, label=row.label, group=_THEIRS))
    return points


def _scores_of_language(by_language: Mapping[str, _BySeed] | None, language: str) -> _BySeed | None:
    """Choose the scores of a run, or of a recipe, that belong to a language; None if none do.

    1. Scores of the language itself.
    2. Scores of the only pair that has the language (:func:`_is_pair_with`), where a lexicon was scored.
    3. The scores of a run that has scores of one language only, whatever language that is.
    """
    if not by_language:
        return None
    if language in by_language:  # 1
        return by_language[language]
    pairs = [name for name in by_language if _is_pair_with(language, name)]
    if len(pairs) == 1:  # 2
        return by_language[pairs[0]]
    return next(iter(by_language.values())) if len(by_language) == 1 else None  # 3


def _is_pair_with(language: str, name: str) -> bool:
    """Whether a name is that of a language and another one: ``en-de`` for ``en`` and for ``de``.

    All that follows ``-x-`` belongs to the code of a derived language. So ``en-x-trans-inv`` is one language, and no
    pair with ``en`` or ``en-x-trans``; ``en-en-x-inv`` is a pair of two.
    """
    is_derived = "-x-" in language
    # `en-de` begins with `en`. `en-x-inv` does not count for `en`: it is one derived language. Nor does `en-x-inv-de`
    # for `en-x-inv`: all behind `-x-` is read as one code, so a derived language is never the first of a pair.
    is_first = not is_derived and name.startswith(f"{language}-") and not name.startswith(f"{language}-x-")
    # `en-en-x-inv` is a pair with `en-x-inv`; `en-x-trans-inv` is none with `inv`, which belongs to the derived code.
    is_second = name.endswith(f"-{language}") and (is_derived or "-x-" not in name)
    return is_first or is_second
