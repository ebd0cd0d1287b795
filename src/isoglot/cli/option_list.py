"""Lists that ``--tasks``, ``--views`` and ``--objectives`` print: names, options, defaults and meanings."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence

from pydantic import BaseModel

_WIDEST = 80


def constructor_list(section: str) -> str:
    """Every view or objective that a recipe's ``type`` can name, with its options, their defaults and meanings."""
    from isoglot.pretraining.recipe import MADE
    from isoglot.recipe.spec import spec_of

    shared = ", ".join(f"`{key}`" for key in MADE[section].own_keys())
    parts = [f"Beside {shared}, which every entry of `{section}:` has. Your own: type: package.module:Name."]
    for name, maker in MADE[section].registry.items():
        spec = spec_of(maker)
        parts.append("\n".join([*_filled(f"{name}: {spec.__doc__}", "    "), *_options(spec)]))
    return "\n\n".join(parts)


def task_list() -> str:
    """Every task: what it is, how it is measured, and its options with their defaults and meanings."""
    from isoglot.tasks import TASKS, TaskFacts, is_probe, task_class, task_options

    parts = []
    for name in TASKS:
        build = task_class(name)
        facts = TaskFacts.of(build)
        how = "Measures any encoder" if is_probe(name) else "Fine-tunes a head"
        presets = f" Presets: {', '.join(facts.presets)}." if facts.presets else ""
        lines = [*_filled(f"{name}: {build.__doc__.splitlines()[0]}".replace("``", ""), "    ")]
        lines += _filled(f"{how}, scored by {build.primary_metric}.{presets}", "    ", first="    ")
        if facts.languages:
            lines += _filled(f"Languages: {facts.languages}.", "    ", first="    ")
        lines += _options(task_options(name), without=["name"])
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def settings_list() -> str:
    """The settings of fine-tuning, as ``--set`` takes them."""
    from isoglot.finetuning.options import FinetuneOptions

    lines = ["Settings of fine-tuning (a preset replaces these defaults):", *_options(FinetuneOptions)]
    return "\n".join(lines)


def _options(model: type[BaseModel], without: Sequence[str] = ()) -> Iterator[str]:
    """The lines of a model's options."""
    for name, field in model.model_fields.items():
        default = "(needed)" if field.is_required() else "null" if field.default is None else field.default
        if isinstance(default, bool):
            default = str(default).lower()
        elif isinstance(default, tuple):
            default = ",".join(map(str, default))
        elif default == "":
            default = '""'
        if name not in without:
            yield from _filled(f"{name}={default}  {field.description or ''}", "        ", first="    ")


def _filled(text: str, indent: str, first: str = "") -> list[str]:
    """A text as lines no wider than the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
