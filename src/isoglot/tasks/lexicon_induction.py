"""Bilingual lexicon induction: a word's translations among all words of the other language (MUSE)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from datasets import Dataset, Features

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.labelled_tables import in_languages, is_table, read_table
from isoglot.formats.labelled.memory import with_languages
from isoglot.formats.labelled.sources import DataSource, Location, is_data_set
from isoglot.formats.labelled.splits import split_mask
from isoglot.formats.line_files import filled_lines, lexicon_entries, numbered_lines
from isoglot.formats.schema import LEXICON
from isoglot.modules.neighbours import top_neighbours, unit
from isoglot.results.example_counts import ExampleCounts, shares
from isoglot.tasks.base import Predictions
from isoglot.tasks.features import StepProgress
from isoglot.tasks.text_vectors import TextEncoder

_RANGE = re.compile(r"\.(\d+)-(\d+)\.")
_PRECISIONS = (1, 5)
_MUSE_RANGES = {"train": (0, 5000), "test": (5000, 6500), "dev": (5000, 6500)}


@dataclass
class LexiconInductionTask:
    """Bilingual lexicon induction on MUSE dictionaries (``source target`` a line).

    A language pair is written ``en-de``. The words to translate are MUSE's test slice: those of a file named
    ``en-de.5000-6500.txt``, else source words 5,000 to 6,500 of the whole dictionary in its order (by frequency).
    Of data in memory all are asked for; where rows name their split, those of the split. Candidates are all target
    words of the file.

    Args:
        data: The dictionary.
        name: In results.
        layer: ``static`` for the word embedding table (mean of a word's pieces), or a layer of which the mean over the
            word's pieces, encoded alone, is taken.
        words: First and last source word, in place of the usual slice; ``0:0`` for all.
        csls_over: The source words among which CSLS looks for a candidate's neighbours: those ``asked``, or ``all`` of
            the file, as MUSE takes its whole source vocabulary (slower by as much as there are more).

    **Metrics**: ``precision_at_1`` and ``precision_at_5`` by cosine; with CSLS ``csls_…``; in %.

    Source: Conneau et al. 2018, *Word Translation Without Parallel Data*.
    """

    data: DataSource
    name: str = "lexicon_induction"
    layer: int | str = "static"
    words: str | None = None
    csls_over: Literal["asked", "all"] = "asked"
    primary_metric: ClassVar[str] = "csls_precision_at_1"
    schema: ClassVar[Features] = LEXICON

    def load(self, language: str, split: str) -> Dataset:
        """LEXICON rows of the whole file, with a column ``asked``: whether a row's source word is to be translated."""
        source, _, target = language.partition("-")
        if not target:
            raise ConfigurationError(f"{self.name}: a language is a pair such as en-de, got {language!r}")
        rows: dict[str, list[str]] = {"source": [], "target": []}
        (location,) = self.locations(language, split)
        path, in_memory, of_split = location.path, location.rows, None
        if in_memory is not None or is_table(path):
            in_memory = None if in_memory is None else with_languages(in_memory, source, target)
            role = f"{self.name} data"
            table = read_table(path, LEXICON, language=language, split=split, role=role, rows=in_memory)
            table = in_languages(table, source, target, path)
            of_split = split_mask(table, split, source=f"{self.name}: {path}")
            rows = {side: list(table[side]) for side in rows}
        else:
            if _names(path, target, source) and not _names(path, source, target):
                raise InputError(
                    f"is named as {target}-{source}, but {language} is requested; name that direction's dictionary",
                    path=path,
                )
            for number, line in filled_lines(numbered_lines(path)):
                parts = list(map(str.strip, lexicon_entries(line)))
                if len(parts) != 2 or not all(parts):
                    raise InputError("a line is a source and a target word; fix it", path=path, line=number)
                rows["source"].append(parts[0])
                rows["target"].append(parts[1])
        count = len(rows["source"])
        if of_split is not None and self.words is None:
            queried = of_split
        elif in_memory is not None and self.words is None:
            queried = [True] * count
        else:
            queried = self._in_slice(rows["source"], Path(path).name, split)
        columns = {
            **rows,
            "source_language": [source] * count,
            "target_language": [target] * count,
            "asked": queried,
        }
        return Dataset.from_dict(columns)

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Scores, and the nearest candidate of each source word by CSLS.

        A word that the vocabulary does not know has none (an empty one), and is nobody's.
        """
        del language
        gold = _translations(dataset)
        candidates = list(dict.fromkeys(dataset["target"]))
        encoder = TextEncoder(checkpoint, layer=self.layer, entries=True)
        sources = list(dict.fromkeys(dataset["source"])) if self.csls_over == "all" else list(gold)
        source_vectors = unit(encoder(sources, progress=progress))
        numbers = {word: number for number, word in enumerate(sources)}
        queries = source_vectors[[numbers[word] for word in gold]]
        keys = unit(encoder(candidates, progress=progress))
        candidates = [word for word, known in zip(candidates, keys.any(1).tolist(), strict=True) if known]
        keys, source_vectors = keys[keys.any(1)], source_vectors[source_vectors.any(1)]
        if not len(keys) or not len(source_vectors):
            side = "source" if len(keys) else "target"
            raise ConfigurationError(
                f"{checkpoint}: its vocabulary knows no {side} word of the dictionary; choose an encoder that does"
            )
        scores: dict[str, float] = {}
        nearest: list[str] = []
        for similarity, stem in (("cosine", ""), ("csls", "csls_")):
            neighbours = top_neighbours(
                queries, keys, max(_PRECISIONS), similarity=similarity, reference=source_vectors
            )
            known = queries.any(1).tolist()
            top = [row if present else [] for row, present in zip(neighbours.tolist(), known, strict=True)]
            for k in _PRECISIONS:
                hits = [
                    bool({candidates[i] for i in row[:k]} & right)
                    for row, right in zip(top, gold.values(), strict=True)
                ]
                scores[f"{stem}precision_at_{k}"] = 100 * sum(hits) / len(hits)
            nearest = [candidates[row[0]] if row else "" for row in top]
        return scores, nearest

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Precision at 1 by CSLS: what the predictions tell."""
        del language
        gold = _translations(dataset).values()
        return {
            "csls_precision_at_1": shares(
                [word in right for word, right in zip(predictions, gold, strict=True)]
            )
        }

    def locations(self, language: str, split: str) -> list[Location]:
        """The dictionary; a folder's file carries both codes."""
        source, _, target = language.partition("-")
        specs = self.data.of_split(split)
        if len(specs) == 1 and Path(specs[0]).is_dir() and not is_data_set(specs[0]):
            files = [p for p in sorted(Path(specs[0]).iterdir()) if _names(p, source, target)]
            usual = _MUSE_RANGES.get(split) if self.words is None else None
            sliced = [p for p in files if (m := _RANGE.search(p.name)) and (int(m[1]), int(m[2])) == usual]
            whole = [p for p in files if not _RANGE.search(p.name)]
            if best := sliced or whole:
                return [Location(str(best[0]))]
        return [self.data.single_file(language, split)]

    def _in_slice(self, source: list[str], name: str, split: str) -> list[bool]:
        """Whether each source word is to be translated."""
        order = {word: i for i, word in enumerate(dict.fromkeys(source))}
        if self.words is not None:
            match = re.fullmatch(r"(\d+):(\d+)", self.words)
            if match is None:
                raise ConfigurationError(
                    f"words must be first:last, such as 0:1500, or 0:0 for all; got {self.words!r}"
                )
            low, high = int(match[1]), int(match[2]) or len(order)
        elif _RANGE.search(name):
            low, high = 0, len(order)
        else:
            low, high = _MUSE_RANGES.get(split, (0, len(order)))
        queried = [low <= order[word] < high for word in source]
        if not any(queried):
            raise InputError(
                f"source words {low} to {high} requested, but the dictionary has {len(order)}; set words=0:0 for all",
                path=name,
            )
        return queried


def _translations(dataset: Dataset) -> dict[str, set[str]]:
    """The translations of each word that is asked for."""
    gold: dict[str, set[str]] = {}
    for source, target, queried in zip(dataset["source"], dataset["target"], dataset["asked"], strict=True):
        if queried:
            gold.setdefault(source, set()).add(target)
    return gold


def _names(path: str | Path, source: str, target: str) -> bool:
    """Whether a file is named as a dictionary from one language to another."""
    return re.search(rf"(?<![a-z]){source}-{target}(?![a-z])", Path(path).name) is not None
