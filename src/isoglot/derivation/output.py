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

LanguagePair = tuple[str, str]
"""A language and the language derived from it: ``("en", "en-x-inv")``."""


class DerivedFolder(ExitStack):
    """The files of a derived corpus, written as its rows come.

    Call :meth:`add` for each row and :meth:`finish` once. Until then sentence pairs are in one temporary file for each
    pair of languages, ``.0``, ``.1`` and so on, of which :meth:`finish` makes a corpus.

    ``schema``: A schema of :data:`isoglot.derivation.input.INPUT_KINDS`.
    ``lexicon``: Whether there is a gold lexicon.
    """

    def __init__(self, folder: Path, schema: str, *, lexicon: bool) -> None:
        super().__init__()
        self.folder, self.schema = folder, schema
        self.rows = 0
        self._has_lexicon = lexicon
        # Of each language pair, in order of appearance: how often which words are linked (for the gold lexicon).
        self._linked_words: dict[LanguagePair, Counter[tuple[str, str]]] = {}
        self._open: dict[str, TextIO] = {}

    def add(self, row: dict[str, Any], pairs: list[SentencePair]) -> None:
        """Write a row, and the sentence pairs that it consists of."""
        self.rows += 1
        if self.schema in ("text", "treebank"):
            self._write_line("derived.txt", pairs[0].target)
            self._write_line("original.txt", pairs[0].source)
        if self.schema == "treebank":
            self._write_line("derived.conllu", conllu(row, self.rows, text=" ".join(row["words"])))
        elif self.schema != "text":
            self._write_line("derived.jsonl", json.dumps(row, ensure_ascii=False))
        for pair in pairs:
            # The place of a language pair in this dict is the name of its temporary file.
            linked_words = self._linked_words.setdefault(pair.languages, Counter())
            linked = {"source": pair.source_words, "target": pair.target_words, "links": pair.links}
            self._write_line(self._temporary(pair.languages), json.dumps(linked, ensure_ascii=False))
            if self._has_lexicon:
                linked_words.update(pair.word_pairs)

    def finish(self, *, share: float, seed: int) -> dict[str, Any]:
        """Make the ALIGNED corpus of all sentence pairs, and the gold lexicon; return what the manifest says of both.

        The lexicon is written in the format of MUSE (``lexicon.txt``), and as a corpus that recipes read.

        ``share``: The share of the lexicon to draw.
        """
        self.close()
        pairs = self._prepare(self._linked_words, "aligned", "jsonl")
        lexicons = {}
        for languages, linked_words in self._linked_words.items():
            lexicons[languages] = gold_lexicon(linked_words, share=share, seed=seed)
        # The temporary files of the pairs are gone; those of the lexicons have the same names.
        for languages, lexicon in lexicons.items():
            for word, translation in lexicon:
                for name in ("lexicon.txt", self._temporary(languages)):
                    self._write_line(name, f"{word}\t{translation}")
        self.close()
        filled = [languages for languages, lexicon in lexicons.items() if lexicon]
        if filled:
            self._prepare(filled, "lexicon", "lexicon")
        return {
            "rows": self.rows,
            "pairs": pairs,
            "entries": sum(map(len, lexicons.values())),
            "language": ", ".join(dict.fromkeys(derived for _, derived in self._linked_words)),
        }

    def _prepare(self, language_pairs: Iterable[LanguagePair], kind: Kind, file_format: str) -> int:
        """Make a corpus of the temporary files of language pairs, and remove the files; return its number of rows."""
        paths, sources = [], []
        for languages in language_pairs:
            source, target = languages
            path = self.folder / self._temporary(languages)
            paths.append(path)
            sources.append(
                Source(path=str(path), format=file_format, source_language=source, target_language=target)
            )
        options = PrepareOptions(kind=kind, clean_whitespace=False)
        summary = prepare(sources, self.folder / kind, options=options)
        for path in paths:
            path.unlink()
        return summary.rows

    def close(self) -> None:
        """Close the files; a file that is written to after that is replaced."""
        super().close()
        self._open.clear()

    def _temporary(self, languages: LanguagePair) -> str:
        """The name of the temporary file of a language pair: its number, in order of appearance."""
        return f".{list(self._linked_words).index(languages)}"

    def _write_line(self, name: str, text: str) -> None:
        """Write a line to a file of the folder, which is opened with its first line."""
        if name not in self._open:
            file = (self.folder / name).open("w", encoding="utf-8", newline="\n")
            self._open[name] = self.enter_context(file)
        self._open[name].write(f"{text}\n")
