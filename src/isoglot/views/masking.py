"""Choose the tokens that are to be predicted, and replace most of them by the mask or a random token."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.core.options import Share
from isoglot.corpus.encode.templates import IntArray
from isoglot.recipe.spec import require_options
from isoglot.views.base import IGNORE_INDEX

BoolArray = NDArray[np.bool_]


# kw_only: a view inherits these options with their defaults, and its tokenizer, which has none, follows them.
@dataclass(kw_only=True, eq=False)
class MaskingOptions:
    """The masking options that every masked view takes.

    Args:
        probability: share of the tokens (of the words with ``whole_word``) that are selected; 0.15 in BERT,
            XLM-Align and PPA, 0.30 in WEAM.
        mask_share: part of the selected tokens that become the mask token; 0.8.
        random_share: part of the selected tokens that become a random token; 0.1. The others stay unchanged. All
            selected tokens are predicted.
        count: how many tokens are selected, as a rule and not as a number. ``bernoulli`` selects each token by its
            own draw (BERT's re-implementations, PPA, ALIGN-MLM); ``exact`` selects ``int(probability · tokens + u)``
            tokens, ``u`` uniform in [0, 1) (fairseq, XLM-Align).
        whole_word: select words, from the stream's ``word_ids``, so for any tokenizer. Each piece of a selected word
            makes its own draw among mask, random and kept, as in BERT's own whole-word masking.
        random_pool: ids that random tokens are drawn from: ``nonspecial``, ``all`` (special tokens too, as Hugging Face
            does) or a range ``(low, high)``, ``high`` not included, without its special ids (for a vocabulary larger
            than the tokenizer's).
    """

    probability: Share = 0.15
    mask_share: Share = 0.8
    random_share: Share = 0.1
    count: Literal["bernoulli", "exact"] = "bernoulli"
    whole_word: bool = False
    random_pool: Literal["nonspecial", "all"] | tuple[int, int] = "nonspecial"

    def settle(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Check the options, and keep the mask token, the special tokens and the pool of random ids of a tokenizer.

        The first thing that each view calls in its ``__post_init__``: the tokenizer is there only then. A subclass that
        needs more of the tokenizer extends this method; ``TextOptions`` does.
        """
        require_options(self)
        if tokenizer.mask_token_id is None:
            raise ConfigurationError(
                "the tokenizer has no mask token; give the tokenizer of a masked-language model"
            )
        self._mask_token_id = int(tokenizer.mask_token_id)
        self._is_special_id = special_table(tokenizer)
        if self.random_pool == "all":
            self._pool = np.arange(len(tokenizer), dtype=np.int64)
            return
        low, high = (0, len(tokenizer)) if self.random_pool == "nonspecial" else self.random_pool
        self._pool = np.setdiff1d(np.arange(low, high, dtype=np.int64), tokenizer.all_special_ids)
        if not self._pool.size:
            text = f"{self.random_pool!r} holds special ids alone; widen the range, or write 'all'"
            raise ConfigurationError(Problem(text, ("random_pool",)))

    def is_special(self, ids: IntArray) -> BoolArray:
        """Whether each id is a special token. The ids of a copied vocabulary never are."""
        return self._is_special_id.take(ids, mode="clip")

    def may_be_selected(self, ids: IntArray) -> BoolArray:
        """Whether each token may be selected, if it is not padding. A view that spares further tokens overrides it."""
        return ~self.is_special(ids)

    def check_options(self) -> None:
        """Require shares that add up to at most 1, and a range of ids that is not empty."""
        problems: list[str | Problem] = []
        if self.mask_share + self.random_share > 1 + 1e-9:
            problems.append(
                f"mask_share {self.mask_share} and random_share {self.random_share} add up to more than 1; lower one"
            )
        if not isinstance(self.random_pool, str) and not 0 <= self.random_pool[0] < self.random_pool[1]:
            text = f"got {self.random_pool!r}; write an id range [low, high]"
            problems.append(Problem(text, ("random_pool",)))
        if problems:
            raise ConfigurationError(problems, heading="masking options:" if len(problems) > 1 else None)


class MaskedTokens(NamedTuple):
    """The result of :func:`mask_tokens`. **Shape**: (length,) each."""

    input_ids: IntArray  # after replacement
    labels: IntArray  # the original id of a selected token, −100 of the others
    selected: BoolArray  # which tokens are predicted: masked, random and kept ones


def special_table(tokenizer: PreTrainedTokenizerBase) -> BoolArray:
    """A boolean table by id: whether a token is special, to be read with ``take(ids, mode="clip")``.

    The unknown token is not special: it stands for a word of the text. Ids beyond the table (of a copied vocabulary)
    are not special either: with ``clip`` they read the last entry, which is false.
    """
    special = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
    largest = max(special, default=0)
    size = largest + 1  # ids 0 ... largest
    table = np.zeros(size + 1, dtype=bool)  # and the last entry, for all ids above
    table[special] = True
    return table


def mask_tokens(
    ids: IntArray,
    candidates: BoolArray,
    masking: MaskingOptions,
    *,
    generator: torch.Generator,
    word_ids: IntArray | None = None,
) -> MaskedTokens:
    """Select tokens and replace most of them: 80 % by the mask token, 10 % by a random one, 10 % not at all.

    1. Selection. Each candidate token gets a number in [0, 1). With ``count: bernoulli`` a number below ``probability``
       selects the token; with ``count: exact`` the lowest numbers do. With ``whole_word`` all tokens of a word have one
       number; a word is a run of equal ``word_ids``, and a token of no word (−1) is one by itself.
    2. Kind. A second number of each token decides what a selected token becomes: below ``mask_share`` the mask token,
       below ``mask_share + random_share`` a random one, else it stays.
    3. Random token. A third number of each token chooses it from the pool.

    The three numbers of each token, and one more for ``exact``, come from one draw of ``3 · length + 1`` uniforms, so
    the result depends on the generator and the arguments alone.

    **Shape**: ids, candidates and word_ids (length,).

    Source: Devlin et al. 2019, §3.1; ``exact`` as in fairseq's masking, which XLM-Align trains with.

    Example:
        >>> from isoglot.core.seeding import generator_for
        >>> from isoglot.testing import tiny_tokenizer
        >>> masking = MaskingOptions(probability=0.5, count="exact")
        >>> masking.settle(tiny_tokenizer())
        >>> ids = np.arange(10, 20)
        >>> int(mask_tokens(ids, ids >= 0, masking, generator=generator_for(0)).selected.sum())
        5
    """
    length = ids.size
    uniform: NDArray[np.float64] = torch.rand(
        3 * length + 1, generator=generator, dtype=torch.float64
    ).numpy()
    scores = uniform[:length]
    kind = uniform[length : 2 * length]
    choice_in_pool = uniform[2 * length : 3 * length]

    # 1
    if masking.whole_word:
        if word_ids is None:
            raise ConfigurationError(
                "whole_word: the stream has no word_ids; encode it again with word maps, or set whole_word: false"
            )
        # word_ids −1 0 0 1 −1: a word starts at tokens 0, 1, 3 and 4, so the tokens are of the words 0 1 1 2 3.
        word_starts = np.ones(length, dtype=bool)
        word_starts[1:] = (word_ids[1:] != word_ids[:-1]) | (word_ids[1:] < 0)
        word_of_token = word_starts.cumsum() - 1
        # The n-th word takes the number of the n-th token: any number will do, if each word has one of its own.
        scores = scores[word_of_token]
    if masking.count == "exact":
        selected = _exactly(scores, candidates, masking.probability, float(uniform[-1]))
    else:
        selected = candidates & (scores < masking.probability)

    # 2, 3
    inputs = ids.copy()
    gets_mask = selected & (kind < masking.mask_share)
    inputs[gets_mask] = masking._mask_token_id
    if masking.random_share:
        gets_random = selected & ~gets_mask & (kind < masking.mask_share + masking.random_share)
        places = gets_random.nonzero()[0]
        place_in_pool = (choice_in_pool[places] * masking._pool.size).astype(np.int64)
        inputs[places] = masking._pool[place_in_pool]
    labels = np.where(selected, ids, IGNORE_INDEX)
    return MaskedTokens(inputs, labels, selected)


def _exactly(scores: NDArray[np.float64], candidates: BoolArray, probability: float, u: float) -> BoolArray:
    """Select the candidates with the ``int(probability · n + u)`` lowest of n different scores.

    The tokens of a word share one score, so n counts words with ``whole_word`` and tokens without. ``u`` in [0, 1)
    rounds at random: of 10 tokens at 0.15, one or two are selected, each in half of the draws (fairseq).
    """
    distinct = np.unique(scores[candidates])  # ascending
    number = min(int(probability * distinct.size + u), distinct.size)
    if number == 0:
        return np.zeros_like(candidates)
    chosen: BoolArray = candidates & (scores <= distinct[number - 1])
    return chosen
