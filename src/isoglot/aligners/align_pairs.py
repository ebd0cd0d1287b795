"""Sentence pairs in, the same pairs with word links out, by any aligner, in bounded memory."""

import logging
from collections.abc import Iterator

from isoglot.aligners.embedding.choice import kept_density
from isoglot.aligners.embedding.taught import untaught
from isoglot.aligners.options import AnyAligner, Encoder
from isoglot.aligners.pairs_in_files import ReadPairs, Warnings
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED
from isoglot.formats.words import WordMode
from isoglot.modules.allocator import keep_few_primitives

_FEW, _ENOUGH_WORDS = 0.6, 400
"""A share of the usual links per word that is few, and how many words of both sides are enough to judge."""
_LOGGER = logging.getLogger(__name__)
_UNTAUGHT = "%s %s; its links may be worse than usual: compare those of --method hmm, which learns from pairs"


def align_pairs(
    pairs: ReadPairs,
    aligner: AnyAligner,
    *,
    more: ReadPairs,
    words: WordMode | None = None,
    shown: bool = True,
    overwrite: bool = False,
) -> Iterator[SentencePair]:
    """Link the words of pairs, in their order.

    An encoder reads some hundred pairs ahead; a statistical aligner that learns reads all of them twice, and holds
    their words as numbers.

    Args:
        pairs: Reads the pairs.
        aligner: Which aligner, and how.
        more: Reads the pairs of ``train_on``, to learn from alone.
        words: How text is cut; by default as a saved model says, else at spaces and tabs.
        shown: The words of the pairs are needed beside the links.
        overwrite: Replace a model that was saved from another text or with other options.
    """
    warn = Warnings()
    if not isinstance(aligner, Encoder):
        from isoglot.aligners.align_statistics import by_statistics  # noqa: PLC0415 - loads numba

        return by_statistics(pairs, aligner, warn, more=more, words=words, shown=shown, overwrite=overwrite)
    keep_few_primitives()
    from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch
    from isoglot.aligners.embedding.running_text import align_running  # noqa: PLC0415

    mode = words or "whitespace"
    encoder = EmbeddingAligner(aligner.model, options=aligner.options, warn=warn)
    return judged(align_running(encoder, pairs(mode, warn), mode=mode), aligner)


def judged(pairs: Iterator[SentencePair], encoder: Encoder) -> Iterator[SentencePair]:
    """Warn of languages that the encoder was not taught, and at the end of far fewer links than where it was tuned."""
    usual, links, words = kept_density(encoder.model, encoder.options), 0, 0
    seen = {"", *UNNAMED}
    for pair in pairs:
        for language in set(pair.languages) - seen:
            seen.add(language)
            if (note := untaught(encoder.model, language)) is not None:
                _LOGGER.warning(_UNTAUGHT, encoder.model, note)
        links += len(pair.links)
        words += sum(map(len, pair.words))
        yield pair
    if usual is not None and words >= _ENOUGH_WORDS and 2 * links < _FEW * usual * words:
        _LOGGER.warning(
            "%.2f links per word, and %s had %.2f on the development set with the fewest: many links are likely "
            "missing; tune it on links of these languages, or lower --min-probability",
            2 * links / words, encoder.model, usual,
        )  # fmt: skip
