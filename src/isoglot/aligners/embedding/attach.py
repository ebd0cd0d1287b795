"""Links of words that an aligner leaves without any, such as articles: taken over from a neighbour."""

from __future__ import annotations

from collections.abc import Sequence

from isoglot.aligners.embedding.options import Attach
from isoglot.aligners.embedding.piece_states import Pieces
from isoglot.formats.sentence_pair import SentencePair, WordPair


def attach(pair: SentencePair, how: Attach, *, words: WordPair | None = None) -> SentencePair:
    """Give words without a link those of a longer neighbour: an article or a preposition gets its noun's.

    For English *teams* and Spanish *los equipos* an aligner links the nouns, and annotators differ on *los*. A word
    that is shorter than its neighbour is taken for a function word beside its head, so no list of words is needed.

    1. ``target_next`` looks at each target word without a link and the word behind it, ``target_previous`` at the word
       before it; ``source_next`` and ``source_previous`` do so on the source side.
    2. The word takes over the links of this neighbour if it is shorter than the neighbour and no punctuation mark.
    3. A link that is taken over has the probability of the neighbour's link; it is not passed on to a further word. The
       score of the pair remains that of the links that were found.

    ``words``: The words of the pair, an empty one in place of each word that must stay without a link.

    Example:
        >>> pair = SentencePair.of(["teams"], ["los", "equipos"], links=[(0, 1)], probabilities=[0.9])
        >>> attach(pair, "target_next").links
        [(0, 0), (0, 1)]
    """
    side = 1 if how.startswith("target") else 0
    to_neighbour = 1 if how.endswith("next") else -1
    candidates = (words or pair.words)[side]
    linked = {link[side] for link in pair.links}
    taken_over = []
    # Each link is offered to the one word whose neighbour has it: with `next` the word before, else the word behind.
    for link, probability in zip(pair.links, pair.probabilities, strict=True):
        neighbour = link[side]
        unlinked = neighbour - to_neighbour
        if not 0 <= unlinked < len(candidates) or unlinked in linked:
            continue
        # A punctuation mark gets no link, nor does an empty word, which stands for one that must stay without.
        if not candidates[unlinked][:1].isalnum():
            continue
        if len(candidates[unlinked]) < len(candidates[neighbour]):
            new_link = (link[0], unlinked) if side == 1 else (unlinked, link[1])
            taken_over.append((new_link, probability))
    all_links = sorted([*zip(pair.links, pair.probabilities, strict=True), *taken_over])
    pair.links = [link for link, _ in all_links]
    pair.probabilities = [probability for _, probability in all_links]
    return pair


def known_words(words: Sequence[str], cut: Pieces) -> list[str]:
    """Return words with an empty one in place of each word of which no piece is known."""
    return [word if number in cut.words else "" for number, word in enumerate(words)]
