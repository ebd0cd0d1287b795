from __future__ import annotations

from pathlib import Path

import pytest
from labelled_files import text_file
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.formats.labelled.tags import read_tags
from isoglot.tasks import build_task

CONLLU = """# text = zum Haus
1-2\tzum\t_\t_\t_\t_\t_\t_\t_\t_
1\tzu\tzu\tADP\t_\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_
3\tHaus\tHaus\tNOUN\t_\t_\t0\troot\t_\t_

1\tJa\tja\tINTJ\t_\t_\t0\troot\t_\t_
"""


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
    found = read_tags(text_file(tmp_path, "x", text), language="de")
    assert list(found["words"]) == words
    assert list(found["tags"]) == tags
    assert set(found["language"]) == {"de"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONLLU.replace("NOUN", "NN"), r"x:6: unknown tag 'NN'"),
        (CONLLU.replace("3\tHaus\tHaus", "3\tHaus"), r"x:6: 9 columns"),
        ("de:Hu\tB-LOC\nde:x\tLOC\n", r"x:2: unknown tag 'LOC'"),
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
        read_tags(text_file(tmp_path, "x", text), language="de", name="conllu" if text[0] == "#" else None)


def test_tokens_marked_with_another_language(tmp_path: Path) -> None:
    path = text_file(tmp_path, "dev", "fr:le\tO\nfr:chat\tO\n")
    with refused(InputError, "dev:1: ", "fr:", "'de'"):
        read_tags(path, language="de")
    assert len(read_tags(path, language="fra")) == 1


WRITTEN = """# text = Geht's zum Haus?
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
    path = text_file(tmp_path, "de.test.conllu", WRITTEN.replace("{deps}", deps))
    (row,) = build_task("pos", [str(path)], words="written").load("de", "test")
    assert row["words"] == ["Geht's", "zum", "Haus", "?"]
    assert row["tags"] == ["VERB", tag, "NOUN", "PUNCT"]
    syntactic = build_task("pos", [str(path)]).load("de", "test")
    assert [len(words) for words in syntactic["words"]] == [6, 3]
    with refused(InputError, "a.tsv: ", "words=written", "pairs"):
        build_task("pos", [str(text_file(tmp_path, "a.tsv", "a\tX\n"))], words="written").load("de", "test")
    with refused(ConfigurationError, "words: ", "'fused'", "syntactic, written"):
        build_task("pos", [str(path)], words="fused")


def test_precedence_among_equally_high_parts_is_the_languages_own(tmp_path: Path) -> None:
    line = "{}\t{}\t_\t{}\t_\t_\t{}\tx\t_\t_\n"
    text = "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + "".join(
        line.format(*row)
        for row in [(1, "a", "ADP", 3), (2, "b", "PRON", 3), (3, "c", "VERB", 0), (4, "d", "X", 3)]
    )
    path = text_file(tmp_path, "x.conllu", text)
    for language, tag in (("de", "PRON"), ("es", "PRON"), ("fr", "PRON")):
        assert read_tags(path, language=language, surface=True)["tags"][0] == [tag, "VERB", "X"]
    other = text_file(tmp_path, "y.conllu", text.replace("PRON", "ADV"))
    for language, tag in (("de", "ADV"), ("es", "ADP"), ("it", "ADV")):
        assert read_tags(other, language=language, surface=True)["tags"][0] == [tag, "VERB", "X"]
