"""Sentences as lines of words with their trees, and the grammar that derives such lines at random.

A line, or *wording*, is ``(nsubj every N.sg) V.past (obl in the P.sg) .``:

1. A group in brackets begins with the relation of its head: ``every N.sg`` is the subject of ``V.past``.
2. The head of a group is its weightiest word outside further brackets: a verb, else a noun, and so on.
3. The other words have the relation that words of their kind have: ``every`` is a determiner, so ``det``.
4. A relation that ends in ``@`` marks a part of the name whose head it depends on.
5. ``NAME.form`` is a variable in a form, ``POOL:form`` a variable of its own; any other word is itself, with a part of
   speech if one is written behind it: ``that/DET``.

The grammar's rules are in ``grammar.txt``. Derivations are sampled once for a world; each becomes a pattern, whose
words are drawn again for every sentence.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from random import Random
from typing import NamedTuple

# Fixed words by part of speech; other fixed words have it written behind them (rule 5).
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
_TAG_OF: dict[str, str] = {}
for _tag, _words in _TAGS.items():
    _TAG_OF.update(dict.fromkeys(_words.split(), _tag))
_POOL_TAGS = {"noun": "NOUN", "verb": "VERB", "adj": "ADJ", "adv": "ADV", "number": "NUM"}
"""Part of speech by the first part of a pool's name; words of other pools are PROPN."""
_ENTITIES = {"name.first": "PER", "name.last": "PER", "name.town": "LOC", "name.country": "LOC", "org.tail": "ORG",
             "org.public": "ORG", "org.body": "ORG"}  # fmt: skip
"""Type of the entity whose head a word of a pool is, unless it is a part of another."""
# Relations of single words by part of speech (rule 3).
_RELATIONS = {
    "ADJ": "amod", "ADP": "case", "ADV": "advmod", "CCONJ": "cc", "DET": "det", "NUM": "nummod", "PART": "advmod",
    "PUNCT": "punct", "SCONJ": "mark",
}  # fmt: skip
_HEADS = ("ADP", "ADV", "AUX", "NUM", "ADJ", "PRON", "PROPN", "NOUN", "VERB")
"""Tags of heads, the weightiest last."""
_PIECES = re.compile(r"\([^\s()]+|\)|[^\s()]+")
"""The beginning of a group with its relation, the end of a group, or a word."""

PLURALS = 0.3
"""Share of plurals where a rule is free in its number."""
_LONGEST = 40
"""Words of the longest sentence that is kept."""
_SYMBOL = re.compile(r"<([\w-]+)(?: (sg|pl))?(?: ([\w.]+))?>")
"""A symbol to expand, with its number and an argument: ``<np pl noun.animal>``."""
Rules = dict[str, tuple[list[str], list[float]]]
"""By symbol (``np``, or ``np sg`` and ``np noun.animal`` for special cases): its expansions, and their weights."""
_Member = tuple[int, str]
"""A member of a group: a word's position and ``""``; or for a group inside it, its head's position and its relation."""


class Token(NamedTuple):
    """One word of a pattern: a fixed word, or a form of a variable's lexeme."""

    word_or_form: str  # a fixed word; for a variable the name of its form: past
    variable: int = -1  # the number of the variable, -1 for a fixed word
    upos: str = "X"
    head: int = 0  # 1-based number of the head, 0 for the root
    deprel: str = "dep"
    entity: str = "O"  # IOB2


@dataclass(frozen=True, slots=True)
class Pattern:
    """A template of a row, whose words are fixed or drawn.

    Two tokens of one variable show the same lexeme, perhaps in different forms.
    """

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
    """Read the words of a line, with their tree. Variables of their own (``POOL:form``) are added to ``variables``.

    Example:
        >>> for token in parse_wording("(nsubj every N.sg) V.past .", {"N": "noun.animal", "V": "verb.intr"}):
        ...     print(token.word_or_form, token.upos, token.head, token.deprel)
        every DET 2 det
        sg NOUN 3 nsubj
        past VERB 0 root
        . PUNCT 3 punct
    """
    tokens: list[Token] = []
    name_parts: set[int] = set()
    members: list[_Member] = []  # of the innermost open group
    # The groups around it, the outermost first: the members of each so far, and the relation of the group inside.
    outer_groups: list[tuple[list[_Member], str]] = []
    for piece in _PIECES.findall(line):
        if piece.startswith("("):
            outer_groups.append((members, piece[1:]))
            members = []
        elif piece == ")":
            head = _attach(tokens, members)
            members, relation = outer_groups.pop()
            if relation.endswith("@"):  # rule 4
                name_parts.add(head)
            members.append((head, relation.rstrip("@")))
        else:
            members.append((len(tokens), ""))
            tokens.append(_token(piece, variables))
    root = _attach(tokens, members)
    tokens[root] = tokens[root]._replace(deprel="root")
    _mark_entities(tokens, name_parts, list(variables.values()))
    return tuple(tokens)


def _token(piece: str, variables: dict[str, str]) -> Token:
    """Read a word: a variable in a form, or a fixed word (rule 5)."""
    if ":" in piece:  # `noun.animal:sg`: a new variable, named by its number
        pool, _, form = piece.partition(":")
        name = str(len(variables))
        variables[name] = pool
    else:  # `N.sg`; a fixed word, such as `every` or `.`, has no form or is not the name of a variable
        name, _, form = piece.partition(".")
        if not form or name not in variables:
            word, _, tag = piece.partition("/")
            return Token(word, upos=tag or _TAG_OF.get(word, "X"))
    tag = _POOL_TAGS.get(variables[name].partition(".")[0], "PROPN")
    return Token(form, list(variables).index(name), tag)


def _mark_entities(tokens: list[Token], name_parts: set[int], pools: list[str]) -> None:
    """Give tokens the IOB2 tags of entities: a head whose pool has names, with all parts of its name.

    ``name_parts``: Positions of tokens that are parts of the name whose head they depend on (rule 4).
    ``pools``: The pool of each variable.
    """
    previous = -1  # the head of the entity that the token before belongs to
    for position, token in enumerate(tokens):
        head = position  # the head of the name that the token is a part of, or the token itself
        while head in name_parts:  # a part can have parts itself
            head = tokens[head].head - 1
        variable = tokens[head].variable
        entity = _ENTITIES.get(pools[variable]) if variable >= 0 else None
        if entity is None:
            previous = -1
        else:
            tokens[position] = token._replace(entity=f"{'I' if head == previous else 'B'}-{entity}")
            previous = head


def _attach(tokens: list[Token], members: list[_Member]) -> int:
    """Attach the members of a group to its head (rules 2 and 3); return the position of the head."""

    def weight(position: int) -> tuple[int, int]:
        tag = tokens[position].upos
        rank = _HEADS.index(tag) if tag in _HEADS else -1
        return rank, position  # of words of the same rank, the last one

    words = [position for position, relation in members if not relation]
    head = max(words, key=weight)
    for position, relation in members:
        if position != head:
            deprel = relation or _relation(tokens[position], tokens[head])
            tokens[position] = tokens[position]._replace(head=head + 1, deprel=deprel)
    return head


def _relation(token: Token, head: Token) -> str:
    """The relation of a single word to its head."""
    if token.upos != "AUX":
        return _RELATIONS.get(token.upos, "dep")
    if head.upos != "VERB":
        return "cop"
    is_participle = head.variable >= 0 and head.word_or_form == "part"
    return "aux:pass" if is_participle else "aux"


@cache
def read_rules() -> Rules:
    """Read the grammar: expansions of each symbol, and their weights."""
    text = resources.files("isoglot.synthetic").joinpath("grammar.txt").read_text(encoding="utf-8")
    rules: Rules = {}
    for section in text.split("\n@")[1:]:
        symbol, *lines = section.splitlines()
        expansions, weights = rules.setdefault(symbol, ([], []))
        for line in lines:
            if not line:
                continue
            weight, _, expansion = line.partition(" ")
            alternatives = expansion.split(" | ")  # they share the weight
            expansions += alternatives
            weights += [float(weight) / len(alternatives)] * len(alternatives)
    return rules


def expand(random: Random, symbol: str, number: str | None = None, argument: str | None = None) -> str:
    """Derive a symbol at random; return a line with its tree.

    ``number``: ``sg`` or ``pl``; drawn if it is None.
    ``argument``: What stands for ``$`` in the rule, often a pool: ``noun.animal``.
    """
    rules = read_rules()
    if number is None:
        number = "pl" if random.random() < PLURALS else "sg"
    # The first of these that the grammar has: the rule for the number, for the argument, or for all.
    names = (f"{symbol} {number}", f"{symbol} {argument}", symbol)
    expansions, weights = next(rules[name] for name in names if name in rules)
    (line,) = random.choices(expansions, weights)
    # In a rule, # stands for the number and $ for the argument. Where the argument is missing, `<np # $>` becomes
    # `<np sg >`, so the space before the bracket goes too.
    line = line.replace("#", number).replace("$", argument or "").replace(" >", ">")
    # The symbols of the line are derived in turn, from left to right.
    return _SYMBOL.sub(lambda match: expand(random, *match.groups()), line)


@lru_cache(maxsize=8)
def sample_patterns(count: int, seed: int) -> tuple[Pattern, ...]:
    """Make ``count`` patterns of random derivations; sentences longer than 40 words are left out.

    So rules that make long sentences have a slightly smaller share of the patterns than their weights say.
    Patterns are remembered, because worlds of one seed share them and they take seconds to make.
    """
    random = Random(seed)
    patterns: list[Pattern] = []
    while len(patterns) < count:
        variables: dict[str, str] = {}
        words = parse_wording(expand(random, "sentence"), variables)
        if len(words) <= _LONGEST:
            patterns.append(Pattern(tuple(variables.values()), (words,)))
    return tuple(patterns)
