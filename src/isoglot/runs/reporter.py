"""What a verb tells while it works; the command line shows it, the library stays silent."""

from typing import Protocol


class Reporter(Protocol):
    """Takes what a verb has to say."""

    def note(self, text: str) -> None:
        """One line on what was done or is about to be."""
        ...

    def progress(self, label: str, done: int, total: int) -> None:
        """How far a step of this name is: ``done`` in any unit, ``total`` 0 where it is unknown."""
        ...


class Silent:
    """Says nothing."""

    def note(self, text: str) -> None:
        """Drop a line."""

    def progress(self, label: str, done: int, total: int) -> None:
        """Drop a step's progress."""
