from __future__ import annotations

from pathlib import Path

import pytest
from study_world import TEXT, write_study_file

from isoglot.errors import ConfigurationError
from isoglot.report.papers import paper_tables
from isoglot.studies.file import builtin_studies, check_changes, find_studies, load_study, scales_of
from isoglot.studies.plan import build_plan


def test_a_scale_lies_over_the_file_and_overrides_over_both(tmp_path: Path) -> None:
    path = write_study_file(tmp_path)
    assert scales_of(path) == ["tiny", "paper"]
    tiny, paper = load_study(path, "tiny"), load_study(path, "paper", ["seeds=[5]", "values.dictionary=0.1"])
    assert (tiny.seeds, tiny.values["steps"], tiny.about) == ([1, 2], 2, "a test")
    assert (paper.seeds, paper.values["steps"], paper.values["dictionary"]) == ([5], 500000, 0.1)


def test_a_value_that_no_study_has_is_refused(tmp_path: Path) -> None:
    paths = [write_study_file(tmp_path)]
    check_changes(
        paths, "tiny", ["seeds=[5]", "values.steps=3", "values.dictionary=0.1", "systems.mlm.seed=1"]
    )
    with pytest.raises(
        ConfigurationError, match=r"--set values\.stepz=3: no value is named 'stepz'.*'steps'"
    ):
        check_changes(paths, "tiny", ["values.stepz=3", "values.steps=3"])


def test_variables_stay_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_FOLDER", "/here")
    text = TEXT.replace(
        "text: [<english>/text/en.train.txt]", 'text: ["${SOME_FOLDER}/a.txt", "${NOT_SET}/b.txt"]'
    )
    study = load_study(write_study_file(tmp_path, text), "tiny")
    assert study.data["tokenizer"]["text"] == ["${SOME_FOLDER}/a.txt", "${NOT_SET}/b.txt"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title: a toy", "titel: a toy", r"toy\.yaml:2: titel.*did you mean 'title'"),
        ("seeds: [1, 2]", "seeds: []", r"toy\.yaml:\d+: seeds"),
        ("values: {", "values: {english: 1, ", "given twice"),
        ("  tiny: {about", "  tinny: {about", "scale"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_study(write_study_file(tmp_path, TEXT.replace(old, new)), "tiny")


def test_a_scale_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="the study has tiny, paper"):
        load_study(write_study_file(tmp_path), "small")


def test_studies_are_found_by_name_folder_and_path(tmp_path: Path) -> None:
    path = write_study_file(tmp_path)
    assert find_studies([str(path)]) == [path]
    assert len(find_studies(["align_mlm"])) == 9
    assert find_studies(["align_mlm/table3"]) == [builtin_studies()["align_mlm/table3"]]
    with pytest.raises(ConfigurationError, match="did you mean 'align_mlm/table3'"):
        find_studies(["align_mlm/tabel3"])


@pytest.mark.parametrize("name", sorted(builtin_studies()))
def test_every_built_in_study_can_be_planned_at_every_scale(name: str) -> None:
    path = builtin_studies()[name]
    assert "paper" in scales_of(path)
    assert "tiny" in scales_of(path)
    for scale in scales_of(path):
        plan = build_plan(load_study(path, scale, ["seeds=[1]"]), assume=True)
        told = scale == "small" and all(cell.mark for table in plan.tables for cell in table.cells)
        assert plan.leaves() or told, f"{name} measures nothing at {scale}"
        assert all(table.entry.paper.partition(":")[0] in name for table in plan.tables)


def test_the_studies_of_align_mlm_cover_its_results() -> None:
    wanted = {t.name for t in paper_tables() if t.paper == "align_mlm" and t.kind == "results"}
    paths = find_studies(["align_mlm"])
    covered = {table.entry.paper for path in paths for table in build_plan(load_study(path, "tiny")).tables}
    assert covered == wanted
