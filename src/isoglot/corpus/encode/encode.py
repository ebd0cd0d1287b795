"""Turn corpora into streams: tokenised once, with the word of each piece and links between pieces, and cached."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, List, Value
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.batch import BatchEncoder, EncodableKind, EncodeOptions
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.corpus.encode.store import cached_stream, content_hash, flat_array, write_batches
from isoglot.corpus.encode.templates import pair_template, single_template
from isoglot.formats.schema import ALIGNED, BITEXT, LEXICON, TEXT, require

_VERSION = 2  # raise when the same inputs give another stream
_BATCH = 1_000

_IDS = List(Value("int32"))
_PAIR_FEATURES = {
    "source_ids": _IDS,
    "target_ids": _IDS,
    "source_word_ids": _IDS,
    "target_word_ids": _IDS,
    "source_language": Value("string"),
    "target_language": Value("string"),
    "length": Value("int32"),
    "row": Value("int64"),
}
STREAMS: dict[EncodableKind, Features] = {
    "text": Features(
        {
            "input_ids": _IDS,
            "word_ids": _IDS,
            "language": Value("string"),
            "length": Value("int32"),
            "row": Value("int64"),
        }
    ),
    "bitext": Features(_PAIR_FEATURES),
    "lexicon": Features(_PAIR_FEATURES),
    "aligned": Features({**_PAIR_FEATURES, "links": List(List(Value("int32")))}),
}
"""Columns of a stream by kind of corpus.

Ids are without special tokens; ``row`` is the row of the corpus from which an example was made.
"""


def detect_kind(corpus: Dataset) -> EncodableKind:
    """Tell the kind of a corpus by its columns; a lexicon has the columns of a bitext, so it counts as a bitext."""
    columns = set(corpus.column_names)
    if {"source", "target"} <= columns:
        return "aligned" if {"links", "source_words", "target_words"} <= columns else "bitext"
    if columns & {"text", "words"}:
        return "text"
    raise ConfigurationError(
        f"encoding needs the columns of text or pairs that `isoglot prepare` writes, got {sorted(columns)}"
    )


def encode_stream(
    corpus: Dataset,
    tokenizer: PreTrainedTokenizerBase,
    *,
    options: EncodeOptions | None = None,
    cache_dir: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Tokenise a corpus once and keep the result, or open what an earlier call kept.

    The folder of the stream is named by a hash of the contents of the corpus and the tokenizer, and of the options: if
    one of them changes, another stream is made. :func:`~isoglot.corpus.encode.store.stream_manifest` returns counts of
    the examples that were dropped.

    Args:
        corpus: TEXT (or with ``words`` instead of ``text``), BITEXT, ALIGNED or LEXICON.
        tokenizer: Any fast tokenizer.
        options: Defaults of :class:`EncodeOptions` if not given.
        cache_dir: Folder of the streams; by default :func:`~isoglot.runs.cache.cache_folder`.
        progress: Receives (rows done, rows in all).

    Returns:
        The stream, memory-mapped, with the columns of :data:`STREAMS`.

    Raises:
        ConfigurationError: The tokenizer is slow, columns are missing, or no example is within the length limits.
        InputError: A link is outside its sentence.
    """
    options = options or EncodeOptions()
    kind = options.kind or detect_kind(corpus)
    needed = {"text": TEXT, "bitext": BITEXT, "lexicon": LEXICON, "aligned": ALIGNED}[kind]
    if kind == "text" and "text" not in corpus.column_names:
        needed = Features({"words": List(Value("string")), "language": Value("string")})
    corpus = require(corpus, needed, role=f"{kind} corpus to encode").select_columns(list(needed))
    pieces = PieceEncoder(tokenizer, words=options.words)
    template = (
        single_template(tokenizer) if kind == "text" else pair_template(tokenizer, options.pair_template)
    )
    specials = template.size
    sides = 1 if kind == "text" else 2
    if options.max_length is not None and options.max_length < specials + sides:
        raise ConfigurationError(
            f"max_length={options.max_length} does not fit {specials} specials and one piece per side; raise it"
        )
    encoder = BatchEncoder(kind, options, pieces, specials=specials)
    # The values on which the stream depends, for its name in the cache.
    made_from = (
        f"isoglot-encode-{_VERSION}",
        kind,
        content_hash(corpus, corpus.column_names),
        hashlib.blake2b(pieces.backend.to_str().encode(), digest_size=16).hexdigest(),
        str(encoder.specials),
        options.model_dump_json(exclude={"kind"}),
    )

    def batches(counts: Counter[str]) -> Iterator[dict[str, Any]]:
        for table in corpus.with_format("arrow").iter(batch_size=_BATCH):
            columns = {column: flat_array(table.column(column)) for column in table.column_names}
            encoded, counted = encoder.encode(columns, first_row=counts["examples"])
            yield encoded
            counts.update(counted)
            if progress is not None:
                progress(counts["examples"], len(corpus))

    def make(folder: Path) -> dict[str, Any]:
        counts: Counter[str] = Counter()
        write_batches(batches(counts), folder / "data-00000.arrow", STREAMS[kind])
        if counts["kept"] == 0:
            raise ConfigurationError(
                f"no example of {counts['examples']} left: {counts['empty']} with no pieces on a side, "
                f"{counts['overlong']} longer than max_length={options.max_length}, max_side={options.max_side}; "
                "raise the limits or set overlong: truncate"
            )
        made_with = options.model_dump(exclude={"kind"})
        return {"kind": kind, "options": made_with, "specials": specials, "counts": counts}

    return cached_stream(kind, made_from, make, cache_dir=cache_dir)
