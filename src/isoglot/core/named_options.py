"""Options in messages: written once as data, shown as arguments in Python and as flags on the command line.

A message names an option in double brackets, with a value as Python writes it where one belongs to it:

    "holds an unfinished run; add [[resume=True]] to continue it, or choose another [[out]]"

Python shows ``add resume=True to continue it, or choose another `out` ``, a command ``add --resume to continue it,
or choose another --out``, with its own flags (:class:`isoglot.cli.spelling.FlagSpelling`). A bare word is a placeholder
for what the user fills in: ``[[out=FILE]]``.

Errors are shown this way by themselves. A note or a warning is a plain text, so :func:`spelled` shows its options.

Text of a user that a message quotes may have double brackets of its own: Wikipedia writes its links so. :func:`literal`
keeps them as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

NAMED = re.compile(r"\[\[(?P<name>[A-Za-z_][\w.]*)(?:=(?P<value>.*?))?\]\](?!\])", re.DOTALL)
"""An option in a message. The brackets of a list at the end of a value belong to the value: ``[[layers=[4, 8]]]``."""
_LITERAL = "[\N{WORD JOINER}["
"""What :func:`literal` makes of two brackets, and :func:`spelled` takes back."""
NO_VALUE = object()
"""In place of a value, where a message names an option alone."""


class Placeholder(str):
    """A word that stands for a value the user fills in: ``FILE``."""

    __slots__ = ()


class WriteOption(Protocol):
    """How one front end writes an option."""

    def __call__(self, name: str, value: Any) -> str:
        """The option's text; ``value`` is :data:`NO_VALUE` for a name alone."""
        ...


def as_argument(name: str, value: Any) -> str:
    """An option as a Python call has it.

    Example:
        >>> as_argument("resume", True), as_argument("languages", ("de", "es")), as_argument("out", NO_VALUE)
        ('resume=True', 'languages=("de", "es")', '`out`')
        >>> as_argument("train.learning_rate", 5e-5)
        'overrides=["train.learning_rate=5e-05"]'
    """
    if value is NO_VALUE:
        return f"`{name}`"
    if "." in name:  # a key of a recipe
        return f"overrides={_python_text([f'{name}={yaml_text(value)}'])}"
    return f"{name}={_python_text(value)}"


def _python_text(value: Any) -> str:
    """A value as Python code, with the double quotes that most people type."""
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
    """A value as recipes and ``--set`` have it: flow style of YAML.

    Example:
        >>> yaml_text({"type": "lora", "rank": 8}), yaml_text(True), yaml_text(("de", "es"))
        ('{type: lora, rank: 8}', 'true', '[de, es]')
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(yaml_text, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


_current: ContextVar[WriteOption] = ContextVar("_current", default=as_argument)


@contextmanager
def spelled_by(spelling: WriteOption) -> Iterator[None]:
    """Show the options of all messages inside the block as one front end writes them."""
    token = _current.set(spelling)
    try:
        yield
    finally:
        _current.reset(token)


def spelled(text: str, spelling: WriteOption | None = None) -> str:
    """A message with its options as the front end writes them; by default the present one.

    Example:
        >>> spelled("no languages; add [[languages=('de', 'es')]], or [[data={'test': FILE}]]")
        'no languages; add languages=("de", "es"), or data={"test": FILE}'
    """
    if "[[" in text:
        write = spelling or _current.get()
        text = NAMED.sub(lambda found: write(found["name"], value_of(found["value"])), text)
    return text.replace(_LITERAL, "[[")


def literal(text: str) -> str:
    """Text of a user for a message, in which double brackets name no option.

    Example:
        >>> spelled(f"unknown word {literal('[[Berlin]]')}; see [[lexicon]]")
        'unknown word [[Berlin]]; see `lexicon`'
    """
    return text.replace("[[", _LITERAL)


def value_of(text: str | None) -> Any:
    """The value behind an option's name in a message.

    Example:
        >>> value_of("'de'"), value_of("5e-5"), value_of("FILE"), value_of("{'test': FILE}")
        ('de', 5e-05, 'FILE', {'test': 'FILE'})
    """
    if text is None:
        return NO_VALUE
    try:
        return _plain(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return Placeholder(text)


def _plain(node: ast.expr) -> Any:
    """The value of a literal, in which a bare word is a placeholder."""
    if isinstance(node, ast.Name):
        return Placeholder(node.id)
    if isinstance(node, ast.List):
        return [_plain(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_plain(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return {_plain(key): _plain(item) for key, item in zip(node.keys, node.values, strict=True) if key}
    return ast.literal_eval(node)
