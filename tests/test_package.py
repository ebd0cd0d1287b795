"""What is installed: the wheel's files, its page on PyPI, extras that messages name, and packages that are missing."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from isoglot.core.checks import EXTRAS, missing_package

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    builders = pytest.importorskip("hatchling.builders.wheel")
    pytest.importorskip("hatch_fancy_pypi_readme")
    builder = builders.WheelBuilder(str(ROOT))
    made = list(builder.build(directory=str(tmp_path_factory.mktemp("dist")), versions=["standard"]))
    return zipfile.ZipFile(made[0])


@pytest.mark.slow
def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    package = ROOT / "src" / "isoglot"
    there = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == there
    assert {Path(name).suffix for name in held} >= {".yaml", ".html", ".json", ".typed"}


@pytest.mark.slow
def test_the_page_on_pypi_has_full_addresses(wheel: zipfile.ZipFile) -> None:
    name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
    page = wheel.read(name).decode("utf-8").partition("\n\n")[2]
    code = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)]+)\)", code.sub("", page))
    relative = re.findall(r"\]\(([^)]+)\)", code.sub("", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert len(targets) == len(relative) > 0
    assert all(target.startswith(("https://", "#")) for target in targets)


def test_every_extra_that_a_message_or_a_page_names_is_there() -> None:
    extras = PROJECT["optional-dependencies"]
    for package, extra in EXTRAS.items():
        assert any(needed.startswith(package) for needed in extras[extra])
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]
    named = {
        extra.strip()
        for page in pages
        for names in re.findall(r"(?:isoglot|'\.)\[([a-z, ]+)\]", page.read_text(encoding="utf-8"))
        for extra in names.split(",")
    }
    assert named <= set(extras), "pip would only warn"
    install = (ROOT / "docs/start/install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `isoglot\[(\w+)\]`", install, re.MULTILINE)) == set(extras) - {"dev"}


@pytest.mark.parametrize(("package", "typed"), [("ray", "'isoglot[ray]'"), ("sacremoses", "sacremoses")])
def test_a_missing_package_is_one_line(package: str, typed: str) -> None:
    told = str(missing_package("--this", package, instead="--that"))
    assert told == (
        f"--this needs {package}, which is not installed; type `pip install {typed}`, or use --that"
    )


def test_python_versions_are_those_that_are_tested() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    tested = re.search(r"python: \[(.*)\]", workflow)
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert tested and tested[1].replace('"', "").split(", ") == named


def test_hooks_run_the_pinned_linter_in_an_environment_of_their_own() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    pinned = re.findall(r"^ruff==\S+$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.findall(r'"(.+?==.+?)"', hooks) == pinned
    assert ".venv" not in hooks and "language: system" not in hooks
