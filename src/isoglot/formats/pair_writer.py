"""Sentence pairs written in the formats that every verb reads, with what their rows say and what is known of them."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from isoglot.errors import ConfigurationError, InputError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import bare_suffix, by_suffix
from isoglot.formats.tmx_unit import OtherLanguages
from isoglot.formats.tmx_writer import require_languages, tmx_writer
from isoglot.runs.files import text_output
from isoglot.runs.records import json_line

WritePair = Callable[[SentencePair, Mapping[str, Any]], None]
"""Takes a pair and what is known of it, by name, in the same order for every pair."""
_LOG = logging.getLogger(__name__)
_ENDS = str.maketrans("\t\n\r", "   ")


def _format(paths: Sequence[str]) -> str:
    """The format of pairs in one file, by its name, or of the two files of a Moses pair."""
    if len(paths) == 2 and "-" not in paths:
        return "moses"
    name = "tsv" if paths[0] == "-" else by_suffix(paths[0])
    packed = Path(paths[0]).suffix if bare_suffix(paths[0]) != Path(paths[0]).suffix.lower() else ".gz"
    if len(paths) != 1 or name not in ("tsv", "jsonl", "tmx") or packed != ".gz":
        raise ConfigurationError(
            f"{' '.join(paths)}: the format is not clear from its name; name a .tsv, .jsonl or .tmx file (or .gz), "
            "or two files, one per side"
        )
    return name


@contextmanager
def pair_writer(
    paths: Sequence[str], languages: Sequence[str] = ("", ""), *, form: str | None = None
) -> Iterator[WritePair]:
    """Write pairs; the files take their places when the block ends without an error.

    ``.jsonl``: an object with all that the row says, and the values by name; ``.tsv``: source, target, the row's other
    columns, then the values, numbers with four digits; ``.tmx``: the whole unit of a pair that was read from TMX, of
    others what the row says, as in-line tags, notes, properties and attributes; the values are properties, and
    characters that XML forbids are left out and counted; the two files of a Moses pair: the sentences alone.
    ``-`` is TSV on standard output.

    ``languages``: Those of a TMX file, which has to name them; its header is that of the memory that the
    first pair is from.
    ``form``: The format, whatever the file is called.
    """
    form = form or _format(paths)
    tables = _Tables(paths) if form in ("moses", "tsv") else None
    with ExitStack() as stack:
        if form == "tmx":
            require_languages(languages, paths[0])
        files: list[IO[str]] = [stack.enter_context(text_output(path)) for path in paths]
        memory = stack.enter_context(tmx_writer(files[0], paths[0], languages)) if form == "tmx" else None
        others = OtherLanguages()

        def write(pair: SentencePair, values: Mapping[str, Any]) -> None:
            if memory is not None:
                memory.write(pair, values)
                return
            others.add(pair.unit)
            lines = tables.lines(pair, values) if tables else [json_line({**pair.row(), **values})]
            for file, line in zip(files, lines, strict=True):
                file.write(line)

        yield write
        others.warn(" ".join(paths))


class _Tables:
    """Lines of the two files of a Moses pair, or of a TSV, all of the same number of columns."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths, self._width, self._warned = paths, -1, False

    def lines(self, pair: SentencePair, values: Mapping[str, Any]) -> list[str]:
        """The lines of a pair."""
        texts, cells = [*map(_column, pair.texts)], [*map(_column, pair.cells)]
        tsv = len(self._paths) == 1
        if self._width < 0:
            self._width = len(cells)
        if not (self._warned or (tsv and cells)) and (
            pair.more or pair.tags != ((), ()) or pair.id is not None
        ):
            named = [name for name in pair.more if not name.endswith("_language")]
            if lost := ["id"] * (pair.id is not None) + named + ["in-line tags"] * any(pair.tags):
                paths = " ".join(self._paths)
                _LOG.warning(
                    "%s: has no room for %s; write a .jsonl file to keep them", paths, ", ".join(lost)
                )
                self._warned = True
        if not tsv:
            return [f"{text}\n" for text in texts]
        if len(cells) != self._width:
            raise InputError(
                f"{len(cells) + 2} columns, but the first pair has {self._width + 2}, and so has each row of a .tsv; "
                "write a .jsonl file",
                path=pair.path,
                line=pair.line,
            )
        known = [f"{value:.4f}" if isinstance(value, float) else str(value) for value in values.values()]
        return ["\t".join([*texts, *cells, *known]) + "\n"]


def _column(text: str) -> str:
    """A text without what ends columns and lines."""
    return text if text.isprintable() else text.translate(_ENDS)
