"""Train fast tokenizers on corpora."""

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from isoglot.core.checks import given_texts, validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options

Algorithm = Literal["wordpiece", "bpe", "byte_bpe", "unigram"]
"""WordPiece as mBERT's; BPE over characters; BPE over bytes as RoBERTa's; Unigram as XLM-R's."""

_SPECIALS = {
    "bert": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    "roberta": {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"},
}
_WHOLE_ALPHABET = 1 << 31  # the WordPiece trainer's own default would cut at 1,000 characters
_SCORE_DIGITS = 4
"""Decimals of Unigram's scores: later ones differ with the order of a hash table."""
_APPENDED_STEP = 1e-4
"""Difference of the scores of two characters that Unigram's trainer appends one after the other."""


class TokenizerOptions(Options):
    """Options of a tokenizer to train.

    Attributes:
        algorithm: ``wordpiece``, ``bpe``, ``byte_bpe`` or ``unigram``.
        vocab_size: Number of pieces, special tokens included (ALIGN-MLM: 40,000); fewer if the texts have no more.
        family: ``bert`` (``[CLS] A [SEP] B [SEP]``, segment ids 0 and 1) or ``roberta``
            (``<s> A </s></s> B </s>``, no segment ids), for RoBERTa and XLM-R.
        lowercase: Lower-case all text.
        min_frequency: Minimum count of a pair of pieces to be merged (not of Unigram).
        model_max_length: Longest input that the tokenizer announces.
    """

    algorithm: Algorithm = "wordpiece"
    vocab_size: int = Field(default=16_000, ge=8)
    family: Literal["bert", "roberta"] = "bert"
    lowercase: bool = False
    min_frequency: int = Field(default=2, ge=0)
    model_max_length: int = Field(default=512, ge=2)


def train_tokenizer(
    texts: Iterable[str], options: TokenizerOptions | None = None, **settings: Any
) -> PreTrainedTokenizerFast:
    """Train a tokenizer on texts, ready for an encoder from scratch and for ``save_pretrained``.

    The same texts give the same tokenizer in every process, although the trainers depend on the order of hash tables:

    1. WordPiece is trained in two rounds. The first one finds the alphabet, whose order the second one is given.
    2. Unigram's scores are rounded to four decimals, and ties are sorted. A difference remains only where two pieces
       tie for the last place in the vocabulary.

    Args:
        texts: Sentences. They are read once, or twice for WordPiece, which keeps them in memory if they can only be
            read once.
        options: The tokenizer to train.
        **settings: Fields of :class:`TokenizerOptions`, instead of ``options``.

    Returns:
        The tokenizer; ``AutoTokenizer`` reads it back from a folder, also from beside a model's ``config.json``.

    Raises:
        ConfigurationError: There is no text, or the vocabulary is smaller than the alphabet.

    Example:
        >>> tokenizer = train_tokenizer(["a river", "a rivet"], algorithm="bpe", vocab_size=17, min_frequency=1)
        >>> tokenizer.tokenize("a river")
        ['▁a', '▁rive', 'r']
    """
    options = options or validated(TokenizerOptions, settings, owner="the tokenizer")
    is_read_once = iter(texts) is texts
    if options.algorithm == "wordpiece" and is_read_once:
        texts = list(texts)  # for the second round
    counted = _CountedTexts(texts)
    specials = list(_SPECIALS[options.family].values())
    trained = _TRAINERS[options.algorithm](counted, options, specials)
    if counted.characters == 0:
        raise ConfigurationError("no text to train a tokenizer on; pass at least one sentence")
    core = _skeleton(options, trained)
    for token in specials:
        lstrip = token == _SPECIALS["roberta"]["mask"]  # RoBERTa's mask takes the space before it with it
        core.add_special_tokens([AddedToken(token, special=True, normalized=False, lstrip=lstrip)])
    # If the alphabet is larger than the vocabulary, the trainer exceeds the size or drops special tokens.
    size = core.get_vocab_size()
    specials_come_first = all(core.token_to_id(token) == i for i, token in enumerate(specials))
    if size > options.vocab_size or not specials_come_first:
        raise ConfigurationError(
            f"vocab_size={options.vocab_size} is too small, special tokens and characters alone are {size}; raise it"
        )
    core.post_processor = _post_processor(options, core)
    names = {f"{name}_token": token for name, token in _SPECIALS[options.family].items()}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    if options.family == "roberta":
        names |= {"bos_token": names["cls_token"], "eos_token": names["sep_token"]}
        inputs.remove("token_type_ids")
    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_input_names=inputs, model_max_length=options.model_max_length, **names
    )


class _CountedTexts:
    """Texts that count their characters as they are read, so that a corpus without any text is noticed."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = texts
        self.characters = 0

    def __iter__(self) -> Any:
        for text in given_texts(self.texts):
            self.characters += len(text.strip())
            yield text


def wordpiece_pieces(
    core: Tokenizer, texts: Iterable[str], size: int, *, first: Iterable[str], min_frequency: int = 0
) -> list[str]:
    """Train WordPiece; return its pieces in the order of their ids.

    Args:
        core: Tokenizer with a WordPiece model.
        texts: Sentences.
        size: Number of pieces.
        first: Pieces that come first, in this order.
        min_frequency: Least count of a pair to be merged.
    """
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=list(first),
        min_frequency=min_frequency,
        limit_alphabet=_WHOLE_ALPHABET,
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    pieces = core.get_vocab()
    return sorted(pieces, key=pieces.__getitem__)


def alphabetical(pieces: Iterable[str]) -> list[str]:
    """Sort the characters of an alphabet: ``a``, ``##a``, ``b``, ``##b``."""
    return sorted(pieces, key=lambda piece: (piece.removeprefix("##"), piece))


def _train_wordpiece(texts: _CountedTexts, options: TokenizerOptions, specials: list[str]) -> Any:
    """Train WordPiece in two rounds; its trainer takes the order of the alphabet from a hash table.

    The first round makes no merges and finds the alphabet; the second gets the alphabet in a fixed order.
    """
    unknown = _SPECIALS[options.family]["unk"]

    def trained(size: int, first: list[str]) -> list[str]:
        core = _skeleton(options, models.WordPiece(unk_token=unknown))
        return wordpiece_pieces(core, texts, size, first=first, min_frequency=options.min_frequency)

    alphabet = alphabetical(set(trained(0, specials)) - set(specials))
    pieces = trained(options.vocab_size, [*specials, *alphabet])
    return models.WordPiece(vocab={piece: i for i, piece in enumerate(pieces)}, unk_token=unknown)


def _train_bpe(texts: _CountedTexts, options: TokenizerOptions, specials: list[str]) -> Any:
    unknown = _SPECIALS[options.family]["unk"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) if options.algorithm == "byte_bpe" else []
    core = _skeleton(options, models.BPE(unk_token=None if alphabet else unknown))
    trainer = trainers.BpeTrainer(
        vocab_size=options.vocab_size,
        min_frequency=options.min_frequency,
        special_tokens=specials,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    return core.model


def _train_unigram(texts: _CountedTexts, options: TokenizerOptions, specials: list[str]) -> Any:
    unknown = _SPECIALS[options.family]["unk"]
    core = _skeleton(options, models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=options.vocab_size, special_tokens=specials, unk_token=unknown, show_progress=False
    )
    try:
        core.train_from_iterator(texts, trainer)
    except Exception as error:
        raise ConfigurationError(
            f"Unigram training with vocab_size={options.vocab_size} failed ({error}); raise it, or give more text"
        ) from error
    model = json.loads(core.to_str())["model"]
    pieces = [(piece, score) for piece, score in model["vocab"] if piece not in specials]
    ordered = canonical_scores(pieces)
    return models.Unigram([(token, 0.0) for token in specials] + ordered, specials.index(unknown), False)


def canonical_scores(pieces: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Remove the traces of a hash table's order from the pieces and scores of Unigram.

    1. The trainer appends the characters that training left out in the order of a hash table: the first one with the
       lowest score, the next with 0.0001 more, and so on. Here these characters are sorted by their code points, and
       get the same scores from the highest to the lowest: of −9 and −8.9999, `a` gets −8.9999, and `b` gets −9.
    2. Scores are sums in the order of a hash table: they are rounded.
    3. Equal scores are sorted by their pieces.
    """
    lowest = min((score for _, score in pieces), default=0.0)
    appended: list[str] = []
    scores: list[float] = []
    for piece, score in pieces:
        steps = (score - lowest) / _APPENDED_STEP
        is_whole = abs(steps - round(steps)) < 1e-5
        if len(piece) == 1 and steps < len(pieces) and is_whole:
            appended.append(piece)
            scores.append(score)
    reordered = dict(zip(sorted(appended), sorted(scores, reverse=True), strict=True))
    rounded = [(piece, round(reordered.get(piece, score), _SCORE_DIGITS)) for piece, score in pieces]
    return sorted(rounded, key=lambda entry: (-entry[1], entry[0]))


_TRAINERS = {
    "wordpiece": _train_wordpiece,
    "bpe": _train_bpe,
    "byte_bpe": _train_bpe,
    "unigram": _train_unigram,
}


def _skeleton(options: TokenizerOptions, model: Any) -> Tokenizer:
    """Put the normaliser, pre-tokeniser and decoder of an algorithm around a model."""
    core = Tokenizer(model)
    steps: list[Any] = []
    if options.algorithm == "wordpiece":
        steps.append(
            normalizers.BertNormalizer(
                clean_text=True,
                handle_chinese_chars=True,
                strip_accents=False,
                lowercase=options.lowercase,
            )
        )
        core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        core.decoder = decoders.WordPiece()
    else:
        byte_level = options.algorithm == "byte_bpe"
        steps.append(normalizers.NFC() if byte_level else normalizers.NFKC())
        if options.lowercase:
            steps.append(normalizers.Lowercase())
        if byte_level:
            core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, trim_offsets=True)
            core.decoder = decoders.ByteLevel()
        else:
            steps.append(normalizers.Replace(Regex(r"[\s\u200b\ufeff]+"), " "))
            core.pre_tokenizer = pre_tokenizers.Metaspace()
            core.decoder = decoders.Metaspace()
    core.normalizer = normalizers.Sequence(steps)
    return core


def _post_processor(options: TokenizerOptions, core: Tokenizer) -> Any:
    """Make the step that puts special tokens and segment ids (behind the colons) around one text or two."""
    names = _SPECIALS[options.family]
    cls, sep = names["cls"], names["sep"]
    second = f"{sep}:0 $B:0 {sep}:0" if options.family == "roberta" else f"$B:1 {sep}:1"
    template = processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 {second}",
        special_tokens=[(cls, core.token_to_id(cls)), (sep, core.token_to_id(sep))],
    )
    if options.algorithm != "byte_bpe":
        return template
    # Without this step a byte-level piece's characters would include the space before its word.
    return processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
