"""Padding, and tensors that depend on the example's position alone."""

from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.testing import tiny_tokenizer
from isoglot.training.collate import Collator, pad
from isoglot.views.base import View, padding_value
from isoglot.views.code_switched_text import CodeSwitchedText
from isoglot.views.lexicon import SynonymTable, TokenLexicon
from isoglot.views.masked_pair import MaskedPair
from isoglot.views.masked_text import MaskedText
from isoglot.views.sentence_pair import SentencePairView

TOKENIZER = tiny_tokenizer("xlm-roberta")
PAD = TOKENIZER.pad_token_id
SYNONYMS = TokenLexicon({None: SynonymTable.from_entries((i, i + 1, -1) for i in range(10, 90))})
VIEWS: dict[str, tuple[str, View]] = {
    "pair": ("bitext", MaskedPair(TOKENIZER, order="shuffle", whole_word=True, reset_positions=True)),
    "sentences": ("bitext", SentencePairView(TOKENIZER)),
    "mono": ("text", MaskedText(TOKENIZER, count="exact")),
    "switched": ("text", CodeSwitchedText(TOKENIZER, lexicon=SYNONYMS)),
}


def item(position):
    """A mixture item whose lengths vary with its position."""
    n, m = 3 + position * 7 % 11, 2 + position * 5 % 13
    return {
        "position": position,
        "bitext": {
            "source_ids": [10 + (position + i) % 80 for i in range(n)],
            "target_ids": [10 + (position * 3 + i) % 80 for i in range(m)],
            "source_word_ids": [i // 2 for i in range(n)],
            "target_word_ids": [i // 2 for i in range(m)],
            "links": [[i, i] for i in range(position % 3)],
        },
        "text": {"input_ids": [10 + (position * 7 + i) % 80 for i in range(n + m)]},
    }


def collator(**options):
    return Collator(VIEWS, seed=5, pad_token_id=PAD, **options)


def same(a, b):
    return a.keys() == b.keys() and all(
        a[v].keys() == b[v].keys() and all(torch.equal(a[v][k], b[v][k]) for k in a[v]) for v in a
    )


@settings(max_examples=25)
@given(
    positions=st.lists(st.integers(0, 200), min_size=1, max_size=7, unique=True),
    multiple=st.sampled_from([None, 8]),
)
def test_an_example_does_not_depend_on_its_batch(positions, multiple):
    batch = collator(pad_to_multiple_of=multiple)([item(p) for p in positions])
    for row, position in enumerate(positions):
        for name, (stream, view) in VIEWS.items():
            alone = view.build(
                item(position)[stream],
                coin=collator().coin(stream, position),
                generator=generator_for(5, "view", name, position),
            )
            assert alone.keys() == batch[name].keys()
            for key, tensor in alone.items():
                padded = batch[name][key][row]
                assert padded.dtype == torch.int64
                assert torch.equal(padded[: len(tensor)], tensor)
                assert (padded[len(tensor) :] == padding_value(key, pad_token_id=PAD)).all()


def test_seed_view_and_position_decide():
    def labels(seed=5, name="mono", position=3):
        views = {name: ("text", MaskedText(TOKENIZER, probability=0.5))}
        example = item(3) | {"position": position}
        return Collator(views, seed=seed, pad_token_id=PAD)([example])[name]["labels"].tolist()

    assert labels() == labels()
    assert labels(seed=6) != labels()
    assert labels(name="other") != labels()
    assert labels(position=4) != labels()


def test_every_view_of_an_example_gets_the_same_fair_coin():
    same_order = {"pair": ("bitext", MaskedPair(TOKENIZER, order="shuffle")), "sentences": VIEWS["sentences"]}
    collate = Collator(same_order, seed=5, pad_token_id=PAD)
    coins = [collate.coin("bitext", position) for position in range(1000)]
    assert 430 < sum(coins) < 570
    assert coins != [collate.coin("text", position) for position in range(1000)]
    for position, coin in enumerate(coins[:8]):
        batch = collate([item(position)])
        assert batch["sentences"]["query_is_source_mask"].item() == (not coin)
        first = batch["pair"]["side_ids"][0].nonzero()[0]
        assert batch["pair"]["side_ids"][0, first] == (2 if coin else 1)


def test_padding_by_suffix():
    batch = pad(
        [
            {
                "input_ids": torch.tensor([5]),
                "labels": torch.tensor([5]),
                "link_ids": torch.zeros(0, 2).long(),
            },
            {
                "input_ids": torch.tensor([5, 6, 7]),
                "labels": torch.tensor([-100, 6, -100]),
                "link_ids": torch.tensor([[1, 2]]),
            },
        ],
        pad_token_id=9,
        multiple=4,
    )
    assert batch["input_ids"].tolist() == [[5, 9, 9, 9], [5, 6, 7, 9]]
    assert batch["labels"].tolist() == [[5, -100, -100, -100], [-100, 6, -100, -100]]
    assert batch["link_ids"].tolist() == [[[-1, -1]], [[1, 2]]]


def test_multiples_are_of_token_lengths_only():
    batch = collator(pad_to_multiple_of=8)([item(p) for p in range(5)])
    assert all(t.shape[1] % 8 == 0 for t in batch["mono"].values())
    for prefix in ("query_", "key_"):
        shapes = {t.shape[1] for k, t in batch["sentences"].items() if k.startswith(f"{prefix}input_ids")}
        assert all(length % 8 == 0 for length in shapes)
        assert batch["sentences"][f"{prefix}word_ids"].shape[1] in shapes
    assert batch["sentences"]["source_key_ids"].shape == (5, 1)
    assert batch["sentences"]["query_is_source_mask"].shape == (5, 1)
    assert batch["pair"]["link_ids"].shape == (5, 2, 2)


def test_no_links_in_the_whole_batch():
    batch = collator()([item(0), item(3)])
    assert batch["pair"]["link_ids"].shape == (2, 0, 2)


def test_pair_and_sentences_have_the_same_order():
    batch = collator()([item(p) for p in range(4)])
    queries = batch["sentences"]["query_input_ids"]
    first = batch["pair"]["original_ids"]
    for row in range(4):
        length = int(batch["sentences"]["query_attention_mask"][row].sum())
        assert torch.equal(queries[row, :length], first[row, :length])


def test_pickles_small():
    copy = pickle.loads(pickle.dumps(collator()))
    items = [item(p) for p in range(3)]
    assert same(copy(items), collator()(items))


@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_loader_workers(context):
    items = [item(p) for p in range(4)]
    loader = DataLoader(
        items, batch_size=2, collate_fn=collator(), num_workers=1, multiprocessing_context=context
    )
    batches = list(loader)
    assert same(batches[0], collator()(items[:2]))
    assert same(batches[1], collator()(items[2:]))


def test_clear_errors():
    linkless = item(1)
    del linkless["bitext"]["links"]
    with pytest.raises(ConfigurationError, match="some examples have link_ids"):
        collator()([item(0), linkless])


def test_an_unknown_suffix():
    with pytest.raises(ValueError, match="'weights'"):
        pad([{"input_ids": torch.tensor([1]), "weights": torch.tensor([1])}], pad_token_id=0)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (MaskedText(TOKENIZER), r"view 'x': expected \(stream, view\)"),
        (("text", TOKENIZER), "view 'x': .* is not a view"),
        (("text", MaskedText), "view 'x': .* is not a view"),
    ],
)
def test_collate_names_an_object_that_is_no_view(view, message):
    with pytest.raises(ConfigurationError, match=message):
        Collator({"x": view}, seed=1, pad_token_id=PAD)
