"""Trees of the sentences that are written as lines."""

from __future__ import annotations

import pytest

from isoglot.derivation.syntax import is_projective
from isoglot.synthetic.families import inference_patterns, paraphrase_patterns
from isoglot.synthetic.grammar import Token, parse_wording, plain
from isoglot.synthetic.stories import story_patterns

VARIABLES = {
    "X": "name.first",
    "Y": "name.first",
    "N": "noun.thing",
    "A": "adj.compare",
    "V": "verb.meet",
    "K": "number.pair",
}


@pytest.mark.slow
def test_families_have_projective_trees() -> None:
    patterns = [*inference_patterns(), *paraphrase_patterns()]
    for seed in range(3):
        patterns += story_patterns(400, seed)
    relations, trees = set(), set()
    for sentence in (s for pattern in patterns for s in pattern.sentences):
        heads, deprels = tuple(t.head for t in sentence), tuple(t.deprel for t in sentence)
        trees.add((heads, deprels))
        relations |= set(deprels)
        assert heads.count(0) == 1 == deprels.count("root")
        assert is_projective(heads)
        assert "X" not in {t.upos for t in sentence}
        assert deprels[-1] == "punct" and heads[heads[-1] - 1] == 0
        subject = next((i for i, r in enumerate(deprels) if r == "nsubj:pass"), None)
        assert (subject is None) == ("aux:pass" not in deprels)
    assert len(trees) > 90
    assert "dep" not in relations
    assert {
        "nsubj:pass",
        "csubj",
        "expl",
        "advcl",
        "acl:relcl",
        "iobj",
        "cc:preconj",
        "conj",
        "cop",
    } <= relations


@pytest.mark.parametrize(
    ("line", "words", "tree"),
    [
        ("(nsubj X.form) V.past (obj the N.sg) .", "X.form V.past the N.sg .",
         "PROPN:2:nsubj VERB:0:root DET:4:det NOUN:2:obj PUNCT:2:punct"),
        ("(nsubj:pass the N.sg) was not V.part (obl by X.form) .", "the N.sg was not V.part by X.form .",
         "DET:2:det NOUN:5:nsubj:pass AUX:5:aux:pass PART:5:advmod VERB:0:root ADP:7:case PROPN:5:obl PUNCT:5:punct"),
        ("(nsubj that/DET N.sg) was A.cmp (conj , and (nsubj Y.form) did not) .",
         "that N.sg was A.cmp , and Y.form did not .",
         "DET:2:det NOUN:4:nsubj AUX:4:cop ADJ:0:root PUNCT:8:punct CCONJ:8:cc PROPN:8:nsubj AUX:4:conj PART:8:advmod "
         "PUNCT:4:punct"),
        ("(obj (nummod (advmod at least) K.low) N.pl) did (nsubj X.form) V.base ?",
         "at least K.low N.pl did X.form V.base ?",
         "ADP:2:case ADV:3:advmod NUM:4:nummod NOUN:7:obj AUX:7:aux PROPN:7:nsubj VERB:0:root PUNCT:7:punct"),
    ],
)  # fmt: skip
def test_parse_wording_reads_the_tree_of_a_line(line: str, words: str, tree: str) -> None:
    assert plain(line) == words
    tokens = parse_wording(line, VARIABLES)
    assert [f"{t.upos}:{t.head}:{t.deprel}" for t in tokens] == tree.split()
    names = list(VARIABLES)

    def shown(token: Token) -> str:
        if token.variable < 0:
            return token.word_or_form
        return f"{names[token.variable]}.{token.word_or_form}"

    assert " ".join(map(shown, tokens)) == words
    assert [t.entity for t in tokens] == ["B-PER" if w[0] in "XY" else "O" for w in words.split()]
