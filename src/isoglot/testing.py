"""Small, generated things to test against: a bitext with gold links, tokenizers and encoders of six families.

Everything is built offline in well under a second and is a pure function of its arguments.
"""

import copy
import random
from functools import cache
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerFast

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.formats.schema import ALIGNED, BITEXT, LEXICON, TEXT
from isoglot.modules.load import model_config

_TOKENIZERS = {
    "bert": ("wordpiece", "bert"),
    "roberta": ("byte_bpe", "roberta"),
    "xlm-roberta": ("unigram", "roberta"),
    "distilbert": ("wordpiece", "bert"),
    "deberta-v2": ("unigram", "bert"),
    "modernbert": ("byte_bpe", "bert"),
}
"""Family to the algorithm of its pieces and the special tokens around them."""
_CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "deberta-v2": {"position_buckets": 32, "legacy": True},
    "modernbert": {"local_attention": 64, "max_position_embeddings": 512},
}
_MIN_BYTE_BPE = 256 + 5 + 60
"""Minimum vocabulary of byte-level BPE: all bytes, the special tokens, and some merges."""
FAMILIES = tuple(_TOKENIZERS)
"""Encoder families that :func:`tiny_model` and :func:`tiny_tokenizer` build, by Hugging Face's ``model_type``."""

# The words of the made-up source language, English, and their translations.
_DETERMINERS = {"the": "ta", "a": "un", "every": "jeda", "this": "ceti"}
_NOUNS = {
    "river": "potamo", "teacher": "insegnar", "window": "fenestro", "garden": "jardeno",
    "letter": "brevolo", "mountain": "bergoto", "child": "kindelo", "captain": "kapitano",
    "winter": "hiverno", "machine": "masxino", "island": "insulano", "question": "demando",
    "library": "bibliotek", "horse": "cavalo",
}  # fmt: skip
_ADJECTIVES = {
    "old": "velha", "quiet": "silentia", "green": "verdona", "broken": "rompita", "distant": "lontana",
    "small": "klenika", "bright": "lumosa",
}  # fmt: skip
_VERBS = {
    "sees": "vidas", "follows": "sekvas", "remembers": "memoras", "builds": "konstruas", "opens": "apertas",
    "forgets": "oblidas", "paints": "pentras",
}  # fmt: skip
_ADVERBS = {"slowly": "lentamente", "again": "denove", "today": "hodiau", "never": "neniam"}
_ENDS = {".": ".", "!": "!", "?": "?"}
_WORDS = _DETERMINERS | _NOUNS | _ADJECTIVES | _VERBS | _ADVERBS


def tiny_aligned(size: int = 64, *, seed: int = 0) -> Dataset:
    """An ALIGNED corpus of made-up sentence pairs with gold one-to-one links.

    The target language translates word for word, puts adjectives after their noun and the verb last, so links cross.
    """
    rng = random.Random(seed)
    rows: dict[str, list[Any]] = {name: [] for name in ALIGNED}
    for _ in range(size):
        source, order = _sentence(rng)
        target = [_WORDS.get(source[i], source[i]) for i in order]
        rows["source"].append(_join(source))
        rows["target"].append(_join(target))
        rows["source_language"].append("en")
        rows["target_language"].append("xx")
        rows["source_words"].append(source)
        rows["target_words"].append(target)
        rows["links"].append(sorted([i, j] for j, i in enumerate(order)))
    return Dataset.from_dict(rows, features=ALIGNED)


def tiny_bitext(size: int = 64, *, seed: int = 0) -> Dataset:
    """The pairs of :func:`tiny_aligned` as a BITEXT corpus, without words and links."""
    return tiny_aligned(size, seed=seed).select_columns(list(BITEXT))


def tiny_text(size: int = 64, *, seed: int = 0, language: str = "en") -> Dataset:
    """A TEXT corpus: the source sides (``language="en"``) or, for another code, the target sides of the pairs."""
    column = "source" if language == "en" else "target"
    texts = tiny_bitext(size, seed=seed)[column]
    return Dataset.from_dict({"text": list(texts), "language": [language] * size}, features=TEXT)


def tiny_lexicon() -> Dataset:
    """The LEXICON that :func:`tiny_aligned` translates with, one entry a word."""
    count = len(_WORDS)
    rows = {"source": list(_WORDS), "target": list(_WORDS.values())}
    languages = {"source_language": ["en"] * count, "target_language": ["xx"] * count}
    return Dataset.from_dict(rows | languages, features=LEXICON)


def tiny_tokenizer(family: str = "bert", *, vocab_size: int = 160) -> PreTrainedTokenizerFast:
    """A fast tokenizer of a family's kind, trained on the made-up pairs.

    BERT and DistilBERT: WordPiece, ``[CLS] S [SEP] T [SEP]`` with segment ids (DistilBERT without). RoBERTa:
    byte-level BPE, ``<s> S </s></s> T </s>``. XLM-R: Unigram, the same pair. DeBERTa-v2: Unigram, BERT's specials.
    ModernBERT: byte-level BPE, BERT's specials. At the default size the words of the corpus split into several pieces.

    ``vocab_size``: Raised to 321 for byte-level BPE, which needs a piece for each byte.
    """
    if family not in FAMILIES:
        raise ConfigurationError(f"unknown family {family!r}; {did_you_mean(family, FAMILIES)}")
    return copy.deepcopy(_trained(family, vocab_size))  # a copy, because the caller may change it


@cache
def _trained(family: str, vocab_size: int) -> PreTrainedTokenizerFast:
    """Train the tokenizer of a family once."""
    algorithm, specials = _TOKENIZERS[family]
    pairs = tiny_bitext(200)
    tokenizer = train_tokenizer(
        [*pairs["source"], *pairs["target"]],
        algorithm=algorithm,
        family=specials,
        vocab_size=max(vocab_size, _MIN_BYTE_BPE if algorithm == "byte_bpe" else 0),
        min_frequency=0,
    )
    if family in ("distilbert", "modernbert"):
        without_segments = ["input_ids", "attention_mask"]
        tokenizer.init_kwargs["model_input_names"] = tokenizer.model_input_names = without_segments
    return tokenizer


def tiny_model(
    family: str = "bert",
    *,
    tokenizer: PreTrainedTokenizerFast | None = None,
    seed: int = 0,
    **config: Any,
) -> PreTrainedModel:
    """A masked-LM encoder with random weights: 3 layers, hidden size 32, 4 heads, 512 positions.

    Vocabulary and special ids are the tokenizer's, by default :func:`tiny_tokenizer` of the family; ``config``
    overrides the family's configuration in its own names. The model is in evaluation mode, and the global generators
    are left as they were.
    """
    tokenizer = tokenizer if tokenizer is not None else tiny_tokenizer(family)
    small: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
    }
    settings = {"architecture": family, **small, **_CONFIGURATIONS.get(family, {}), **config}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: PreTrainedModel = AutoModelForMaskedLM.from_config(model_config(settings, tokenizer=tokenizer))
    model.eval()
    return model


def _sentence(rng: random.Random) -> tuple[list[str], list[int]]:
    """Make up a sentence; returns its words, and for each target word the number of the source word that it translates.

    ``the old river sees a garden .`` has the order ``0 2 1 4 5 3 6``: adjectives after their noun, the verb last.
    """
    words: list[str] = []
    order: list[int] = []

    def noun_phrase() -> None:
        """Add a determiner, up to two adjectives and a noun; in the target the noun comes before the adjectives."""
        start = len(words)
        adjectives = rng.sample(sorted(_ADJECTIVES), rng.randint(0, 2))
        words.extend([rng.choice(sorted(_DETERMINERS)), *adjectives, rng.choice(sorted(_NOUNS))])
        noun = len(words) - 1
        order.extend([start, noun, *range(start + 1, noun)])

    noun_phrase()
    # The verb stands here in the source, and behind everything else in the target.
    verb = len(words)
    words.append(rng.choice(sorted(_VERBS)))
    noun_phrase()
    if rng.random() < 0.5:
        order.append(len(words))
        words.append(rng.choice(sorted(_ADVERBS)))
    order.append(verb)
    order.append(len(words))
    words.append(rng.choice(sorted(_ENDS)))
    return words, order


def _join(words: list[str]) -> str:
    """Join words by spaces, except before the punctuation mark at the end."""
    return " ".join(words[:-1]) + words[-1]
