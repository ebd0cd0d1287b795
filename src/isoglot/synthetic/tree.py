"""Dependency trees under construction, and the pattern they become."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from isoglot.synthetic.patterns import Pattern, Token


@dataclass(eq=False)
class Node:
    """A word with its dependents to the left and to the right, both in the order of the sentence.

    A tree that is read off inwards-out like this is projective by construction.
    """

    text: str
    upos: str
    pool: str | None = None
    entity: str | None = None
    """Type of the entity whose head this word is (PER, ORG, LOC); dependents marked ``inside`` belong to it."""
    deprel: str = "root"
    left: list[Node] = field(default_factory=list)
    right: list[Node] = field(default_factory=list)
    inside: bool = False
    """Whether the word belongs to the entity of the word it depends on."""

    def before(self, deprel: str, *nodes: Node | None) -> Self:
        """Attach dependents that stand left of what the node has so far (the first given stands leftmost)."""
        given = [n for n in nodes if n is not None]
        for node in given:
            node.deprel = deprel
        self.left[:0] = given
        return self

    def after(self, deprel: str, *nodes: Node | None) -> Self:
        """Attach dependents that stand right of what the node has so far."""
        given = [n for n in nodes if n is not None]
        for node in given:
            node.deprel = deprel
        self.right += given
        return self

    def part(self) -> Self:
        """Mark the word as a part of its head's name."""
        self.inside = True
        return self

    def in_order(self) -> list[Node]:
        """The words of the subtree as they stand in the sentence."""
        found: list[Node] = []
        for node in self.left:
            found += node.in_order()
        found.append(self)
        for node in self.right:
            found += node.in_order()
        return found


def fixed(text: str, upos: str) -> Node:
    """A word that stands as it is."""
    return Node(text, upos)


def open_word(pool: str, form: str, upos: str) -> Node:
    """A word drawn from a pool."""
    return Node(form, upos, pool)


def to_pattern(root: Node) -> Pattern:
    """Number the words, fill in heads and entity tags, and give every open word a variable of its own."""
    nodes = root.in_order()
    number = {id(node): i for i, node in enumerate(nodes, start=1)}
    head = {id(child): number[id(node)] for node in nodes for child in (*node.left, *node.right)}
    entities = _entities(nodes)
    variables: list[str] = []
    tokens = []
    for node, entity in zip(nodes, entities, strict=True):
        variable = -1
        if node.pool is not None:
            variable = len(variables)
            variables.append(node.pool)
        tokens.append(Token(node.text, variable, node.upos, head.get(id(node), 0), node.deprel, entity))
    return Pattern(tuple(variables), (tuple(tokens),))


def _entities(nodes: list[Node]) -> list[str]:
    """IOB2 tags: an entity is its head with the dependents, at any depth, that are marked as parts of the name."""
    owner: dict[int, Node] = {}
    for node in nodes:
        if node.entity is not None:
            stack = [node]
            while stack:
                member = stack.pop()
                owner[id(member)] = node
                stack += [c for c in (*member.left, *member.right) if c.inside]
    tags, previous = [], None
    for node in nodes:
        name = owner.get(id(node))
        tags.append("O" if name is None else f"{'I' if name is previous else 'B'}-{name.entity}")
        previous = name
    return tags
