"""From a stream's section to its sources, its options and its encoding."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from plain_recipes import load
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.pretraining.stream_section import StreamSection
from isoglot.pretraining.streams import encoded, encoding, input_hashes, prepared, tokenizer_of_run
from isoglot.runs.cache import cache_folder
from isoglot.runs.lock import locked
from isoglot.runs.reporter import Silent


def section(**values: object) -> StreamSection:
    return StreamSection.of(values, {"tokenizer": {"path": "some-model"}})


def test_one_path_two_paths_and_several_sources() -> None:
    pair = {"kind": "bitext", "source_language": "en", "target_language": "de"}
    (one,) = section(**pair, path="x.tsv", columns={"source": 3}).inputs
    assert (one.path, one.source_language, one.columns) == ("x.tsv", "en", {"source": 3})
    (moses,) = section(**pair, path=["x.en", "x.de"]).inputs
    assert (moses.path, moses.target_path) == ("x.en", "x.de")
    entries = [
        {"path": "a.tsv", "target_language": "de"},
        {"path": "b.tsv", "target_language": "fr", "header": False},
    ]
    sources = section(kind="bitext", source_language="en", header=True, sources=entries).inputs
    assert [(s.source_language, s.target_language, s.header) for s in sources] == [
        ("en", "de", True),
        ("en", "fr", False),
    ]
    (text,) = section(kind="text", path="a.txt", language="en").inputs
    assert text.language == "en"


def test_a_section_is_typed_and_dumped_as_it_was_given() -> None:
    given = {
        "kind": "bitext",
        "path": "x.tsv",
        "limit": 3,
        "encode": {"words": "whitespace"},
        "pack": {"block": 64},
    }
    made = section(**given)
    assert (made.prepare.limit, made.prepare.kind, made.encode.words) == (3, "bitext", "whitespace")
    assert made.pack is not None and made.pack.mode == "documents"
    assert made.model_dump(mode="json", exclude_none=True) == given


def test_all_mistakes_of_a_section_are_told_together() -> None:
    with pytest.raises(ConfigurationError) as caught:
        section(kind="bitext", sources=[{"path": "a"}, {"pth": "b"}], limt=3, duplicates="pairs")
    assert [problem.location for problem in caught.value.problems] == [
        ("limt",), ("sources", 1, "path"), ("sources", 1, "pth"), ("duplicates",),
    ]  # fmt: skip


def test_filters_by_pieces_measure_with_the_runs_tokenizer(tiny_recipe: Path) -> None:
    bitext = {"kind": "bitext", "path": "x.tsv"}
    assert section(**bitext, min_pieces=3).prepare.tokenizer == "some-model"
    assert section(**bitext, min_pieces=3, tokenizer="t").prepare.tokenizer == "t"
    assert section(**bitext, limit=3).prepare.tokenizer is None
    own = ["tokenizer={path: own}", "streams.bitext.max_pieces=30"]
    assert load(tiny_recipe, own).streams["bitext"].prepare.tokenizer == "own"


def test_encoding_is_as_long_as_the_longest_view(tiny_recipe: Path) -> None:
    position = "model.max_position_embeddings=128"
    reader = "objectives.other={type: masked_lm, view: other}"
    assert encoding(load(tiny_recipe), "bitext").max_length == 64
    longer = [position, reader, "views.other={type: masked_pair, stream: bitext, max_length: 90}"]
    assert encoding(load(tiny_recipe, longer), "bitext").max_length == 90
    unlimited = [position, reader, "views.other={type: masked_pair, stream: bitext}"]
    assert encoding(load(tiny_recipe, unlimited), "bitext").max_length == 128
    assert encoding(load(tiny_recipe, ["streams.bitext.encode.max_length=7"]), "bitext").max_length == 7
    packed = encoding(load(tiny_recipe, ["streams.bitext.pack.block=64"]), "bitext")
    assert (packed.max_length, packed.kind) == (None, "bitext")


def test_a_roberta_from_scratch_gets_its_familys_specials(tiny_recipe: Path) -> None:
    longer = "model.max_position_embeddings=66"  # positions are counted from the padding id + 1
    tokenizer = load(tiny_recipe, ["model.architecture=xlm-roberta", longer]).tokenizer
    assert tokenizer is not None and tokenizer.training is not None and tokenizer.training.family == "roberta"
    given = load(tiny_recipe, ["model.architecture=roberta", longer, "tokenizer.family=bert"]).tokenizer
    assert given is not None and given.training is not None and given.training.family == "bert"


def test_packed_streams_and_cached_steps(tiny_recipe: Path) -> None:
    text = ["streams.bitext.kind=text", "streams.bitext.language=en", "streams.bitext.columns={text: 0}"]
    text += ["streams.bitext.source_language=null", "streams.bitext.target_language=null"]
    text += ["streams.bitext.pack={mode: documents, block: 32}"]
    text += ["views.pair={type: masked_text, stream: bitext}"]
    recipe = load(tiny_recipe, text)
    corpora = prepared(recipe, cache_folder(), Silent())
    tokenizer = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
    stream = encoded(recipe, corpora, tokenizer, cache_folder(), Silent())["bitext"]
    assert "document_ids" in stream.column_names and max(stream["length"]) <= 32
    files = {p: p.stat().st_mtime_ns for p in cache_folder().rglob("*.arrow")}
    prepared(recipe, cache_folder(), Silent())
    encoded(recipe, corpora, tokenizer, cache_folder(), Silent())
    assert {p: p.stat().st_mtime_ns for p in cache_folder().rglob("*.arrow")} == files, (
        "nothing is made twice"
    )
    assert set(input_hashes(recipe, corpora)) == {"bitext"}


def test_rows_that_are_too_long_are_counted_with_their_limit(tiny_recipe: Path) -> None:
    class Notes(Silent):
        def __init__(self) -> None:
            self.texts: list[str] = []

        def note(self, text: str) -> None:
            self.texts.append(text)

    recipe, notes = load(tiny_recipe, ["streams.bitext.encode={max_length: 60, max_side: 24}"]), Notes()
    corpora = prepared(recipe, cache_folder(), notes)
    tokenizer = tokenizer_of_run(recipe, corpora, cache_folder(), notes)
    encoded(recipe, corpora, tokenizer, cache_folder(), notes)
    assert "for encode.max_length=60, max_side=24)" in notes.texts[-1], notes.texts


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
    with refused(ConfigurationError, "/none: ", "does not exist"):
        tokenizer_of_run(recipe, {}, cache_folder(), Silent())


def test_an_option_of_all_sources_under_one_of_them_is_told_its_place() -> None:
    entries = [{"path": "a.tsv", "limit": 3}, {"path": "b.tsv", "limt": 3}]
    with pytest.raises(ConfigurationError) as caught:
        section(kind="bitext", source_language="en", target_language="de", sources=entries)
    text = str(caught.value)
    assert "sources.0.limit: holds for all sources together; write limit beside `sources`" in text
    assert "sources.1.limt: unknown key" in text and text.count("sources.0.limit") == 1
