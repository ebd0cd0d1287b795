"""Masked text in which masked tokens meet their synonyms in another language (DICT-MLM)."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Count, PositiveShare, Share
from isoglot.corpus.encode.templates import IntArray, as_array
from isoglot.corpus.pack.packing import language_id
from isoglot.views.instance import masked_tensors, to_tensors
from isoglot.views.lexicon import TokenLexicon, copied_lexicon, token_lexicon
from isoglot.views.masked_text import TextOptions


@dataclass(eq=False)
class CodeSwitchedText(TextOptions):
    """DICT-MLM input from a text stream: a part of the selected tokens is tied to a synonym of another language.

    Equation: ``x̃_i = synonym(x_i), y_i = x_i`` with probability ½ for i ∈ M (``tang2022_input``), or
    ``x̃_i = [MASK], y_i = synonym(x_i)`` (``chaudhary_label``)

    With ``synonym_probability`` (else the usual 80/10/10):

    * ``mode: tang2022_input``: the *input* becomes the synonym (and its language id the synonym's) if the lexicon
      has one, and stays as it is if not; the label is the original token. This is what ALIGN-MLM's authors trained.
    * ``mode: chaudhary_label``: the input is masked 80/10/10, the *label* becomes the synonym if there is one.

    Args:
        tokenizer: the stream's tokenizer.
        lexicon: a LEXICON data set, or a :class:`~isoglot.views.lexicon.TokenLexicon`.
        copied_vocabulary: instead of a lexicon: the size V of a vocabulary whose copy stands at ``id + V``.
        share: part of the usable entries of a data set or of a copied vocabulary that is drawn; 0.25 in ALIGN-MLM,
            0.5 in its second setting. A TokenLexicon is used whole.
        lexicon_seed: of the draw of that part.
        mode: see above.
        synonym_probability: 0.5 in DICT-MLM-50.

    The other options are those of :class:`~isoglot.views.masked_text.TextOptions` and
    :class:`~isoglot.views.masking.MaskingOptions`; DICT-MLM uses ``language_ids``.

    **Columns**: ``input_ids`` (or ``<side>_ids``), the language (unless the lexicon is one for any language); packed
    or not.

    **Keys**: those of :class:`~isoglot.views.masked_text.MaskedText`.

    Raises:
        ConfigurationError: not exactly one lexicon, none of its entries can be used, or an option out of range.

    Source: Chaudhary et al. 2020 (DICT-MLM), §3; Tang et al. 2022 (ALIGN-MLM), App. G.4.
    """

    tokenizer: InitVar[PreTrainedTokenizerBase]
    _: KW_ONLY
    lexicon: Dataset | TokenLexicon | None = field(default=None, repr=False)
    copied_vocabulary: Count | None = None
    share: PositiveShare = 0.25
    lexicon_seed: int = 0
    mode: Literal["tang2022_input", "chaudhary_label"] = "tang2022_input"
    synonym_probability: Share = 0.5

    def __post_init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.settle(tokenizer)
        drawn: dict[str, Any] = {"share": self.share, "seed": self.lexicon_seed}
        if isinstance(self.lexicon, TokenLexicon):
            self._lexicon = self.lexicon
        elif self.lexicon is not None:
            self._lexicon = token_lexicon(self.lexicon, tokenizer, **drawn)
        else:
            special = tokenizer.all_special_ids
            self._lexicon = copied_lexicon(self.copied_vocabulary or 0, special=special, **drawn)
        self.lexicon = None  # its table is kept, not the corpus: loader workers get a copy
        names = self._lexicon.languages if self.language_ids is not None else ()
        self._language_numbers = as_array([language_id(self.language_ids or {}, name) for name in names])

    def check_options(self) -> None:
        """There is one lexicon."""
        TextOptions.check_options(self)
        if (self.lexicon is None) == (self.copied_vocabulary is None):
            raise ConfigurationError(
                "code_switched_text: give exactly one of `lexicon` and `copied_vocabulary`"
            )

    @property
    def needs_language(self) -> bool:
        """Whether an example has to say its language: for its id, or to choose a table of the lexicon."""
        return self.language_ids is not None or None not in self._lexicon.tables

    def build(
        self, example: Mapping[str, Any], *, coin: bool, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """One example's tensors."""
        instance = self.instance(example, coin)
        arrays, masked = masked_tensors(instance, self, generator=generator)
        size = instance.ids.size
        uniform = torch.rand(2 * size, generator=generator, dtype=torch.float64).numpy()
        chosen = masked.selected & (uniform[:size] < self.synonym_probability)
        language = example.get(f"{self.prefix(coin)}language")
        if language is None and None not in self._lexicon.tables:
            raise ConfigurationError(
                "code_switched_text: the lexicon needs the stream's 'language' column; encode it with its language"
            )
        table = self._lexicon.table(language)
        if table is None:
            synonyms, languages, in_table = instance.ids, np.full(size, -1), np.zeros(size, dtype=bool)
        else:
            synonyms, languages, in_table = table.draw(instance.ids, uniform[size:])
        if self.mode == "chaudhary_label":
            arrays["labels"] = np.where(chosen & in_table, synonyms, masked.labels)
            return to_tensors(arrays)
        arrays["input_ids"] = np.where(chosen, synonyms, masked.input_ids)
        if self.language_ids is not None and "language_ids" in arrays:
            arrays["language_ids"] = self._flipped(arrays["language_ids"], languages, chosen & in_table)
        return to_tensors(arrays)

    def _flipped(self, language_ids: IntArray, languages: IntArray, swapped: NDArray[np.bool_]) -> IntArray:
        """Language ids with those of swapped tokens set to the synonym's language, or to the other one of two."""
        mapping = self.language_ids or {}
        flipped = language_ids.copy()
        known = swapped & (languages >= 0)
        if known.any():
            flipped[known] = self._language_numbers[languages[known]]
        unknown = swapped & (languages < 0)
        if unknown.any():
            numbers = sorted(set(mapping.values()))
            if len(numbers) != 2:
                raise ConfigurationError(
                    f"language_ids: a lexicon that does not name its languages needs exactly two, got {dict(mapping)}"
                )
            flipped[unknown] = sum(numbers) - flipped[unknown]
        return flipped
