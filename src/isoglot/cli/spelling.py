"""Write the options that messages name as the flags of the command.

A message has options as ``[[layer=8]]``; :class:`FlagSpelling` writes each as one command takes it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from isoglot.core.named_options import NO_VALUE, Placeholder, yaml_text

COMMAS = "VALUE,..."
"""Placeholder of a flag that takes several values with commas."""
_SIDES = ("source_language", "target_language")


class FlagSpelling:
    """Writes the options of a message as one command takes them.

    1. An option with a flag: ``--layer 8``.
    2. ``languages``, as Python calls them: ``--lang``, or ``--source-lang`` and ``--target-lang`` in a command with two
       sides.
    3. Another option, in a command that takes a recipe: a line of the recipe, `` `layer: 8` ``. But an option that is
       named by its place in the recipe follows rule 4: ``train.steps`` is ``--set train.steps=100``.
    4. Another option, in a command with ``--set``: ``--set layer=8``.
    5. Any other option as if the command had a flag for it, ``--layer 8``: the message is about another command.

    Args:
        command: The click command whose message is shown.
    """

    def __init__(self, command: Any) -> None:
        self._parameters = {parameter.name: parameter for parameter in command.params}
        self._has_set = any("--set" in parameter.opts for parameter in command.params)

    def __call__(self, name: str, value: Any) -> str:
        """Write an option, and its value if there is one."""
        if name in self._parameters:  # 1
            return self._parameter(self._parameters[name], value)
        if name == "languages":  # 2
            return self._languages(value)
        return self._setting(name, value)

    def _parameter(self, parameter: Any, value: Any) -> str:
        """Write a flag or an argument that the command has."""
        if parameter.param_type_name == "argument":
            return str(parameter.metavar or parameter.name.upper()) if value is NO_VALUE else _quoted(value)
        flag = str(parameter.opts[0])
        if value is NO_VALUE:
            return flag
        if isinstance(value, bool):
            return flag if value else str((parameter.secondary_opts or parameter.opts)[0])
        return " ".join(f"{flag} {_quoted(text)}" for text in self._values(parameter, value))

    def _values(self, parameter: Any, value: Any) -> list[Any]:
        """The values of a flag, one for each time that the flag is typed."""
        if isinstance(value, Mapping):
            return [f"{key}={item}" for key, item in value.items()]
        if not isinstance(value, list | tuple):
            return [value]
        is_typed_once = parameter.metavar == COMMAS or not parameter.multiple
        return [",".join(map(str, value))] if is_typed_once else list(value)

    def _languages(self, value: Any) -> str:
        """Write the language of a text, or both languages of a pair of texts; without a value, name the flags alone.

        1. Two languages are ``--source-lang en --target-lang de`` in a command that has these flags.
        2. One language is ``--lang en``; two are ``--lang en,de`` in a command that has this flag alone.
        3. In a command with neither, both are ``--languages en,de``.
        """
        names_flags_alone = value is NO_VALUE
        is_list = isinstance(value, list | tuple)
        values = value if is_list else str(value).split(",")
        # Without a value, a command with flags for both sides has both named.
        is_pair = names_flags_alone or is_list or len(values) > 1
        has_sides = _SIDES[0] in self._parameters
        names = _SIDES if has_sides and is_pair else ("language",)  # 1, 2
        flags = [self._parameters[name].opts[0] for name in names if name in self._parameters]
        flags = flags or ["--languages"]  # 3
        if names_flags_alone:
            return " and ".join(flags)
        if len(flags) < len(values):
            return f"{flags[0]} {_quoted(','.join(values))}"
        return " ".join(f"{flag} {_quoted(tag)}" for flag, tag in zip(flags, values, strict=False))

    def _setting(self, name: str, value: Any) -> str:
        """Write an option without a flag of its own (rules 3, 4 and 5)."""
        # Commands that take a recipe have a field of this name (`RecipeChanges`).
        takes_recipe = "overrides" in self._parameters
        is_place_in_recipe = "." in name
        if takes_recipe and not is_place_in_recipe:  # 3
            return f"`{name}`" if value is NO_VALUE else f"`{name}: {yaml_text(value)}`"
        if self._has_set:  # 4
            return f"--set {name}" if value is NO_VALUE else f"--set {_quoted(f'{name}={yaml_text(value)}')}"
        flag = "--" + name.replace("_", "-")  # 5
        return flag if value is NO_VALUE or value is True else f"{flag} {_quoted(value)}"


def _quoted(value: Any) -> str:
    """Write a value as a shell takes it; a placeholder stays as it is."""
    text = "none" if value is None else str(value)
    needs_quotes = any(mark in text for mark in " '\"{}$&|;<>()*?!#`\\")
    if isinstance(value, Placeholder) or not needs_quotes:
        return text
    return shlex.quote(text)
