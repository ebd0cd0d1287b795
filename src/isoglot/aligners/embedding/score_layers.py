"""Score an encoder's layers on gold links, all layers in one run of the encoder, and find the best layer and method.

:func:`layer_errors` has the loop over layers. ``isoglot score`` calls it by :func:`score_layers`, ``isoglot tune`` by
:func:`best_choice`, which tries each method at each layer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import CANDIDATES, HARDWARE_OPTIONS, Choice, RatedChoice
from isoglot.aligners.embedding.options import MEASURED, EmbeddingOptions
from isoglot.aligners.embedding.piece_states import Pieces, PieceStates
from isoglot.aligners.gold import gold_pairs
from isoglot.aligners.options import Gold, LayerScoring, layer_numbers
from isoglot.aligners.scoring import score_pair
from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.unknown import UNLINKED, OnUnknown, UnknownWords, counted, ignored
from isoglot.formats.sentence_pair import SentencePair
from isoglot.modules.encoder import layer_number, num_layers
from isoglot.results.link_counts import AlignmentScore

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def layer_error(
    aligner: EmbeddingAligner, pairs: Sequence[SentencePair], **how: Any
) -> dict[int, AlignmentScore]:
    """Score the links of one aligner at each layer; ``how``: options of :func:`layer_errors`."""
    return layer_errors([aligner], pairs, **how)[0]


def layer_errors(
    aligners: Sequence[EmbeddingAligner],
    pairs: Sequence[SentencePair],
    *,
    layers: Sequence[int] | None = None,
    window: int = 128,
    progress: Callable[[int, int], None] | None = None,
    unknown: OnUnknown | None = None,
) -> list[dict[int, AlignmentScore]]:
    """Score the links of several aligners of one encoder at each layer, by default all.

    Args:
        aligners: Aligners of one encoder, with different options.
        pairs: Pairs with gold links.
        layers: Numbers of the layers, by default all.
        window: Pairs that are encoded at a time. Aligners that encode alike share the states, which are in memory for
            all layers at once.
        progress: Called with the number of pairs that are done, and of all.
        unknown: Receives the words that the vocabulary does not know; by default a warning counts them.

    Returns:
        For each aligner its score at each layer.
    """
    numbers = wanted_layers(aligners[0].model, layers)
    totals = [{number: AlignmentScore() for number in numbers} for _ in aligners]
    with counted(unknown, UNLINKED) as receive:
        for start in range(0, len(pairs), window):
            gold = pairs[start : start + window]
            words = [pair.words for pair in gold]
            encodings: list[_Encoding] = []
            for aligner, total in zip(aligners, totals, strict=True):
                encoding = _shared_encoding(encodings, aligner.options)
                if encoding is None:
                    # The same words are unknown to all aligners, so only the first one reports them.
                    receiver = ignored if encodings else receive
                    states, pieces = aligner.encode(words, numbers, first=start, unknown=receiver)
                    encoding = _Encoding(aligner.options, states, pieces)
                    encodings.append(encoding)
                for layer, table in aligner.extract(encoding.states, encoding.pieces).items():
                    unlinked = [SentencePair(words=pair) for pair in words]
                    linked = aligner.with_links(unlinked, table, encoding.pieces)
                    for pair, answer in zip(linked, gold, strict=True):
                        total[layer] += score_pair(frozenset(pair.links), answer)
            if progress is not None:
                progress(min(start + window, len(pairs)), len(pairs))
    return totals


class _Encoding(NamedTuple):
    """The states of some pairs by layer, their pieces, and the options with which they were encoded."""

    options: EmbeddingOptions
    states: dict[int, PieceStates]
    pieces: list[Pieces]


def _shared_encoding(encodings: Sequence[_Encoding], options: EmbeddingOptions) -> _Encoding | None:
    """Return the encoding that an earlier aligner made, if these options would give the same one; else None."""
    for encoding in encodings:
        if _encode_alike(encoding.options, options, encoding.pieces):
            return encoding
    return None


def _encode_alike(options: EmbeddingOptions, others: EmbeddingOptions, pieces: Sequence[Pieces]) -> bool:
    """Test whether an aligner with ``options`` and one with ``others`` get the same states of these sentences.

    1. Both must have the same value of the option ``encode``: each sentence alone (``"separate"``), or both sentences
       of a pair in one sequence (``"joint"``).
    2. Both must cut long sentences alike: either their ``max_pieces()`` are the same, or no sentence has more pieces
       than the lower maximum.
    """
    if options.encode != others.encode:  # 1
        return False
    limits = {options.max_pieces(), others.max_pieces()}  # 2
    if len(limits) == 1:
        return True
    # None is no limit, so of two different limits at least one is a number.
    lowest = min(limit for limit in limits if limit is not None)
    return max(map(len, pieces)) <= lowest


def score_layers(gold: Gold, chosen: LayerScoring) -> list[tuple[int, AlignmentScore]]:
    """Score an encoder's layers on gold links that come with words, as in Fig. 2 of XLM-Align's paper."""
    pairs = gold_pairs(gold.gold, limit=None, name=gold.gold_format, base=gold.gold_base)
    unset = {name: value for name, value in MEASURED.items() if name not in chosen.options.model_fields_set}
    # An aligner has a layer, but `layer_error` never reads it: it scores those of `layers`. Every encoder has layer 0.
    any_layer = {"layer": 0}
    aligner = EmbeddingAligner(chosen.model, options=chosen.options.model_copy(update={**any_layer, **unset}))
    return list(layer_error(aligner, pairs, layers=layer_numbers(chosen.layers)).items())


def best_choice(
    model: str | Path | PreTrainedModel,
    gold: Mapping[str, Sequence[SentencePair]],
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    layers: Sequence[int] | None = None,
    weights: Mapping[str, float] | None = None,
    candidates: Sequence[Choice] = CANDIDATES,
    with_best: Sequence[Choice] = (),
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> list[RatedChoice]:
    """Try every method at every layer; returns all choices, from the lowest mean AER over the sets to the highest.

    Of choices with the same error rate the one tried first comes first.

    Args:
        model: The encoder.
        gold: Gold links by the name of each set.
        tokenizer: Tokenizer of a loaded encoder.
        layers: Numbers of the layers to try; by default all.
        weights: Weight of each set in the mean, 1 by default.
        candidates: Methods to try at each layer.
        with_best: Options to try with the best candidate as well, each by itself, unless ``options`` name them.
        progress: Called with the name of a set, its number and how many there are.
        **options: Options of every candidate, such as ``level``; part of the choice but for device and precision.
    """
    # The layer and every option of a candidate are chosen here.
    chosen_here = {"layer"}
    for candidate in candidates:
        chosen_here.update(candidate)
    refused = sorted(chosen_here & set(options))
    if refused:
        raise ConfigurationError(f"this command chooses {', '.join(refused)} itself; leave it out")
    options = {**MEASURED, **options}
    encoder = EmbeddingAligner(model, tokenizer=tokenizer, options=EmbeddingOptions.build(**options))
    fixed = {name: value for name, value in options.items() if name not in HARDWARE_OPTIONS}
    weight_of_sets = [(weights or {}).get(name, 1.0) for name in gold]
    # Relative to the largest weight, because the sum of very large ones would be infinite.
    largest = max(weight_of_sets, default=1.0)
    weight_of_sets = [weight / largest for weight in weight_of_sets]
    unknown = UnknownWords(UNLINKED)

    def count_unknown(name: str) -> OnUnknown:
        """Return a function that counts unknown words of the set of this name."""
        return lambda number, words, is_unknown: unknown.add(f"pair {number} of {name}", words, is_unknown)

    def measure(
        candidates: Sequence[Choice], layers: Sequence[int], receiver_of: Callable[[str], OnUnknown]
    ) -> list[RatedChoice]:
        """Rate each candidate at each layer of ``layers``; a ``layer`` in a candidate is not used.

        ``receiver_of``: Set's name to the receiver of its unknown words.
        """
        built = [EmbeddingOptions.build(**{**candidate, **options}) for candidate in candidates]
        aligners = [encoder.with_options(options_of_candidate) for options_of_candidate in built]
        errors = {}
        for number, (name, pairs) in enumerate(gold.items()):
            if progress is not None:
                progress(name, number, len(gold))
            errors[name] = layer_errors(aligners, pairs, layers=layers, unknown=receiver_of(name))
        tried = []
        for index_of_aligner, candidate in enumerate(candidates):
            for layer in layers:
                scores = {name: by_aligner[index_of_aligner][layer] for name, by_aligner in errors.items()}
                mean = fmean((score.aer for score in scores.values()), weight_of_sets)
                tried.append(RatedChoice({**candidate, **fixed, "layer": layer}, mean, scores))
        return tried

    tried = measure(candidates, wanted_layers(encoder.model, layers), count_unknown)
    unknown.warn()
    extra = [choice for choice in with_best if not set(choice) & set(options)]
    if extra:
        # The best choice is a whole one: a candidate with the fixed options and a layer. `measure` adds the same fixed
        # options and the same layer to it once more, which changes nothing.
        best = min(tried, key=operator.attrgetter("aer")).choice
        completed = [{**best, **choice} for choice in extra]
        tried += measure(completed, [best["layer"]], lambda _: ignored)
    return sorted(tried, key=operator.attrgetter("aer"))


def wanted_layers(model: PreTrainedModel, layers: Iterable[int] | None) -> list[int]:
    """Check layer numbers, and return each layer once; by default all layers, 0 (the embeddings) included.

    Of two numbers of the same layer the first is returned: with 12 layers ``[12, -1]`` becomes ``[12]``.
    """
    if layers is None:
        return list(range(num_layers(model) + 1))
    try:
        # Refuses 1.5 and "1", and takes whole numbers of numpy.
        numbers = [operator.index(layer) for layer in layers]
    except TypeError:
        numbers = []
    if not numbers:
        raise ConfigurationError(
            f"layers must be numbers, one or more, such as [6, 7, 8], got {shortened(layers)}"
        )
    given: dict[int, int] = {}  # layer, counted from the start: the number that was given for it
    for number in numbers:
        given.setdefault(layer_number(model, number, name="layers"), number)
    return list(given.values())
