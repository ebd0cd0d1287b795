"""The architecture as a test: imports only go down, floor-mates do not meet, files stay readable."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import isoglot

ROOT = Path(isoglot.__file__).parent
FLOORS: dict[str, int] = {
    name: floor
    for floor, names in enumerate(
        [
            ["core"],
            ["runs"],
            ["checkpoints", "results", "study_request"],
            ["recipe", "formats"],
            ["corpus", "modules"],
            ["aligners", "derivation", "losses", "synthetic", "testing"],
            ["objectives", "views"],
            ["training", "tasks"],
            ["pretraining", "finetuning", "evaluation", "reports"],
            ["analysis", "mining", "projection"],
            ["studies"],
            ["papers"],
            ["cli"],
        ]
    )
    for name in names
}
MAX_LINES = 400
TEST_ONLY = {"testing": {"testing"}}
"""Part -> the parts that may import it; everything else must be a test."""


def part_of(module: str) -> str:
    """``isoglot.formats.readers`` -> ``formats``."""
    return module.split(".")[1]


def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file; each file of the package is parsed once for all tests."""
    return _parsed(path.read_text(encoding="utf-8"))


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def modules(root: Path = ROOT) -> dict[str, Path]:
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(("isoglot", *(p for p in parts if p != "__init__")))] = path
    return found


def imports_of(name: str, path: Path, known: set[str]) -> Iterator[tuple[str, int, bool]]:
    """(imported isoglot module, line, whether it ever runs) of one module, imports inside functions included."""
    tree = tree_of(path)
    types = {id(inner) for node in ast.walk(tree) if _is_type_checking(node) for inner in ast.walk(node)}
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            targets = [f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names]
        for target in dict.fromkeys(targets):
            if target == "isoglot" or target.startswith("isoglot."):
                yield target, node.lineno, id(node) not in types


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def violations(found: dict[str, Path]) -> list[str]:
    """Every import that climbs, or that reaches a floor-mate in another part."""
    bad = []
    known = set(found)
    for name, path in found.items():
        if name == "isoglot":
            continue  # the public surface: it names modules of all floors, and imports them when asked
        part = part_of(name)
        for target, line, _ in imports_of(name, path, known):
            if target == "isoglot":
                continue
            other = part_of(target)
            if other == part:
                continue
            if FLOORS[other] >= FLOORS[part]:
                how = "climbs to" if FLOORS[other] > FLOORS[part] else "reaches its floor-mate"
                bad.append(
                    f"{path}:{line}: {part} (floor {FLOORS[part]}) {how} {other} (floor {FLOORS[other]})"
                )
            elif part not in TEST_ONLY.get(other, {part}):
                bad.append(f"{path}:{line}: {other} is for tests")
    return bad


def circles(found: dict[str, Path]) -> list[str]:
    """Circles among the imports that ever run, those inside functions too."""
    known = set(found)
    graph = {
        name: {
            target
            for target, _, runs in imports_of(name, path, known)
            if runs and target in known and target != name
        }
        for name, path in found.items()
    }
    bad: list[str] = []
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            bad.append(" -> ".join((*trail[trail.index(name) :], name)))
        elif name not in done:
            for target in sorted(graph[name]):
                visit(target, (*trail, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())
    return bad


def test_every_module_has_a_floor() -> None:
    homeless = [
        str(path) for name, path in modules().items() if name != "isoglot" and part_of(name) not in FLOORS
    ]
    assert not homeless, "give them a floor in FLOORS, or a home in a package that has one"


def test_contributing_shows_the_same_floors() -> None:
    page = (ROOT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = {
        name.rstrip("/"): int(row[1])
        for row in re.finditer(r"^\| (\d+) \| (.+?) \|", page, re.MULTILINE)
        for name in re.findall(r"`([\w/]+)`", row[2])
    }
    assert shown == FLOORS


def test_imports_only_go_down() -> None:
    assert not violations(modules())


def test_no_circles() -> None:
    assert not circles(modules())


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"modules/a.py": "from isoglot.training import model"},
            f"modules (floor {FLOORS['modules']}) climbs to training",
        ),
        (
            {"views/a.py": "import isoglot.objectives.base"},
            f"views (floor {FLOORS['views']}) reaches its floor-mate objectives",
        ),
        (
            {"views/a.py": "def f():\n    from isoglot.cli import main"},
            f"a.py:2: views (floor {FLOORS['views']}) climbs to cli",
        ),
        (
            {"aligners/a.py": "from ..derivation import base"},
            f"aligners (floor {FLOORS['aligners']}) reaches its floor-mate derivation",
        ),
        ({"tasks/a.py": "from isoglot import reports"}, f"tasks (floor {FLOORS['tasks']}) climbs to reports"),
        ({"training/a.py": "from isoglot.testing import tiny_model"}, "testing is for tests"),
        ({"views/a.py": "from isoglot.recipe.spec import Spec\nfrom isoglot.views import b"}, None),
    ],
)
def test_the_check_sees_each_kind_of_climb(
    tmp_path: Path, files: dict[str, str], expected: str | None
) -> None:
    names = [f"{part}/__init__.py" for part in FLOORS] + [
        "recipe/spec.py",
        "views/b.py",
        "derivation/base.py",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = violations(modules(tmp_path))
    assert (not found) if expected is None else any(expected in f for f in found), found


def test_the_check_sees_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import isoglot.b\n")
    (tmp_path / "b.py").write_text("from isoglot import c\n")
    (tmp_path / "c.py").write_text("if TYPE_CHECKING:\n    import isoglot.a\n")
    assert not circles(modules(tmp_path))
    for text in ("import isoglot.a\n", "def later():\n    import isoglot.a\n"):
        (tmp_path / "c.py").write_text(text)
        assert circles(modules(tmp_path)) == ["isoglot.a -> isoglot.b -> isoglot.c -> isoglot.a"]


def test_report_and_the_results_it_reads_never_import_torch() -> None:
    for name, path in modules().items():
        if name.startswith("isoglot.reports") or name in {
            "isoglot.results.rows",
            "isoglot.results.link_counts",
            "isoglot.core.errors",
        }:
            tree = tree_of(path)
            roots = {
                (node.module or "" if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0]
                for node in ast.walk(tree)
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            assert not roots & {"torch", "transformers", "datasets"}, path


def test_tasks_know_no_objective_and_alignment_no_training() -> None:
    known = set(modules())
    forbidden = {
        "tasks": {"objectives", "training", "views"},
        "reports": set(FLOORS) - {"core", "runs", "results", "reports"},
    }
    readers = "isoglot.formats.link"  # of link files, which load no torch
    for name, path in modules().items():
        for target, line, _ in imports_of(name, path, known):
            if name != "isoglot" and target != "isoglot" and not target.startswith(readers):
                assert part_of(target) not in forbidden.get(part_of(name), set()), f"{path}:{line}"


def class_names() -> dict[str, list[str]]:
    """Every class of the package, those inside functions too, with the lines where one of that name begins."""
    found: dict[str, list[str]] = {}
    for path in modules().values():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{path}:{node.lineno}")
    return found


def test_no_two_classes_have_one_name() -> None:
    assert not {name: places for name, places in class_names().items() if len(places) > 1}


def test_files_are_short_enough_to_read() -> None:
    long = {str(p): n for p in modules().values() if (n := len(p.read_text().splitlines())) > MAX_LINES}
    assert not long


def test_the_library_never_prints() -> None:
    printing = [
        f"{path}:{node.lineno}"
        for name, path in modules().items()
        if part_of(name + ".") != "cli"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not printing


def test_no_machine_paths_in_sources() -> None:
    own = re.compile(r"(?<![\w.])/(home|root|work|Users)/\w")
    files = [*ROOT.rglob("*.py"), *ROOT.rglob("*.yaml")]
    assert not [f"{p}: {m[0]}" for p in files if (m := own.search(p.read_text(encoding="utf-8")))]


def test_public_surface_is_sorted_complete_and_lazy() -> None:
    assert list(isoglot.__all__) == sorted(isoglot.__all__, key=str.casefold)
    assert len(set(isoglot.__all__)) == len(isoglot.__all__)
    assert set(isoglot.__all__) <= set(dir(isoglot))
    code = "import sys, isoglot; print(sorted({'torch', 'transformers', 'datasets', 'pydantic'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_type_checkers_see_every_public_name() -> None:
    stub = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names), "else not exported"
    seen = {node.names[0].name: node.module for node in imports}
    assert seen == isoglot._HOMES | dict.fromkeys(isoglot._PACKAGES, "isoglot")
    assert all(getattr(isoglot, name).__name__ == f"isoglot.{name}" for name in isoglot._PACKAGES)


@pytest.mark.slow
def test_public_names_have_types_and_unknown_ones_are_errors(tmp_path: Path) -> None:
    names = [*isoglot.__all__, *isoglot._PACKAGES]
    calls = {
        'align_many([("a", "b")])': "ResultList[isoglot.formats.sentence_pair.SentencePair]",
        'align_many(iter([("a", "b")]))': "typing.Iterator[isoglot.formats.sentence_pair.SentencePair]",
        'score(["0-0"], [{(0, 0)}]).aer': "float",
        'tune("box", "gold.jsonl").choice': "dict[str, Any]",
        'StatisticalAligner().align_words(["a"], ["b"]).word_pairs': "list[tuple[str, str]]",
    }
    names += calls
    code = ["import isoglot as iso", *(f"reveal_type(iso.{name})" for name in names), "iso.load_recip"]
    (tmp_path / "user.py").write_text("\n".join(code) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", str(tmp_path / "user.py")]
    environment = os.environ | {"MYPYPATH": str(ROOT.parent)}
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT.parents[1], env=environment
    ).stdout.splitlines()
    seen = [line for line in found if "Revealed type" in line]
    assert len(seen) == len(names), found
    assert not [line for line in seen if 'is "Any"' in line], "these have no type"
    for line, wanted in zip(seen[-len(calls) :], calls.values(), strict=True):
        assert wanted in line
    errors = [line for line in found if " error: " in line]
    assert len(errors) == 1 and "load_recip" in errors[0], errors


@pytest.mark.parametrize("name", isoglot.__all__)
def test_every_public_name_resolves(name: str) -> None:
    value = getattr(isoglot, name)
    assert value is getattr(isoglot, name), "the second read gives the same object"
    if callable(value):
        assert value.__doc__, f"{name} has no docstring"


def test_an_unknown_public_name_is_an_attribute_error_with_a_hint() -> None:
    with pytest.raises(AttributeError, match="did you mean 'load_recipe'"):
        getattr(isoglot, "load_recip")  # noqa: B009


def test_models_and_tokenizers_are_loaded_in_one_place_and_without_remote_code() -> None:
    calls = [
        (name, call)
        for name, path in modules().items()
        for call in ast.walk(tree_of(path))
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "from_pretrained"
        if ast.unparse(call.func) != "nn.Embedding.from_pretrained"
    ]
    assert {name for name, _ in calls} == {
        "isoglot.modules.checkpoint",
        "isoglot.corpus.encode.load_tokenizer",
    }
    for name, call in calls:
        given = {word.arg: ast.unparse(word.value) for word in call.keywords}
        assert given.get("trust_remote_code") == "False", f"{name}:{call.lineno}"
