"""What studies count: rows, bytes and tokens of a recipe's streams by language, and the shape of an encoder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shipped_studies import program, steps_of
from transformers import AutoModel, XLMConfig

from isoglot.runs.reporter import Silent
from isoglot.studies.counting_steps import CountStreams, DescribeEncoder, shape_of
from isoglot.studies.training_steps import Pretrain
from isoglot.testing import tiny_model, tiny_tokenizer


def test_rows_bytes_and_tokens_are_those_of_the_text_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    tokenizer = tiny_tokenizer()
    tiny_model(tokenizer=tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(str(tmp_path / "model"))
    pairs = {"de": [("a b", "c ä"), ("a b", "c ä"), ("d", "")], "fr": [("e", "f g h")]}
    sources = []
    for language, rows in pairs.items():
        file = tmp_path / f"en-{language}.tsv"
        file.write_text("".join(f"{one}\t{two}\n" for one, two in rows), encoding="utf-8")
        sources.append({"path": str(file), "source_language": "en", "target_language": language})
    (tmp_path / "text.txt").write_text("a b c\nd\n", encoding="utf-8")
    sections = {
        "model": {"path": str(tmp_path / "model")},
        "streams": {
            "bitext": {
                "path": None,
                "target_language": None,
                "sources": sources,
                "duplicates": "pair",
                "tokenizer": None,
                "min_pieces": None,
                "max_pair_pieces": None,
            },
            "text": {"kind": "text", "path": str(tmp_path / "text.txt"), "language": "en"},
        },
        "views": {"alone": {"type": "masked_text", "stream": "text"}},
        "objectives": {"mlm": {"type": "masked_lm", "view": "alone"}},
        "train": {"fp16": None},
    }
    values = CountStreams(recipe="tlm", sections=sections).run(
        tmp_path / "out" / "count" / "streams", Silent()
    )["values"]
    assert (tmp_path / "out" / "cache").is_dir(), "where the training of a study finds the corpora"
    assert {name: value for name, value in values.items() if name.startswith("bitext/en-de/")} == {
        "bitext/en-de/read": 3,
        "bitext/en-de/kept": 1,
        "bitext/en-de/gigabytes": len("a bc ä".encode()) / 1e9,
        "bitext/en-de/tokens": sum(
            len(tokenizer(side, add_special_tokens=False)["input_ids"]) for side in ("a b", "c ä")
        ),
    }
    assert values["bitext/en-fr/kept"] == 1 and values["text/en/kept"] == 2
    assert values["text/en/gigabytes"] == len("a b cd") / 1e9
    json.dumps(values)


def test_the_shape_is_that_of_the_encoder_without_its_head(tmp_path: Path) -> None:
    model = tiny_model()
    model.save_pretrained(tmp_path)
    values = DescribeEncoder(checkpoint=str(tmp_path)).run(tmp_path, Silent())["values"]
    config = model.config
    assert (values["layers"], values["hidden"]) == (config.num_hidden_layers, config.hidden_size)
    assert (values["heads"], values["feed_forward"]) == (config.num_attention_heads, config.intermediate_size)
    whole = AutoModel.from_config(config)
    assert values["parameters"] == sum(parameter.numel() for parameter in whole.parameters())
    assert "languages" not in values


def test_xlm_names_its_languages_and_not_its_width() -> None:
    shape = dict(shape_of(XLMConfig(emb_dim=32, n_layers=2, n_heads=4, vocab_size=99, n_langs=15)))
    assert (shape["languages"], shape["feed_forward"], shape["vocabulary"]) == (15, 128, 99)


@pytest.mark.parametrize("scale", ["tiny", "small", "paper"])
def test_a_table_of_data_counts_what_the_recipe_of_the_results_reads(scale: str) -> None:
    own = program("ppa/table1", scale)
    counted = {}
    for part in own.parts:
        part.ask()
        counted |= {
            work.name: work.step.sections for work in part.steps if isinstance(work.step, CountStreams)
        }
    for pairs, run in (("250k", "ppa"), ("600k", "ppa pairs=600k"), ("2M", "ppa pairs=2M")):
        trained = [
            work.step.sections
            for part in program("ppa/table2", scale).parts
            if part.ask() is None
            for work in part.steps
            if isinstance(work.step, Pretrain) and work.name == f"{run} s1"
        ]
        assert trained and counted[f"ppa {pairs} streams"] == trained[0]


def test_count_of_steps_at_scale_paper_trains_nothing() -> None:
    steps = steps_of("xlm_align/table10", "en-de")
    assert [type(step) for step in steps.values()] == [CountStreams]
