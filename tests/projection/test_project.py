"""The verb: labels and a translation in, training data out."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from labelled_files import written
from unspaced import with_pieces

import isoglot as iso
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import ConfigurationError, InputError, IsoglotError, UnknownWordsWarning
from isoglot.corpus.labelled_tables import read_table
from isoglot.formats.labelled.tags import read_tags
from isoglot.formats.schema import TAGGED
from isoglot.projection.options import ProjectOptions, project_options
from isoglot.projection.questions import Answers
from isoglot.testing import tiny_bitext

CONLLU = (
    "1\tthe\t_\tDET\t_\t_\t0\troot\t_\t_\n2\thouse\t_\tNOUN\t_\t_\t1\tx\t_\t_\n\n"
    "1\tgo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
)


def test_project_parts_of_speech(tmp_path: Path) -> None:
    labels, translation, links = written(
        tmp_path, en_conllu=CONLLU, de_txt="das Haus hier\ngeh\n", links="0-0 1-1\n0-0\n"
    )
    out = tmp_path / "de.tsv"
    counts = iso.project(labels, translation, out, links_file=links)
    assert out.read_text() == "das\tDET\nHaus\tNOUN\nhier\t_\n\ngeh\tVERB\n\n"
    assert (counts.examples, counts.written, counts.words, counts.labelled) == (2, 2, 4, 3)
    assert read_tags(out, language="de", labels=["DET", "NOUN", "VERB"])["tags"][0] == ["DET", "NOUN", "_"]
    table = tmp_path / "de.jsonl"
    assert iso.project(labels, translation, table, links_file=links, uncertain="drop").written == 1
    found = read_table(str(table), TAGGED, language="de", split="train", role="words")
    assert found["words"][:] == [["geh"]] and found["tags"][:] == [["VERB"]]


def test_project_loads_a_saved_aligner_of_running_text(tmp_path: Path) -> None:
    labels, translation = written(tmp_path, en_conllu=CONLLU, de_txt="das Haus\ngeh\n")
    pairs = [("the", "das"), ("house", "Haus"), ("go", "geh"), ("the house", "das Haus")]
    aligner = StatisticalAligner("hmm", words="unicode").fit_pairs(
        (s.split(), t.split()) for s, t in pairs * 5
    )
    aligner.save(tmp_path / "model")
    out = tmp_path / "de.tsv"
    for words in ("unicode", "whitespace"):
        iso.project(labels, translation, out, load=tmp_path / "model", words=words)
        assert out.read_text() == "das\tDET\nHaus\tNOUN\n\ngeh\tVERB\n\n"


def test_project_keeps_the_words_of_a_treebank(tmp_path: Path) -> None:
    other = CONLLU.replace("the", "10 000").replace("house", "\u200b")
    labels, translation = written(tmp_path, en_conllu=CONLLU, de_conllu=other)
    out = tmp_path / "out"
    iso.project(labels, translation, out, method="fast_align")
    assert out.read_text().split("\n")[:2] == ["10 000\tDET", "\u200b\tNOUN"]


def test_project_entities(tmp_path: Path) -> None:
    text = "Anna\tB-PER\nBell\tI-PER\nloves\tO\nRome\tB-LOC\n\n"
    labels, translation = written(tmp_path, en_tsv=text * 2, de_txt="Rom liebt ja Anna Bell\n" * 2)
    (links,) = written(tmp_path, links="0-3 1-4 2-1 3-0\n0-3 1-4 2-1\n")
    how = {"kind": "ner", "links_file": links, "gap": 1}
    for uncertain, blank in (("blank", "_"), ("outside", "O")):
        counts = iso.project(labels, translation, tmp_path / "out", uncertain=uncertain, **how)
        assert [line.split() for line in (tmp_path / "out").read_text().split("\n\n")[:2]] == [
            ["Rom", "B-LOC", "liebt", "O", "ja", "O", "Anna", "B-PER", "Bell", "I-PER"],
            ["Rom", blank, "liebt", "O", "ja", blank, "Anna", "B-PER", "Bell", "I-PER"],
        ]
        assert counts.fates == {"whole": 3, "lost": 1}
    assert iso.project(labels, translation, tmp_path / "out", uncertain="drop", **how).written == 1


@pytest.mark.parametrize(
    ("uncertain", "wanted"),
    [
        ("blank", "Anna\t_\nin\tO\nRom\tB-LOC\n\n"),
        ("outside", "Anna\tO\nin\tO\nRom\tB-LOC\n\n"),
        ("drop", None),
    ],
)
def test_project_entities_leaves_words_of_unlabelled_ones_unlabelled(
    tmp_path: Path, uncertain: str, wanted: str | None
) -> None:
    labels, translation, links = written(
        tmp_path, en_tsv="Anna\t_\nin\tO\nRome\tB-LOC\n\n", de_txt="Anna in Rom\n", links="0-0 1-1 2-2\n"
    )
    out = tmp_path / "de.tsv"
    options = {"kind": "ner", "links_file": links, "uncertain": uncertain}
    if wanted is None:
        with pytest.raises(InputError, match=r"de\.txt: .*label"):
            iso.project(labels, translation, out, **options)
    else:
        iso.project(labels, translation, out, **options)
        assert out.read_text() == wanted


def test_project_entities_counts_no_span_for_an_unlabelled_word(tmp_path: Path) -> None:
    labels, translation, links = written(
        tmp_path, en_tsv="Anna\t_\nRome\tB-LOC\n\n", de_txt="Anna Rom\n", links="0-0 1-1\n"
    )
    counts = iso.project(labels, translation, tmp_path / "out", kind="ner", links_file=links)
    assert (tmp_path / "out").read_text() == "Anna\t_\nRom\tB-LOC\n\n" and counts.spans == 1


def test_project_entities_leaves_dropped_pieces_unlabelled(tmp_path: Path) -> None:
    labels, translation = written(tmp_path, en_tsv="A\tB-X\nB\tI-X\n\n", de_txt="a x x x x b b\n")
    (links,) = written(tmp_path, links="0-0 1-5 1-6\n")
    iso.project(labels, translation, tmp_path / "out", kind="ner", links_file=links)
    assert (tmp_path / "out").read_text().split()[1::2] == ["_", "O", "O", "O", "O", "B-X", "I-X"]


@pytest.mark.parametrize("row", [
    '{"links": [[0, 0]], "probabilities": 1}', '{"links": [[0, 0]], "probabilities": {"0": 1}}',
    '{"links": [[0, 0]], "probabilities": "1"}', '{"links": [[0, 0]], "probabilities": [1, 1]}',
    '{"links": [[0, 0]], "similarities": [true]}', '{"links": [[0, 0]], "probabilities": [1e999]}',
])  # fmt: skip
def test_links_file_needs_one_number_per_link(tmp_path: Path, row: str) -> None:
    labels, translation, links = written(tmp_path, en_tsv="a\tNOUN\n\n", de_txt="A\n", links_jsonl=f"{row}\n")
    with pytest.raises(InputError, match=r"links\.jsonl:1: (1 links, .*one number per link|.*'1e999')"):
        iso.project(labels, translation, tmp_path / "out", kind="pos", links_file=links)


def test_links_file_counts_a_link_with_values_once(tmp_path: Path) -> None:
    # The link 0-0 is there twice, but one link to each tag is a tie, which the higher probability decides.
    row = {"links": [[0, 0], [0, 0], [1, 0]], "probabilities": [0.3, 0.4, 0.6]}
    labels, translation, links = written(
        tmp_path, en_tsv="a\tNOUN\nb\tVERB\n\n", de_txt="A\n", links_jsonl=f"{json.dumps(row)}\n"
    )
    iso.project(labels, translation, tmp_path / "out", kind="pos", links_file=links)
    assert (tmp_path / "out").read_text() == "A\tVERB\n\n"


@pytest.fixture
def chinese(tmp_path: Path, encoder: Path) -> Path:
    """A tiny encoder whose tokenizer has 北京 and 大学 as pieces."""
    pieces = ["▁", "北京", "大学", "北", "京", "。", "Beijing"]
    return with_pieces(encoder, tmp_path / "chinese", pieces)


def test_cut_joins_characters_as_the_encoder_does(chinese: Path) -> None:
    def cut_by(options: ProjectOptions) -> Callable[[str], list[str]]:
        return lambda text: Answers("a.json", "b.json", "-", options).cut(text)[0]

    cut = cut_by(project_options("a.json", model=str(chinese), target_language="zh"))
    text = "北京大学 在北京。x大2"
    assert cut(text) == ["北京", "大学", "在", "北京", "。", "x", "大", "2"]
    assert cut("the house") == ["the", "house"]
    for options in (
        project_options("a.json", method="hmm", target_language="zh"),
        project_options("a.json", links_file="links", target_language="zh"),
    ):
        assert cut_by(options)(text) == list(text.replace(" ", ""))
    whole = cut_by(project_options("a.json", model=str(chinese), target_language="zh", words="whitespace"))
    assert whole(text) == text.split()


@pytest.mark.parametrize(
    ("kind", "source", "wanted"),
    [
        ("pos", "Beijing\tPROPN\n", "北京\tPROPN\n\n"),
        ("ner", "Beijing\tB-LOC\n", "北\tB-LOC\n京\tI-LOC\n\n"),
    ],
)
def test_project_tags_to_text_without_spaces(
    tmp_path: Path, chinese: Path, kind: str, source: str, wanted: str
) -> None:
    labels, translation, treebank = written(
        tmp_path, en_tsv=source + "\n", zh_txt="北京\n", zh_conllu="1\t北京\t_\tPROPN" + "\t_" * 6 + "\n\n"
    )
    options = {"kind": kind, "model": str(chinese), "layer": 2, "target_language": "zh"}
    counts = iso.project(labels, translation, tmp_path / "out", **options)
    assert (tmp_path / "out").read_text(encoding="utf-8") == wanted and counts.words == wanted.count("\t")
    tag = source.split()[1]
    for text, how in ((treebank, options), (translation, {**options, "words": "whitespace"})):
        iso.project(labels, text, tmp_path / "out", **how)
        assert (tmp_path / "out").read_text(encoding="utf-8") == f"北京\t{tag}\n\n"


def test_project_offsets_to_text_without_spaces(tmp_path: Path, chinese: Path) -> None:
    row = {"text": "Beijing", "spans": [{"start": 0, "end": 7, "label": "LOC"}]}
    labels, translation = written(tmp_path, en_jsonl=json.dumps(row) + "\n", zh_txt="北京\n")
    options = {"model": str(chinese), "layer": 2, "target_language": "zh"}
    iso.project(labels, translation, tmp_path / "o.jsonl", **options)
    found = json.loads((tmp_path / "o.jsonl").read_text(encoding="utf-8"))
    assert found["words"] == ["北", "京"] and found["tags"] == ["B-LOC", "I-LOC"]
    assert found["spans"] == [{"start": 0, "end": 2, "label": "LOC"}]


@pytest.mark.parametrize("name", ["probabilities", "similarities"])
def test_min_probability_leaves_links_out(tmp_path: Path, name: str) -> None:
    rows = [{"links": [[1, 1], [0, 0]], name: [0.2, 0.9]}, {"links": [[0, 0]], name: [0.3]}]
    links = "".join(json.dumps(row) + "\n" for row in rows)
    labels, translation, path = written(
        tmp_path, en_conllu=CONLLU, de_txt="das Haus\ngeh\n", links_jsonl=links
    )
    iso.project(labels, translation, tmp_path / "o", links_file=path, min_probability=0.25)
    assert (tmp_path / "o").read_text() == "das\tDET\nHaus\t_\n\ngeh\tVERB\n\n"


def test_links_file_and_its_aligner_give_the_same(tmp_path: Path, encoder: Path) -> None:
    rows = list(tiny_bitext(20))
    text = "".join("".join(f"{w}\tNOUN\n" for w in row["source"].split()) + "\n" for row in rows)
    labels, translation = written(tmp_path, en_tsv=text, xx_txt="".join(f"{row['target']}\n" for row in rows))
    how = {"kind": "pos", "words": "whitespace"}
    iso.project(labels, translation, tmp_path / "a", model=str(encoder), layer=2, **how)
    links = tmp_path / "links.jsonl"
    aligner = iso.EmbeddingAligner(encoder, layer=2)
    pairs = [(row["source"].split(), row["target"].split()) for row in rows]
    with links.open("w") as file:
        for found in aligner.align_pairs(pairs):
            file.write(json.dumps({"links": found.links, "probabilities": found.probabilities}) + "\n")
    iso.project(labels, translation, tmp_path / "b", links_file=links, **how)
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


@pytest.mark.parametrize(
    ("files", "options", "wanted"),
    [
        ({"de_txt": "das Haus\n"}, {}, r"de\.txt: .* 1 sentences, .*en\.conllu"),
        ({"links": "0-0\n"}, {}, "links: .*before sentence 2"),
        ({"links": "0-0\n0-0\n0-0\n"}, {}, r"links: .*more lines.*\(2\)"),
        ({"links": "0-0\n5-0\n"}, {}, "links:2: .*5-0 .*1 and 1 words"),
        ({"links": "0-0\nx\n"}, {}, "links:2: .*'x'"),
        ({"links": "0-0\n0-0\n"}, {"min_probability": 0.5}, "links:1: .*`min_probability`"),
        ({"links": "\n\n"}, {}, r"de\.txt: .*label"),
        ({"en_conllu": CONLLU.replace("VERB", "VRB")}, {}, r"en\.conllu:4: .*'VRB'"),
        ({}, {"uncertain": "outside"}, 'uncertain="outside": .*blank or drop'),
        ({}, {"uncertian": "drop"}, "`uncertian`: .*did you mean 'uncertain'"),
        ({}, {"kind": "tree"}, "`kind`: .*'tree'"),
    ],
)
def test_project_names_mistakes_and_writes_nothing(
    tmp_path: Path, files: dict[str, str], options: dict[str, object], wanted: str
) -> None:
    every = {"en_conllu": CONLLU, "de_txt": "das Haus\ngeh\n", "links": "0-0 1-1\n0-0\n", **files}
    labels, translation, links = written(tmp_path, **every)
    out = tmp_path / "out.tsv"
    out.write_text("before")
    with pytest.raises(IsoglotError, match=wanted):
        iso.project(labels, translation, out, links_file=links, **options)
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["de.txt", "en.conllu", "links", "out.tsv"]


@pytest.mark.parametrize(
    ("out", "options", "named"),
    [
        ("de.txt", {}, r"/de\.txt: .*input"),
        ("out", {"lexicon": "en.conllu"}, r"/en\.conllu: .*input"),
        ("out", {"lexicon": "out", "method": "hmm"}, "/out and .*/out: "),
    ],
    ids=["over the translation", "over the labels", "one path twice"],
)
def test_project_refuses_outputs(tmp_path: Path, out: str, options: dict[str, Any], named: str) -> None:
    labels, translation = written(tmp_path, en_conllu=CONLLU, de_txt="das Haus\ngeh\n")
    options = {**options, "lexicon": tmp_path / options["lexicon"]} if options else {}
    with pytest.raises(ConfigurationError, match=named):
        iso.project(labels, translation, tmp_path / out, **options)


@pytest.mark.parametrize(
    ("labels", "options", "named"),
    [
        ("en.conllu", {"links_file": "x", "layer": 3}, "`layer`: .*links_file"),
        ("labels.txt", {}, r"labels\.txt: .*`kind`"),
    ],
)
def test_project_options_refuses(labels: str, options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        project_options(labels, **options)


def test_project_refuses_a_translation_of_empty_lines(tmp_path: Path) -> None:
    labels, blank = written(tmp_path, en_conllu=CONLLU, blank_txt="\n\n")
    with pytest.raises(InputError, match=r"blank\.txt: .*translation"):
        iso.project(labels, blank, tmp_path / "out")


@pytest.mark.parametrize("how", [{"method": "fast_align"}, {"method": "hmm"}, {"layer": 2}])
def test_project_writes_no_temporary_files(
    tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    def refuse(*_: object, dir: object = None, **__: object) -> Any:  # noqa: A002
        assert dir is not None, "only the folder of the output is tried"
        return io.BytesIO()

    for name in ("TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory", "mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, refuse)
    labels, translation = written(tmp_path, en_conllu=CONLLU * 20, de_txt="das Haus\ngeh\n" * 20)
    how = how if "method" in how else {**how, "model": str(encoder)}
    counts = iso.project(labels, translation, tmp_path / "de.tsv", **how)
    assert counts.examples == 40
    assert sorted(path.name for path in tmp_path.iterdir()) == ["de.tsv", "de.txt", "en.conllu"]


@pytest.mark.parametrize("how", [{"method": "fast_align"}, {"layer": 2}])
def test_lexicon_and_warnings_of_an_aligner_come_at_the_end(
    tmp_path: Path, encoder: Path, how: dict[str, Any]
) -> None:
    rows = list(tiny_bitext(20))
    text = "".join("".join(f"{w}\tNOUN\n" for w in row["source"].split()) + "\n" for row in rows)
    labels, translation = written(tmp_path, en_tsv=text, xx_txt="".join(f"{row['target']}\n" for row in rows))
    how = how if "method" in how else {**how, "model": str(encoder)}
    lexicon = tmp_path / "lexicon.tsv"
    iso.project(labels, translation, tmp_path / "out", kind="pos", lexicon=lexicon, words="whitespace", **how)
    assert {len(line.split("\t")) for line in lexicon.read_text().splitlines()} <= {3, 5, 6}
    assert lexicon.read_text()
    Path(translation).write_text(rows[0]["target"] + "\n" + "北 京\n" * 19, encoding="utf-8")
    if "model" in how:
        with pytest.warns(UnknownWordsWarning, match="38 "):
            iso.project(labels, translation, tmp_path / "out", kind="pos", words="whitespace", **how)


def test_project_knows_json_lines_by_both_endings(tmp_path: Path) -> None:
    row = {"text": "Rome is old.", "spans": [[0, 4, "LOC"]]}
    labels, translation, links = written(
        tmp_path, en_ndjson=f"{json.dumps(row)}\n", de_txt="Rom ist alt.\n", links="0-0 1-1 2-2\n"
    )
    iso.project(labels, translation, tmp_path / "offsets.ndjson", links_file=links)
    first = json.loads((tmp_path / "offsets.ndjson").read_text())
    assert first["spans"] == [{"start": 0, "end": 3, "label": "LOC"}]
    labels, translation = written(tmp_path, en_conllu=CONLLU, xx_txt="das Haus\ngeh\n")
    (links,) = written(tmp_path, links="0-0 1-1\n0-0\n")
    iso.project(labels, translation, tmp_path / "tags.ndjson", links_file=links)
    assert [json.loads(line)["words"] for line in (tmp_path / "tags.ndjson").read_text().splitlines()] == [
        ["das", "Haus"],
        ["geh"],
    ]
    question = {
        "id": "1",
        "question": "Where?",
        "context": "In Rome.",
        "answers": {"text": ["Rome"], "start": [3]},
    }
    labels, translation, links = written(
        tmp_path,
        q_ndjson=f"{json.dumps(question)}\n",
        de_ndjson=f"{json.dumps({'id': '1', 'question': 'Wo?', 'context': 'In Rom.'})}\n",
        links="0-0 1-1 2-2\n",
    )
    iso.project(labels, translation, tmp_path / "q2.ndjson", kind="questions", links_file=links)
    assert json.loads((tmp_path / "q2.ndjson").read_text())["answers"] == {"text": ["Rom"], "start": [3]}
