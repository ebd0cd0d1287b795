"""``isoglot.prepare``: make a filtered corpus of files, or of data in memory.

Data in memory are first written to a file in the cache, which is then read like any other file.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from isoglot.core.checks import did_you_mean, shortened, validated
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.languages import split_codes
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import PrepareSummary
from isoglot.corpus.prepare import prepare as prepare_sources
from isoglot.formats.column_plan import wanted_columns
from isoglot.formats.plain_values import cell
from isoglot.formats.rows import CONTAINERS, Items, RowTable, rows_of
from isoglot.formats.sources import LANGUAGES, ROLES, Kind, Reading, Source, sources_from
from isoglot.runs.cache import cache_folder
from isoglot.runs.files import whole_path
from isoglot.runs.fingerprint import key_of
from isoglot.runs.reporter import AnyReporter, reporter_of

Engine = Literal["local", "ray"]
"""Machines that prepare a corpus: this one, or those of a Ray cluster."""


def prepare(
    inputs: Any,
    out: str | Path,
    *,
    languages: str | Sequence[str] = (),
    options: PrepareOptions | None = None,
    progress: AnyReporter = True,
    processes: int | None = None,
    overwrite: bool = False,
    engine: Engine = "local",
    **settings: Any,
) -> PrepareSummary:
    """Read, clean and filter parallel or plain text, and write it as one Parquet corpus with a manifest.

    The folder appears under its name only when it is complete. If it is there already and was made from the same
    inputs (by content) with the same options, nothing is done.

    Args:
        inputs: A path or several, as ``isoglot prepare`` takes them; a pandas or polars frame, a ``pyarrow.Table``, a
            ``datasets.Dataset``, a dictionary of lists, or any iterable of pairs or dictionaries; or a :class:`Source`
            or several. Sentences of one language are given as a column: ``{"text": sentences}``. Data in memory are
            stored in the cache and read from there; missing values are empty texts.
        out: Folder to write.
        languages: Language of a text, or of source and target: ``("en", "de")`` or ``"en,de"``. A ``Source`` has
            languages itself.
        options: Filters and more; by default rows with an empty side are dropped and white space is cleaned.
        progress: Bars in notebooks and on terminals (``True``), or none; a function such as ``print`` gets lines.
        processes: Worker processes; by default one per core, or none for small inputs.
        overwrite: Replace a corpus that was made otherwise.
        engine: ``ray`` runs on a Ray cluster.
        **settings: Options of :class:`PrepareOptions`, such as ``kind="text"`` or ``duplicates="pair"``, and how
            inputs are read, such as ``columns={"source": "en", "target": "de"}`` or ``header=True``.

    Returns:
        Counts of all that was read, dropped and kept; :func:`load_corpus` opens its ``path``.

    Raises:
        ConfigurationError: Options or inputs that cannot work, ``out`` is in use, or no row is left.
        InputError: Bad content, as ``file:line`` or ``row N``. Nothing is written then, and what was there stays.

    Example:
        >>> pairs = [("a house", "ein Haus"), ("a house", "ein Haus"), ("", "leer"), ("a dog", "ein Hund")]
        >>> from tempfile import mkdtemp
        >>> summary = prepare(pairs, f"{mkdtemp()}/en-de", languages=("en", "de"), duplicates="pair")
        >>> summary.read, summary.rows, {name: rows for name, rows in summary.removed.items() if rows}
        (4, 2, {'empty': 1, 'duplicates': 1})
    """
    known = Reading.model_fields | PrepareOptions.model_fields
    if unknown := [name for name in settings if name not in known]:
        raise ConfigurationError(
            [f"[[{name}]]: unknown option; {did_you_mean(name, known)}" for name in unknown]
        )
    if engine not in get_args(Engine):
        raise ConfigurationError(f"[[engine]]: got {engine!r}; {did_you_mean(engine, get_args(Engine))}")
    given_reading = {name: settings.pop(name) for name in list(settings) if name in Reading.model_fields}
    columns = given_reading.get("columns")
    if isinstance(columns, Mapping):
        # The columns of a frame may have tuples as names, which are stored as texts.
        names = {role: str(name) if isinstance(name, tuple) else name for role, name in columns.items()}
        given_reading["columns"] = names
    reading = validated(Reading, given_reading)
    options = validated(PrepareOptions, dict(options or ()) | settings)
    sources, stored = _sources(inputs, languages, options.kind, reading, out)
    report = reporter_of(progress)
    with _errors_name_rows(stored):
        summary = prepare_sources(
            sources,
            out,
            options=options,
            progress=partial(report.progress, "prepare"),
            processes=processes,
            overwrite=overwrite,
            engine=engine,
        )
    report.note(f"{summary.path}: {summary.rows:,} rows of {summary.read:,}")
    return summary


def _sources(
    inputs: Any, languages: str | Sequence[str], kind: Kind, reading: Reading, out: str | Path
) -> tuple[list[Source], str]:
    """Make sources of the inputs, and store data in memory in a file.

    1. :class:`Source` objects are taken as they are.
    2. A path, or a list of paths, is read as ``isoglot prepare`` reads it.
    3. Anything else is data in memory.

    Returns:
        The sources, and the file in which data in memory are stored (empty for files).
    """
    tags = split_codes(languages)
    listed: Any = [inputs] if isinstance(inputs, str | Path | Source) else inputs
    is_filled_list = isinstance(listed, list | tuple) and len(listed) > 0
    if is_filled_list and all(isinstance(source, Source) for source in listed):
        if tags or reading != Reading():
            raise ConfigurationError("a Source has its own languages, format and columns; set them there")
        return list(listed), ""
    if len(tags) != len(LANGUAGES[kind]):
        needed = "'en'" if len(LANGUAGES[kind]) == 1 else "('en', 'de'), or kind='text' for one language"
        raise ConfigurationError(f"got {len(tags)} languages for a {kind} corpus; pass languages={needed}")
    if is_filled_list and all(isinstance(path, str | Path) for path in listed):
        # A user may have given a list of sentences. Sentences have spaces, and paths hardly ever.
        for path in map(str, listed):
            # The name of a file may have brackets, which would be a pattern: so it is also looked for as it is.
            found = glob.glob(path) or glob.glob(glob.escape(path))  # noqa: PTH207 (may be absolute)
            if " " in path and not found:
                raise ConfigurationError(
                    f"{shortened(path)}: no such file; pass sentences as a column: {{'text': [...]}}, kind='text'"
                )
        return sources_from(listed, kind=kind, languages=tags, **dict(reading)), ""
    if reading.format is not None:
        raise ConfigurationError("format is for files, but the inputs are in memory; leave it out")
    # The file is named by the output folder, so that a repeated call has the same input, and finds its work done.
    stored = cache_folder() / "given" / f"{key_of(str(Path(out).resolve()))}.jsonl"
    (source,) = sources_from([stored], kind=kind, languages=tags, **{**dict(reading), "format": "jsonl"})
    with whole_path(stored) as file, _errors_name_rows(source.path):
        _write_rows(inputs, file, source, kind)
    return [source], source.path


@contextmanager
def _errors_name_rows(path: str) -> Iterator[None]:
    """Make errors name rows of the inputs, and not lines of the file in which they are stored.

    ``CACHE/given/0f3a.jsonl:7: ...`` becomes ``row 7: ...``. With an empty path, errors stay as they are.
    """
    try:
        yield
    except (InputError, ConfigurationError) as error:
        if not path or path not in str(error):
            raise
        message = re.sub(rf"^{re.escape(path)}:(?=\d)", "row ", str(error))
        raise type(error)(message.replace(path, "inputs")) from error


def _write_rows(inputs: Any, file: Path, source: Source, kind: Kind) -> None:
    """Write data in memory as JSON lines, a line for each row; missing values are null."""
    rows = rows_of(inputs, "inputs")
    with file.open("w", encoding="utf-8") as lines:
        for number, row in enumerate(_rows_as_dicts(rows, source, kind), 1):
            try:
                lines.write(f"{json.dumps(row, allow_nan=False)}\n")
            except (TypeError, ValueError) as error:
                raise InputError(f"row {number}: {error}; a field is text, or a list of words") from error
    if not file.stat().st_size:
        raise ConfigurationError(
            f"inputs: no row in {type(inputs).__name__}; pass paths, {CONTAINERS} or of pairs"
        )


def _rows_as_dicts(rows: RowTable | Items, source: Source, kind: Kind) -> Iterator[dict[str, Any]]:
    """Yield each row as a dictionary of plain Python values; a tuple's items are the roles of the kind, in order."""
    if isinstance(rows, RowTable):
        names = _columns_read(rows.names, source, kind)
        columns = [rows.column(name) for name in names]
        for values in zip(*columns, strict=True):
            yield dict(zip(map(str, names), values, strict=True))
        return
    known = getattr(rows.data, "column_names", None)  # of a data set that is streamed
    if known is not None:
        rows = Items(rows.data.select_columns(_columns_read(known, source, kind)))
    for number, row in enumerate(rows, 1):
        if isinstance(row, tuple | list) and len(row) == len(ROLES[kind]):
            row = dict(zip(ROLES[kind], row, strict=True))  # noqa: PLW2901 - the same row, by its names
        if not isinstance(row, Mapping):
            raise InputError(
                f"row {number}: got {shortened(row)}; a row is ({', '.join(ROLES[kind])}), or a dictionary "
                "with these names"
            )
        yield {str(name): cell(value, f"row {number}: {name!r}") for name, value in row.items()}


def _columns_read(names: Sequence[Any], source: Source, kind: Kind) -> list[Any]:
    """Select the columns of a table that the corpus needs; others may be slow to decode, such as images."""
    if not names:
        return []
    wanted = set(wanted_columns(source, kind, list(map(str, names))))
    return [name for name in names if str(name) in wanted]
