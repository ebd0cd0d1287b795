"""What ``finetune``, ``evaluate`` and ``transfer`` share: data, ``--set`` and ``--seed``."""

from __future__ import annotations

from typing import Any

from isoglot.cli.settings import parse_settings

__all__ = ["DATA_HELP", "PRESET_HELP", "TASK_HELP", "seeds_of", "values_of"]

TASK_HELP = "Name of the task (--tasks lists them), or package.module:Name."

PRESET_HELP = "xtreme, weam, ppa, align_mlm or xlm_align: the paper's settings."


DATA_HELP = (
    "Where the data are: a file, a folder with the language's code and the split in its files' names, a template such "
    "as 'wikiann/{language}/{split}', or hub. `train=PATH`, `dev=PATH`, `test=PATH` for one split alone; `PATH#0:80%` "
    "for a part. Can be given several times."
)


def values_of(given: list[str] | None) -> dict[str, Any]:
    """``KEY=VALUE`` texts as values; several with commas are a tuple."""
    return parse_settings(given, example="batch_size=16", lists=True)


def seeds_of(text: str, *, option: str = "--seed") -> list[int]:
    """``1,2,3`` as numbers."""
    from isoglot.errors import ConfigurationError

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ConfigurationError(
            f"{option} {text!r} given; a number is needed, or several with commas: {option} 1,2,3"
        )
    return [int(part) for part in parts]
