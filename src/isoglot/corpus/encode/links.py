"""Word links onto the pieces of words, for many sentence pairs at once.

Links are whole numbers of **shape** (links, 3): the sentence of each, its source and its target, counted from 0.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Subword = Literal["all", "first", "last", "monotone"]
"""Which pieces of two linked words are linked: see :func:`project_links`."""

_Int = NDArray[np.int64]


class WordPieces(NamedTuple):
    """Where the pieces of each word are, for all sentences of a batch."""

    pieces: _Int  # piece numbers within their sentence, sorted by sentence, word and place
    starts: _Int  # of each word of the batch, its first piece's place in ``pieces``
    counts: _Int  # of each word of the batch, how many pieces it has (0: it tokenised to nothing)
    rows: _Int  # of each sentence, the number of its first word in the batch; one more entry ends it


def index_words(word_ids: NDArray[np.integer], lengths: _Int, word_counts: _Int) -> WordPieces:
    """Index the pieces of a batch of sentences by word (−1: none), all sentences after one another.

    **Shape**: word_ids (pieces,); lengths and word_counts (sentences,).
    """
    rows = np.concatenate([[0], np.cumsum(word_counts)]).astype(np.int64)
    first = np.cumsum(lengths) - lengths
    local = np.arange(len(word_ids), dtype=np.int64) - np.repeat(first, lengths)
    word = np.repeat(rows[:-1], lengths) + word_ids
    has_word = word_ids >= 0
    word, local = word[has_word], local[has_word]
    order = np.argsort(word, kind="stable")
    counts = np.bincount(word, minlength=int(rows[-1])).astype(np.int64)
    return WordPieces(local[order], np.cumsum(counts) - counts, counts, rows)


def project_links(links: _Int, source: WordPieces, target: WordPieces, *, subword: Subword) -> _Int:
    r"""Piece links of word links.

    With words :math:`i, j` of :math:`m` and :math:`n` pieces:

    - ``all``: every piece of :math:`i` with every piece of :math:`j`, :math:`mn` links;
    - ``first``, ``last``: one link, between their first or their last pieces;
    - ``monotone``: the :math:`k`-th piece with the :math:`\min(k, n)`-th, for :math:`k = 1 … \max(m, n)`, each side
      held at its last piece.

    A word without pieces has no links. Piece links are sorted and without repeats.

    Source: Yang et al. 2021, eq. 5, whose *A* links positions; how words become positions is not given there.
    """
    rows, i, j = links.T
    from_word, to_word = source.rows[rows] + i, target.rows[rows] + j
    have = (source.counts[from_word] > 0) & (target.counts[to_word] > 0)
    from_word, to_word, rows = from_word[have], to_word[have], rows[have]
    m, n = source.counts[from_word], target.counts[to_word]
    if subword == "all":
        fan = m * n
    elif subword == "monotone":
        fan = np.maximum(m, n)
    else:
        fan = np.ones_like(m)
    link = np.repeat(np.arange(len(rows)), fan)
    k = np.arange(len(link)) - np.repeat(np.cumsum(fan) - fan, fan)
    if subword == "all":
        a, b = k // n[link], k % n[link]
    elif subword == "last":
        a, b = m[link] - 1, n[link] - 1
    else:  # first has k = 0 alone
        a, b = np.minimum(k, m[link] - 1), np.minimum(k, n[link] - 1)
    first = source.pieces[source.starts[from_word[link]] + a]
    second = target.pieces[target.starts[to_word[link]] + b]
    return sort_links(np.stack([rows[link], first, second], axis=1))


def sort_links(links: _Int) -> _Int:
    """Links sorted by sentence, source and target, each once."""
    rows, i, j = links.T
    sources, targets = i.max(initial=0) + 1, j.max(initial=0) + 1
    front, target = np.divmod(np.unique((rows * sources + i) * targets + j), targets)
    row, source = np.divmod(front, sources)
    return np.stack([row, source, target], axis=1)
