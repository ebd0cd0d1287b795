"""Test data whose labels a benchmark withholds: the signs of that, and advice."""

ADVICE = (
    "benchmarks withhold the labels of their test data (XTREME's download removes them): give the file that the data "
    "set itself publishes, measure on its development data ([[split='dev']]), or predict without labels by "
    "isoglot.predict"
)
"""The end of a message about data without labels."""

HIDDEN_LABELS = frozenset(["", "?", "-1", "_"])
"""Texts in the place of a label that is withheld."""


def without_labels(what: str) -> str:
    """Write the message about data without any label; ``what``: The thing that is missing, ``pair has a label``.

    Example:
        >>> without_labels("pair has a label").partition(":")[0]
        "no pair has a label; benchmarks withhold the labels of their test data (XTREME's download removes them)"
    """
    return f"no {what}; {ADVICE}"
