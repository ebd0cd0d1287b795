from __future__ import annotations

from pathlib import Path

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.studies.catalogue import builtin_studies, find_studies

OWN = '''"""My studies."""

SIZES = {"seeds": ([1], [1], [1]), "steps": (1, 2, 3)}


def table10(lab):
    """The tenth.

    More.
    """


def table9(lab):
    """The ninth."""


def _helper(lab):
    """None."""


def helper(lab, more):
    """None."""
'''


def test_studies_are_in_the_order_of_their_modules_with_titles() -> None:
    names = [name for name in builtin_studies() if name.startswith("xlm_align")]
    assert names[:3] == ["xlm_align/table1", "xlm_align/table2", "xlm_align/table3"]
    assert names[-2:] == ["xlm_align/table19", "xlm_align/figure2"]
    assert all(study.title.endswith(".") for study in builtin_studies().values())


def test_a_file_of_ones_own_is_a_study(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    found = find_studies([str(path)])
    assert [(s.name, s.title) for s in found] == [
        ("mine/table10", "The tenth."),
        ("mine/table9", "The ninth."),
    ]
    assert found[0].sizes["steps"] == (1, 2, 3)
    assert [s.name for s in find_studies([f"{path}/table10"])] == ["mine/table10"]


def test_names_are_looked_up() -> None:
    assert [s.name for s in find_studies(["weam/table2", "weam/"])] == [
        "weam/table2",
        "weam/table1",
        "weam/figure2",
        "weam/masking_rate",
        "weam/loss_weight",
    ]
    with pytest.raises(ConfigurationError, match="unknown study 'weam/tabel2'; did you mean 'weam/table2'"):
        find_studies(["weam/tabel2"])
    with pytest.raises(ConfigurationError, match="unknown study"):
        find_studies(["nowhere.py"])


def test_a_folder_of_a_study_may_have_py_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / ".pyenv" / "old.py" / "study_in_pyenv.py"
    path.parent.mkdir(parents=True)
    path.write_text(OWN)
    assert [s.name for s in find_studies([f"{path}/table10"])] == ["study_in_pyenv/table10"]
    assert len(find_studies([str(path)])) == 2
