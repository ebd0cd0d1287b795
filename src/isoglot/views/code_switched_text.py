"""Masked text in which some selected tokens are replaced by a synonym of another language, or predict it (DICT-MLM).

A synonym is a dictionary's translation of a token: *Haus* for *house*. Tokens are looked up one by one, also those that
are a piece of a longer word, such as *house* in *houseboat*.
"""

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

    The input is one text, or a packed block of several. Each selected token is *switched* with
    ``synonym_probability``; the others are masked 80/10/10 and predict themselves, as in a ``masked_text``. A switched
    token that has a synonym is *replaced* by it, in the input or in the labels. For a switched *house* with the synonym
    *Haus*:

    * ``mode: tang2022_input``: the *input* is *Haus* (with the language id of German), the label *house*. A token
      without synonym stays unchanged in the input. ALIGN-MLM's authors trained in this mode.
    * ``mode: chaudhary_label``: the input is masked 80/10/10, the *label* is *Haus*. A token without synonym predicts
      itself.

    Args:
        tokenizer: the stream's tokenizer.
        lexicon: a bilingual lexicon: a data set with the columns of :data:`isoglot.formats.schema.LEXICON`, or a
            :class:`~isoglot.views.lexicon.TokenLexicon`.
        copied_vocabulary: instead of a lexicon: the size V of a vocabulary whose copy stands at ``id + V``.
        share: part of the usable entries of a data set or of a copied vocabulary that is drawn at random and kept; 0.25
            in ALIGN-MLM, 0.5 in its second setting. A TokenLexicon is used whole.
        lexicon_seed: Seed of the draw of that part.
        mode: see above.
        synonym_probability: Probability that a selected token is switched; 0.5 in DICT-MLM-50.

    The other options are those of :class:`~isoglot.views.masked_text.TextOptions` and
    :class:`~isoglot.views.masking.MaskingOptions`; DICT-MLM uses ``language_ids``.

    **Columns**: ``input_ids`` (or ``<side>_ids``), the language (unless the lexicon is one for any language); packed
    or not. In a block of isolated texts ``document_ids`` tells the texts apart; in another block nothing does.

    **Batch keys**: those of :class:`~isoglot.views.masked_text.MaskedText`.

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
        # Only its table is needed from here on, and loader workers get a copy of the view.
        self.lexicon = None
        # The language id of each language that the lexicon counts.
        names = self._lexicon.languages if self.language_ids is not None else ()
        self._lexicon_language_ids = as_array([language_id(self.language_ids or {}, name) for name in names])

    def check_options(self) -> None:
        """Require one lexicon, not none and not two."""
        # Not super(), which needs a view: when a recipe is checked, `self` only holds its options.
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
        """Make the tensors of one example."""
        instance = self.instance(example, coin)
        arrays, masked = masked_tensors(instance, self, generator=generator)
        size = instance.ids.size
        # After those of the masking, two more numbers for each token: whether it is switched, and to which synonym.
        uniform = torch.rand(2 * size, generator=generator, dtype=torch.float64).numpy()
        switched = masked.selected & (uniform[:size] < self.synonym_probability)

        language = example.get(f"{self.prefix(coin)}language")
        if language is None and None not in self._lexicon.tables:
            raise ConfigurationError(
                "code_switched_text: the lexicon needs the stream's 'language' column; encode it with its language"
            )
        table = self._lexicon.table(language)
        if table is None:
            synonyms, languages, has_synonym = instance.ids, np.full(size, -1), np.zeros(size, dtype=bool)
        else:
            synonyms, languages, has_synonym = table.draw(instance.ids, uniform[size:])

        replaced = switched & has_synonym
        if self.mode == "chaudhary_label":
            arrays["labels"] = np.where(replaced, synonyms, masked.labels)
            return to_tensors(arrays)
        # A switched token without synonym is never masked: the input has its original id.
        input_ids = np.where(switched, instance.ids, masked.input_ids)
        arrays["input_ids"] = np.where(replaced, synonyms, input_ids)
        if self.language_ids is not None and "language_ids" in arrays:
            arrays["language_ids"] = self._with_synonyms(arrays["language_ids"], languages, replaced)
        return to_tensors(arrays)

    def _with_synonyms(
        self, language_ids: IntArray, languages: IntArray, replaced: NDArray[np.bool_]
    ) -> IntArray:
        """Language ids in which each replaced token has the language of its synonym.

        1. The lexicon names the synonym's language: the id of that language.
        2. It does not (a copied vocabulary): the other one of the two ids that there are.

        ``languages``: the synonym's language as the lexicon counts languages, −1 if not named.
        """
        mapping = self.language_ids or {}
        changed = language_ids.copy()
        named = replaced & (languages >= 0)
        if named.any():  # 1
            changed[named] = self._lexicon_language_ids[languages[named]]
        unnamed = replaced & (languages < 0)
        if unnamed.any():  # 2
            ids = sorted(set(mapping.values()))
            if len(ids) != 2:
                raise ConfigurationError(
                    f"language_ids: a lexicon that does not name its languages needs exactly two, got {dict(mapping)}"
                )
            # The sum of both ids without the one is the other one.
            first, second = ids
            changed[unnamed] = first + second - changed[unnamed]
        return changed
