"""The alignment score against a loop over pairs, and read from checkpoints."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from safetensors.torch import save_file

from isoglot.analysis.alignment_score import alignment_score, draw, nearest_both_ways, score_vectors
from isoglot.analysis.checkpoint_score import checkpoint_alignment_score, trained_pairs
from isoglot.analysis.options import ScoreOptions, Subset
from isoglot.derive.vocabulary import VocabularyCopy
from isoglot.errors import ConfigurationError
from isoglot.schema import LEXICON
from isoglot.testing import tiny_lexicon, tiny_model, tiny_tokenizer


def cosine(a: list[float], b: list[float]) -> float:
    norm = (sum(x * x for x in a) * sum(x * x for x in b)) ** 0.5
    return sum(x * y for x, y in zip(a, b, strict=True)) / max(norm, 1e-12)


def looped(table: list[list[float]], pairs: list[tuple[int, int]]) -> tuple[float, float]:
    sources, targets = sorted({s for s, _ in pairs}), sorted({t for _, t in pairs})
    forward = [(s, max(targets, key=lambda t: (cosine(table[s], table[t]), -t))) in pairs for s in sources]
    backward = [(max(sources, key=lambda s: (cosine(table[s], table[t]), -s)), t) in pairs for t in targets]
    return 100 * sum(forward) / len(forward), 100 * sum(backward) / len(backward)


def noisy(size: int, width: int, noise: float, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(size, width, generator=generator, dtype=torch.float64)
    return torch.cat(
        [first, first + noise * torch.randn(size, width, generator=generator, dtype=torch.float64)]
    )


@given(
    size=st.integers(2, 12),
    noise=st.floats(0, 3),
    seed=st.integers(0, 99),
    cells=st.sampled_from([1 << 24, 1, 10, 60]),
    left_out=st.sets(st.integers(0, 11), max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_score_is_that_of_a_loop(size: int, noise: float, seed: int, cells: int, left_out: set[int]) -> None:
    table = noisy(size, 5, noise, seed)
    ids = [i for i in range(size) if i not in left_out]
    if not ids:
        return
    with patch("isoglot.analysis.alignment_score._CELLS", cells):
        found = alignment_score(table, copied_from=size, exclude=left_out)
    forward, backward = looped(table.tolist(), [(i, i + size) for i in ids])
    assert found.score == pytest.approx(forward)
    assert found.backward == pytest.approx(backward)
    assert (found.tokens, found.candidates, found.asked.tolist()) == (len(ids), len(ids), ids)
    expected = sum(cosine(table[i].tolist(), table[i + size].tolist()) for i in ids) / len(ids)
    assert found.cosine == pytest.approx(expected, abs=1e-5)


def test_several_translations_of_a_row_all_count() -> None:
    table = noisy(6, 4, 1.5, seed=3)
    pairs = [(0, 6), (0, 7), (1, 7), (2, 8), (4, 6), (5, 11), (5, 9)]
    found = alignment_score(table, pairs=torch.tensor(pairs))
    forward, backward = looped(table.tolist(), pairs)
    assert (found.score, found.backward) == (pytest.approx(forward), pytest.approx(backward))
    assert found.tokens == 5
    assert found.candidates == 5


def test_scale_of_a_vector_changes_nothing_and_chunks_agree() -> None:
    table = noisy(40, 6, 1.0)
    scaled = table * torch.rand(80, 1, generator=torch.Generator().manual_seed(1)).add(0.1)
    scores = set()
    for cells in (1 << 24, 1, 280):
        with patch("isoglot.analysis.alignment_score._CELLS", cells):
            scores |= {alignment_score(t, copied_from=40).score for t in (table, scaled)}
    assert len(scores) == 1
    assert 0 < scores.pop() < 100


def test_of_equally_near_rows_the_first_is_taken() -> None:
    with patch("isoglot.analysis.alignment_score._CELLS", 6):
        forward, backward = nearest_both_ways(torch.ones(5, 2), torch.ones(3, 2))
    assert forward.tolist() == [0] * 5
    assert backward.tolist() == [0] * 3


def test_offsets_move_each_side() -> None:
    table = torch.eye(4).repeat(2, 1)
    assert alignment_score(table, copied_from=4).score == 100
    shift = torch.tensor([9.0, 0, 0, 0])
    moved = alignment_score(table, copied_from=4, offsets=(torch.zeros(4), shift))
    by_hand = alignment_score(torch.cat([table[:4], table[4:] + shift]), copied_from=4)
    assert (moved.score, moved.backward) == (by_hand.score, by_hand.backward)
    assert moved.backward == 25


def test_subset_shrinks_both_sides_and_depends_on_its_seed_alone() -> None:
    table = noisy(50, 3, 1.0)
    one, same, other = (
        alignment_score(table, copied_from=50, subset=Subset(share=0.4, seed=s)) for s in (1, 1, 2)
    )
    assert one.tokens == one.candidates == 20
    assert one.asked.tolist() == same.asked.tolist() != other.asked.tolist()
    forward, _ = looped(table.tolist(), [(i, i + 50) for i in one.asked.tolist()])
    assert one.score == pytest.approx(forward)


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_subset_is_the_one_that_the_authors_code_draws(share: float) -> None:
    table = noisy(60, 3, 1.0)
    left, right = (
        part / np.linalg.norm(part, axis=1, keepdims=True) for part in table.numpy().reshape(2, 60, 3)
    )
    indices = list(range(60))
    np.random.RandomState(42).shuffle(indices)
    taken = indices[-int(60 * share) :]
    drawn = alignment_score(table, copied_from=60, subset=Subset(share=share, seed=42))
    assert drawn.asked.tolist() == sorted(taken)
    nearest = np.argmax(left[taken] @ right[taken].T, axis=1)
    assert drawn.score == pytest.approx(100 * np.mean(nearest == np.arange(len(taken))))
    whole = alignment_score(table, copied_from=60, subset=Subset(share=share, seed=42, candidates="all"))
    assert (whole.tokens, whole.candidates) == (len(taken), 60)
    nearest = np.argmax(left[taken] @ right.T, axis=1)
    assert whole.score == pytest.approx(100 * np.mean(nearest == np.array(taken)))
    assert drawn.score >= whole.score > 0


def test_a_drawn_row_keeps_all_its_translations_where_all_are_searched() -> None:
    table = torch.eye(3).repeat(2, 1)
    table[4] = table[3]
    pairs = torch.tensor([[0, 4], [0, 3], [1, 5], [2, 5]])
    subset = next(
        s
        for s in (Subset(share=0.25, seed=seed, candidates="all") for seed in range(9))
        if draw(s, 4).tolist() == [0]
    )
    found = alignment_score(table, pairs=pairs, subset=subset)
    assert (found.score, found.tokens, found.candidates) == (100, 1, 3)


def test_a_part_is_checked() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        Subset(share=1.5)
    with pytest.raises(ValidationError, match="'drawn' or 'all'"):
        Subset(share=0.5, candidates="some")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="no pair is left"):
        alignment_score(torch.eye(4).repeat(2, 1), copied_from=4, subset=Subset(share=0.1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one"),
        ({"copied_from": 4, "pairs": torch.tensor([[0, 1]])}, "exactly one"),
        ({"copied_from": 5}, "table has 8"),
        ({"pairs": torch.tensor([[0, 8]])}, "row 8"),
        ({"copied_from": 4, "exclude": range(4)}, "no pair is left"),
    ],
)
def test_mistakes_are_told(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        alignment_score(torch.eye(4).repeat(2, 1), **arguments)


def test_a_table_that_is_not_finite_is_refused() -> None:
    table = torch.eye(3).repeat(2, 1)
    table[0, 0] = torch.nan
    with pytest.raises(ConfigurationError, match="not finite"):
        alignment_score(table, copied_from=3)
    with pytest.raises(ConfigurationError, match="no pair"):
        score_vectors(table, table, torch.zeros(0, 2, dtype=torch.long))


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


def test_checkpoint_of_a_copied_vocabulary(copied: tuple[Path, VocabularyCopy]) -> None:
    folder, copy = copied
    ids = with_copy(copy)
    expected = 100 * sum(i % 3 != 0 or i == copy.size - 1 for i in ids) / len(ids)
    # Row i + 1 is there twice where i is a multiple of 3: the first, which is wrong for i + 1, is taken.
    expected -= 100 * sum(i % 3 == 1 and i - 1 in ids for i in ids) / len(ids)
    by_copy = checkpoint_alignment_score(folder, vocabulary=folder / "tokenizer")
    by_size = checkpoint_alignment_score(folder / "checkpoint", copied_from=copy.size)
    assert by_copy.total.tokens == by_copy.total.candidates == len(ids)
    assert by_copy.total.score == by_size.total.score == pytest.approx(expected)
    assert (by_copy.trained, by_copy.held_out) == (None, None)


def test_shared_ids_are_left_out_and_specials_can_be_put_in(copied: tuple[Path, VocabularyCopy]) -> None:
    folder, copy = copied
    shared = VocabularyCopy.draw(copy.original, overlap=0.25)
    found = checkpoint_alignment_score(folder, vocabulary=shared)
    assert found.total.asked.tolist() == with_copy(shared)
    whole = checkpoint_alignment_score(folder, vocabulary=copy, options=ScoreOptions(include_special=True))
    assert whole.total.tokens == copy.size


def test_dictionary_of_training_divides_the_score(
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
    unseen = found.total.tokens - len(seen)
    assert found.total.score * found.total.tokens == pytest.approx(100 * len(seen) + found.held_out * unseen)
    moved = checkpoint_alignment_score(link, copied_from=copy.size, options=ScoreOptions(language_ids=(2, 3)))
    assert moved.total.cosine != pytest.approx(found.total.cosine)
    with pytest.raises(ConfigurationError, match="there are 4, counted from 0"):
        checkpoint_alignment_score(link, copied_from=copy.size, options=ScoreOptions(language_ids=(2, 4)))


def test_lexicon_takes_the_mean_of_pieces(tmp_path: Path) -> None:
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
    assert found.total.tokens == len(sources)
    single = [len(s) == len(t) == 1 for s, t in pairs]
    if any(single):
        only = checkpoint_alignment_score(tmp_path, lexicon=lexicon, options=ScoreOptions(single=True))
        assert only.total.tokens == len({s for (s, _), one in zip(pairs, single, strict=True) if one})
    assert trained_pairs(tmp_path) is None
    same = Dataset.from_dict({"source": ["the"], "target": ["the"], "source_language": ["en"],
                              "target_language": ["xx"]}, features=LEXICON)  # fmt: skip
    with pytest.raises(ConfigurationError, match="no entry"):
        checkpoint_alignment_score(tmp_path, lexicon=same)


def test_what_says_which_rows_belong_together(copied: tuple[Path, VocabularyCopy]) -> None:
    folder, copy = copied
    with pytest.raises(ConfigurationError, match="nothing says"):
        checkpoint_alignment_score(folder)
    with pytest.raises(ConfigurationError, match="give one of vocabulary"):
        checkpoint_alignment_score(folder, vocabulary=copy, copied_from=3)
