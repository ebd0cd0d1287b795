"""Small files and what the readers make of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from isoglot.corpus.manifest import load_corpus
from isoglot.formats.readers import read
from isoglot.formats.sources import Source

PAIR = {"source_language": "en", "target_language": "de"}


def rows(path: str | Path, kind: str = "bitext", **fields: Any) -> list[dict[str, Any]]:
    """All rows of a file, as English or as English and German."""
    tags = PAIR if kind not in ("text", "treebank") else {"language": "en"}
    return list(read(Source(path=str(path), **{**tags, **fields}), kind=kind))


def write(folder: Path, name: str, text: str) -> str:
    """The path of a new file."""
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def tsv(folder: Path, lines: Iterable[str], name: str = "a.tsv", **fields: Any) -> Source:
    """A new file of pairs with a tab between them, to be read as English and German."""
    path = write(folder, name, "".join(f"{line}\n" for line in lines))
    return Source(path=path, **{**PAIR, **fields})


def texts(out: Path) -> list[tuple[str, str]]:
    """The pairs of a prepared folder."""
    return [(row["source"], row["target"]) for row in load_corpus(out)]
