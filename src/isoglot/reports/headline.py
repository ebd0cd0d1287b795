"""Headlines of a report: which run is best at each task, by how much, and whether that is more than chance."""

from collections.abc import Sequence
from dataclasses import dataclass

from isoglot.core.errors import ConfigurationError
from isoglot.reports.grid import metric_name, target_languages
from isoglot.reports.scores import Measure, ReportScores, lower_is_better, main_measures
from isoglot.reports.stats import CONFIDENCE, Score, margin
from isoglot.reports.table import decimals, shown_number


@dataclass(frozen=True)
class Headline:
    """One task in one line."""

    task: str
    metric: str  # the metric and the languages: `F1, mean of de, fr`
    best: str  # the best run
    score: Score  # of the best run
    against: str = ""  # the run that the best one is compared with; empty for a single run
    difference: float = 0.0  # score of the best run minus score of the other
    # Whether the difference exceeds Welch's 95 % margin; `None` if a run has one seed.
    beyond: bool | None = None
    verdict: str = ""  # the same in words
    by_language: str = ""  # in how many languages the best run is better, and where most and least
    digits: int = 1  # decimals of the score and of the difference


def headlines(
    scores: ReportScores, *, source: str, baseline: str | None, counted: Sequence[str] = ()
) -> list[Headline]:
    """Make a headline for each task and split: its main metric, averaged over the target languages (zero-shot).

    1. The best run is compared with the baseline; without one, or if the baseline is the best, with the second best.
    2. A difference is more than chance if it exceeds Welch's 95 % margin, which needs two seeds of both runs.

    ``counted``: Runs with counts of predictions, which a baseline may name even if they have no results.
    """
    known = list(dict.fromkeys([*scores.runs, *counted]))
    if baseline is not None and baseline not in known:
        raise ConfigurationError(f"[[baseline]]: no results of {baseline}; name one of {', '.join(known)}")
    languages = {lang for measure in scores.values for lang in scores.languages(measure)}
    if source not in ("en", *languages) and languages:
        raise ConfigurationError(
            f"[[source]]: no results in {source}; name one of {', '.join(sorted(languages))}"
        )
    found = []
    for measure in main_measures([*scores.values]):
        members = target_languages(scores, measure, source)
        means = scores.means(measure, members)
        runs = [run for run in scores.runs if run in means]
        if not runs:
            continue
        # Best first: the highest mean, or the lowest if lower is better.
        sign = -1 if lower_is_better(measure.metric) else 1
        best, *rest = sorted(runs, key=lambda run: -sign * means[run].mean)
        over = f"mean of {', '.join(members)}" if len(members) > 1 else members[0]
        digits = decimals(measure.metric)
        split = "" if measure.split == "test" else f"{measure.split}, "
        metric = f"{metric_name(measure.metric)}{' (lower is better)' * (sign < 0)}, {split}{over}"
        if not rest:
            found.append(Headline(measure.title, metric, best, means[best], digits=digits))
            continue
        against = baseline if baseline in rest else rest[0]  # 1
        best_score, other_score = means[best], means[against]
        difference = best_score.mean - other_score.mean
        beyond = None
        verdict = "one seed: chance between seeds cannot be ruled out"
        if best_score.error is not None and other_score.error is not None:  # 2
            bound = margin(best_score, other_score)
            beyond = abs(difference) > bound
            seeds = min(best_score.seeds, other_score.seeds)
            likelihood = "more than" if beyond else "could be"
            verdict = (
                f"{likelihood} chance: with {seeds} seeds the {CONFIDENCE} % "
                f"margin is ±{shown_number(bound, digits=digits)} (Welch's t, seeds unpaired)"
            )
        by_language = _by_language(scores, measure, (best, against), members)
        found.append(
            Headline(
                task=measure.title,
                metric=metric,
                best=best,
                score=best_score,
                against=against,
                difference=difference,
                beyond=beyond,
                verdict=verdict,
                by_language=by_language,
                digits=digits,
            )
        )
    return found


def _by_language(
    scores: ReportScores, measure: Measure, runs: tuple[str, str], languages: Sequence[str]
) -> str:
    """Say ``better in 2 of 3 languages: most in hi (+4.0), least in de (−1.5)``; nothing for a single language."""
    sign = -1 if lower_is_better(measure.metric) else 1
    leads = {}  # of the first run over the second, in each language that both have
    for language in languages:
        means = scores.means(measure, [language])
        if all(run in means for run in runs):
            leads[language] = means[runs[0]].mean - means[runs[1]].mean
    if len(leads) < 2:
        return ""
    most, *_, least = sorted(leads, key=lambda language: -sign * leads[language])
    better = sum(sign * lead > 0 for lead in leads.values())
    worse = sum(sign * lead < 0 for lead in leads.values())
    worse_text = f", worse in {worse}" if worse else ""
    digits = decimals(measure.metric)
    most_lead, least_lead = (shown_number(leads[lang], signed=True, digits=digits) for lang in (most, least))
    return (
        f"better in {better} of {len(leads)} languages{worse_text}: most in {most} ({most_lead}), "
        f"least in {least} ({least_lead})"
    )
