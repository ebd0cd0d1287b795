"""New pieces for a language: a tokenizer extended, and embeddings that start from what the encoder knows.

A new embedding is a weighted mean of old ones: ``E_new = W E_old``. Where the ways to start differ is ``W``:

* ``mean``: the pieces that the old tokenizer cuts the new one into, in equal shares;
* ``focus``: old pieces that occur in the same text, by the sparsemax of the similarity of their static vectors (Dobler
  and de Melo 2023, FOCUS; here the vectors are a truncated SVD of positive pointwise mutual information);
* ``lexicon``: the pieces of the translations of the words that a new piece stands in (after WECHSEL, Minixhofer et al.
  2022, whose words come from aligned vectors).

A piece that a method has nothing for starts as with ``mean``. ``random`` draws from a normal distribution that has the
deviation of the old embeddings.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from datasets import Dataset
from numpy.typing import NDArray
from scipy.sparse.linalg import svds
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from isoglot.corpus.encode.extending import extended_tokenizer, piece_cutter
from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.corpus.encode.pieces import PieceEncoder, fast_backend
from isoglot.corpus.encode.store import content_hash
from isoglot.errors import ConfigurationError, Problem
from isoglot.modules.encoder import input_embeddings
from isoglot.pretraining.options import NewPiecesOptions
from isoglot.runs.folder import key_of, make_once

_WINDOW, _DIMENSIONS, _LEAST, _SENTENCES = 5, 100, 3, 500_000
_ROWS = 256
"""New pieces that are compared with the old ones at a time: 120 MB and a few copies of them with 60,000 old ones."""
TEXT_COLUMNS = {"text": "language", "source": "source_language", "target": "target_language"}
"""Columns of prepared corpora that hold sentences, and those of their languages."""


def extended(
    tokenizer: PreTrainedTokenizerFast, corpora: Mapping[str, Dataset], options: NewPiecesOptions, cache: Path
) -> PreTrainedTokenizerFast:
    """The tokenizer with the pieces of a language that corpora hold; kept in the cache."""
    texts = Texts(corpora, options.language)
    if next(iter(texts), None) is None:
        text = f"no stream has text in {options.language!r}"
        raise ConfigurationError(Problem(text, ("model", "new_pieces", "language")))
    backend = fast_backend(tokenizer)
    content = [content_hash(corpora[name], columns) for name, columns in texts.columns.items()]
    key = key_of([options.count, options.language, backend.to_str(), content])
    folder = cache / "tokenizers" / f"extended-{key}"

    def make(place: Path) -> dict[str, Any]:
        tokenizer.save_pretrained(str(place))
        extended_tokenizer(backend, texts, options.count).save(str(place / "tokenizer.json"))
        return {"language": options.language}

    make_once(folder, {}, make, what="tokenizer", cached=True)
    return load_tokenizer(folder)


class Texts:
    """The sentences of corpora, all or those in a language, which can be read more than once."""

    def __init__(self, corpora: Mapping[str, Dataset], language: str | None = None) -> None:
        self.corpora, self.language = corpora, language
        self.columns = {
            name: [c for pair in TEXT_COLUMNS.items() if set(pair) <= set(corpus.column_names) for c in pair]
            for name, corpus in corpora.items()
        }

    def __iter__(self) -> Iterator[str]:
        for name, columns in self.columns.items():
            for batch in self.corpora[name].select_columns(columns).iter(batch_size=1000):
                for column, code in zip(columns[::2], columns[1::2], strict=True):
                    pairs = zip(batch[column], batch[code], strict=True)
                    yield from (text for text, own in pairs if self.language in (None, own))


@torch.no_grad()
def start_new_pieces(
    encoder: PreTrainedModel,
    old: PreTrainedTokenizerFast,
    new: PreTrainedTokenizerFast,
    corpora: Mapping[str, Dataset],
    options: NewPiecesOptions,
    *,
    seed: int = 0,
) -> None:
    """Give the pieces that a tokenizer has beside an old one their first embeddings, and output rows of their own."""
    first, count = len(old), len(new) - len(old)
    output = encoder.get_output_embeddings()
    tables = [input_embeddings(encoder).weight]
    tables += [] if output is None or output.weight is tables[0] else [output.weight]
    bias = getattr(output, "bias", None)
    if options.init == "random":
        generator = torch.Generator().manual_seed(seed)
        for table in tables:
            drawn = torch.randn(count, table.shape[1], generator=generator)
            table[first : first + count] = float(table[:first].std()) * drawn
        return
    weights = mixing_weights(old, new, corpora, options)
    for table in [*tables, *([bias] if bias is not None else [])]:
        rows = weights @ table[:first].float().numpy()
        table[first : first + count] = torch.from_numpy(rows).to(table.dtype)


def mixing_weights(
    old: PreTrainedTokenizerFast,
    new: PreTrainedTokenizerFast,
    corpora: Mapping[str, Dataset],
    options: NewPiecesOptions,
) -> Any:
    """``W``, whose rows sum to 1. **Shape**: sparse (new pieces, old entries)."""
    first, count = len(old), len(new) - len(old)
    cut, unknown = piece_cutter(fast_backend(old)), int(old.unk_token_id or 0)
    parts = [
        cut(piece) or [unknown] for piece in new.convert_ids_to_tokens(list(range(first, first + count)))
    ]
    weights = _rows([Counter(own) for own in parts], first)
    if options.init == "mean":
        return weights
    if options.init == "focus":
        texts = list(islice(Texts(corpora, options.language), _SENTENCES))
        informed = _by_similarity(new, texts, first, count)
    else:
        lexicon = corpora[options.lexicon or ""]
        own = [i for i, code in enumerate(lexicon["target_language"]) if code == options.language]
        if not own:
            text = (
                f"{options.lexicon!r} has no entry whose target is in {options.language!r}; give one that has"
            )
            raise ConfigurationError(Problem(text, ("model", "new_pieces", "lexicon")))
        lexicon = lexicon.select(own)
        informed = _by_lexicon(old, new, lexicon, first, count)
    has = np.asarray(informed.sum(axis=1)).ravel() > 0
    return sp.diags(has.astype(float)) @ informed + sp.diags((~has).astype(float)) @ weights


def _rows(counts: list[Counter[int]], width: int) -> Any:
    """Counts as a sparse matrix whose rows sum to 1, or are empty."""
    rows = np.repeat(np.arange(len(counts)), [len(c) for c in counts])
    columns = np.array([i for c in counts for i in c], np.int64)
    values = np.array([n / c.total() for c in counts for n in c.values()], np.float64)
    return sp.csr_matrix((values, (rows, columns)), shape=(len(counts), width))


def _by_lexicon(
    old: PreTrainedTokenizerFast, new: PreTrainedTokenizerFast, lexicon: Dataset, first: int, count: int
) -> Any:
    """Each entry gives the new pieces of its target the old pieces of its source."""
    found = [Counter[int]() for _ in range(count)]
    encoders = PieceEncoder(old), PieceEncoder(new)
    for batch in lexicon.iter(batch_size=1000):
        entries = list(_entries(batch))
        sides = [
            _split(encoder.entries([entry[side] for entry in entries]))
            for side, encoder in enumerate(encoders)
        ]
        for source, target in zip(*sides, strict=True):
            for piece in target[target >= first].tolist():
                found[piece - first].update(source[source < first].tolist())
    return _rows(found, first)


def _entries(batch: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Pairs of words: the entries of a lexicon, or the linked words of aligned pairs."""
    if "links" not in batch:
        yield from zip(batch["source"], batch["target"], strict=True)
        return
    for source, target, links in zip(
        batch["source_words"], batch["target_words"], batch["links"], strict=True
    ):
        yield from ((source[i], target[j]) for i, j in links)


def _split(pieces: Any) -> list[NDArray[np.int32]]:
    return np.split(pieces.ids, np.cumsum(pieces.lengths)[:-1]) if len(pieces.lengths) else []


def _by_similarity(new: PreTrainedTokenizerFast, texts: list[str], first: int, count: int) -> Any:
    """Each new piece gets old ones that stand in like company, by the sparsemax of the cosine of their vectors."""
    sentences = _split(PieceEncoder(new).texts(texts))
    seen = np.bincount(np.concatenate(sentences), minlength=first + count)
    kept = np.flatnonzero(seen >= _LEAST)
    vectors = static_vectors(sentences, kept, first + count)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    is_new = kept >= first
    result = sp.lil_matrix((count, first))
    if not is_new.any() or is_new.all():
        return result.tocsr()
    own, others, known = vectors[is_new], vectors[~is_new].T, kept[~is_new]
    for start in range(0, len(own), _ROWS):
        shares = sparsemax(own[start : start + _ROWS] @ others)
        for piece, row in zip(kept[is_new][start:] - first, shares, strict=False):
            result[piece, known[row > 0]] = row[row > 0]
    return result.tocsr()


def static_vectors(
    sentences: list[NDArray[np.int32]], kept: NDArray[np.int64], entries: int
) -> NDArray[np.float64]:
    """A vector for each kept piece: truncated SVD of the positive pointwise mutual information inside a window."""
    number = np.full(entries, -1)
    number[kept] = np.arange(len(kept))
    size = len(kept)
    total: Any = sp.csr_matrix((size, size))
    flat = np.concatenate(
        [np.append(number[s], [-1] * _WINDOW) for s in sentences]
    )  # windows end with a sentence
    for distance in range(1, _WINDOW + 1):
        left, right = flat[:-distance], flat[distance:]
        both = (left >= 0) & (right >= 0)
        pairs = sp.coo_matrix((np.ones(both.sum()), (left[both], right[both])), shape=(size, size)).tocsr()
        total = total + pairs + pairs.T
    sums = np.maximum(np.asarray(total.sum(axis=1)).ravel(), 1)
    found = total.tocoo()
    found.data = np.log(found.data * sums.sum() / (sums[found.row] * sums[found.col])).clip(min=0)
    dimensions = min(_DIMENSIONS, size - 1)
    if dimensions < 1:
        return np.ones((size, 1))
    left, values, _ = svds(found.tocsr(), k=dimensions, v0=np.ones(size) / np.sqrt(size))
    return np.asarray(left * np.sqrt(values))


def sparsemax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The point of the simplex next to each row (Martins and Astudillo 2016). **Shape**: (rows, n), as the result."""
    ordered = -np.sort(-scores, axis=1)
    above = np.cumsum(ordered, axis=1) - 1
    places = np.arange(1, scores.shape[1] + 1)
    support = (ordered * places > above).sum(axis=1)
    threshold = above[np.arange(len(scores)), support - 1] / support
    return np.asarray(np.maximum(scores - threshold[:, None], 0))
