"""The alignment score of a checkpoint, over a copied vocabulary or over a lexicon.

Where the checkpoint was trained on a dictionary, the entries of that dictionary are also scored separately from others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch
from datasets import Dataset
from safetensors import safe_open
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.aligners.embedding.loading import load_encoder
from isoglot.analysis.alignment_score import EmbeddingScore, alignment_score
from isoglot.analysis.options import ScoreOptions
from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError
from isoglot.derivation.sharing import COPY_FILE
from isoglot.derivation.vocabulary import VocabularyCopy
from isoglot.modules.encoder import input_embeddings
from isoglot.modules.word_vectors import mean_rows
from isoglot.objectives.embedding_alignment import lexicon_pairs
from isoglot.tasks.language_vectors import read_table
from isoglot.training.checkpoints import OBJECTIVES

PieceIds = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CheckpointScore:
    """The alignment score of a checkpoint, and the scores of entries that training has seen and has not seen.

    ``trained`` and ``held_out`` are None for a checkpoint that was not trained on a dictionary.
    """

    total: EmbeddingScore
    trained: float | None = None  # score of entries of the dictionary that ``embedding_alignment`` trained on
    held_out: float | None = None  # score of all other entries
    trained_tokens: int = 0

    @property
    def metrics(self) -> dict[str, tuple[float | None, int]]:
        """By metric, its value and the number of entries that it is a mean over; of pairs for ``cosine``."""
        total = self.total
        return {
            "alignment_score": (total.score, total.asked_sources),
            "alignment_backward": (total.backward, total.asked_targets),
            "cosine": (total.cosine, total.gold_pairs),
            "alignment_trained": (self.trained, self.trained_tokens),
            "alignment_held_out": (self.held_out, total.asked_sources - self.trained_tokens),
        }


def checkpoint_alignment_score(
    checkpoint: str | Path,
    *,
    vocabulary: VocabularyCopy | str | Path | None = None,
    copied_from: int | None = None,
    lexicon: Dataset | None = None,
    options: ScoreOptions | None = None,
) -> CheckpointScore:
    """Score the alignment of a checkpoint's input embeddings.

    Exactly one thing says which embeddings belong together: a vocabulary copy (what ``isoglot derive`` wrote to
    ``tokenizer/``), the size V of a copied vocabulary, or a LEXICON corpus, whose target entries are the candidates.
    With none of them the copy is looked for in the folder of the checkpoint. Ids that the derived language shares with
    the original, and special tokens, are left out.

    Raises:
        ConfigurationError: Nothing can be loaded; nothing, or more than one thing, says what belongs together; or the
            lexicon has no usable entry.
    """
    options = options or ScoreOptions()
    folder = checkpoint_folder(checkpoint)
    given = [source for source in (vocabulary, copied_from, lexicon) if source is not None]
    if len(given) > 1:
        raise ConfigurationError("alignment score: give one of vocabulary, copied_from and lexicon")
    model, tokenizer = load_encoder(str(folder), device=options.device)
    table = input_embeddings(model).weight.detach()
    offsets = _language_vectors(Path(folder) / OBJECTIVES, options.language_ids)
    dictionary = trained_pairs(folder)
    if lexicon is not None:
        return _lexicon_score(table, tokenizer, lexicon, offsets, dictionary, options)
    size, left_out = _size_of_copy(folder, vocabulary, copied_from, tokenizer)
    if options.include_special:
        left_out -= set(tokenizer.all_special_ids)
    total = alignment_score(table, copied_from=size, exclude=left_out, subset=options.subset, offsets=offsets)
    if dictionary is None:
        return CheckpointScore(total)
    # A pair of the dictionary belongs to the copied vocabulary if it consists of one piece and that piece's copy.
    seen = set()
    for source, target in dictionary:
        if len(source) == len(target) == 1 and target[0] == source[0] + size:
            seen.add(source[0])
    return _by_training(total, seen)


def _language_vectors(path: Path, ids: tuple[int, int] | None) -> tuple[Tensor, Tensor] | None:
    """Read the language embeddings of two ids; None if none are asked for."""
    if ids is None:
        return None
    known = read_table(path)
    vectors = torch.zeros(0, 1) if known is None else known[0]
    if not 0 <= min(ids) <= max(ids) < len(vectors):
        raise ConfigurationError(
            f"{path}: language embeddings {ids[0]} and {ids[1]} asked for, there are {len(vectors)}, counted from "
            "0; leave language_ids out, or give the ids of the recipe"
        )
    return vectors[ids[0]], vectors[ids[1]]


def trained_pairs(checkpoint: str | Path) -> set[tuple[PieceIds, PieceIds]] | None:
    """Read the dictionary that ``embedding_alignment`` left beside the encoder, as pieces; None if there is none."""
    path = Path(checkpoint_folder(checkpoint)) / OBJECTIVES
    if not path.is_file():
        return None
    with safe_open(path, framework="pt") as tensors:
        names = [name for name in tensors.keys() if name.endswith("source_pieces")]  # noqa: SIM118
        if not names:
            return None
        pairs: set[tuple[PieceIds, PieceIds]] = set()
        for name in names:
            sources = tensors.get_tensor(name).tolist()
            targets = tensors.get_tensor(name.replace("source_pieces", "target_pieces")).tolist()
            pairs.update(zip(map(_without_padding, sources), map(_without_padding, targets), strict=True))
    return pairs


def _without_padding(pieces: Sequence[int]) -> PieceIds:
    return tuple(piece for piece in pieces if piece >= 0)


def mean_pieces(table: Tensor, entries: Sequence[Sequence[int]]) -> Tensor:
    """Take the mean embedding of each entry's pieces; every entry has at least one. **Shape**: (entries, size)."""
    flat = torch.tensor(list(chain.from_iterable(entries)), device=table.device)
    lengths = torch.tensor([len(entry) for entry in entries], device=table.device)
    return mean_rows(table[flat], lengths)


def _lexicon_score(
    table: Tensor,
    tokenizer: PreTrainedTokenizerBase,
    lexicon: Dataset,
    offsets: tuple[Tensor, Tensor] | None,
    dictionary: set[tuple[PieceIds, PieceIds]] | None,
    options: ScoreOptions,
) -> CheckpointScore:
    """Score the words of a lexicon; the embedding of a word is the mean of its pieces' embeddings.

    ``dictionary``: The pairs that training has seen, to score their source words separately.
    """
    pieces = lexicon_pairs(lexicon, tokenizer, single=options.single)
    pairs = [(tuple(source), tuple(target)) for source, target in pieces]
    if not pairs:
        raise ConfigurationError(
            "alignment score: no entry of the lexicon has pieces that differ between its sides; give another one"
        )
    # A table with one row for each different word: first all source words, then all target words.
    different_sources = dict.fromkeys(source for source, _ in pairs)
    different_targets = dict.fromkeys(target for _, target in pairs)
    source_rows = {source: row for row, source in enumerate(different_sources)}
    target_rows = {target: row for row, target in enumerate(different_targets, len(source_rows))}
    entries = torch.cat([mean_pieces(table, list(source_rows)), mean_pieces(table, list(target_rows))])
    gold = torch.tensor([[source_rows[source], target_rows[target]] for source, target in pairs])
    total = alignment_score(entries, pairs=gold, subset=options.subset, offsets=offsets)
    if dictionary is None:
        return CheckpointScore(total)
    seen = {source_rows[source] for source, target in pairs if (source, target) in dictionary}
    return _by_training(total, seen)


def _by_training(total: EmbeddingScore, seen: set[int]) -> CheckpointScore:
    """Score the entries that training has ``seen`` apart from all other entries."""
    trained, count = total.among(seen)
    held_out, _ = total.among(set(total.entries.tolist()) - seen)
    return CheckpointScore(total, trained, held_out, count)


def _size_of_copy(
    folder: Path | str,
    vocabulary: VocabularyCopy | str | Path | None,
    copied_from: int | None,
    tokenizer: PreTrainedTokenizerBase,
) -> tuple[int, set[int]]:
    """Find the size of the vocabulary that was copied, and the ids without a copy: shared ones and special tokens."""
    if copied_from is not None:
        return copied_from, {i for i in tokenizer.all_special_ids if i < copied_from}
    if vocabulary is None:
        if not (Path(folder) / COPY_FILE).is_file():
            raise ConfigurationError(
                f"{folder}: it is unknown which embeddings belong together; give [[vocabulary]] (the tokenizer folder "
                "that `isoglot derive` wrote), [[copied_from=V]], or [[lexicon=FILE]]"
            )
        vocabulary = folder
    copy = vocabulary if isinstance(vocabulary, VocabularyCopy) else VocabularyCopy.load(vocabulary)
    return copy.size, {*copy.original.all_special_ids, *copy.unshifted, *copy.shared}
