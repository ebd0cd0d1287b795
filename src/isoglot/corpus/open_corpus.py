"""Open corpora, prepared or raw, and stream their rows.

A prepared corpus is a folder that `isoglot prepare` wrote, with a manifest. Every other input is raw, and has a format.
"""

import os
import pickle
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import same_language
from isoglot.corpus.manifest import Manifest, is_prepared, read_manifest, row_batches
from isoglot.formats.readers import PairRead, read, source_pairs
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import LANGUAGES, UNNAMED, Kind, Source, expand, sources_from
from isoglot.formats.unpacking import is_packed
from isoglot.runs.disk import full_disk_named

T = TypeVar("T")
_ONE_ROW_PER_LINE = ("moses", "bars", "tsv", "jsonl")
"""Formats in which each line is a row."""
_LARGEST_COUNTED = 8 << 30
"""Bytes of the largest file whose lines are counted for a progress bar: counting so many takes seconds."""
_FOLDERS_WITH_ROWS_OF: dict[Kind, tuple[Kind, ...]] = {"bitext": ("bitext", "aligned")}
"""For a kind of rows, the kinds of prepared folders that have such rows: an aligned folder has sentence pairs too.

Rows of a kind that is not listed here are in folders of the same kind alone.
"""


class Spool(Generic[T]):
    """A copy on disk of items that can be read only once, for loops over them.

    The file is deleted together with this object.

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
                with suppress(OSError):  # closing writes the rest, which a full disk does not take either
                    self._file.close()
                raise
        weakref.finalize(self, self._file.close)

    def __iter__(self) -> Iterator[T]:
        position, end = 0, self._file.seek(0, os.SEEK_END)
        # Several loops may run at a time, so each remembers its own place in the file.
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
    again: bool = False  # it will be looped over more than once, so standard input is copied to disk
    is_paused: bool = False  # standard input had nothing more to read when the last pair was read
    _spool: Spool[Any] | None = field(default=None, repr=False)
    _spooled: str = ""  # the items that the spool holds: rows, pairs, or pairs with incomplete units

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self.manifest is not None:
            return self.rows()
        return self._repeatable(read(self.source, kind=self.kind), "rows")

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[dict[str, Any]]:
        """Read the rows ``start`` to ``stop`` − 1 of a prepared folder; row groups without any of them are skipped."""
        if self.manifest is None:
            raise TypeError("a raw source has no row numbers")
        batches = row_batches(Path(self.source.path), self.manifest, start, stop)
        return (row for batch in batches for row in batch.to_pylist())

    def _repeatable(self, items: Iterator[T], what: str) -> Iterator[T]:
        """Return items that can be looped over again: of standard input, a copy on disk, which the first loop makes.

        Raises:
            TypeError: The first loop read standard input as other items than these (``what``); it cannot be read twice.
        """
        reads_standard_input = "-" in self.source.files()
        if not (self.again and reads_standard_input):
            return items
        if self._spool is None:
            self._spool, self._spooled = Spool(items), what
        if self._spooled != what:
            raise TypeError(f"standard input was read as {self._spooled}, and cannot be read again as {what}")
        return iter(self._spool)

    def pairs(
        self, start: int = 0, stop: int | None = None, *, incomplete: bool = False
    ) -> Iterator[PairRead]:
        """Yield each sentence pair, with the problem of its row if the row could not be read, or not all of it.

        Pairs of an aligned folder have its words and links.

        Args:
            start: Of a prepared folder, the first row to read.
            stop: Of a prepared folder, the row to stop before.
            incomplete: Also yield units of a translation memory that lack a language, without that side.
        """
        if self.manifest is None:
            pairs = source_pairs(self.source, incomplete=incomplete, tell_paused=self._set_paused)
            yield from self._repeatable(pairs, "pairs with incomplete units" if incomplete else "pairs")
            self.is_paused = False
            return
        source_language, target_language = LANGUAGES["bitext"]
        for row in self.rows(start, stop):
            pair = SentencePair(
                (row["source"], row["target"]),
                languages=(row[source_language] or "", row[target_language] or ""),
                path=self.source.path,
            )
            if self.manifest.kind == "aligned":
                pair.words = row["source_words"], row["target_words"]
                pair.more = {"links": row["links"]}
            yield PairRead(pair)

    def _set_paused(self, paused: bool) -> None:
        self.is_paused = paused


@dataclass(frozen=True)
class Corpus:
    """The rows of all inputs, one input after the other, in bounded memory.

    Every loop over it reads the inputs again from the beginning. A loop is over dictionaries
    (``for row in corpus: row["source"]``), or over sentence pairs with :meth:`pairs`.
    """

    inputs: Sequence[CorpusInput]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return chain.from_iterable(self.inputs)

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages of the first input."""
        first = self.inputs[0]
        if first.manifest is not None:
            return first.manifest.languages[0].languages
        return first.source.languages(first.kind)

    def paused(self) -> bool:
        """Whether nothing more was waiting to be read when the last pair was read.

        Standard input may pause for long; results so far are written out then.
        """
        return any(corpus_input.is_paused for corpus_input in self.inputs)

    def row_count(self) -> int:
        """Count the rows for a progress bar; 0 if an input must be read to know them."""
        counts = [_row_count(corpus_input) for corpus_input in self.inputs]
        return sum(counts) if all(counts) else 0

    def pairs(self, *, incomplete: bool = False) -> Iterator[SentencePair]:
        """Yield the sentence pairs of all inputs, one input after the other, in bounded memory.

        Args:
            incomplete: Also yield units of a translation memory that lack a language, without that side.

        Raises:
            InputError: A row cannot be read, or not all of it.
        """
        for corpus_input in self.inputs:
            for pair, problem in corpus_input.pairs(incomplete=incomplete):
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

    Sources are read first, then paths.

    Args:
        inputs: Sources, or paths as :func:`corpus_sources` takes them.
        kind: Kind of rows to read; sentence pairs (``bitext``) are read from an aligned folder too.
        languages: Languages of the paths; a prepared folder in other languages is refused.
        again: Copy standard input to disk, because it will be looped over more than once.
        **reading: Further keys of the sources that are made of paths, such as ``header=True``.

    Example:
        >>> for row in open_corpus(["data/en-de"], "bitext"):  # doctest: +SKIP
        ...     print(row["source"], row["target"])
    """
    paths = [str(given) for given in inputs if not isinstance(given, Source)]
    sources = [given for given in inputs if isinstance(given, Source)]
    sources += corpus_sources(paths, kind, languages=languages, **reading)

    # One error names the mistakes of all raw sources. Below, each is expanded by itself, to keep its place.
    raw = [source for source in sources if not is_prepared(source.path)]
    if raw:
        expand(raw, kind)

    opened: list[CorpusInput] = []
    for source in sources:
        if is_prepared(source.path):
            opened.append(prepared_input(source, kind, check_files=True))
        else:
            files = expand([source], kind)  # a pattern such as *.tsv is several
            opened.extend(CorpusInput(file, kind, again=again) for file in files)
    return Corpus(opened)


def _row_count(corpus_input: CorpusInput) -> int:
    """The number of rows of a prepared folder or of a plain file with a row per line; 0 if it is not known."""
    if corpus_input.manifest is not None:
        return corpus_input.manifest.rows
    path = Path(corpus_input.source.files()[0])
    if corpus_input.source.format not in _ONE_ROW_PER_LINE or not path.is_file() or is_packed(path):
        return 0
    if path.stat().st_size > _LARGEST_COUNTED:
        return 0
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(partial(file.read, 1 << 20), b""))
    return lines - bool(corpus_input.source.header)


def prepared_input(source: Source, kind: Kind, *, check_files: bool = False) -> CorpusInput:
    """Open a prepared folder; refuse one of another kind or in other languages.

    Args:
        source: The folder, and the languages that it should have; a language that nobody named fits any.
        kind: Kind of rows to read.
        check_files: Also check that the Parquet files are unchanged since they were written.
    """
    path, manifest = source.path, read_manifest(source.path)
    if manifest is None:
        raise InputError(f"no readable manifest; run `isoglot prepare ... --out {path}` (again)", path=path)
    kinds = _FOLDERS_WITH_ROWS_OF.get(kind, (kind,))
    if manifest.kind not in kinds:
        raise InputError(
            f"holds a prepared {manifest.kind} corpus, and {' or '.join(kinds)} is needed; name another folder, or "
            f"prepare one with [[kind='{kind}']]",
            path=path,
        )
    wanted = ["" if tag in UNNAMED else tag for tag in source.languages(manifest.kind)]
    prepared = [count.languages for count in manifest.languages]
    for languages in prepared:
        if not _languages_match(languages, wanted):
            listed = ", ".join("-".join(codes) for codes in sorted(prepared))
            raise ConfigurationError(
                f"{path}: got language {'-'.join(filter(None, wanted))}, but it was prepared with {listed}; leave the "
                "languages out"
            )
    if check_files:
        manifest.require_undamaged(Path(path))
    return CorpusInput(source, kind, manifest)


def _languages_match(languages: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether languages are the wanted ones: ``en, de`` fit ``en-US`` and an empty tag, which fits any language."""
    return all(not tag or same_language(code, tag) for code, tag in zip(languages, wanted, strict=True))


def corpus_sources(
    paths: Sequence[str], kind: Kind = "bitext", *, languages: Sequence[str] = (), **reading: Any
) -> list[Source]:
    """Make sources of paths.

    1. If no path is a prepared folder, two or three files may be read side by side (``train.en train.de``), as
       :func:`~isoglot.formats.sources.sources_from` decides.
    2. If one path is a prepared folder, each path is an input of its own.
    3. A single file of sentence pairs whose name does not tell its format has ``source ||| target`` lines.

    Example:
        >>> [source.format for source in corpus_sources(["pairs.txt"], languages=("en", "de"))]
        ['bars']
    """
    folders = [path for path in paths if is_prepared(path)]
    files = [path for path in paths if path not in folders]
    if folders and not files:
        idle = [name for name, value in reading.items() if value]
        if idle:
            raise ConfigurationError(
                f"{folders[0]}: is a prepared folder, and {' and '.join(idle)} say how files are read; leave them out"
            )
    if kind == "bitext" and len(files) == 1 and reading.get("format") is None:
        file = Path(files[0])
        if file.suffix in ("", ".txt") and not file.is_dir():
            reading["format"] = "bars"  # 3
    if not folders:
        return sources_from(files, kind=kind, languages=languages, **reading)
    sources: list[Source] = []
    for path in paths:
        options = {} if path in folders else reading
        sources += sources_from([path], kind=kind, languages=languages, **options)
    return sources
