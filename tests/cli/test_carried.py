"""What a verb does not use passes through it, and every verb reads what every verb writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.open_corpus import open_corpus
from isoglot.formats.sentence_pair import SentencePair
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

LANGUAGES = ("--source-lang", "en", "--target-lang", "xx")
FILTER = ("filter", "--aligner", "none", "--quiet")
ALIGN = ("align", "-m", "fast_align", "--quiet")
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header srclang="en-US"><note>of the header</note></header><body>
<tu tuid="menu-7" creationdate="20240101T000000Z"><note>check &amp; keep</note><prop type="domain">law</prop><prop \
type="x">1</prop><prop type="x">2</prop>
<tuv xml:lang="en-US" creationid="ann"><prop type="p">q</prop><seg>The small  <ph x="1"/>house.</seg></tuv>
<tuv xml:lang="de-AT"><note>kurz</note><seg>Das <bpt i="1">&lt;b></bpt>kleine<ept i="1">&lt;/b></ept> Haus.</seg></tuv>
</tu>
<tu><tuv xml:lang="en-GB"><seg>A &lt; B</seg></tuv><tuv xml:lang="de"><seg>Ein Hund</seg></tuv></tu>
</body></tmx>
"""


def pairs_of(path: Path, languages: tuple[str, str] = ("en", "de")) -> list[SentencePair]:
    corpus = open_corpus([str(path)], "bitext", languages=languages)
    return list(corpus.pairs())


def said(pair: SentencePair) -> dict[str, Any]:
    """What a row says, whatever file and line it stands in."""
    row = pair.row()
    # A reader of JSON lines gives lists where that of TMX gives tuples.
    return {name: [*map(list, value)] if name.endswith("_tags") else value for name, value in row.items()}


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.tmx"
    path.write_text(TMX)
    return path


def test_a_translation_memory_keeps_all_that_its_units_say(memory: Path, tmp_path: Path) -> None:
    expected = [said(pair) for pair in pairs_of(memory)]
    assert expected[0] == {
        "id": "menu-7",
        "source": "The small  house.",
        "target": "Das kleine Haus.",
        "source_tags": [[11, '<ph x="1"/>']],
        "target_tags": [[4, '<bpt i="1">&lt;b&gt;</bpt>'], [10, '<ept i="1">&lt;/b&gt;</ept>']],
        "source_language": "en-US",
        "target_language": "de-AT",
        "attributes": {"creationdate": "20240101T000000Z"},
        "notes": ["check & keep"],
        "properties": {"domain": "law", "x": ["1", "2"]},
        "source_attributes": {"creationid": "ann"},
        "source_properties": {"p": "q"},
        "target_notes": ["kurz"],
    }
    # through TMX, through JSON lines, through JSON lines and back, and through the links of `align`
    run(*FILTER, memory, "-o", tmp_path / "a.tmx")
    run(*FILTER, memory, "-o", tmp_path / "b.jsonl")
    run(*FILTER, tmp_path / "b.jsonl", "-o", tmp_path / "c.tmx", "--source-lang", "en", "--target-lang", "de")
    run(*ALIGN, memory, "-f", "jsonl", "-o", tmp_path / "d.jsonl")
    for name in ("a.tmx", "b.jsonl", "c.tmx"):
        assert [said(pair) for pair in pairs_of(tmp_path / name)] == expected, name
    linked = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    kept = {key: value for key, value in expected[0].items() if key not in ("source", "target")}
    for side, short in (("source", "src"), ("target", "tgt")):
        assert linked[0].pop(f"{short}_text") == expected[0][side]
        assert [list(tag) for tag in linked[0].pop(f"{short}_tags")] == kept.pop(f"{side}_tags")
    assert kept.items() <= linked[0].items()
    assert linked[1]["source_language"] == "en-GB" and linked[1]["target_language"] == "de"


def test_units_that_lack_a_language_are_counted_once(
    memory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unit = '<tu><tuv xml:lang="en"><seg>alone</seg></tuv></tu>'
    memory.write_text(TMX.replace("</body>", f"{unit}{unit}</body>"))
    with caplog.at_level("WARNING", logger="isoglot"):
        run(*ALIGN, memory, "--words", "unicode", "-o", tmp_path / "links")
    told = [message for record in caplog.records if "left out" in (message := record.getMessage())]
    assert told == [f"{memory}: units without en or de are left out: 2 (lines 8, 8)"]


def test_links_are_written_into_a_translation_memory(memory: Path, tmp_path: Path) -> None:
    before, out = [said(pair) for pair in pairs_of(memory)], tmp_path / "a.tmx"
    run(*ALIGN, memory, "-f", "tmx", "-o", out)
    run(
        *ALIGN, out, "-f", "tmx", "-o", tmp_path / "again.tmx"
    )  # the new links take the place of those before
    for path in (out, tmp_path / "again.tmx"):
        links = run(*ALIGN, memory).splitlines()
        for row, old, line in zip(map(said, pairs_of(path)), before, links, strict=True):
            properties = dict(row.pop("properties"))
            assert (
                properties.pop("x-isoglot-links") == line
                and 0 <= float(properties.pop("x-isoglot-score")) <= 1
            )
            assert len(properties.pop("x-isoglot-probabilities").split()) == len(line.split())
            assert row | {"properties": properties} == {"properties": {}, **old}
    reversed_ = run(*ALIGN, memory, "-f", "tmx", "--reverse")
    assert 'srclang="de-AT"' in reversed_ and reversed_.index('"de-AT"') < reversed_.index('"en-US"')


def test_links_need_languages_to_be_written_into_a_translation_memory(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b ||| c d\n")
    out = tmp_path / "a.tmx"
    message = run(*ALIGN, tmp_path / "a.txt", "-o", out, *LANGUAGES, fails=ConfigurationError)
    assert "has the name of a translation memory, but format pharaoh was chosen; add --format tmx" in message
    message = run(*ALIGN, tmp_path / "a.txt", "-f", "tmx", "-o", out, fails=ConfigurationError)
    assert "names its languages; add --source-lang en --target-lang de" in message and not out.exists()
    run(*ALIGN, tmp_path / "a.txt", "-f", "tmx", "-o", out, *LANGUAGES)
    assert [pair.texts for pair in pairs_of(out, ("en", "xx"))] == [("a b", "c d")]


def test_scores_and_reasons_are_properties(memory: Path, tmp_path: Path) -> None:
    run(
        "filter",
        memory,
        "--max-length-ratio",
        1.1,
        "-o",
        tmp_path / "a.tmx",
        "--dropped",
        tmp_path / "b.tmx",
        "-q",
    )
    kept, dropped = (pairs_of(tmp_path / name)[0].more["properties"] for name in ("a.tmx", "b.tmx"))
    assert {"x-isoglot-alignment", "x-isoglot-source_coverage"} <= kept.keys()
    assert dropped["x-isoglot-reasons"] == "ratio" and int(dropped["x-isoglot-line"]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["mine", "align-sentences"])
def test_sentences_of_translation_memories_keep_what_their_units_say(
    memory: Path, verb: str, tmp_path: Path
) -> None:
    out = tmp_path / "a.tmx"
    message = run(verb, memory, memory, "-o", tmp_path / "a.tsv", fails=ConfigurationError)
    assert "whose sentences are read from a translation memory? Add --source-lang" in message
    run(verb, memory, memory, "--quiet", "-o", out, "--source-lang", "de", "--target-lang", "en")
    (pair,) = (pair for pair in pairs_of(out, ("de", "en")) if pair.source == "Das kleine Haus.")
    assert pair.target == "The small  house." and list(map(len, pair.tags)) == [2, 1]
    assert pair.more["properties"]["source_id"] == "menu-7"
    assert (pair.more["source_language"], pair.more["source_notes"]) == ("de-AT", ["kurz"])


def test_links_of_reversed_pairs_say_the_same_of_the_other_side(memory: Path) -> None:
    row = json.loads(run(*ALIGN, memory, "-f", "jsonl", "--reverse").splitlines()[0])
    assert (row["source_language"], row["target_language"]) == ("de-AT", "en-US")
    assert row["target_attributes"] == {"creationid": "ann"} and row["source_notes"] == ["kurz"]


ROWS = [{"id": n, "source": f"one {n}", "target": f"eins {n}", "domain": "law", "tier": [n]} for n in (1, 2)]


def lines_of(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def tables() -> Iterator[tuple[str, str | pa.Table, list[dict[str, Any]]]]:
    cells = [f"{row['source']}\t{row['target']}\tlaw\t{n}" for n, row in enumerate(ROWS)]
    plain = [
        {"source": row["source"], "target": row["target"], "columns": ["law", str(n)]}
        for n, row in enumerate(ROWS)
    ]
    yield "a.jsonl", lines_of(ROWS), ROWS
    yield "a.parquet", pa.Table.from_pylist(ROWS), ROWS
    yield "a.tsv", "\n".join(cells), plain
    linked = [{key: row[key] for key in ("source", "target")} | {"links": "0-0"} for row in ROWS]
    yield "a.txt", "".join(f"{row['source']} ||| {row['target']} ||| 0-0\n" for row in ROWS), linked


@pytest.mark.parametrize(
    ("name", "content", "expected"), list(tables()), ids=["jsonl", "parquet", "tsv", "bars"]
)
def test_keys_and_columns_pass_through(
    name: str, content: str | pa.Table, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content)
    else:
        pq.write_table(content, path)
    run(*FILTER, path, "-o", tmp_path / "kept.jsonl", *LANGUAGES)
    rows = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    named = {"source_language": "en", "target_language": "xx"}
    assert rows == [row | named for row in expected]
    run(*ALIGN, path, "-f", "jsonl", "-o", tmp_path / "links.jsonl", *LANGUAGES)
    for linked, row in zip((tmp_path / "links.jsonl").read_text().splitlines(), expected, strict=True):
        rest = {key: value for key, value in row.items() if key not in ("source", "target", "links")}
        assert (rest | named).items() <= json.loads(linked).items()
    if name == "a.tsv":
        run(*FILTER, path, "-o", tmp_path / "kept.tsv")
        assert (tmp_path / "kept.tsv").read_text().splitlines() == str(content).split("\n")


def test_rows_of_a_table_have_as_many_columns_or_the_line_is_named(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("a\tb\tc\n")
    second.write_text("d\te\n")
    message = run(*FILTER, first, second, "-o", tmp_path / "kept.tsv", fails=InputError)
    assert message.startswith(f"{second}:1: 2 columns, but the first pair has 3")
    assert not (tmp_path / "kept.tsv").exists()


def test_columns_that_a_format_has_no_room_for_are_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(lines_of(ROWS))
    with caplog.at_level("WARNING", logger="isoglot"):
        assert run(*FILTER, path) == "one 1\teins 1\none 2\teins 2\n"
    assert [record.getMessage() for record in caplog.records] == [
        "-: has no room for id, domain, tier; write a .jsonl file to keep them"
    ]


def test_numbers_that_are_not_finite_become_null(tmp_path: Path) -> None:
    pq.write_table(pa.table({"source": ["a"], "target": ["b"], "x": [float("nan")]}), tmp_path / "a.parquet")
    run(*FILTER, tmp_path / "a.parquet", "-o", tmp_path / "kept.jsonl")
    assert json.loads((tmp_path / "kept.jsonl").read_text())["x"] is None


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """What each verb writes in each format in which it writes pairs."""
    folder = tmp_path_factory.mktemp("written")
    tiny_model("xlm-roberta").save_pretrained(folder / "encoder")
    tiny_tokenizer("xlm-roberta").save_pretrained(folder / "encoder")
    rows = tiny_bitext(12)
    for side in ("source", "target"):
        (folder / f"given.{side}").write_text("".join(f"{text}\n" for text in rows[side]))
    given = [folder / "given.source", folder / "given.target"]
    model = ("--model", folder / "encoder", "--quiet")
    made: dict[str, list[Path]] = {"given": given}

    def make(name: str, *call: object) -> None:
        made[name] = [folder / name]
        run(*call, "--out", folder / name)

    for suffix in ("tsv", "jsonl", "tmx", "tmx.gz", "jsonl.gz"):
        make(f"filter.{suffix}", *FILTER, *given, *LANGUAGES)
        make(f"mine.{suffix}", "mine", *given, *model, *LANGUAGES)
        make(f"align-sentences.{suffix}", "align-sentences", *given, *model, *LANGUAGES)
    for form in ("jsonl", "offsets"):
        make(f"align.{form}.jsonl", *ALIGN, *given, "-f", form, *LANGUAGES)
    make("align-corpus", *ALIGN, *given, "-f", "corpus", *LANGUAGES)
    make("prepare", "prepare", *given, *LANGUAGES, "--quiet")
    made["filter.moses"] = [folder / "kept.source", folder / "kept.target"]
    run(*FILTER, *given, *LANGUAGES, *(part for path in made["filter.moses"] for part in ("--out", path)))
    return made


def test_every_verb_reads_what_every_verb_writes(written: dict[str, list[Path]], tmp_path: Path) -> None:
    for number, (name, paths) in enumerate(written.items()):
        pairs = sum(1 for _ in open_corpus(list(map(str, paths)), "bitext", languages=("en", "xx")))
        assert pairs, name
        folder = tmp_path / str(number)
        folder.mkdir()
        named = () if name in ("prepare", "align-corpus") or ".tmx" in name else LANGUAGES
        links = run(*ALIGN, *paths, *named)
        assert links.count("\n") == pairs, name
        for suffix in ("tsv", "jsonl", "tmx"):
            run(*FILTER, *paths, *named, "--out", folder / f"kept.{suffix}")
            again = open_corpus([str(folder / f"kept.{suffix}")], "bitext", languages=("en", "xx"))
            assert 0 < sum(1 for _ in again) <= pairs, (name, suffix)
        if name not in ("prepare", "align-corpus"):
            run("prepare", *paths, *named, "--out", folder / "data", "--quiet")
        elif name == "align-corpus":
            rows = [json.loads(line) for line in (folder / "kept.jsonl").read_text().splitlines()]
            assert all(row["links"] and row["source_words"] for row in rows)
        if name.startswith("align.jsonl"):
            assert run("score", folder / "kept.jsonl", "--gold", paths[0]).split()[-5:-1] == [
                "100.00"
            ] * 3 + ["0.00"]
            run("prepare", *paths, *named, "--out", folder / "linked", "--kind", "aligned", "--quiet")
            for path in (paths[0], folder / "kept.jsonl"):
                run("report", path, "--gold", paths[0], "--out", folder / f"{path.stem}.html")


def test_verbs_of_lines_and_of_labels_read_the_two_files_of_a_filter(
    written: dict[str, list[Path]], tmp_path: Path
) -> None:
    paths, model = written["filter.moses"], ("--model", written["given"][0].parent / "encoder", "--quiet")
    for verb in ("mine", "align-sentences"):
        run(verb, *paths, *model, "--out", tmp_path / f"{verb}.tsv")
        assert (tmp_path / f"{verb}.tsv").read_text()
    run(
        "project",
        *paths,
        "--kind",
        "markup",
        "-m",
        "fast_align",
        "--out",
        tmp_path / "projected.txt",
        "--quiet",
    )
    assert (tmp_path / "projected.txt").read_text() == paths[1].read_text()
    run("filter", paths[0], tmp_path / "projected.txt", *FILTER[1:], "--out", tmp_path / "kept.jsonl")


@pytest.mark.parametrize("verb", ["mine", "align-sentences"])
def test_verbs_of_lines_refuse_a_file_of_pairs(
    verb: str, written: dict[str, list[Path]], tmp_path: Path
) -> None:
    pairs, table, lines = written["filter.jsonl"][0], written["filter.tsv"][0], written["given"][1]
    for paths in ((pairs, lines), (lines, pairs)):
        message = run(verb, *paths, "--out", tmp_path / "out.tsv", fails=InputError)
        assert message.startswith(f"{pairs}:1: has no text; one sentence per line is needed")
    message = run(verb, lines, table, "--out", tmp_path / "out.tsv", fails=ConfigurationError)
    assert message.startswith(f"{table}: got tsv, but one sentence per line is needed")
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.parametrize("verb", ["mine", "align-sentences"])
@pytest.mark.parametrize("suffix", ["jsonl", "tmx"])
def test_rows_of_sentences_keep_what_they_say(
    verb: str, suffix: str, written: dict[str, list[Path]], tmp_path: Path
) -> None:
    sides = {"source": "en-US", "target": "xx-AT"}
    numbers: dict[str, int] = {}
    for side, tag in sides.items():
        texts = tiny_bitext(12)[side]
        numbers |= {text: number for number, text in enumerate(texts)}
        rows = [
            {"text": text, "id": f"{side}-{n}", "language": tag, "tags": [[0, '<ph x="1"/>']], "notes": [str(n)],
             "properties": {"domain": "law"}, "attributes": {"creationid": "ann"}, "tuid": n, "tier": [n]}
            for n, text in enumerate(texts)
        ]  # fmt: skip
        (tmp_path / f"{side}.jsonl").write_text(lines_of(rows))
    model = ("--model", written["given"][0].parent / "encoder", "--quiet")
    paths, out = [tmp_path / f"{side}.jsonl" for side in sides], tmp_path / f"out.{suffix}"
    run(verb, *paths, *model, *LANGUAGES, "--out", out)
    whole = [pair for pair in pairs_of(out, ("en", "xx")) if all(text in numbers for text in pair.texts)]
    assert whole
    for pair in whole:
        row = said(pair)
        for side, tag in sides.items():
            number, rest = numbers[row[side]], {} if suffix == "jsonl" else {"tuid": str(numbers[row[side]])}
            expected = {"id": f"{side}-{number}", "language": tag, "notes": [str(number)], "tuid": number,
                        "properties": {"domain": "law"}, "attributes": {"creationid": "ann"}, **rest}  # fmt: skip
            values = row | row.get("properties", {})
            assert {name: values[f"{side}_{name}"] for name in expected} == expected
            assert len(row[f"{side}_tags"]) == 1 and row[f"{side}_tags"][0][0] == 0
    # and what reads pairs reads them
    assert run(*ALIGN, out, "-f", "jsonl", *LANGUAGES).count("\n") == len(pairs_of(out, ("en", "xx")))


def test_sentences_of_a_group_say_what_they_said_apart(
    written: dict[str, list[Path]], tmp_path: Path
) -> None:
    rows = [{"text": f"{text} one", "id": n, "tier": 1} for n, text in enumerate(["the river", "the house"])]
    rows[1]["tags"] = [[4, "<br/>"]]
    (tmp_path / "a.jsonl").write_text(lines_of(rows))
    (tmp_path / "b.jsonl").write_text(lines_of([{"text": "the river one the house one", "language": "xx"}]))
    model = ("--model", written["given"][0].parent / "encoder", "--quiet", "--skip", "2")
    run("align-sentences", tmp_path / "a.jsonl", tmp_path / "b.jsonl", *model, "-o", tmp_path / "out.jsonl")
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert row["source"] == "the river one the house one" and row["source_lines"] == "1,2"
    assert (row["source_id"], row["source_tier"], row["target_language"]) == ([0, 1], 1, "xx")
    assert row["source_tags"] == [[18, "<br/>"]] and row["target_tags"] == []
    (tmp_path / "a.jsonl").write_text(lines_of([rows[0], {"text": "x", "language": "fr"}]))
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    message = run(
        "align-sentences", *paths, *model, *LANGUAGES, "-o", tmp_path / "out.jsonl", fails=InputError
    )
    assert message.startswith(f"{paths[0]}:2: language is 'fr', expected 'en'")


UNITS = """<tmx version="1.4"><header srclang="en-US"/><body>
<tu tuid="menu-7" creationdate="20240101T000000Z"><note>check &amp; keep</note><prop type="domain">law</prop><tuv \
xml:lang="en-US" creationid="ann"><seg>The <bpt i="1">&lt;b></bpt>small<ept i="1">&lt;/b></ept> house &lt; B.</seg>\
</tuv>
<tuv xml:lang="de-AT"><note>kurz</note><seg>Das kleine Haus &lt; B.</seg></tuv>
</tu>
<tu><tuv xml:lang="en-GB"><seg>A <ph x="1"/>dog</seg></tuv><tuv xml:lang="de"><seg>Ein <ph x="9"/>Hund</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>the house</seg></tuv><tuv xml:lang="fr"><seg>la maison</seg></tuv></tu>
</body></tmx>
"""


@pytest.mark.parametrize("suffix", ["tmx", "jsonl", "tmx.gz"])
def test_tags_of_a_translation_memory_go_to_its_translations(suffix: str, tmp_path: Path) -> None:
    memory, out, links = tmp_path / "memory.tmx", tmp_path / f"out.{suffix}", tmp_path / "links"
    memory.write_text(UNITS)
    links.write_text("0-0 1-1 2-2 3-3 4-4 5-5\n0-0 1-1\n")
    before = [said(pair) for pair in pairs_of(memory)]
    how = ("--source-lang", "en", "--target-lang", "de", "--links", links, "--quiet")
    run("project", memory, *how, "--problems", tmp_path / "problems.tsv", "--out", out)
    after = [said(pair) for pair in pairs_of(out)]
    tags = [[4, '<bpt i="1">&lt;b&gt;</bpt>'], [10, '<ept i="1">&lt;/b&gt;</ept>']]
    assert [list(tag) for tag in after[0]["target_tags"]] == tags
    assert after[0] == before[0] | {"target_tags": after[0]["target_tags"]}
    assert after[1] == before[1], "a segment keeps its own tags"
    problems = (tmp_path / "problems.tsv").read_text().splitlines()
    assert problems == ["line\tproblem\ttag", '5\tlost\t<ph x="1"/>', '5\tadded\t<ph x="9"/>']
    assert run(*ALIGN, out, "-f", "jsonl", *how[:4]).count("\n") == 2


def test_mistake_in_a_unit_is_named_with_its_line(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text(UNITS.replace('<ept i="1">&lt;/b></ept>', ""))
    how = (
        "--source-lang",
        "en",
        "--target-lang",
        "de",
        "-m",
        "fast_align",
        "--quiet",
        "-o",
        tmp_path / "out.tmx",
    )
    message = run("project", memory, *how, fails=InputError)
    assert message.startswith(f"{memory}:2: ") and "is not closed" in message
    assert not (tmp_path / "out.tmx").exists()
    message = run("project", tmp_path / "a.conllu", *how, fails=ConfigurationError)
    assert "name its translation; only a .tmx file holds both" in message


def test_labelled_texts_keep_what_their_rows_say(tmp_path: Path) -> None:
    row = {
        "id": 7,
        "text": "Anna runs",
        "spans": [[0, 4, "PER"]],
        "language": "en-US",
        "tokens": [],
        "domain": "law",
    }
    (tmp_path / "a.jsonl").write_text(lines_of([row, row | {"id": 8}]))
    (tmp_path / "b.jsonl").write_text(
        lines_of([{"id": 8, "text": "Anna läuft", "tier": 1}, {"id": 7, "text": "Anna"}])
    )
    (tmp_path / "links").write_text("0-0\n0-0\n")
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    how = ("--target-lang", "de", "--links", tmp_path / "links", "--quiet")
    run("project", *paths, *how, "-o", tmp_path / "out.jsonl")
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["id"], first["text"], first["domain"], first["language"]) == (7, "Anna", "law", "de")
    assert (second["id"], second["tier"], second["spans"]) == (8, 1, [{"start": 0, "end": 4, "label": "PER"}])
    assert "tokens" not in first


@pytest.mark.parametrize("verb", ["mine", "align-sentences", "filter"])
def test_a_translation_memory_names_its_languages(
    verb: str, written: dict[str, list[Path]], tmp_path: Path
) -> None:
    out = tmp_path / "out.tmx"
    how = FILTER[1:] if verb == "filter" else ("--model", written["given"][0].parent / "encoder", "--quiet")
    for languages in ((), LANGUAGES[:2], ("--source-lang", "und", "--target-lang", "no language")):
        message = run(verb, *how, *written["given"], *languages, "--out", out, fails=ConfigurationError)
        assert re.search("--source-lang en|--target-lang", message) and not out.exists()
    run(verb, *how, *written["given"], "--source-lang", "en-US", "--target-lang", "xx", "--out", out)
    assert 'xml:lang="en-US"' in out.read_text() and 'srclang="en-US"' in out.read_text()
