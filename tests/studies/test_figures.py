from __future__ import annotations

from pathlib import Path

import pytest
from study_world import TEXT, write_study_file

from isoglot.errors import ConfigurationError
from isoglot.studies.check import check_plan
from isoglot.studies.figures import collect_figures
from isoglot.studies.file import load_study
from isoglot.studies.plan import Plan, build_plan

FIGURE = """\
figures:
  figure2:
    paper: weam:Figure2
    type: map
    panels:
      - {system: mlm, label: before}
      - {system: SYSTEM, label: after, values: VALUES}
    options: {corpus: [<derived>/xx/text/aligned], OPTION}
"""


def plan_of(folder: Path, *, system: str = "align_mlm", values: str = "{}", option: str = "count: 5") -> Plan:
    figure = FIGURE.replace("SYSTEM", system).replace("VALUES", values).replace("OPTION", option)
    return build_plan(load_study(write_study_file(folder, TEXT + figure), "tiny"))


def test_a_figure_is_a_unit_of_its_checkpoints(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    (figure,) = plan.figures
    assert figure.unit is not None
    kinds = [(unit.kind, unit.name) for unit in figure.unit.needs]
    assert [kind for kind, _ in kinds] == ["pretrain", "pretrain", "data"]
    assert figure.unit.config["labels"] == ["before", "after"]
    assert figure.unit.config["options"]["name"] == "figure2"
    assert figure.unit in check_plan(plan, tmp_path / "out").units
    alone = plan.count("figure", (1, 2)) + plan.count("figure", (2, 2))
    assert plan.count("figure") == alone == 1  # in one part of the work


def test_the_runs_of_tables_and_figures_are_shared(tmp_path: Path) -> None:
    assert plan_of(tmp_path, values="{dictionary: 0.25}").count("pretrain") == build_plan(
        load_study(write_study_file(tmp_path, TEXT), "tiny")
    ).count("pretrain")


def test_a_system_that_is_not_there_leaves_the_figure_out(tmp_path: Path) -> None:
    (figure,) = plan_of(tmp_path, system="laser").figures
    assert figure.unit is None
    assert "laser is not there" in figure.mark


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"'dictionry' is no value.*dictionary"):
        plan_of(tmp_path, values="{dictionry: 1}")
    with pytest.raises(ConfigurationError, match="isoglot analyse map"):
        check_plan(plan_of(tmp_path, option="cont: 5"), tmp_path / "out")


def test_figures_are_collected(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "figures").mkdir(parents=True)
        (tmp_path / name / "figures" / f"{name}.json").write_text(name)
    found = collect_figures([tmp_path / "a", tmp_path / "b", tmp_path / "none"], tmp_path / "out")
    assert [path.read_text() for path in found] == ["a", "b"]
    assert not collect_figures([tmp_path / "none"], tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
