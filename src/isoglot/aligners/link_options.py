"""Options for reading files of links and of gold links, in Python and on the command line."""

from isoglot.core.options import Options, option


class GoldReading(Options):
    """Options for reading a file of gold links."""

    gold_format: str | None = option(
        None, "How gold links are written: pharaoh, talp, alignv2, naacl, jsonl; by default from the file."
    )
    gold_base: int | None = option(None, "The gold links count words from 0 or 1.", ge=0, le=1)


class LinksReading(Options):
    """Options for reading a file of links."""

    format: str | None = option(
        None, "Format of the links: pharaoh, talp, alignv2, naacl, jsonl; by default from the file.",
        flags=["--format", "-f"],
    )  # fmt: skip
    base: int | None = option(None, "The links count words from 0 or 1.", ge=0, le=1)
    reverse: bool = option(False, "The links have the target side first.")
