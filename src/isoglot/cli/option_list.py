"""What ``--tasks``, ``--views`` and ``--objectives`` print: names, options, defaults and meanings."""

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
        lines = _filled(f"{name}: {maker.summary}", "    ")
        for option, parameter in maker.options.items():
            needed = parameter.default is parameter.empty
            default = "(needed)" if needed else parameter.default
            lines += _described(option, default, maker.meanings.get(option, ""))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def task_list() -> str:
    """Every task: what it is, how it is measured, and its options with their defaults and meanings."""
    from isoglot.tasks import TASKS, is_probe, task_class, task_options
    from isoglot.tasks.facts import Facts

    parts = []
    for name in TASKS:
        build = task_class(name)
        facts = Facts.of(build)
        how = "Measures any encoder" if is_probe(name) else "Fine-tunes a head"
        presets = f" Presets: {', '.join(facts.presets)}." if facts.presets else ""
        lines = [*_filled(f"{name}: {build.__doc__.splitlines()[0]}".replace("``", ""), "    ")]
        lines += _filled(f"{how}, scored by {build.primary_metric}.{presets}", "    ", first="    ")
        if facts.languages:
            lines += _filled(f"Languages: {facts.languages}.", "    ", first="    ")
        for option in task_options(name):
            if option.name != "name":
                lines += _described(option.name, option.default, option.meaning)
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def settings_list() -> str:
    """The settings of fine-tuning, as ``--set`` takes them."""
    from isoglot.finetuning.options import FinetuneOptions

    lines = ["Settings of fine-tuning (a preset replaces these defaults):"]
    for name, field in FinetuneOptions.model_fields.items():
        lines += _described(name, field.default, field.description or "")
    return "\n".join(lines)


def _described(name: str, default: Any, meaning: str) -> Iterator[str]:
    """The lines of one option."""
    shown = "null" if default is None else default
    if isinstance(default, bool):
        shown = str(default).lower()
    elif isinstance(default, tuple):
        shown = ",".join(map(str, default))
    yield from _filled(f"{name}={shown}  {meaning}", "        ", first="    ")


def _filled(text: str, indent: str, first: str = "") -> list[str]:
    """A text as lines no wider than the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
