"""Write sentence pairs in the formats that every verb reads, with the values of their rows and values of ours."""

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
"""Receives a pair and values of ours by name, with the same names in the same order for every pair."""


class PairWriter:
    """Writes pairs into open files: a :data:`WritePair`."""

    def __init__(
        self,
        files: Sequence[IO[str]],
        row_writer: TableWriter | RowWriter | None,
        unit_writer: TmxWriter | None,
        other_languages: OtherLanguages,
    ) -> None:
        self._files = files
        # One of both is None: TMX is written by units, every other format by rows.
        self._row_writer, self._unit_writer = row_writer, unit_writer
        self._other_languages = other_languages

    def __call__(self, pair: SentencePair, values: Mapping[str, Any]) -> None:
        """Write a pair and values of ours by name, with the same names in the same order for every pair."""
        if self._unit_writer is not None:
            self._unit_writer.write(pair, values)
            return
        self._other_languages.add(pair.unit)
        if self._row_writer is not None:
            for file, line in zip(self._files, self._row_writer.lines(pair, values), strict=True):
                file.write(line)

    def begin(self, pair: SentencePair, names: Sequence[str]) -> None:
        """Write the header of a table, so that one without pairs has it too.

        ``pair``: The first pair that was read, whether it will be written or not. ``names``: Names of our values.
        """
        if isinstance(self._row_writer, TableWriter):
            self._files[0].write(self._row_writer.head(pair, names))


def _format(paths: Sequence[str]) -> str:
    """Tell the format of the output by the name of its file; two files are a Moses pair."""
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
    """Write pairs with values of ours; the files take their names when the block ends without an error.

    - ``.jsonl``: an object with all values of the row, then our values.
    - ``.tsv``, ``.csv``: the columns of a table unchanged, with its header, or source and target; then our values,
      numbers with four decimals. ``-`` is TSV on standard output.
    - ``.tmx``: the whole unit of a pair that was read from TMX, with our values as properties. The row of another pair
      becomes a unit, its values become inline tags, notes, properties and attributes. Characters that XML forbids are
      left out and counted. The header is that of the file from which the first pair was read.
    - The two files of a Moses pair: the sentences alone.

    ``languages``: Languages of a TMX file, which has to name them.
    ``form``: The format, whatever the file is called.
    """
    form = form or _format(paths)
    row_writer: TableWriter | RowWriter | None = None
    if form == "jsonl":
        row_writer = RowWriter(paths[0])
    elif form != "tmx":
        row_writer = TableWriter(paths, comma=form == "csv")
    with ExitStack() as stack:
        if form == "tmx":
            require_languages(languages, paths[0])
        files: list[IO[str]] = [stack.enter_context(text_output(path)) for path in paths]
        unit_writer: TmxWriter | None = None
        if form == "tmx":
            unit_writer = stack.enter_context(tmx_writer(files[0], paths[0], languages))
        other_languages = OtherLanguages()

        yield PairWriter(files, row_writer, unit_writer, other_languages)
        if row_writer is not None:
            row_writer.warn()
        other_languages.warn(" ".join(paths))
