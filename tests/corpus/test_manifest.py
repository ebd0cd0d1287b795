import json
import os
from pathlib import Path

import pytest
from edits import change_unseen
from reading import PAIR, texts, tsv
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.manifest import InputFile, load_corpus
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source


def test_every_kind_loads_with_its_schema(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    prepare(
        Source(path=str(tmp_path / "a.txt"), language="en"),
        tmp_path / "t",
        options=PrepareOptions(kind="text"),
    )
    assert load_corpus(tmp_path / "t")[:] == {"text": ["one", "two"], "language": ["en", "en"]}
    (tmp_path / "b.txt").write_text("a b ||| c ||| 1-0\n")
    source = Source(path=str(tmp_path / "b.txt"), format="bars", **PAIR)
    prepare(source, tmp_path / "a", options=PrepareOptions(kind="aligned"))
    assert load_corpus(tmp_path / "a")[0]["links"] == [[1, 0]]
    (tmp_path / "c.conllu").write_text("1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\n\n")
    source = Source(path=str(tmp_path / "c.conllu"), language="en")
    prepare(source, tmp_path / "c", options=PrepareOptions(kind="treebank"))
    assert load_corpus(tmp_path / "c")[0]["heads"] == [0]


def test_loading_an_incomplete_folder(tmp_path):
    with refused(InputError, "/no: ", 'out="'):
        load_corpus(tmp_path / "no")
    prepare(tsv(tmp_path, ["a\tb"]), tmp_path / "out")
    (tmp_path / "out" / "data-00000.parquet").unlink()
    with refused(InputError, "/out: data-00000.parquet ", "`isoglot prepare --overwrite`"):
        load_corpus(tmp_path / "out")
    with refused(ConfigurationError, "/out: ", "(data-00000.parquet ", "overwrite=True"):
        prepare(tsv(tmp_path, ["a\tb"]), tmp_path / "out")
    (tmp_path / "out" / "manifest.json").unlink()
    with refused(InputError, "/out: ", "manifest", 'out="'):
        load_corpus(tmp_path / "out")


@pytest.mark.parametrize("name", ["../other/data-00000.parquet", "{}/data-00000.parquet"])
def test_a_manifest_names_files_of_its_own_folder_alone(tmp_path, name):
    for folder in ("out", "other"):
        prepare(tsv(tmp_path, ["a\tb"]), tmp_path / folder)
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "shards": {name.format(tmp_path / "other"): 1}, "hashes": {}}))
    with refused(InputError, "/out: ", "manifest", 'out="'):
        load_corpus(tmp_path / "out")


@pytest.mark.parametrize("change", [None, lambda data: data[:-9]])
def test_a_changed_shard_is_noticed_although_its_rows_are_unpacked(tmp_path, change):
    source = tsv(tmp_path, [f"a{i}\tb{i}" for i in range(50)])
    prepare(source, tmp_path / "out")
    load_corpus(tmp_path / "out")
    change_unseen(tmp_path / "out" / "data-00000.parquet", change)
    with refused(InputError, "/out: data-00000.parquet ", "`isoglot prepare --overwrite`"):
        load_corpus(tmp_path / "out")
    with refused(ConfigurationError, "/out: ", "(data-00000.parquet ", "overwrite=True"):
        prepare(source, tmp_path / "out")
    assert not prepare(source, tmp_path / "out", overwrite=True).skipped
    assert len(load_corpus(tmp_path / "out")) == 50


def test_a_changed_shard_of_a_folder_without_hashes_is_unpacked_again(tmp_path):
    for name in ("out", "other"):
        prepare(tsv(tmp_path, [f"{name}\tb"]), tmp_path / name)
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        del manifest["hashes"]  # as earlier releases wrote it
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
    assert texts(tmp_path / "out") == [("out", "b")]
    shard = tmp_path / "out" / "data-00000.parquet"
    shard.write_bytes((tmp_path / "other" / shard.name).read_bytes())
    assert texts(tmp_path / "out") == [("other", "b")]


def test_a_manifest_with_times_is_still_recognised(tmp_path):
    source = tsv(tmp_path, ["one\teins"])
    prepare(source, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["inputs"][0]["modified"] = 1  # as earlier releases wrote it
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    assert prepare(source, tmp_path / "out").skipped


def test_an_input_is_recorded_by_its_content_and_a_stream_is_always_new(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\n", encoding="utf-8")
    before = InputFile.of(str(path))
    os.utime(path, (1, 1))
    assert InputFile.of(str(path)) == before
    path.write_text("two\n", encoding="utf-8")
    assert InputFile.of(str(path)) != before
    for stream in ("-", "/dev/null"):
        assert InputFile.of(stream) != InputFile.of(stream)


def test_a_folder_keeps_its_hash_when_it_is_opened(tmp_path):
    prepare(tsv(tmp_path, ["a\tb"]), tmp_path / "out")
    before = InputFile.of(str(tmp_path / "out"))
    assert len(load_corpus(tmp_path / "out")) == 1
    assert list((tmp_path / "out").glob(".*")), "it is opened by a file beside it"
    assert InputFile.of(str(tmp_path / "out")) == before


def test_a_corpus_without_a_writable_cache_is_refused(tmp_path, monkeypatch):
    prepare(tsv(tmp_path, ["a\tb"]), tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)  # the tests may run as root, who may write everywhere
        with refused(ConfigurationError, "/out/.cache and ", " cannot be written; set ISOGLOT_CACHE"):
            load_corpus(tmp_path / "out")
    load_corpus(tmp_path / "out")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert len(load_corpus(tmp_path / "out")) == 1


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_unpacked_rows_that_are_damaged_are_unpacked_again(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.tsv").write_text("a house\tein Haus\n" * 50)
    prepare(
        Source(path=str(tmp_path / "a.tsv"), source_language="en", target_language="de"), tmp_path / "out"
    )
    rows = load_corpus(tmp_path / "out")[:]
    (kept,) = (tmp_path / "out" / ".cache").glob("*/*.arrow")
    whole = kept.read_bytes()
    kept.unlink()  # what is mapped into memory stays
    kept.write_bytes(whole[: len(whole) // 2] if damage == "cut" else whole.replace(b"house", b"mouse"))
    assert load_corpus(tmp_path / "out")[:] == rows and "rebuilt" in caplog.text
    assert kept.read_bytes() == whole
