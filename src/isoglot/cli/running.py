"""Options that say how a command runs, for all commands."""

from __future__ import annotations

from isoglot.options import Options, option

_GROUP = "Running"


class Running(Options):
    """How a command runs."""

    quiet: bool = option(False, "Only print errors.", flags=["--quiet", "-q"], group=_GROUP)


class Replacing(Running):
    """How a command runs that makes the same output once."""

    overwrite: bool = option(False, "Replace an output made with other options.", group=_GROUP)


class Reporting(Running):
    """How a command runs whose results are printed."""

    quiet: bool = option(False, "Only print results and errors.", flags=["--quiet", "-q"], group=_GROUP)
