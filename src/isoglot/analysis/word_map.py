"""Words of a map: the most frequent aligned pairs of two languages, their vectors, and the projection to the plane.

Source: Yang et al. 2021 (WEAM), Fig. 2: t-SNE of the 20 most frequent English-German links of the training corpus,
stop words excluded, by their static input embeddings, before and after.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.aligners.embedding.piece_states import cut_known_words
from isoglot.analysis.checkpoint_score import mean_pieces
from isoglot.analysis.options import Projection
from isoglot.analysis.vectors import linked_vectors
from isoglot.core.checks import missing_package
from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.modules.encoder import input_embeddings
from isoglot.objectives.embedding_alignment import entry_pieces

FloatArray = NDArray[np.float64]

LinkedWords = tuple[str, str]
"""Two linked words."""

_OCCURRENCES = 100
"""A contextual vector is the mean over at most so many occurrences of a pair."""
_EXACT = 1000
"""Up to this many points, t-SNE is computed without Barnes and Hut's approximation."""


def frequent_pairs(
    counts: Mapping[tuple[str, str], int],
    *,
    count: int = 20,
    stop_words: tuple[Collection[str], Collection[str]] = ((), ()),
    distinct: bool = False,
) -> list[LinkedWords]:
    """Choose the most frequent word links, the most frequent first; of equally frequent ones the first by alphabet.

    A link is left out if

    1. one of its words has no letter,
    2. one of its words, in lower case, is a stop word of its side, or
    3. with ``distinct``, one of its words is in a more frequent pair already. Else a word with two frequent
       translations is in two pairs.
    """
    source_stops, target_stops = map(frozenset, stop_words)
    frequent: list[LinkedWords] = []
    used_sources: set[str] = set()
    used_targets: set[str] = set()
    for pair in sorted(counts, key=lambda pair: (-counts[pair], pair)):
        if len(frequent) == count:
            break
        source, target = pair
        if not (_has_letter(source) and _has_letter(target)):  # 1
            continue
        if source.lower() in source_stops or target.lower() in target_stops:  # 2
            continue
        if distinct and (source in used_sources or target in used_targets):  # 3
            continue
        frequent.append(pair)
        used_sources.add(source)
        used_targets.add(target)
    if not frequent:
        raise ConfigurationError(
            f"none of {len(counts)} different word links is left; give a larger corpus, or fewer stop words"
        )
    return frequent


def frequent_words(counts: Mapping[tuple[str, str], int], top: int) -> tuple[set[str], set[str]]:
    """Find the ``top`` most often linked words of each side, in lower case: stop words of any language."""
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for (source, target), times in counts.items():
        if _has_letter(source):
            sources[source.lower()] += times
        if _has_letter(target):
            targets[target.lower()] += times
    return _most_frequent(sources, top), _most_frequent(targets, top)


def _most_frequent(words: Counter[str], top: int) -> set[str]:
    """The most frequent words; of equally frequent ones the first by alphabet."""
    ranked = sorted(words, key=lambda word: (-words[word], word))
    return set(ranked[:top])


def english_stop_words() -> frozenset[str]:
    """scikit-learn's list of English function words, without *our*, which the paper's figure shows."""
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise missing_package(
            "the list of English stop words", "scikit-learn", instead="[[stop_words='frequent:100']]"
        ) from error
    return frozenset(ENGLISH_STOP_WORDS) - {"our"}


def one_piece(tokenizers: Sequence[PreTrainedTokenizerBase], words: Iterable[str]) -> set[str]:
    """Find the words that are a single piece in each of the tokenizers."""
    distinct = list(dict.fromkeys(words))
    single = set(distinct)
    for tokenizer in tokenizers:
        cut = entry_pieces(PieceEncoder(tokenizer, shared=True), distinct)
        single &= {word for word, pieces in zip(distinct, cut, strict=True) if len(pieces) == 1}
    return single


def static_vectors(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, words: Sequence[str]
) -> Tensor:
    """Take the mean input embedding of each word's pieces. **Shape**: (words, size), float32, CPU."""
    cut = entry_pieces(PieceEncoder(tokenizer, shared=True), words)
    missing = [word for word, pieces in zip(words, cut, strict=True) if not pieces]
    if missing:
        raise ConfigurationError(
            f"{missing[0]!r} has no piece in this tokenizer; leave it out with [[stop_words=FILE]]"
        )
    return mean_pieces(input_embeddings(model).weight.detach(), cut).float().cpu()


def contextual_vectors(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Iterable[Mapping[str, Any]],
    pairs: Sequence[LinkedWords],
    *,
    layer: int,
) -> tuple[Tensor, Tensor]:
    """Take the mean contextual vectors of the words of pairs, over their first hundred linked occurrences.

    Returns:
        Vectors of the source words and of the target words, each (pairs, hidden).
    """
    number_of = {pair: number for number, pair in enumerate(pairs)}
    still_wanted = [_OCCURRENCES] * len(pairs)
    # The sentences that have an occurrence: the words of both sides, and the links of the pairs.
    words, links = [], []
    pair_of_link: list[int] = []  # the number of the pair, for all links of these sentences in order
    for row in rows:
        chosen = []
        for i, j in row["links"]:
            number = number_of.get((row["source_words"][i], row["target_words"][j]))
            if number is not None and still_wanted[number]:
                still_wanted[number] -= 1
                chosen.append([i, j])
                pair_of_link.append(number)
        if chosen:
            words.append((row["source_words"], row["target_words"]))
            links.append(chosen)
        if not any(still_wanted):
            break
    source, target = linked_vectors(model, tokenizer, words, links, layers=[layer])
    numbers = torch.tensor(pair_of_link, dtype=torch.long)
    times = torch.bincount(numbers, minlength=len(pairs))
    if len(source[layer]) != len(pair_of_link) or not bool((times > 0).all()):
        # The pair to name: one that is not linked, else one without a piece, else the first.
        not_found = [pair for pair, count in zip(pairs, times.tolist(), strict=True) if count == 0]
        without_piece = [pair for pair in pairs if not _have_pieces(tokenizer, pair)]
        lacking = [*not_found, *without_piece, *pairs][0]
        raise ConfigurationError(
            f"{lacking} are not linked, or have no piece; use the corpus in which they were counted"
        )
    means = []
    for vectors in (source[layer], target[layer]):
        total = torch.zeros(len(pairs), vectors.shape[1]).index_add_(0, numbers, vectors)
        means.append(total / times[:, None])
    return means[0], means[1]


def _have_pieces(tokenizer: PreTrainedTokenizerBase, words: Sequence[str]) -> bool:
    """Whether each of the words has a piece that the tokenizer knows."""
    cut = cut_known_words(tokenizer, [[word] for word in words])
    return all(0 in pieces.words for pieces in cut)  # each text is one word, number 0


def project(vectors: Tensor, options: Projection) -> FloatArray:
    """Project vectors to points of the plane. **Shape**: (n, hidden) → (n, 2).

    Principal components are turned so that the largest loading of each is positive; t-SNE starts from them, so both
    are functions of the vectors and the seed.
    """
    points = vectors.double().cpu().numpy()
    if len(points) < 3:
        raise ConfigurationError(f"a map needs at least 3 points, got {len(points)}; raise [[count]]")
    if options.method == "pca":
        return _principal(points)
    try:
        from sklearn.manifold import TSNE  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise missing_package("t-SNE", "scikit-learn", instead="[[method='pca']]") from error
    start = _principal(points)
    spread = start[:, 0].std()
    mapped: FloatArray = TSNE(
        perplexity=min(30.0, (len(points) - 1) / 3),
        init=start / (spread if spread > 0 else 1.0) * 1e-4,  # as scikit-learn scales its own start
        random_state=seed_for(options.seed, "map") % 2**32,
        method="exact" if len(points) <= _EXACT else "barnes_hut",
    ).fit_transform(points)
    return mapped.astype(np.float64)


def _principal(points: FloatArray) -> FloatArray:
    """The first two principal components, each turned so that its largest loading is positive."""
    centred = points - points.mean(0)
    left, values, loadings = np.linalg.svd(centred, full_matrices=False)
    largest = np.abs(loadings[:2]).argmax(1)
    signs = np.sign(loadings[np.arange(len(largest)), largest])
    components: FloatArray = left[:, :2] * values[:2] * np.where(signs == 0, 1, signs)
    return components


def _has_letter(word: str) -> bool:
    return any(character.isalpha() for character in word)
