"""Warn of text that suits an encoder badly: it was not taught the language, or finds far fewer links than usual."""

import logging
from collections.abc import Iterator

from isoglot.aligners.embedding.choice import kept_density
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.taught import untaught
from isoglot.core.named_options import spelled
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED

_FEW = 0.6
"""Links per word are few below this share of the usual number."""
_ENOUGH_WORDS = 400
"""Words of both sides from which the number of links is judged."""
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
    """Pass linked pairs on; warn of languages that the encoder was not taught, and after the last pair of few links.

    The usual number of links per word is that of tuning, on the development set where it was lowest. A link has two
    words, so links per word are ``2 · links / words of both sides``: 8 links in a pair of 10 and 10 words are 0.8.
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
