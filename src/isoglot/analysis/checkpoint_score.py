"""The alignment score of a checkpoint: a copied vocabulary or a lexicon, with the part that training has seen."""

from collections.abc import Sequence
from dataclasses import dataclass
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
    """A checkpoint's alignment score."""

    total: EmbeddingScore
    # score of the entries in the dictionary that ``embedding_alignment`` trained on; ``None`` without one
    trained: float | None = None
    held_out: float | None = None
    trained_tokens: int = 0

    @property
    def metrics(self) -> dict[str, tuple[float | None, int]]:
        """What it reports: by metric the value, and the number of entries that it is of."""
        total = self.total
        return {
            "alignment_score": (total.score, total.tokens),
            "alignment_backward": (total.backward, total.answered),
            "cosine": (total.cosine, total.tokens),
            "alignment_trained": (self.trained, self.trained_tokens),
            "alignment_held_out": (self.held_out, total.tokens - self.trained_tokens),
        }


def checkpoint_alignment_score(
    checkpoint: str | Path,
    *,
    vocabulary: VocabularyCopy | str | Path | None = None,
    copied_from: int | None = None,
    lexicon: Dataset | None = None,
    options: ScoreOptions | None = None,
) -> CheckpointScore:
    """The alignment score of a checkpoint's input embeddings.

    Exactly one thing says what belongs together: a vocabulary copy (what ``isoglot derive`` wrote to ``tokenizer/``),
    the size V of a copied vocabulary, or a LEXICON corpus, whose target entries are the candidates. With none of them
    the copy is looked for beside the tokenizer. Ids that the derived language shares with the original, and special
    tokens, are left out.

    Raises:
        ConfigurationError: nothing can be loaded, nothing or several things say what belongs together, or the lexicon
            has no usable entry.
    """
    options = options or ScoreOptions()
    folder = checkpoint_folder(checkpoint)
    if sum(value is not None for value in (vocabulary, copied_from, lexicon)) > 1:
        raise ConfigurationError("alignment score: give one of vocabulary, copied_from and lexicon")
    model, tokenizer = load_encoder(str(folder), device=options.device)
    table = input_embeddings(model).weight.detach()
    offsets = None
    if (ids := options.language_ids) is not None:
        path = Path(folder) / OBJECTIVES
        vectors = (read_table(path) or (torch.zeros(0, 1),))[0]
        if not 0 <= min(ids) <= max(ids) < len(vectors):
            raise ConfigurationError(
                f"{path}: language embeddings {ids[0]} and {ids[1]} asked for, there are {len(vectors)}, counted from "
                "0; leave language_ids out, or give the ids of the recipe"
            )
        offsets = vectors[ids[0]], vectors[ids[1]]
    trained = trained_pairs(folder)
    if lexicon is not None:
        return _lexicon_score(table, tokenizer, lexicon, offsets, trained, options)
    size, left_out = _copied(folder, vocabulary, copied_from, tokenizer)
    if options.include_special:
        left_out -= set(tokenizer.all_special_ids)
    total = alignment_score(table, copied_from=size, exclude=left_out, subset=options.subset, offsets=offsets)
    seen = {s[0] for s, t in trained or () if len(s) == len(t) == 1 and t[0] == s[0] + size}
    return _divided(total, seen if trained is not None else None)


def trained_pairs(checkpoint: str | Path) -> set[tuple[PieceIds, PieceIds]] | None:
    """The dictionary that ``embedding_alignment`` left beside the encoder, as pieces; ``None`` without one."""
    path = Path(checkpoint_folder(checkpoint)) / OBJECTIVES
    if not path.is_file():
        return None
    with safe_open(path, framework="pt") as tensors:
        names = [n for n in tensors.keys() if n.endswith("source_pieces")]  # noqa: SIM118
        sides = [
            (tensors.get_tensor(n), tensors.get_tensor(n.replace("source_pieces", "target_pieces")))
            for n in names
        ]
    if not sides:
        return None
    return {
        (tuple(p for p in source if p >= 0), tuple(p for p in target if p >= 0))
        for both_sides in sides
        for source, target in zip(*(side.tolist() for side in both_sides), strict=True)
    }


def mean_pieces(table: Tensor, entries: Sequence[Sequence[int]]) -> Tensor:
    """The mean embedding of each entry's pieces; every entry has at least one. **Shape**: (entries, size)."""
    flat = torch.tensor([piece for entry in entries for piece in entry], device=table.device)
    lengths = torch.tensor([len(entry) for entry in entries], device=table.device)
    return mean_rows(table[flat], lengths)


def _lexicon_score(
    table: Tensor,
    tokenizer: PreTrainedTokenizerBase,
    lexicon: Dataset,
    offsets: tuple[Tensor, Tensor] | None,
    trained: set[tuple[PieceIds, PieceIds]] | None,
    options: ScoreOptions,
) -> CheckpointScore:
    pairs = [(tuple(s), tuple(t)) for s, t in lexicon_pairs(lexicon, tokenizer, single=options.single)]
    if not pairs:
        raise ConfigurationError(
            "alignment score: no entry of the lexicon has pieces that differ between its sides; give another one"
        )
    numbers: tuple[dict[PieceIds, int], dict[PieceIds, int]] = ({}, {})
    gold = [
        tuple(number.setdefault(e, len(number)) for number, e in zip(numbers, pair, strict=True))
        for pair in pairs
    ]
    both = torch.cat([mean_pieces(table, list(number)) for number in numbers])
    links = torch.tensor(gold) + torch.tensor([0, len(numbers[0])])
    total = alignment_score(both, pairs=links, subset=options.subset, offsets=offsets)
    seen = None if trained is None else {numbers[0][s] for s, t in pairs if (s, t) in trained}
    return _divided(total, seen)


def _divided(total: EmbeddingScore, seen: set[int] | None) -> CheckpointScore:
    """The score with those of trained and held-out entries."""
    if seen is None:
        return CheckpointScore(total)
    trained, count = total.among(seen)
    held_out, _ = total.among(set(total.entries.tolist()) - seen)
    return CheckpointScore(total, trained, held_out, count)


def _copied(
    folder: Path | str,
    vocabulary: VocabularyCopy | str | Path | None,
    copied_from: int | None,
    tokenizer: PreTrainedTokenizerBase,
) -> tuple[int, set[int]]:
    """Size of the vocabulary that was copied, and the ids that have no copy of their own or are special."""
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
