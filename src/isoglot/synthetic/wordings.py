"""Lines of words with their trees: ``(nsubj every N.sg) V.past (obl in the P.sg) .``.

A group in brackets begins with the relation of its head. The head of a group is its weightiest word outside further
brackets: a verb, else a noun, and so on. The others have the relation that words of their kind have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from isoglot.synthetic.patterns import Token

_TAGS = {
    "ADP": "about at by from in near of on than to",
    "ADV": "ago exactly first how last later least long most never only so then where",
    "ADJ": "bad false fewer hot many more quiet surprised",
    "AUX": "did is was were",
    "CCONJ": "and both but neither nor or",
    "DET": "a all each every no some the which",
    "NOUN": "day newspapers people summer town weather week year",
    "NUM": "one three",
    "PART": "not",
    "PRON": "everybody it nobody none they this what who whom",
    "PUNCT": ". , ?",
    "SCONJ": "after before that when while",
    "VERB": "happened met rained remembered talked wrote",
}
_TAG = {word: tag for tag, words in _TAGS.items() for word in words.split()}
_POOL_TAGS = {
    "noun": "NOUN",
    "verb": "VERB",
    "adj": "ADJ",
    "number": "NUM",
    "name": "PROPN",
    "weekday": "PROPN",
}
_ENTITIES = {"name.first": "B-PER", "name.town": "B-LOC"}
_RELATIONS = {
    "ADJ": "amod", "ADP": "case", "ADV": "advmod", "AUX": "aux", "CCONJ": "cc", "DET": "det", "NUM": "nummod",
    "PART": "advmod", "PUNCT": "punct", "SCONJ": "mark",
}  # fmt: skip
_WEIGHTS = ("VERB", "NOUN", "PROPN", "PRON", "ADJ", "NUM", "AUX", "ADV", "ADP")
"""Tags of heads, the weightiest first."""


def plain(line: str) -> str:
    """A line without its tree: ``every N.sg V.past in the P.sg .``."""
    return re.sub(r"\([^\s()]+ |\)|/[A-Z]+", "", line)


def parse_wording(line: str, variables: Mapping[str, str]) -> tuple[Token, ...]:
    """The words of a line, with their tree.

    A word ``NAME.form`` whose ``NAME`` is a variable is that variable in that form; any other word stands as it is,
    with the part of speech that it usually has or the one that is written behind it (``that/DET``).
    """
    numbers = {name: number for number, name in enumerate(variables)}
    tokens: list[Token] = []
    groups: list[tuple[str, list[tuple[int, str]]]] = [("root", [])]
    for piece in re.findall(r"\([^\s()]+|\)|[^\s()]+", line):
        if piece.startswith("("):
            groups.append((piece[1:], []))
        elif piece == ")":
            relation, members = groups.pop()
            groups[-1][1].append((_join(tokens, members), relation))
        else:
            groups[-1][1].append((len(tokens), ""))
            tokens.append(_token(piece, variables, numbers))
    root = _join(tokens, groups[0][1])
    tokens[root] = tokens[root]._replace(deprel="root")
    return tuple(tokens)


def _token(piece: str, variables: Mapping[str, str], numbers: Mapping[str, int]) -> Token:
    name, _, form = piece.partition(".")
    if form and name in variables:
        pool = variables[name]
        tag = _POOL_TAGS[pool.partition(".")[0]]
        return Token(form, numbers[name], tag, entity=_ENTITIES.get(pool, "O"))
    word, _, tag = piece.partition("/")
    return Token(word, upos=tag or _TAG.get(word, "X"))


def _join(tokens: list[Token], members: list[tuple[int, str]]) -> int:
    """Attach the members of a group to its head, which is returned."""
    weights = {tag: len(_WEIGHTS) - place for place, tag in enumerate(_WEIGHTS)}
    head = max(
        (i for i, relation in members if not relation), key=lambda i: (weights.get(tokens[i].upos, 0), i)
    )
    for i, relation in members:
        if i != head:
            found = relation or _RELATIONS.get(tokens[i].upos, "dep")
            if found == "aux" and not relation:
                found = _auxiliary(tokens[head])
            tokens[i] = tokens[i]._replace(head=head + 1, deprel=found)
    return head


def _auxiliary(head: Token) -> str:
    if head.upos != "VERB":
        return "cop"
    return "aux:pass" if head.variable >= 0 and head.text == "part" else "aux"
