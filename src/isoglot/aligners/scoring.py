"""Scores of word links against gold links: precision, recall, F1 and alignment error rate over a corpus.

A sentence without any link still counts in |S|; see :class:`isoglot.results.link_counts.AlignmentScore`.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
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
_WORTH_A_HINT = 10.0
"""By how many points of AER another reading must be better for a hint. A wrong base costs 30 points and more."""
_BASES = {0: [], -1: ["they count from 1 ([[base=1]])"], 1: ["the gold file counts from 1 ([[gold_base=1]])"]}
"""Shift of the word numbers to the mistake that such a shift would repair."""
_SIDES = {False: [], True: ["their sides are exchanged ([[reverse=True]])"]}
"""Whether the sides are exchanged, to the mistake that this would repair."""
_AS_READ = (False, 0)
"""The reading that supposes no mistake: sides not exchanged, no shift."""
_NO_LINKS: Links = frozenset()


@dataclass(frozen=True)
class ScoreReport:
    """The score of a corpus of sentences."""

    total: AlignmentScore
    count: int
    """Number of sentences."""
    sentences: list[tuple[str, AlignmentScore]]
    """Name and score of each sentence; empty unless they were asked for."""
    hint: str | None
    """A likelier reading of the links (``they count from 1``), if one scores far better."""

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
    checked = _checked_reading(links, gold, reading)
    # A loop over models or thresholds scores the same sentences many times. Numbers that the program made itself
    # cannot be misread, so the readings that `score_sentences` also tries are left out.
    if isinstance(links, list | tuple) and isinstance(gold, list | tuple) and sentences is None:
        alignments = [sentence for sentence in links if isinstance(sentence, Alignment)]
        answers = [pair for pair in gold if isinstance(pair, SentencePair) and pair.sure is not None]
        if len(alignments) == len(links) and len(answers) == len(gold):
            return _score_alignments(alignments, answers)
    if sentences is not None:
        # Refused before the work, not after it.
        out = validated(SentenceScores, {"sentences": sentences}).sentences
        refuse_overwriting(out, [file for file in (links, gold) if isinstance(file, str | Path)])
        require_writable(out)
    report = score_sentences(
        _reader(links, "links", name=checked.format, base=checked.base, reverse=checked.reverse),
        _reader(gold, "gold", name=checked.gold_format, base=checked.gold_base, gold=True),
        each=sentences is not None,
    )
    if sentences is not None:
        write_sentences(report, out)
    if report.hint:
        _LOG.warning("%s", report.hint)
    return report.total


def _score_alignments(alignments: Sequence[Alignment], answers: Sequence[SentencePair]) -> AlignmentScore:
    """Score alignments against pairs with gold links, one for each alignment."""
    if len(alignments) != len(answers):
        raise ConfigurationError(
            f"got {len(alignments)} alignments but {len(answers)} gold alignments; keep empty lines for empty "
            "alignments"
        )
    total = AlignmentScore()
    for alignment, answer in zip(alignments, answers, strict=True):
        total += score_pair(alignment.links, answer)
    require_sure(total.sure > 0, "gold")
    return total


class ScoreReading(LinksReading, GoldReading):
    """Format and base of the file of links and of the file of gold links."""


class SentenceScores(Options):
    """The file that the score of each sentence is written to."""

    sentences: OutputFile


def _checked_reading(links: GivenLinks, gold: GivenLinks, values: Mapping[str, Any]) -> ScoreReading:
    """Check the options for reading files, and refuse those of a side that is in memory and not in a file."""
    checked = validated(ScoreReading, values)
    for given, what, options in ((links, "links", LinksReading), (gold, "gold", GoldReading)):
        unused = sorted(set(values) & set(options.model_fields))
        if unused and not isinstance(given, str | Path):
            raise ConfigurationError(
                f"{', '.join(unused)}: how a file of links is read, and {what} are in memory; leave it out"
            )
    return checked


def _reader(given: GivenLinks, what: str, *, gold: bool = False, **reading: Any) -> LinkReader:
    """Return a reader of the links in a file or in memory."""
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
    # The settings of a user's aligner name its class too; a saved model has no settings.
    aligner = load_aligner(**(options.settings or {"model": options.model}))
    # Copies, because an aligner sets the links of the pairs that it is given.
    linked = list(aligner.align(replace(pair) for pair in pairs))
    return score_sentences(
        LinksInMemory(linked, options.model),
        LinksInMemory(pairs, str(gold.gold), gold=True),
        each=options.sentences is not None,
    )


def write_sentences(report: ScoreReport, path: Path) -> None:
    """Write a TSV file with a header and one sentence a line: name, precision, recall, F1, AER (in %), links, sure."""
    lines = ["\t".join(("sentence", *FIGURES))]
    for name, one in report.sentences:
        rates = f"{one.precision:.2f}\t{one.recall:.2f}\t{one.f1:.2f}\t{one.aer:.2f}"
        lines.append(f"{name}\t{rates}\t{one.links}\t{one.sure}")
    write_text(path, "\n".join(lines) + "\n")


def score_sentences(links: LinkReader, gold: LinkReader, *, each: bool = False) -> ScoreReport:
    """Score links sentence by sentence; with ``each`` the report has the score of every sentence.

    A link of a word that the gold sentence does not have stops the run, but only after the last sentence: by then it is
    known whether another reading (words counted from 1, sides exchanged) explains such links, and the message says so.
    """
    # Files of alignv2 and naacl number their sentences themselves, some of them from 0.
    first = gold.first_number if gold.is_link_per_line else 1
    readings, sentences = Readings(), list[tuple[str, AlignmentScore]]()
    link_outside_words = ""
    number = first - 1
    for number, (pair, answer) in enumerate(matched(links, gold), first):
        name = str(number if answer.id is None else answer.id)
        _require_same_words(pair, answer, name, links.path, gold.path)
        if not link_outside_words and answer.has_words:
            source, target = map(len, answer.words)
            link = link_outside(pair.links, source, target)
            if link is not None:
                link_outside_words = (
                    f"sentence {name} has the link {link[0]}-{link[1]}, counted from 0, but {source} and {target} "
                    f"words in {gold.path}"
                )
        scored = readings.add(frozenset(pair.links), answer)
        if each:
            sentences.append((name, scored))
    require_sure(readings.total.sure > 0, gold.path)
    hint = readings.hint()
    if link_outside_words:
        raise InputError(
            f"{link_outside_words}; {hint or 'give the links of its own sentences and words, in its order'}",
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
        # The sides are equally long here, so all words can be compared in one row: source words, then target words.
        words, expected_words = chain(*pair.words), chain(*answer.words)
        for word, expected_word in zip(words, expected_words, strict=True):
            if _folded(word) != _folded(expected_word):
                problem = f"has the word {word!r}, where {gold} has {expected_word!r}"
                break
        else:
            return
    raise InputError(
        f"sentence {name} {problem}; align the gold file's own words, in its order ([[reverse=True]] if the sides are "
        "exchanged), or give both files the same ids",
        path=path,
        line=pair.line,
    )


def _folded(word: str) -> str:
    """Return a word as it is compared: ``ﬁ`` and ``FI`` are both ``fi``."""
    return unicodedata.normalize("NFKC", word).casefold()


def score_pair(links: Links, gold: SentencePair) -> AlignmentScore:
    """Count the links of one sentence that are among the gold links of a pair, the sure and the possible ones."""
    sure = gold.sure or frozenset()
    return AlignmentScore(len(links), len(sure), len(links & sure), len(links & gold.possible))


class Readings:
    """Scores of a corpus under several readings of its links, of which all but one suppose a slip.

    A low score often means that a file was read wrongly, so beside the links as they are these readings are scored:

    1. Base. Word numbers shifted by one, down (a file that counts from 1 was read as counting from 0) or up (the gold
       file was).
    2. Sides. Source and target exchanged, alone or together with a shift of 1.
    3. Sentences. The links are numbered one too high, as after a header line that was read as a sentence: the links of
       sentence 2 belong to gold sentence 1. Or they are numbered one too low: those of 1 belong to gold sentence 2.
    """

    def __init__(self) -> None:
        self.total = AlignmentScore()
        """The score of the links as they are."""
        others = [reading for reading in product(_SIDES, _BASES) if reading != _AS_READ]
        # Rules 1 and 2: score by (exchanged, shift).
        self._others = {reading: AlignmentScore() for reading in others}
        # Rule 3: scores if the links are numbered one too high, or one too low.
        self._one_too_high = AlignmentScore()
        self._one_too_low = AlignmentScore()
        self._last: tuple[Links, SentencePair] | None = None

    def add(self, links: Links, gold: SentencePair) -> AlignmentScore:
        """Add the next sentence, and return its score."""
        scored = score_pair(links, gold)
        self.total += scored
        for exchanged, shift in self._others:
            if exchanged:
                read = frozenset((j + shift, i + shift) for i, j in links)
            else:
                read = frozenset((i + shift, j + shift) for i, j in links)
            self._others[exchanged, shift] += score_pair(read, gold)
        if self._last is None:
            # Numbered one too low: no links belong to the first gold sentence.
            self._one_too_low += score_pair(_NO_LINKS, gold)
        else:
            last_links, last_gold = self._last
            self._one_too_high += score_pair(links, last_gold)
            self._one_too_low += score_pair(last_links, gold)
        self._last = links, gold
        return scored

    def hint(self) -> str | None:
        """Say which reading to try if it scores far better than the links as they are, else None.

        Of readings that score alike the first is named, in the order of the rules.
        """
        errors = {}
        for (exchanged, shift), score in self._others.items():
            mistakes = [*_BASES[shift], *_SIDES[exchanged]]  # one, or both
            errors[" and ".join(mistakes)] = score.aer
        one_too_high = self._one_too_high
        if self._last is not None:
            # Numbered one too high: no links belong to the last gold sentence. Which one is the last is known only now.
            _, last_gold = self._last
            one_too_high += score_pair(_NO_LINKS, last_gold)
        errors["their sentences are numbered one too high"] = one_too_high.aer
        errors["their sentences are numbered one too low"] = self._one_too_low.aer
        reading, best = min(errors.items(), key=lambda item: item[1])
        if best > self.total.aer - _WORTH_A_HINT:
            return None
        rates = f"{best:.2f} instead of {self.total.aer:.2f}"
        return spelled(f"AER would be {rates} if the links are read as if {reading}")
