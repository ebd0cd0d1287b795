"""The folder of a derived corpus, written row by row."""

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.derivation.sharing import gold_lexicon
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import Kind, Source
from isoglot.formats.treebanks import conllu

Languages = tuple[str, str]
"""A language and the one derived from it."""


class DerivedFolder(ExitStack):
    """The files of a derived corpus, written as its rows come.

    Sentence pairs are written to one temporary file for each pair of languages; :meth:`finish` makes corpora of these.
    """

    def __init__(self, folder: Path, kind: str, *, lexicon: bool) -> None:
        super().__init__()
        self.folder, self.kind = folder, kind
        self.rows = 0
        self._lexicon = lexicon
        self._words: dict[
            Languages, Counter[tuple[str, str]]
        ] = {}  # how often words are linked, for the gold lexicon
        self._open: dict[str, TextIO] = {}

    def add(self, row: dict[str, Any], pairs: list[SentencePair]) -> None:
        """Write a row, and the sentence pairs that it consists of."""
        self.rows += 1
        if self.kind in ("text", "treebank"):
            self._line("derived.txt", pairs[0].target)
            self._line("original.txt", pairs[0].source)
        if self.kind == "treebank":
            self._line("derived.conllu", conllu(row, self.rows, text=" ".join(row["words"])))
        elif self.kind != "text":
            self._line("derived.jsonl", json.dumps(row, ensure_ascii=False))
        for pair in pairs:
            words = self._words.setdefault(pair.languages, Counter())
            linked = {"source": pair.source_words, "target": pair.target_words, "links": pair.links}
            self._line(self._temporary(pair.languages), json.dumps(linked, ensure_ascii=False))
            if self._lexicon:
                words.update(pair.word_pairs)

    def finish(self, *, share: float, seed: int) -> dict[str, Any]:
        """Make the ALIGNED corpus of all sentence pairs, and the gold lexicon; return what the manifest says of both.

        The lexicon is written as MUSE does (``lexicon.txt``), and as a corpus that recipes read. ``share``: The part of
        it to draw.
        """
        self.close()
        pairs = self._prepare(self._words, "aligned", "jsonl")
        lexicons = {key: gold_lexicon(words, share=share, seed=seed) for key, words in self._words.items()}
        for languages, lexicon in lexicons.items():
            for word, translation in lexicon:
                for name in ("lexicon.txt", self._temporary(languages)):
                    self._line(name, f"{word}\t{translation}")
        self.close()
        filled = [languages for languages, lexicon in lexicons.items() if lexicon]
        if filled:
            self._prepare(filled, "lexicon", "lexicon")
        return {
            "rows": self.rows,
            "pairs": pairs,
            "entries": sum(map(len, lexicons.values())),
            "language": ", ".join(dict.fromkeys(derived for _, derived in self._words)),
        }

    def _prepare(self, languages: Iterable[Languages], kind: Kind, name: str) -> int:
        """Make a corpus of the temporary files, which are removed; return how many rows it has."""
        languages = list(languages)
        paths = [self.folder / self._temporary(both) for both in languages]
        sources = [
            Source(path=str(path), format=name, source_language=source, target_language=target)
            for path, (source, target) in zip(paths, languages, strict=True)
        ]
        options = PrepareOptions(kind=kind, clean_whitespace=False)
        summary = prepare(sources, self.folder / kind, options=options)
        for path in paths:
            path.unlink()
        return summary.rows

    def close(self) -> None:
        """Close the files; one that is written to after that is replaced."""
        super().close()
        self._open.clear()

    def _temporary(self, languages: Languages) -> str:
        return f".{list(self._words).index(languages)}"

    def _line(self, name: str, text: str) -> None:
        if name not in self._open:
            file = (self.folder / name).open("w", encoding="utf-8", newline="\n")
            self._open[name] = self.enter_context(file)
        self._open[name].write(f"{text}\n")
