"""Small, generated things to test against: a bitext with gold links, tokenizers and encoders of six families.

Everything is built offline in well under a second and is a pure function of its arguments.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from isoglot.errors import ConfigurationError
from isoglot.schema import ALIGNED, BITEXT, LEXICON, TEXT

FAMILIES = ("bert", "roberta", "xlm-roberta", "distilbert", "deberta-v2", "modernbert")
"""Encoder families that :func:`tiny_model` and :func:`tiny_tokenizer` build, by Hugging Face's ``model_type``."""

_DETERMINERS = {"the": "ta", "a": "un", "every": "jeda", "this": "ceti"}
_NOUNS = {
    "river": "potamo",
    "teacher": "insegnar",
    "window": "fenestro",
    "garden": "jardeno",
    "letter": "brevolo",
    "mountain": "bergoto",
    "child": "kindelo",
    "captain": "kapitano",
    "winter": "hiverno",
    "machine": "masxino",
    "island": "insulano",
    "question": "demando",
    "library": "bibliotek",
    "horse": "cavalo",
}
_ADJECTIVES = {
    "old": "velha",
    "quiet": "silentia",
    "green": "verdona",
    "broken": "rompita",
    "distant": "lontana",
    "small": "klenika",
    "bright": "lumosa",
}
_VERBS = {
    "sees": "vidas",
    "follows": "sekvas",
    "remembers": "memoras",
    "builds": "konstruas",
    "opens": "apertas",
    "forgets": "oblidas",
    "paints": "pentras",
}
_ADVERBS = {"slowly": "lentamente", "again": "denove", "today": "hodiau", "never": "neniam"}
_ENDS = {".": ".", "!": "!", "?": "?"}
_WORDS = _DETERMINERS | _NOUNS | _ADJECTIVES | _VERBS | _ADVERBS


def tiny_aligned(
    size: int = 64, *, seed: int = 0, source_language: str = "en", target_language: str = "xx"
) -> Dataset:
    """An ALIGNED corpus of made-up sentence pairs with gold one-to-one links.

    The target language translates word for word, puts adjectives after their noun and the verb last, so links cross.

    Args:
        size: number of pairs.
        seed: the same seed gives the same pairs.
        source_language: the code in ``source_language``.
        target_language: the code in ``target_language``.
    """
    rng = random.Random(seed)
    rows: dict[str, list[Any]] = {name: [] for name in ALIGNED}
    for _ in range(size):
        source, order = _sentence(rng)
        target = [_WORDS.get(source[i], source[i]) for i in order]
        rows["source"].append(_join(source))
        rows["target"].append(_join(target))
        rows["source_language"].append(source_language)
        rows["target_language"].append(target_language)
        rows["source_words"].append(source)
        rows["target_words"].append(target)
        rows["links"].append(sorted([i, j] for j, i in enumerate(order)))
    return Dataset.from_dict(rows, features=ALIGNED)


def tiny_bitext(
    size: int = 64, *, seed: int = 0, source_language: str = "en", target_language: str = "xx"
) -> Dataset:
    """The pairs of :func:`tiny_aligned` as a BITEXT corpus, without words and links."""
    aligned = tiny_aligned(size, seed=seed, source_language=source_language, target_language=target_language)
    return aligned.select_columns(list(BITEXT))


def tiny_text(size: int = 64, *, seed: int = 0, language: str = "en") -> Dataset:
    """A TEXT corpus: the source sides (``language="en"``) or, for another code, the target sides of the pairs."""
    column = "source" if language == "en" else "target"
    texts = tiny_bitext(size, seed=seed)[column]
    return Dataset.from_dict({"text": list(texts), "language": [language] * size}, features=TEXT)


def tiny_lexicon(*, source_language: str = "en", target_language: str = "xx") -> Dataset:
    """The LEXICON that :func:`tiny_aligned` translates with, one entry a word."""
    count = len(_WORDS)
    rows = {
        "source": list(_WORDS),
        "target": list(_WORDS.values()),
        "source_language": [source_language] * count,
        "target_language": [target_language] * count,
    }
    return Dataset.from_dict(rows, features=LEXICON)


def tiny_tokenizer(family: str = "bert", *, vocab_size: int = 160) -> PreTrainedTokenizerFast:
    """A fast tokenizer of a family's kind, trained on the made-up pairs.

    BERT and DistilBERT: WordPiece, ``[CLS] S [SEP] T [SEP]`` with segment ids (DistilBERT without). RoBERTa:
    byte-level BPE, ``<s> S </s></s> T </s>``. XLM-R: Unigram, the same pair. DeBERTa-v2: Unigram, BERT's specials.
    ModernBERT: byte-level BPE, BERT's specials.

    Args:
        family: one of :data:`FAMILIES`.
        vocab_size: pieces including specials; the words of the corpus split into several at the default
            (byte-level families hold at least 256 bytes and their specials).

    Raises:
        ConfigurationError: no such family.
    """
    family = _family(family)
    bracketed = family not in ("roberta", "xlm-roberta")
    specials = (
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        if bracketed
        else ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    )
    names = ("pad", "unk", "cls", "sep", "mask") if bracketed else ("cls", "pad", "sep", "unk", "mask")
    named = {f"{name}_token": token for name, token in zip(names, specials, strict=True)}
    if not bracketed:
        named |= {"bos_token": "<s>", "eos_token": "</s>"}
    pairs = tiny_bitext(200)
    core = _trained(family, vocab_size, specials, [*pairs["source"], *pairs["target"]], named["unk_token"])
    core.post_processor = _pair_template(core, named["cls_token"], named["sep_token"], doubled=not bracketed)
    segments = family in ("bert", "deberta-v2")
    inputs = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_input_names=inputs, model_max_length=512, **named
    )


def tiny_model(
    family: str = "bert",
    *,
    tokenizer: PreTrainedTokenizerFast | None = None,
    seed: int = 0,
    **config: Any,
) -> PreTrainedModel:
    """A masked-LM encoder with random weights: 3 layers, hidden size 32, 4 heads, 512 positions.

    Args:
        family: one of :data:`FAMILIES`.
        tokenizer: sets vocabulary size and special ids; :func:`tiny_tokenizer` of the family if not given.
        seed: seed of the weights; the global generators are left as they were.
        **config: overrides of the family's configuration, in its own names.

    Returns:
        The model in evaluation mode.

    Raises:
        ConfigurationError: no such family.
    """
    family = _family(family)
    tokenizer = tokenizer if tokenizer is not None else tiny_tokenizer(family)
    settings = _configuration(family, tokenizer, config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: PreTrainedModel = AutoModelForMaskedLM.from_config(settings)
    model.eval()
    return model


def _family(name: str) -> str:
    """The family's canonical name; underscores and ``xlmr`` are understood."""
    canonical = {"xlmr": "xlm-roberta", "xlm-r": "xlm-roberta", "deberta": "deberta-v2"}.get(name, name)
    canonical = canonical.replace("_", "-")
    if canonical not in FAMILIES:
        raise ConfigurationError(
            f"family {name!r} given; tiny models exist for {', '.join(FAMILIES)}; use one"
        )
    return canonical


def _sentence(rng: random.Random) -> tuple[list[str], list[int]]:
    """Source words, and for each target position the source position it translates."""
    words: list[str] = []
    order: list[int] = []

    def noun_phrase() -> None:
        start = len(words)
        adjectives = rng.sample(sorted(_ADJECTIVES), rng.randint(0, 2))
        words.extend([rng.choice(sorted(_DETERMINERS)), *adjectives, rng.choice(sorted(_NOUNS))])
        noun = len(words) - 1
        order.extend([start, noun, *range(start + 1, noun)])

    noun_phrase()
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
    return " ".join(words[:-1]) + words[-1]


def _trained(family: str, vocab_size: int, specials: list[str], texts: list[str], unk: str) -> Tokenizer:
    """A tokenizer of the family's algorithm; the same in every call and process.

    The library's WordPiece trainer numbers its alphabet, and its Unigram trainer sums its scores, in the order of a
    hash table that is seeded anew for each call. So WordPiece is trained again with the alphabet in a fixed order,
    and Unigram pieces are counted here.
    """
    common: dict[str, Any] = {"vocab_size": vocab_size, "special_tokens": specials, "show_progress": False}
    if family in ("bert", "distilbert"):
        core = _word_pieces(unk)
        core.train_from_iterator(texts, trainers.WordPieceTrainer(**(common | {"vocab_size": 0})))
        alphabet = sorted(set(core.get_vocab()) - set(specials))
        ordered, final = _word_pieces(unk), _word_pieces(unk)
        ordered.train_from_iterator(
            texts, trainers.WordPieceTrainer(**(common | {"special_tokens": [*specials, *alphabet]}))
        )
        final.model = models.WordPiece(vocab=ordered.get_vocab(), unk_token=unk)
        final.add_special_tokens(specials)
        return final
    if family in ("roberta", "modernbert"):
        core = Tokenizer(models.BPE())
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        core.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        size = max(vocab_size, 256 + len(specials) + 60)
        trainer = trainers.BpeTrainer(**(common | {"vocab_size": size, "initial_alphabet": alphabet}))
        core.train_from_iterator(texts, trainer)
        return core
    pieces = [(token, 0.0) for token in specials] + _unigram_pieces(texts, vocab_size - len(specials))
    core = Tokenizer(models.Unigram(pieces, specials.index(unk), False))
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    core.add_special_tokens(specials)
    return core


def _word_pieces(unk: str) -> Tokenizer:
    core = Tokenizer(models.WordPiece(unk_token=unk))
    core.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    return core


def _unigram_pieces(texts: list[str], size: int) -> list[tuple[str, float]]:
    """All characters, and the substrings of words that cover most, with their log shares; ties by code points."""
    words = Counter(f"▁{word}" for text in texts for word in text.split())
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for stop in range(start + 1, len(word) + 1):
                counts[word[start:stop]] += count
    characters = sorted(piece for piece in counts if len(piece) == 1)
    longer = sorted((p for p in counts if len(p) > 1), key=lambda p: (-counts[p] * (len(p) - 1), p))
    chosen = [*characters, *longer[: max(0, size - len(characters))]]
    total = sum(counts[piece] for piece in chosen)
    scored = [(piece, math.log(counts[piece] / total)) for piece in chosen]
    return sorted(scored, key=lambda item: (-item[1], item[0]))


def _pair_template(core: Tokenizer, cls: str, sep: str, *, doubled: bool) -> Any:
    second = "0" if doubled else "1"
    return processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 {sep + ':0 ' if doubled else ''}$B:{second} {sep}:{second}",
        special_tokens=[(cls, core.token_to_id(cls)), (sep, core.token_to_id(sep))],
    )


def _configuration(
    family: str, tokenizer: PreTrainedTokenizerFast, overrides: dict[str, Any]
) -> PreTrainedConfig:
    common = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
    }
    sizes = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
    positions = {"max_position_embeddings": 514, "type_vocab_size": 1}
    own: dict[str, dict[str, Any]] = {
        "bert": sizes,
        "roberta": sizes | positions,
        "xlm-roberta": sizes | positions,
        "distilbert": {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 64},
        "deberta-v2": sizes | {
            "relative_attention": True, "position_buckets": 32, "pos_att_type": ["p2c", "c2p"], "share_att_key": True,
            "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0,
        },
        "modernbert": sizes | {
            "global_attn_every_n_layers": 3, "local_attention": 64, "max_position_embeddings": 512,
            "cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id,
        },
    }  # fmt: skip
    return AutoConfig.for_model(family, **(common | own[family] | overrides))
