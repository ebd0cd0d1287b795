"""Named schemas: what columns a corpus of a given kind has.

A corpus is a plain :class:`datasets.Dataset`; a schema is a :class:`datasets.Features`. :func:`require` checks one
against the other and names the missing column and what it is for. Extra columns are always allowed.
"""

from __future__ import annotations

from datasets import Dataset, Features, List, Value

from isoglot.errors import ConfigurationError

__all__ = ["ALIGNED", "BITEXT", "LEXICON", "PAIR", "SCHEMAS", "SPAN", "TAGGED", "TEXT", "TREEBANK", "require"]

TEXT = Features({"text": Value("string"), "language": Value("string")})
"""Monolingual text, one sentence or document a row."""

BITEXT = Features(
    {
        "source": Value("string"),
        "target": Value("string"),
        "source_language": Value("string"),
        "target_language": Value("string"),
    }
)
"""Sentence pairs."""

ALIGNED = Features(
    {
        **BITEXT,
        "source_words": List(Value("string")),
        "target_words": List(Value("string")),
        "links": List(List(Value("int32"))),
    }
)
"""Bitext with word links: ``links`` holds 0-based ``[source word, target word]`` pairs, sorted."""

LEXICON = Features(dict(BITEXT))
"""Bilingual dictionary entries: ``source`` and ``target`` are one entry each (one word or more)."""

TREEBANK = Features(
    {
        "words": List(Value("string")),
        "upos": List(Value("string")),
        "heads": List(Value("int32")),
        "deprels": List(Value("string")),
        "language": Value("string"),
    }
)
"""Dependency trees: ``heads`` are 1-based word numbers, 0 for the root, as in CoNLL-U."""

TAGGED = Features(
    {"words": List(Value("string")), "tags": List(Value("string")), "language": Value("string")}
)
"""Token labels (POS, NER)."""

PAIR = Features(
    {
        "first": Value("string"),
        "second": Value("string"),
        "label": Value("string"),
        "language": Value("string"),
    }
)
"""Labelled sentence pairs (XNLI: premise and hypothesis; PAWS-X)."""

SPAN = Features(
    {
        "id": Value("string"),
        "question": Value("string"),
        "context": Value("string"),
        "answers": {"text": List(Value("string")), "start": List(Value("int32"))},
        "language": Value("string"),
    }
)
"""Extractive question answering; ``start`` counts characters of ``context``. No answer: empty lists."""

SCHEMAS = {
    "text": TEXT,
    "bitext": BITEXT,
    "aligned": ALIGNED,
    "lexicon": LEXICON,
    "treebank": TREEBANK,
    "tagged": TAGGED,
    "pair": PAIR,
    "span": SPAN,
}


def require(dataset: Dataset, schema: Features, *, role: str) -> Dataset:
    """Check that a dataset has the columns of a schema, with compatible types.

    Args:
        dataset: any dataset.
        schema: one of this module's schemas.
        role: what the data set is for, in words; it stands in the error.

    Returns:
        The same dataset.

    Raises:
        ConfigurationError: a column is missing or has another type.
    """
    name = next((n for n, s in SCHEMAS.items() if s is schema), "given")
    missing = [c for c in schema if c not in dataset.features]
    if missing:
        raise ConfigurationError(
            f"{role}: columns {sorted(dataset.features)} given, but the {name} schema needs "
            f"{', '.join(repr(m) for m in missing)} too; use dataset.rename_column(...) or run `isoglot prepare`"
        )
    wrong = [
        f"{role}: column {column!r} is {dataset.features[column]}, the {name} schema needs {kind}"
        for column, kind in schema.items()
        if not _compatible(dataset.features[column], kind)
    ]
    if wrong:
        raise ConfigurationError(wrong)
    return dataset


def _compatible(given: object, needed: object) -> bool:
    """Whether a feature can be read as another: any integer for an integer, any string for a string."""
    if isinstance(needed, dict):
        return isinstance(given, dict) and all(
            k in given and _compatible(given[k], v) for k, v in needed.items()
        )
    if isinstance(needed, List):
        return isinstance(given, List) and _compatible(given.feature, needed.feature)
    if isinstance(needed, Value):
        if not isinstance(given, Value):
            return False
        kinds = ("int", "string", "float", "bool")
        kind = next(k for k in kinds if k in str(needed.dtype))
        return kind in str(given.dtype)
    return given == needed
