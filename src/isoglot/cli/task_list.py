"""What ``--tasks`` prints: every task with its options, and the settings of fine-tuning."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

__all__ = ["settings_list", "task_list"]

_WIDEST = 80


def task_list() -> str:
    """Every task: what it is, how it is measured, and its options with their defaults and meanings."""
    from isoglot.tasks import TASKS, is_probe, task_class, task_options
    from isoglot.tasks.base import Facts

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
    shown = (
        "null" if default is None else ",".join(map(str, default)) if isinstance(default, tuple) else default
    )
    yield from _filled(f"{name}={shown}  {meaning}", "        ", first="    ")


def _filled(text: str, indent: str, first: str = "") -> list[str]:
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
