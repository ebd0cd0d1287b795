"""Options of reports: a field is an argument in Python and a flag of ``isoglot report``."""

from pathlib import Path

from pydantic import field_validator

from isoglot.core.options import Options, one_or_more, option


class CompareOptions(Options):
    """Names of runs, and runs that share a row."""

    combine: tuple[str, ...] = option(
        (), "Show bilingual models as one row; English is their mean.", metavar="NAME=LANG:RUN,…"
    )
    rename: dict[str, str] = option({}, "Call a run by another name; repeatable.", metavar="RUN=NAME")
    _one_or_more = field_validator("combine", mode="before")(one_or_more)


class ReportOptions(CompareOptions):
    """Content of a page."""

    title: str = option("isoglot report", "What stands on top of the page.")
    introduction: str = option("", "Paragraph below the heading: what was run, and what to look for.")
    baseline: str | None = option(
        None, "The run that the headline compares with; by default the second best."
    )
    source: str = option("en", "Fine-tuning language; left out of zero-shot means.")
    sentences: int = option(30, "Pairs shown in each word-alignment viewer, spread over the file.", ge=1)
    worst: int | None = option(
        None,
        "Show this many of the worst pairs: most wrong links first, without gold the lowest score.",
        ge=1,
    )
    gold: Path | None = option(
        None, "Gold links to check the files of links (isoglot align --format jsonl) among the inputs."
    )
    tables: Path | None = option(None, "Also write every table here as CSV and LaTeX.")
