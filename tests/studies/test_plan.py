from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_world import TEXT, write_study_file

from isoglot.errors import ConfigurationError
from isoglot.studies.file import find_studies, load_study
from isoglot.studies.plan import Plan, build_plan
from isoglot.studies.units import Difference, Mean, Reading, readings


def plan_of(folder: Path, text: str = TEXT, scale: str = "tiny", *settings_: str) -> Plan:
    return build_plan(load_study(write_study_file(folder, text), scale, settings_))


@pytest.fixture(scope="module")
def table3() -> Plan:
    return build_plan(load_study(find_studies(["align_mlm/table3"])[0], "tiny"))


def test_a_run_in_two_tables_is_one_unit(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert plan.count("pretrain") == 4  # two systems, two seeds; mlm stands in both tables
    assert plan.count("data") == 3
    assert plan.count("finetune") == plan.count("evaluate") == 8
    assert plan.count("analyse") == 2


def test_studies_share_their_runs(table3: Plan) -> None:
    other = build_plan(load_study(find_studies(["align_mlm/table1"])[0], "tiny"))
    shared = {u.key for u in table3.units()} & {u.key for u in other.units()}
    kinds = [u.kind for u in other.units() if u.key in shared]
    assert kinds.count("pretrain") == 6  # XLM with 25 % and ALIGN-MLM, three seeds
    assert kinds.count("evaluate") == 36


def test_only_what_an_entry_names_counts_for_its_hash(tmp_path: Path) -> None:
    plain, changed = plan_of(tmp_path), plan_of(tmp_path, TEXT, "tiny", "values.dictionary=0.9")
    longer = plan_of(tmp_path, TEXT, "tiny", "values.steps=3")

    def keys(plan: Plan, kind: str) -> set[str]:
        return {u.key for u in plan.units() if u.kind == kind}

    assert keys(plain, "pretrain") == keys(
        changed, "pretrain"
    )  # its row sets it again; mlm has no dictionary
    assert keys(plain, "data") == keys(longer, "data")
    assert not keys(plain, "pretrain") & keys(longer, "pretrain")
    assert not keys(plain, "evaluate") & keys(longer, "evaluate")


@settings(max_examples=12, deadline=None)
@given(parts=st.integers(1, 40))
def test_parts_do_not_overlap_and_together_are_everything(table3: Plan, parts: int) -> None:
    several = [table3.leaves((k, parts)) for k in range(1, parts + 1)]
    keys = [unit.key for units in several for unit in units]
    assert len(keys) == len(set(keys))
    assert set(keys) == {unit.key for unit in table3.leaves()}
    trained = [{u.key for u in table3.units((k, parts)) if u.kind == "pretrain"} for k in range(1, parts + 1)]
    assert sum(map(len, trained)) == table3.count("pretrain")  # no checkpoint in two parts


def test_units_come_after_what_they_need(table3: Plan) -> None:
    done: set[str] = set()
    for unit in table3.units():
        assert all(needed.key in done for needed in unit.needs)
        done.add(unit.key)


def test_cells_by_setting(tmp_path: Path) -> None:
    cells = {cell.column: cell for cell in plan_of(tmp_path).tables[0].cells if cell.row == 0}
    supervised, zero_shot, delta = (cells[f"pos.{q}"].terms[1] for q in ("sup", "zs", "delta"))
    assert delta == Difference(supervised, zero_shot)
    tuned = [readings(t)[0].unit.needs[-1].config for t in (supervised, zero_shot)]
    assert [c["language"] for c in tuned] == ["xx", "en"]
    assert [readings(t)[0].unit.config["language"] for t in (supervised, zero_shot)] == ["xx", "xx"]
    assert tuned[0]["seed"] == 1


MODELS = """
name: toy
values: {pair: de}
data:
  text: {make: text, sources: [{path: a.txt}]}
systems:
  base: {recipe: mlm, seed: 7, set: {streams: {text: {path: <text>/text.txt}}}}
  weam: {recipe: weam, seed: 3, set: {model: {path: <base>}, streams: {bitext: {path: "x.<pair>"}}},
         models: {value: pair, languages: [de, es, zh]}}
  mbert: {checkpoint: "${NOWHERE_AT_ALL}/mbert"}
tasks:
  xnli: {task: xnli, data: ["x/{language}.{split}.tsv"], languages: [de, es, zh],
         settings: {translate_train: {train: {epochs: 2}}}}
tables:
  table2: {paper: "weam:Table2", rename: {system: {tlm: weam}}}
scales:
  tiny: {seeds: [1, 2]}
"""


def test_one_model_a_language_and_the_mean_for_english(tmp_path: Path) -> None:
    cells = {(c.row, c.column): c for c in plan_of(tmp_path, MODELS).tables[0].cells}
    weam = {column: cells[4, column].terms[1] for column in ("en", "de", "es")}
    assert isinstance(weam["en"], Mean)
    assert len(weam["en"].terms) == 3
    assert isinstance(weam["de"], Reading)
    trained = {readings(weam[c])[0].unit.needs[-1].config["checkpoint"] for c in ("de", "es")}
    assert len(trained) == 2
    assert {r.unit.needs[-1].config["checkpoint"] for r in readings(weam["en"])} > trained
    assert (
        plan_of(tmp_path, MODELS).count("pretrain") == 4
    )  # three models and what they start from, for both seeds


def test_what_is_not_there_is_marked(tmp_path: Path) -> None:
    cells = {(c.row, c.column): c for c in plan_of(tmp_path, MODELS).tables[0].cells}
    assert "NOWHERE_AT_ALL" in cells[1, "en"].mark  # mBERT
    assert "system cao2020 is not there at scale tiny" in cells[2, "en"].mark
    assert not cells[1, "en"].terms


def test_translate_train_trains_on_the_language_but_not_for_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mbert").mkdir()
    monkeypatch.setenv("NOWHERE_AT_ALL", str(tmp_path))
    cells = {(c.row, c.column): c for c in plan_of(tmp_path, MODELS).tables[0].cells}
    config = {c: readings(cells[0, c].terms[1])[0].unit.needs[-1].config for c in ("en", "de")}
    assert (config["de"]["language"], config["de"]["setting"], config["de"]["train"]) == (
        "de",
        "translate_train",
        {"epochs": 2},
    )
    assert (config["en"]["language"], config["en"]["setting"], config["en"]["train"]) == (
        "en",
        "zero_shot",
        {},
    )
    assert readings(cells[0, "en"].terms[1]) == readings(cells[1, "en"].terms[1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("make: world", "make: wrld", r"data\.english\.make: 'wrld' given; did you mean 'world'"),
        ("vocab_size: 150", "vocab_size: <nope>", "<nope> names no value"),
        ("recipe: mlm_scratch", "recip: mlm_scratch", r"systems\.mlm\.recip.*did you mean 'recipe'"),
        ("like: mlm", "like: align_mlm", "no circle"),
        ("values: {dictionary: 0.25}", "values: {dictionry: 0.25}", "did you mean 'dictionary'"),
        ("tokenizer: <tokenizer>", "tokenizer: <mlm>", "needs itself"),
        ("split: dev", "splitt: dev", r"tasks\.pos\.splitt"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        plan_of(tmp_path, TEXT.replace(old, new))
