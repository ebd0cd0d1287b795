"""``isoglot prepare``: raw files in, a filtered corpus out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from isoglot.cli.console import Console, print_table
from isoglot.cli.flags import RUNNING, RemakeFlags, SideLanguages, with_flags
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Workers, option
from isoglot.corpus.options import PrepareOptions
from isoglot.formats.sources import READING, Reading, sources_from


class InputLanguages(SideLanguages):
    """Flags for the languages of the inputs; with ``de,fr`` the first half is German and the second half French."""

    language: str | None = option(
        None,
        "Language of a text or treebank: en; en,de for two inputs, as for the sides of a bitext.",
        flags=["--lang", "--language"],
        group=READING,
    )


class PrepareFlags(RemakeFlags):
    """Flags for how the command runs, and on which machines."""

    processes: Workers | None = option(None, "Worker processes; by default one per core.", group=RUNNING)
    engine: Literal["local", "ray"] = option(
        "local",
        "ray: on all machines of a Ray cluster (RAY_ADDRESS; without it on this one). The same command continues a run "
        "that died.",
        group=RUNNING,
    )


@with_flags
def prepare(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Two files of a bitext (line i translates line i), a third with word links, or one TSV, CSV, JSONL, "
            "TMX, Parquet, CoNLL-U or text file, a dataset name, or - for standard input.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write: Parquet shards and a manifest.")],
    sides: InputLanguages,
    reading: Reading,
    options: PrepareOptions,
    running: PrepareFlags,
) -> None:
    """Filter raw text or sentence pairs into a training corpus.

    Two files, in which line i of one translates line i of the other:

    isoglot prepare europarl.en.gz europarl.de.gz --source-lang en --target-lang de --out data/en-de

    Several languages, the small ones more often than their share:

    isoglot prepare en-de.tsv en-fr.tsv --source-lang en --target-lang de,fr --sampling-exponent 0.5 --out data/mix

    Text of one language:

    isoglot prepare wiki.de.txt --kind text --lang de --out data/de

    Two columns of a table:

    isoglot prepare pairs.tsv --column source=0 --column target=1 --source-lang en --target-lang de --out data/en-de

    The rows that each filter dropped are counted and printed. Bad input (different line counts, broken UTF-8, a
    truncated .gz) is an error that names file and line, and leaves nothing behind. Running the same command again does
    nothing.
    """
    from isoglot.corpus.prepare import prepare as run

    sources = []
    for paths, tags in _by_language(inputs, _languages_of(options.kind, sides)):
        sources += sources_from(paths, kind=options.kind, languages=tags, **dict(reading))
    with Console(quiet=running.quiet) as console:
        summary = run(
            sources,
            out,
            options=options,
            processes=running.processes,
            engine=running.engine,
            overwrite=running.overwrite,
            progress=partial(console.progress, "prepare"),
        )
    if running.quiet:
        return
    if summary.skipped:
        typer.echo(f"nothing to do: {summary.path} holds these {summary.rows:,} rows already")
        return
    # A row for each pair of languages, and a column for each filter that dropped something.
    filters = [name for name, dropped in summary.removed.items() if dropped]
    table = []
    for counts in summary.languages:
        dropped_by_filters = [f"{counts.removed.get(name, 0):,}" for name in filters]
        table.append(
            ["-".join(counts.languages), f"{counts.read:,}", *dropped_by_filters, f"{counts.kept:,}"]
        )
    print_table(["", "read", *filters, "kept"], table)
    for note in summary.notes:
        typer.echo(f"note: {note}")
    speed = summary.read / max(summary.seconds, 1e-9)
    shards = f"{len(summary.shards)} shard{'s' * (len(summary.shards) != 1)}"
    typer.echo(
        f"{summary.path}: {summary.rows:,} rows in {shards}, {summary.seconds:.1f} s, {speed:,.0f} rows a second"
    )


def _languages_of(kind: str, named: InputLanguages) -> list[str | None]:
    """The languages that the flags name for data of a kind: ``--lang``, or ``--source-lang`` and ``--target-lang``.

    Raises:
        ConfigurationError: A flag for the other kinds of data is given too, and would do nothing.
    """
    if kind not in ("text", "treebank"):
        if named.language is not None:
            raise ConfigurationError(
                f"[[language]] is for text and treebank data, got {kind}; use [[source_language]] and "
                "[[target_language]]"
            )
        return [named.source_language, named.target_language]
    for name in ("source_language", "target_language"):
        if getattr(named, name) is not None:
            raise ConfigurationError(f"[[{name}]] is for data of two sides, got {kind}; use [[language]]")
    return [named.language]


def _by_language(inputs: list[str], tags: Sequence[str | None]) -> list[tuple[list[str], list[Any]]]:
    """Divide the inputs by language, into equal parts in the order in which the languages are named.

    The inputs ``a.tsv b.tsv`` with the languages ``en`` and ``de,fr`` are ``(["a.tsv"], ["en", "de"])`` and
    ``(["b.tsv"], ["en", "fr"])``.

    ``tags``: What ``--source-lang`` and ``--target-lang`` say, or ``--lang`` alone.
    """
    names = [(tag or "").split(",") for tag in tags]
    parts = max(map(len, names))
    # A side has one language for all inputs, or one for each part.
    sides_fit = all(len(side) in (1, parts) for side in names)
    if not sides_fit or len(inputs) % parts:
        listed = ", ".join(",".join(side) for side in names)
        raise ConfigurationError(
            f"got languages {listed} for {len(inputs)} inputs; give as many inputs (or pairs of files) for each "
            "language: isoglot prepare en-de.tsv en-fr.tsv --source-lang en --target-lang de,fr"
        )
    size = len(inputs) // parts
    divided: list[tuple[list[str], list[Any]]] = []
    for part in range(parts):
        languages: list[Any] = []
        for side in names:
            language = side[0] if len(side) == 1 else side[part]
            languages.append(language or None)  # "" stands for a language that was not given
        divided.append((inputs[part * size : (part + 1) * size], languages))
    return divided
