"""Trees of the sentences that are written as lines."""

from __future__ import annotations

import pytest

from isoglot.derive.syntax import is_projective
from isoglot.synthetic.families import inference_patterns
from isoglot.synthetic.paraphrases import wording_patterns
from isoglot.synthetic.parser import parse, pattern_trees
from isoglot.synthetic.stories import story_patterns

WORDS = {
    "NAME": ("form", "name.first"), "N": ("sg", "noun.thing"), "A": ("pos", "adj.thing"), "AC": ("cmp", "adj.compare"),
    "AS": ("sup", "adj.compare"), "V": ("past", "verb.intr"), "VN": ("part", "verb.meet"),
    "NUM": ("high", "number.pair"),
}  # fmt: skip


def drawn(line: str) -> list[str]:
    """``word:head:relation`` of each word, heads by their place."""
    pairs = [WORDS.get(word, (word, "")) for word in line.split()]
    tree = parse(tuple(w for w, _ in pairs), tuple(p for _, p in pairs))
    return [f"{h}:{r}" for h, r in zip(tree.heads, tree.deprels, strict=True)]


def test_every_sentence_has_a_projective_tree() -> None:
    patterns = [*inference_patterns(), *wording_patterns()]
    for seed in range(3):
        patterns += story_patterns(1500, seed)
    relations, trees = set(), set()
    for pattern in patterns:
        for tree in pattern_trees(pattern):
            trees.add(tree)
            relations |= set(tree.deprels)
            assert tree.heads.count(0) == 1 == tree.deprels.count("root")
            assert is_projective(tree.heads)
            assert "X" not in tree.upos
            assert tree.deprels[-1] == "punct" and tree.heads[tree.heads[-1] - 1] == 0
    assert len(trees) > 130
    assert {
        "nsubj:pass",
        "ccomp",
        "csubj",
        "expl",
        "advcl",
        "acl:relcl",
        "iobj",
        "cc:preconj",
        "conj",
        "cop",
        "nummod",
    } <= relations


@pytest.mark.parametrize(
    ("line", "tree"),
    [
        ("NAME V the N .", "2:nsubj 0:root 4:det 2:obj 2:punct"),
        ("NAME V NAME the A N .", "2:nsubj 0:root 2:iobj 6:det 6:amod 2:obj 2:punct"),
        ("the N was not VN by NAME .", "2:det 5:nsubj:pass 5:aux:pass 5:advmod 0:root 7:case 5:obl 5:punct"),
        ("NAME V NAME and V NAME .", "2:nsubj 0:root 2:obj 5:cc 2:conj 5:obj 2:punct"),
        ("NAME V the N and the N .", "2:nsubj 0:root 4:det 2:obj 7:cc 7:det 4:conj 2:punct"),
        ("NAME V the N and NAME V the N .", "2:nsubj 0:root 4:det 2:obj 7:cc 7:nsubj 2:conj 9:det 7:obj 2:punct"),
        ("both NAME and NAME V .", "2:cc:preconj 5:nsubj 4:cc 2:conj 0:root 5:punct"),
        ("NAME V that NAME V , but NAME did not .",
         "2:nsubj 0:root 5:mark 5:nsubj 2:ccomp 9:punct 9:cc 9:nsubj 2:conj 9:advmod 2:punct"),
        ("after NAME V , NAME V the N .", "3:mark 3:nsubj 6:advcl 6:punct 6:nsubj 0:root 8:det 6:obj 6:punct"),
        ("it was NAME who V NAME .", "3:expl 3:cop 0:root 5:nsubj 3:acl:relcl 5:obj 3:punct"),
        ("it is false that NAME V .", "3:expl 3:cop 0:root 6:mark 6:nsubj 3:csubj 3:punct"),
        ("at least NUM N were VN by NAME .",
         "2:case 3:advmod 4:nummod 6:nsubj:pass 6:aux:pass 0:root 8:case 6:obl 6:punct"),
        ("at least one of NAME and NAME V .", "2:case 3:advmod 8:nsubj 5:case 3:nmod 7:cc 5:conj 0:root 8:punct"),
        ("who was the AS of the NUM ?", "4:nsubj 4:cop 4:det 0:root 7:case 7:det 4:nmod 4:punct"),
        ("what was NAME VN by NAME ?", "4:obj 4:aux:pass 4:nsubj:pass 0:root 6:case 4:obl 4:punct"),
        ("by whom was NAME VN ?", "2:case 5:obl 5:aux:pass 5:nsubj:pass 0:root 5:punct"),
        ("how many N did NAME V ?", "2:advmod 3:amod 6:obj 6:aux 6:nsubj 0:root 6:punct"),
        ("where did NAME V the N ?", "4:advmod 4:aux 4:nsubj 0:root 6:det 4:obj 4:punct"),
        ("NAME V the N in NAME , not in NAME .",
         "2:nsubj 0:root 4:det 2:obj 6:case 2:obl 10:punct 10:advmod 10:case 6:conj 2:punct"),
        ("the N was long and hot .", "2:det 4:nsubj 4:cop 0:root 6:cc 4:conj 4:punct"),
        ("NAME V , and so did NAME .", "2:nsubj 0:root 6:punct 6:cc 6:advmod 2:conj 6:nsubj 2:punct"),
        ("this happened long ago .", "2:nsubj 0:root 4:advmod 2:advmod 2:punct"),
    ],
)  # fmt: skip
def test_trees_by_hand(line: str, tree: str) -> None:
    assert drawn(line) == tree.split()


def test_an_unknown_wording_is_named() -> None:
    with pytest.raises(ValueError, match="no tree for 'to to to'"):
        parse(("to", "to", "to"), ("", "", ""))
