"""A trained aligner's translation table as a lexicon: for WEAM's priors, or in the format of MUSE dictionaries.

Probabilities are normalised to sum to one over the translations of a word (variational Bayes leaves them a little short
of it). Entries are ranked by √(p(target | source) · p(source | target)), which is what keeps frequent words from being
everything's translation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from datasets import Dataset, Features, Value

from isoglot.align.statistical.translation_model import TranslationModel
from isoglot.runs.files import write_text
from isoglot.schema import LEXICON


def lexicon(
    model: TranslationModel,
    *,
    source_language: str,
    target_language: str,
    minimum: float = 0.05,
) -> Dataset:
    """The translation table as a LEXICON corpus with a ``probability`` column.

    Args:
        model: ``aligner.model`` of a trained aligner.
        source_language: ISO 639 code.
        target_language: ISO 639 code.
        minimum: entries below this probability are left out; 0 keeps the whole table.

    Returns:
        Entries by source word in order of appearance, then by falling probability.
    """
    source, target = model.types
    forward = _shares(model.forward.probabilities(source, target), source)
    reverse = _shares(model.reverse.probabilities(target, source), target)
    probability = np.sqrt(forward * reverse)
    kept = probability >= minimum
    source, target, probability = source[kept], target[kept], probability[kept]
    order = np.lexsort((target, -probability, source))
    source, target, probability = source[order], target[order], probability[order]
    rows = len(source)
    columns = {
        "source": [model.source_words[k] for k in source.tolist()],
        "target": [model.target_words[k] for k in target.tolist()],
        "source_language": [source_language] * rows,
        "target_language": [target_language] * rows,
        "probability": probability.tolist(),
    }
    return Dataset.from_dict(columns, features=Features({**LEXICON, "probability": Value("float64")}))


def write_lexicon(entries: Dataset, path: str | Path) -> None:
    """Write lines of source, tab, target, as MUSE's dictionaries have them, with the probability as a third column."""
    columns = [entries["source"][:], entries["target"][:], map(repr, entries["probability"][:])]
    lines = ("\t".join(row) + "\n" for row in zip(*columns, strict=True))
    write_text(path, "".join(lines))


def _shares(values: npt.NDArray[np.float64], group: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    total = np.bincount(group, values)
    return np.asarray(values / np.where(total > 0, total, 1.0)[group])
