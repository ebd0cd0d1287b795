"""``isoglot prepare``: raw files in, a filtered corpus out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from isoglot.corpus.prepare import PrepareSummary

__all__ = ["prepare", "register"]

_READING, _FILTERS, _LANGUAGES, _RUN = "How to read", "What to drop", "Mixing languages", "Running"


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(prepare)


def prepare(  # noqa: PLR0917 - one parameter a flag
    ctx: typer.Context,
    inputs: list[str] = typer.Argument(
        ...,
        metavar="INPUT...",
        help="Two files of a bitext (line i translates line i), a third with word links, or one TSV, CSV, JSONL, TMX, "
        "Parquet, CoNLL-U or text file, a data-set name, or - for standard input. .gz .xz .zst .bz2 are unpacked.",
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder to write: Parquet shards and a manifest."),
    kind: str = typer.Option("bitext", help="What it holds: text, bitext, lexicon, aligned or treebank."),
    language: str | None = typer.Option(
        None, "--lang", "--language", help="Language of a text or treebank: en; en,de for two inputs."
    ),
    source_language: str = typer.Option(
        None, "--source-lang", "--source-language", help="Language of the source side: en."
    ),
    target_language: str = typer.Option(
        None,
        "--target-lang",
        "--target-language",
        help="Language of the target side: de; de,fr for two inputs in that order.",
    ),
    # How to read
    format: str = typer.Option(  # noqa: A002 - the name of the flag
        None,
        help="moses, bars, tsv, csv, jsonl, parquet, huggingface, tmx, text, lexicon, conllu; else by name.",
        rich_help_panel=_READING,
    ),
    columns: list[str] = typer.Option(
        None,
        "--column",
        metavar="FIELD=COLUMN",
        help="Where a field stands: source=0, target=1, flags=3, text=body, links=alignment. Several times.",
        rich_help_panel=_READING,
    ),
    header: bool = typer.Option(
        False, help="TSV and CSV: the first line names the columns.", rich_help_panel=_READING
    ),
    documents: bool = typer.Option(
        False, help="Text: blank lines separate documents.", rich_help_panel=_READING
    ),
    one_based: bool = typer.Option(False, help="Word links count from 1.", rich_help_panel=_READING),
    possible_links: bool = typer.Option(
        False, help="Keep possible links (3p4) too.", rich_help_panel=_READING
    ),
    subset: str | None = typer.Option(None, help="Configuration of a data set.", rich_help_panel=_READING),
    split: str = typer.Option("train", help="Split of a data set.", rich_help_panel=_READING),
    revision: str | None = typer.Option(None, help="Revision of a data set.", rich_help_panel=_READING),
    unicode_form: str = typer.Option(
        None, help="NFC or NFKC; else text stays as it is.", rich_help_panel=_READING
    ),
    clean_whitespace: bool = typer.Option(
        True, help="Trim, one blank for any white space, no control characters.", rich_help_panel=_READING
    ),
    # What to drop
    held_out_files: list[str] = typer.Option(
        None,
        "--held-out",
        help="Drop rows with a sentence of this file. Several times.",
        rich_help_panel=_FILTERS,
    ),
    held_out_flags: list[str] = typer.Option(
        None,
        "--held-out-flag",
        help="Drop rows whose flags column names this set. Several times.",
        rich_help_panel=_FILTERS,
    ),
    min_script_share: float = typer.Option(
        None, help="Least share of letters in a script of the language.", rich_help_panel=_FILTERS
    ),
    scripts: list[str] = typer.Option(
        None,
        "--script",
        metavar="LANG=NAME,...",
        help="Scripts of a language: zh=Han. Several times.",
        rich_help_panel=_FILTERS,
    ),
    tokenizer: str = typer.Option(
        None,
        help="Fast tokenizer that counts pieces: a folder, tokenizer.json or hub name.",
        rich_help_panel=_FILTERS,
    ),
    min_pieces: int = typer.Option(
        None, help="Drop rows with a shorter side (PPA: 10).", rich_help_panel=_FILTERS
    ),
    max_pieces: int | None = typer.Option(
        None, help="Drop rows with a longer side.", rich_help_panel=_FILTERS
    ),
    max_pair_pieces: int = typer.Option(
        None, help="Drop pairs longer than this together (PPA: 128).", rich_help_panel=_FILTERS
    ),
    count_specials: bool = typer.Option(
        True, help="The maxima include special tokens.", rich_help_panel=_FILTERS
    ),
    max_length_ratio: float = typer.Option(
        None, help="Drop pairs whose longer side is over so many times the other.", rich_help_panel=_FILTERS
    ),
    ratio_unit: str = typer.Option(
        "characters", help="characters, words or pieces.", rich_help_panel=_FILTERS
    ),
    duplicates: str = typer.Option(
        "keep", help="keep, or drop repeated rows by pair, source or target.", rich_help_panel=_FILTERS
    ),
    limit: int = typer.Option(
        None,
        help="First so many rows of each language (pair), after all other filters.",
        rich_help_panel=_FILTERS,
    ),
    # Mixing languages
    sampling_exponent: float = typer.Option(
        None, help="Shares become n^a / sum n^a: 1 as they are, 0 equal.", rich_help_panel=_LANGUAGES
    ),
    sampling_total: int | None = typer.Option(None, help="Rows after sampling.", rich_help_panel=_LANGUAGES),
    seed: int = typer.Option(1, help="Seed of the sampling.", rich_help_panel=_LANGUAGES),
    # Running
    shard_rows: int = typer.Option(200_000, help="Rows in one Parquet file.", rich_help_panel=_RUN),
    processes: int = typer.Option(
        None, min=1, help="Worker processes; else one a core.", rich_help_panel=_RUN
    ),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace a corpus that was made otherwise.", rich_help_panel=_RUN
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Say nothing but errors.", rich_help_panel=_RUN),
) -> None:
    """Read parallel or plain text in any common format, filter it, and write a corpus that training reads.

    Every filter's drops are counted and printed. Bad input (other line counts, broken UTF-8, a cut-off .gz) is an
    error that names file and line, and leaves nothing behind. The same command run again does nothing.

    For example:

    isoglot prepare europarl.en.gz europarl.de.gz --source-lang en --target-lang de --out data/en-de

    isoglot prepare en-de.tsv en-fr.tsv --source-lang en --target-lang de,fr --sampling-exponent 0.5 --out data/mix

    isoglot prepare pairs.tsv --column source=0 --column target=1 --source-lang en --target-lang de --out data/en-de
    """
    from isoglot.cli.console import Console
    from isoglot.corpus.options import PrepareOptions
    from isoglot.corpus.prepare import Progress
    from isoglot.corpus.prepare import prepare as run
    from isoglot.corpus.read.sources import Source, sources_from

    given = dict(ctx.params)
    given["columns"] = _pairs(columns, "--column")
    given["scripts"] = {k: tuple(str(v).split(",")) for k, v in _pairs(scripts, "--script").items()}
    for name in ("held_out_files", "held_out_flags"):
        given[name] = tuple(given[name] or ())
    options = _validated(PrepareOptions, {k: given[k] for k in PrepareOptions.model_fields})
    named = {"path", "target_path", "links_path", "language", "source_language", "target_language"}
    reading = {k: given[k] for k in Source.model_fields if k not in named}
    tags: list[Any] = [language] if kind in ("text", "treebank") else [source_language, target_language]
    sources = [
        source
        for paths, languages in _by_language(inputs, tags)
        for source in sources_from(paths, kind=options.kind, languages=languages, **reading)
    ]
    with Console(quiet=quiet) as console:

        def show(state: Progress) -> None:
            console.progress(
                f"{state.read:,} rows read, {state.passed:,} kept", state.bytes_read, state.bytes_total
            )

        summary = run(sources, out, options=options, processes=processes, overwrite=overwrite, progress=show)
    if not quiet:
        _print_summary(summary)


def _print_summary(summary: PrepareSummary) -> None:
    from isoglot.cli.console import print_table

    if summary.skipped:
        typer.echo(f"nothing to do: {summary.path} holds these {summary.rows:,} rows already")
        return
    filters = [name for name in summary.removed if summary.removed[name]]
    rows = [
        ["-".join(c.languages), f"{c.read:,}", *(f"{c.removed.get(f, 0):,}" for f in filters), f"{c.kept:,}"]
        for c in summary.languages
    ]
    print_table(["", "read", *filters, "kept"], rows)
    for note in summary.notes:
        typer.echo(f"note: {note}")
    speed = summary.read / max(summary.seconds, 1e-9)
    typer.echo(
        f"{summary.path}: {summary.rows:,} rows in {summary.shards} shard{'s' * (summary.shards != 1)}, "
        f"{summary.seconds:.1f} s, {speed:,.0f} rows a second"
    )


def _by_language(inputs: list[str], tags: Sequence[str | None]) -> list[tuple[list[str], list[Any]]]:
    """Inputs with their languages; ``de,fr`` divides the inputs into as many equal parts, in that order."""
    from isoglot.errors import ConfigurationError

    named = [(tag or "").split(",") for tag in tags]
    parts = max(map(len, named))
    if any(len(names) not in (1, parts) for names in named) or len(inputs) % parts:
        given = ", ".join(",".join(names) for names in named)
        raise ConfigurationError(
            f"languages {given} given for {len(inputs)} inputs; give as many inputs (or pairs of files) for each "
            "language: isoglot prepare en-de.tsv en-fr.tsv --source-lang en --target-lang de,fr"
        )
    size = len(inputs) // parts
    return [
        (inputs[i * size : (i + 1) * size], [names[i if len(names) > 1 else 0] or None for names in named])
        for i in range(parts)
    ]


def _pairs(texts: Sequence[str] | None, flag: str) -> dict[str, int | str]:
    """``name=value`` arguments; numbers become numbers."""
    from isoglot.errors import ConfigurationError

    found: dict[str, int | str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise ConfigurationError(f"{flag} {text}: no NAME=VALUE; type for example {flag} source=0")
        found[name] = int(value) if value.isdigit() else value
    return found


def _validated(model: Any, values: dict[str, Any]) -> Any:
    """The options, or all that is wrong with them in the words of the command line."""
    from pydantic import ValidationError

    from isoglot.errors import ConfigurationError

    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = []
        for item in error.errors():
            flag = "--" + str(item["loc"][0]).replace("_", "-") if item["loc"] else ""
            reason = str(item["ctx"]["error"]) if item["type"] == "value_error" else str(item["msg"])
            problems.append(f"{flag} {item['input']!r}: {reason}" if flag else reason)
        raise ConfigurationError(problems) from error
