"""Reduce a tokenizer to the pieces that a given text uses, so that this text is cut as before.

1. :func:`count_pieces` counts the pieces of the text, in each form in which programs give text to an encoder
   (:func:`_forms`).
2. :func:`chosen_pieces` adds the pieces without which the text would be cut differently.
3. :func:`trimmed_tokenizer` removes all others and renumbers.

Why the cut stays the same, for each algorithm (users are promised this by :func:`isoglot.trim`, by the help of
``isoglot trim`` and by ``docs/reference/guarantees.md``):

* Unigram takes the best path through the pieces found in a text. Removing pieces that are on no best path removes no
  best path, and adds none. The score of an unknown character depends on the lowest score, so its piece is kept.
* WordPiece takes the longest piece at each place. A word that it cannot cut is unknown; the pieces that it finds before
  it gets stuck are kept, because without them another attempt could succeed (:func:`_pieces_before_dead_end`).
* BPE applies merges by rank. A piece is always built by the same merges, whatever stands around it. For each piece that
  the text uses, the pieces that these merges join and make are kept (:meth:`_Merges.building_blocks`), and with them
  the merges, in their order. So at each step the same merge comes first.

Source: Abdaoui et al. 2020, "Load What You Need"; Ushio et al. 2023, "Efficient Multilingual Language Model Compression
through Vocabulary Trimming".
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, pre_tokenizers

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.unknown import piece_spans
from isoglot.formats.words import has_unspaced, joined_spans, split_words, word_spans

_BATCH = 8192
_FORMS = 5
"""Forms in which a text is given to an encoder: see :func:`_forms`."""
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
"""Pieces of one byte, which SentencePiece's models have for characters without a piece."""


@dataclass(frozen=True)
class Usage:
    """The pieces and characters of a tokenizer that text uses.

    Args:
        counts: How often each piece occurs, by id. Each of the five forms of the text (:func:`_forms`) has counts of
            its own, and the largest of the five is taken.
        tried: Pieces that WordPiece finds in words that it cannot cut.
        characters: Characters of words that have unknown pieces.
    """

    counts: NDArray[np.int64]
    tried: set[int] = field(default_factory=set)
    characters: set[str] = field(default_factory=set)

    @property
    def used(self) -> list[int]:
        """The ids of the pieces that occur in any form of the text, once or more; ascending."""
        return np.flatnonzero(self.counts).tolist()


def count_pieces(backend: Tokenizer, texts: Iterable[str]) -> Usage:
    """Count the pieces of texts in all forms in which programs give them to an encoder, in bounded memory.

    Where a text spells a special token, it is counted both as that token and as its characters.
    """
    vocabulary = backend.get_vocab(with_added_tokens=True)
    model = json.loads(backend.to_str())["model"]
    is_unigram = model["type"] == "Unigram"
    unknown = model["unk_id"] if is_unigram else vocabulary.get(model["unk_token"], -1)
    special = [token.content for token in backend.get_added_tokens_decoder().values() if token.special]
    spells_special = re.compile("|".join(map(re.escape, special)) or r"(?!)")  # (?!) matches nothing

    counts = np.zeros((_FORMS, max(vocabulary.values(), default=-1) + 1), dtype=np.int64)
    tried: set[int] = set()
    characters: set[str] = set()
    for batch in _batches(texts):
        for form_counts, written in zip(counts, _forms(backend, batch, unknown), strict=True):
            encodings = backend.encode_batch_fast(written, add_special_tokens=False)
            _add(form_counts, encodings)

            # `<mask>` is one piece above. It is cut once more like any other text: `<`, `mask`, `>`.
            literal = [text for text in written if spells_special.search(text)]
            if literal:
                # True tells the library to cut special tokens like text.
                backend.encode_special_tokens = True
                _add(form_counts, backend.encode_batch_fast(literal, add_special_tokens=False))
                backend.encode_special_tokens = False

            if is_unigram:  # pieces that are on no best path do not change its cut
                continue
            for text, encoding in zip(written, encodings, strict=True):
                if unknown not in encoding.ids:
                    continue
                for word in _words_of_model(backend, text):
                    characters.update(word)
                    if model["type"] == "WordPiece":
                        tried.update(_pieces_before_dead_end(word, vocabulary, model))
    return Usage(counts.max(axis=0), tried, characters)


def _forms(backend: Tokenizer, texts: list[str], unknown: int | None) -> tuple[list[str], ...]:
    """Write texts in the forms in which programs give them to an encoder; unchanged texts may be left out of a form.

    ``Hi, 北京.`` is given

    1. as it is;
    2. as the words that white space separates, joined by single spaces;
    3. as words of running text, joined by spaces: ``Hi , 北 京 .``;
    4. if its script has no spaces, as words that an aligner links, single characters joined where the tokenizer has a
       longer piece: ``Hi , 北京 .``;
    5. as an entry of a dictionary, with a space in front, if the tokenizer cuts such a word differently.
    """
    by_white_space = []
    for text in texts:
        joined = " ".join(split_words(text, mode="whitespace"))
        if joined != text:
            by_white_space.append(joined)

    as_words = [" ".join(split_words(text)) for text in texts]

    unspaced = [text for text in texts if has_unspaced(text)]
    joined_words = []
    encodings = backend.encode_batch(unspaced, add_special_tokens=False)
    for text, encoding in zip(unspaced, encodings, strict=True):
        spans = joined_spans(text, word_spans(text), piece_spans(encoding, unknown))
        joined_words.append(" ".join(text[start:end] for start, end in spans))

    entries = []
    if backend.encode("a").ids != backend.encode(" a").ids:
        entries = [f" {text}" for text in texts]
    return texts, by_white_space, as_words, joined_words, entries


def _words_of_model(backend: Tokenizer, text: str) -> list[str]:
    """The strings that the tokenizer's model receives: the text normalised and cut into pre-tokens."""
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    if backend.pre_tokenizer is None:
        return [text]
    return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(text)]


def expected_pieces(usage: Usage, times: float) -> int:
    r"""Estimate by Heaps' law the number of pieces that ``times`` as much text of the same kind would use.

    .. math:: V(t\,n) = V(n)\, t^{\,V_1 / V(n)}

    with :math:`V` the number of different pieces in n tokens (:attr:`Usage.used`), and :math:`V_1` the number of pieces
    that occur once. The next token is a new piece with probability :math:`V_1 / n` (Baayen 2001, *Word Frequency
    Distributions*), so :math:`V_1 / V` is the exponent here. For 15 corpora, estimates from a tenth of the text (random
    or the first) were between 19 % too low and 37 % too high; the median was 12 % too high.
    """
    used = len(usage.used)
    once = int((usage.counts == 1).sum())
    estimate = round(used * times ** (once / max(1, used)))
    return int(min(len(usage.counts), estimate))


def chosen_pieces(backend: Tokenizer, usage: Usage, *, always: Collection[int] = ()) -> NDArray[np.int64]:
    """Choose the pieces to keep: those that text uses, even once, and those without which it would be cut differently.

    Args:
        backend: The tokenizer.
        usage: The pieces that :func:`count_pieces` found.
        always: Ids to keep even if the text does not use them.

    Returns:
        The ids, ascending.
    """
    vocabulary = backend.get_vocab(with_added_tokens=True)
    piece_texts = {number: text for text, number in vocabulary.items()}
    model = json.loads(backend.to_str())["model"]
    kept = {*usage.used, *usage.tried}
    kept.update(number for number in always if number in piece_texts)
    needed = set(_indispensable(backend, model, usage, piece_texts))
    if model["type"] == "BPE":
        merges = _Merges(model)
        for number in usage.used:
            needed |= merges.building_blocks(piece_texts[number])
    kept.update(vocabulary[text] for text in needed if text in vocabulary)
    return np.array(sorted(kept), dtype=np.int64)


def trimmed_tokenizer(backend: Tokenizer, pieces: NDArray[np.int64]) -> Tokenizer:
    """Make a tokenizer with some of the pieces, renumbered in the same order.

    Args:
        backend: The tokenizer.
        pieces: Ids to keep, as :func:`chosen_pieces` returns them: 0, 4 and 7 become 0, 1 and 2.

    Raises:
        ConfigurationError: Added tokens stand between the pieces, or the algorithm is another one.
    """
    settings = json.loads(backend.to_str())
    new_ids = {int(old): new for new, old in enumerate(pieces)}
    _trim_model(settings["model"], new_ids)
    settings["added_tokens"] = [{**token, "id": new_ids[token["id"]]} for token in settings["added_tokens"]]
    if settings["post_processor"] is not None:
        _renumber(settings["post_processor"], new_ids)
    settings["padding"] = settings["truncation"] = None
    trimmed = Tokenizer.from_str(json.dumps(settings, ensure_ascii=False))

    # Loading numbers added tokens behind all pieces, so one that stood between two pieces now has another id.
    vocabulary = backend.get_vocab(with_added_tokens=True)
    wanted = {text: new_ids[old] for text, old in vocabulary.items() if old in new_ids}
    if trimmed.get_vocab(with_added_tokens=True) != wanted:
        raise ConfigurationError(
            "added tokens are between the tokenizer's pieces; save it with them at the end, then trim it"
        )
    return trimmed


def cut_differences(before: Tokenizer, after: Tokenizer, texts: Iterable[str]) -> tuple[int, int]:
    """Count the pieces of texts, and the pieces that a second tokenizer cuts differently.

    Where ``▁river s`` becomes ``▁riv ers``, two of two pieces differ.
    """
    total = changed = 0
    for batch in _batches(texts):
        old = before.encode_batch(batch, add_special_tokens=False)
        new = after.encode_batch(batch, add_special_tokens=False)
        for first, second in zip(old, new, strict=True):
            total += len(first)
            if first.tokens != second.tokens:
                # A piece is the same if it also covers the same characters.
                only_first = Counter(zip(first.tokens, first.offsets, strict=True))
                only_first -= Counter(zip(second.tokens, second.offsets, strict=True))
                changed += only_first.total()
    return total, changed


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(texts)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


def _add(counts: NDArray[np.int64], encodings: Iterable[Any]) -> None:
    """Add the pieces of encodings to the count of each id, in place."""
    ids = np.fromiter((i for encoding in encodings for i in encoding.ids), dtype=np.int64)
    counts += np.bincount(ids, minlength=len(counts))


def _pieces_before_dead_end(word: str, vocabulary: Mapping[str, int], model: Mapping[str, Any]) -> list[int]:
    """The ids of the pieces that WordPiece finds in a word before it gets stuck; none of a word that it can cut.

    Of ``unhapq`` it takes ``un`` and ``##hap``; no piece begins with ``##q``, so the word is unknown. Without ``un`` it
    would try ``u``, and if that led to the end of the word, the word would be known: so both pieces must stay.
    """
    if len(word) > model["max_input_chars_per_word"]:
        return []  # unknown without an attempt
    found: list[int] = []
    start = 0
    while start < len(word):
        prefix = model["continuing_subword_prefix"] if start else ""
        end = len(word)
        while end > start and prefix + word[start:end] not in vocabulary:
            end -= 1
        if end == start:
            return found
        found.append(vocabulary[prefix + word[start:end]])
        start = end
    return []


def _indispensable(
    backend: Tokenizer, model: Mapping[str, Any], usage: Usage, piece_texts: Mapping[int, str]
) -> Iterator[str]:
    """Yield the pieces that any text may need; the vocabulary may lack some of them.

    Args:
        backend: The tokenizer.
        model: Its algorithm and vocabulary, as ``tokenizer.json`` has them.
        usage: The pieces and characters that were seen.
        piece_texts: The text of each piece by its id.
    """
    # Special and other added tokens.
    for token in backend.get_added_tokens_decoder().values():
        yield token.content

    # The 256 bytes, in which characters without a piece are written: `<0xC3>` of SentencePiece, `Ã` of GPT-2.
    if model.get("byte_fallback"):
        yield from filter(_BYTE.fullmatch, piece_texts.values())
    settings = json.loads(backend.to_str())
    if "ByteLevel" in json.dumps([settings["normalizer"], settings["pre_tokenizer"]]):
        yield from pre_tokenizers.ByteLevel.alphabet()

    # The unknown piece, and the lowest score, on which Unigram's score of an unknown character depends.
    if model["type"] == "Unigram":
        pieces: Sequence[tuple[str, float]] = model["vocab"]
        yield min(pieces, key=lambda piece: piece[1])[0]
        if model["unk_id"] is not None:
            yield pieces[model["unk_id"]][0]
    elif model["unk_token"] is not None:
        yield model["unk_token"]

    # Each character of a piece that text uses, and of each unknown word, so that text in the scripts that were seen is
    # never unknown. Alone and inside, at the beginning and at the end of a word: `e`, `##e`, `e</w>`, `##e</w>`.
    prefix = model.get("continuing_subword_prefix") or ""
    suffix = model.get("end_of_word_suffix") or ""
    text_of_used = "".join(piece_texts[number] for number in usage.used)
    for character in {*text_of_used, *usage.characters}:
        yield character
        yield prefix + character
        yield character + suffix
        yield prefix + character + suffix


class _Merges:
    """The merges of a BPE model, by rank: at each step BPE joins the two neighbours of the lowest rank."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.prefix: str = model["continuing_subword_prefix"] or ""
        self.suffix: str = model["end_of_word_suffix"] or ""
        self.ranks = {(left, right): rank for rank, (left, right) in enumerate(model["merges"])}

    def join(self, left: str, right: str) -> str:
        """Join two pieces to the piece that their merge makes: ``lo`` of ``l`` and ``##o``."""
        return left + right.removeprefix(self.prefix)

    def building_blocks(self, piece: str) -> set[str]:
        """Collect every piece that BPE makes on the way from the characters of a piece to the piece.

        With the merges ``l o`` and ``lo w``, ``low`` has ``l``, ``o``, ``w``, ``lo`` and ``low``.
        """
        parts = self._characters(piece)
        blocks = set(parts)
        while len(parts) > 1:
            neighbours = list(pairwise(parts))
            ranks = [self.ranks.get(pair, len(self.ranks)) for pair in neighbours]
            lowest = min(ranks)
            if lowest == len(self.ranks):  # no merge joins any of them
                break
            at = ranks.index(lowest)  # of equal ranks the leftmost
            merged = self.join(*neighbours[at])
            parts[at : at + 2] = [merged]
            blocks.add(merged)
        return blocks

    def _characters(self, piece: str) -> list[str]:
        """The characters of a piece, in the forms in which merging begins: ``##l``, ``##o``, ``##w`` of ``##low``.

        All but the first character of a word have the model's prefix, if there is one; the last has its suffix.
        """
        body = piece.removeprefix(self.prefix).removesuffix(self.suffix)
        begins_word = not (self.prefix and piece.startswith(self.prefix))
        parts = [self.prefix + character for character in body]
        if parts and begins_word:
            parts[0] = body[0]
        if parts and self.suffix and piece.endswith(self.suffix):
            parts[-1] += self.suffix
        return parts


def _trim_model(model: dict[str, Any], new_ids: Mapping[int, int]) -> None:
    """Remove pieces that have no new id, and the merges that need them, in place."""
    if model["type"] == "Unigram":
        model["vocab"] = [piece for number, piece in enumerate(model["vocab"]) if number in new_ids]
        model["unk_id"] = None if model["unk_id"] is None else new_ids[model["unk_id"]]
        return
    if model["type"] not in ("WordPiece", "BPE"):
        raise ConfigurationError(
            f"a {model['type']} tokenizer cannot be trimmed; give one of Unigram, WordPiece or BPE"
        )
    kept = {text: new_ids[number] for text, number in model["vocab"].items() if number in new_ids}
    model["vocab"] = kept
    if model["type"] == "BPE":
        join = _Merges(model).join
        merges = []
        for left, right in model["merges"]:
            if left in kept and right in kept and join(left, right) in kept:
                merges.append((left, right))
        model["merges"] = merges


def _renumber(step: Any, new_ids: Mapping[int, int]) -> None:
    """Renumber the special tokens of a post-processor and of its parts, in place."""
    for part in step.get("processors", ()):
        _renumber(part, new_ids)
    if step["type"] == "TemplateProcessing":
        for token in step.get("special_tokens", {}).values():
            token["ids"] = [new_ids[number] for number in token["ids"]]
    # BERT's and RoBERTa's post-processors have ["[SEP]", 102] in place of that.
    for name in {"sep", "cls"} & step.keys():
        text, number = step[name]
        step[name] = [text, new_ids[number]]
