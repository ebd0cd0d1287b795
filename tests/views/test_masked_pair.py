"""Masked pairs: layout, order, links, and XLM's packed instances."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.corpus.pack.packing import PackOptions, pack_stream
from isoglot.testing import FAMILIES, tiny_bitext, tiny_tokenizer
from isoglot.views.base import IGNORE_INDEX, View
from isoglot.views.masked_pair import MaskedPair

BERT = tiny_tokenizer("bert")
XLMR = tiny_tokenizer("xlm-roberta")
CLS, SEP, PAD = BERT.cls_token_id, BERT.sep_token_id, BERT.pad_token_id
EXAMPLE = {
    "source_ids": [10, 11, 12],
    "target_ids": [20, 21],
    "source_word_ids": [0, 0, 1],
    "target_word_ids": [0, 1],
    "source_language": "en",
    "target_language": "de",
    "links": [[0, 1], [2, 0]],
}


def build(view, example=None, seed=0, coin=False):
    return view.build(EXAMPLE if example is None else example, coin=coin, generator=generator_for(seed))


def test_bert_layout():
    view = MaskedPair(BERT, segment_ids="pair", reset_positions=True, language_ids={"en": 2, "de": 3})
    tensors = build(view)
    assert isinstance(view, View)
    assert tensors["original_ids"].tolist() == [CLS, 10, 11, 12, SEP, 20, 21, SEP]
    assert tensors["side_ids"].tolist() == [0, 1, 1, 1, 0, 2, 2, 0]
    assert tensors["token_type_ids"].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert tensors["position_ids"].tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    assert tensors["language_ids"].tolist() == [2, 2, 2, 2, 2, 3, 3, 3]
    assert tensors["link_ids"].tolist() == [[1, 6], [3, 5]]


def test_target_first_keeps_sides_and_link_columns():
    tensors = build(MaskedPair(BERT, order="target_first", language_ids={"en": 2, "de": 3}))
    assert tensors["original_ids"].tolist() == [CLS, 20, 21, SEP, 10, 11, 12, SEP]
    assert tensors["side_ids"].tolist() == [0, 2, 2, 0, 1, 1, 1, 0]
    assert tensors["language_ids"].tolist() == [3, 3, 3, 3, 2, 2, 2, 2]
    assert tensors["link_ids"].tolist() == [[4, 2], [6, 1]]


def test_two_separators():
    cls, sep = XLMR.cls_token_id, XLMR.sep_token_id
    view = MaskedPair(XLMR, reset_positions=True, segment_ids="none", language_ids={"en": 0, "de": 1})
    tensors = build(view)
    assert tensors["original_ids"].tolist() == [cls, 10, 11, 12, sep, sep, 20, 21, sep]
    assert tensors["side_ids"].tolist() == [0, 1, 1, 1, 0, 0, 2, 2, 0]
    assert tensors["position_ids"].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert tensors["language_ids"].tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert tensors["link_ids"].tolist() == [[1, 7], [3, 6]]
    assert "token_type_ids" not in tensors
    single = build(MaskedPair(XLMR, pair_template="single"))
    assert single["original_ids"].tolist() == [cls, 10, 11, 12, sep, 20, 21, sep]


def test_defaults_leave_positions_and_languages_to_the_model():
    tensors = build(MaskedPair(BERT))
    assert "position_ids" not in tensors
    assert "language_ids" not in tensors
    assert tensors["token_type_ids"].tolist() == [0] * 8
    plain = {k: v for k, v in EXAMPLE.items() if k != "links"}
    assert "link_ids" not in build(MaskedPair(BERT), plain)


def test_shuffle_follows_the_coin():
    view = MaskedPair(BERT, order="shuffle")
    for coin, order in ((False, "source_first"), (True, "target_first")):
        shuffled, fixed = build(view, coin=coin), build(MaskedPair(BERT, order=order))
        assert all(torch.equal(shuffled[key], fixed[key]) for key in fixed)


@st.composite
def examples(draw):
    source = draw(st.lists(st.integers(5, 80), max_size=25))
    target = draw(st.lists(st.integers(81, 150), max_size=25))
    pairs = [(i, j) for i in range(len(source)) for j in range(len(target))]
    links = draw(st.lists(st.sampled_from(pairs), max_size=20, unique=True)) if pairs else []
    return {
        "source_ids": source,
        "target_ids": target,
        "source_word_ids": [i // 2 for i in range(len(source))],
        "target_word_ids": [i // 3 for i in range(len(target))],
        "links": [list(link) for link in links],
    }


VIEWS_OF = {
    (family, template, limit): MaskedPair(
        tiny_tokenizer(family),
        pair_template=template,
        max_length=limit,
        order="shuffle",
        probability=0.4,
        whole_word=True,
    )
    for family in FAMILIES
    for template in ("hf", "single")
    for limit in (16, 512)
}


@given(
    key=st.sampled_from(sorted(VIEWS_OF)), example=examples(), seed=st.integers(0, 2**32), coin=st.booleans()
)
def test_invariants(key, example, seed, coin):
    tensors = build(VIEWS_OF[key], example, seed, coin)
    originals, sides = tensors["original_ids"], tensors["side_ids"]
    selected = tensors["labels"] != IGNORE_INDEX
    assert len(originals) <= key[2]
    assert torch.equal(sides == 0, originals < 5)
    assert not (selected & (sides == 0)).any()
    assert torch.equal(tensors["labels"][selected], originals[selected])
    assert torch.equal(tensors["input_ids"][~selected], originals[~selected])
    source, target = originals[sides == 1].tolist(), originals[sides == 2].tolist()
    assert source == example["source_ids"][: len(source)]
    assert target == example["target_ids"][: len(target)]
    if source and target:
        first_is_target = int((sides == 2).nonzero()[0]) < int((sides == 1).nonzero()[0])
        assert first_is_target == coin
    starts = [int((sides == s).nonzero()[0]) if (sides == s).any() else 0 for s in (1, 2)]
    expected = [
        [i + starts[0], j + starts[1]] for i, j in example["links"] if i < len(source) and j < len(target)
    ]
    assert tensors["link_ids"].tolist() == expected
    for side, size in ((1, 2), (2, 3)):  # whole words: one decision for all pieces of a word
        chosen = selected[sides == side].tolist()
        assert all(chosen[i] == chosen[i - i % size] for i in range(len(chosen)))


def test_words_of_the_two_sides_are_selected_apart():
    """Word 0 of the source and word 0 of the target are two words, also without anything between them."""
    view = MaskedPair(BERT, probability=0.5, whole_word=True)
    outcomes = set()
    for seed in range(40):
        labels = build(view, seed=seed)["labels"]
        outcomes.add((bool(labels[1] != IGNORE_INDEX), bool(labels[5] != IGNORE_INDEX)))
    assert len(outcomes) == 4


def test_the_longer_side_is_cut_first():
    example = EXAMPLE | {"source_ids": list(range(10, 40)), "links": [[0, 0], [20, 1]]}
    tensors = build(MaskedPair(BERT, max_length=10), example)
    assert tensors["original_ids"].tolist() == [CLS, 10, 11, 12, 13, 14, SEP, 20, 21, SEP]
    assert tensors["link_ids"].tolist() == [[1, 7]]


def test_empty_links_have_a_shape():
    assert build(MaskedPair(BERT), EXAMPLE | {"links": []})["link_ids"].shape == (0, 2)


def xlm_instance():
    """Two halves of six, each padded inside the sequence."""
    return {
        "input_ids": [CLS, 10, 11, SEP, PAD, PAD, CLS, 20, SEP, CLS, 21, SEP],
        "attention_mask": [1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1],
        "position_ids": [0, 1, 2, 3, 0, 0, 0, 1, 2, 3, 4, 5],
        "language_ids": [2, 2, 2, 2, 0, 0, 3, 3, 3, 3, 3, 3],
        "side_ids": [0, 1, 1, 0, 0, 0, 0, 2, 0, 0, 2, 0],
        "word_ids": [-1, 0, 0, -1, -1, -1, -1, 0, -1, -1, 0, -1],
    }


def test_xlm_instance():
    tensors = build(MaskedPair(BERT, probability=1.0, segment_ids="pair"), xlm_instance())
    assert tensors["attention_mask"].tolist() == xlm_instance()["attention_mask"]
    assert tensors["position_ids"].tolist() == xlm_instance()["position_ids"]
    assert tensors["language_ids"].tolist() == xlm_instance()["language_ids"]
    assert tensors["side_ids"].tolist() == [0, 1, 1, 0, 0, 0, 0, 2, 0, 0, 2, 0]
    assert tensors["token_type_ids"].tolist() == [0] * 6 + [1] * 6
    chosen = (tensors["labels"] != IGNORE_INDEX).nonzero().flatten().tolist()
    assert chosen == [1, 2, 7, 10]


def test_xlm_instance_by_sides_with_named_languages():
    example = xlm_instance()
    del example["language_ids"]
    example |= {"source_language": "de", "target_language": "en"}
    tensors = build(MaskedPair(BERT, language_ids={"en": 0, "de": 1}, segment_ids="pair"), example)
    assert tensors["side_ids"].tolist() == example["side_ids"]
    assert tensors["language_ids"].tolist() == [1] * 6 + [0] * 6
    assert tensors["token_type_ids"].tolist() == [0] * 6 + [1] * 6


@pytest.mark.parametrize("named", [{}, {"source_language": "de"}])
def test_a_packed_block_without_languages_has_no_language_ids(named):
    example = {**xlm_instance(), **named}
    view = MaskedPair(BERT, language_ids={"en": 0, "de": 1})
    assert build(view, example)["language_ids"].tolist() == example.pop("language_ids"), "those of the block"
    with refused(ConfigurationError, "language_ids needs a 'language' column"):
        build(view, example)


def test_halves_of_different_lengths_are_told_apart():
    example = {name: values[:2] + values[3:] for name, values in xlm_instance().items()}
    tensors = build(MaskedPair(BERT, segment_ids="pair"), example)
    assert tensors["token_type_ids"].tolist() == [0] * 5 + [1] * 6


@pytest.mark.parametrize(
    "positions",
    [None, [*range(12)], [0, 1, 2, 3, 0, 0, 4, 5, 6, 7, 8, 9]],
    ids=["none", "all", "without_padding"],
)
def test_positions_that_do_not_begin_again_leave_the_first_half_its_segment(positions):
    example = {name: values for name, values in xlm_instance().items() if name != "position_ids"}
    if positions is not None:
        example["position_ids"] = positions
    tensors = build(MaskedPair(BERT, segment_ids="pair"), example)
    # The second half begins at its first piece.
    assert tensors["token_type_ids"].tolist() == [0] * 7 + [1] * 5


def test_a_second_half_without_source_pieces_before_it_begins_with_its_special_tokens():
    example = xlm_instance() | {"side_ids": [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0]}
    tensors = build(MaskedPair(BERT, segment_ids="pair"), example)
    assert tensors["token_type_ids"].tolist() == [0] * 6 + [1] * 6


def test_xlm_instances_as_the_corpus_packs_them(tmp_path):
    """Both halves of a packed stream keep their language, segment and side, up to the padding."""
    corpus = tiny_bitext(40)
    encoded = {
        f"{side}_{name}": values
        for side in ("source", "target")
        for name, values in (
            ("ids", BERT(list(corpus[side]), add_special_tokens=False)["input_ids"]),
            ("language", list(corpus[f"{side}_language"])),
        )
    }
    for side in ("source", "target"):
        encoded[f"{side}_word_ids"] = [list(range(len(ids))) for ids in encoded[f"{side}_ids"]]
    options = PackOptions(mode="xlm_pairs", block=128, language_ids={"en": 1, "xx": 2})
    stream = pack_stream(Dataset.from_dict(encoded), tokenizer=BERT, options=options, cache_dir=tmp_path)
    view = MaskedPair(BERT, segment_ids="pair", whole_word=True)
    for example in stream:
        tensors = build(view, example)
        present = tensors["attention_mask"].bool()
        second = torch.arange(128) >= 64
        assert tensors["language_ids"][present].tolist() == (1 + second.long())[present].tolist()
        assert torch.equal(tensors["token_type_ids"][present], second.long()[present])
        special = torch.isin(tensors["original_ids"], torch.tensor([CLS, SEP]))
        assert torch.equal(tensors["side_ids"] == 0, special | ~present)
        assert not ((tensors["labels"] != IGNORE_INDEX) & (tensors["side_ids"] == 0)).any()


def test_xlm_instance_that_tells_no_halves():
    example = {k: v for k, v in xlm_instance().items() if k != "side_ids"}
    with pytest.raises(ConfigurationError, match="has no 'side_ids'; pack it with"):
        build(MaskedPair(BERT), example)


def test_numpy_and_tensor_columns_give_the_same():
    view = MaskedPair(BERT, whole_word=True)
    lists = build(view)
    for convert in (lambda v: np.array(v, dtype=np.int32), torch.tensor):
        example = {k: convert(v) if isinstance(v, list) else v for k, v in EXAMPLE.items()}
        assert all(torch.equal(lists[k], v) for k, v in build(view, example).items())


def test_clear_errors():
    with pytest.raises(ConfigurationError) as caught:
        MaskedPair(BERT, segment_ids="both", order="random")
    assert len(caught.value.problems) == 2
    with pytest.raises(ConfigurationError, match="word_ids"):
        example = {k: v for k, v in EXAMPLE.items() if not k.endswith("word_ids")}
        build(MaskedPair(BERT, whole_word=True), example)


def test_columns():
    assert MaskedPair(BERT).columns == ("source_ids", "target_ids")
    columns = MaskedPair(BERT, whole_word=True, language_ids={"en": 0}).columns
    assert columns[:3] == ("source_ids", "source_word_ids", "source_language")
