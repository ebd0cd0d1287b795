"""The alignment score of a checkpoint's embeddings."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from alignment_loops import looped
from datasets import Dataset
from refusals import refused
from safetensors.torch import save_file

from isoglot.analysis.alignment_score import score_vectors
from isoglot.analysis.checkpoint_score import CheckpointScore, checkpoint_alignment_score, trained_pairs
from isoglot.analysis.options import ScoreOptions, Subset
from isoglot.core.errors import ConfigurationError
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.vocabulary import VocabularyCopy
from isoglot.formats.schema import LEXICON
from isoglot.testing import tiny_lexicon, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, VocabularyCopy]:
    """A checkpoint whose copied rows equal the originals but for every third, which is its neighbour's."""
    folder = tmp_path_factory.mktemp("copied") / "run"
    copy = VocabularyCopy(tiny_tokenizer("bert"))
    model = tiny_model("bert", tokenizer=copy.tokenizer)
    size = copy.size
    with torch.no_grad():
        table = model.get_input_embeddings().weight
        table[size:] = table[:size]
        for i in range(0, size - 1, 3):
            table[size + i] = table[i + 1]
    model.save_pretrained(folder / "checkpoint")
    copy.tokenizer.save_pretrained(folder / "checkpoint")
    copy.save(folder / "tokenizer")
    return folder, copy


def with_copy(copy: VocabularyCopy) -> list[int]:
    """Ids that have a copy of their own and are not special."""
    return sorted({*range(copy.size)} - {*copy.original.all_special_ids, *copy.unshifted, *copy.shared})


def test_checkpoint_score_of_a_copied_vocabulary(copied: tuple[Path, VocabularyCopy]) -> None:
    folder, copy = copied
    ids = with_copy(copy)
    expected = 100 * sum(i % 3 != 0 or i == copy.size - 1 for i in ids) / len(ids)
    # Row i + 1 is there twice where i is a multiple of 3: the first, which is wrong for i + 1, is taken.
    expected -= 100 * sum(i % 3 == 1 and i - 1 in ids for i in ids) / len(ids)
    by_copy = checkpoint_alignment_score(folder, vocabulary=folder / "tokenizer")
    by_size = checkpoint_alignment_score(folder / "checkpoint", copied_from=copy.size)
    assert by_copy.total.asked_sources == by_copy.total.candidates == len(ids)
    assert by_copy.total.score == by_size.total.score == pytest.approx(expected)
    assert (by_copy.trained, by_copy.held_out) == (None, None)


def test_checkpoint_score_says_how_many_entries_it_is_of(copied: tuple[Path, VocabularyCopy]) -> None:
    part = ScoreOptions(subset=Subset(share=0.5, candidates="all"))
    found = checkpoint_alignment_score(copied[0], vocabulary=copied[1], options=part)
    assert found.total.asked_sources < found.total.candidates
    names = ("alignment_score", "alignment_backward", "cosine")
    assert {found.metrics[name][1] for name in names} == {found.total.asked_sources}


def test_the_cosine_is_of_gold_pairs_and_the_scores_of_entries() -> None:
    vectors = torch.eye(3)
    # One source entry with two translations.
    found = CheckpointScore(score_vectors(vectors[:1], vectors[:2], torch.tensor([[0, 0], [0, 1]])))
    assert found.metrics["alignment_score"] == (100.0, 1)
    assert found.metrics["cosine"] == (0.5, 2)


def test_checkpoint_score_leaves_out_shared_ids_and_specials(copied: tuple[Path, VocabularyCopy]) -> None:
    folder, copy = copied
    shared = VocabularyCopy.draw(copy.original, TransformOptions(overlap=0.25))
    found = checkpoint_alignment_score(folder, vocabulary=shared)
    assert found.total.entries.tolist() == with_copy(shared)
    whole = checkpoint_alignment_score(folder, vocabulary=copy, options=ScoreOptions(include_special=True))
    assert whole.total.asked_sources == copy.size


def test_checkpoint_score_is_divided_by_the_dictionary_of_training(
    copied: tuple[Path, VocabularyCopy], tmp_path: Path
) -> None:
    folder, copy = copied
    link = tmp_path / "run"
    link.mkdir()
    for file in (folder / "checkpoint").iterdir():
        (link / file.name).symlink_to(file)
    seen = [i for i in with_copy(copy) if i % 3 == 2]
    tensors = {
        "objectives.dictionary.source_pieces": torch.tensor([[i] for i in seen]),
        "objectives.dictionary.target_pieces": torch.tensor([[i + copy.size] for i in seen]),
        "language_embeddings.weight": torch.randn(4, 32, generator=torch.Generator().manual_seed(0)),
    }
    save_file(tensors, link / "objectives.safetensors")
    found = checkpoint_alignment_score(link, copied_from=copy.size)
    assert found.trained_tokens == len(seen)
    assert found.trained == 100
    assert found.held_out is not None
    unseen = found.total.asked_sources - len(seen)
    assert found.total.score * found.total.asked_sources == pytest.approx(
        100 * len(seen) + found.held_out * unseen
    )
    moved = checkpoint_alignment_score(link, copied_from=copy.size, options=ScoreOptions(language_ids=(2, 3)))
    assert moved.total.cosine != pytest.approx(found.total.cosine)
    with refused(ConfigurationError, "objectives.safetensors: ", "2 and 4", "language_ids"):
        checkpoint_alignment_score(link, copied_from=copy.size, options=ScoreOptions(language_ids=(2, 4)))


def test_checkpoint_score_of_a_lexicon_takes_means_of_pieces(tmp_path: Path) -> None:
    tokenizer, lexicon = tiny_tokenizer("bert"), tiny_lexicon()
    model = tiny_model("bert", tokenizer=tokenizer)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    table = model.get_input_embeddings().weight
    entries = {
        side: [tokenizer(word, add_special_tokens=False)["input_ids"] for word in lexicon[side]]
        for side in ("source", "target")
    }
    pairs = [
        (tuple(s), tuple(t)) for s, t in zip(entries["source"], entries["target"], strict=True) if s != t
    ]
    sources, targets = (list(dict.fromkeys(p[k] for p in pairs)) for k in (0, 1))
    vectors = [table[list(e)].mean(0).tolist() for e in (*sources, *targets)]
    numbered = [(sources.index(s), len(sources) + targets.index(t)) for s, t in pairs]
    found = checkpoint_alignment_score(tmp_path, lexicon=lexicon)
    assert found.total.score == pytest.approx(looped(vectors, numbered)[0])
    assert found.total.asked_sources == len(sources)
    single = [len(s) == len(t) == 1 for s, t in pairs]
    if any(single):
        only = checkpoint_alignment_score(tmp_path, lexicon=lexicon, options=ScoreOptions(single=True))
        assert only.total.asked_sources == len({s for (s, _), one in zip(pairs, single, strict=True) if one})
    assert trained_pairs(tmp_path) is None
    same = Dataset.from_dict({"source": ["the"], "target": ["the"], "source_language": ["en"],
                              "target_language": ["xx"]}, features=LEXICON)  # fmt: skip
    with refused(ConfigurationError, "alignment score: ", "lexicon"):
        checkpoint_alignment_score(tmp_path, lexicon=same)


def test_checkpoint_score_needs_one_way_to_pair_rows(copied: tuple[Path, VocabularyCopy]) -> None:
    folder, copy = copied
    with refused(ConfigurationError, "/checkpoint: ", "`vocabulary`", "copied_from=V", "lexicon=FILE"):
        checkpoint_alignment_score(folder)
    with refused(ConfigurationError, "alignment score: ", "vocabulary, copied_from and lexicon"):
        checkpoint_alignment_score(folder, vocabulary=copy, copied_from=3)
