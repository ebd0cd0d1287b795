"""Pages of the documentation as programs: a page's blocks run from top to bottom in a folder.

Sybil finds them. ``bash`` and ``python`` blocks run; a block with ``title="FILE"`` is written to that file; ``text
title="Output"`` is what the block before it prints, ``...`` standing for anything; a ``diff`` fits the repository. A
comment ``<!--- skip: next "reason" -->`` before a block (``start`` and ``end`` around several) says why it cannot run
here; its commands and flags must exist all the same.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import SkipTest

import click
import loaded
import typer
from sybil import Example, Region, Sybil
from sybil.document import Document
from sybil.parsers.markdown import SkipParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from isoglot.cli import app
from isoglot.recipe.document import compose
from isoglot.recipe.source import builtin_recipes
from isoglot.studies.catalogue import find_studies

__all__ = ["ROOT", "Page", "check_commands", "pages"]

ROOT = Path(__file__).parents[2]
_SHOWN = ("text", "yaml", "json", "tsv", "ini", "dockerfile")
_INFO = re.compile(r'(?P<language>\w*)(?: title="(?P<title>[^"]+)")?[ \t]*$\n', re.MULTILINE)
_LIKE = doctest.OutputChecker()
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_ISOGLOT = re.compile(r"^\s*(?:[A-Z_]+=\S*\s+)*(?:time\s+)?(?:isoglot|.*\bisoglot\.cli)\s+(.*)")


def pages() -> list[Path]:
    """README and every page below docs, relative to the repository."""
    return [Path("README.md"), *sorted(p.relative_to(ROOT) for p in (ROOT / "docs").rglob("*.md"))]


@dataclass
class Page:
    """A page that is being run.

    Args:
        path: relative to the repository.
        folder: where its commands run.
    """

    path: Path
    folder: Path
    output: str = ""
    ran: int = 0
    skipped: int = 0
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    notebook: ModuleType | None = None

    def __post_init__(self) -> None:
        """Of a page that names its own classes (``__main__:Name``) the blocks are cells of one script."""
        if "__main__:" in (ROOT / self.path).read_text(encoding="utf-8"):
            self.notebook = ModuleType("__main__")
            self.names = vars(self.notebook)

    def run(self) -> None:
        """Run every block in its order, and check the commands of those that say why they cannot run."""
        sybil = Sybil(parsers=[self._blocks, SkipParser()], path=str(ROOT), patterns=["*.md"])
        for example in sybil.parse(ROOT / self.path).examples():
            try:
                example.evaluate()
            except SkipTest:
                self.skipped += 1
                if example.parsed["language"] == "bash":
                    check_commands(str(example.parsed["source"]), self._place(example))

    def _blocks(self, document: Document) -> list[Region]:
        lexed = RawFencedCodeBlockLexer(_INFO)(document)
        return [Region(r.start, r.end, r.lexemes, self._evaluate) for r in lexed]

    def _place(self, example: Example) -> str:
        return f"{self.path}:{example.line}"

    def _evaluate(self, example: Example) -> None:
        language, title = example.parsed["language"], example.parsed["title"]
        source, place = str(example.parsed["source"]), self._place(example)
        if title == "Output":
            if not _LIKE.check_output(source, self.output, _OPTIONS):
                raise AssertionError(
                    f"{place}: the page says\n{source}\nand the command printed\n{self.output}"
                )
        elif title is not None:
            file = self.folder / title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        elif language == "bash":
            self.output = self._shell(source, place)
            self.ran += 1
        elif language == "python":
            self.output = self._python(source, place)
            self.ran += 1
        elif language == "yaml":
            compose(source, place)
        elif language == "diff":
            done = subprocess.run(
                ["git", "apply", "--check", "--recount"],
                input=source,
                cwd=ROOT,
                text=True,
                capture_output=True,
                check=False,
            )
            if done.returncode:
                raise AssertionError(f"{place}: the change does not fit the repository: {done.stderr}")
        elif language not in _SHOWN:
            raise AssertionError(
                f"{place}: a block of {language or 'no language'}; write one of bash, python, {_SHOWN}"
            )

    def _shell(self, source: str, place: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", source],
            cwd=self.folder,
            env={**os.environ, **_environment(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise AssertionError(
                f"{place}: exit code {done.returncode} of\n{source}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def _python(self, source: str, place: str) -> str:
        printed = io.StringIO()
        code = compile(source, place, "exec", dont_inherit=True)
        sys.path.insert(0, str(self.folder))  # as for a script there
        script = sys.modules["__main__"]
        sys.modules["__main__"] = self.notebook or script
        try:
            with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
                exec(code, self.names)
        finally:
            sys.modules["__main__"] = script
            sys.path.remove(str(self.folder))
        return printed.getvalue()


def _environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.pathsep.join(
            map(str, (loaded.commands(), Path(sys.executable).parent, os.environ["PATH"]))
        ),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), "."]),
        "ISOGLOT_CACHE": str(folder / ".cache"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "TOKENIZERS_PARALLELISM": "false",
        "COLUMNS": "100",
    }


def check_commands(source: str, place: str) -> None:
    """See that every isoglot command of a block has the name, the flags, the recipe and the study that it says."""
    for line in source.replace("\\\n", " ").splitlines():
        for part in re.split(r" \| | && |; ", line.partition("  #")[0]):
            if (found := _ISOGLOT.match(part)) is not None:
                text = found[1].rstrip("'") if found[1].count("'") % 2 else found[1]  # of sbatch --wrap '...'
                _check_command(shlex.split(text, comments=True), place)


@cache
def _commands() -> Any:
    """All commands, which take a tenth of a second to describe."""
    return typer.main.get_command(app)


def _check_command(words: list[str], place: str) -> None:
    group = _commands()
    command = group
    context = click.Context(group, info_name="isoglot")
    rest = list(words)
    while hasattr(command, "get_command") and rest and not rest[0].startswith("-"):
        inner = command.get_command(context, rest[0])
        if inner is None and command is group:
            raise AssertionError(f"{place}: there is no command `isoglot {rest[0]}`")
        if inner is None:  # `isoglot report RUN` is `isoglot report page RUN`
            inner = command.get_command(context, "page")
        else:
            rest.pop(0)
        command, context = inner, click.Context(inner, info_name=inner.name, parent=context)
    known = {flag for p in command.get_params(context) for flag in (*p.opts, *p.secondary_opts)}
    for word in rest:
        flag = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", flag) and flag not in known:
            raise AssertionError(f"{place}: `isoglot {command.name}` has no option {flag}")
    if rest and command.name in ("pretrain", "inspect") and not rest[0].isupper():
        name = rest[0]
        if not (name in builtin_recipes() or name.endswith(".yaml") or name.startswith(("-", "$"))):
            raise AssertionError(f"{place}: there is no recipe {name}")
    if rest and command.name == "study" and "." not in rest[0] and not rest[0].startswith("-"):
        find_studies([rest[0]])
