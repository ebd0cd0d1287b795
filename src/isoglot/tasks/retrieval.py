"""Sentence retrieval: Tatoeba, FLORES, NTREX; for each sentence its translation among all of them."""

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
from isoglot.tasks.base import Predictions
from isoglot.tasks.features import StepProgress
from isoglot.tasks.text_vectors import TextEncoder, TextPooling

_LOG = logging.getLogger(__name__)
_FEWEST_SORTED = 5
"""Fewer lines are often in order by chance."""
_FEWEST_JUDGED = 20
"""Of fewer lines the lengths correlate by chance."""
_TRANSLATIONS_AGREE = 0.6
"""Lengths of 1,000 translations correlate by 0.70 or more in 68 languages; with English sorted, by 0.51 at most."""


@dataclass
class RetrievalTask:
    """Finds translations between a language and the pivot: for each sentence its translation among all of them.

    Args:
        data: Two files of lines (one with the language's code in its name, one with the pivot's), a folder that has
            them, or a data set of BITEXT rows.
        name: In results; by default the kind.
        pivot: The other language; a language written de-fr names both.
        layer: Of the hidden states; −1 the last; XTREME takes 7 of 12 for base models. static: word embeddings.
        pooling: mean or cls.
        max_length: Tokens of a sentence.

    **Metrics**, language → pivot, and ``reverse_…`` back, with the cosine, and with ``csls_…`` and ``margin_…``:
    ``accuracy`` (the nearest is the translation) and ``mrr`` (mean reciprocal rank), both in %.
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
        """BITEXT rows, the language first."""
        tag, pivot = self._languages(language)
        locations = self.locations(language, split)
        first, hub = locations[0], self.hub
        if len(locations) == 2:
            sides = read_sides((Path(first.path), Path(locations[1].path)))
        elif first.on_hub and "source" not in hub.columns:
            sides = read_hub_sides(first, hub, languages=(tag, pivot), split=split)
        else:
            if first.on_hub:
                table = read_hub(first, hub, BITEXT, language=tag, split=split)
            else:
                rows = None if first.rows is None else with_languages(first.rows, tag, pivot)
                role = f"{self.name} data"
                table = read_table(first.path, BITEXT, language=tag, split=split, role=role, rows=rows)
            table = in_languages(table, tag, pivot, first.path, turn=True)
            return rows_of_split(table, split, source=f"{self.name}: {first.path}")
        count = len(sides[0])
        columns = {"source": sides[0], "target": sides[1], "source_language": [tag] * count,
                   "target_language": [pivot] * count}  # fmt: skip
        return Dataset.from_dict(columns, features=BITEXT)

    def require_gold(self, dataset: Dataset) -> None:
        """Refuse sides whose lines are not translations of each other because one of them was sorted.

        XTREME's download sorts Tatoeba's English sentences, so that the gold order is withheld: every model would get
        0 %. Translations are about as long as each other, so lengths tell whether a sorted side was sorted alone, or
        both were sorted by it.
        """
        sides = {name: list(dataset[name]) for name in ("source", "target")}
        is_sorted = {name: lines == sorted(lines) for name, lines in sides.items()}
        if len(dataset) < _FEWEST_SORTED or len(set(is_sorted.values())) == 1:
            return
        name = next(name for name, found in is_sorted.items() if found)
        what = (
            f"{self.name} data ({self.data.describe()}): the {name} side is sorted and the other one is not"
        )
        agreement = _length_agreement(*sides.values())
        if agreement is not None and agreement < _TRANSLATIONS_AGREE:
            raise ConfigurationError(
                f"{what}, and lines of one number are not translations (their lengths correlate by {agreement:.2f}); "
                f"{ADVICE}"
            )
        _LOG.warning("%s; if line i does not translate line i, the figures are wrong", what)

    def locations(self, language: str, split: str) -> list[Location]:
        """A data set, or the files of both languages."""
        if isinstance(self.data, MemorySource):
            return self.data.find(language, split)
        specs = self.data.of_split(split)
        if len(specs) == 1:
            location, folder = Location(specs[0]), Path(specs[0]).is_dir()
            if location.on_hub or (is_table(specs[0]) and (not folder or is_data_set(specs[0]))):
                return [location]
        return [Location(str(path)) for path in find_sides(specs, self._languages(language), split)]

    def _languages(self, language: str) -> tuple[str, str]:
        private = "-x-" in language  # en-x-trans is one language, not a pair
        tag, separator, pivot = (language, "", "") if private else language.partition("-")
        sides = (tag, pivot) if separator else (language, self.pivot)
        if sides[0] == sides[1]:
            raise ConfigurationError(
                f"both sides are in {tag!r}; leave the pivot out of [[languages]], or name another with [[pivot=LANG]]"
            )
        return sides

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Scores, and for each sentence the 0-based line of its nearest neighbour by cosine.

        A sentence without a word that the vocabulary knows has none (−1), and is nobody's.
        """
        del language
        encoder = TextEncoder(checkpoint, layer=self.layer, pooling=self.pooling, max_length=self.max_length)
        sides = [unit(encoder(list(dataset[side]), progress=progress)) for side in ("source", "target")]
        scores: dict[str, float] = {}
        nearest: list[int] = []
        for similarity in SIMILARITIES:
            stem = "" if similarity == "cosine" else f"{similarity}_"
            for way, (queries, keys) in (("", sides), ("reverse_", sides[::-1])):
                ranks, best = gold_ranks(queries, keys, similarity=similarity)
                scores[f"{way}{stem}accuracy"] = 100 * float((ranks == 1).double().mean())
                scores[f"{way}{stem}mrr"] = 100 * float((1 / ranks.double()).mean())
                nearest = nearest or best.tolist()
        return scores, nearest

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Accuracy from the language to the pivot, by cosine: what the predictions tell."""
        del language
        return {"accuracy": shares([line == nearest for line, nearest in enumerate(predictions)])}


@dataclass
class Tatoeba(RetrievalTask):
    """Tatoeba's sentences, as XTREME has them."""

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
    """FLORES+."""

    kind = "flores"
    hub = HubSpec(
        "openlanguagedata/flores_plus", "{code}", {"text": "text"}, {"test": "devtest", "dev": "dev"}
    )


@dataclass
class NTREX(RetrievalTask):
    """NTREX-128."""

    kind = "ntrex"
    hub = HubSpec("mteb/NTREX", None, {"text": "{code}"}, {"dev": "test"})


def _length_agreement(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Correlation of the lengths of lines; ``None`` where they tell nothing: few lines, or all of one length."""
    lengths = np.array([[len(text) for text in side] for side in (first, second)], np.float64)
    if len(first) < _FEWEST_JUDGED or not lengths.std(axis=1).all():
        return None
    return float(np.corrcoef(lengths[0], lengths[1])[0, 1])
