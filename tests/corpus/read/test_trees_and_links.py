"""Treebanks and aligned pairs: what the readers make of them, and that every mistake names its file and line."""

import json

import pytest
from reading import PAIR, rows, write

from isoglot.errors import InputError

CONLLU = """# text = don't go
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_
3.1\tgone\t_\t_\t_\t_\t_\t_\t_\t_

# next
1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_
"""


def test_conllu(tmp_path):
    assert rows(write(tmp_path, "a.conllu", CONLLU), "treebank") == [
        {
            "words": ["do", "n't", "go"],
            "upos": ["AUX", "PART", "VERB"],
            "heads": [3, 3, 0],
            "deprels": ["aux", "advmod", "root"],
            "language": "en",
        },
        {"words": ["Yes"], "upos": ["INTJ"], "heads": [0], "deprels": ["root"], "language": "en"},
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3\tgo\tgo\tVERB", "3\tgo\tVERB", "5: 9 columns"),
        ("_\t3\tadvmod", "_\tx\tadvmod", "4: head 'x' is not 0 or a word"),
        ("_\t3\tadvmod", "_\t9\tadvmod", "4: head '9' is not 0 or a word of the sentence of 3"),
        ("1\tYes", "2\tYes", "8: the words are not numbered"),
        ("1\tYes", "a\tYes", "9: 'a' is not a number"),
    ],
)
def test_conllu_mistakes(tmp_path, old, new, message):
    with pytest.raises(InputError, match=f"a.conllu:{message}"):
        rows(write(tmp_path, "a.conllu", CONLLU.replace(old, new)), "treebank")


def test_aligned_three_ways(tmp_path):
    pairs = write(tmp_path, "a.txt", "a b ||| c\nd ||| e f\n")
    links = write(tmp_path, "a.links", "1-0 0-0 1-0\n\n")
    beside = rows(pairs, "aligned", links_path=links)
    assert beside[0] == {
        "source": "a b",
        "target": "c",
        "source_words": ["a", "b"],
        "target_words": ["c"],
        "links": [[0, 0], [1, 0]],
        **PAIR,
    }
    assert beside[1]["links"] == []
    inside = write(tmp_path, "b.txt", "a b ||| c ||| 0-0 1-0\nd ||| e f |||\n")
    assert rows(inside, "aligned", format="bars") == beside
    moses = rows(
        write(tmp_path, "c.en", "a b\nd\n"),
        "aligned",
        target_path=write(tmp_path, "c.de", "c\ne f\n"),
        links_path=links,
    )
    assert moses == beside
    gold = {"src": ["a", "b"], "tgt": ["c"], "sure": [[0, 0], [1, 0]], "possible": []}
    assert rows(write(tmp_path, "d.jsonl", json.dumps(gold)), "aligned") == beside[:1]


def test_words_that_links_count_end_at_spaces_alone(tmp_path):
    bars = write(tmp_path, "a.txt", "10\u00a0000 b ||| \u2009 c ||| 1-1 0-0\n")
    (found,) = rows(bars, "aligned", format="bars")
    assert (found["source_words"], found["target_words"]) == (["10\u00a0000", "b"], ["\u2009", "c"])
    assert found["links"] == [[0, 0], [1, 1]]
    with pytest.raises(InputError, match=r"b\.txt:1: word link '0-0\\xa01-1' cannot be read"):
        rows(write(tmp_path, "b.txt", "a b ||| c d ||| 0-0\u00a01-1\n"), "aligned", format="bars")


def test_gold_links_count_from_one_and_possible_ones_are_left_out(tmp_path):
    pairs, links = write(tmp_path, "a.txt", "a b ||| c d\n"), write(tmp_path, "g", "1-1 2p2 2?1\n")
    assert rows(pairs, "aligned", links_path=links, one_based=True)[0]["links"] == [[0, 0]]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (
            "0-0\n0-1\n",
            "links:2: word link 0-1 .* outside the sentence of 1 source and 1 target words; .* one_based",
        ),
        ("0-0\n0:x\n", "links:2: word link '0:x' cannot be read"),
        ("0-0\n", "links:2: no line here"),
    ],
)
def test_aligned_mistakes(tmp_path, links, message):
    pairs = write(tmp_path, "a.txt", "a ||| b\na ||| b\n")
    with pytest.raises(InputError, match=message):
        rows(pairs, "aligned", links_path=write(tmp_path, "links", links))
    with pytest.raises(InputError, match=r"x\.txt:1: 1 fields, and 3 are needed"):
        rows(write(tmp_path, "x.txt", "a b\n"), "aligned", format="bars")


@pytest.mark.parametrize("links", [None, 5, [[0.9, 0]], [[0, 0, 1]]])
def test_links_that_are_no_pairs_of_numbers(tmp_path, links):
    path = write(tmp_path, "a.jsonl", json.dumps({"source": "a", "target": "b", "links": links}))
    with pytest.raises(InputError, match=r"a\.jsonl:1: (the links are|word link)"):
        rows(path, "aligned")


def test_aligned_rows_keep_the_words_that_their_links_count(tmp_path):
    """A text may be cut otherwise at its blanks: French writes 10 000 as one word."""
    row = {"source": "10 000 francs", "target": "10,000 francs", "links": [[0, 0], [1, 1]],
           "source_words": ["10 000", "francs"], "target_words": ["10,000", "francs"]}  # fmt: skip
    (found,) = rows(write(tmp_path, "a.jsonl", json.dumps(row)), "aligned")
    assert (found["source_words"], found["target_words"]) == (row["source_words"], row["target_words"])
    assert found["links"] == row["links"]
