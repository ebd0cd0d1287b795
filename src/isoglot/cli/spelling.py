"""Write the options that messages name as the flags of the command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from isoglot.core.named_options import NO_VALUE, Placeholder, yaml_text

COMMAS = "VALUE,..."
"""Placeholder of a flag that takes several values with commas."""
_SIDES = ("source_language", "target_language")


class FlagSpelling:
    """Writes options as the flags of one command.

    An option without a flag of its own is a key of ``--set``, where the command has that; in a command that takes a
    recipe it is a key of one. ``languages``, as Python calls them, are ``--lang`` or ``--source-lang`` and
    ``--target-lang``, where the command has those.

    Args:
        command: The click command whose message is shown.
    """

    def __init__(self, command: Any) -> None:
        self._parameters = {parameter.name: parameter for parameter in command.params}
        self._has_set = any("--set" in parameter.opts for parameter in command.params)

    def __call__(self, name: str, value: Any) -> str:
        """The flag, and its value if there is one."""
        if name in self._parameters:
            return self._parameter(self._parameters[name], value)
        if name == "languages":
            return self._languages(value)
        return self._setting(name, value)

    def _parameter(self, parameter: Any, value: Any) -> str:
        """A flag or positional argument that the command has."""
        if parameter.param_type_name == "argument":
            return str(parameter.metavar or parameter.name.upper()) if value is NO_VALUE else _typed(value)
        flag = str(parameter.opts[0])
        if value is NO_VALUE:
            return flag
        if isinstance(value, bool):
            return flag if value else str((parameter.secondary_opts or parameter.opts)[0])
        return " ".join(f"{flag} {_typed(text)}" for text in self._values(parameter, value))

    def _values(self, parameter: Any, value: Any) -> list[Any]:
        """The values of a flag, one for each time that it is typed."""
        if isinstance(value, Mapping):
            return [f"{key}={item}" for key, item in value.items()]
        if not isinstance(value, list | tuple):
            return [value]
        with_commas = parameter.metavar == COMMAS or not parameter.multiple
        return [",".join(map(str, value))] if with_commas else list(value)

    def _languages(self, value: Any) -> str:
        """The language of a text, or both languages of a pair of texts."""
        several = isinstance(value, list | tuple) or "," in str(value)
        names = _SIDES if _SIDES[0] in self._parameters and (several or value is NO_VALUE) else ("language",)
        flags = [self._parameters[name].opts[0] for name in names if name in self._parameters]
        flags = flags or ["--languages"]
        if value is NO_VALUE:
            return " and ".join(flags)
        values = value if isinstance(value, list | tuple) else str(value).split(",")
        if len(flags) < len(values):
            return f"{flags[0]} {_typed(','.join(values))}"
        return " ".join(f"{flag} {_typed(tag)}" for flag, tag in zip(flags, values, strict=False))

    def _setting(self, name: str, value: Any) -> str:
        """An option without a flag of its own: a key of ``--set`` or of a recipe, or another command's flag."""
        key_of_recipe = "overrides" in self._parameters and "." not in name
        if key_of_recipe:
            return f"`{name}`" if value is NO_VALUE else f"`{name}: {yaml_text(value)}`"
        if self._has_set:
            return f"--set {name}" if value is NO_VALUE else f"--set {_typed(f'{name}={yaml_text(value)}')}"
        flag = "--" + name.replace("_", "-")
        return flag if value is NO_VALUE or value is True else f"{flag} {_typed(value)}"


def _typed(value: Any) -> str:
    """A value as a shell takes it; a placeholder stays as it is."""
    text = "none" if value is None else str(value)
    bare = isinstance(value, Placeholder) or not any(mark in text for mark in " '\"{}$&|;<>()*?!#`\\")
    return text if bare else shlex.quote(text)
