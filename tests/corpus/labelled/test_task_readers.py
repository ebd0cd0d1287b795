from __future__ import annotations

import json
from pathlib import Path

import pytest
from datasets import Dataset

from isoglot.corpus.labelled.pairs import NLI_LABELS, PARAPHRASE_LABELS, read_pairs
from isoglot.corpus.labelled.places import DataSource, Place, find_sides
from isoglot.corpus.labelled.questions import NOT_FOUND, read_questions
from isoglot.corpus.labelled.tables import read_table
from isoglot.corpus.labelled.tags import read_tags
from isoglot.errors import ConfigurationError, InputError
from isoglot.schema import PAIR, SPAN, TAGGED
from isoglot.tasks import build_task
from isoglot.tasks.base import take_part

CONLLU = """# text = zum Haus
1-2\tzum\t_\t_\t_\t_\t_\t_\t_\t_
1\tzu\tzu\tADP\t_\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_
3\tHaus\tHaus\tNOUN\t_\t_\t0\troot\t_\t_

1\tJa\tja\tINTJ\t_\t_\t0\troot\t_\t_
"""


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words", "tags"),
    [
        (CONLLU, [["zu", "dem", "Haus"], ["Ja"]], [["ADP", "DET", "NOUN"], ["INTJ"]]),
        ("de:Hu\tB-LOC\nde::\tO\n\nde:x\tO\n", [["Hu", ":"], ["x"]], [["B-LOC", "O"], ["O"]]),
        ("0\tHu\tB-LOC\n1\t'\tI-LOC\n\n0\tx\tO\n", [["Hu", "'"], ["x"]], [["B-LOC", "I-LOC"], ["O"]]),
        ("Hu\tB-LOC\n\nx\tO\n", [["Hu"], ["x"]], [["B-LOC"], ["O"]]),
        ("-DOCSTART- -X- O O\n\nHu NNP I-NP I-PER\nXi NNP I-NP I-LOC\na b c O\n", [["Hu", "Xi", "a"]],
         [["B-PER", "B-LOC", "O"]]),
        ("Hu NP B-PER\nXi NP I-PER\n", [["Hu", "Xi"]], [["B-PER", "I-PER"]]),
    ],
)  # fmt: skip
def test_tag_formats(tmp_path: Path, text: str, words: list[list[str]], tags: list[list[str]]) -> None:
    found = read_tags(_file(tmp_path, "x", text), language="de")
    assert list(found["words"]) == words
    assert list(found["tags"]) == tags
    assert set(found["language"]) == {"de"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONLLU.replace("NOUN", "NN"), r"x:6: tag 'NN' given"),
        (CONLLU.replace("3\tHaus\tHaus", "3\tHaus"), r"x:6: 9 columns"),
        ("de:Hu\tB-LOC\nde:x\tLOC\n", r"x:2: tag 'LOC' given"),
        ("0\tHu\tB-LOC\n\n1\tx\n", r"x:3: "),
        ("Hu NP B-PER\nXi\n", r"x:2: one column"),
        ("de:New\tB-LOC\nde:York I-LOC\nde:x\tO\n", r"x:2: 1 columns between tabs, but PAN-X"),
        ("de:New\tB-LOC\nYork\tI-LOC\nde:x\tO\n", r"x:2: .*`language:token`"),
        ("0\tHu\tB-LOC\n1\tXi I-LOC\n\n0\tx\tO\n", r"x:2: 2 columns between tabs, but a number"),
        ("Hu\tB-LOC\nXi I-LOC\nx\tO\n", r"x:2: 1 columns between tabs, but a token"),
        (CONLLU.replace("3\tHaus\tHaus", "3\tHaus").partition("\n")[2], r"x:5: 9 columns"),
    ],
)
def test_bad_tags_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_tags(_file(tmp_path, "x", text), language="de", name="conllu" if text[0] == "#" else None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "p\th\tneutral\nq\ti\tcontradiction\n"),
        ("a.tsv", "premise\thypothesis\tlabel\np\th\t1\nq\ti\t2\n"),
        ("a.tsv", "premise\thypo\tlabel\np\th\tneutral\nq\ti\tcontradictory\n"),
        ("a.csv", 'premise,hypothesis,label\np,h,neutral\n"q",i,contradiction\nx,y,-\n'),
        ("a.tsv", "language\tgold_label\tsentence1\tsentence2\tpairID\nfr\tneutral\tz\tz\t1\n"
                  "de\tneutral\tp\th\t1\nde\tcontradiction\tq\ti\t2\n"),
        ("a.jsonl", '{"language": "de", "gold_label": "neutral", "label": "x", "sentence1": "p", "sentence2": "h"}\n'
                    '{"language": "de", "gold_label": "contradiction", "sentence1": "q", "sentence2": "i"}\n'),
    ],
)  # fmt: skip
def test_nli_formats(tmp_path: Path, name: str, text: str) -> None:
    found = read_pairs(_file(tmp_path, name, text), language="de", labels=NLI_LABELS)
    rows = [(r["first"], r["second"], r["label"], r["language"]) for r in found]
    assert rows == [("p", "h", "neutral", "de"), ("q", "i", "contradiction", "de")]


@pytest.mark.parametrize("premise", [None, ["a"], {}])
def test_what_is_no_text_is_no_premise(tmp_path: Path, premise: object) -> None:
    row = {"premise": premise, "hypothesis": "b", "label": 1}
    path = _file(tmp_path, "a.jsonl", json.dumps(row))
    with pytest.raises(InputError, match=r"a\.jsonl:1: premise is .* and text"):
        read_pairs(path, language="de", labels=NLI_LABELS)


def test_three_letters_are_the_same_language(tmp_path: Path) -> None:
    rows = [{"first": c, "second": "b", "label": 1, "language": c} for c in ("deu", "DE", "en", "de")]
    path = _file(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert read_pairs(path, language="de", labels=NLI_LABELS)["first"][:] == ["deu", "DE", "de"]


def test_tokens_marked_with_another_language(tmp_path: Path) -> None:
    path = _file(tmp_path, "dev", "fr:le\tO\nfr:chat\tO\n")
    with pytest.raises(InputError, match=r"dev:1: the token is marked fr:, and 'de' is asked for"):
        read_tags(path, language="de")
    assert len(read_tags(path, language="fra")) == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"words": ["a", None], "tags": ["O", "O"]}, "a null stands in column 'words'"),
        ({"words": ["a"], "tags": ["O"], "language": None}, "a null stands in column 'language'"),
        ({"words": None, "tags": None}, "words and tags are lists|a null stands in column 'words'"),
        ({"words": ["a", "b"], "tags": ["O"]}, "jsonl:1: 2 words and 1 tags|row 1 has 2 words and 1 tags"),
    ],
)
@pytest.mark.parametrize("parquet", [False, True])
def test_holes_in_tables(tmp_path: Path, row: dict[str, object], message: str, parquet: bool) -> None:
    path = tmp_path / ("a.parquet" if parquet else "a.jsonl")
    if parquet:
        Dataset.from_list([{"language": "de", **row}], features=TAGGED).to_parquet(path)
    else:
        path.write_text(json.dumps(row))
    with pytest.raises(InputError, match=message):
        read_table(str(path), TAGGED, language="de", split="test", role="sentences")


def test_quoted_line_breaks_keep_line_numbers(tmp_path: Path) -> None:
    path = _file(tmp_path, "a.csv", 'premise,hypothesis,label\n"a\nb",c,neutral\nd,e,wrong\n')
    with pytest.raises(InputError, match=r"a\.csv:4: label 'wrong'"):
        read_pairs(path, language="en", labels=NLI_LABELS)


def test_untranslated_paraphrases_are_left_out_and_ids_kept(tmp_path: Path) -> None:
    text = "id\tsentence1\tsentence2\tlabel\n1\tNS\tx\t0\n2\ta\tNS\t0\n7\ta\tb\t1\n"
    found = read_pairs(_file(tmp_path, "a.tsv", text), language="de", labels=PARAPHRASE_LABELS)
    assert [(r["id"], r["label"]) for r in found] == [("7", "1")]
    data = [str(tmp_path / "a.tsv")]
    for task, options, ids in [("pawsx", {}, ["7"]), ("pawsx", {"untranslated": "keep"}, ["1", "2", "7"]),
                               ("xnli", {}, ["1", "2", "7"])]:  # fmt: skip
        assert list(build_task(task, data, **options).load("de", "test")["id"]) == ids
    with pytest.raises(ConfigurationError, match="known: drop, keep"):
        build_task("pawsx", data, untranslated="NS")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tneutral\na\tneutral\n", r"a\.tsv:2: 2 columns"),
        ("a\tb\n", r"a\.tsv:1: 2 columns, and 3 are needed"),
        ("premise\tlabel\na\tneutral\n", r"a\.tsv:2: columns premise, label given, but second"),
        ("label\tpremise\thypothesis\tlabel\n", r"a\.tsv:1: the header has column 'label' twice"),
        ("language\tlabel\tsentence1\tsentence2\nfr\t0\ta\tb\n", "languages there are fr"),
    ],
)
def test_bad_pairs_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_pairs(_file(tmp_path, "a.tsv", text), language="de", labels=NLI_LABELS)


def _squad(context: str, *answers: tuple[str, int], name: str = "1") -> dict[str, object]:
    qa = {"id": name, "question": "q?", "answers": [{"text": t, "answer_start": s} for t, s in answers]}
    return {"data": [{"paragraphs": [{"context": context, "qas": [qa]}]}]}


CONLLU = """# text = Geht's zum Haus?
1-2\tGeht's\t_\t_\t_\t_\t_\t_\t_\t_
1\tGeht\t_\tVERB\t_\t_\t0\troot\t_\t_
2\t's\t_\tPRON\t_\t_\t1\tnsubj\t_\t_
3-4\tzum\t_\t_\t_\t_\t_\t_\t_\t_
3\tzu\t_\tADP\t_\t_\t5\tcase\t{deps}\t_
4\tdem\t_\tDET\t_\t_\t5\tdet\t_\t_
5\tHa\u200c us\t_\tNOUN\t_\t_\t1\tobl\t_\t_
5.1\tja\t_\tX\t_\t_\t_\t_\t_\t_
6\t?\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_

1\t_\t_\tVERB\t_\t_\t0\troot\t_\t_
2\t_\t_\tNOUN\t_\t_\t1\tobj\t_\t_
3\t.\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_
"""


@pytest.mark.parametrize(("deps", "tag"), [("_", "ADP"), ("5:case", "ADP"), ("5:case|6:x|4.1:y", "DET")])
def test_written_words_have_the_tag_of_their_highest_part(tmp_path: Path, deps: str, tag: str) -> None:
    path = _file(tmp_path, "de.test.conllu", CONLLU.replace("{deps}", deps))
    (row,) = build_task("pos", [str(path)], words="written").load("de", "test")
    assert row["words"] == ["Geht's", "zum", "Haus", "?"]
    assert row["tags"] == ["VERB", tag, "NOUN", "PUNCT"]
    syntactic = build_task("pos", [str(path)]).load("de", "test")
    assert [len(words) for words in syntactic["words"]] == [6, 3]
    with pytest.raises(InputError, match="this is pairs; leave words out"):
        build_task("pos", [str(_file(tmp_path, "a.tsv", "a\tX\n"))], words="written").load("de", "test")
    with pytest.raises(ConfigurationError, match="known: syntactic, written"):
        build_task("pos", [str(path)], words="fused")


def test_precedence_among_equally_high_parts_is_the_languages_own(tmp_path: Path) -> None:
    line = "{}\t{}\t_\t{}\t_\t_\t{}\tx\t_\t_\n"
    text = "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + "".join(
        line.format(*row)
        for row in [(1, "a", "ADP", 3), (2, "b", "PRON", 3), (3, "c", "VERB", 0), (4, "d", "X", 3)]
    )
    path = _file(tmp_path, "x.conllu", text)
    for language, tag in (("de", "PRON"), ("es", "PRON"), ("fr", "PRON")):
        assert read_tags(path, language=language, surface=True)["tags"][0] == [tag, "VERB", "X"]
    other = _file(tmp_path, "y.conllu", text.replace("PRON", "ADV"))
    for language, tag in (("de", "ADV"), ("es", "ADP"), ("it", "ADV")):
        assert read_tags(other, language=language, surface=True)["tags"][0] == [tag, "VERB", "X"]


@pytest.mark.parametrize(("start", "found"), [(4, 4), (5, 4), (0, 0), (3, 4), (10, 8), (-1, 0)])
def test_answers_are_found_nearby(tmp_path: Path, start: int, found: int) -> None:
    path = _file(tmp_path, "a.json", json.dumps(_squad("abc abc abc", ("abc", start))))
    assert read_questions(path, language="en")[0]["answers"]["start"] == [found]


def test_answers_that_move_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    answers = [("abc", 4), ("abc", 5), ("abc", -1), ("x", 2)]
    path = _file(tmp_path, "a.json", json.dumps(_squad("abc abc abc", *answers)))
    assert read_questions(path, language="en")[0]["answers"]["start"] == [4, 4, 0, NOT_FOUND]
    assert "2 of 4 answers do not stand at their answer_start; the nearest place" in caplog.text
    caplog.clear()
    path = _file(tmp_path, "b.json", json.dumps(_squad("abc abc abc", ("abc", 4))))
    read_questions(path, language="en")
    assert not caplog.records


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    text = json.dumps(_squad("abc", ("abc", 0))).replace('"context"', '"context": "xyz", "context"')
    with pytest.raises(InputError, match=r"q\.json.*the name 'context' stands twice"):
        read_questions(_file(tmp_path, "q.json", text), language="en")
    table = _file(
        tmp_path,
        "a.jsonl",
        '{"words": ["a"], "tags": ["X"]}\n{"words": ["a"], "tags": ["X"], "tags": ["Y"]}\n',
    )
    with pytest.raises(InputError, match=r"a\.jsonl:2: .*the name 'tags' stands twice"):
        read_table(str(table), TAGGED, language="en", split="test", role="data")
    pairs = _file(tmp_path, "p.jsonl", '{"premise": "a", "hypothesis": "b", "label": "0", "label": "1"}\n')
    with pytest.raises(InputError, match=r"p\.jsonl:1: .*the name 'label' stands twice"):
        read_pairs(pairs, language="de", labels=NLI_LABELS)


def test_missing_answers_and_other_languages(tmp_path: Path) -> None:
    path = _file(tmp_path, "a.json", json.dumps(_squad("abc", ("x", 0), name="finnish-1")))
    assert read_questions(path, language="fi")[0]["answers"]["start"] == [NOT_FOUND]
    with pytest.raises(InputError, match="languages there are fi"):
        read_questions(path, language="ko")
    path.write_text('{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1"}]}]}]}')
    with pytest.raises(InputError, match="article 0: no 'answers'"):
        read_questions(path, language="fi")


def test_tables_of_a_schema(tmp_path: Path) -> None:
    rows = {"words": [["a"], ["b"]], "tags": [["X"], ["X"]], "language": ["en", "en-inv"]}
    data = Dataset.from_dict(rows, features=TAGGED)
    data.save_to_disk(tmp_path / "disk")
    data.to_parquet(tmp_path / "a.parquet")
    data.to_json(tmp_path / "a.jsonl")
    for name in ("disk", "a.parquet", "a.jsonl"):
        found = read_table(str(tmp_path / name), TAGGED, language="en-inv", split="test", role="data")
        assert list(found["words"]) == [["b"]]
    with pytest.raises(InputError, match="languages there are en, en-inv"):
        read_table(str(tmp_path / "disk"), TAGGED, language="fr", split="test", role="data")
    with pytest.raises(ConfigurationError, match="'first'"):
        read_table(str(tmp_path / "disk"), PAIR, language="en", split="test", role="data")
    path = _file(tmp_path, "b.jsonl", '{"words": ["a"], "tags": ["X"]}\n{"words": ["a"], "tags": []}\n')
    with pytest.raises(InputError, match=r"jsonl:2: 1 words and 0 tags"):
        read_table(str(path), TAGGED, language="en", split="test", role="data")


def test_sources(tmp_path: Path) -> None:
    for name in ("de_x-dev.tsv", "de_x-test.tsv", "de_y-test.tsv", "fr.test", "eng.test", "xquad.de.json"):
        (tmp_path / name).touch()
    folder = DataSource([str(tmp_path)])
    assert [Path(p.path).name for p in folder.find("de", "dev")] == ["de_x-dev.tsv"]
    assert [Path(p.path).name for p in folder.find("en", "test")] == ["eng.test"]
    assert [Path(p.path).name for p in folder.find("de", "train")] == ["xquad.de.json"]
    with pytest.raises(ConfigurationError, match=r"2 test files of 'de' .*test=.*de_x-test\.tsv"):
        folder.find("de", "test")
    template = DataSource([f"train={tmp_path}/none", f"{tmp_path}/{{language}}_y-{{split}}.tsv#20:80%"])
    assert template.find("de", "test") == [Place(str(tmp_path / "de_y-test.tsv"), 20, 80)]
    for language, split, wrong in (("fr", "test", "no test data for 'fr'"), ("de", "train", "no such file")):
        with pytest.raises(ConfigurationError, match=wrong):
            template.find(language, split)
    with pytest.raises(ConfigurationError, match="there is no such file"):
        DataSource([str(tmp_path / "nothing")]).find("de", "test")
    for part, wrong in (("#0:3000", "a part is in per cent"), ("#20:120%", "20:120% is empty")):
        with pytest.raises(ConfigurationError, match=f"{wrong}; write for example #0:80%"):
            DataSource([f"{tmp_path}{part}"])


def test_a_folder_of_the_language_needs_no_code_in_its_files(tmp_path: Path) -> None:
    (tmp_path / "es").mkdir()
    for name in ("train.conllu", "val.conllu"):
        _file(tmp_path / "es", name, "x")
    source = DataSource([f"{tmp_path}/{{language}}"])
    assert [p.path for p in source.find("es", "dev")] == [f"{tmp_path}/es/val.conllu"]
    with pytest.raises(ConfigurationError, match="no test data for 'es'"):
        source.find("es", "test")
    _file(tmp_path / "es", "train.tsv.gz", "x")
    with pytest.raises(ConfigurationError, match=r"2 train files of 'es' \(.*train=.*es/train"):
        source.find("es", "train")


def test_names_of_files_in_a_folder_are_those_that_are_documented(tmp_path: Path) -> None:
    """XTREME's own and its prepared data, Universal Dependencies, WikiANN, the miniature world."""
    names = {
        "test-de.tsv": "panx", "de-test.conllu.xz": "own", "de.test.json": "world", "de_pud-ud-test.conllu": "ud",
        "tydiqa.goldp.de.test.json": "tydiqa/tydiqa-goldp", "test": "wikiann/de", "xquad.de.json": "xquad",
        "test-context-de-question-de.json": "mlqa/MLQA_V1/test", "deu.jsonl": "gold",
    }  # fmt: skip
    for name, folder in names.items():
        place = tmp_path / folder
        place.mkdir(parents=True)
        _file(place, name, "x")
        _file(place, name.replace("test", "notes"), "x")
        _file(place, "readme.md", "x")
        root = tmp_path / Path(folder).parts[0]
        assert [p.path for p in DataSource([str(root)]).find("de", "test")] == [str(place / name)]
    for folder, name in (("gold", "de.dev.jsonl"), ("xquad", "train.de.json")):
        _file(tmp_path / folder, name, "x")
    assert DataSource([str(tmp_path / "gold")]).find("de", "train")[0].path.endswith("deu.jsonl")
    assert DataSource([str(tmp_path / "xquad")]).find("de", "dev")[0].path.endswith("xquad.de.json")
    with pytest.raises(ConfigurationError, match=r"no dev data for 'de'.*\{language\}-\{split\}\.tsv"):
        DataSource([str(tmp_path / "ud")]).find("de", "dev")


def test_sides_of_a_pair_are_found_by_documented_names(tmp_path: Path) -> None:
    made = {
        "tatoeba": ("tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng", "tatoeba.fra-eng.eng"),
        "flores": ("dev/deu_Latn.dev", "dev/eng_Latn.dev", "devtest/deu_Latn.devtest", "devtest/eng_Latn.devtest"),
        "multi30k": ("test_2016_flickr.de.gz", "test_2016_flickr.en.gz", "val.de.gz", "val.en.gz"),
        "plain": ("test.de", "test.en"),
    }  # fmt: skip
    for folder, names in made.items():
        for name in names:
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            _file(tmp_path / folder, name, "x")
        found = find_sides([str(tmp_path / folder)], ("de", "en"), "test")
        wanted = names[2:] if folder == "flores" else names[:2]
        assert [p.relative_to(tmp_path / folder).as_posix() for p in found] == list(wanted)
    with pytest.raises(ConfigurationError, match="0 found"):
        find_sides([str(tmp_path / "tatoeba")], ("fr", "en"), "test")
    given = [str(tmp_path / "a.eng.txt"), str(tmp_path / "b.deu")]
    assert find_sides(given, ("de", "en"), "test") == (Path(given[1]), Path(given[0]))


def test_parts_of_questions_hold_whole_articles(tmp_path: Path) -> None:
    def article(*contexts: str) -> dict[str, object]:
        qas = [{"question": "q", "answers": [{"text": c, "answer_start": 0}]} for c in contexts]
        return {
            "paragraphs": [
                {"context": c, "qas": [{"id": c, **q}]} for c, q in zip(contexts, qas, strict=True)
            ]
        }

    path = _file(tmp_path, "q.json", json.dumps({"data": [article("a", "b", "c"), article("d")]}))
    first, second = (
        build_task("xquad", [f"{path}#{part}"]).load("en", "test")["id"] for part in ("0:50%", "50:100%")
    )
    assert (list(first), list(second)) == (["a", "b", "c"], ["d"])


def test_crossed_languages_of_mlqa(tmp_path: Path) -> None:
    for name in ("test-context-de-question-de.json", "test-context-de-question-es.json"):
        (tmp_path / name).touch()
    source = DataSource([str(tmp_path)])
    assert source.find("de", "test")[0].path.endswith("question-de.json")
    assert source.find("de-es", "test")[0].path.endswith("question-es.json")


def test_parts_keep_groups_whole() -> None:
    data = Dataset.from_dict({"context": list("aaabbccccd")})
    parts = [
        "".join(take_part(data, a, b, group="context")["context"]) for a, b in ((0, 50), (50, 75), (75, 100))
    ]
    assert parts == ["aaabb", "cccc", "d"]


@pytest.mark.parametrize("start", [-2, 9, 4000])
def test_an_answer_outside_the_context_is_refused(tmp_path: Path, start: int) -> None:
    path = _file(tmp_path, "q.json", json.dumps(_squad("the river", ("river", start))))
    with pytest.raises(InputError, match=rf"answer_start is {start}, outside the context of 9 characters"):
        read_questions(path, language="en")


def test_answers_that_are_not_in_the_context_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = _file(tmp_path, "q.json", json.dumps(_squad("the river", ("sea", -1))))
    assert read_questions(path, language="en")[0]["answers"]["start"] == [-1]
    assert "1 of 1 questions have an answer that is not in the context" in caplog.text


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"text": ["river"], "start": [5]}, "answer 'river' of question '1' is not at character 5"),
        ({"text": ["river"], "start": [4000]}, "is not at character 4000"),
        ({"text": ["river"], "start": []}, "has 1 answers and 0 starts"),
    ],
)
def test_answers_of_a_table_stand_where_they_say(
    tmp_path: Path, answers: dict[str, object], message: str
) -> None:
    row = {"id": "1", "question": "q?", "context": "the river", "answers": answers}
    path = _file(tmp_path, "q.jsonl", json.dumps(row) + "\n")
    with pytest.raises(InputError, match=message):
        build_task("xquad", [str(path)]).load("en", "test")


@pytest.mark.parametrize("answers", [{}, [], {"text": ["b"], "start": [None]}, {"text": None, "start": [0]}])
def test_answers_of_another_form_are_told_with_their_line(tmp_path: Path, answers: object) -> None:
    row = {"id": "1", "question": "q?", "context": "abc"}
    good = {**row, "answers": {"text": ["b"], "answer_start": [1]}}
    path = tmp_path / "en.jsonl"
    path.write_text(f"{json.dumps(good)}\n{json.dumps({**row, 'answers': answers})}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"en\.jsonl:2: answers are"):
        read_table(str(path), SPAN, language="en", split="test", role="data")
    path.write_text(f"{json.dumps(good)}\n", encoding="utf-8")
    (found,) = read_table(str(path), SPAN, language="en", split="test", role="data")
    assert found["answers"] == {"text": ["b"], "start": [1]}
