"""How a command writes the options that messages name: as its own flags."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from isoglot.named_options import NO_VALUE, Placeholder

COMMAS = "VALUE,..."
"""Placeholder of a flag that takes several values with commas."""
_SIDES = ("source_language", "target_language")


class FlagSpelling:
    """Writes options as the flags of one command.

    An option without a flag of its own is a key of ``--set``, where the command has that. ``languages`` of a pair of
    texts is ``--source-lang`` and ``--target-lang``, where the command has those.

    Args:
        command: The click command whose message is shown.
    """

    def __init__(self, command: Any) -> None:
        self._parameters = {parameter.name: parameter for parameter in command.params}
        settings = [p for p in command.params if "--set" in p.opts]
        self._settings = bool(settings)

    def __call__(self, name: str, value: Any) -> str:
        """The flag, and its value if there is one."""
        if name == "languages" and name not in self._parameters and _SIDES[0] in self._parameters:
            return self._sides(value)
        parameter = self._parameters.get(name)
        if parameter is None:
            return self._setting(name, value)
        if parameter.param_type_name == "argument":
            return str(parameter.metavar or name.upper()) if value is NO_VALUE else _typed(value)
        flag = parameter.opts[0]
        if value is NO_VALUE:
            return str(flag)
        if isinstance(value, bool):
            return str(flag if value else (parameter.secondary_opts or parameter.opts)[0])
        if isinstance(value, Mapping):
            return " ".join(f"{flag} {_typed(f'{key}={item}')}" for key, item in value.items())
        if isinstance(value, list | tuple):
            if parameter.metavar == COMMAS or not parameter.multiple:
                return f"{flag} {_typed(','.join(map(str, value)))}"
            return " ".join(f"{flag} {_typed(item)}" for item in value)
        return f"{flag} {_typed(value)}"

    def _sides(self, value: Any) -> str:
        """Both languages of a pair of texts."""
        flags = [self._parameters[name].opts[0] for name in _SIDES if name in self._parameters]
        if value is NO_VALUE:
            return " and ".join(flags)
        values = value if isinstance(value, list | tuple) else str(value).split(",")
        return " ".join(f"{flag} {_typed(tag)}" for flag, tag in zip(flags, values, strict=False))

    def _setting(self, name: str, value: Any) -> str:
        """A key of ``--set``; else the flag that the name makes."""
        if not self._settings:
            flag = "--" + name.replace("_", "-")
            return flag if value is NO_VALUE or value is True else f"{flag} {_typed(value)}"
        return f"--set {name}" if value is NO_VALUE else f"--set {_typed(f'{name}={_yaml_text(value)}')}"


def _typed(value: Any) -> str:
    """A value as a shell takes it; a placeholder stays as it is."""
    text = str(value)
    bare = isinstance(value, Placeholder) or not any(mark in text for mark in " '\"{}$&|;<>()*?!#`\\")
    return text if bare else shlex.quote(text)


def _yaml_text(value: Any) -> str:
    """A value as ``--set`` reads it: flow style of YAML.

    Example:
        >>> _yaml_text({"type": "lora", "rank": 8}), _yaml_text(True), _yaml_text(("de", "es"))
        ('{type: lora, rank: 8}', 'true', '[de, es]')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_yaml_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_yaml_text, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
