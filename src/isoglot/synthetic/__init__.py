"""A miniature world of English-like text: labelled data for every task, made offline from a seed."""

from __future__ import annotations

from isoglot.synthetic.world import World

__all__ = ["World"]
