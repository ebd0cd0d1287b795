"""Options for reading files of links and of gold links, in Python and on the command line."""

from isoglot.core.options import Options, option


class GoldReading(Options):
    """Options for reading a file of gold links."""

    gold_format: str | None = option(
        None, "Format of the gold links: pharaoh, talp, alignv2, naacl, jsonl; by default recognised."
    )
    gold_base: int | None = option(
        None, "Number of the first word in the gold links, 0 or 1; by default that of the format.", ge=0, le=1
    )


class LinksReading(Options):
    """Options for reading a file of links."""

    format: str | None = option(
        None, "Format of the links: pharaoh, talp, alignv2, naacl, jsonl; by default recognised.",
        flags=["--format", "-f"],
    )  # fmt: skip
    base: int | None = option(
        None, "Number of the first word in the links, 0 or 1; by default that of the format.", ge=0, le=1
    )
    reverse: bool = option(False, "The links have the target side first.")
