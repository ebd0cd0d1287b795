"""Lines of words with their trees: ``(nsubj every N.sg) V.past (obl in the P.sg) .``.

A group in brackets begins with the relation of its head. The head of a group is its weightiest word outside further
brackets: a verb, else a noun, and so on. The others have the relation that words of their kind have. A relation that
ends in ``@`` marks a part of the name whose head it depends on.
"""

import re

from isoglot.synthetic.patterns import Token

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
    "VERB": "happened met rained remembered talked wrote",
}
_TAG = {word: tag for tag, words in _TAGS.items() for word in words.split()}
_POOL_TAGS = {"noun": "NOUN", "verb": "VERB", "adj": "ADJ", "adv": "ADV", "number": "NUM"}
"""Of the words of other pools: PROPN."""
_ENTITIES = {"name.first": "PER", "name.last": "PER", "name.town": "LOC", "name.country": "LOC", "org.tail": "ORG",
             "org.public": "ORG", "org.body": "ORG"}  # fmt: skip
"""Type of the entity whose head a word of a pool is, unless it is a part of another or says otherwise."""
_RELATIONS = {
    "ADJ": "amod", "ADP": "case", "ADV": "advmod", "AUX": "aux", "CCONJ": "cc", "DET": "det", "NUM": "nummod",
    "PART": "advmod", "PUNCT": "punct", "SCONJ": "mark",
}  # fmt: skip
_HEADS = ("VERB", "NOUN", "PROPN", "PRON", "ADJ", "NUM", "AUX", "ADV", "ADP")
"""Tags of heads, the weightiest first."""
_WEIGHTS = {tag: len(_HEADS) - place for place, tag in enumerate(_HEADS)}
_PIECES = re.compile(r"\([^\s()]+|\)|[^\s()]+")


def plain(line: str) -> str:
    """A line without its tree: ``every N.sg V.past in the P.sg .``."""
    return re.sub(r"\([^\s()]+ |\)|/[A-Z]+", "", line)


def parse_wording(line: str, variables: dict[str, str]) -> tuple[Token, ...]:
    """The words of a line, with their tree.

    A word ``NAME.form`` whose ``NAME`` is a variable is that variable in that form; ``POOL:form`` is a variable of its
    own, which is added to ``variables``, and ``POOL:form@TYPE`` the head of an entity of another type than is usual in
    its pool. Any other word stands as it is, with the part of speech that it usually has or the one that is written
    behind it (``that/DET``).
    """
    tokens: list[Token] = []
    inside: set[int] = set()
    groups: list[tuple[str, list[tuple[int, str]]]] = [("root", [])]
    for piece in _PIECES.findall(line):
        if piece.startswith("("):
            groups.append((piece[1:], []))
        elif piece == ")":
            relation, members = groups.pop()
            head = _join(tokens, members)
            if relation.endswith("@"):
                inside.add(head)
            groups[-1][1].append((head, relation.rstrip("@")))
        else:
            groups[-1][1].append((len(tokens), ""))
            tokens.append(_token(piece, variables))
    root = _join(tokens, groups[0][1])
    tokens[root] = tokens[root]._replace(deprel="root")
    return tuple(_with_entities(tokens, inside))


def _token(piece: str, variables: dict[str, str]) -> Token:
    pool, colon, form = piece.partition(":")
    name = f"{len(variables)}" if colon else ""
    if colon:
        variables[name] = pool
    else:
        name, _, form = piece.partition(".")
    if form and name in variables:
        pool = variables[name]
        form, _, entity = form.partition("@")
        tag = _POOL_TAGS.get(pool.partition(".")[0], "PROPN")
        return Token(form, list(variables).index(name), tag, entity=entity or _ENTITIES.get(pool, "O"))
    word, _, tag = piece.partition("/")
    return Token(word, upos=tag or _TAG.get(word, "X"))


def _join(tokens: list[Token], members: list[tuple[int, str]]) -> int:
    """Attach the members of a group to its head, which is returned."""
    head = max(
        (i for i, relation in members if not relation), key=lambda i: (_WEIGHTS.get(tokens[i].upos, 0), i)
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


def _with_entities(tokens: list[Token], inside: set[int]) -> list[Token]:
    """The words with IOB2 tags: an entity is its head with the dependents, at any depth, that are parts of the name."""
    found, previous = [], -1
    for place, token in enumerate(tokens):
        owner = place
        while owner in inside:
            owner = tokens[owner].head - 1
        kind = tokens[owner].entity
        tag = "O" if kind == "O" else f"{'I' if owner == previous else 'B'}-{kind}"
        found.append(token._replace(entity=tag))
        previous = owner if kind != "O" else -1
    return found
