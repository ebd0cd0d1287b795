"""Code of one's own: its module, what that imports of its folder, and what a notebook or script defines."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from own_modules import OwnModules
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.objectives import MaskedLMObjective
from isoglot.runs.code import code_files, code_hashes

PACKAGE = {
    "mine/__init__.py": "",
    "mine/losses.py": "import torch\nfrom mine.parts import scale\nfrom . import base\n\n\nclass Loss(base.Base):\n"
    "    def run(self):\n        from .late import late\n        return late\n",
    "mine/parts.py": "def scale(x):\n    return 2 * x\n",
    "mine/base.py": "import beside.deep\n\n\nclass Base:\n    pass\n",
    "mine/late.py": "late = 1\n",
    "mine/unread.py": "unread = 1\n",
    "beside/__init__.py": "",
    "beside/deep.py": "deep = 1\n",
}
READ = sorted(PACKAGE.keys() - {"mine/unread.py"})


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnModules:
    return OwnModules(tmp_path, monkeypatch)


def hashes(name: str) -> dict[str, str]:
    module, _, attribute = name.partition(":")
    return code_hashes(getattr(importlib.import_module(module), attribute))


def test_a_module_and_what_it_imports_of_its_folder(modules: OwnModules) -> None:
    for name, text in PACKAGE.items():
        modules.write(name, text)
    before = hashes("mine.losses:Loss")
    assert sorted(before) == READ
    for name, text in PACKAGE.items():
        modules.write(name, f"{text}# another\n")
        changed = {key for key, value in hashes("mine.losses:Loss").items() if value != before[key]}
        assert changed == ({name} & set(READ))
        modules.write(name, text)
    loss = importlib.import_module("mine.losses").Loss
    for made in (loss, loss(), loss().run, loss.run):
        assert {file.relative_to(modules.folder).as_posix() for file in code_files(made)} == set(READ)


def test_an_import_from_above_the_root_counts_for_nothing(modules: OwnModules) -> None:
    modules.write("mine/__init__.py", "")
    modules.write("mine/lazy.py", "def f():\n    from ... import outside\n    return outside\n")
    outside = modules.folder.parent / "outside.py"
    outside.write_text("")
    try:
        assert sorted(hashes("mine.lazy:f")) == ["mine/__init__.py", "mine/lazy.py"]
    finally:
        outside.unlink()


@pytest.mark.parametrize("made", [MaskedLMObjective, torch.nn.Linear, print, json.loads, 3, Path("x")])
def test_code_that_is_installed_or_ships_with_isoglot_counts_for_nothing(made: Any) -> None:
    assert code_hashes(made) == {} and code_files(made) == []


def test_code_that_cannot_be_read_counts_all_the_same(modules: OwnModules) -> None:
    modules.write(
        "odd.py", "try:\n    import broken\nexcept SyntaxError:\n    pass\n\n\nclass A:\n    pass\n"
    )
    modules.write("broken.py", "def (\n")
    assert sorted(hashes("odd:A")) == ["broken.py", "odd.py"]


def test_a_file_that_changed_after_it_was_imported_is_refused(modules: OwnModules) -> None:
    file = modules.write("held.py", "class A:\n    pass\n")
    before = hashes("held:A")
    file.write_text("class A:\n    other = 1\n")
    with refused(ConfigurationError, "held.py: ", "reload(held)"):
        hashes("held:A")
    importlib.reload(sys.modules["held"])
    assert hashes("held:A") != before


@pytest.fixture
def two_of_one_name(modules: OwnModules, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Classes of two folders that both have a file `common.py`; Python imported that of the last class."""
    for folder in ("one", "two"):
        monkeypatch.syspath_prepend(modules.folder / folder)
        (modules.folder / folder).mkdir()
        (modules.folder / folder / f"class_{folder}.py").write_text("import common\n\n\nclass A:\n    pass\n")
        (modules.folder / folder / "common.py").write_text(f"# {folder}\n")
    modules.names |= {"class_one", "class_two", "common"}
    classes = [importlib.import_module(name).A for name in ("class_one", "class_two")]
    imported = Path(str(sys.modules["common"].__file__))
    yield sorted(classes, key=lambda kind: Path(code_files(kind)[0]).parent == imported.parent)
    modules.forget()


def test_a_change_is_refused_too_where_another_folder_has_a_file_of_that_name(
    two_of_one_name: list[Any],
) -> None:
    other, imported = two_of_one_name
    code_hashes(imported, other)
    Path(str(sys.modules["common"].__file__)).write_text("# changed\n")
    with refused(ConfigurationError, "common.py: ", "reload(common)"):
        code_hashes(imported, other)


def test_a_change_of_either_of_two_files_of_one_name_counts(two_of_one_name: list[Any]) -> None:
    other, imported = two_of_one_name
    before = code_hashes(other, imported)
    assert code_hashes(imported, other) == before
    Path(code_files(other)[0]).with_name("common.py").write_text("# changed\n")
    assert code_hashes(other, imported)["common.py"] != before["common.py"]


SCRIPT = """
import json
from dataclasses import dataclass
from functools import cached_property

from isoglot.runs.code import code_hashes
from used import part

SCALE = 3.0
RATES = [0.1]
UNUSED = 1


def helper(x):
    return SCALE * x


def unused():
    return 1


class Base:
    def base(self):
        return 1


@dataclass
class U(Base):
    t: float = 2.0

    @property
    def double(self):
        return 2 * self.t

    @cached_property
    def rate(self):
        return RATES[0]

    def forward(self):
        return [helper(x) for x in part(self.t)]


print(json.dumps(code_hashes(U)))
"""


@pytest.mark.parametrize("how", [pytest.param("script", marks=pytest.mark.slow), "stdin"])
def test_code_of_a_script_counts_with_what_it_names(tmp_path: Path, how: str) -> None:
    (tmp_path / "used.py").write_text("def part(x):\n    return [x]\n")

    def ask(text: str) -> dict[str, str]:
        file = tmp_path / "script.py"
        file.write_text(text)
        command = [sys.executable, str(file) if how == "script" else "-"]
        run = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=120
        )
        found: dict[str, str] = json.loads(run.stdout)
        return found

    before = ask(SCRIPT)
    assert sorted(before) == ["__main__:Base", "__main__:U", "__main__:helper", "used.py"]
    assert (
        ask(SCRIPT.replace("UNUSED = 1", "UNUSED = 2").replace("return 1\n\n\nclass", "return 2\n\n\nclass"))
        == before
    )
    for old, new, changed in (
        ("SCALE = 3.0", "SCALE = 4.0", "__main__:helper"),
        ("SCALE * x", "SCALE + x", "__main__:helper"),
        ("t: float = 2.0", "t: float = 2.5", "__main__:U"),
        ("2 * self.t", "3 * self.t", "__main__:U"),
        ("RATES[0]", "-RATES[0]", "__main__:U"),
        ("RATES = [0.1]", "RATES = [0.2]", "__main__:U"),
        ("part(self.t)", "part(-self.t)", "__main__:U"),
        ("return 1\n\n\n@data", "return 2\n\n\n@data", "__main__:Base"),
    ):
        after = ask(SCRIPT.replace(old, new))
        assert {name for name in before if before[name] != after[name]} == {changed}, new
