"""Words without a link of their own that go with a neighbour, as some annotators want it."""

from isoglot.aligners.embedding.options import Attach
from isoglot.corpus.sentence_pair import SentencePair, WordPair


def attach(pair: SentencePair, how: Attach, *, words: WordPair | None = None) -> SentencePair:
    """Give words without a link those of a longer neighbour: an article or a preposition has its noun's.

    For English *teams* and Spanish *los equipos* an aligner links the nouns, and annotators differ on *los*. That a
    word is shorter than its neighbour stands for a function word beside its head, and needs no list of words.
    Punctuation stays without links. A link that is taken over has the probability of the neighbour's; the pair's
    score remains that of the links that were found. ``words``: Those of the pair, or an empty one for each that gets no
    link.

    Example:
        >>> pair = SentencePair.of(["teams"], ["los", "equipos"], links=[(0, 1)], probabilities=[0.9])
        >>> attach(pair, "target_next").links
        [(0, 0), (0, 1)]
    """
    side, step = int(how.startswith("target")), 1 if how.endswith("next") else -1
    candidates = (words or pair.words)[side]
    linked = {link[side] for link in pair.links}
    more = []
    for link, probability in zip(pair.links, pair.probabilities, strict=True):
        number = link[side] - step
        free = 0 <= number < len(candidates) and number not in linked
        if free and _shorter(candidates[number], candidates[link[side]]):
            more.append(((link[0], number) if side else (number, link[1]), probability))
    every = sorted([*zip(pair.links, pair.probabilities, strict=True), *more])
    pair.links, pair.probabilities = [link for link, _ in every], [value for _, value in every]
    return pair


def _shorter(word: str, neighbour: str) -> bool:
    return word[:1].isalnum() and len(word) < len(neighbour)
