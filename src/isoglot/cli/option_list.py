"""Options as the commands list them: name, default and meaning, as wide as the terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

_WIDEST = 80


def constructor_list(section: str) -> str:
    """Every view or objective that a recipe's ``type`` can name, with its options, their defaults and meanings."""
    from isoglot.pretraining.constructors import KEYS, constructor, names_of

    own = ", ".join(f"`{key}`" for key in KEYS[section])
    parts = [f"Beside {own}, which every entry of `{section}:` has. Your own: type: package.module:Name."]
    for name in names_of(section):
        maker = constructor(section, name)
        lines = filled(f"{name}: {maker.summary}", "    ")
        for option, parameter in maker.options.items():
            needed = parameter.default is parameter.empty
            default = "(needed)" if needed else parameter.default
            lines += described(option, default, maker.meanings.get(option, ""))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def described(name: str, default: Any, meaning: str) -> Iterator[str]:
    """The lines of one option."""
    shown = "null" if default is None else default
    if isinstance(default, bool):
        shown = str(default).lower()
    elif isinstance(default, tuple):
        shown = ",".join(map(str, default))
    yield from filled(f"{name}={shown}  {meaning}", "        ", first="    ")


def filled(text: str, indent: str, first: str = "") -> list[str]:
    """A text as lines no wider than the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
