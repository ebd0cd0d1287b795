"""Bilingual lexicon induction: find a word's translation among all target words of a dictionary (MUSE).

The source words whose translations are looked for are *asked*; the target words of the dictionary are the *candidates*.
"""

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
from isoglot.tasks.base import Predictions, split_pair
from isoglot.tasks.features import StepProgress
from isoglot.tasks.text_vectors import TextEncoder

_SLICE_IN_NAME = re.compile(r"\.(\d+)-(\d+)\.")
"""The slice in the name of a MUSE file that holds only this slice: ``en-de.5000-6500.txt``."""
_MUSE_SLICES = {"train": (0, 5000), "test": (5000, 6500), "dev": (5000, 6500)}
"""Split to its first source word, counted from 0, and the one after its last.

MUSE has no dev slice: its test slice stands in.
"""
_PRECISIONS = (1, 5)
"""The k of each precision at k."""


@dataclass
class LexiconInductionTask:
    """Bilingual lexicon induction on MUSE dictionaries (``source target`` a line).

    A language pair is written ``en-de``. The words to translate are MUSE's test slice: those of a file named
    ``en-de.5000-6500.txt``, else the 1,500 source words from number 5,000 on of the whole dictionary in its order (by
    frequency). Of data in memory all are asked for; where rows name their split, those of the split. Candidates are all
    target words of the file.

    Args:
        data: The dictionary.
        name: In results.
        layer: Where a word's vector is read, the mean over its pieces: ``static`` is the word embedding table; a number
            is a layer of the encoder, which encodes each word alone.
        words: First source word, counted from 0, and the one after the last, in place of the usual slice: ``0:1500`` is
            the first 1,500; ``0:0`` is all.
        csls_over: The source words among which CSLS looks for a candidate's neighbours: those ``asked``, or ``all`` of
            the file, as MUSE takes its whole source vocabulary: more words to encode and compare.

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
        """Load all entries of the dictionary as LEXICON rows, with a column ``asked``.

        ``asked`` is true in the rows whose source word is to be translated, by the first of these rules that fits:

        1. The option ``words`` says which: ``0:1500``.
        2. Rows of data in memory or of a table that name their split: those of the split.
        3. Other data in memory: all.
        4. Any other file: the split's MUSE slice, or all words if the file's name says that it is such a slice.
        """
        source, target = split_pair(language)
        if not target:
            raise ConfigurationError(f"{self.name}: a language is a pair such as en-de, got {language!r}")
        (location,) = self.locations(language, split)
        path, in_memory = location.path, location.rows
        is_of_split: list[bool] | None = None
        if in_memory is not None or is_table(path):
            given = None if in_memory is None else with_languages(in_memory, source, target)
            role = f"{self.name} data"
            table = read_table(path, LEXICON, language=language, split=split, role=role, rows=given)
            table = in_languages(table, source, target, path)
            is_of_split = split_mask(table, split, source=f"{self.name}: {path}")
            sources, targets = list(table["source"]), list(table["target"])
        else:
            if _is_named(path, target, source) and not _is_named(path, source, target):
                raise InputError(
                    f"is named as {target}-{source}, but {language} is requested; name that direction's dictionary",
                    path=path,
                )
            sources, targets = _read_lines(path)
        name = Path(path).name
        if self.words is not None:  # 1
            asked = self._in_slice(sources, name, split)
        elif is_of_split is not None:  # 2
            asked = is_of_split
        elif in_memory is not None:  # 3
            asked = [True] * len(sources)
        else:  # 4
            asked = self._in_slice(sources, name, split)
        columns = {
            "source": sources,
            "target": targets,
            "source_language": [source] * len(sources),
            "target_language": [target] * len(sources),
            "asked": asked,
        }
        return Dataset.from_dict(columns)

    def measure(
        self, checkpoint: str | Path, dataset: Dataset, *, language: str, progress: StepProgress | None = None
    ) -> tuple[dict[str, float], Predictions]:
        """Return the metrics, and for each asked word its nearest candidate by CSLS.

        A word that the encoder's vocabulary does not know has a null vector. As an asked word it has no nearest
        candidate (the prediction is an empty text) and counts as wrong; as a candidate it is left out.
        """
        del language
        gold = _translations(dataset)
        candidates = list(dict.fromkeys(dataset["target"]))
        encoder = TextEncoder(checkpoint, layer=self.layer, entries=True)
        # Vectors of all source words that CSLS looks at; the asked words are among them.
        sources = list(dict.fromkeys(dataset["source"])) if self.csls_over == "all" else list(gold)
        source_vectors = unit(encoder(sources, progress=progress))
        row_of = {word: row for row, word in enumerate(sources)}
        queries = source_vectors[[row_of[word] for word in gold]]
        candidate_vectors = unit(encoder(candidates, progress=progress))

        # Unknown words are nobody's neighbours.
        is_known_candidate = candidate_vectors.any(1)
        candidates = [
            word for word, known in zip(candidates, is_known_candidate.tolist(), strict=True) if known
        ]
        candidate_vectors = candidate_vectors[is_known_candidate]
        source_vectors = source_vectors[source_vectors.any(1)]
        if not len(candidate_vectors) or not len(source_vectors):
            side = "source" if len(candidate_vectors) else "target"
            raise ConfigurationError(
                f"{checkpoint}: its vocabulary knows no {side} word of the dictionary; choose an encoder that does"
            )

        scores: dict[str, float] = {}
        nearest_words: list[str] = []
        is_known_query = queries.any(1).tolist()
        for similarity, prefix in (("cosine", ""), ("csls", "csls_")):
            neighbours = top_neighbours(
                queries, candidate_vectors, max(_PRECISIONS), similarity=similarity, reference=source_vectors
            )
            # The nearest candidates of each asked word, best first; none for an unknown word.
            ranked: list[list[str]] = []
            for numbers, known in zip(neighbours.tolist(), is_known_query, strict=True):
                ranked.append([candidates[number] for number in numbers] if known else [])
            for k in _PRECISIONS:
                hits = 0
                for words, translations in zip(ranked, gold.values(), strict=True):
                    hits += any(word in translations for word in words[:k])
                scores[f"{prefix}precision_at_{k}"] = 100 * hits / len(ranked)
            # CSLS comes last, so its candidates are the predictions.
            nearest_words = [words[0] if words else "" for words in ranked]
        return scores, nearest_words

    def counts(
        self, dataset: Dataset, predictions: Predictions, *, language: str
    ) -> dict[str, ExampleCounts]:
        """Count precision at 1 by CSLS for each asked word; predictions hold one candidate, so no other metric."""
        del language
        gold = _translations(dataset).values()
        hits = [word in translations for word, translations in zip(predictions, gold, strict=True)]
        return {"csls_precision_at_1": shares(hits)}

    def locations(self, language: str, split: str) -> list[Location]:
        """Find the dictionary: a file that was named, or a file in a folder by both codes in its name.

        In a folder with ``en-de.txt`` and ``en-de.5000-6500.txt`` the file of the split's slice comes first, then the
        whole dictionary. With the option ``words``, which counts in the whole dictionary, only the latter will do.
        """
        source, target = split_pair(language)
        specs = self.data.of_split(split)
        if len(specs) == 1 and Path(specs[0]).is_dir() and not is_data_set(specs[0]):
            wanted = _MUSE_SLICES.get(split) if self.words is None else None
            of_slice: list[Path] = []
            whole: list[Path] = []
            for path in sorted(Path(specs[0]).iterdir()):
                if not _is_named(path, source, target):
                    continue
                match = _SLICE_IN_NAME.search(path.name)
                if match is None:
                    whole.append(path)
                elif (int(match[1]), int(match[2])) == wanted:
                    of_slice.append(path)
            found = of_slice or whole
            if found:
                return [Location(str(found[0]))]
        return [self.data.single_file(language, split)]

    def _in_slice(self, sources: list[str], name: str, split: str) -> list[bool]:
        """Say for each row whether its source word is in the slice of ``words``, or else of the split.

        Words are counted in the order of the dictionary, each once: in the rows of ``a``, ``a``, ``b`` word 1 is ``b``.

        ``name``: Name of the dictionary's file.
        """
        number_of = {word: number for number, word in enumerate(dict.fromkeys(sources))}
        if self.words is not None:
            match = re.fullmatch(r"(\d+):(\d+)", self.words)
            if match is None:
                raise ConfigurationError(
                    f"words must be first:end, such as 0:1500, or 0:0 for all; got {self.words!r}"
                )
            low, high = int(match[1]), int(match[2]) or len(number_of)
        elif _SLICE_IN_NAME.search(name):
            low, high = 0, len(number_of)  # the file holds nothing but its slice
        else:
            low, high = _MUSE_SLICES.get(split, (0, len(number_of)))
        asked = [low <= number_of[word] < high for word in sources]
        if not any(asked):
            raise InputError(
                f"source words {low} to {high} requested, but the dictionary has {len(number_of)}; "
                "set words=0:0 for all",
                path=name,
            )
        return asked


def _read_lines(path: str) -> tuple[list[str], list[str]]:
    """Read the source words and the target words of a dictionary with one ``source target`` a line."""
    sources: list[str] = []
    targets: list[str] = []
    for number, line in filled_lines(numbered_lines(path)):
        words = [word.strip() for word in lexicon_entries(line)]
        if len(words) != 2 or not all(words):
            raise InputError("a line is a source and a target word; fix it", path=path, line=number)
        sources.append(words[0])
        targets.append(words[1])
    return sources, targets


def _translations(dataset: Dataset) -> dict[str, set[str]]:
    """Return the translations of each asked word, in the order of the dictionary."""
    translations: dict[str, set[str]] = {}
    for source, target, asked in zip(dataset["source"], dataset["target"], dataset["asked"], strict=True):
        if asked:
            translations.setdefault(source, set()).add(target)
    return translations


def _is_named(path: str | Path, source: str, target: str) -> bool:
    """Whether a file is named as a dictionary from one language to another: ``en-de.txt``, but not ``ten-de.txt``."""
    return re.search(rf"(?<![a-z]){source}-{target}(?![a-z])", Path(path).name) is not None
