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
from isoglot.tasks.base import Predictions
from isoglot.tasks.features import StepProgress

_WINDOW = 256
_GOLD = Features(
    {**{name: ALIGNED[name] for name in ("source_words", "target_words")},
     **dict.fromkeys(("sure", "possible"), ALIGNED["links"])}
)  # fmt: skip
"""Words and gold links of a pair, as data in memory have them."""


@dataclass
class WordAlignmentTask:
    """Alignment error rate on JSON lines with ``src``, ``tgt``, ``sure`` and ``possible``.

    Args:
        data: The file; a language pair is written as in its name, ``de-en``.
        name: In results.
        method: How links are chosen; see ``isoglot align --methods``. By default what ``isoglot tune`` chose for the
            encoder, else itermax.
        layer: Hidden states' number; by default what ``isoglot tune`` chose, else the method's.
        base: What the file counts words from.
        aligner: Further options of :class:`isoglot.aligners.embedding.aligner.EmbeddingAligner`.

    **Metrics**: ``aer``, ``precision``, ``recall``, ``f1`` in %.
    """

    data: DataSource
    name: str = "word_alignment"
    method: str | None = None
    layer: int | None = None
    base: int | None = None
    aligner: dict[str, Any] | None = None
    primary_metric: ClassVar[str] = "aer"
    schema: ClassVar[Features] = _GOLD

    def __post_init__(self) -> None:
        """Refuse options that the aligner does not take, before anything is measured."""
        EmbeddingOptions.check(method=self.method, layer=self.layer, **(self.aligner or {}))

    def load(self, language: str, split: str) -> Dataset:
        """Rows of ``source_words``, ``target_words``, ``sure`` and ``possible``."""
        (location,) = self.locations(language, split)
        path, in_memory = location.path, location.rows
        rows = self._read(path, language) if in_memory is None else self._checked(in_memory)
        rows = rows_of_split(rows, split, source=f"{self.name}: {path}")
        if len(rows):
            require_sure(any(rows["sure"]), f"{split} data of {path}")
        return rows

    def _read(self, path: str, language: str) -> Dataset:
        """Rows of a file or a folder of a corpus."""
        source, _, target = language.partition("-")
        languages = (source, target) if target else None
        pairs = gold_pairs(path, limit=None, languages=languages, base=self.base)
        columns = {
            "source_words": [list(pair.source_words) for pair in pairs],
            "target_words": [list(pair.target_words) for pair in pairs],
            "sure": [[list(link) for link in sorted(pair.sure or ())] for pair in pairs],
            "possible": [[list(link) for link in sorted(pair.possible)] for pair in pairs],
        }
        splits = [split_name(pair.more) for pair in pairs]
        if any(split is not None for split in splits):
            columns[SPLIT] = splits
        return Dataset.from_dict(columns)

    def _checked(self, rows: Dataset) -> Dataset:
        """Rows in memory, whose links count words from 0."""
        if self.base:
            raise ConfigurationError(
                f"got base {self.base}, but links of data in memory count words from 0; leave it out"
            )
        if "possible" not in rows.features:
            rows = rows.add_column("possible", [[] for _ in rows], feature=_GOLD["possible"])
        gold = _gold(rows)
        require_sure(any(links.sure for links in gold), self.data.describe())
        for number, (links, source, target) in enumerate(
            zip(gold, rows["source_words"], rows["target_words"], strict=True), 1
        ):
            if link_outside(links.possible, len(source), len(target)):
                raise ConfigurationError(
                    f"row {number} of {self.data.describe()}: a gold link points to no word; links count words from 0"
                )
        return rows

    def locations(self, language: str, split: str) -> list[Location]:
        """The file of gold links."""
        return [self.data.single_file(language, split)]

    def with_checkpoint(self, checkpoint: Path | str) -> Self:
        """The task with the method, layer and further options that are kept beside an encoder, but for those given."""
        named = {"method": self.method, "layer": self.layer}
        chosen = {name: value for name, value in named.items() if value is not None}
        options = with_kept(checkpoint, {**chosen, **(self.aligner or {})})
        method, layer = options.pop("method", None), options.pop("layer", None)
        return replace(self, method=method, layer=layer, aligner=options or None)

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Scores, and Pharaoh lines; with the task's own options, see :meth:`with_checkpoint`."""
        del language
        options = {
            "method": self.method or "itermax",
            "layer": self.layer,
            **MEASURED,
            **(self.aligner or {}),
        }
        aligner = EmbeddingAligner(checkpoint, **options)
        pairs = list(zip(dataset["source_words"], dataset["target_words"], strict=True))
        alignments: list[Alignment] = []
        for links in aligner.align_pairs(pairs, window=_WINDOW):
            alignments.append(Alignment(frozenset(links.links)))
            if progress is not None:
                progress(len(alignments), len(pairs))
        total = score(alignments, _gold(dataset))
        names = ("aer", "precision", "recall", "f1")
        return {name: getattr(total, name) for name in names}, [a.to_pharaoh() for a in alignments]

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """The metrics, counted per sentence pair."""
        del language
        links = [Alignment.from_pharaoh(line).links for line in predictions]
        pairs = [score_pair(pair, gold) for pair, gold in zip(links, _gold(dataset), strict=True)]
        counts = np.array([astuple(pair) for pair in pairs], np.float64).reshape(-1, 4)
        predicted, sure, sure_hits, hits = counts.T
        both = (np.stack([hits, sure_hits], 1), np.stack([predicted, sure], 1))
        return {
            "aer": ExampleCounts(predicted + sure - hits - sure_hits, predicted + sure),
            "precision": ExampleCounts(hits, predicted),
            "recall": ExampleCounts(sure_hits, sure),
            "f1": ExampleCounts(*both, combine="harmonic"),
        }


def _gold(dataset: Dataset) -> list[SentencePair]:
    return [SentencePair.of_gold(s, p) for s, p in zip(dataset["sure"], dataset["possible"], strict=True)]
