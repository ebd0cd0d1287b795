"""Turn links between words into links between pieces, for many sentence pairs at once.

Links are whole numbers of **shape** (links, 3): the sentence of each link, its source and its target word (or piece),
counted from 0.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Subword = Literal["all", "first", "last", "monotone"]
"""Which pieces of two linked words are linked: see :func:`project_links`."""

_Int = NDArray[np.int64]


class WordPieces(NamedTuple):
    """An index from the words of a batch to their pieces.

    The sentences "a cat" and "a" are cut into ``▁a ▁c at`` and ``▁a``. Then ``pieces`` is 0 1 2 0. Their three words
    have the ``starts`` 0 1 3 and the ``counts`` 1 2 1; ``first_words`` is 0 2 3.
    """

    pieces: _Int  # piece numbers in their sentence, sorted by sentence, word and place
    starts: _Int  # for each word of the batch, the place of its first piece in ``pieces``
    counts: _Int  # for each word of the batch, the number of its pieces (0: it tokenised to nothing)
    # For each sentence, the number of its first word in the batch; then the number of all words.
    first_words: _Int

    def counts_of(self, sentence: _Int, word: _Int) -> _Int:
        """The number of pieces of each word, which is given by its sentence and its number there."""
        counts: _Int = self.counts[self.first_words[sentence] + word]
        return counts


def index_words(word_ids: NDArray[np.integer], lengths: _Int, word_counts: _Int) -> WordPieces:
    """Index the pieces of a batch by word; ``word_ids``: The word of each piece in its sentence, or −1.

    **Shape**: word_ids (pieces,); lengths and word_counts (sentences,).
    """
    first_words = np.concatenate([[0], np.cumsum(word_counts)]).astype(np.int64)
    first_pieces = np.cumsum(lengths) - lengths
    place_in_sentence = np.arange(len(word_ids), dtype=np.int64) - np.repeat(first_pieces, lengths)
    word = np.repeat(first_words[:-1], lengths) + word_ids  # numbered through the batch
    has_word = word_ids >= 0
    word, place_in_sentence = word[has_word], place_in_sentence[has_word]
    order = np.argsort(word, kind="stable")  # pieces of a word stay in their order
    counts = np.bincount(word, minlength=int(first_words[-1])).astype(np.int64)
    return WordPieces(place_in_sentence[order], np.cumsum(counts) - counts, counts, first_words)


def project_links(links: _Int, source: WordPieces, target: WordPieces, *, subword: Subword) -> _Int:
    r"""Link the pieces of linked words.

    With words :math:`i, j` of :math:`m` and :math:`n` pieces:

    - ``all``: every piece of :math:`i` with every piece of :math:`j`, :math:`mn` links;
    - ``first``, ``last``: one link, between their first or their last pieces;
    - ``monotone``: the :math:`k`-th piece with the :math:`\min(k, n)`-th, for :math:`k = 1 … \max(m, n)`, each side
      held at its last piece.

    A word without pieces has no links. Piece links are sorted and without repeats.

    Source: Yang et al. 2021, eq. 5, whose *A* links positions; how words become positions is not given there.
    """
    sentences, i, j = links.T
    source_words = source.first_words[sentences] + i  # numbered through the batch
    target_words = target.first_words[sentences] + j
    have_pieces = (source.counts[source_words] > 0) & (target.counts[target_words] > 0)
    sentences = sentences[have_pieces]
    source_words, target_words = source_words[have_pieces], target_words[have_pieces]
    m, n = source.counts[source_words], target.counts[target_words]

    # Number of piece links that each word link becomes.
    if subword == "all":
        fan_out = m * n
    elif subword == "monotone":
        fan_out = np.maximum(m, n)
    else:
        fan_out = np.ones_like(m)

    # For each piece link, the number of its word link, and k: its number among the piece links of that word link.
    link = np.repeat(np.arange(len(sentences)), fan_out)
    k = np.arange(len(link)) - np.repeat(np.cumsum(fan_out) - fan_out, fan_out)

    # Of both words, the piece that is linked, by its number in the word.
    if subword == "all":
        a, b = k // n[link], k % n[link]
    elif subword == "last":
        a, b = m[link] - 1, n[link] - 1
    else:  # monotone; and first, for which k is always 0
        a, b = np.minimum(k, m[link] - 1), np.minimum(k, n[link] - 1)

    source_pieces = source.pieces[source.starts[source_words[link]] + a]
    target_pieces = target.pieces[target.starts[target_words[link]] + b]
    return sort_links(np.stack([sentences[link], source_pieces, target_pieces], axis=1))


def sort_links(links: _Int) -> _Int:
    """Sort links by sentence, source and target, and remove repeated ones."""
    sentences, i, j = links.T
    # Each link as one number, which sorts much faster than rows of three; then back. (1, 0, 2) is 8, where positions of
    # the source are below 2 and those of the target below 3.
    source_size, target_size = i.max(initial=0) + 1, j.max(initial=0) + 1
    sorted_keys = np.unique((sentences * source_size + i) * target_size + j)
    sentence_and_source, target = np.divmod(sorted_keys, target_size)
    sentence, source = np.divmod(sentence_and_source, source_size)
    return np.stack([sentence, source, target], axis=1)
