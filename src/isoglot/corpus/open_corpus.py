"""Open corpora, prepared or raw, and stream their rows.

A folder that `isoglot prepare` wrote has a manifest; everything else is raw and has a format.
"""

import os
import pickle
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import same_language
from isoglot.corpus.manifest import Manifest, is_prepared, read_manifest, row_batches
from isoglot.formats.line_files import is_packed
from isoglot.formats.readers import PairRead, read, source_pairs
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import LANGUAGES, UNNAMED, Kind, Source, expand, sources_from
from isoglot.runs.disk import full_disk_named

T = TypeVar("T")
_ROW_A_LINE = ("moses", "bars", "tsv", "jsonl")
"""Formats of which a line is a row."""
_MOST_COUNTED = 8 << 30
"""Bytes of a file whose lines are counted for a bar, which takes seconds."""
_HELD_IN: dict[Kind, tuple[Kind, ...]] = {"bitext": ("bitext", "aligned")}
"""Kinds of prepared folders whose rows have the columns of a kind, where there are others than the kind itself."""


class Spool(Generic[T]):
    """Items that can be read only once, stored on disk, so that they can be looped over again.

    Example:
        >>> items = Spool(iter("abc"))
        >>> next(iter(items)), list(items), list(items)
        ('a', ['a', 'b', 'c'], ['a', 'b', 'c'])
    """

    def __init__(self, items: Iterator[T]) -> None:
        with full_disk_named(tempfile.gettempdir()):
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object
            try:
                for item in items:
                    pickle.dump(item, self._file)
                self._file.flush()
            except BaseException:
                with suppress(OSError):  # what is left cannot be written either
                    self._file.close()
                raise
        weakref.finalize(self, self._file.close)

    def __iter__(self) -> Iterator[T]:
        position, end = 0, self._file.seek(0, os.SEEK_END)
        while position < end:
            self._file.seek(position)
            item: T = pickle.load(self._file)  # noqa: S301 - our own
            position = self._file.tell()
            yield item


@dataclass
class CorpusInput:
    """One input: a prepared folder, which has a manifest, or a raw source, which has a format."""

    source: Source
    kind: Kind
    manifest: Manifest | None = None
    again: bool = False  # standard input is kept on disk, so that it can be looped over again
    paused: bool = False  # whether nothing more was waiting behind the pair that was read last
    _spool: Spool[Any] | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self.manifest is not None:
            return self.rows()
        return self.loop(read(self.source, kind=self.kind))

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[dict[str, Any]]:
        """The rows ``start`` to ``stop`` − 1 of a prepared folder, from those row groups that have them."""
        if self.manifest is None:
            raise TypeError("a raw source has no row numbers")
        batches = row_batches(Path(self.source.path), self.manifest, start, stop)
        return (row for batch in batches for row in batch.to_pylist())

    def loop(self, items: Iterator[T]) -> Iterator[T]:
        """What is read from this input, or what the first loop read where it can be read only once."""
        if not (self.again and "-" in self.source.files()):
            return items
        self._spool = self._spool or Spool(items)
        return iter(self._spool)

    def pairs(
        self, start: int = 0, stop: int | None = None, *, incomplete: bool = False
    ) -> Iterator[PairRead]:
        """The sentence pairs, and what is wrong with their rows; of a prepared folder ``start`` to ``stop`` − 1.

        Words and links of a folder that has word links are those of its rows. ``incomplete``: Units of a translation
        memory that lack a language are pairs too, without that side.
        """
        if self.manifest is None:
            read_now = source_pairs(self.source, incomplete=incomplete, tell_paused=self._set_paused)
            yield from self.loop(read_now)
            self.paused = False
            return
        for row in self.rows(start, stop):
            source, target = (row[name] or "" for name in LANGUAGES["bitext"])
            texts = row["source"], row["target"]
            pair = SentencePair(texts, languages=(source, target), path=self.source.path)
            if self.manifest.kind == "aligned":
                pair.words, pair.more = (row["source_words"], row["target_words"]), {"links": row["links"]}
            yield PairRead(pair)

    def _set_paused(self, paused: bool) -> None:
        self.paused = paused


@dataclass(frozen=True)
class Corpus:
    """The rows of all inputs in their order, in bounded memory; each loop reads them anew."""

    inputs: Sequence[CorpusInput]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (row for part in self.inputs for row in part)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the first input."""
        first = self.inputs[0]
        return first.manifest.languages[0].languages if first.manifest else first.source.languages(first.kind)

    def paused(self) -> bool:
        """Whether nothing more was waiting to be read behind the last pair: standard input may wait for long."""
        return any(part.paused for part in self.inputs)

    def row_count(self) -> int:
        """The number of rows, for a bar; 0 if it is only known after all rows have been read."""
        counts = [_rows_of(part) for part in self.inputs]
        return sum(counts) if all(counts) else 0

    def pairs(self, *, incomplete: bool = False) -> Iterator[SentencePair]:
        """The sentence pairs of all inputs in their order, in bounded memory.

        ``incomplete``: Units of a translation memory that lack a language are pairs too, without that side.

        Raises:
            InputError: A row cannot be read, or not all of it.
        """
        for part in self.inputs:
            for pair, problem in part.pairs(incomplete=incomplete):
                if problem is not None:
                    raise problem
                yield pair


def open_corpus(
    inputs: Sequence[str | Path | Source],
    kind: Kind,
    *,
    languages: Sequence[str] = (),
    again: bool = False,
    **reading: Any,
) -> Corpus:
    """Open prepared folders and raw files; mistakes in all of them are found before a row is read.

    Args:
        inputs: Sources, or paths as :func:`corpus_sources` takes them.
        kind: What the rows are wanted as; sentence pairs are read from an aligned folder too.
        languages: Of inputs given as paths; a prepared folder in others is refused.
        again: Standard input will be looped over more than once.
        **reading: Further keys of the sources of paths.

    Example:
        >>> for row in open_corpus(["data/en-de"], "bitext"):  # doctest: +SKIP
        ...     print(row["source"], row["target"])
    """
    paths = [str(part) for part in inputs if not isinstance(part, Source)]
    sources = [part for part in inputs if isinstance(part, Source)]
    sources += corpus_sources(paths, kind, languages=languages, **reading)
    if raw := [source for source in sources if not is_prepared(source.path)]:
        expand(raw, kind)
    opened: list[CorpusInput] = []
    for source in sources:
        if is_prepared(source.path):
            opened.append(prepared_input(source, kind, whole=True))
        else:
            opened += [CorpusInput(part, kind, again=again) for part in expand([source], kind)]
    return Corpus(opened)


def _rows_of(corpus_input: CorpusInput) -> int:
    """The rows of a prepared folder, or the lines of a plain file; 0 for all else."""
    if corpus_input.manifest is not None:
        return corpus_input.manifest.rows
    path = Path(corpus_input.source.files()[0])
    if corpus_input.source.format not in _ROW_A_LINE or not path.is_file() or is_packed(path):
        return 0
    if path.stat().st_size > _MOST_COUNTED:
        return 0
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(partial(file.read, 1 << 20), b""))
    return lines - bool(corpus_input.source.header)


def prepared_input(source: Source, kind: Kind, *, whole: bool = False) -> CorpusInput:
    """A prepared folder, if it holds what is wanted; ``whole``: and its shards are as they were written."""
    path, manifest = source.path, read_manifest(source.path)
    if manifest is None:
        raise InputError(f"no readable manifest; run `isoglot prepare ... --out {path}` (again)", path=path)
    if manifest.kind not in (kinds := _HELD_IN.get(kind, (kind,))):
        raise InputError(
            f"holds a prepared {manifest.kind} corpus, and {' or '.join(kinds)} is needed; name another folder, or "
            f"prepare one with [[kind='{kind}']]",
            path=path,
        )
    tags = ["" if tag in UNNAMED else tag for tag in source.languages(manifest.kind)]
    prepared = [count.languages for count in manifest.languages]
    if not all(
        not tag or same_language(language, tag)
        for row in prepared
        for language, tag in zip(row, tags, strict=True)
    ):
        listed = ", ".join("-".join(row) for row in sorted(prepared))
        raise ConfigurationError(
            f"{path}: got language {'-'.join(filter(None, tags))}, but it was prepared with {listed}; leave the "
            "languages out"
        )
    if whole:
        manifest.require_whole(Path(path))
    return CorpusInput(source, kind, manifest)


def corpus_sources(
    paths: Sequence[str], kind: Kind = "bitext", *, languages: Sequence[str] = (), **reading: Any
) -> list[Source]:
    """Sources of paths: prepared folders, two or three files side by side, or files that hold whole rows.

    A single file of a bitext whose name does not tell its format has ``source ||| target`` lines.
    """
    folders = [path for path in paths if is_prepared(path)]
    files = [path for path in paths if path not in folders]
    if folders and not files and (idle := [name for name, value in reading.items() if value]):
        raise ConfigurationError(
            f"{folders[0]}: is a prepared folder, and {' and '.join(idle)} say how files are read; leave them out"
        )
    plain = len(files) == 1 and Path(files[0]).suffix in ("", ".txt") and not Path(files[0]).is_dir()
    if kind == "bitext" and plain and reading.get("format") is None:
        reading["format"] = "bars"
    if not folders:
        return sources_from(files, kind=kind, languages=languages, **reading)
    options = {path: {} if path in folders else reading for path in paths}
    return [
        opened for p in paths for opened in sources_from([p], kind=kind, languages=languages, **options[p])
    ]
