"""``isoglot score``: links against gold links, and an encoder's layers against them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoglot.align.alignment import Alignment
from isoglot.align.diagnosis import diagnose
from isoglot.align.files.formats import read_links
from isoglot.align.scoring import AlignmentScore, score
from isoglot.errors import ConfigurationError, InputError
from isoglot.runs.files import write_text

__all__ = ["ScoreReport", "score_file", "score_layers", "write_sentences"]


@dataclass(frozen=True)
class ScoreReport:
    """Scores of a corpus.

    Args:
        total: over all sentences together.
        sentences: of each alone, with its name.
        hint: what may be wrong with how the files were read, or None.
    """

    total: AlignmentScore
    sentences: list[tuple[str, AlignmentScore]]
    hint: str | None

    def summary(self) -> dict[str, Any]:
        """The total as plain numbers, rates from 0 to 1."""
        total = self.total
        return {
            "precision": total.precision,
            "recall": total.recall,
            "f1": total.f1,
            "aer": total.aer,
            "links": total.links,
            "sure": total.sure,
            "sentences": len(self.sentences),
            "hint": self.hint,
        }


def score_file(
    links: str | Path,
    gold: str | Path,
    *,
    name: str | None = None,
    base: int | None = None,
    reverse: bool = False,
    gold_name: str | None = None,
    gold_base: int | None = None,
) -> ScoreReport:
    """Score a file of links.

    Args:
        links: any format of :mod:`isoglot.align.files.formats`; all links count, sure or not.
        gold: gold links.
        name: format of the links; told from the file by default.
        base: what their words are counted from.
        reverse: they have the target side first.
        gold_name: format of the gold links.
        gold_base: what their words are counted from.

    Raises:
        InputError: a line that cannot be read, or different numbers of sentences.
    """
    reference = read_links(gold, name=gold_name, base=gold_base)
    given = read_links(
        links, name=name, base=base, reverse=reverse, sentences=len(reference.gold), like=reference
    )
    reference = reference.up_to(len(given.gold))
    if len(given.gold) != len(reference.gold):
        raise InputError(
            f"{len(given.gold)} sentences given, but {gold} has {len(reference.gold)}; "
            "write an empty line for a sentence without links",
            path=links,
        )
    found = [Alignment(g.possible) for g in given.gold]
    names = reference.ids or [str(n) for n in range(1, len(found) + 1)]
    each = [
        (label, score([own], [right])) for label, own, right in zip(names, found, reference.gold, strict=True)
    ]
    return ScoreReport(score(found, reference.gold), each, diagnose(found, reference.gold))


def write_sentences(report: ScoreReport, path: Path) -> None:
    """One sentence a line: name, precision, recall, F1, AER, links, sure links; tab-separated, with a header."""
    lines = ["sentence\tprecision\trecall\tf1\taer\tlinks\tsure"]
    lines += [
        f"{name}\t{s.precision:.4f}\t{s.recall:.4f}\t{s.f1:.4f}\t{s.aer:.4f}\t{s.links}\t{s.sure}"
        for name, s in report.sentences
    ]
    write_text(path, "\n".join(lines) + "\n")


def score_layers(
    gold: Path,
    *,
    model: str | None,
    layers: str,
    method: str = "itermax",
    gold_format: str | None = None,
    gold_base: int | None = None,
    options: dict[str, Any] | None = None,
) -> list[tuple[int, AlignmentScore]]:
    """AER of an encoder's layers on gold data that holds the words (XLM-Align, Fig. 2).

    Args:
        gold: JSON lines with ``src``, ``tgt``, ``sure``, ``possible``.
        model: the encoder.
        layers: ``all`` or numbers, ``4,8,12``.
        method: how links are chosen.
        gold_format: format of the gold file.
        gold_base: what its words are counted from.
        options: of the aligner, by name.

    Returns:
        Layer and score, in the order asked for.

    Raises:
        ConfigurationError: no model, no words in the gold file, or no such layer.
    """
    from isoglot.align.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch
    from isoglot.align.embedding.layer_error import GoldPairs, layer_error  # noqa: PLC0415
    from isoglot.align.embedding.options import EmbeddingOptions  # noqa: PLC0415

    if model is None:
        raise ConfigurationError("--layers scores an encoder: give --model FOLDER or a hub name")
    reference = read_links(gold, name=gold_format, base=gold_base)
    if reference.words is None:
        raise ConfigurationError(
            f"{gold}: --layers needs the words of the gold sentences; use JSON lines with src and tgt"
        )
    if "layer" in (options or {}):
        raise ConfigurationError("--set layer: --layers says which layers are scored; leave it out")
    chosen = EmbeddingOptions.build(method=method, **{"layer": 0, **(options or {})})
    if unused := chosen.unused():
        raise ConfigurationError([f"--set {line}" for line in unused])
    aligner = EmbeddingAligner(model, options=chosen)
    wanted = None if layers == "all" else _numbers(layers)
    found = layer_error(aligner, GoldPairs(reference.words, reference.gold), layers=wanted)
    return list(found.items())


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigurationError(f"--layers {text!r} given; it is `all` or numbers such as 4,8,12") from None
