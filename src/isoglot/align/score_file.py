"""``isoglot score``: links against gold links, and an encoder's layers against them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from isoglot.align.alignment import Alignment
from isoglot.align.embedding.options import MEASURED
from isoglot.align.files.formats import LinkFile, read_links
from isoglot.align.options import FileScoring, Gold, LayerScoring
from isoglot.align.scoring import AlignmentScore, GoldAlignment, require_sure, score
from isoglot.errors import ConfigurationError, InputError
from isoglot.runs.files import write_text

_FIGURES = ("precision", "recall", "f1", "aer", "links", "sure")
_DROP = 0.10
"""How far (absolute AER) the other reading must be better to be worth a word: wrong bases cost 0.3 and more."""


@dataclass(frozen=True)
class ScoreReport:
    """Scores of a corpus."""

    total: AlignmentScore
    sentences: list[tuple[str, AlignmentScore]]
    hint: str | None

    def summary(self) -> dict[str, Any]:
        """The total as plain numbers, rates from 0 to 1."""
        figures = {name: getattr(self.total, name) for name in _FIGURES}
        return {**figures, "sentences": len(self.sentences), "hint": self.hint}


def score_file(gold: Gold, given: FileScoring) -> ScoreReport:
    """Score a file of links."""
    reference = read_links(gold.gold, name=gold.gold_format, base=gold.gold_base)
    require_sure(reference.gold, gold.gold)
    read = read_links(
        given.links, name=given.format, base=given.base, reverse=given.reverse,
        sentences=len(reference.gold), like=reference,
    )  # fmt: skip
    reference = reference.up_to(len(read.gold))
    if len(read.gold) != len(reference.gold):
        raise InputError(
            f"{len(read.gold)} sentences, {gold.gold} has {len(reference.gold)}; one without links is an empty line",
            path=given.links,
        )
    found = [Alignment(g.possible) for g in read.gold]
    hint = diagnose(found, reference.gold)
    _require_same_words(read, reference, given.links, gold.gold, hint)
    names = reference.ids or [str(n) for n in range(1, len(found) + 1)]
    each = [
        (label, score([own], [right])) for label, own, right in zip(names, found, reference.gold, strict=True)
    ]
    return ScoreReport(score(found, reference.gold), each, hint)


def _require_same_words(read: LinkFile, reference: LinkFile, path: str, gold: Path, hint: str | None) -> None:
    """Refuse links of sentences that are cut into other words than the gold ones, or stand in another order."""
    for number, (found, words) in enumerate(zip(read.gold, reference.words or (), strict=False), 1):
        source, target = map(len, words)
        if outside := [f"{i}-{j}" for i, j in sorted(found.possible) if i >= source or j >= target]:
            raise InputError(
                f"sentence {number} has the link {outside[0]}, counted from 0, but {source} and {target} words in "
                f"{gold}; {hint or 'give the links of its own sentences and words, in its order'}",
                path=path,
            )
    for number, (own, right) in enumerate(zip(read.words or (), reference.words or (), strict=False), 1):
        counts, wanted = ([len(side) for side in pair] for pair in (own, right))
        if counts != wanted:
            raise InputError(
                f"sentence {number} has {counts[0]} and {counts[1]} words, but {wanted[0]} and {wanted[1]} in {gold}; "
                "align the gold file's own words, in its order (--reverse if the sides are exchanged)",
                path=path,
            )


def diagnose(alignments: Sequence[Alignment], gold: Sequence[GoldAlignment]) -> str | None:
    """A hint where another reading of the links scores far better, else None.

    Tried are links shifted by one both ways (a 0-based file read as 1-based, or the reverse), the two sides
    exchanged, and both; and sentences shifted by one.
    """
    bases = {-1: ["they count from 1 (--base 1)"], 0: [], 1: ["the gold file counts from 1 (--gold-base 1)"]}
    sides = {False: [], True: ["their sides are exchanged (--reverse)"]}
    errors = {}
    for exchanged, shift in product(sides, bases):
        turned = [a.transpose() for a in alignments] if exchanged else alignments
        read = [Alignment(frozenset((i + shift, j + shift) for i, j in a.links)) for a in turned]
        errors[" and ".join(bases[shift] + sides[exchanged])] = score(read, gold).aer
    given, none = errors.pop(""), Alignment(frozenset())
    errors["their sentences are numbered one too high"] = score([*alignments[1:], none], gold).aer
    errors["their sentences are numbered one too low"] = score([none, *alignments[:-1]], gold).aer
    reading, best = min(errors.items(), key=lambda item: item[1])
    if best > given - _DROP:
        return None
    return f"AER would be {100 * best:.2f} instead of {100 * given:.2f} if the links are read as if {reading}"


def write_sentences(report: ScoreReport, path: Path) -> None:
    """One sentence a line: name, precision, recall, F1, AER, links, sure links; tab-separated, with a header."""
    lines = ["\t".join(("sentence", *_FIGURES))]
    lines += [
        f"{name}\t{s.precision:.4f}\t{s.recall:.4f}\t{s.f1:.4f}\t{s.aer:.4f}\t{s.links}\t{s.sure}"
        for name, s in report.sentences
    ]
    write_text(path, "\n".join(lines) + "\n")


def score_layers(gold: Gold, wanted: LayerScoring) -> list[tuple[int, AlignmentScore]]:
    """AER of an encoder's layers on gold data that holds the words (XLM-Align, Fig. 2)."""
    from isoglot.align.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch
    from isoglot.align.embedding.layer_error import layer_error  # noqa: PLC0415
    from isoglot.align.files.gold import gold_pairs  # noqa: PLC0415

    pairs = gold_pairs(gold.gold, limit=None, name=gold.gold_format, base=gold.gold_base)
    unset = {name: value for name, value in MEASURED.items() if name not in wanted.options.model_fields_set}
    aligner = EmbeddingAligner(wanted.model, options=wanted.options.model_copy(update={"layer": 0, **unset}))
    found = layer_error(aligner, pairs, layers=layer_numbers(wanted.layers))
    return list(found.items())


def layer_numbers(text: str) -> list[int] | None:
    """Layers as the command line gives them: ``None`` for ``all``."""
    try:
        return None if text == "all" else [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigurationError(f"--layers {text!r} given; it is `all` or numbers such as 4,8,12") from None
