"""What `isoglot trim` keeps."""

from isoglot.options import Options, option


class TrimRequest(Options):
    """Which pieces of an encoder's tokenizer to keep."""

    text: tuple[str, ...] = option(
        (),
        "Text to keep the pieces of: plain text, .tsv, .jsonl, compressed or not, or a folder of `isoglot prepare`.",
        metavar="FILE",
    )
    min_count: int = option(1, "Drop pieces that occur less often.", ge=1)
    keep_pieces: int | None = option(
        None, "Keep at most this many pieces, the most frequent ones.", ge=1, metavar="N"
    )
    held_out: tuple[str, ...] = option(
        (), "Other text: report how many of its tokens are cut differently.", metavar="FILE"
    )
