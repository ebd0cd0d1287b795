"""Filtering: rules as `prepare` has them, scores against plain loops, and the same verdicts whatever the windows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from datasets import Dataset

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.open_corpus import open_corpus
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.readers import read
from isoglot.formats.sources import Source
from isoglot.mining.filter_pairs import filter_files, filter_pairs
from isoglot.mining.options import FilterRequest
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

SIZE = 40


def table(texts: Sequence[str]) -> torch.Tensor:
    """Vectors that depend on the text alone."""
    return torch.stack(
        [torch.randn(8, generator=torch.Generator().manual_seed(sum(map(ord, text)))) for text in texts]
    )


def pairs(size: int = SIZE) -> list[tuple[str, str]]:
    rows = tiny_bitext(size)
    return list(zip(rows["source"], rows["target"], strict=True))


def scores(found: object) -> list[dict[str, float]]:
    return [dict(pair.scores) for pair in found]  # type: ignore[attr-defined]


def test_cosine_and_margin_are_those_of_loops_over_different_sentences() -> None:
    rows = pairs(10)
    rows += rows[:3]
    found = scores(filter_pairs(rows, model=table, aligner=None, neighbours=2))
    sides = [sorted({row[side] for row in rows}) for side in (0, 1)]

    def cosine(one: str, other: str) -> float:
        return float(torch.cosine_similarity(*table([one, other]), dim=0))

    for (source, target), own in zip(rows, found, strict=True):
        near = [
            sum(sorted((cosine(source, y) for y in sides[1]), reverse=True)[:2]) / 2,
            sum(sorted((cosine(x, target) for x in sides[0]), reverse=True)[:2]) / 2,
        ]
        assert own["cosine"] == pytest.approx(cosine(source, target), abs=1e-5)
        assert own["margin"] == pytest.approx(cosine(source, target) / (sum(near) / 2), rel=1e-4)


def test_the_last_window_is_filled_up_and_every_pair_keeps_its_place() -> None:
    rows = pairs()
    whole = scores(filter_pairs(rows[-16:], model=table, aligner=None))
    found = list(filter_pairs(iter(rows), model=table, aligner=None, pool=16))
    assert [(pair.source, pair.target) for pair in found] == rows
    for one, other in zip(scores(found)[-8:], whole[-8:], strict=True):  # 40 = 16 + 16 + 8, and 8 before them
        assert one == pytest.approx(other, rel=1e-5)


def test_alignment_and_coverage_are_those_of_the_aligner() -> None:
    aligner = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=2)
    found = list(filter_pairs([*pairs(5), ("one", "")], aligner=aligner, min_coverage=0.9))
    for pair in found[:5]:
        words = [
            text.replace(".", " .").replace("!", " !").replace("?", " ?").split()
            for text in (pair.source, pair.target)
        ]
        links = aligner.align_words(*words)
        expected = {
            "alignment": links.score,
            "source_coverage": len({i for i, _ in links.links}) / len(words[0]),
            "target_coverage": len({j for _, j in links.links}) / len(words[1]),
        }
        assert dict(pair.scores) == pytest.approx(expected)
        low = [name for name in ("source_coverage", "target_coverage") if expected[name] < 0.9]
        assert pair.reason == (low[0] if low else "")
    assert (found[5].reason, found[5].scores) == ("empty", {})


def test_warnings_of_the_aligner_call_pairs_by_their_number_in_the_input(
    encoder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("isoglot.aligners.embedding.aligner.MOST_ENTRIES", 600)
    rows = [*pairs(3), ("", "empty, so not scored"), ("ta " * 20, "to " * 20), *pairs(1)]
    with caplog.at_level("WARNING", logger="isoglot"):
        list(filter_pairs(rows, aligner=str(encoder), pool=2, progress=False))
    # The windows are pairs 1 and 2; 3, 4 and 5; 6.
    found = [record.getMessage() for record in caplog.records if "too long" in record.getMessage()]
    assert [message.partition(":")[0] for message in found] == ["pair 5"]


def test_rules_are_those_of_prepare_and_dropped_pairs_are_not_scored(tmp_path: Path) -> None:
    rows = [
        ("a plain sentence", "ein schlichter Satz"),
        ("short", "viel zu lang für diese Quelle hier"),
        ("some words here", "несколько слов"),
        ("  ", "leer"),
        ("the same words", "The same words!"),
        ("tokyo 1990", "Tokio 1990"),
    ]
    asked: list[str] = []

    def seen(texts: Sequence[str]) -> torch.Tensor:
        asked.extend(texts)
        return table(texts)

    rules = {"min_script_share": 0.5, "max_length_ratio": 3.0}
    found = list(
        filter_pairs(rows, model=seen, aligner=None, languages=("en", "de"), max_copied=0.6, **rules)
    )
    assert [pair.reason for pair in found] == ["", "ratio", "script", "empty", "copied", ""]
    assert set(asked) == {text for row in (rows[0], rows[5]) for text in row}
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in rows))
    source = Source(path=str(path), source_language="en", target_language="de")
    done = prepare(source, tmp_path / "out", options=PrepareOptions(**rules))
    assert done.removed == {"empty": 1, "script": 1, "ratio": 1}


@pytest.mark.parametrize("form", ["moses", "tsv", "tsv.gz", "jsonl", "tmx"])
def test_formats_go_in_and_out(form: str, tmp_path: Path) -> None:
    rows = [(f"{one} <&> \u2028", other) for one, other in pairs(9)]
    given = tmp_path / "given.jsonl"
    given.write_text("".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in rows))
    sources = [Source(path=str(given), source_language="en", target_language="de")]
    out = [str(tmp_path / f"kept.{part}") for part in (("en", "de") if form == "moses" else (form,))]
    dropped, report = tmp_path / "dropped.tsv", tmp_path / "report.json"
    corpus = open_corpus(sources, "bitext")
    found = filter_files(
        corpus, out, FilterRequest(model=table, aligner=None, min_cosine=0.1), dropped=dropped, report=report
    )
    extra = {"target_path": out[1]} if form == "moses" else {}
    again = [
        (row["source"], row["target"])
        for row in read(sources[0].model_copy(update={"path": out[0], **extra}))
    ]
    lost = [tuple(line.split("\t")[:3]) for line in dropped.read_text().split("\n")[:-1]]
    assert 0 < found.kept < 9 and found.kept == len(again) and found.dropped == {"cosine": len(lost)}
    assert sorted(again + [row[:2] for row in lost]) == sorted(rows)
    assert {row[2] for row in lost} == {"cosine"}
    told = json.loads(report.read_text())
    assert told["read"] == 9 and sum(row["pairs"] for row in told["histograms"]["margin"]) == 9
    if form == "tsv.gz":
        assert len(gzip.decompress(Path(out[0]).read_bytes()).splitlines()[0].split(b"\t")) == 4


def test_a_prepared_folder_is_read_with_its_languages(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("one two\teins zwei\nthree\tтри\n")
    prepare(Source(path=str(path), source_language="en", target_language="de"), tmp_path / "data")
    out = str(tmp_path / "kept.tsv")
    sources = open_corpus([str(tmp_path / "data")], "bitext", languages=["src", "tgt"])
    found = filter_files(sources, [out], FilterRequest(aligner=None, min_script_share=0.5))
    assert (found.kept, found.dropped) == (1, {"script": 1})
    assert Path(out).read_text() == "one two\teins zwei\n"
    judged = filter_pairs(tmp_path / "data", aligner=None, min_script_share=0.5, progress=False)
    assert [pair.reason for pair in judged] == ["", "script"]


@pytest.mark.parametrize(
    ("path", "out", "options", "error", "named"),
    [
        ("bad.tsv", ["kept.tsv"], {}, InputError, r"bad\.tsv:2: "),
        ("good.tsv", ["good.tsv"], {}, ConfigurationError, r"good\.tsv: .*input"),
        ("good.tsv", ["kept.tsv", "kept.tsv"], {}, ConfigurationError, r"kept\.tsv and kept\.tsv: "),
        ("good.tsv", ["kept.tsv", "./kept.tsv"], {}, ConfigurationError, r"kept\.tsv and \./kept\.tsv: "),
        ("good.tsv", ["kept.txt"], {}, ConfigurationError, r"kept\.txt: .*format"),
        ("none.tsv", ["kept.tsv"], {}, ConfigurationError, r"none\.tsv: "),
        (
            "unknown.tsv",
            ["kept.tsv"],
            {"min_script_share": 0.5},
            ConfigurationError,
            "`min_script_share` .*add languages=",
        ),
    ],
    ids=[
        "bytes",
        "input as output",
        "one output twice",
        "two spellings",
        "format",
        "no file",
        "no languages",
    ],
)
def test_filter_files_refuses_and_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    out: list[str],
    options: dict[str, Any],
    error: type[Exception],
    named: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"good.tsv": b"a\tb\n", "bad.tsv": b"a\tb\nc\td\xff\n", "unknown.tsv": b"a\tb\n"}
    for name, text in texts.items():
        Path(name).write_bytes(text)
    with pytest.raises(error, match=named):
        sources = open_corpus([path], "bitext", languages=("src" if path == "unknown.tsv" else "en", "de"))
        filter_files(sources, out, FilterRequest(aligner=None, **options))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == texts


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"aligner": None, "min_margin": 1.0}, '`min_margin`.*add model="box"'),
        ({"aligner": None, "min_coverage": 0.1}, "`min_coverage`.*aligner=None"),
        ({"min_margins": 1.0}, "`min_margins`.*did you mean 'min_margin'"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_filter_pairs_refuses_options(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        filter_pairs([], **options)


def test_pairs_are_held_as_align_many_takes_them() -> None:
    columns = {"target": ["Guten Morgen.", "Hallo"], "source": ["Good morning.", "Hello"]}
    pairs = list(zip(columns["source"], columns["target"], strict=True))
    expected = list(filter_pairs(pairs, aligner=None))
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for held in (iter(pairs), Dataset.from_dict(columns), pd.DataFrame(columns), columns, rows):
        assert list(filter_pairs(held, aligner=None)) == expected
    assert [pair.reason for pair in filter_pairs([("a", None)], aligner=None)] == ["empty"]
    for wrong, named in (
        (["ab", "cd"], r"languages of 'ab', 'cd'.*\[\('ab', 'cd'\)\]"),
        ([("a", "b", "c")], r"pair 1: .*\('a', 'b', 'c'\)"),
        ([(["a"], ["b"])], r"pair 1: .*' '\.join\(words\)"),
        (None, "got None"),
    ):
        with pytest.raises(ConfigurationError, match=named):
            list(filter_pairs(wrong, aligner=None))
    with pytest.raises(ConfigurationError, match=r"languages: .*\('en', 'de'\), got 'en'"):
        filter_pairs(pairs, aligner=None, languages="en")


def test_paths_are_read_as_the_command_reads_them(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "source": "Good morning.", "target": "Guten Morgen."},
        {"id": 8, "source": "a", "target": ""},
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sides = [tmp_path / "pairs.en", tmp_path / "pairs.de"]
    for side, name in zip(sides, ("source", "target"), strict=True):
        side.write_text("".join(f"{row[name]}\n" for row in rows))
    for given in (path, str(path), [path], sides):
        judged = list(filter_pairs(given, aligner=None, languages="en,de"))
        assert [pair.reason for pair in judged] == ["", "empty"]
        assert [pair.pair.languages for pair in judged] == [("en", "de")] * 2
    assert judged[0].to_dict() == {"source": "Good morning.", "target": "Guten Morgen.", "reason": ""}
    held = list(filter_pairs(rows, aligner=None))
    assert held[0].to_dict() == {**rows[0], "reason": ""} and held[0].pair.id == 7
    with pytest.raises(ConfigurationError, match=r"pairs\.jsonl.*languages=\('en', 'de'\)"):
        filter_pairs(str(path), aligner=None)


def test_every_reason_and_the_line_are_written(tmp_path: Path) -> None:
    given, dropped = tmp_path / "given.tsv", tmp_path / "dropped.tsv"
    given.write_text("good\tgut\n\nSave {0} 12 files\tspeichere {1} 13 Dateien\nthe same 1\tthe same 2\n")
    rules = FilterRequest(aligner=None, max_copied=0.6, numbers="changed", placeholders=True)

    def run(paths: list[Path]) -> list[list[str]]:
        corpus = open_corpus([str(path) for path in paths], "bitext", languages=("en", "de"))
        filter_files(corpus, [str(tmp_path / "kept.tsv")], rules, dropped=dropped)
        return [line.split("\t")[2:] for line in dropped.read_text().splitlines()]

    lines = [["empty", "2"], ["numbers,placeholders", "3"], ["copied,numbers", "4"]]
    assert [row for row in run([given]) if row[0] != "empty"] == lines[1:]
    second = tmp_path / "second.tsv"
    second.write_text("1 house\t2 Häuser\n")
    assert run([given, second])[-1] == ["numbers", "1", str(second)]


def test_numbers_of_one_side_alone_drop_a_pair_only_if_asked() -> None:
    rows = [("12 men", "zwölf Männer"), ("12 men", "13 Männer"), ("12 men", "12 Männer")]
    for numbers, reasons in (
        ("any", ["", "", ""]), ("changed", ["", "numbers", ""]), ("missing", ["numbers", "numbers", ""]),
    ):  # fmt: skip
        found = filter_pairs(rows, aligner=None, numbers=numbers)
        assert [pair.reason for pair in found] == reasons


def test_placeholders_of_tags_beside_the_text_count(tmp_path: Path) -> None:
    path = tmp_path / "memory.tmx"
    unit = '<tu><tuv xml:lang="en"><seg>Save <ph x="1"/></seg></tuv><tuv xml:lang="de"><seg>Sichern{}</seg></tuv></tu>'
    units = unit.format("") + unit.format(' <ph x="1"/>')
    path.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>')
    corpus = open_corpus([str(path)], "bitext", languages=("en", "de"))
    rules = FilterRequest(aligner=None, placeholders=True)
    report = filter_files(corpus, [str(tmp_path / "kept.tmx")], rules)
    assert (report.kept, report.dropped) == (1, {"placeholders": 1})


@pytest.mark.slow
def test_pairs_in_another_language_of_the_script_are_dropped() -> None:
    pytest.importorskip("lingua")
    rows = [
        ("今日", "Сегодня парламент отклонил попытку отменить статью закона."),
        ("今日", "Сьогодні парламент відхилив спробу скасувати статтю закону."),
    ]
    found = filter_pairs(rows, aligner=None, languages=("zh", "ru"), min_language=0.8)
    assert [pair.reasons for pair in found] == [(), ("language",)]
    with pytest.raises(ConfigurationError, match=r"`min_language`.*add languages="):
        filter_pairs(rows, aligner=None, min_language=0.8)


def test_a_frame_with_other_columns_is_told_to_rename_them() -> None:
    frame = pd.DataFrame({"en": ["a house"], "de": ["ein Haus"]})
    streamed = Dataset.from_pandas(frame).to_iterable_dataset()
    for data in (frame, streamed):
        with pytest.raises(
            ConfigurationError, match="rename the two columns of text to 'source' and 'target'"
        ):
            list(filter_pairs(data, aligner=None))
    renamed = frame.rename(columns={"en": "source", "de": "target"})
    assert [pair.reason for pair in filter_pairs(renamed, aligner=None)] == [""]
