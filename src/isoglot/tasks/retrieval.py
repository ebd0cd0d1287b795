"""Sentence retrieval: Tatoeba, FLORES, NTREX; for each sentence its translation among all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from datasets import Dataset

from isoglot.errors import ConfigurationError, InputError
from isoglot.modules.neighbours import SIMILARITIES, gold_ranks, unit
from isoglot.schema import BITEXT
from isoglot.tasks.base import Predictions
from isoglot.tasks.files import numbered_lines
from isoglot.tasks.languages import codes
from isoglot.tasks.readers.tables import HubSpec, is_table, read_hub, read_table
from isoglot.tasks.sources import DataSource, split_names
from isoglot.tasks.text_vectors import Pooling, TextEncoder

__all__ = ["RetrievalTask"]

_HUB = HubSpec(
    "google/xtreme",
    "tatoeba.{language3}",
    {"source": "source_sentence", "target": "target_sentence", "source_language": "source_lang",
     "target_language": "target_lang"},
    {"test": "validation", "dev": "validation"},
)  # fmt: skip


@dataclass
class RetrievalTask:
    """Finds translations between a language and the pivot.

    Args:
        data: two files of lines (one with the language's code in its name, one with the pivot's), a folder that has
            them, or a data set of BITEXT rows.
        name: in results.
        pivot: the other language; a language written ``de-fr`` names both.
        layer: of the hidden states; −1 the last; XTREME takes 7 of 12 for base models. ``static``: word embeddings.
        pooling: ``mean`` or ``cls``.
        max_length: tokens of a sentence.

    **Metrics**, language → pivot, and ``reverse_…`` back, with the cosine, and with ``csls_…`` and ``margin_…``:
    ``accuracy`` (the nearest is the translation) and ``mrr`` (mean reciprocal rank), both in per cent.
    """

    data: DataSource
    name: str = "tatoeba"
    pivot: str = "en"
    layer: int | str = -1
    pooling: Pooling = "mean"
    max_length: int = 512
    primary_metric: str = "accuracy"

    def load(self, language: str, split: str) -> Dataset:
        """BITEXT rows, the language first.

        Raises:
            InputError: files of different lengths.
            ConfigurationError: no pair of files.
        """
        own, pivot = language.split("-", 1) if "-" in language else (language, self.pivot)
        specs = [s.partition("=")[2] if s.startswith(f"{split}=") else s for s in self.data.specs]
        if len(specs) == 1:
            if specs[0].partition(":")[0] == "hub":
                place = self.data.find(language, split)[0]
                return read_hub(place, _HUB, BITEXT, language=own, split=split)
            if is_table(specs[0]) and not _is_plain_folder(Path(specs[0])):
                return read_table(specs[0], BITEXT, language=own, split=split, role=f"{self.name} data")
        files = [_named(specs, code, other, split) for code, other in ((own, pivot), (pivot, own))]
        texts = [[line for _, line in numbered_lines(path)] for path in files]
        if len(texts[0]) != len(texts[1]):
            raise InputError(
                f"{len(texts[0])} lines, {files[1]} has {len(texts[1])}; line i must translate line i",
                path=files[0],
            )
        count = len(texts[0])
        columns = {"source": texts[0], "target": texts[1], "source_language": [own] * count,
                   "target_language": [pivot] * count}  # fmt: skip
        return Dataset.from_dict(columns, features=BITEXT)

    def measure(
        self,
        checkpoint: str | Path,
        dataset: Dataset,
        *,
        language: str,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[dict[str, float], Predictions]:
        """Scores, and for each sentence the 0-based line of its nearest neighbour by cosine."""
        del language
        encoder = TextEncoder(checkpoint, layer=self.layer, pooling=self.pooling, max_length=self.max_length)
        sides = [unit(encoder(list(dataset[side]), progress=progress)) for side in ("source", "target")]
        scores: dict[str, float] = {}
        nearest: list[int] = []
        for similarity in SIMILARITIES:
            stem = "" if similarity == "cosine" else f"{similarity}_"
            for way, (queries, keys) in (("", sides), ("reverse_", sides[::-1])):
                ranks, best = gold_ranks(queries, keys, similarity=similarity)
                scores[f"{way}{stem}accuracy"] = 100 * float((ranks == 1).float().mean())
                scores[f"{way}{stem}mrr"] = 100 * float((1 / ranks.double()).mean())
                nearest = nearest or best.tolist()
        return scores, nearest


def _is_plain_folder(path: Path) -> bool:
    marks = ("state.json", "dataset_dict.json", "manifest.json")
    return path.is_dir() and not any((path / mark).exists() for mark in marks)


def _named(specs: list[str], language: str, other: str, split: str) -> Path:
    """The file of lines of one language."""
    if len(specs) == 1 and "{" in specs[0]:
        candidates = [
            Path(specs[0].replace("{language}", c).replace("{language3}", c).replace("{split}", s))
            for c in codes(language)
            for s in split_names(split)
        ]
        candidates = [p for p in candidates if p.is_file()]
    else:
        roots = [Path(s) for s in specs]
        files = [f for r in roots for f in (sorted(r.rglob("*")) if r.is_dir() else [r]) if f.is_file()]
        candidates = _matching(files, language, other, split, explicit=len(specs) > 1)
    if len(candidates) != 1:
        found = ", ".join(p.name for p in candidates[:6]) or "none"
        raise ConfigurationError(
            f"one file of lines in {language!r} beside one in {other!r} is needed, {len(candidates)} found ({found}); "
            "give two files whose names end in the languages' codes: --data FILE.deu --data FILE.eng"
        )
    return candidates[0]


def _matching(files: list[Path], language: str, other: str, split: str, *, explicit: bool) -> list[Path]:
    """Files in a language: those for this very pair (``deu-eng.deu``) before those named by the language alone."""
    tokens = {f: [t for t in re.split(r"[^A-Za-z0-9]+", f.name.lower()) if t] for f in files}
    own, others = set(codes(language)), set(codes(other))

    def last(file: Path, among: set[str]) -> bool:
        known = [t for t in tokens[file] if t in own | others]
        return bool(known) and known[-1] in among

    pair = [f for f in files if last(f, own) and own & set(tokens[f][:-1]) and others & set(tokens[f])]
    alone = [f for f in files if last(f, own) and not others & set(tokens[f])]
    found = pair or alone
    if explicit or len(found) < 2:
        return found
    return [f for f in found if set(split_names(split)) & set(tokens[f])] or found
