"""Words without a link of their own that go with a neighbour, as some annotators want it."""

from isoglot.aligners.alignment import PairLinks, WordPair
from isoglot.aligners.embedding.options import Attach


def attach(found: PairLinks, pair: WordPair, how: Attach) -> PairLinks:
    """Give words without a link those of a longer neighbour: an article or a preposition has its noun's.

    For English *teams* and Spanish *los equipos* an aligner links the nouns, and annotators differ on *los*. That a
    word is shorter than its neighbour stands for a function word beside its head, and needs no list of words.
    Punctuation stays without links. A link that is taken over has the probability of the neighbour's; the pair's
    score remains that of the links that were found.

    Example:
        >>> attach(PairLinks([(0, 1)], [0.9], 0.6), (["teams"], ["los", "equipos"]), "target_next").links
        [(0, 0), (0, 1)]
    """
    side, step = int(how.startswith("target")), 1 if how.endswith("next") else -1
    words = pair[side]
    own = {link[side] for link in found.links}
    more = []
    for link, probability in zip(found.links, found.probabilities, strict=True):
        place = link[side] - step
        if 0 <= place < len(words) and place not in own and _shorter(words[place], words[link[side]]):
            more.append(((link[0], place) if side else (place, link[1]), probability))
    every = sorted([*zip(found.links, found.probabilities, strict=True), *more])
    return PairLinks([link for link, _ in every], [value for _, value in every], found.score)


def _shorter(word: str, neighbour: str) -> bool:
    return word[:1].isalnum() and len(word) < len(neighbour)
