"""The score of links, and whether another reading of their file would be better."""

from itertools import product

from isoglot.aligners.scoring import Links, score_pair
from isoglot.corpus.sentence_pair import SentencePair
from isoglot.link_counts import AlignmentScore

_DROP = 0.10
"""How far (absolute AER) the other reading must be better to be worth a word: wrong bases cost 0.3 and more."""
_BASES = {0: [], -1: ["they count from 1 (--base 1)"], 1: ["the gold file counts from 1 (--gold-base 1)"]}
_SIDES = {False: [], True: ["their sides are exchanged (--reverse)"]}
"""What may be wrong, by how far numbers are shifted and by whether sides are exchanged; as read, nothing."""
_NONE: Links = frozenset()


class Readings:
    """Sums over sentences, added one at a time, of the score of their links as they are and as they may be meant.

    Tried are links shifted by one both ways (a 0-based file read as 1-based, or the reverse), the two sides exchanged,
    and both; and sentences shifted by one.
    """

    def __init__(self) -> None:
        self.total = AlignmentScore()
        """The score of the links as they are."""
        self._others = dict.fromkeys(list(product(_SIDES, _BASES))[1:], AlignmentScore())
        self._early = self._late = AlignmentScore()
        self._last: tuple[Links, SentencePair] | None = None

    def add(self, links: Links, gold: SentencePair) -> AlignmentScore:
        """Add the next sentence; its own score."""
        own = score_pair(links, gold)
        self.total += own
        for turned, shift in self._others:
            read = frozenset((j + shift, i + shift) if turned else (i + shift, j + shift) for i, j in links)
            self._others[turned, shift] += score_pair(read, gold)
        if self._last is not None:
            self._early += score_pair(links, self._last[1])
        self._late += score_pair(_NONE if self._last is None else self._last[0], gold)
        self._last = links, gold
        return own

    def hint(self) -> str | None:
        """What to try where another reading of the links scores far better, else None."""
        last = AlignmentScore() if self._last is None else score_pair(_NONE, self._last[1])
        errors = {" and ".join(_BASES[s] + _SIDES[t]): total.aer for (t, s), total in self._others.items()}
        errors["their sentences are numbered one too high"] = (self._early + last).aer
        errors["their sentences are numbered one too low"] = self._late.aer
        reading, best = min(errors.items(), key=lambda item: item[1])
        if best > self.total.aer - _DROP:
            return None
        given = f"AER would be {100 * best:.2f} instead of {100 * self.total.aer:.2f}"
        return f"{given} if the links are read as if {reading}"
