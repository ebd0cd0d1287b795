"""``isoglot.study``: a paper's table, made and measured from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isoglot.python_messages import names_arguments
from isoglot.runs.reporter import AnyReporter
from isoglot.studies.tables import StudyTables, run_studies


@names_arguments
def study(
    names: str | Sequence[str],
    *,
    out: str | Path,
    scale: str = "tiny",
    sizes: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: AnyReporter = True,
) -> list[StudyTables]:
    """Reproduce papers' tables, as ``isoglot study`` does; finished work is not repeated.

    Args:
        names: Studies, such as ``weam/table1``; ``isoglot study --list`` lists them.
        out: Folder of the studies.
        scale: ``tiny`` runs offline in minutes, ``paper`` has the paper's sizes and data.
        sizes: Sizes in place of the scale's: ``{"steps": 100}``.
        workers: Processes; by default one per core.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.

    Returns:
        For each study the ``tables`` beside the paper's, each with ``to_frame()``, the ``results`` and the ``folder``,
        whose charts :func:`isoglot.figures` draws.

    Raises:
        ConfigurationError: An unknown study, a wrong size, or what kept cells from being measured.
    """
    several = [names] if isinstance(names, str) else list(names)
    return run_studies(several, out=out, scale=scale, changes=sizes, workers=workers, progress=progress)
