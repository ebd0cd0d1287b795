"""Trees of raw sentences, found in a treebank of their parses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from isoglot.derive.base import Sentence, Underivable

__all__ = ["Parses"]


class Parses:
    """Looks a text up among parsed sentences, whatever blanks the parser added.

    A parser may have cut a text into several sentences; their trees are then put side by side.

    Args:
        trees: TREEBANK rows.
        first_only: take only the first sentence of a text, as ALIGN-MLM's code does.
    """

    def __init__(self, trees: Iterable[Mapping[str, Any]], *, first_only: bool = False) -> None:
        self.first_only = first_only
        self._trees: dict[str, Sentence] = {}
        for row in trees:
            sentence = Sentence(
                tuple(row["words"]), tuple(row["upos"]), tuple(row["heads"]), tuple(row["deprels"])
            )
            self._trees.setdefault(_compact("".join(sentence.words)), sentence)
        self._lengths = sorted({len(k) for k in self._trees}, reverse=True)

    def __call__(self, text: str) -> Sentence:
        """The tree of a text, or the trees of its sentences as one forest.

        Raises:
            Underivable: there is none.
        """
        rest = _compact(text)
        parts: list[Sentence] = []
        while rest:
            found = next((self._trees[rest[:n]] for n in self._lengths if rest[:n] in self._trees), None)
            if found is None:
                raise Underivable("no parse")
            parts.append(found)
            if self.first_only:
                break
            rest = rest[len(_compact("".join(found.words))) :]
        return _joined(parts)


def _compact(text: str) -> str:
    return "".join(text.split())


def _joined(parts: list[Sentence]) -> Sentence:
    words: list[str] = []
    upos: list[str] = []
    heads: list[int] = []
    deprels: list[str] = []
    for part in parts:
        shift = len(words)
        words.extend(part.words)
        upos.extend(part.upos or ())
        heads.extend([h + shift if h else 0 for h in part.heads or ()])
        deprels.extend(part.deprels or ())
    return Sentence(tuple(words), tuple(upos), tuple(heads), tuple(deprels))
