"""A miniature world of English-like text: labelled data for every task, made offline from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoglot.synthetic.world import World

__all__ = ["World"]


def __getattr__(name: str) -> Any:
    """Import the world when it is first read: the command line reads the options alone."""
    if name != "World":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from isoglot.synthetic.world import World  # noqa: PLC0415

    return World
