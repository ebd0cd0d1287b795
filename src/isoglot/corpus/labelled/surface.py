"""The words of XTREME's part-of-speech data: CoNLL-U with its multiword tokens kept whole.

Universal Dependencies split ``zum`` into ``zu dem`` and ``don't`` into ``do n't``. XTREME's data have the token as it
is written, with the tag of its highest part: the one with the fewest nodes above it in the graph of basic and enhanced
dependencies; of several, the one whose tag is the first in a language's order of precedence.

Source: the scripts of Hu et al. 2020 (XTREME), which convert treebanks of UD 2.5 by the rules of
*ud-conversion-tools*.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

_NODE, _RANGE = re.compile(r"[0-9]{1,9}"), re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_UNWRITTEN = re.compile("[ \u200c]")
_EMPTY = "_"
_FIRST: Mapping[str, str] = {
    "": "VERB NOUN PROPN PRON ADJ NUM ADV INTJ AUX ADP DET PART CCONJ SCONJ X PUNCT",
    "es": "VERB AUX PRON ADP DET",
    "fr": "VERB AUX PRON NOUN ADJ ADV ADP DET PART SCONJ CONJ",
    "it": "VERB AUX ADV PRON ADP DET INTJ",
}
"""Tags by precedence; those that are not named come last."""

Line = tuple[int, str]


def surface_rows(block: Sequence[Line], *, language: str) -> list[tuple[int, tuple[str, str]]]:
    """Number of the line, and word and tag, of each written word of a sentence.

    Returns:
        The words, without spaces and zero-width non-joiners; none of a sentence whose words are blanks (``_``) but for
        one at most, as in treebanks without their texts.
    """
    rows = [(number, text.split("\t")) for number, text in block if not text.startswith("#")]
    nodes = {int(columns[0]): (number, columns) for number, columns in rows if _NODE.fullmatch(columns[0])}
    words = {place: (number, columns[1], columns[3]) for place, (number, columns) in nodes.items()}
    ranges = [(match, columns) for _, columns in rows if (match := _RANGE.fullmatch(columns[0]))]
    # Most sentences have no multiword token, and need no walk through their graph.
    above = _above({place: columns for place, (_, columns) in nodes.items()}) if ranges else {}
    for match, columns in ranges:
        parts = sorted(p for p in words if int(match[1]) <= p <= int(match[2]))
        if not parts:
            continue
        highest = min(above[p] for p in parts)
        order = _FIRST.get(language, _FIRST[""]).split()
        head = min((p for p in parts if above[p] == highest), key=lambda p: _rank(words[p][2], order))
        number, _, tag = words[head]
        for part in parts:
            del words[part]
        words[head] = (number, columns[1], tag)
    found = [(n, (_UNWRITTEN.sub("", word), tag)) for _, (n, word, tag) in sorted(words.items())]
    blanks = sum(word == _EMPTY for _, (word, _) in found)
    return [] if blanks and blanks >= len(found) - 1 else found


def _rank(tag: str, order: Sequence[str]) -> int:
    return order.index(tag) if tag in order else len(order)


def _above(nodes: Mapping[int, Sequence[str]]) -> dict[int, int]:
    """How many nodes each one can be reached from."""
    heads: dict[int, set[int]] = defaultdict(set)
    for place, columns in nodes.items():
        named = [columns[6], *(pair.partition(":")[0] for pair in columns[8].split("|"))]
        heads[place] = {int(name) for name in named if _NODE.fullmatch(name)}
    found = {}
    for place in nodes:
        seen, left = set[int](), [place]
        while left:
            new = heads[left.pop()] - seen
            seen |= new
            left += new
        found[place] = len(seen - {place})
    return found
