"""The first thing a report says: who is best at each task, by how much, and whether that is more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass

from isoglot.errors import ConfigurationError
from isoglot.reports.grid import metric_name, target_languages
from isoglot.reports.scores import Measure, ReportScores, lower_is_better, main_measures
from isoglot.reports.stats import Score, margin
from isoglot.reports.table import figure


@dataclass(frozen=True)
class Headline:
    """One task in one line."""

    task: str
    metric: str  # what was measured, over which languages
    best: str
    score: Score
    against: str = ""  # the run it is compared with; empty for a single run
    difference: float = 0.0
    beyond: bool | None = None  # whether that exceeds Welch's 95 % margin; `None` where a run has one seed
    verdict: str = ""
    about: str = ""  # what the metric is
    spread: str = ""  # in how many languages the best run is better, and where most and least


EXPLAINED = {
    "aer": "Alignment error rate: 0 where every sure link is found and no link outside the possible ones is predicted",
    "retrieval": "How often a sentence's nearest neighbour in the other language is its translation",
    "mrr": "Mean of 1 / rank of the translation",
    "f1": "Harmonic mean of precision and recall",
    "em": "Exact match: answers equal to a gold answer",
    "accuracy": "Share of right answers",
    "csls_precision_at_1": "How often the nearest neighbour of a dictionary's word, by CSLS, is its translation",
}
"""What a main metric says, in one line; ``retrieval`` is the accuracy of a task that finds sentences."""
_RETRIEVAL = ("tatoeba", "flores", "ntrex")


def explained(measure: Measure) -> str:
    """One line on a metric; empty for those of other tools."""
    name = measure.base_metric
    retrieval = name == "accuracy" and measure.task.lower().startswith(_RETRIEVAL)
    return EXPLAINED.get("retrieval" if retrieval else name, "")


def _spread(scores: ReportScores, measure: Measure, runs: tuple[str, str], languages: Sequence[str]) -> str:
    """``better in 2 of 3 languages: most in hi (+4.0), least in de (-1.5)``; empty for one language."""
    sign, found = -1 if lower_is_better(measure.metric) else 1, {}
    for language in languages:
        means = scores.means(measure, [language])
        if all(run in means for run in runs):
            found[language] = means[runs[0]].mean - means[runs[1]].mean
    if len(found) < 2:
        return ""
    most, *_, least = sorted(found, key=lambda language: -sign * found[language])
    better = sum(sign * value > 0 for value in found.values())
    worse = sum(sign * value < 0 for value in found.values())
    return (
        f"better in {better} of {len(found)} languages{f', worse in {worse}' * bool(worse)}: most in {most} "
        f"({figure(found[most], signed=True)}), least in {least} ({figure(found[least], signed=True)})"
    )


def headlines(scores: ReportScores, *, source: str, baseline: str | None) -> list[Headline]:
    """One a task and split: its main metric, averaged over the target languages (zero-shot).

    The best run is compared with the baseline, or with the second best.
    """
    if baseline is not None and baseline not in scores.runs:
        raise ConfigurationError(
            f"--baseline: no results of {baseline}; name one of {', '.join(scores.runs)}"
        )
    languages = {lang for measure in scores.values for lang in scores.languages(measure)}
    if source not in ("en", *languages) and languages:
        raise ConfigurationError(
            f"--source: no results in {source}; name one of {', '.join(sorted(languages))}"
        )
    found = []
    for measure in main_measures([*scores.values]):
        line = _line(scores, measure, source, baseline)
        if line is not None:
            found.append(line)
    return found


def _line(scores: ReportScores, measure: Measure, source: str, baseline: str | None) -> Headline | None:
    members = target_languages(scores, measure, source)
    means = scores.means(measure, members)
    known = {run: means[run] for run in scores.runs if run in means}
    if not known:
        return None
    lower = lower_is_better(measure.metric)
    order = sorted(known, key=lambda run: known[run].mean if lower else -known[run].mean)
    over = f"mean of {', '.join(members)}" if len(members) > 1 else members[0]
    split = "" if measure.split == "test" else f"{measure.split}, "
    metric = f"{metric_name(measure.metric)}, {split}{over}"
    against = baseline if baseline in known else None
    if against is None or against == order[0]:
        against = order[1] if len(order) > 1 else None
    best = known[order[0]]
    about = explained(measure)
    if against is None:
        return Headline(measure.title, metric, order[0], best, about=about)
    other, beyond = known[against], None
    verdict = "one seed: chance between seeds cannot be ruled out"
    if best.error is not None and other.error is not None:
        bound = margin(best, other)
        beyond = abs(best.mean - other.mean) > bound
        verdict = (
            f"{'more than' if beyond else 'could be'} chance: with {min(best.seeds, other.seeds)} seeds the 95 % "
            f"margin is ±{figure(bound)} (Welch's t, seeds unpaired)"
        )
    spread = _spread(scores, measure, (order[0], against), members)
    return Headline(
        measure.title, metric, order[0], best, against, best.mean - other.mean, beyond, verdict, about, spread
    )
