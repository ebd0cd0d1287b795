"""Sentence pairs written in the formats that every verb reads, with what their rows say and what is known of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any

from isoglot.core.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import by_suffix
from isoglot.formats.table_writer import RowWriter, TableWriter
from isoglot.formats.tmx_unit import OtherLanguages
from isoglot.formats.tmx_writer import TmxWriter, require_languages, tmx_writer
from isoglot.runs.files import text_output

WritePair = Callable[[SentencePair, Mapping[str, Any]], None]
"""Takes a pair and what is known of it, by name, in the same order for every pair."""


class PairWriter:
    """Writes pairs into open files: a :data:`WritePair`."""

    def __init__(
        self,
        files: Sequence[IO[str]],
        lines: TableWriter | RowWriter | None,
        memory: TmxWriter | None,
        others: OtherLanguages,
    ) -> None:
        self._files, self._lines, self._memory, self._others = files, lines, memory, others

    def __call__(self, pair: SentencePair, values: Mapping[str, Any]) -> None:
        """Write a pair and what is known of it, by name, in the same order for every pair."""
        if self._memory is not None:
            self._memory.write(pair, values)
            return
        self._others.add(pair.unit)
        if self._lines is not None:
            for file, line in zip(self._files, self._lines.lines(pair, values), strict=True):
                file.write(line)

    def begin(self, pair: SentencePair, names: Sequence[str]) -> None:
        """Write the header of a table, so that one without pairs has it too.

        ``pair``: The first pair that was read, whether it will be written or not. ``names``: Those of the values.
        """
        if isinstance(self._lines, TableWriter):
            self._files[0].write(self._lines.head(pair, names))


def _format(paths: Sequence[str]) -> str:
    """The format of pairs in one file, by its name, or of the two files of a Moses pair."""
    if len(paths) == 2 and "-" not in paths:
        return "moses"
    name = "tsv" if paths[0] == "-" else by_suffix(paths[0])
    if len(paths) != 1 or name not in ("tsv", "csv", "jsonl", "tmx"):
        raise ConfigurationError(
            f"{' '.join(paths)}: the format is not clear from its name; name a .tsv, .csv, .jsonl or .tmx file (also "
            ".gz, .xz, .zst, .bz2), or two files, one per side"
        )
    return name


@contextmanager
def pair_writer(
    paths: Sequence[str], languages: Sequence[str] = ("", ""), *, form: str | None = None
) -> Iterator[PairWriter]:
    """Write pairs; the files take their places when the block ends without an error.

    ``.jsonl``: an object with all that the row says, and the values by name; ``.tsv`` and ``.csv``: the columns of a
    table as they were, with its header, or source and target, then the values, numbers with four digits; ``.tmx``: the
    whole unit of a pair that was read from TMX, of others what the row says, as in-line tags, notes, properties and
    attributes; the values are properties, and characters that XML forbids are left out and counted; the two files of a
    Moses pair: the sentences alone. ``-`` is TSV on standard output.

    ``languages``: Those of a TMX file, which has to name them; its header is that of the memory that the
    first pair is from.
    ``form``: The format, whatever the file is called.
    """
    form = form or _format(paths)
    writer: TableWriter | RowWriter | None = None  # of TMX, which is written by units, none
    if form == "jsonl":
        writer = RowWriter(paths[0])
    elif form != "tmx":
        writer = TableWriter(paths, comma=form == "csv")
    with ExitStack() as stack:
        if form == "tmx":
            require_languages(languages, paths[0])
        files: list[IO[str]] = [stack.enter_context(text_output(path)) for path in paths]
        memory = stack.enter_context(tmx_writer(files[0], paths[0], languages)) if form == "tmx" else None
        others = OtherLanguages()

        yield PairWriter(files, writer, memory, others)
        if writer is not None:
            writer.warn()
        others.warn(" ".join(paths))
