"""Every public name of isoglot as Markdown: how it is called, and what its docstring says."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from pydantic import BaseModel

import isoglot

__all__ = ["public_names", "wrong_arguments"]

_WIDEST = 100
_ROLE = re.compile(r":(?:class|func|meth|data|mod|attr|py:\w+):`~?([^`<]+)`")
_SECTION = re.compile(
    r"^(Args|Arguments|Attributes|Returns|Yields|Raises|Example|Examples|Shape|Note):\n", re.MULTILINE
)
_ENTRY = re.compile(r"(\*{0,2}\w+)(?: \([^)]*\))?:\s+(.*)", re.DOTALL)
_TITLES = {"Args": "Arguments", "Examples": "Example"}


def public_names() -> str:
    """All of them, with the methods of classes."""
    return "\n\n".join(_described(name, _public(name)) for name in isoglot._HOMES)


def _public(name: str) -> Any:
    """What a name stands for; of a package that is called like its verb the verb."""
    return getattr(import_module(isoglot._HOMES[name]), name)


def wrong_arguments() -> Iterator[str]:
    """Arguments that a docstring explains and the function does not take."""
    for name in isoglot._HOMES:
        value = _public(name)
        if not inspect.isclass(value):
            found = [(name, value, value)]
        elif issubclass(value, BaseModel):
            continue
        else:
            found = [(f"{name}.{n}", m, m) for n, m in vars(value).items()]
            found.append((name, value, value.__init__))
        for path, documented, function in found:
            if inspect.isfunction(function):
                known = {parameter.lstrip("*") for parameter in inspect.signature(function).parameters}
                bodies = [
                    body for title, body in _sections(inspect.getdoc(documented) or "") if title == "Args"
                ]
                yield from (
                    f"{path}: {n}" for b in bodies for n, _ in _entries(b) if n.lstrip("*") not in known
                )


def _described(name: str, value: Any) -> str:
    parts = [f"### {name}"]
    if not inspect.isclass(value):
        parts += [_block(_signature(name, value)), _text(value)]
    elif issubclass(value, BaseModel):
        lines = [
            f"    {n}: {_annotation(f)}" for n, f in value.__annotations__.items() if not n.startswith("_")
        ]
        parts += [_block("\n".join([f"class {name}:", *lines])), _text(value)]
        told = {n: f.description for n, f in value.model_fields.items() if f.description}
        parts.append("\n".join(f"- `{n}`: {_prose(text)}" for n, text in told.items()))
    else:
        initialiser = "__init__" in vars(value) and not value.__init__.__code__.co_filename.startswith("<")
        fields = getattr(value, "__annotations__", {}) if not initialiser else {}
        head = _signature(name, value.__init__) if initialiser else f"class {name}"
        lines = [f"    {n}: {_annotation(t)}" for n, t in fields.items() if not n.startswith("_")]
        parts += [_block("\n".join([head + ":" * bool(lines), *lines])), _text(value)]
    if inspect.isclass(value):
        parts.append("\n".join(_method(name, n, m) for n, m in vars(value).items() if _shown(n, m)))
    return "\n\n".join(filter(None, parts))


def _shown(name: str, member: Any) -> bool:
    plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    return not name.startswith(("_", "model_")) and inspect.isfunction(plain) and bool(plain.__doc__)


def _method(owner: str, name: str, member: Any) -> str:
    """One line for a method: how it is called and its summary."""
    plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    summary = _prose((inspect.getdoc(plain) or "").partition("\n\n")[0])
    return f"- `{' '.join(_signature(f'{owner}.{name}', plain).split())}`  \n  {summary}"


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", text)


def _signature(name: str, function: Any) -> str:
    """The call as the source writes it, without ``self``."""
    node: Any = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    positional = node.args.posonlyargs or node.args.args
    if positional and positional[0].arg in ("self", "cls"):
        del positional[0]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({ast.unparse(node.args)}){returned}"
    if len(line) <= _WIDEST:
        return line
    spread = (
        ast.unparse(ast.parse(f"def f({ast.unparse(node.args)}): pass")).partition("(")[2].rpartition("):")[0]
    )
    return f"{name}(\n" + "".join(f"    {part},\n" for part in _split(spread)) + f"){returned}"


def _split(text: str) -> list[str]:
    """Arguments apart: at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


def _sections(doc: str) -> Iterator[tuple[str, str]]:
    """The title and text of each section of a docstring; the first has none."""
    first, *rest = _SECTION.split(doc)
    yield "", first
    yield from zip(rest[::2], rest[1::2], strict=True)


def _entries(body: str) -> Iterator[tuple[str, str]]:
    """Names and their explanations; what follows the section is left out."""
    for text in re.split(r"\n(?=\S)", textwrap.dedent(body).strip()):
        if (found := _ENTRY.fullmatch(text)) is not None:
            yield found[1], " ".join(found[2].split())


def _text(value: Any) -> str:
    """The docstring as Markdown."""
    parts = []
    for title, body in _sections(inspect.getdoc(value) or ""):
        inside, _, after = re.sub(r"\n(?=\S)", "\0", body).partition("\0") if title else (body, "", "")
        heading = f"**{_TITLES.get(title, title)}**"
        if not title:
            parts.append(_prose(body))
        elif title.startswith("Example"):
            parts.append(f"{heading}\n\n{_block(textwrap.dedent(inside).strip())}")
        elif entries := list(_entries(inside)):
            parts.append("\n".join([heading, "", *(f"- `{name}`: {_prose(text)}" for name, text in entries)]))
        else:
            parts.append(f"{heading}: {_prose(textwrap.dedent(inside))}")
        parts += [_prose(after.replace("\0", "\n"))] if after.strip() else []
    return "\n\n".join(part for part in parts if part.strip())


def _prose(text: str) -> str:
    """Paragraphs and lists of a docstring: references become code."""
    return _ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", text).replace("``", "`").strip()
