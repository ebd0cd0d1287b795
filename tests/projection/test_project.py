"""The verb: labels and a translation in, training data out."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unspaced import with_pieces

import isoglot as iso
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.corpus.labelled_tables import read_table
from isoglot.errors import ConfigurationError, InputError, IsoglotError, UnknownWordsWarning
from isoglot.formats.labelled.questions import read_questions
from isoglot.formats.labelled.tags import read_tags
from isoglot.projection.options import ProjectOptions, project_options
from isoglot.projection.questions import Answers
from isoglot.schema import SPAN, TAGGED
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext

CONLLU = (
    "1\tthe\t_\tDET\t_\t_\t0\troot\t_\t_\n2\thouse\t_\tNOUN\t_\t_\t1\tx\t_\t_\n\n"
    "1\tgo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
)


def written(folder: Path, **files: str) -> list[str]:
    """Files of these contents, in their order; ``_`` in a name stands for a dot."""
    paths = []
    for name, text in files.items():
        path = folder / name.replace("_", ".")
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    return paths


def test_parts_of_speech(tmp_path: Path) -> None:
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


def test_a_saved_model_of_running_text_makes_the_links(tmp_path: Path) -> None:
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


def test_words_of_a_treebank_are_taken_as_they_are(tmp_path: Path) -> None:
    other = CONLLU.replace("the", "10 000").replace("house", "\u200b")
    labels, translation = written(tmp_path, en_conllu=CONLLU, de_conllu=other)
    out = tmp_path / "out"
    iso.project(labels, translation, out, method="fast_align")
    assert out.read_text().split("\n")[:2] == ["10 000\tDET", "\u200b\tNOUN"]


def test_entities(tmp_path: Path) -> None:
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
def test_a_word_without_a_label_gives_none(tmp_path: Path, uncertain: str, wanted: str | None) -> None:
    labels, translation, links = written(
        tmp_path, en_tsv="Anna\t_\nin\tO\nRome\tB-LOC\n\n", de_txt="Anna in Rom\n", links="0-0 1-1 2-2\n"
    )
    out = tmp_path / "de.tsv"
    options = {"kind": "ner", "links_file": links, "uncertain": uncertain}
    if wanted is None:
        with pytest.raises(InputError, match="no label could be transferred"):
            iso.project(labels, translation, out, **options)
    else:
        iso.project(labels, translation, out, **options)
        assert out.read_text() == wanted


def test_a_word_without_a_label_beside_an_entity_is_no_entity(tmp_path: Path) -> None:
    labels, translation, links = written(
        tmp_path, en_tsv="Anna\t_\nRome\tB-LOC\n\n", de_txt="Anna Rom\n", links="0-0 1-1\n"
    )
    counts = iso.project(labels, translation, tmp_path / "out", kind="ner", links_file=links)
    assert (tmp_path / "out").read_text() == "Anna\t_\nRom\tB-LOC\n\n" and counts.spans == 1


def test_a_span_that_is_split_leaves_its_other_pieces_unlabelled(tmp_path: Path) -> None:
    labels, translation = written(tmp_path, en_tsv="A\tB-X\nB\tI-X\n\n", de_txt="a x x x x b b\n")
    (links,) = written(tmp_path, links="0-0 1-5 1-6\n")
    iso.project(labels, translation, tmp_path / "out", kind="ner", links_file=links)
    assert (tmp_path / "out").read_text().split()[1::2] == ["_", "O", "O", "O", "O", "B-X", "I-X"]


def test_offsets_become_offsets_and_tags(tmp_path: Path) -> None:
    row = {"id": 7, "text": "Anna is in Rome.", "spans": [{"start": 0, "end": 4, "label": "PER"}]}
    other = {"text": "In Rome.", "label": [[3, 7, "LOC"]]}
    labels, translation, links = written(
        tmp_path,
        en_jsonl=f"{json.dumps(row)}\n{json.dumps(other)}\n",
        de_txt="In Rom ist Anna.\n„Rom“\n",
        links="0-3 1-2 2-0 3-1\n1-1\n",
    )
    iso.project(labels, translation, tmp_path / "o.jsonl", links_file=links)
    first, second = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    assert first["spans"] == [{"start": 11, "end": 15, "label": "PER"}] and first["id"] == 7
    assert first["tags"] == ["O", "O", "O", "B-PER", "O"]
    assert [second["text"][s["start"] : s["end"]] for s in second["spans"]] == ["Rom"]
    found = read_table(str(tmp_path / "o.jsonl"), TAGGED, language="de", split="train", role="words")
    assert found["words"][1] == ["„", "Rom", "“"]


def test_blank_lines_of_json_are_passed_over(tmp_path: Path) -> None:
    row = {"text": "Rome.", "spans": [[0, 4, "LOC"]]}
    labels, translation, links = written(
        tmp_path,
        en_jsonl=f"{json.dumps(row)}\n\n{json.dumps(row)}\n",
        de_ndjson='\n{"text": "Rom."}\n{"text": "In Rom."}\n',
        links_jsonl='{"links": [[0, 0]]}\n\n{"links": [[0, 1]]}\n',
    )
    counts = iso.project(labels, translation, tmp_path / "o.jsonl", links_file=links)
    assert counts.examples == counts.written == 2
    found = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row["text"][row["spans"][0]["start"] :] for row in found] == ["Rom.", "Rom."]
    Path(translation).write_text('{"text": "Rom."}\n\n["Rom"]\n')
    with pytest.raises(InputError, match=r"ndjson:3: is a JSON list"):
        iso.project(labels, translation, tmp_path / "o.jsonl", links_file=links)


def texts(*rows: tuple[object, str]) -> str:
    """JSON lines; an id of ... is left out."""
    objects = ({"text": text} if name is ... else {"id": name, "text": text} for name, text in rows)
    return "".join(json.dumps(row) + "\n" for row in objects)


def people(*rows: tuple[object, str]) -> str:
    """The same with the first word labelled."""
    labelled = (json.loads(line) for line in texts(*rows).splitlines())
    spans = [[0, 4, "PER"]]
    return "".join(json.dumps({**row, "spans": spans}) + "\n" for row in labelled)


NAMES = ("a", "Anna runs"), ("b", "Bert runs")
LINK = '{"links": [[0, 0]]}\n'


def test_texts_match_by_their_ids(tmp_path: Path) -> None:
    """Der Hund is no person, wherever it stands."""
    labels, translation, links, named, unnamed = written(
        tmp_path,
        en_jsonl=people(("a", "Anna runs"), (7, "Bert runs")),
        de_jsonl=texts(("7", "läuft Bert"), ("a", "Anna läuft")),
        links="0-0\n0-1\n",
        named_jsonl='{"id": "7", "links": [[0, 1]]}\n{"id": "a", "links": [[0, 0]]}\n',
        unnamed_jsonl='{"links": [[0, 0]]}\n{"links": [[0, 1]]}\n',
    )
    out = tmp_path / "o.jsonl"
    for path in (links, named, unnamed):
        iso.project(labels, translation, out, links_file=path)
        rows = list(map(json.loads, out.read_text().splitlines()))
        marked = [row["text"][slice(*(row["spans"][0][key] for key in ("start", "end")))] for row in rows]
        assert ([row["id"] for row in rows], marked) == (["a", 7], ["Anna", "Bert"])


@pytest.mark.parametrize(
    ("labels", "translation", "links", "wanted"),
    [
        (people(*NAMES), texts(("a", "A"), ("c", "B")), LINK * 2, r"1 ids of .*de\.jsonl are missing \('c'\).*'b'"),
        (people(*NAMES), texts(("b", "B"), ("b", "A")), LINK * 2, r"de\.jsonl:2: id 'b' stands in line 1 too"),
        (people(*NAMES), texts((1, "B"), ("1", "A")), LINK * 2, r"de\.jsonl:2: id '1' stands in line 1 too"),
        (people(*NAMES), texts(("b", "B"), (None, "A")), LINK * 2, r"de\.jsonl:2: has no id"),
        (people(*NAMES), texts((..., "B"), ("b", "A")), LINK * 2, r"de\.jsonl:2: has an id, and line 1 has none"),
        (people(*NAMES), texts((1, "B"), (2, "A")), LINK * 2, r"2 ids of .*de\.jsonl are missing"),
        (people(*NAMES), texts((True, "B"), ("b", "A")), LINK * 2, r"de\.jsonl:1: the id is True, but"),
        (people(*NAMES), texts((..., "A"), (..., "B")), '{"id": "b", "links": []}\n{"id": "x", "links": []}\n',
         r"en\.jsonl: 1 ids of .*links\.jsonl are missing \('x'\)"),
        (people(("a", "Anna"), ("a", "Bert")), texts(("b", "B"), ("a", "A")), LINK * 2, r"en\.jsonl:2: id 'a'"),
    ],
)  # fmt: skip
def test_texts_whose_ids_do_not_match_are_refused(
    tmp_path: Path, labels: str, translation: str, links: str, wanted: str
) -> None:
    paths = written(tmp_path, en_jsonl=labels, de_jsonl=translation, links_jsonl=links)
    with pytest.raises(InputError, match=wanted):
        iso.project(paths[0], paths[1], tmp_path / "o.jsonl", links_file=paths[2])


def test_texts_match_by_their_place_where_a_file_has_no_ids(tmp_path: Path) -> None:
    for translation in (texts((..., "A B"), (..., "C D")), texts((None, "A B"), (None, "C D"))):
        labels, path, links = written(
            tmp_path, en_jsonl=people(*NAMES), de_jsonl=translation, links="0-0\n0-1\n"
        )
        iso.project(labels, path, tmp_path / "o.jsonl", links_file=links)
        rows = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
        assert [(row["text"], row["spans"][0]["start"]) for row in rows] == [("A B", 0), ("C D", 2)]


@pytest.mark.parametrize("row", [
    '{"links": [[0, 0]], "probabilities": 1}', '{"links": [[0, 0]], "probabilities": {"0": 1}}',
    '{"links": [[0, 0]], "probabilities": "1"}', '{"links": [[0, 0]], "probabilities": [1, 1]}',
    '{"links": [[0, 0]], "similarities": [true]}', '{"links": [[0, 0]], "probabilities": [1e999]}',
])  # fmt: skip
def test_probabilities_are_one_number_per_link(tmp_path: Path, row: str) -> None:
    labels, translation, links = written(tmp_path, en_tsv="a\tNOUN\n\n", de_txt="A\n", links_jsonl=f"{row}\n")
    with pytest.raises(
        InputError, match=r"links\.jsonl:1: 1 links, but .*a list of one number per link is needed"
    ):
        iso.project(labels, translation, tmp_path / "out", kind="pos", links_file=links)


@pytest.fixture
def chinese(tmp_path: Path, encoder: Path) -> Path:
    """A tiny encoder whose tokenizer has 北京 and 大学 as pieces."""
    pieces = ["▁", "北京", "大学", "北", "京", "。", "Beijing"]
    return with_pieces(encoder, tmp_path / "chinese", pieces)


def test_text_without_spaces_is_cut_as_the_encoder_cuts_it(chinese: Path) -> None:
    def cut_by(options: ProjectOptions) -> Callable[[str], list[str]]:
        return lambda text: Answers("a.json", "b.json", "-", options).cut(text).words

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
def test_tags_on_text_without_spaces(
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


def test_offsets_in_text_without_spaces(tmp_path: Path, chinese: Path) -> None:
    row = {"text": "Beijing", "spans": [{"start": 0, "end": 7, "label": "LOC"}]}
    labels, translation = written(tmp_path, en_jsonl=json.dumps(row) + "\n", zh_txt="北京\n")
    options = {"model": str(chinese), "layer": 2, "target_language": "zh"}
    iso.project(labels, translation, tmp_path / "o.jsonl", **options)
    found = json.loads((tmp_path / "o.jsonl").read_text(encoding="utf-8"))
    assert found["words"] == ["北", "京"] and found["tags"] == ["B-LOC", "I-LOC"]
    assert found["spans"] == [{"start": 0, "end": 2, "label": "LOC"}]


def squad(context: str, **answers: str | None) -> str:
    """SQuAD's JSON of one context; an id that has no answer is a question that has none."""
    qas = [
        {
            "id": name,
            "question": f"{name}?",
            "answers": [{"text": a, "answer_start": context.index(a)}] if a else [],
        }
        for name, a in answers.items()
    ]
    return json.dumps({"data": [{"paragraphs": [{"context": context, "qas": qas}]}]})


def test_answers_sentence_by_sentence(tmp_path: Path) -> None:
    english, german = "Anna lives in Rome. Bob left.", "Anna lebt in Rom. Bob ging fort."
    labels, translation = written(
        tmp_path,
        en_json=squad(english, a="Rome", b="Bob left", c=None),
        de_json=squad(german, a=None, b=None, c=None),
    )
    out = tmp_path / "de.jsonl"
    counts = iso.project(labels, translation, out, method="fast_align", train_on=(_dictionary(tmp_path),))
    found = read_table(str(out), SPAN, language="de", split="train", role="questions")
    assert found["context"][0] == german
    assert found["id"][:] == ["a", "b", "c"] and found["answers"][2] == {"text": [], "start": []}
    assert found["answers"][0] == {"text": ["Rom"], "start": [13]}
    assert counts.examples == counts.written == 3


@pytest.mark.parametrize(
    ("file", "ids", "wanted"),
    [
        ("de.jsonl", ["a", "a"], r"de\.jsonl: id 'a' is used for several questions"),
        ("de.jsonl", [1, "1"], r"de\.jsonl: id '1' is used for several questions"),
        ("de.jsonl", ["None", None], r"de\.jsonl:2: a question has no id"),
        ("de.jsonl", ["a", [1]], r"de\.jsonl:2: the id is \[1\], but a whole number or a text is needed"),
        ("de.json", ["a", "a"], r"de\.json: id 'a' is used for several questions"),
        ("en.json", ["a", "a"], r"en\.json: id 'a' is used for several questions"),
        ("en.json", [1, "1"], r"en\.json: id '1' is used for several questions"),
        ("en.json", ["None", None], r"en\.json: article 0: a question has no id"),
    ],
)
def test_questions_have_ids_of_their_own(tmp_path: Path, file: str, ids: list[object], wanted: str) -> None:
    """The last of two questions of one id is not the translation of both."""

    def document(names: list[object]) -> str:
        answers = [{"text": "Rome", "answer_start": 0}]
        qas = [{"id": name, "question": "q?", "answers": answers} for name in names]
        return json.dumps({"data": [{"paragraphs": [{"context": "Rome.", "qas": qas}]}]})

    rows = ({"id": name, "question": "q?", "context": "Rome."} for name in ids)
    files = {"en.json": document(["a", "b"]), "de.json": document(["a", "b"]), "de.jsonl": ""}
    files[file] = "".join(json.dumps(row) + "\n" for row in rows) if file == "de.jsonl" else document(ids)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    translation = tmp_path / ("de.jsonl" if file == "de.jsonl" else "de.json")
    with pytest.raises(InputError, match=wanted):
        iso.project(tmp_path / "en.json", translation, tmp_path / "o.jsonl", method="hmm")


def test_equal_parts_of_questions_and_of_their_translation_are_parallel(tmp_path: Path) -> None:
    """Articles have one to four contexts, and a context loses its only question."""
    sides: dict[str, list[dict[str, object]]] = {"en": [], "de": []}
    for article in range(4):
        for language, answer in (("en", "Rome"), ("de", "Rom")):
            contexts = [f"{answer} {'abcd'[n]}{article}" for n in range(article + 1)]
            qas = [[{"id": f"{article}{n}", "question": "q?", "answers": [{"text": answer, "answer_start": 0}]}]
                   for n in range(article + 1)]  # fmt: skip
            paragraphs = [{"context": c, "qas": own} for c, own in zip(contexts, qas, strict=True)]
            sides[language].append({"paragraphs": paragraphs})
    labels, translation, links, fewer = written(
        tmp_path,
        en_json=json.dumps({"data": sides["en"]}),
        de_json=json.dumps({"data": sides["de"]}),
        links="0-0\n" * 2 + "\n" + "0-0\n" * 7,  # the third context has no link
        fewer="0-0\n" * 9,
    )
    out = tmp_path / "de.jsonl"
    assert iso.project(labels, translation, out, links_file=links).written == 9
    parts = [
        build_task("xquad", [f"{path}#0:75%"]).load(language, "train")["id"][:]
        for path, language in ((labels, "en"), (out, "de"))
    ]
    assert parts[0] == ["00", "10", "11", "20", "21", "22"] and parts[1] == ["00", "10", "20", "21", "22"]
    again = tmp_path / "again.jsonl"
    iso.project(out, translation, again, kind="questions", links_file=fewer, source_language="de")
    assert {json.loads(line)["article"] for line in again.read_text().splitlines()} == set("0123")


def _dictionary(folder: Path) -> str:
    pairs = {
        "Anna": "Anna",
        "lives": "lebt",
        "in": "in",
        "Rome": "Rom",
        ".": ".",
        "Bob": "Bob",
        "left": "ging",
    }
    (path,) = written(folder, words_tsv="".join(f"{a}\t{b}\n" for a, b in pairs.items()) * 30)
    return path


def test_links_of_whole_contexts_and_lost_answers(tmp_path: Path) -> None:
    labels, translation, links = written(
        tmp_path,
        en_json=squad("Anna lives. Bob left.", a="Anna", b="Bob", z="Anna"),
        de_json=squad("Anna lebt. Bob ging.", a=None, b=None),
        links="0-0\n",
    )
    out = tmp_path / "de.jsonl"
    counts = iso.project(labels, translation, out, links_file=links)
    assert [json.loads(line)["answers"] for line in out.read_text().splitlines()] == [
        {"text": ["Anna"], "start": [0]}
    ]
    assert counts.fates["lost"] == 1 and counts.examples == 3 and counts.written == 1
    with pytest.raises(ConfigurationError, match=r"name it \.jsonl"):
        iso.project(labels, translation, tmp_path / "out.json", links_file=links)
    assert len(read_questions(labels, language="en")) == 3


@pytest.mark.parametrize("name", ["probabilities", "similarities"])
def test_links_below_the_least_probability_carry_nothing(tmp_path: Path, name: str) -> None:
    rows = [{"links": [[1, 1], [0, 0]], name: [0.2, 0.9]}, {"links": [[0, 0]], name: [0.3]}]
    links = "".join(json.dumps(row) + "\n" for row in rows)
    labels, translation, path = written(
        tmp_path, en_conllu=CONLLU, de_txt="das Haus\ngeh\n", links_jsonl=links
    )
    iso.project(labels, translation, tmp_path / "o", links_file=path, min_probability=0.25)
    assert (tmp_path / "o").read_text() == "das\tDET\nHaus\t_\n\ngeh\tVERB\n\n"


def test_an_aligner_and_its_links_give_the_same(tmp_path: Path, encoder: Path) -> None:
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
        ({"de_txt": "das Haus\n"}, {}, r"de\.txt: ends after 1 sentences, but .*en\.conllu continues"),
        ({"links": "0-0\n"}, {}, r"links: ends before sentence 2"),
        ({"links": "0-0\n0-0\n0-0\n"}, {}, "has more lines than the text has sentences"),
        ({"links": "0-0\n5-0\n"}, {}, r"links:2: link 5-0 of 1 and 1 words"),
        ({"links": "0-0\nx\n"}, {}, r"links:2: invalid link 'x'"),
        ({"links": "0-0\n0-0\n"}, {"min_probability": 0.5}, "has no probabilities"),
        ({"links": "\n\n"}, {}, "no label could be transferred to it"),
        ({"en_conllu": CONLLU.replace("VERB", "VRB")}, {}, r"en\.conllu:4: unknown tag 'VRB'"),
        ({}, {"uncertain": "outside"}, "O is a tag of ner"),
        ({}, {"uncertian": "drop"}, "uncertian"),
        ({}, {"kind": "tree"}, "kind"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(
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


def test_the_output_is_no_input_and_links_come_from_one_place(tmp_path: Path) -> None:
    labels, translation = written(tmp_path, en_conllu=CONLLU, de_txt="das Haus\ngeh\n")
    with pytest.raises(ConfigurationError, match="is also an input"):
        iso.project(labels, translation, translation)
    with pytest.raises(ConfigurationError, match="is also an input"):
        iso.project(labels, translation, tmp_path / "out", lexicon=Path(labels))
    with pytest.raises(ConfigurationError, match="are the same"):
        iso.project(labels, translation, tmp_path / "out", method="hmm", lexicon=tmp_path / "out")
    with pytest.raises(ConfigurationError, match="--layer"):
        project_options(labels, links_file="x", layer=3)
    with pytest.raises(ConfigurationError, match="does not show the kind of labels"):
        project_options("labels.txt")
    with pytest.raises(InputError, match="no sentence has a translation"):
        iso.project(labels, written(tmp_path, blank_txt="\n\n")[0], tmp_path / "out")


@pytest.mark.parametrize("how", [{"method": "fast_align"}, {"method": "hmm"}, {"layer": 2}])
def test_nothing_is_written_to_be_read_back(
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


def test_an_aligner_that_learns_counts_every_question_once(tmp_path: Path) -> None:
    labels, translation = written(
        tmp_path,
        en_json=squad("Anna lives. Bob left.", a="Anna", b="Bob", z="Anna"),
        de_json=squad("Anna lebt. Bob ging.", a=None, b=None),
    )
    counts = iso.project(
        labels, translation, tmp_path / "de.jsonl", method="fast_align", target_language="de"
    )
    assert counts.examples == 3
    rows = [json.loads(line) for line in (tmp_path / "de.jsonl").read_text().splitlines()]
    assert {row["language"] for row in rows} == {"de"}


@pytest.mark.parametrize("how", [{"method": "fast_align"}, {"layer": 2}])
def test_what_an_aligner_writes_and_reports_at_the_end(
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
