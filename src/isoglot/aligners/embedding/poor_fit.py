"""Text that suits an encoder badly: languages that it was not taught, and far fewer links than where it was tuned."""

import logging
from collections.abc import Iterator

from isoglot.aligners.embedding.choice import kept_density
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.taught import untaught
from isoglot.core.named_options import spelled
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED

_FEW, _ENOUGH_WORDS = 0.6, 400
"""A share of the usual links per word that is few, and how many words of both sides are enough to judge."""
_LOGGER = logging.getLogger(__name__)
_UNTAUGHT = (
    "%s %s; its links may be worse than usual: compare those of [[method='hmm']], which learns from pairs"
)
_FEW_LINKS = (
    "%.2f links per word, and %s had %.2f on the development set with the fewest: many links are likely missing; tune "
    "it on links of these languages, or lower [[min_probability]]"
)


def report_poor_fit(
    pairs: Iterator[SentencePair], model: str, options: EmbeddingOptions
) -> Iterator[SentencePair]:
    """Pass pairs with links on, and warn of each language that the encoder was not taught, and at the end of few links.

    Few links are those below 60% of the links per word on the development set on which the encoder had the fewest.
    """
    usual, links, words = kept_density(model, options), 0, 0
    seen = {"", *UNNAMED}
    for pair in pairs:
        for language in set(pair.languages) - seen:
            seen.add(language)
            if (note := untaught(model, language)) is not None:
                _LOGGER.warning(spelled(_UNTAUGHT), model, note)
        links += len(pair.links)
        words += sum(map(len, pair.words))
        yield pair
    if usual is not None and words >= _ENOUGH_WORDS and 2 * links < _FEW * usual * words:
        _LOGGER.warning(
            spelled(_FEW_LINKS),
            2 * links / words,
            model,
            usual,
        )
