"""Scores of word links against gold links: precision, recall, F1 and alignment error rate over a corpus.

A sentence without any link still counts in |S|; see :class:`isoglot.results.link_counts.AlignmentScore`.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from typing import Any

from isoglot.aligners.link_options import GoldReading, LinksReading
from isoglot.aligners.options import FileScoring, Gold, ModelScoring
from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.named_options import spelled
from isoglot.core.options import Options, OutputFile
from isoglot.formats.link_files import LinkReader, LinksInMemory
from isoglot.formats.link_matching import matched
from isoglot.formats.links import Alignment, Link, link_outside
from isoglot.formats.sentence_pair import SentencePair
from isoglot.results.link_counts import AlignmentScore, require_sure
from isoglot.runs.files import refuse_overwriting, require_writable, write_text

Links = frozenset[Link]
GivenLinks = str | Path | Iterable[SentencePair | Alignment | str | Iterable[Link]]
"""A file of links, or the links of each sentence in any form."""
FIGURES = ("precision", "recall", "f1", "aer", "links", "sure")
_LOG = logging.getLogger(__name__)
_DROP = 10.0
"""How far (absolute AER) the other reading must be better to be worth a word: wrong bases cost 0.3 and more."""
_BASES = {0: [], -1: ["they count from 1 ([[base=1]])"], 1: ["the gold file counts from 1 ([[gold_base=1]])"]}
_SIDES = {False: [], True: ["their sides are exchanged ([[reverse=True]])"]}
"""What may be wrong, by how far numbers are shifted and by whether sides are exchanged; as read, nothing."""
_NONE: Links = frozenset()


@dataclass(frozen=True)
class ScoreReport:
    """Scores of a corpus."""

    total: AlignmentScore
    count: int  # sentences
    sentences: list[tuple[str, AlignmentScore]]  # of each one, if asked for
    hint: str | None

    def summary(self) -> dict[str, Any]:
        """The total as plain numbers, rates in %."""
        return {**self.total.to_dict(), "sentences": self.count, "hint": self.hint}


def score(
    links: GivenLinks,
    gold: GivenLinks,
    *,
    sentences: str | Path | None = None,
    **reading: Any,
) -> AlignmentScore:
    """Precision, recall, F1 and alignment error rate of links against gold links.

    Args:
        links: A file of links, or for each sentence a ``SentencePair``, an ``Alignment``, any collection of
            ``(source word, target word)``, or a Pharaoh line.
        gold: A file of gold links, or for each sentence a ``SentencePair`` with gold links, or any of the above, whose
            links are then sure ones; in a Pharaoh line ``3p4`` is a possible link.
        sentences: File to write with the score of each sentence.
        **reading: How files are read, as ``isoglot score`` takes it: ``format``, ``base`` and ``reverse`` of the links,
            ``gold_format`` and ``gold_base`` of the gold links.

    Returns:
        Counts over the corpus, and the rates in % that follow from them.

    Raises:
        ConfigurationError: Different numbers of sentences, or gold links without a sure one.
        InputError: A file or line that cannot be read; other words, or links of words that the gold sentence lacks.

    Example:
        >>> found = score(["0-0 1-1", "0-0"], [{(0, 0), (1, 1)}, SentencePair.of_gold([[0, 1]], [[0, 0]])])
        >>> found
        AlignmentScore(precision=100.00, recall=66.67, f1=80.00, aer=16.67, links=3, sure=3)
    """
    files = _reading_of(links, gold, reading)
    if isinstance(links, list | tuple) and isinstance(gold, list | tuple) and sentences is None:
        alignments = [sentence for sentence in links if isinstance(sentence, Alignment)]
        answers = [pair for pair in gold if isinstance(pair, SentencePair) and pair.sure is not None]
        if len(alignments) == len(links) and len(answers) == len(gold):  # without a look at other readings
            if len(alignments) != len(answers):
                raise ConfigurationError(
                    f"got {len(alignments)} alignments but {len(answers)} gold alignments; keep empty lines for empty "
                    "alignments"
                )
            pairs = zip(alignments, answers, strict=True)
            total = sum((score_pair(found.links, answer) for found, answer in pairs), AlignmentScore())
            require_sure(total.sure > 0, "gold")
            return total
    if sentences is not None:
        place = validated(SentenceScores, {"sentences": sentences}).sentences
        refuse_overwriting(place, [file for file in (links, gold) if isinstance(file, str | Path)])
        require_writable(place)
    report = score_sentences(
        _reader(links, "links", name=files.format, base=files.base, reverse=files.reverse),
        _reader(gold, "gold", name=files.gold_format, base=files.gold_base, gold=True),
        each=sentences is not None,
    )
    if sentences is not None:
        write_sentences(report, place)
    if report.hint:
        _LOG.warning("%s", report.hint)
    return report.total


class ScoreReading(LinksReading, GoldReading):
    """How both files are read."""


class SentenceScores(Options):
    """Where the score of each sentence goes."""

    sentences: OutputFile


def _reading_of(links: GivenLinks, gold: GivenLinks, values: Mapping[str, Any]) -> ScoreReading:
    """How both files are read; links in memory are as they are."""
    files = validated(ScoreReading, values)
    for given, what, model in ((links, "links", LinksReading), (gold, "gold", GoldReading)):
        unused = sorted(set(values) & set(model.model_fields))
        if unused and not isinstance(given, str | Path):
            raise ConfigurationError(
                f"{', '.join(unused)}: how a file of links is read, and {what} are in memory; leave it out"
            )
    return files


def _reader(given: GivenLinks, what: str, *, gold: bool = False, **reading: Any) -> LinkReader:
    """Reads the links of a file or those in memory."""
    if isinstance(given, str | Path):
        return LinkReader(given, gold=gold, **reading)
    return LinksInMemory(given, what, gold=gold)


def score_file(gold: Gold, options: FileScoring) -> ScoreReport:
    """Score a file of links, one sentence at a time."""
    return score_sentences(
        LinkReader(options.links, name=options.format, base=options.base, reverse=options.reverse),
        LinkReader(gold.gold, name=gold.gold_format, base=gold.gold_base, gold=True),
        each=options.sentences is not None,
    )


def score_model(gold: Gold, options: ModelScoring) -> ScoreReport:
    """Score an aligner, which links the words of the gold file."""
    from isoglot.aligners.gold import gold_pairs  # noqa: PLC0415 - `datasets` is slow to import
    from isoglot.aligners.load_aligner import load_aligner  # noqa: PLC0415 - the readers of links do without

    pairs = gold_pairs(gold.gold, limit=None, name=gold.gold_format, base=gold.gold_base)
    aligner = load_aligner(options.model, **options.settings)
    linked = list(aligner.align(replace(pair) for pair in pairs))  # a pair keeps its gold links
    return score_sentences(
        LinksInMemory(linked, options.model),
        LinksInMemory(pairs, str(gold.gold), gold=True),
        each=options.sentences is not None,
    )


def write_sentences(report: ScoreReport, path: Path) -> None:
    """One sentence a line: name, precision, recall, F1, AER (in %), links, sure links; with tabs and a header."""
    lines = ["\t".join(("sentence", *FIGURES))]
    lines += [
        f"{name}\t{s.precision:.2f}\t{s.recall:.2f}\t{s.f1:.2f}\t{s.aer:.2f}\t{s.links}\t{s.sure}"
        for name, s in report.sentences
    ]
    write_text(path, "\n".join(lines) + "\n")


def score_sentences(links: LinkReader, gold: LinkReader, *, each: bool = False) -> ScoreReport:
    """Score links sentence by sentence; ``each``: keep the score of every one."""
    first = gold.first if gold.rows else 1
    readings, sentences, number = Readings(), list[tuple[str, AlignmentScore]](), first - 1
    outside = ""
    for number, (pair, answer) in enumerate(matched(links, gold), first):
        name = str(number if answer.id is None else answer.id)
        _require_same_words(pair, answer, name, links.path, gold.path)
        if not outside and answer.has_words:
            source, target = map(len, answer.words)
            if (link := link_outside(pair.links, source, target)) is not None:
                outside = (
                    f"sentence {name} has the link {link[0]}-{link[1]}, counted from 0, but {source} and {target} "
                    f"words in {gold.path}"
                )
        scored = readings.add(frozenset(pair.links), answer)
        if each:
            sentences.append((name, scored))
    require_sure(readings.total.sure > 0, gold.path)
    hint = readings.hint()
    if outside:
        raise InputError(
            f"{outside}; {hint or 'give the links of its own sentences and words, in its order'}",
            path=links.path,
        )
    return ScoreReport(readings.total, number - first + 1, sentences, hint)


def _require_same_words(
    pair: SentencePair, answer: SentencePair, name: str, path: str | Path, gold: str | Path
) -> None:
    """Refuse links of other words than the gold ones; case and Unicode's normal forms make no difference."""
    if not (pair.has_words and answer.has_words) or pair.words == answer.words:
        return
    counts, expected = ([len(side) for side in both.words] for both in (pair, answer))
    if counts != expected:
        problem = f"has {counts[0]} and {counts[1]} words, but {expected[0]} and {expected[1]} in {gold}"
    else:
        sides = zip(pair.words, answer.words, strict=True)
        words = chain.from_iterable(zip(*side, strict=True) for side in sides)
        differing = next((both for both in words if _folded(both[0]) != _folded(both[1])), None)
        if differing is None:
            return
        problem = f"has the word {differing[0]!r}, where {gold} has {differing[1]!r}"
    raise InputError(
        f"sentence {name} {problem}; align the gold file's own words, in its order ([[reverse=True]] if the sides are "
        "exchanged), or give both files the same ids",
        path=path,
        line=pair.line,
    )


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def score_pair(links: Links, gold: SentencePair) -> AlignmentScore:
    """Score one sentence's links against the gold links of a pair."""
    sure = gold.sure or frozenset()
    return AlignmentScore(len(links), len(sure), len(links & sure), len(links & gold.possible))


class Readings:
    """Sums over sentences, added one at a time, of the score of their links as they are and as they may be meant.

    Tried are links shifted by one both ways (a 0-based file read as 1-based, or the reverse), the two sides exchanged,
    and both; and sentences shifted by one.
    """

    def __init__(self) -> None:
        self.total = AlignmentScore()
        """The score of the links as they are."""
        self._variants = dict.fromkeys(list(product(_SIDES, _BASES))[1:], AlignmentScore())
        self._early = self._late = AlignmentScore()
        self._last: tuple[Links, SentencePair] | None = None

    def add(self, links: Links, gold: SentencePair) -> AlignmentScore:
        """Add the next sentence; its own score."""
        scored = score_pair(links, gold)
        self.total += scored
        for turned, shift in self._variants:
            read = frozenset((j + shift, i + shift) if turned else (i + shift, j + shift) for i, j in links)
            self._variants[turned, shift] += score_pair(read, gold)
        if self._last is not None:
            self._early += score_pair(links, self._last[1])
        self._late += score_pair(_NONE if self._last is None else self._last[0], gold)
        self._last = links, gold
        return scored

    def hint(self) -> str | None:
        """What to try where another reading of the links scores far better, else None."""
        last = AlignmentScore() if self._last is None else score_pair(_NONE, self._last[1])
        errors = {" and ".join(_BASES[s] + _SIDES[t]): total.aer for (t, s), total in self._variants.items()}
        errors["their sentences are numbered one too high"] = (self._early + last).aer
        errors["their sentences are numbered one too low"] = self._late.aer
        reading, best = min(errors.items(), key=lambda item: item[1])
        if best > self.total.aer - _DROP:
            return None
        rates = f"{best:.2f} instead of {self.total.aer:.2f}"
        return spelled(f"AER would be {rates} if the links are read as if {reading}")
