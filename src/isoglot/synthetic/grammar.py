"""Sentences as lines of words with their trees, and the grammar that derives such lines at random.

A line is ``(nsubj every N.sg) V.past (obl in the P.sg) .``.

A group in brackets begins with the relation of its head. The head of a group is its weightiest word outside further
brackets: a verb, else a noun, and so on. The others have the relation that words of their kind have. A relation that
ends in ``@`` marks a part of the name whose head it depends on.

The grammar's rules are in ``grammar.txt``. Derivations are sampled once for a world; each becomes a pattern whose words
are drawn anew for every sentence.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from random import Random
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

PLURALS = 0.3
"""Share of plurals where a rule is free in its number."""
_LONGEST = 40
_SYMBOL = re.compile(r"<([\w-]+)(?: (sg|pl))?(?: ([\w.]+))?>")
Rules = dict[str, tuple[list[str], list[float]]]


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
            pool, colon, form = piece.partition(":")
            name = str(len(variables))
            if colon:
                variables[name] = pool
            else:
                name, _, form = piece.partition(".")
            if form and name in variables:
                tag = _POOL_TAGS.get(variables[name].partition(".")[0], "PROPN")
                tokens.append(Token(form, list(variables).index(name), tag))
            else:
                word, _, tag = piece.partition("/")
                tokens.append(Token(word, upos=tag or _TAG.get(word, "X")))
    root = _attach(tokens, groups[0][1])
    tokens[root] = tokens[root]._replace(deprel="root")
    pools, previous = list(variables.values()), -1
    for position, token in enumerate(tokens):
        head = position  # an entity is its head with the parts of the name, at any depth
        while head in name_parts:
            head = tokens[head].head - 1
        entity = _ENTITIES.get(pools[tokens[head].variable]) if tokens[head].variable >= 0 else None
        if entity is not None:
            tokens[position] = token._replace(entity=f"{'I' if head == previous else 'B'}-{entity}")
        previous = head if entity is not None else -1
    return tuple(tokens)


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


@cache
def read_rules() -> Rules:
    """Expansions of each symbol and their weights."""
    text = resources.files("isoglot.synthetic").joinpath("grammar.txt").read_text(encoding="utf-8")
    rules: Rules = {}
    for section in text.split("\n@")[1:]:
        symbol, *lines = section.splitlines()
        expansions, weights = rules.setdefault(symbol, ([], []))
        for weight, _, line in (line.partition(" ") for line in lines if line):
            wordings = line.split(" | ")
            expansions += wordings
            weights += [float(weight) / len(wordings)] * len(wordings)
    return rules


def expand(random: Random, symbol: str, number: str | None = None, argument: str | None = None) -> str:
    """A random derivation of a symbol: a line with its tree."""
    rules, number = read_rules(), number or ("pl" if random.random() < PLURALS else "sg")
    names = (f"{symbol} {number}", f"{symbol} {argument}", symbol)
    expansions, weights = next(rules[name] for name in names if name in rules)
    (line,) = random.choices(expansions, weights)
    line = line.replace("#", number).replace("$", argument or "").replace(" >", ">")
    return _SYMBOL.sub(lambda match: expand(random, *match.groups()), line)


def sample_patterns(count: int, seed: int) -> list[Pattern]:
    """Sentence patterns of ``count`` random derivations; sentences longer than 40 words are left out."""
    random, patterns = Random(seed), list[Pattern]()
    while len(patterns) < count:
        variables: dict[str, str] = {}
        words = parse_wording(expand(random, "sentence"), variables)
        if len(words) <= _LONGEST:
            patterns.append(Pattern(tuple(variables.values()), (words,)))
    return patterns
