"""Messages as Python users need them: arguments where the command line has flags.

Errors are worded once, with flags. A function that is called from Python has them reworded as they leave it; inside a
command they stay.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import ParamSpec, TypeVar

from isoglot.errors import ConfigurationError, InputError, IsoglotError

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")

_IN_COMMAND = ContextVar("_IN_COMMAND", default=False)
_SWITCHES = frozenset(
    ["resume", "overwrite", "again", "any_language", "one_based", "header", "reverse", "one_document", "lowercase"]
)  # fmt: skip
"""Flags without a value."""
_WORDED = frozenset(
    ["engine", "to", "method", "kind", "aligner", "model", "search", "words", "symmetrisation", "uncertain",
     "precision", "dtype", "stop_words", "preset", "source_lang", "target_lang", "lang", "models", "pieces"]
)  # fmt: skip
"""Flags whose value may be a plain word."""
_PROSE = frozenset(
    ["and", "or", "out", "only", "is", "must", "needs", "says", "has", "once", "to", "for", "in", "of", "the",
     "which", "alone", "it", "with", "if"]
)  # fmt: skip
"""Words that follow a flag without being its value."""
_COMMAND = re.compile(r"(`[^`]*`)")
_SIDES = re.compile(r"--source-lang (\S+) --target-lang ([^\s,;)]+)")
_FLAG = re.compile(
    r"(?<![\w-])--(?P<name>[a-z][a-z0-9-]*)(?P<rest>[ =](?P<value>'[^']*'|[^\s;)]*[^\s;),.:]))?"
)


@contextmanager
def flags_named() -> Iterator[None]:
    """A command, whose errors name flags."""
    token = _IN_COMMAND.set(True)
    try:
        yield
    finally:
        _IN_COMMAND.reset(token)


def names_arguments(function: Callable[Parameters, Value]) -> Callable[Parameters, Value]:
    """Have the errors of a public function name its arguments, not flags, unless a command called it."""

    @functools.wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Value:
        try:
            return function(*args, **kwargs)
        except IsoglotError as error:
            if not _IN_COMMAND.get():
                if isinstance(error, ConfigurationError):
                    error.problems = [replace(p, text=in_python(p.text)) for p in error.problems]
                elif isinstance(error, InputError):
                    error.message = in_python(error.message)
                error.args = (in_python(str(error)),)
            raise

    return called


def in_python(text: str) -> str:
    """A message with arguments in place of flags; commands in backticks stay.

    Example:
        >>> in_python("holds an unfinished run; add --resume to continue it, or choose another --out")
        'holds an unfinished run; add resume=True to continue it, or choose another `out`'
        >>> in_python("no languages; name them with --languages de,es; keep the last with --set select=last")
        'no languages; name them with languages="de,es"; keep the last with select="last"'
    """
    parts = _COMMAND.split(text)
    return "".join(
        part if number % 2 else _FLAG.sub(_argument, _SIDES.sub(r'languages=("\1", "\2")', part))
        for number, part in enumerate(parts)
    )


def _argument(flag: re.Match[str]) -> str:
    name, value, rest = flag["name"].replace("-", "_"), (flag["value"] or "").strip("'"), flag["rest"] or ""
    if name == "set" and value:
        key, equals, setting = value.partition("=")
        return f"{key}={_literal(setting)}" if equals else f"`{key}`"
    if name in _SWITCHES:
        return f"{name}=True{rest}"
    if name == "data" and "=" in value:
        split, _, path = value.partition("=")
        return f'data={{"{split}": {_literal(path)}}}'
    worded = name in _WORDED and value not in _PROSE
    if value and (worded or value.isupper() or re.search(r"[\d./,:@{}]", value)):
        return f"{name}={_literal(value)}"
    return f"`{name}`{rest}"


def _literal(value: str) -> str:
    """A value as Python has it: a number or placeholder as it is, text in quotes.

    Example:
        >>> _literal("5"), _literal("last"), _literal("{type: lora, rank: 8}")
        ('5', '"last"', '{"type": "lora", "rank": 8}')
    """
    if value.startswith("{") and ":" in value and '"' not in value:
        return re.sub(r"[A-Za-z_]\w*", '"\\g<0>"', value)
    plain = value.isupper() or re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?|true|false|null|[\[{].*", value)
    words = {"true": "True", "false": "False", "null": "None"}
    return words.get(value, value) if plain else f'"{value}"'
