"""What is known about the words of compiled patterns: tags, heads, relations and entities, flat as the tokens are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from isoglot.synthetic.parser import pattern_trees
from isoglot.synthetic.patterns import Compiled, Ints

__all__ = ["Analysis", "analysis_of"]

_ENTITIES = {"name.first": "B-PER", "name.town": "B-LOC"}


class Analysis(NamedTuple):
    """One value a token of the compiled patterns."""

    upos: list[str]
    heads: Ints
    deprels: list[str]
    entities: list[str]


def analysis_of(compiled: Compiled, *, written: bool) -> Analysis:
    """The analysis of patterns.

    Args:
        compiled: the patterns.
        written: they were written as lines and are to be parsed; else they were made as trees.
    """
    if not written:
        return Analysis(compiled.upos, compiled.heads, compiled.deprels, compiled.entities)
    trees = [tree for pattern in compiled.patterns for tree in pattern_trees(pattern)]
    entities = [
        _ENTITIES.get(pattern.variables[token.variable], "O") if token.variable >= 0 else "O"
        for pattern in compiled.patterns
        for sentence in pattern.sentences
        for token in sentence
    ]
    return Analysis(
        [tag for tree in trees for tag in tree.upos],
        np.array([head for tree in trees for head in tree.heads], dtype=np.int64),
        [relation for tree in trees for relation in tree.deprels],
        entities,
    )
