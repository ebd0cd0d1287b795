"""Options of studies: each field is an argument of ``isoglot.study`` and a flag of ``isoglot study``.

The field ``settings`` is the argument ``sizes`` of ``isoglot.study``, and the flag ``--set``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from isoglot.core.checks import is_number
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options, Seed, Workers, option, settings_option


class StudyRequest(Options):
    """Which part of a study is made, at which size and how."""

    scale: str = option("tiny", "tiny, small or paper.", flags=["--scale", "-s"])
    only: tuple[str, ...] = option(
        (),
        "Cells by ROW, COLUMN or ROW:COLUMN ('XLM*:pos.*'), or the k-th of n parts of the encoders.",
        metavar="CELLS|K/N",
    )
    seeds: tuple[Seed, ...] | None = option(
        None, "Seeds in place of the scale's: 1,2,3.", commas=True, min_length=1
    )
    settings: dict[str, Any] = settings_option(
        "Change a size of the study: --set steps=200; repeatable.", metavar="SIZE=VALUE"
    )
    tables_only: bool = option(False, "Print the tables from the results so far.")
    keep: bool = option(False, "Keep fine-tuned weights after they are evaluated.")
    engine: Literal["local", "ray"] = option("local", "ray runs each cell as a task on a Ray cluster.")
    workers: Workers | None = option(None, "Processes of the local engine, one thread each if several.")

    @property
    def changes(self) -> dict[str, Any]:
        """Sizes in place of the scale's: those of ``settings``, and ``seeds`` as one more of them."""
        if self.seeds is None:
            return self.settings
        if "seeds" in self.settings:
            raise ConfigurationError("[[seeds]]: the settings have them too; give them once")
        return {**self.settings, "seeds": self.seeds}


def part_and_cells(texts: Sequence[str]) -> tuple[tuple[int, int], list[str]]:
    """Divide the texts of ``only`` into the part of the encoders, ``(1, 1)`` for all, and the patterns of cells.

    A text of two numbers with a slash is a part, any other text a pattern. There can be one part at most.

    Example:
        >>> part_and_cells(["2/8", "XLM*:pos.*"])
        ((2, 8), ['XLM*:pos.*'])
    """
    part: tuple[int, int] | None = None
    patterns: list[str] = []
    for text in texts:
        k, slash, n = text.partition("/")
        if not (slash and is_number(k) and is_number(n)):
            patterns.append(text)
        elif not 1 <= int(k) <= int(n):
            raise ConfigurationError(
                f"[[only='{text}']]: K/N is needed with 1 <= K <= N, for example [[only='2/8']]"
            )
        elif part is not None:
            raise ConfigurationError(
                f"[[only='{text}']]: another part is selected already; run one part at a time"
            )
        else:
            part = int(k), int(n)
    return part or (1, 1), patterns
