"""What `isoglot derive` writes, row by row."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.corpus.read.sources import Kind, Source
from isoglot.derive.rows import Image
from isoglot.derive.sharing import word_pairs

_ALIGNED = ".aligned.jsonl"


class DerivedFolder(ExitStack):
    """The files of a derived corpus, written as its rows come."""

    def __init__(self, folder: Path, kind: str, *, lexicon: bool) -> None:
        super().__init__()
        self.folder, self.kind = folder, kind
        self.rows = self.pairs = 0
        self.languages: Counter[tuple[str, str]] = Counter()
        self.words: Counter[tuple[str, str]] | None = Counter() if lexicon else None
        self._open: dict[str, TextIO] = {}

    def add(self, image: Image) -> None:
        """Write a row and its sentence pairs."""
        self.rows += 1
        if self.kind in ("text", "treebank"):
            pair = image.pairs[0]
            self._line("derived.txt", pair["target"])
            self._line("original.txt", pair["source"])
        if self.kind == "treebank":
            self._line("derived.conllu", _conllu(image.row, self.rows))
        elif self.kind != "text":
            self._line("derived.jsonl", json.dumps(image.row, ensure_ascii=False))
        for pair in image.pairs:
            self.pairs += 1
            self.languages[pair["source_language"], pair["target_language"]] += 1
            row = {
                "source": pair["source_words"],
                "target": pair["target_words"],
                "links": pair["links"],
            }
            self._line(_ALIGNED, json.dumps(row, ensure_ascii=False))
        if self.words is not None:
            self.words.update(word_pairs(image.pairs))

    def finish(self) -> None:
        """Close the files and make the ALIGNED corpus of all sentence pairs."""
        self.close()
        source, target = self.languages.most_common(1)[0][0]
        path = self.folder / _ALIGNED
        self._prepare(path, "aligned", "jsonl", source_language=source, target_language=target)
        path.unlink()

    def save_lexicon(self, lexicon: Sequence[tuple[str, str]]) -> None:
        """Write word pairs as MUSE does, and as a corpus that recipes read."""
        path = self.folder / "lexicon.txt"
        path.write_text("".join(f"{s}\t{t}\n" for s, t in lexicon), encoding="utf-8")
        source, target = self.languages.most_common(1)[0][0]
        self._prepare(path, "lexicon", "lexicon", source_language=source, target_language=target)

    def _prepare(self, path: Path, kind: Kind, name: str, **languages: str) -> None:
        source = Source.model_validate({"path": str(path), "format": name, **languages})
        prepare([source], self.folder / kind, options=PrepareOptions(kind=kind, clean_whitespace=False))

    def _line(self, name: str, text: str) -> None:
        if name not in self._open:
            file = (self.folder / name).open("w", encoding="utf-8", newline="\n")
            self._open[name] = self.enter_context(file)
        self._open[name].write(f"{text}\n")


def _conllu(row: dict[str, Any], number: int) -> str:
    lines = [f"# sent_id = {number}", f"# text = {' '.join(row['words'])}"]
    columns = (row["words"], row["upos"], row["heads"], row["deprels"])
    for i, (word, tag, head, relation) in enumerate(zip(*columns, strict=True), 1):
        lines.append("\t".join([str(i), word, "_", tag, "_", "_", str(head), relation, "_", "_"]))
    return "\n".join([*lines, ""])
