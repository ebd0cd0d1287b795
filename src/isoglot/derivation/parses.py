"""Trees of raw sentences, looked up in a treebank of their parses."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from os.path import commonprefix
from pathlib import Path
from typing import Any

from isoglot.derivation.base import Sentence, Underivable


class Parses(ExitStack):
    """Looks up the tree of a text among parsed sentences; white space does not matter, as parsers change it.

    A parser may have cut a text into several sentences; their trees are then put side by side. The trees are kept in a
    database on disk, so that memory does not grow with their number. Use as a context manager.

    Args:
        trees: Rows with ``words``, ``upos``, ``heads`` and ``deprels``.
        file: The database, which is removed at the end; by default a temporary file of the system.
        first_only: Take only the first sentence of a text, as ALIGN-MLM's code does.
    """

    def __init__(
        self, trees: Iterable[Mapping[str, Any]], file: Path | None = None, *, first_only: bool = False
    ) -> None:
        super().__init__()
        self.first_only = first_only
        if file is not None:
            self.callback(file.unlink)
        self._trees = self.enter_context(closing(sqlite3.connect(file or "")))
        self._trees.execute("PRAGMA synchronous = OFF")
        self._trees.execute("CREATE TABLE trees (text TEXT, tree TEXT)")
        self._trees.executemany("INSERT INTO trees VALUES (?, ?)", _records(trees))
        self._trees.execute("CREATE INDEX by_text ON trees (text)")

    def __call__(self, text: str) -> Sentence:
        """Look up the tree of a text, or the trees of its sentences, which are put side by side.

        Raises:
            Underivable: The text was not parsed.
        """
        rest = _without_space(text)
        parts: list[Sentence] = []
        while rest:
            # Greedy: the longest sentence that fits is taken, also if the rest was not parsed then.
            parsed_text, tree = self._longest_beginning(rest)
            parts.append(Sentence.of_row(json.loads(tree)))
            if self.first_only:
                break
            rest = rest[len(parsed_text) :]
        return _side_by_side(parts)

    def _longest_beginning(self, text: str) -> tuple[str, str]:
        """Find the longest parsed sentence that a text begins with; return it and its tree.

        Of several trees of the same sentence the first one is taken. Sentences are found by alphabet, with the index:

        1. All beginnings of a text sort before the text, and the longest beginning is the last of them.
        2. So the last sentence that sorts before the text, or is the text, is looked at. If the text begins with it,
           it is found.
        3. If not, the search goes on with the common beginning of the text and that sentence: with the sentences
           ``ab`` and ``abca``, the text ``abcd`` first meets ``abca``. Their common beginning is ``abc``, and the
           search for ``abc`` finds ``ab``.

        Step 3 misses no parsed beginning such as ``ab``: all that sorts between ``ab`` and ``abcd`` begins with ``ab``,
        as in a dictionary. The sentence that is met, ``abca``, sorts there, so ``ab`` also begins the common beginning.
        """
        query = "SELECT text, tree FROM trees WHERE text <= ? ORDER BY text DESC, rowid LIMIT 1"
        while row := self._trees.execute(query, (text,)).fetchone():  # 1
            sentence, tree = row
            common = commonprefix([text, sentence])  # noqa: RUF071 - of characters, not of paths
            if common == sentence:  # 2
                return sentence, tree
            text = common  # 3
        raise Underivable("no parse")


def _records(trees: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the text of each tree, without white space, and the tree as JSON."""
    for row in trees:
        text = _without_space("".join(row["words"]))
        if text:
            yield text, json.dumps({name: row[name] for name in ("words", "upos", "heads", "deprels")})


def _side_by_side(parts: Sequence[Sentence]) -> Sentence:
    """Join the sentences of a text.

    The numbers of heads go on from one sentence to the next, and every root stays a root: heads ``(2, 0)`` and
    ``(0, 1)`` become ``(2, 0, 0, 3)``.
    """
    words: list[str] = []
    upos: list[str] = []
    heads: list[int] = []
    deprels: list[str] = []
    for part in parts:
        before = len(words)
        heads += [head + before if head else 0 for head in part.heads]
        words += part.words
        upos += part.upos
        deprels += part.deprels
    return Sentence(tuple(words), tuple(upos), tuple(heads), tuple(deprels))


def _without_space(text: str) -> str:
    return "".join(text.split())
