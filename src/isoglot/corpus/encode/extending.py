"""A tokenizer with more pieces: those that a tokenizer of the same kind, trained on new text, has beside its own.

* Unigram: the new pieces keep their scores, which are those of the new text alone. They are higher than what the old
  pieces of that text have among all other languages, so that the best path through a word takes the new ones.
* WordPiece takes the longest piece at each place, so longer new pieces come before the old ones.

Old pieces keep their ids and scores. Text of other languages is cut differently where it has a new piece.
"""

import json
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from tokenizers import Tokenizer, models, trainers

from isoglot.corpus.encode.tokenizer import alphabetical, canonical_scores, wordpiece_pieces
from isoglot.errors import ConfigurationError

_ROUNDS, _PLAIN_ROUNDS = 12, 2
_LARGEST = 1 << 17
"""More pieces than any text has characters."""
_UNKNOWN = "<unk>"
_Scored = list[tuple[str, float]]
"""Pieces and their scores."""


def extended_tokenizer(backend: Tokenizer, texts: Iterable[str], count: int) -> Tokenizer:
    """A tokenizer with ``count`` more pieces, or as many as the texts hold, behind the old ones.

    ``texts`` are read several times.

    Raises:
        ConfigurationError: A kind of tokenizer that cannot be extended, or texts without a new piece.
    """
    values = json.loads(backend.to_str())
    model = values["model"]
    if model["type"] not in _TRAINED:
        raise ConfigurationError(
            f"a {model['type']} tokenizer cannot be extended; model.new_pieces takes one of {', '.join(_TRAINED)}"
        )
    old = backend.get_vocab(with_added_tokens=True)
    found = _TRAINED[model["type"]](backend, texts, count)
    if not found:
        raise ConfigurationError(
            "model.new_pieces: the text has no piece that the tokenizer lacks; use another language or more text"
        )
    first = max(old.values()) + 1
    if model["type"] == "Unigram":
        if first != len(model["vocab"]):
            raise ConfigurationError(
                "model.new_pieces: added tokens come after the tokenizer's pieces; save it with them among the pieces"
            )
        model["vocab"] += [[piece, score] for piece, score in found[:count]]
    else:
        model["vocab"] |= {piece: first + place for place, (piece, _) in enumerate(found[:count])}
    return Tokenizer.from_str(json.dumps(values, ensure_ascii=False))


def piece_cutter(backend: Tokenizer) -> Callable[[str], list[int]]:
    """Cuts a piece of another tokenizer of the same kind into the ids of this one's; none for what it cannot cut."""
    vocabulary, model = backend.get_vocab(), json.loads(backend.to_str())["model"]
    if model["type"] == "Unigram":
        unknown = model["unk_id"]
        return lambda piece: [token.id for token in backend.model.tokenize(piece) if token.id != unknown]
    mark = model["continuing_subword_prefix"]

    def cut(piece: str) -> list[int]:
        body, found = piece.removeprefix(mark), list[int]()
        inside = body != piece
        while body:
            prefix = mark if inside else ""
            end = next((n for n in range(len(body), 0, -1) if prefix + body[:n] in vocabulary), None)
            if end is None:
                return []
            found.append(vocabulary[prefix + body[:end]])
            body, inside = body[end:], True
        return found

    return cut


def _skeleton(backend: Tokenizer, model: Any) -> Tokenizer:
    core = Tokenizer(model)
    for part in ("normalizer", "pre_tokenizer"):
        if getattr(backend, part) is not None:
            setattr(core, part, getattr(backend, part))
    return core


def _unigram(backend: Tokenizer, texts: Iterable[str], count: int) -> _Scored:
    def trained(size: int) -> _Scored:
        core = _skeleton(backend, models.Unigram())
        trainer = trainers.UnigramTrainer(
            vocab_size=size, unk_token=_UNKNOWN, special_tokens=[_UNKNOWN], show_progress=False
        )
        try:
            core.train_from_iterator(texts, trainer)
        except Exception as error:
            if size < _LARGEST:  # fewer than the text has characters, most of which may be known
                return trained(2 * size)
            raise ConfigurationError(
                f"model.new_pieces: training of {count} pieces failed ({error}); give more text"
            ) from error
        found = json.loads(core.to_str())["model"]["vocab"]
        return canonical_scores([(piece, score) for piece, score in found if piece != _UNKNOWN])

    return _enough(trained, backend.get_vocab(), count, count)


def _wordpiece(backend: Tokenizer, texts: Iterable[str], count: int) -> _Scored:
    def trained(size: int, first: Sequence[str]) -> list[str]:
        core = _skeleton(backend, models.WordPiece(unk_token=_UNKNOWN))
        return wordpiece_pieces(core, texts, size, first=first)

    alphabet = alphabetical(trained(0, ()))

    def scored(size: int) -> _Scored:
        return [(piece, 0.0) for piece in trained(size, alphabet)]

    return _enough(scored, backend.get_vocab(), count, len(alphabet) + count)


def _enough(trained: Callable[[int], _Scored], known: Container[str], count: int, size: int) -> _Scored:
    """At least ``count`` pieces that are not known, or all that the texts hold.

    ``trained``: The pieces of a training of some size. Some of them are known, so it is trained again, ever larger,
    until enough are new.
    """
    new, before = _Scored(), 0
    for number in range(_ROUNDS):
        earlier, found = len(new), trained(size)
        new = max(new, [entry for entry in found if entry[0] not in known], key=len)
        lacking = count - len(new)
        # a trainer gives less than it is asked for also where there is more
        if lacking <= 0 or 2 * len(found) < size:
            break
        more = lacking
        if number >= _PLAIN_ROUNDS:  # as many of the next pieces are known as of those that came last
            more = min(size, -(-lacking * (size - before) // max(1, len(new) - earlier)))
        size, before = size + max(lacking, more), size
    return new


_TRAINED = {"Unigram": _unigram, "WordPiece": _wordpiece}
