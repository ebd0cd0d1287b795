from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from refusals import refused
from small_vocabularies import LINES, tokenizer_of, world_lines
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import Sentence
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.rows import Deriver
from isoglot.derivation.sharing import draw_positions, gold_lexicon
from isoglot.derivation.spec import build
from isoglot.derivation.vocabulary import TokenTransliteration, VocabularyCopy


def unwritable(tokenizer: PreTrainedTokenizerBase) -> int:
    """Pieces, special ones aside, that are no text: fragments of characters and the bare space."""
    marked = {"byte_bpe": "Ġ", "metaspace": "▁"}
    kind = "byte_bpe" if "Ġ" in tokenizer.get_vocab() else "metaspace"
    count = 0
    for piece, i in tokenizer.get_vocab().items():
        if i in tokenizer.all_special_ids:
            continue
        text = str(tokenizer.decode([i])) if kind == "byte_bpe" else piece.replace("▁", " ")
        count += "\ufffd" in text or not text.strip() or piece == marked[kind]
    return count


@pytest.mark.parametrize("overlap", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe", "byte_bpe", "unigram"])
def test_shared_ids_stay_and_are_an_exact_part(algorithm: str, overlap: float, tmp_path: Path) -> None:
    original = tokenizer_of(algorithm)
    copy = VocabularyCopy.draw(original, TransformOptions(overlap=overlap, seed=5))
    eligible = len(original) - len(original.all_special_ids)
    most = eligible - (0 if algorithm == "wordpiece" else unwritable(original))
    if algorithm == "unigram" and overlap == 1.0:  # some pieces never win over others with the same letters
        assert 0.95 * most < len(copy.shared) <= most
    else:
        assert len(copy.shared) == min(round(overlap * eligible), most)
    assert not set(copy.shared) & set(original.all_special_ids)
    copy.save(tmp_path)
    doubled = AutoTokenizer.from_pretrained(tmp_path)
    assert len(doubled) == 2 * len(original)
    transform = TokenTransliteration(copy)
    shared_seen = 0
    for line in LINES + world_lines():
        ids = original(line)["input_ids"]
        assert doubled(line)["input_ids"] == ids
        found = doubled(" ".join(transform(Sentence.of(line)).words))["input_ids"]
        assert found == copy.shift(ids).tolist()
        assert copy.decode(found) == original.decode(ids, skip_special_tokens=True)
        shared_seen += len(set(found) & set(copy.shared))
    assert shared_seen > 10
    assert VocabularyCopy.load(tmp_path).shared == copy.shared


def test_shared_pieces_alone_make_the_same_word() -> None:
    copy = VocabularyCopy.draw(tokenizer_of("byte_bpe"), TransformOptions(overlap=1.0))
    assert TokenTransliteration(copy)(Sentence.of("every quiet child")).words == ("every", "quiet", "child")


def test_shared_ids_that_are_no_text_are_refused() -> None:
    original = tokenizer_of("byte_bpe")
    with refused(ConfigurationError, "1 shared ids", "'Ġ'", "VocabularyCopy.draw"):
        TokenTransliteration(VocabularyCopy(original, shared=[original.get_vocab()["Ġ"]]))


@pytest.mark.parametrize(("overlap", "real"), [(0.25, 0.221), (0.5, 0.394)])
def test_draw_positions_with_replacement_repeats_ids(overlap: float, real: float) -> None:
    """40,000 draws with replacement share 22.1 % and 39.4 %, and a small vocabulary shares less than the exact draw."""
    drawn = draw_positions(40_000, share=overlap, seed=3, with_replacement=True)
    assert len(drawn) / 40_000 == pytest.approx(real, abs=0.003)
    assert len(draw_positions(40_000, share=overlap, seed=3)) == overlap * 40_000
    original = tokenizer_of("wordpiece")
    literal = VocabularyCopy.draw(original, TransformOptions(overlap=overlap, seed=5, with_replacement=True))
    assert len(literal.shared) < len(
        VocabularyCopy.draw(original, TransformOptions(overlap=overlap, seed=5)).shared
    )


TRANS = build("trans")


def test_gold_lexicon_parts_are_exact_and_seeded() -> None:
    rows = [{"text": " ".join(f"w{'x' * i}" for i in range(40)), "language": "en"}] * 2
    deriver = Deriver(TRANS, "trans")
    derived = deriver.rows("text", rows)
    pairs = Counter(words for _, images in derived for pair in images for words in pair.word_pairs)
    whole = gold_lexicon(pairs)
    assert len(whole) == 40
    for share in (0.25, 0.5):
        part = gold_lexicon(pairs, share=share, seed=3)
        assert len(part) == 40 * share
        assert part == gold_lexicon(pairs, share=share, seed=3)
        assert part != gold_lexicon(pairs, share=share, seed=4)
        assert set(part) <= set(whole)
    for source, target in whole:
        assert build("trans")(Sentence((source,)), key=0).words == (target,)
    assert len(gold_lexicon({("a", "a"): 3})) == 0
