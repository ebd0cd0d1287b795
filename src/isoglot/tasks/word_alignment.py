"""Word alignment: an encoder's links against gold links, as alignment error rate."""

from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from datasets import Dataset, Features

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import with_kept
from isoglot.aligners.embedding.options import MEASURED, EmbeddingOptions
from isoglot.aligners.gold import gold_pairs
from isoglot.aligners.scoring import score, score_pair
from isoglot.core.errors import ConfigurationError
from isoglot.formats.labelled.sources import DataSource, Location
from isoglot.formats.labelled.splits import SPLIT, rows_of_split, split_name
from isoglot.formats.links import Alignment, link_outside
from isoglot.formats.schema import ALIGNED
from isoglot.formats.sentence_pair import SentencePair
from isoglot.results.example_counts import ExampleCounts
from isoglot.results.link_counts import require_sure
from isoglot.tasks.base import Predictions, split_pair
from isoglot.tasks.features import StepProgress

_WINDOW = 256
"""Sentence pairs that are aligned at a time, after which progress is reported."""
_GOLD_COLUMNS = Features(
    {**{name: ALIGNED[name] for name in ("source_words", "target_words")},
     **dict.fromkeys(("sure", "possible"), ALIGNED["links"])}
)  # fmt: skip
"""Columns of words and gold links, as data in memory have them."""


@dataclass
class WordAlignmentTask:
    """Measure the alignment error rate (AER) on JSON lines with ``src``, ``tgt``, ``sure`` and ``possible``.

    Args:
        data: The file; a language pair is written as in its name, ``de-en``.
        name: In results.
        method: How links are chosen; see ``isoglot align --methods``. By default what ``isoglot tune`` chose for the
            encoder, else itermax.
        layer: Number of the layer whose vectors are compared; by default what ``isoglot tune`` chose, else the
            method's.
        base: Number of the first word of a sentence in the file, 0 or 1; by default that of the file's format.
        aligner: Further options of :class:`isoglot.aligners.embedding.aligner.EmbeddingAligner`; a method or layer here
            counts more than the ones above.

    **Metrics**: ``aer``, ``precision``, ``recall``, ``f1`` in %.
    """

    data: DataSource
    name: str = "word_alignment"
    method: str | None = None
    layer: int | None = None
    base: int | None = None
    aligner: dict[str, Any] | None = None
    primary_metric: ClassVar[str] = "aer"
    schema: ClassVar[Features] = _GOLD_COLUMNS

    def __post_init__(self) -> None:
        """Refuse options that the aligner does not take, before anything is measured."""
        EmbeddingOptions.check(**{"method": self.method, "layer": self.layer, **(self.aligner or {})})

    def load(self, language: str, split: str) -> Dataset:
        """Load rows of ``source_words``, ``target_words``, ``sure`` and ``possible``."""
        (location,) = self.locations(language, split)
        path, in_memory = location.path, location.rows
        rows = self._read(path, language) if in_memory is None else self._checked(in_memory)
        rows = rows_of_split(rows, split, source=f"{self.name}: {path}")
        if len(rows):
            require_sure(any(rows["sure"]), f"{split} data of {path}")
        return rows

    def _read(self, path: str, language: str) -> Dataset:
        """Read the rows of a file, or of a corpus in a folder."""
        source, target = split_pair(language)
        languages = (source, target) if target else None
        pairs = gold_pairs(path, limit=None, languages=languages, base=self.base)
        columns: dict[str, list[Any]] = {name: [] for name in _GOLD_COLUMNS}
        for pair in pairs:
            columns["source_words"].append(list(pair.source_words))
            columns["target_words"].append(list(pair.target_words))
            columns["sure"].append([list(link) for link in sorted(pair.sure or ())])
            columns["possible"].append([list(link) for link in sorted(pair.possible)])
        splits = [split_name(pair.more) for pair in pairs]
        if any(split is not None for split in splits):
            columns[SPLIT] = splits
        return Dataset.from_dict(columns)

    def _checked(self, rows: Dataset) -> Dataset:
        """Check rows in memory, whose links count words from 0, and add ``possible`` links (none) if they have none."""
        if self.base:
            raise ConfigurationError(
                f"got base {self.base}, but links of data in memory count words from 0; leave it out"
            )
        if "possible" not in rows.features:
            rows = rows.add_column("possible", [[] for _ in rows], feature=_GOLD_COLUMNS["possible"])
        gold = _gold(rows)
        require_sure(any(links.sure for links in gold), self.data.describe())
        words = zip(rows["source_words"], rows["target_words"], strict=True)
        for number, (links, (source, target)) in enumerate(zip(gold, words, strict=True), start=1):
            # `possible` of a pair of gold links contains its sure links.
            if link_outside(links.possible, len(source), len(target)):
                raise ConfigurationError(
                    f"row {number} of {self.data.describe()}: a gold link points to no word; links count words from 0"
                )
        return rows

    def locations(self, language: str, split: str) -> list[Location]:
        """Find the file of gold links."""
        return [self.data.single_file(language, split)]

    def with_checkpoint(self, checkpoint: Path | str) -> Self:
        """Copy the task, and take options that it was not given from the choice that ``isoglot tune`` left.

        If the file ``aligner.json`` beside the encoder says layer 8 and method ``itermax``, a task with ``layer=6``
        keeps layer 6 and takes ``itermax``.
        """
        given: dict[str, Any] = dict(self.aligner or {})
        for name, value in (("method", self.method), ("layer", self.layer)):
            if value is not None:
                given.setdefault(name, value)
        options = with_kept(checkpoint, given)
        method, layer = options.pop("method", None), options.pop("layer", None)
        return replace(self, method=method, layer=layer, aligner=options or None)

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Return the metrics, and the links of each pair as a line in Pharaoh format (``0-0 1-2``).

        The options are the task's own; :meth:`with_checkpoint` makes a task with those chosen for the checkpoint.
        """
        del language
        # Later entries replace earlier ones.
        options = {
            "method": self.method or "itermax",
            "layer": self.layer,
            **MEASURED,
            **(self.aligner or {}),
        }
        aligner = EmbeddingAligner(checkpoint, **options)
        pairs = list(zip(dataset["source_words"], dataset["target_words"], strict=True))
        alignments: list[Alignment] = []
        for aligned in aligner.align_pairs(pairs, window=_WINDOW):
            alignments.append(Alignment(frozenset(aligned.links)))
            if progress is not None:
                progress(len(alignments), len(pairs))
        total = score(alignments, _gold(dataset))
        scores = {name: getattr(total, name) for name in ("aer", "precision", "recall", "f1")}
        return scores, [alignment.to_pharaoh() for alignment in alignments]

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Count the metrics for each sentence pair.

        With A the predicted, S the sure and P the possible links (Och and Ney 2003): precision = |A∩P| / |A|,
        recall = |A∩S| / |S|, F1 their harmonic mean, AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|).
        """
        del language
        rows = []
        for line, gold in zip(predictions, _gold(dataset), strict=True):
            rows.append(astuple(score_pair(Alignment.from_pharaoh(line).links, gold)))
        # The columns are |A|, |S|, |A∩S| and |A∩P|, in the order of the fields of `score_pair`'s result.
        predicted, sure, sure_hits, hits = np.array(rows, np.float64).reshape(-1, 4).T
        precision_and_recall = (np.stack([hits, sure_hits], 1), np.stack([predicted, sure], 1))
        return {
            "aer": ExampleCounts(predicted + sure - hits - sure_hits, predicted + sure),
            "precision": ExampleCounts(hits, predicted),
            "recall": ExampleCounts(sure_hits, sure),
            "f1": ExampleCounts(*precision_and_recall, combine="harmonic"),
        }


def _gold(dataset: Dataset) -> list[SentencePair]:
    """Return the gold links of each row."""
    links = zip(dataset["sure"], dataset["possible"], strict=True)
    return [SentencePair.of_gold(sure, possible) for sure, possible in links]
