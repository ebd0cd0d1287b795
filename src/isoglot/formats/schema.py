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
    name = next((n for n, s in SCHEMAS.items() if s is schema), "given")
    missing = [c for c in schema if c not in dataset.features]
    if missing:
        raise ConfigurationError(
            f"{role}: the {name} schema needs {', '.join(repr(m) for m in missing)} too, "
            f"got columns {sorted(dataset.features)}; use dataset.rename_column(...) or run `isoglot prepare`"
        )
    wrong = [
        f"{role}: column {column!r} is {dataset.features[column]}, the {name} schema needs {kind}"
        for column, kind in schema.items()
        if not _compatible(dataset.features[column], kind)
    ]
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
        kinds = ("int", "string", "float", "bool")
        kind = next(k for k in kinds if k in str(needed.dtype))
        return kind in str(actual.dtype)
    return actual == needed
