"""Lines of words with their trees: ``(nsubj every N.sg) V.past (obl in the P.sg) .``.

A group in brackets begins with the relation of its head. The head of a group is its weightiest word outside further
brackets: a verb, else a noun, and so on. The others have the relation that words of their kind have. A relation that
ends in ``@`` marks a part of the name whose head it depends on.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

_TAGS = {
    "ADP": "about at by from in near of on than to with",
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
    "VERB": "happened rained remembered talked wrote",
}
_TAG = {word: tag for tag, words in _TAGS.items() for word in words.split()}
_POOL_TAGS = {"noun": "NOUN", "verb": "VERB", "adj": "ADJ", "adv": "ADV", "number": "NUM"}
"""Of the words of other pools: PROPN."""
_ENTITIES = {"name.first": "PER", "name.last": "PER", "name.town": "LOC", "name.country": "LOC", "org.tail": "ORG",
             "org.public": "ORG", "org.body": "ORG"}  # fmt: skip
"""Type of the entity whose head a word of a pool is, unless it is a part of another."""
_RELATIONS = {
    "ADJ": "amod", "ADP": "case", "ADV": "advmod", "CCONJ": "cc", "DET": "det", "NUM": "nummod", "PART": "advmod",
    "PUNCT": "punct", "SCONJ": "mark",
}  # fmt: skip
_HEADS = ("ADP", "ADV", "AUX", "NUM", "ADJ", "PRON", "PROPN", "NOUN", "VERB")
"""Tags of heads, the weightiest last."""
_PIECES = re.compile(r"\([^\s()]+|\)|[^\s()]+")


class Token(NamedTuple):
    """One word of a pattern: ``text`` as it stands (``variable`` −1), or a form of a variable's lexeme."""

    text: str
    variable: int = -1
    upos: str = "X"
    head: int = 0
    deprel: str = "dep"
    entity: str = "O"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A row whose words are fixed or drawn: two tokens of one variable show the same lexeme, in different forms."""

    variables: tuple[str, ...]
    """Pool of each variable."""
    sentences: tuple[tuple[Token, ...], ...]
    label: str = ""
    weight: float = 1.0
    answer: tuple[int, int] = (0, 0)
    """Token range of the answer, counted over all sentences."""


def plain(line: str) -> str:
    """A line without its tree: ``every N.sg V.past in the P.sg .``."""
    return re.sub(r"\([^\s()]+ |\)|/[A-Z]+", "", line)


def parse_wording(line: str, variables: dict[str, str]) -> tuple[Token, ...]:
    """The words of a line, with their tree.

    A word ``NAME.form`` whose ``NAME`` is a variable is that variable in that form; ``POOL:form`` is a variable of its
    own, which is added to ``variables``. Any other word stands as it is, with the part of speech that it usually has or
    the one that is written behind it (``that/DET``).
    """
    tokens: list[Token] = []
    name_parts: set[int] = set()
    groups: list[tuple[str, list[tuple[int, str]]]] = [("root", [])]
    for piece in _PIECES.findall(line):
        if piece.startswith("("):
            groups.append((piece[1:], []))
        elif piece == ")":
            relation, members = groups.pop()
            head = _attach(tokens, members)
            if relation.endswith("@"):
                name_parts.add(head)
            groups[-1][1].append((head, relation.rstrip("@")))
        else:
            groups[-1][1].append((len(tokens), ""))
            tokens.append(_token(piece, variables))
    root = _attach(tokens, groups[0][1])
    tokens[root] = tokens[root]._replace(deprel="root")
    pools, previous = list(variables.values()), -1
    for position, token in enumerate(
        tokens
    ):  # an entity is its head with the parts of the name, at any depth
        head = position
        while head in name_parts:
            head = tokens[head].head - 1
        entity = _ENTITIES.get(pools[tokens[head].variable]) if tokens[head].variable >= 0 else None
        if entity is not None:
            tokens[position] = token._replace(entity=f"{'I' if head == previous else 'B'}-{entity}")
        previous = head if entity is not None else -1
    return tuple(tokens)


def _token(piece: str, variables: dict[str, str]) -> Token:
    """A word without its place in the tree."""
    pool, colon, form = piece.partition(":")
    if colon:
        name = f"{len(variables)}"
        variables[name] = pool
    else:
        name, _, form = piece.partition(".")
    if form and name in variables:
        tag = _POOL_TAGS.get(variables[name].partition(".")[0], "PROPN")
        return Token(form, list(variables).index(name), tag)
    word, _, tag = piece.partition("/")
    return Token(word, upos=tag or _TAG.get(word, "X"))


def _attach(tokens: list[Token], members: list[tuple[int, str]]) -> int:
    """Attach the members of a group to its head, whose position is returned."""
    candidates = [position for position, relation in members if not relation]
    head = max(
        candidates, key=lambda i: (_HEADS.index(tokens[i].upos) if tokens[i].upos in _HEADS else -1, i)
    )
    for position, relation in members:
        if position != head:
            if not relation and tokens[position].upos == "AUX":
                participle = tokens[head].variable >= 0 and tokens[head].text == "part"
                relation = "cop" if tokens[head].upos != "VERB" else "aux:pass" if participle else "aux"  # noqa: PLW2901
            relation = relation or _RELATIONS.get(tokens[position].upos, "dep")  # noqa: PLW2901
            tokens[position] = tokens[position]._replace(head=head + 1, deprel=relation)
    return head
