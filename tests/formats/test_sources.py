"""Slips in naming an input: languages and columns are checked before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import invoke
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.readers import read
from isoglot.formats.sources import Kind, Source, expand


def pairs(folder: Path, **fields: object) -> Source:
    path = folder / "pairs.tsv"
    path.write_text("one\teins\n", encoding="utf-8")
    return Source.model_validate(
        {"path": str(path), "source_language": "en", "target_language": "de", **fields}
    )


@pytest.mark.parametrize("tag", ["english", "EN", "e", "en de", "en-", "en+de"])
def test_a_name_that_is_no_language_code_is_refused(tmp_path: Path, tag: str) -> None:
    with refused(ConfigurationError, f"pairs.tsv: source_language is {tag!r}", 'source_language="en"'):
        expand([pairs(tmp_path, source_language=tag)], "bitext")


@pytest.mark.parametrize(
    "tag", ["de", "deu", "deu_Latn", "pt-BR", "zh-Hant", "en-x-trans-inv", "en-x-trans+syn", "zh_min_nan"]
)
def test_codes_with_variants_are_taken(tmp_path: Path, tag: str) -> None:
    assert [s.target_language for s in expand([pairs(tmp_path, target_language=tag)], "bitext")] == [tag]


@pytest.mark.parametrize(
    ("kind", "column", "message"),
    [
        ("bitext", "src", r"columns: unknown column 'src'; did you mean 'source'\?"),
        ("bitext", "links", "columns: unknown column 'links'; known: flags, source, target"),
        ("text", "source", "columns: unknown column 'source'; known: flags, text"),
        ("treebank", "words", "columns: unknown column 'words'; none is known"),
    ],
)
def test_a_column_for_a_field_that_is_not_there(
    tmp_path: Path, kind: Kind, column: str, message: str
) -> None:
    source = pairs(
        tmp_path, columns={column: 0}, language="en", format="conllu" if kind == "treebank" else "tsv"
    )
    with pytest.raises(ConfigurationError, match=message):
        expand([source], kind)


def test_flags_of_a_text_are_a_column(tmp_path: Path) -> None:
    source = pairs(tmp_path, columns={"text": 0, "flags": 1}, language="en")
    assert [row["text"] for row in read(source, kind="text")] == ["one"]


def test_a_folder_with_a_broken_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "train.txt").write_bytes(b"good\ncaf\xe9\n")
    source = Source(path=str(folder), source_language="en", target_language="de")
    with refused(InputError, "/raw: ", "0xe9"):
        list(read(source))


@pytest.mark.parametrize(
    ("name", "kind", "options", "message"),
    [
        ("a.jsonl", "text", {"header": True}, "header is for tsv, csv, not for jsonl"),
        ("a.tsv", "text", {"documents": True}, "documents is for text, not for tsv"),
        ("a.txt", "text", {"columns": {"text": 1}}, "columns is for tsv, .*, not for text"),
        ("a.csv", "text", {"split": "dev"}, "split is for huggingface, not for csv"),
        ("a.txt", "text", {"one_based": True}, "one_based is for word links"),
    ],
)
def test_options_that_no_input_uses(
    tmp_path: Path, name: str, kind: Kind, options: dict[str, object], message: str
) -> None:
    (tmp_path / name).write_text("a\n")
    with pytest.raises(ConfigurationError, match=message):
        expand([Source.model_validate({"path": str(tmp_path / name), "language": "en", **options})], kind)


def test_an_option_may_be_for_one_of_several_inputs(tmp_path: Path) -> None:
    for name in ("a.csv", "a.jsonl"):
        (tmp_path / name).write_text("a\n")
    sources = [Source(path=str(tmp_path / n), language="en", header=True) for n in ("a.csv", "a.jsonl")]
    assert len(expand(sources, "text")) == 2


def test_files_are_paths_too() -> None:
    paths = Path("a.en"), Path("a.de"), Path("a.links")
    source = Source(**dict(zip(("path", "target_path", "links_path"), paths, strict=True)))
    assert source.files() == ["a.en", "a.de", "a.links"]


@pytest.mark.parametrize(
    ("name", "export"),
    [
        ("a.xlsx", "CSV"),
        ("a.po", "po2tmx"),
        ("a.xlf.gz", "tikal"),
        ("a.sdlxliff", "TMX"),
        ("a.tbx", "tbx2po"),
        ("a.json", "jq -c"),
    ],
)
def test_a_file_that_has_to_be_exported_first_is_refused_by_every_verb(
    tmp_path: Path, name: str, export: str
) -> None:
    path, other = tmp_path / name, tmp_path / "b.txt"
    for file in (path, other):
        file.write_text("{}\n")
    out = str(tmp_path / "out")
    for command in (
        ["filter", str(path), str(other), "--aligner", "none"],
        ["filter", str(other), str(path), "--aligner", "none"],
        ["filter", str(path), "--aligner", "none"],
        ["align", str(path), str(other)],
        ["align-sentences", str(other), str(path)],
        ["mine", str(path), str(other)],
        ["prepare", str(path), str(other), "--source-lang", "en", "--target-lang", "de"],
    ):
        result = invoke(*command, "--out", out)
        assert isinstance(result.exception, ConfigurationError), (command, result.output)
        assert name in str(result.exception) and export in str(result.exception), command
    assert not Path(out).exists()
