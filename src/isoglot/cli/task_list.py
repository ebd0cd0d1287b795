"""What ``--tasks`` prints: every task with its options, and the settings of fine-tuning."""

from __future__ import annotations

from isoglot.cli.option_list import described, filled


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
        lines = [*filled(f"{name}: {build.__doc__.splitlines()[0]}".replace("``", ""), "    ")]
        lines += filled(f"{how}, scored by {build.primary_metric}.{presets}", "    ", first="    ")
        if facts.languages:
            lines += filled(f"Languages: {facts.languages}.", "    ", first="    ")
        for option in task_options(name):
            if option.name != "name":
                lines += described(option.name, option.default, option.meaning)
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def settings_list() -> str:
    """The settings of fine-tuning, as ``--set`` takes them."""
    from isoglot.finetuning.options import FinetuneOptions

    lines = ["Settings of fine-tuning (a preset replaces these defaults):"]
    for name, field in FinetuneOptions.model_fields.items():
        lines += described(name, field.default, field.description or "")
    return "\n".join(lines)
