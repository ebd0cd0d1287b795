from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigurationError
from isoglot.reports.grid import result_tables
from isoglot.reports.scores import Combination, Measure, collect, main_measures, run_label
from isoglot.results.rows import Result
from isoglot.tasks import TASKS, task_class

XNLI = Measure("xnli", "test", "accuracy")


def row(run: str, language: str, value: float, seed: int | None = None, **more: object) -> Result:
    given_ = {"task": "xnli", "metric": "accuracy", "examples": 100, **more}
    return Result(run=run, language=language, value=value, seed=seed, **given_)


def test_seeds_meet_in_one_row_with_the_sample_deviation() -> None:
    scores = collect(
        [row("tlm-seed1", "de", 70, 1), row("tlm-seed2", "de", 72, 2), row("tlm-seed3", "de", 77, 3)]
    )
    found = scores.means(XNLI, ["de"]).get("tlm")
    assert found is not None
    assert (found.mean, found.seeds) == (73, 3)
    assert found.sd == pytest.approx(3.605551)
    assert found.error == pytest.approx(3.605551 / 3**0.5)


def test_a_language_by_another_code_is_the_same_one() -> None:
    rows = [row("a", "de", 60), row("a", "eng", 90), row("b", "deu", 70), row("b", "en", 80)]
    combined = [row("c", "deu-eng", 1), row("c", "eng-x-inv", 2)]
    scores = collect([*rows, *combined])
    assert scores.languages(XNLI) == ["de", "en", "de-en", "en-x-inv"]
    assert [scores.means(XNLI, ["de", "en"])[run].mean for run in "ab"] == [75, 75]
    assert Combination.parse("x=deu:a").models == {"de": "a"}


def test_scores_note_what_labels_do_not_tell() -> None:
    rows = [row("a", "de", 60, options={"layer": 7}), row("b", "de", 70), row("b", "es", 70, 1)]
    assert collect(rows).notes("xnli") == ["Measured with other options than the rest: a with layer=7."]
    assert not collect([rows[0], row("a", "de", 60, options={"layer": 8})]).notes("xnli"), "their labels tell"
    both = [rows[0], row("b", "de", 70, options={"layer": 8})]
    assert collect(both).notes("xnli") == ["Measured with different options: a with layer=7; b with layer=8."]
    one, two = (
        row("c", language, 60, 1, checkpoint_hash=name) for language, name in (("de", "x"), ("es", "y"))
    )
    told = ["Numbers of several checkpoints in one row: c."]
    assert collect([one, two]).notes("xnli") == told
    assert not collect([one, two, row("c", "de", 61, 1, checkpoint_hash="y")]).notes("xnli"), (
        "the last counts"
    )
    seeds = [one, two.model_copy(update={"seed": 2})]
    gap = [r.model_copy(update={"metric": "f1_zero_shot"}) for r in (one, two)]
    assert not collect([*seeds, *gap]).notes("xnli") and not collect([one, two]).notes("pos")


def test_one_seed_has_no_deviation() -> None:
    found = collect([row("tlm", "de", 70)]).means(XNLI, ["de"]).get("tlm")
    assert found is not None and found.sd is None and found.error is None


def test_a_mean_over_languages_is_taken_per_seed_and_never_over_fewer_languages() -> None:
    rows = [row("a", "de", 60, 1), row("a", "es", 80, 1), row("a", "de", 64, 2), row("b", "de", 90, 1)]
    scores = collect(rows)
    found = scores.means(XNLI, ["de", "es"]).get("a")
    assert found is not None and (found.mean, found.seeds, found.examples) == (70, 1, 200)
    assert scores.means(XNLI, ["de", "es"]).get("b") is None


@given(st.lists(st.lists(st.floats(0, 98), min_size=2, max_size=2), min_size=1, max_size=5))
def test_mean_of_means_is_the_mean_of_all_with_all_seeds(values: list[list[float]]) -> None:
    rows = [
        row("a", lang, v[i] + 1.5, s) for s, v in enumerate(values) for i, lang in enumerate(("de", "es"))
    ]
    found = collect(rows).means(XNLI, ["de", "es"]).get("a")
    assert found is not None
    assert found.mean == pytest.approx(sum(sum(v) for v in values) / (2 * len(values)) + 1.5)


def test_last_of_repeated_rows_counts_and_a_change_is_told() -> None:
    scores = collect([row("a", "de", 60, 1), row("a", "de", 60, 1), row("a", "de", 61, 1)])
    found = scores.means(XNLI, ["de"]).get("a")
    assert found is not None and (found.mean, found.seeds) == (61, 1)
    assert [r.value for r in scores.repeated] == [61]


def test_shares_of_one_become_percent_and_percent_stays() -> None:
    aer = Measure("wa", "test", "aer")
    rows = [row("a", "de-en", 0.25, task="wa", metric="aer"), row("a", "de", 71), row("b", "de", 0.9)]
    scores = collect(rows)
    assert scores.means(aer, ["de-en"])["a"].mean == 25
    assert scores.means(XNLI, ["de"])["b"].mean == 0.9
    assert scores.doubtful == [rows[2]], "the page says that it may be a share"
    assert not collect(rows[:2]).doubtful
    assert not collect([rows[1], rows[2].model_copy(update={"checkpoint_hash": "a"})]).doubtful


def test_doubtful_value_is_not_converted_though_the_one_in_percent_was_replaced() -> None:
    scores = collect([row("a", "de", 71), row("a", "de", 0.9)])
    assert "not converted" in " ".join(scores.warnings())
    assert scores.means(XNLI, ["de"])["a"].mean == 0.9


def test_our_own_figures_are_in_percent_even_if_all_are_below_one() -> None:
    low = row("a", "de", 0.4, task="ner", metric="f1").model_copy(update={"checkpoint_hash": "0" * 16})
    scores = collect([low])
    assert scores.means(Measure("ner", "test", "f1"), ["de"])["a"].mean == 0.4


@pytest.mark.parametrize(
    ("run", "seed", "label"),
    [
        ("tlm-seed1", 1, "tlm"),
        ("tlm/s12", 12, "tlm"),
        ("tlm_seed=3", 3, "tlm"),
        ("tlm-seed1", 2, "tlm-seed1"),
        ("tlm-seed1", None, "tlm-seed1"),
        ("seed1", 1, "seed1"),
        ("models1", 1, "models1"),
    ],
)
def test_run_label_drops_its_own_seed_only(run: str, seed: int | None, label: str) -> None:
    assert run_label(row(run, "de", 1, seed)) == label


def test_bilingual_models_in_one_row_english_as_their_mean() -> None:
    rows = [
        row("w-de", "en", 80),
        row("w-de", "de", 70),
        row("w-de", "es", 10),
        row("w-es", "en", 84),
        row("w-es", "es", 75),
        row("mlm", "de", 60),
        row("w-de", "en-de", 20),
        row("w-es", "es-en", 30),
    ]
    scores = collect(rows, [Combination.parse("weam=de:w-de,es:w-es")])
    values = {lang: scores.means(XNLI, [lang])["weam"].mean for lang in ("en", "de", "es", "en-de", "es-en")}
    assert values == {"en": 82, "de": 70, "es": 75, "en-de": 20, "es-en": 30}
    assert scores.runs == ["weam", "mlm"]


def test_a_note_on_options_names_the_combination_whose_row_the_table_shows() -> None:
    models = [row("w-de", "de", 70, options={"layer": 3}), row("w-es", "es", 75, options={"layer": 3})]
    rows = [*models, row("mlm", "de", 60)]
    combination = Combination.parse("weam=de:w-de,es:w-es")
    (note,) = collect(rows, [combination]).notes("xnli")
    assert note == "Measured with other options than the rest: weam with layer=3."
    rows[1] = row("w-es", "es", 75, options={"layer": 4})
    (note,) = collect(rows, [combination]).notes("xnli")
    assert note.endswith(": w-de with layer=3; w-es with layer=4."), "options of models, not of the row"


def test_a_measure_that_not_all_models_of_a_combination_have_is_left_out() -> None:
    rows = [row("w-de", "de", 70), row("w-de", "en", 80, metric="f1"), row("w-es", "es", 75)]
    scores = collect(rows, [Combination.parse("weam=de:w-de,es:w-es")])
    assert [*scores.values] == [XNLI], "English is the mean of both, and w-es has no F1"
    (table,) = result_tables(scores, "en")
    assert [column.label for column in table.columns] == ["de", "es", "avg"]


@pytest.mark.parametrize("text", ["weam", "weam=", "=de:a", "weam=de", "weam=de:a,:b"])
def test_a_combination_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="NAME=LANGUAGE:RUN"):
        Combination.parse(text)


def test_a_combination_of_an_unknown_run_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no results of w-fr"):
        collect([row("w-de", "de", 1)], [Combination.parse("weam=fr:w-fr")])


def test_a_combination_with_the_name_of_another_run_is_refused() -> None:
    rows = [row("w-de", "de", 50), row("w-es", "es", 60), row("weam", "de", 90)]
    with pytest.raises(ConfigurationError, match="another run has this name"):
        collect(rows, [Combination.parse("weam=de:w-de,es:w-es")])
    # The name of one of its own models is free: the model is no run of its own any more.
    assert collect(rows, [Combination.parse("weam=de:weam,es:w-es")]).runs == ["w-de", "weam"]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_shown_by_its_own_metric(task: str) -> None:
    own = Measure(task, "test", task_class(task).primary_metric)
    others = [Measure(task, "test", name) for name in ("precision_at_1", "recall", "zzz")]
    assert main_measures([*others, own]) == [own]
