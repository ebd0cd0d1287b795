"""``isoglot score``: links against gold links, and an encoder's layers against them."""

import logging
import unicodedata
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from isoglot.aligners.embedding.options import MEASURED
from isoglot.aligners.files.formats import LinkReader, LinksInMemory
from isoglot.aligners.files.matching import matched
from isoglot.aligners.options import FileScoring, Gold, LayerScoring
from isoglot.aligners.readings import Readings
from isoglot.aligners.scoring import GivenLinks, require_sure
from isoglot.corpus.links import link_outside
from isoglot.corpus.sentence_pair import SentencePair
from isoglot.errors import ConfigurationError, InputError
from isoglot.link_counts import AlignmentScore
from isoglot.runs.files import write_text

_LOG = logging.getLogger(__name__)
_FIGURES = ("precision", "recall", "f1", "aer", "links", "sure")


@dataclass(frozen=True)
class ScoreReport:
    """Scores of a corpus."""

    total: AlignmentScore
    count: int  # sentences
    sentences: list[tuple[str, AlignmentScore]]  # of each one, if asked for
    hint: str | None

    def summary(self) -> dict[str, Any]:
        """The total as plain numbers, rates from 0 to 1."""
        figures = {name: getattr(self.total, name) for name in _FIGURES}
        return {**figures, "sentences": self.count, "hint": self.hint}


def score_file(gold: Gold, given: FileScoring) -> ScoreReport:
    """Score a file of links, one sentence at a time."""
    right = LinkReader(gold.gold, name=gold.gold_format, base=gold.gold_base, gold=True)
    links = LinkReader(given.links, name=given.format, base=given.base, reverse=given.reverse)
    return _scored(links, right, each=given.sentences is not None)


def score_given(links: GivenLinks, gold: GivenLinks) -> AlignmentScore:
    """:func:`isoglot.aligners.scoring.score` of what is in a file, or in other forms than its own."""
    predicted = LinkReader(links) if isinstance(links, str | Path) else LinksInMemory(links, "links")
    right = (
        LinkReader(gold, gold=True)
        if isinstance(gold, str | Path)
        else LinksInMemory(gold, "gold", gold=True)
    )
    report = _scored(predicted, right, each=False)
    if report.hint:
        _LOG.warning("%s", report.hint)
    return report.total


def _scored(found: LinkReader, right: LinkReader, *, each: bool) -> ScoreReport:
    first = right.first if right.rows else 1
    readings, sentences, number = Readings(), list[tuple[str, AlignmentScore]](), first - 1
    outside = ""
    for number, (own, reference) in enumerate(matched(found, right), first):
        name = reference.id or str(number)
        _require_same_words(own, reference, name, found.path, right.path)
        outside = outside or _link_outside(own, reference, name, right.path)
        scored = readings.add(frozenset(own.links), reference)
        if each:
            sentences.append((name, scored))
    require_sure(readings.total.sure > 0, right.path)
    hint = readings.hint()
    if outside:
        raise InputError(
            f"{outside}; {hint or 'give the links of its own sentences and words, in its order'}",
            path=found.path,
        )
    return ScoreReport(readings.total, number - first + 1, sentences, hint)


def _link_outside(own: SentencePair, reference: SentencePair, name: str, gold: str | Path) -> str:
    """What is wrong with a link of words that the gold sentence does not have, if there is one."""
    if not reference.has_words:
        return ""
    source, target = map(len, reference.words)
    outside = link_outside(own.links, source, target)
    if outside is None:
        return ""
    i, j = outside
    return f"sentence {name} has the link {i}-{j}, counted from 0, but {source} and {target} words in {gold}"


def _require_same_words(
    own: SentencePair, reference: SentencePair, name: str, path: str | Path, gold: str | Path
) -> None:
    """Refuse links of other words than the gold ones; case and Unicode's normal forms make no difference."""
    if not (own.has_words and reference.has_words) or own.words == reference.words:
        return
    counts, wanted = ([len(side) for side in pair] for pair in (own.words, reference.words))
    if counts != wanted:
        problem = f"has {counts[0]} and {counts[1]} words, but {wanted[0]} and {wanted[1]} in {gold}"
    else:
        pairs = chain.from_iterable(
            zip(*sides, strict=True) for sides in zip(own.words, reference.words, strict=True)
        )
        differing = next((pair for pair in pairs if _folded(pair[0]) != _folded(pair[1])), None)
        if differing is None:
            return
        problem = f"has the word {differing[0]!r}, where {gold} has {differing[1]!r}"
    raise InputError(
        f"sentence {name} {problem}; align the gold file's own words, in its order (--reverse if the sides are "
        "exchanged), or give both files the same ids",
        path=path,
        line=own.line,
    )


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


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
    from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch
    from isoglot.aligners.embedding.layer_error import layer_error  # noqa: PLC0415
    from isoglot.aligners.files.gold import gold_pairs  # noqa: PLC0415

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
        raise ConfigurationError(f"--layers must be `all` or numbers such as 4,8,12, got {text!r}") from None
