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

    A parser may have cut a text into several sentences; their trees are then put side by side. The trees are kept on
    disk, so that memory does not grow with their number. Use as a context manager.

    Args:
        file: Where the trees are kept meanwhile; by default a temporary file of the system.
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
        rest = _compact(text)
        parts: list[Sentence] = []
        while rest:
            beginning, tree = self._longest_beginning(rest)
            parts.append(Sentence.of_row(json.loads(tree)))
            if self.first_only:
                break
            rest = rest[len(beginning) :]
        return _side_by_side(parts)

    def _longest_beginning(self, text: str) -> tuple[str, str]:
        """Find the longest parsed sentence that a text begins with, and the first of its trees.

        Every beginning of a text sorts before it, the longest last. So where the sentence before the text is not its
        beginning, only what the two have in common can still be one.
        """
        query = "SELECT text, tree FROM trees WHERE text <= ? ORDER BY text DESC, rowid LIMIT 1"
        while row := self._trees.execute(query, (text,)).fetchone():
            common = commonprefix([text, row[0]])  # noqa: RUF071 - of characters, not of paths
            if common == row[0]:
                return common, row[1]
            text = common
        raise Underivable("no parse")


def _records(trees: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the text of each tree, without white space, and the tree as JSON."""
    for row in trees:
        text = _compact("".join(row["words"]))
        if text:
            yield text, json.dumps({name: row[name] for name in ("words", "upos", "heads", "deprels")})


def _side_by_side(parts: Sequence[Sentence]) -> Sentence:
    """Join sentences; heads are counted on from one sentence to the next, and every root stays a root."""
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


def _compact(text: str) -> str:
    return "".join(text.split())
