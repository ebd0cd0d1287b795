"""Docstrings as Markdown: Sphinx roles become code, formulas become MathML, which browsers draw without a library."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe
from latex2mathml.converter import convert

__all__ = ["PlainMarkdown", "as_markdown"]

_ROLE = re.compile(r":(?:class|func|meth|data|mod|attr|py:\w+):`~?([^`<]+)`")
_MATH = re.compile(r"^\.\. math::(.*(?:\n(?:[ \t]+\S.*)?)*)", re.MULTILINE)


def as_markdown(text: str) -> str:
    """One docstring as Markdown."""
    text = _MATH.sub(lambda found: f"\n{_formula(found[1])}\n\n", text).replace(
        "\nExample:\n", "\nExamples:\n"
    )
    return _ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", text).replace("``", "`")


def _formula(latex: str) -> str:
    return convert(" ".join(textwrap.dedent(latex).split()), display="block")


class PlainMarkdown(griffe.Extension):
    """Rewrites every docstring that mkdocstrings reads."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
