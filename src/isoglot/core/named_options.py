"""Options in messages: written once as data, shown as arguments in Python and as flags on the command line.

A message names an option in double brackets, with a value as Python writes it where one belongs to it:

    "holds an unfinished run; add [[resume=True]] to continue it, or choose another [[out]]"

Python shows the arguments (:func:`as_argument`), a command its flags (:class:`isoglot.cli.spelling.FlagSpelling`):

    "holds an unfinished run; add resume=True to continue it, or choose another `out`"
    "holds an unfinished run; add --resume to continue it, or choose another --out"

A bare word is a placeholder for what the user fills in: ``[[out=FILE]]``.

Errors are spelled when they are shown (:mod:`isoglot.core.errors`). A note or a warning is plain text and needs a call
of :func:`spelled`.

A user's text that a message quotes may have double brackets too, such as a link in Wikipedia's markup. Pass it through
:func:`literal`, which keeps them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

NAMED = re.compile(r"\[\[(?P<name>[A-Za-z_][\w.]*)(?:=(?P<value>.*?))?\]\](?!\])", re.DOTALL)
"""An option in a message.

No bracket may follow the two at the end, because a list at the end of a value has its own: ``[[layers=[4, 8]]]``.
"""
_LITERAL = "[\N{WORD JOINER}["
"""Two brackets that name no option: :func:`literal` puts an invisible character between them, :func:`spelled` removes
it."""
NO_VALUE = object()
"""Stands for the value of an option that a message names without a value."""


class Placeholder(str):
    """A word that stands for a value the user fills in: ``FILE``."""

    __slots__ = ()


class WriteOption(Protocol):
    """A function by which one front end writes an option."""

    def __call__(self, name: str, value: Any) -> str:
        """Return the text of the option; ``value`` is :data:`NO_VALUE` for a name alone."""
        ...


def as_argument(name: str, value: Any) -> str:
    """Write an option as an argument of a Python call.

    Example:
        >>> as_argument("resume", True), as_argument("languages", ("de", "es")), as_argument("out", NO_VALUE)
        ('resume=True', 'languages=("de", "es")', '`out`')
        >>> as_argument("train.learning_rate", 5e-5)
        'overrides=["train.learning_rate=5e-05"]'
    """
    if value is NO_VALUE:
        return f"`{name}`"
    if "." in name:  # a key of a recipe, which Python sets by an override
        return f"overrides={_python_text([f'{name}={yaml_text(value)}'])}"
    return f"{name}={_python_text(value)}"


def _python_text(value: Any) -> str:
    """Write a value as Python code, with double quotes around texts, as most people type them."""
    if isinstance(value, Placeholder):
        return value
    if isinstance(value, str):
        quoted = repr(value)
        return quoted if '"' in value else f'"{quoted[1:-1]}"'
    if isinstance(value, dict):
        items = [f"{_python_text(key)}: {_python_text(item)}" for key, item in value.items()]
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_python_text, value)) + "]"
    if isinstance(value, tuple):
        comma = "," if len(value) == 1 else ""
        return "(" + ", ".join(map(_python_text, value)) + comma + ")"
    return repr(value)


def yaml_text(value: Any) -> str:
    """Write a value as recipes and ``--set`` have it, in YAML's flow style.

    A text that a recipe would read as something else, such as null or two items, is put into quotes.

    Example:
        >>> yaml_text({"type": "lora", "rank": 8}), yaml_text(True), yaml_text(("de", "es"))
        ('{type: lora, rank: 8}', 'true', '[de, es]')
        >>> yaml_text(["a, b", "null", "no"])
        '["a, b", "null", no]'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(yaml_text, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str) and not isinstance(value, Placeholder) and not _is_plain_yaml(value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _is_plain_yaml(text: str) -> bool:
    """Whether a text needs no quotes: a recipe reads ``[text]`` as a list of exactly this text.

    ``no`` needs none, because YAML 1.2 does not read it as false.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - for few messages
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        return bool(YAML(typ="safe", pure=True).load(f"[{text}]") == [text])
    except YAMLError:
        return False


_current: ContextVar[WriteOption] = ContextVar("_current", default=as_argument)


@contextmanager
def spelled_by(spelling: WriteOption) -> Iterator[None]:
    """Let all messages inside the block show options as one front end writes them."""
    token = _current.set(spelling)
    try:
        yield
    finally:
        _current.reset(token)


def spelled(text: str, spelling: WriteOption | None = None) -> str:
    """Write the options in a message as a front end does; by default the front end of :func:`spelled_by`, or Python.

    Example:
        >>> spelled("no languages; add [[languages=('de', 'es')]], or [[data={'test': FILE}]]")
        'no languages; add languages=("de", "es"), or data={"test": FILE}'
    """
    if "[[" in text:
        write = spelling or _current.get()
        text = NAMED.sub(lambda found: write(found["name"], value_of(found["value"])), text)
    return text.replace(_LITERAL, "[[")


def literal(text: str) -> str:
    """Protect a user's text in a message, so that double brackets in it name no option.

    Example:
        >>> spelled(f"unknown word {literal('[[Berlin]]')}; see [[lexicon]]")
        'unknown word [[Berlin]]; see `lexicon`'
    """
    return text.replace("[[", _LITERAL)


def value_of(text: str | None) -> Any:
    """Parse the value in ``[[name=value]]``; a bare word becomes a placeholder, no value :data:`NO_VALUE`.

    Example:
        >>> value_of("'de'"), value_of("5e-5"), value_of("FILE"), value_of("{'test': FILE}")
        ('de', 5e-05, 'FILE', {'test': 'FILE'})
    """
    if text is None:
        return NO_VALUE
    try:
        return _value_at(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return Placeholder(text)


def _value_at(node: ast.expr) -> Any:
    """Evaluate a parsed value as ``ast.literal_eval`` does, except that a bare word in it is a placeholder."""
    if isinstance(node, ast.Name):
        return Placeholder(node.id)
    if isinstance(node, ast.List):
        return [_value_at(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value_at(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_value_at(key): _value_at(item) for key, item in pairs if key}  # no key: {**other}
    return ast.literal_eval(node)
