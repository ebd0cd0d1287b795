"""Trees of raw sentences, found in a treebank of their parses."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from itertools import accumulate, chain
from os.path import commonprefix
from pathlib import Path
from typing import Any

from isoglot.derivation.base import Sentence, Underivable


class Parses(ExitStack):
    """Looks a text up among parsed sentences, whatever blanks the parser added.

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
        columns = "words", "upos", "heads", "deprels"
        records = (
            (text, json.dumps({name: row[name] for name in columns}))
            for row in trees
            if (text := _compact("".join(row["words"])))
        )
        self._trees.executemany("INSERT INTO trees VALUES (?, ?)", records)
        self._trees.execute("CREATE INDEX by_text ON trees (text)")

    def __call__(self, text: str) -> Sentence:
        """The tree of a text, or the trees of its sentences as one forest."""
        rest = _compact(text)
        parts: list[Sentence] = []
        while rest:
            beginning, tree = self._longest_beginning(rest)
            parts.append(Sentence.of_row(json.loads(tree)))
            if self.first_only:
                break
            rest = rest[len(beginning) :]
        shifts = accumulate((len(part.words) for part in parts), initial=0)
        heads = [
            h + shift if h else 0 for part, shift in zip(parts, shifts, strict=False) for h in part.heads
        ]
        words, upos, deprels = (
            tuple(chain.from_iterable(getattr(part, name) for part in parts))
            for name in ("words", "upos", "deprels")
        )
        return Sentence(words, upos, tuple(heads), deprels)

    def _longest_beginning(self, text: str) -> tuple[str, str]:
        """The longest parsed sentence that a text begins with, and the first of its trees.

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


def _compact(text: str) -> str:
    return "".join(text.split())
