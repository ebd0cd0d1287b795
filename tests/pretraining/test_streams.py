"""From a stream's section to its sources, its options and its encoding."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from plain_recipes import load

from isoglot.errors import ConfigurationError
from isoglot.pretraining.stream_options import (
    encode_options,
    prepare_values,
    stream_sources,
    tokenizer_options,
)
from isoglot.pretraining.streams import encoded, input_hashes, load_tokenizer, prepared
from isoglot.recipe.sections import StreamSection
from isoglot.runs.cache import cache_folder
from isoglot.runs.lock import locked
from isoglot.runs.reporter import Silent


def test_one_path_two_paths_and_several_sources() -> None:
    pair = {"kind": "bitext", "source_language": "en", "target_language": "de"}
    (one,) = stream_sources(StreamSection.model_validate({**pair, "path": "x.tsv", "columns": {"source": 3}}))
    assert (one.path, one.source_language, one.columns) == ("x.tsv", "en", {"source": 3})
    (moses,) = stream_sources(StreamSection.model_validate({**pair, "path": ["x.en", "x.de"]}))
    assert (moses.path, moses.target_path) == ("x.en", "x.de")
    section = {"kind": "bitext", "source_language": "en", "header": True}
    entries = [
        {"path": "a.tsv", "target_language": "de"},
        {"path": "b.tsv", "target_language": "fr", "header": False},
    ]
    sources = stream_sources(StreamSection.model_validate({**section, "sources": entries}))
    assert [(s.source_language, s.target_language, s.header) for s in sources] == [
        ("en", "de", True),
        ("en", "fr", False),
    ]
    (text,) = stream_sources(
        StreamSection.model_validate({"kind": "text", "path": "a.txt", "language": "en"})
    )
    assert text.language == "en"


def test_filters_by_pieces_measure_with_the_runs_tokenizer() -> None:
    values = {"model": {"path": "some-model"}}
    assert prepare_values(values, "bitext", {"min_pieces": 3})["tokenizer"] == "some-model"
    assert prepare_values(values, "bitext", {"min_pieces": 3, "tokenizer": "t"})["tokenizer"] == "t"
    assert "tokenizer" not in prepare_values(values, "bitext", {"limit": 3})
    values["tokenizer"] = {"path": "own"}
    assert prepare_values(values, "bitext", {"max_pieces": 3})["tokenizer"] == "own"
    assert set(prepare_values(values, "bitext", {"path": "x", "limit": 1, "header": True})) == {
        "kind",
        "limit",
    }


def test_encoding_is_as_long_as_the_longest_view(tiny_recipe: Path) -> None:
    assert encode_options(load(tiny_recipe), "bitext").max_length == 64
    longer = "views.other={type: masked_pair, stream: bitext, max_length: 90}"
    assert encode_options(load(tiny_recipe, [longer]), "bitext").max_length == 90
    unlimited = "views.other={type: masked_pair, stream: bitext}"
    assert encode_options(load(tiny_recipe, [unlimited]), "bitext").max_length == 128
    assert encode_options(load(tiny_recipe, ["streams.bitext.encode.max_length=7"]), "bitext").max_length == 7
    assert encode_options(load(tiny_recipe, ["streams.bitext.pack.block=64"]), "bitext").max_length is None


def test_a_roberta_from_scratch_gets_its_familys_specials(tiny_recipe: Path) -> None:
    options = tokenizer_options(load(tiny_recipe, ["model.architecture=xlm-roberta"]))
    assert options is not None and options.family == "roberta"
    given = tokenizer_options(load(tiny_recipe, ["model.architecture=roberta", "tokenizer.family=bert"]))
    assert given is not None and given.family == "bert"


def test_packed_streams_and_cached_steps(tiny_recipe: Path) -> None:
    text = ["streams.bitext.kind=text", "streams.bitext.language=en", "streams.bitext.columns={text: 0}"]
    text += ["streams.bitext.source_language=null", "streams.bitext.target_language=null"]
    text += ["streams.bitext.pack={mode: documents, block: 32}"]
    text += ["views.pair={type: masked_text, stream: bitext}"]
    recipe = load(tiny_recipe, text)
    corpora = prepared(recipe, cache_folder(), Silent())
    tokenizer = load_tokenizer(recipe, corpora, cache_folder(), Silent())
    stream = encoded(recipe, corpora, tokenizer, cache_folder(), Silent())["bitext"]
    assert "document_ids" in stream.column_names and max(stream["length"]) <= 32
    files = {p: p.stat().st_mtime_ns for p in cache_folder().rglob("*.arrow")}
    prepared(recipe, cache_folder(), Silent())
    encoded(recipe, corpora, tokenizer, cache_folder(), Silent())
    assert {p: p.stat().st_mtime_ns for p in cache_folder().rglob("*.arrow")} == files, (
        "nothing is made twice"
    )
    assert set(input_hashes(recipe, corpora)) == {"bitext"}


def test_runs_that_share_a_cache_prepare_one_after_the_other(tiny_recipe: Path, tmp_path: Path) -> None:
    recipe = load(tiny_recipe)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: prepared(recipe, tmp_path / "cache", Silent()), range(4)))
    hashes = [input_hashes(recipe, corpora) for corpora in found]
    assert all(own == hashes[0] for own in hashes)
    (folder,) = (tmp_path / "cache" / "corpora").iterdir()
    with ThreadPoolExecutor(1) as pool:
        with locked(folder):
            waiting = pool.submit(prepared, recipe, tmp_path / "cache", Silent())
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
        assert input_hashes(recipe, waiting.result(timeout=60)) == hashes[0]


def test_a_tokenizer_that_is_not_there(tiny_recipe: Path, tmp_path: Path) -> None:
    recipe = load(tiny_recipe, [f"tokenizer={{path: {tmp_path / 'none'}}}"])
    with pytest.raises(ConfigurationError, match="none: does not exist"):
        load_tokenizer(recipe, {}, cache_folder(), Silent())
