"""What a step leaves: paths in its folder, facts and numbers; and what it reads from outside."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import pytest
from study_steps import Add

from isoglot.core.errors import ConfigurationError
from isoglot.studies.inputs import Input, outside
from isoglot.studies.lab import Lab
from isoglot.studies.parts import Work
from isoglot.studies.step import texts_of, with_leaves

SIZES = {"seeds": ([1], [1], [1])}


def lab_in(folder: Path) -> Lab:
    return Lab(SIZES, root=folder)


def add(lab: Lab, number: float = 1, name: str = "add", **more: object) -> Work:
    return lab.make(name, Add, log="x", number=number, **more)


def test_a_folder_is_named_by_its_step_alone(tmp_path: Path) -> None:
    lab = lab_in(tmp_path / "one")
    one = add(lab)
    assert one.folder.parent == tmp_path / "one" / "analyse" and one.folder.name.startswith("add-")
    assert one.folder.name[4:] == add(lab, name="another name", label="a run").folder.name[-16:]
    folders = {one.folder, add(lab, 2).folder, add(lab, to="y").folder}
    assert len(folders) == 3
    above = add(lab, to=one)
    assert above.folder != add(lab, to=add(lab, 2)).folder, "what an input is, is part of the name"
    elsewhere = lab_in(tmp_path / "two")
    assert add(elsewhere, to=add(elsewhere)).folder.name == above.folder.name, "where studies are is not"


def test_a_path_in_its_folder_is_text(tmp_path: Path) -> None:
    one = add(lab_in(tmp_path))
    assert one / "sum" == f"{one}/sum" == f"{one.folder}/sum"
    assert add(lab_in(tmp_path), to=f"train={one}/sum#0:90%").step.to == f"train={one.folder}/sum#0:90%"  # type: ignore[attr-defined]


def test_a_work_that_is_not_made_has_no_number(tmp_path: Path) -> None:
    lab = lab_in(tmp_path)
    one = add(lab)
    assert isnan(one.value("sum"))
    known = one.fact("doubled")
    assert one.fact("doubled") == known, "asking twice plans equal steps"
    assert lab.shown({"size": 1000, "pool": [0, known]}) == {
        "size": 1000,
        "pool": [0, f"known after {one.title}"],
    }
    assert not any(tmp_path.iterdir())


def test_files_from_outside_are_those_that_no_step_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").touch()
    studies = f"{tmp_path}/studies/"
    paths = [
        f"{tmp_path}/there",
        f"train={studies}data/a-1/x",
        "/no/such",
        "mbert",
        f"{tmp_path}/there",
        "${HERE}/y",
    ]
    monkeypatch.setenv("HERE", str(tmp_path))
    assert outside(paths, studies) == [
        Input(f"{tmp_path}/there", there=True),
        Input("/no/such", there=False),
        Input("mbert", there=True),
        Input("${HERE}/y", there=False),
    ]


def test_variables_are_filled_in_where_a_step_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "/here")
    monkeypatch.delenv("NOWHERE", raising=False)
    step = Add(log="${HERE}/log", number=1)
    assert (step.log, step.expanded()) == ("${HERE}/log", Add(log="/here/log", number=1))
    with pytest.raises(ConfigurationError, match="export NOWHERE="):
        Add(log="${NOWHERE}/y", number=1).expanded()


def test_trees_are_changed_leaf_by_leaf() -> None:
    tree = {"a": ["x", 3], "b": {"c": ("y", None)}}
    assert list(texts_of(tree)) == ["x", "y"]
    assert with_leaves(tree, lambda leaf: str(leaf) if leaf is None else leaf) == {
        "a": ["x", 3],
        "b": {"c": ["y", "None"]},
    }
