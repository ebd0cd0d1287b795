"""Pairs as users have them: with marks of other systems, and with slips in all lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refused

from isoglot.aligners.align_file import align_file
from isoglot.aligners.options import FastAlign, Hmm
from isoglot.aligners.pairs_in_files import more_bitext, read_pairs
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.open_corpus import corpus_sources, open_corpus
from isoglot.formats import line_files
from isoglot.formats.inline_tags import Tag
from isoglot.formats.sentence_pair import SentencePair

TAGS = ("en", "de")


def write(path: Path, text: str, encoding: str = "utf-8") -> str:
    path.write_bytes(text.encode(encoding))
    return str(path)


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    source = write(tmp_path / "a.en", "the house\r\na house\r\n", "utf-8-sig")
    target = write(tmp_path / "a.de", "das haus\nein haus\n", "utf-8-sig")
    warned: list[int] = []
    pairs = read_pairs(
        open_corpus([source, target], "bitext", languages=TAGS),
        mode="whitespace",
        warn=lambda n, _: warned.append(n),
    )
    assert [p.words for p in pairs] == [
        (["the", "house"], ["das", "haus"]),
        (["a", "house"], ["ein", "haus"]),
    ]
    assert not warned


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.txt", "{0} ||| {1}"),
        ("a.tsv", "{0}\t{1}"),
        ("a.csv", "{0},{1}"),
        ("a.jsonl", '{{"source": "{0}", "target": "{1}"}}'),
        ("a.en", "{0}"),
    ],
)
def test_words_end_at_spaces_alone_in_every_format(
    tmp_path: Path, name: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    sides = ("\u00a0 10\u00a0000\u2009b", "c \u3000 d\u200be")
    paths = [write(tmp_path / name, f"{line.format(*sides)}\n{line.format('f g', 'h')}\n")]
    if name == "a.en":
        paths.append(write(tmp_path / "a.de", f"{sides[1]}\nh\n"))
    with caplog.at_level("WARNING", logger="isoglot"):
        pairs = list(read_pairs(open_corpus(paths, "bitext", languages=TAGS), mode="whitespace", warn=print))
    assert [pair.words for pair in pairs] == [
        (["\u00a0", "10\u00a0000\u2009b"], ["c", "\u3000", "d\u200be"]),
        (["f", "g"], ["h"]),
    ]
    assert [record.getMessage() for record in caplog.records] == [
        "lines that contain other spaces (such as U+00A0), which do not end a word: 1"
    ]


@pytest.mark.parametrize(("name", "separator"), [("one.txt", "|||"), ("one.tsv", r"\t")])
def test_a_file_with_one_side_alone_is_a_mistake(tmp_path: Path, name: str, separator: str) -> None:
    path = write(tmp_path / name, "the house\n" * 3)
    out = tmp_path / "links.txt"
    with refused(InputError, f"{name}:1: ", f"'{separator}'", "`input_format`"):
        align_file(corpus_sources([path], languages=TAGS), out, FastAlign())
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("most", [1, 2, 100])
def test_blank_lines_of_objects_keep_their_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(line_files.LineFile.take, "__defaults__", (most, 1 << 20))
    row = '{"source": "a b", "target": "c d"}'
    path = write(tmp_path / "a.jsonl", f"\n{row}\n\n \n{row}\n\n{row}")
    for name, method in (("links", FastAlign()), ("again", Hmm())):
        with caplog.at_level("WARNING", logger="isoglot"):
            done = align_file(corpus_sources([path], languages=TAGS), tmp_path / name, method)
        lines = (tmp_path / name).read_text().split("\n")
        assert done == 7 and [bool(line) for line in lines] == [
            False,
            True,
            False,
            False,
            True,
            False,
            True,
            False,
        ]
        assert [r.getMessage() for r in caplog.records] == [
            f"pair {n}: {path}:{n}: the source side is empty; it gets no links" for n in (1, 3, 4, 6)
        ]
        caplog.clear()


def test_odd_lines_are_told_up_to_a_limit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "odd.txt", "a b ||| c d\n" + "no bars\n" * 50)
    with caplog.at_level("WARNING", logger="isoglot"):
        assert (
            align_file(
                corpus_sources([path], languages=TAGS),
                tmp_path / "links.txt",
                FastAlign(),
            )
            == 51
        )
    told = [record.getMessage() for record in caplog.records]
    assert told[:20] == [
        f"pair {n}: {path}:{n}: no '|||' between two sentences, but `source ||| target` is needed; fix the line; "
        "it gets no links"
        for n in range(2, 22)
    ]
    assert len(told) == 21 and told[-1].endswith("more warnings of this kind follow; check the input")
    assert (tmp_path / "links.txt").read_text().count("\n") == 51


def pairs_of(path: str) -> list[SentencePair]:
    return list(read_pairs(open_corpus([path], "bitext", languages=TAGS), mode="whitespace"))


def test_objects_keep_their_ids_and_lists_of_words(tmp_path: Path) -> None:
    lines = [
        '{"src": ["New York", "!"], "tgt": ["neu"], "id": "a-1", "sure": [[0, 0]]}',
        "",
        '{"src": "two words", "tgt": ["zwei"], "id": 7}',
        '{"src": ["x"], "tgt": ["y"]}',
    ]
    found = pairs_of(write(tmp_path / "a.jsonl", "\n".join(lines)))
    assert [pair.words for pair in found] == [
        (["New York", "!"], ["neu"]), ([], []), (["two", "words"], ["zwei"]), (["x"], ["y"])
    ]  # fmt: skip
    assert [pair.id for pair in found] == ["a-1", None, 7, None]
    assert found[0].texts_and_spans == (("New York !", "neu"), ([(0, 8), (9, 10)], [(0, 3)]))


def test_sides_must_be_text_or_words(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"src": ["a"], "tgt": ["b"]}\n{"src": ["a", 3], "tgt": ["b"]}\n')
    with refused(InputError, "a.jsonl:2: ", '["a", 3]', 'columns={"source": NAME}'):
        pairs_of(path)
    path = write(tmp_path / "b.jsonl", '{"src": "a", "tgt": "b"}\n{"src": ["a"], "tgt": ["b"]}\n')
    with refused(InputError, "b.jsonl:2: ", "`words`"):
        list(read_pairs(open_corpus([path], "bitext", languages=TAGS), mode="unicode"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"src": ["a", "", "b"], "tgt": ["c"]}', "a.jsonl:1: a word is empty"),
        (
            '{"id": true, "src": "a", "tgt": "b"}',
            "a.jsonl:1: the id is True, but a number or a text is needed",
        ),
        ('{"id": [1], "src": "a", "tgt": "b"}', "a.jsonl:1: the id is"),
    ],
)
def test_empty_words_and_ids_of_another_kind_are_mistakes(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pairs_of(write(tmp_path / "a.jsonl", line + "\n"))


def test_units_have_their_ids_and_tags(tmp_path: Path) -> None:
    sides = '<tuv xml:lang="de"><seg>eins</seg></tuv><tuv xml:lang="en"><seg>o<ph/>ne two</seg></tuv>'
    path = write(tmp_path / "a.tmx", f'<tmx><tu tuid="u">{sides}</tu><tu>{sides}</tu></tmx>')
    assert [(pair.words, pair.id, pair.tags) for pair in pairs_of(path)] == [
        ((["one", "two"], ["eins"]), name, ((Tag(1, "<ph/>", "ph"),), ())) for name in ("u", None)
    ]


def test_more_text_to_learn_from_goes_in_the_direction_of_the_first(tmp_path: Path) -> None:
    unit = '<tu><tuv xml:lang="de"><seg>eins</seg></tuv><tuv xml:lang="en"><seg>one</seg></tuv></tu>'
    path = write(tmp_path / "a.tmx", f"<tmx>{unit}</tmx>")
    assert [pair.words for pair in read_pairs(more_bitext([path], TAGS), mode="whitespace")] == [
        (["one"], ["eins"])
    ]
    for unnamed in (("", ""), ("src", "tgt")):
        with refused(ConfigurationError, "a.tmx: ", 'languages=("en", "de")'):
            more_bitext([path], unnamed)
