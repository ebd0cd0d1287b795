"""What `inspect` shows is what training sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from isoglot.pretraining.build import batch_options, build_model
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.inspect import inspect_recipe, table
from isoglot.pretraining.pretrain import build_trainer, training_arguments
from isoglot.pretraining.streams import cache_folder, encoded, load_tokenizer, prepared
from isoglot.runs.reporter import Silent


def test_instances_are_those_of_the_training_batches(tiny_recipe: Path, tmp_path: Path) -> None:
    recipe = load_recipe(tiny_recipe, ["batch.examples=1"])
    shown = inspect_recipe(recipe, positions=3)
    corpora = prepared(recipe, cache_folder(), Silent())
    tokenizer = load_tokenizer(recipe, corpora, cache_folder(), Silent())
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
        assert instance.position == position and instance.coin == item["bitext"]["coin"]
        assert instance.masked == sum(masked) > 0


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
    first = load_tokenizer(recipe, corpora, cache_folder(), Silent())
    (folder,) = (cache_folder() / "tokenizers").iterdir()
    before = (folder / "tokenizer.json").stat().st_mtime_ns
    second = load_tokenizer(recipe, corpora, cache_folder(), Silent())
    assert (folder / "tokenizer.json").stat().st_mtime_ns == before
    text = "the old teacher sees a quiet river again ."
    assert (
        first.tokenize(text) == second.tokenize(text) == AutoTokenizer.from_pretrained(folder).tokenize(text)
    )
