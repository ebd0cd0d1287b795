"""Sentence retrieval (Tatoeba, FLORES, NTREX): find each sentence's translation among all sentences of the other side.

The *pivot* is the language in which the other side of each pair is written, English by default.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from datasets import Dataset, Features

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.labelled_tables import in_languages, is_table, read_table
from isoglot.formats.labelled.hub import HubSpec, read_hub, read_hub_sides
from isoglot.formats.labelled.memory import MemorySource, with_languages
from isoglot.formats.labelled.sources import DataSource, Location, find_sides, is_data_set, read_sides
from isoglot.formats.labelled.splits import rows_of_split
from isoglot.formats.labelled.withheld import ADVICE
from isoglot.formats.schema import BITEXT
from isoglot.modules.neighbours import SIMILARITIES, gold_ranks, unit
from isoglot.results.example_counts import ExampleCounts, shares
from isoglot.tasks.base import Predictions, split_pair
from isoglot.tasks.features import StepProgress
from isoglot.tasks.text_vectors import TextEncoder, TextPooling

_LOG = logging.getLogger(__name__)
_FEWEST_SORTED = 5
"""Minimum lines to look for a sorted side; fewer lines are often sorted by chance."""
_FEWEST_CORRELATED = 20
"""Minimum lines to correlate lengths; lengths of fewer lines correlate by chance."""
_LEAST_CORRELATION = 0.6
"""Minimum correlation of the lengths of translations.

Lengths of 1,000 translations correlate by 0.70 or more in 68 languages; with English sorted, by 0.51 at most.
"""


@dataclass
class RetrievalTask:
    """Find translations between a language and the pivot: for each sentence its translation among all of them.

    Args:
        data: Two files of lines (one with the language's code in its name, one with the pivot's), a folder that has
            them, or a data set of BITEXT rows.
        name: In results; by default the kind.
        pivot: The other language; a language written de-fr names both.
        layer: Of the hidden states; −1 the last; XTREME takes 7 of 12 for base models. static: word embeddings.
        pooling: mean or cls.
        max_length: Tokens of a sentence.

    **Metrics** in %, language → pivot, by cosine: ``accuracy`` (the nearest is the translation) and ``mrr`` (mean
    reciprocal rank). Both also as ``reverse_…`` from the pivot to the language, and as ``csls_…`` and ``margin_…`` by
    these similarities: ``reverse_csls_accuracy`` is the accuracy from the pivot to the language by CSLS.
    """

    data: DataSource
    name: str = ""
    pivot: str = "en"
    layer: int | str = -1
    pooling: TextPooling = "mean"
    max_length: int = 512
    kind: ClassVar[str]
    schema: ClassVar[Features] = BITEXT
    hub: ClassVar[HubSpec]
    primary_metric: ClassVar[str] = "accuracy"

    def __post_init__(self) -> None:
        self.name = self.name or self.kind

    def load(self, language: str, split: str) -> Dataset:
        """Load BITEXT rows whose source is in the language and whose target is in the pivot.

        1. Two files, one per language: line i of one file translates line i of the other.
        2. A data set of the hub with the sentences of each language apart, such as FLORES: likewise.
        3. Rows of pairs, from the hub, a file or memory; pairs written from the pivot to the language are turned round.
        """
        source, pivot = self._languages(language)
        locations = self.locations(language, split)
        location = locations[0]
        if len(locations) == 2:  # 1
            sides = read_sides((Path(location.path), Path(locations[1].path)))
            return _bitext(sides, source, pivot)
        if location.on_hub and "source" not in self.hub.columns:  # 2
            sides = read_hub_sides(location, self.hub, languages=(source, pivot), split=split)
            return _bitext(sides, source, pivot)
        if location.on_hub:  # 3
            table = read_hub(location, self.hub, BITEXT, language=source, split=split)
        else:
            rows = None if location.rows is None else with_languages(location.rows, source, pivot)
            role = f"{self.name} data"
            table = read_table(location.path, BITEXT, language=source, split=split, role=role, rows=rows)
        table = in_languages(table, source, pivot, location.path, turn=True)
        return rows_of_split(table, split, source=f"{self.name}: {location.path}")

    def require_gold(self, dataset: Dataset) -> None:
        """Refuse sides whose lines are no longer translations of each other because only one side was sorted.

        XTREME's download sorts Tatoeba's English sentences, which withholds the gold order: every model would get 0 %.
        But a sorted side may also be right: a user sorts pairs by their English sentence. Translations are about as
        long as each other, so the lengths tell the two cases apart. Where they tell nothing, a warning is logged.
        """
        source, target = list(dataset["source"]), list(dataset["target"])
        source_is_sorted, target_is_sorted = source == sorted(source), target == sorted(target)
        if len(dataset) < _FEWEST_SORTED or source_is_sorted == target_is_sorted:
            return
        sorted_side = "source" if source_is_sorted else "target"
        finding = (
            f"{self.name} data ({self.data.describe()}): "
            f"the {sorted_side} side is sorted and the other one is not"
        )
        correlation = _length_correlation(source, target)
        if correlation is not None and correlation < _LEAST_CORRELATION:
            raise ConfigurationError(
                f"{finding}, and lines of one number are not translations "
                f"(their lengths correlate by {correlation:.2f}); {ADVICE}"
            )
        _LOG.warning("%s; if line i does not translate line i, the figures are wrong", finding)

    def locations(self, language: str, split: str) -> list[Location]:
        """Find one data set (in memory, on the hub, a table), or two files of lines, one for each language."""
        if isinstance(self.data, MemorySource):
            return self.data.find(language, split)
        specs = self.data.of_split(split)
        if len(specs) == 1:
            location = Location(specs[0])
            # A plain folder may hold the two files of lines; only a saved data set is a table.
            is_plain_folder = Path(specs[0]).is_dir() and not is_data_set(specs[0])
            if location.on_hub or (is_table(specs[0]) and not is_plain_folder):
                return [location]
        return [Location(str(path)) for path in find_sides(specs, self._languages(language), split)]

    def _languages(self, language: str) -> tuple[str, str]:
        """Return the language and the pivot.

        With the pivot ``en``, ``de`` is ``(de, en)`` and ``de-fr`` is ``(de, fr)``.
        """
        source, pivot = split_pair(language)
        pivot = pivot or self.pivot
        if source == pivot:
            raise ConfigurationError(
                f"both sides are in {source!r}; leave the pivot out of [[languages]], or name another with "
                "[[pivot=LANG]]"
            )
        return source, pivot

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Return the metrics, and for each sentence of the language the line of the pivot that is nearest by cosine.

        Lines are numbered from 0.
        A sentence without any word that the vocabulary knows has no nearest neighbour (−1): the rank of its translation
        is the number of sentences + 1. It is never the nearest neighbour of another sentence.
        """
        del language
        encoder = TextEncoder(checkpoint, layer=self.layer, pooling=self.pooling, max_length=self.max_length)
        source = unit(encoder(list(dataset["source"]), progress=progress))
        target = unit(encoder(list(dataset["target"]), progress=progress))
        scores: dict[str, float] = {}
        predictions: list[int] = []
        for similarity in SIMILARITIES:
            prefix = "" if similarity == "cosine" else f"{similarity}_"
            for direction, queries, keys in (("", source, target), ("reverse_", target, source)):
                ranks, nearest = gold_ranks(queries, keys, similarity=similarity)
                scores[f"{direction}{prefix}accuracy"] = 100 * float((ranks == 1).double().mean())
                scores[f"{direction}{prefix}mrr"] = 100 * float((1 / ranks.double()).mean())
                if similarity == "cosine" and direction == "":
                    predictions = nearest.tolist()
        return scores, predictions

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Count accuracy from the language to the pivot by cosine, the metric that the predictions belong to.

        Line i translates line i, so a prediction is right if it is its own number. The predictions hold the nearest
        line and no rank, so mean reciprocal rank cannot be counted.
        """
        del language
        is_right = [line == nearest for line, nearest in enumerate(predictions)]
        return {"accuracy": shares(is_right)}


@dataclass
class Tatoeba(RetrievalTask):
    """Retrieve sentences of Tatoeba, as XTREME has them."""

    kind = "tatoeba"
    hub = HubSpec(
        "google/xtreme",
        "tatoeba.{language3}",
        {"source": "source_sentence", "target": "target_sentence", "source_language": "source_lang",
         "target_language": "target_lang"},
        {"test": "validation", "dev": "validation"},
    )  # fmt: skip
    languages = (
        "af ar bg bn de el es et eu fa fi fr he hi hu id it ja jv ka kk ko ml mr nl pt ru sw ta te th tl tr ur vi "
        "zh"
    )


@dataclass
class Flores(RetrievalTask):
    """Retrieve sentences of FLORES+."""

    kind = "flores"
    hub = HubSpec(
        "openlanguagedata/flores_plus", "{code}", {"text": "text"}, {"test": "devtest", "dev": "dev"}
    )


@dataclass
class NTREX(RetrievalTask):
    """Retrieve sentences of NTREX-128."""

    kind = "ntrex"
    hub = HubSpec("mteb/NTREX", None, {"text": "{code}"}, {"dev": "test"})


def _bitext(sides: Sequence[Sequence[str]], source: str, target: str) -> Dataset:
    """Return the lines of two sides as BITEXT rows in these languages."""
    count = len(sides[0])
    columns = {
        "source": sides[0],
        "target": sides[1],
        "source_language": [source] * count,
        "target_language": [target] * count,
    }
    return Dataset.from_dict(columns, features=BITEXT)


def _length_correlation(source: Sequence[str], target: Sequence[str]) -> float | None:
    """Correlate the lengths of the lines of two sides, in characters.

    ``None`` if the correlation says nothing: for few lines, or if all lines of a side are equally long.
    """
    source_lengths = np.array([len(text) for text in source], np.float64)
    target_lengths = np.array([len(text) for text in target], np.float64)
    if len(source) < _FEWEST_CORRELATED or not source_lengths.std() or not target_lengths.std():
        return None
    return float(np.corrcoef(source_lengths, target_lengths)[0, 1])
