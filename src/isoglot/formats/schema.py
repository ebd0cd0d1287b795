"""Named schemas: what columns a corpus of a given kind has.

A corpus is a plain :class:`datasets.Dataset`; a schema is a :class:`datasets.Features`. :func:`require` checks one
against the other and names the missing column and what it is for. Extra columns are always allowed.
"""

from datasets import Dataset, Features, List, Value

from isoglot.core.columns import ARROW
from isoglot.core.errors import ConfigurationError

SCHEMAS = {kind: Features.from_arrow_schema(columns) for kind, columns in ARROW.items()}

TEXT = SCHEMAS["text"]
"""Monolingual text, one sentence or document a row."""

BITEXT = SCHEMAS["bitext"]
"""Sentence pairs."""

ALIGNED = SCHEMAS["aligned"]
"""Bitext with word links: ``links`` holds 0-based ``[source word, target word]`` pairs, sorted."""

LEXICON = SCHEMAS["lexicon"]
"""Bilingual dictionary entries: ``source`` and ``target`` are one entry each (one word or more)."""

TREEBANK = SCHEMAS["treebank"]
"""Dependency trees: ``heads`` are 1-based word numbers, 0 for the root, as in CoNLL-U."""

TAGGED = SCHEMAS["tagged"]
"""Token labels (POS, NER)."""

LABELLED = SCHEMAS["labelled"]
"""Labelled texts (topics, intents, sentiment)."""

PAIR = SCHEMAS["pair"]
"""Labelled sentence pairs (XNLI: premise and hypothesis; PAWS-X)."""

SPAN = SCHEMAS["span"]
"""Extractive question answering; ``start`` counts characters of ``context``. No answer: empty lists."""


def require(dataset: Dataset, schema: Features, *, role: str) -> Dataset:
    """The dataset itself, if it has the columns of a schema with compatible types.

    Raises:
        ConfigurationError: A column is missing or has another type; ``role`` says what the dataset is for.
    """
    name = next((name for name, known in SCHEMAS.items() if known is schema), "given")
    missing = [column for column in schema if column not in dataset.features]
    if missing:
        raise ConfigurationError(
            f"{role}: the {name} schema needs {', '.join(map(repr, missing))} too, "
            f"got columns {sorted(dataset.features)}; use dataset.rename_column(...) or run `isoglot prepare`"
        )
    wrong = []
    for column, needed in schema.items():
        actual = dataset.features[column]
        if not _compatible(actual, needed):
            wrong.append(f"{role}: column {column!r} is {actual}, the {name} schema needs {needed}")
    if wrong:
        raise ConfigurationError(wrong)
    return dataset


def _compatible(actual: object, needed: object) -> bool:
    """Whether a feature can be read as another: any integer for an integer, any string for a string."""
    if isinstance(needed, dict):
        return isinstance(actual, dict) and all(
            k in actual and _compatible(actual[k], v) for k, v in needed.items()
        )
    if isinstance(needed, List):
        return isinstance(actual, List) and _compatible(actual.feature, needed.feature)
    if isinstance(needed, Value):
        if not isinstance(actual, Value):
            return False
        # `int` is in `int32` and `int64`, `string` in `large_string`.
        base = next(base for base in ("int", "string", "float", "bool") if base in str(needed.dtype))
        return base in str(actual.dtype)
    return actual == needed
