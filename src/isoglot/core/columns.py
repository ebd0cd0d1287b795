"""Columns of each kind of corpus and data set, as Arrow schemas, for `prepare`, which does without `datasets`."""

import pyarrow as pa

_TEXT = pa.string()
_WORDS = pa.list_(_TEXT)
_NUMBERS = pa.list_(pa.int32())
_TRANSLATION = {"source": _TEXT, "target": _TEXT, "source_language": _TEXT, "target_language": _TEXT}

_COLUMNS = {
    "text": {"text": _TEXT, "language": _TEXT},
    "bitext": _TRANSLATION,
    "aligned": _TRANSLATION | {"source_words": _WORDS, "target_words": _WORDS, "links": pa.list_(_NUMBERS)},
    "lexicon": _TRANSLATION,
    "treebank": {
        "words": _WORDS,
        "upos": _WORDS,
        "heads": _NUMBERS,
        "deprels": _WORDS,
        "language": _TEXT,
    },
    "tagged": {"words": _WORDS, "tags": _WORDS, "language": _TEXT},
    "labelled": {"text": _TEXT, "label": _TEXT, "language": _TEXT},
    "pair": {"first": _TEXT, "second": _TEXT, "label": _TEXT, "language": _TEXT},
    "span": {
        "id": _TEXT,
        "question": _TEXT,
        "context": _TEXT,
        "answers": pa.struct({"text": _WORDS, "start": _NUMBERS}),
        "language": _TEXT,
    },
}

ARROW: dict[str, pa.Schema] = {kind: pa.schema(columns) for kind, columns in _COLUMNS.items()}
"""Kind of corpus to its columns; :mod:`isoglot.formats.schema` says what the columns mean."""
