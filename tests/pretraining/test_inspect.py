"""What `inspect` shows is what training sees."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from refusals import refused
from transformers import AutoTokenizer

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.pretraining.build import batch_options, build_model, build_trainer
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.inspect import describe, inspect_recipe, table
from isoglot.pretraining.pretrain import training_arguments
from isoglot.pretraining.streams import encoded, prepared, tokenizer_of_run
from isoglot.runs.cache import cache_folder
from isoglot.runs.reporter import Silent
from isoglot.testing import tiny_tokenizer
from isoglot.views import MaskedPair, MaskedText, SentencePairView


def test_instances_are_those_of_the_training_batches(tiny_recipe: Path, tmp_path: Path) -> None:
    recipe = load_recipe(tiny_recipe, ["batch.examples=1"])
    shown = inspect_recipe(recipe, positions=3)
    corpora = prepared(recipe, cache_folder(), Silent())
    tokenizer = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
    built = build_model(recipe, tokenizer, corpora)
    streams = encoded(recipe, corpora, tokenizer, cache_folder(), Silent())
    trainer = build_trainer(recipe, built, streams, tokenizer, training_arguments(recipe, tmp_path / "run"))
    assert batch_options(recipe, built.views, streams).examples == 1
    for position, instance in enumerate(shown):
        item = trainer.train_dataset[position]
        batch = trainer.data_collator([item])["pair"]
        ids = batch["input_ids"][0].tolist()
        assert [row.input_piece for row in instance.rows] == tokenizer.convert_ids_to_tokens(ids)
        masked = (batch["labels"][0] >= 0).tolist()
        assert [row.masked for row in instance.rows] == masked
        assert instance.position == position and instance.coin == trainer.data_collator.coin(
            "bitext", position
        )
        assert instance.masked == sum(masked) > 0


def test_inspect_shows_positions_of_the_run_alone(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe, ["steps=null", "epochs={stream: bitext, count: 1}"])
    assert [instance.position for instance in inspect_recipe(recipe, start=62, positions=5)] == [62]
    with refused(ConfigurationError, "start: got 63, ", "0 to 62"):
        inspect_recipe(recipe, start=63)


def test_positions_are_those_of_one_device(tiny_recipe: Path) -> None:
    notes: list[str] = []
    inspect_recipe(tiny_recipe, positions=1, progress=notes.append)
    assert notes[-1] == "positions are those of a run on one device"


def test_the_table_shows_what_the_view_makes(tiny_recipe: Path) -> None:
    plain = inspect_recipe(load_recipe(tiny_recipe), positions=1)[0]
    heading, rows = table(plain)
    assert heading == ["#", "piece", "input", "predict", "segment", "side"]
    assert len(rows) == len(plain.rows)
    first = rows[0]
    assert first[1:4] == ["[CLS]", "=", ""] and first[-1] == "-"
    assert {row[-1] for row in rows} == {"-", "source", "target"}
    changed = next(row for row in rows if row[2] == "[MASK]")
    assert changed[3] == changed[1], "what is masked is what is to be predicted"

    settings = [
        "views.pair.reset_positions=true",
        "views.pair.segment_ids=pair",
        "views.pair.language_ids={en: 1, xx: 2}",
    ]
    heading, rows = table(inspect_recipe(load_recipe(tiny_recipe, settings), positions=1)[0])
    assert heading == ["#", "piece", "input", "predict", "position", "segment", "language", "side"]
    positions = [int(row[4]) for row in rows]
    assert positions.count(0) == 2, "positions start again at the second sentence"
    assert {row[5] for row in rows} == {"0", "1"}
    languages = {row[7]: row[6] for row in rows if row[7] != "-"}
    assert languages == {"source": "1", "target": "2"}


def test_query_and_key_are_told_apart(tiny_recipe: Path) -> None:
    both = "views.both={type: sentence_pair, stream: bitext}"
    reader = "objectives.near={type: sentence_contrast, view: both}"
    recipe = load_recipe(tiny_recipe, [both, reader])
    instances = {i.view: i for i in inspect_recipe(recipe, positions=1, start=5)}
    assert set(instances) == {"pair", "both"}
    heading, rows = table(instances["both"])
    assert heading[0] == "input of"
    assert {row[0] for row in rows} == {"query", "key"}
    assert instances["both"].position == 5


@pytest.mark.parametrize("algorithm", ["bpe", "byte_bpe", "unigram"])
def test_trained_tokenizers_are_cached_and_read_back_alike(tiny_recipe: Path, algorithm: str) -> None:
    recipe = load_recipe(tiny_recipe, [f"tokenizer={{algorithm: {algorithm}, vocab_size: 300}}"])
    corpora = prepared(recipe, cache_folder(), Silent())
    first = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
    (folder,) = (cache_folder() / "tokenizers").iterdir()
    before = (folder / "tokenizer.json").stat().st_mtime_ns
    second = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
    assert (folder / "tokenizer.json").stat().st_mtime_ns == before
    text = "the old teacher sees a quiet river again ."
    assert (
        first.tokenize(text) == second.tokenize(text) == AutoTokenizer.from_pretrained(folder).tokenize(text)
    )


TOKENIZER = tiny_tokenizer("bert")
EXAMPLE = {
    "source_ids": [10, 11],
    "target_ids": [20],
    "source_language": "en",
    "target_language": "de",
    "links": [[0, 0], [1, 0]],
}


def test_masked_pair():
    view = MaskedPair(
        TOKENIZER,
        probability=1.0,
        mask_share=1.0,
        random_share=0.0,
        reset_positions=True,
        segment_ids="pair",
        language_ids={"en": 4, "de": 5},
    )
    rows = describe(view.build(EXAMPLE, coin=False, generator=generator_for(0)), TOKENIZER)
    names = TOKENIZER.convert_ids_to_tokens([TOKENIZER.cls_token_id, 10, 11, TOKENIZER.sep_token_id, 20])
    assert [r.piece for r in rows] == [*names, TOKENIZER.sep_token]
    assert [r.masked for r in rows] == [False, True, True, False, True, False]
    assert [r.input_piece for r in rows if r.masked] == [TOKENIZER.mask_token] * 3
    assert [r.label for r in rows if r.masked] == [names[1], names[2], names[4]]
    assert [r.position_id for r in rows] == [0, 1, 2, 3, 0, 1]
    assert [r.segment_id for r in rows] == [0, 0, 0, 0, 1, 1]
    assert [r.language_id for r in rows] == [4, 4, 4, 4, 5, 5]
    assert [r.side for r in rows] == [0, 1, 1, 0, 2, 0]
    assert [r.links for r in rows] == [(), (4,), (4,), (), (1, 2), ()]
    assert {r.input for r in rows} == {""}


def test_sentence_pair():
    rows = describe(
        SentencePairView(TOKENIZER).build(EXAMPLE, coin=False, generator=generator_for(0)), TOKENIZER
    )
    assert [(r.input, r.position, r.side) for r in rows] == [
        ("query", 0, 0),
        ("query", 1, 1),
        ("query", 2, 1),
        ("query", 3, 0),
        ("key", 0, 0),
        ("key", 1, 2),
        ("key", 2, 0),
    ]
    assert [r.links for r in rows] == [(), (1,), (1,), (), (), (1, 2), ()]
    assert all(r.label is None and r.position_id is None for r in rows)


def test_padding_and_ids_beyond_the_tokenizer():
    block = {"input_ids": [10, 5000, TOKENIZER.pad_token_id], "document_ids": [1, 2, 0]}
    rows = describe(MaskedText(TOKENIZER).build(block, coin=False, generator=generator_for(0)), TOKENIZER)
    assert rows[1].piece == "<5000>"
    assert [r.attended for r in rows] == [True, True, False]
    assert [r.document for r in rows] == [1, 2, 0]


def test_padded_links_are_no_links():
    tensors = MaskedPair(TOKENIZER).build(EXAMPLE, coin=False, generator=generator_for(0))
    tensors["link_ids"] = torch.cat([tensors["link_ids"], torch.full((2, 2), -1)])
    assert [r.links for r in describe(tensors, TOKENIZER)] == [(), (4,), (4,), (), (1, 2), ()]


def test_a_file_is_a_recipe_too(tiny_recipe: Path) -> None:
    assert inspect_recipe(tiny_recipe, positions=1) == inspect_recipe(load_recipe(tiny_recipe), positions=1)
