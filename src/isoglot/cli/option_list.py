"""Lists that ``--tasks``, ``--views`` and ``--objectives`` print: names, options, defaults and meanings."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence

from pydantic import BaseModel
from pydantic.fields import FieldInfo

_WIDEST = 80


def constructor_list(section: str) -> str:
    """List the views or objectives that a recipe's ``type`` can name, with their options, defaults and meanings.

    ``section``: ``views`` or ``objectives``.
    """
    from isoglot.pretraining.recipe import BUILT
    from isoglot.recipe.spec import spec_of

    # Keys of the entry itself, not of what its `type` names, so every entry has them.
    shared = ", ".join(f"`{key}`" for key in BUILT[section].own_keys())
    parts = [f"Beside {shared}, which every entry of `{section}:` has. Your own: type: package.module:Name."]
    for name, maker in BUILT[section].registry.items():
        spec = spec_of(maker)
        parts.append("\n".join([*_filled(f"{name}: {spec.__doc__}", "    "), *_options(spec)]))
    return "\n\n".join(parts)


def task_list() -> str:
    """List the tasks: what each is, how it is measured, and its options with their defaults and meanings."""
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
    """List the settings of fine-tuning that ``--set`` takes."""
    from isoglot.finetuning.options import FinetuneOptions

    lines = ["Settings of fine-tuning (a preset replaces these defaults):", *_options(FinetuneOptions)]
    return "\n".join(lines)


def _options(model: type[BaseModel], without: Sequence[str] = ()) -> Iterator[str]:
    """Yield a line for each option of a model, such as ``batch_size=32  Examples of a step``."""
    for name, field in model.model_fields.items():
        if name not in without:
            yield from _filled(
                f"{name}={_default(field)}  {field.description or ''}", "        ", first="    "
            )


def _default(field: FieldInfo) -> str:
    """Write the default of an option as it would be typed: ``null``, ``true``, ``1,2``."""
    if field.is_required():
        return "(needed)"
    default = field.default
    if default is None:
        return "null"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return '""' if default == "" else str(default)


def _filled(text: str, indent: str, first: str = "") -> list[str]:
    """Break a text into lines no wider than the terminal, the first one with its own indent."""
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
