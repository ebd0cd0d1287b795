"""``isoglot.study``: reproduce a paper's tables from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from isoglot.core.checks import validated
from isoglot.runs.reporter import AnyReporter
from isoglot.studies.tables import StudyTables, run_studies
from isoglot.study_request import StudyRequest


def study(  # noqa: PLR0913 - the face names what it takes
    names: str | Sequence[str],
    *,
    out: str | Path,
    scale: str = "tiny",
    sizes: Mapping[str, Any] | None = None,
    only: str | Sequence[str] = (),
    seeds: int | Sequence[int] | None = None,
    tables_only: bool = False,
    keep: bool = False,
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
    progress: AnyReporter = True,
) -> list[StudyTables]:
    """Reproduce papers' tables, as ``isoglot study`` does; finished work is not repeated.

    Args:
        names: Studies, such as ``weam/table1``; ``isoglot study --list`` lists them.
        out: Folder of the studies.
        scale: ``tiny`` runs offline in minutes, ``paper`` has the paper's sizes and data.
        sizes: Sizes in place of the scale's: ``{"steps": 100}``.
        only: Cells to measure, by ``"ROW"``, ``"COLUMN"`` or ``"ROW:COLUMN"`` with wildcards; or ``"2/8"`` for the
            second of eight parts of the encoders. One text or several.
        seeds: Seeds in place of the scale's.
        tables_only: Train and measure nothing; return the tables of the results so far.
        keep: Keep fine-tuned weights after they are evaluated.
        engine: ``ray`` runs each cell as a task on a Ray cluster.
        workers: Processes; by default one per core.
        progress: ``True`` shows bars in notebooks and on terminals, ``False`` nothing; a function such as ``print``
            gets lines.

    Returns:
        For each study its ``tables``, with the paper's numbers beside ours, its ``results``, and its ``folder``.
        A table has ``to_frame()``; :func:`isoglot.figures` draws the charts in the folder.

    Raises:
        ConfigurationError: An unknown study, a wrong size, or the reasons why cells could not be measured.

    Example:
        >>> import isoglot as iso
        >>> table1 = iso.study("weam/table1", out="runs/study")[0]  # doctest: +SKIP
        >>> table1.tables[0].to_frame()  # doctest: +SKIP
    """
    several = [names] if isinstance(names, str) else list(names)
    given = {
        "scale": scale,
        # The user's changes of sizes.
        "settings": dict(sizes or {}),
        "only": [only] if isinstance(only, str) else only,
        "seeds": [seeds] if isinstance(seeds, int) else seeds,
        "tables_only": tables_only,
        "keep": keep,
        "engine": engine,
        "workers": workers,
    }
    request = validated(StudyRequest, given)
    return run_studies(several, out=out, request=request, progress=progress)
