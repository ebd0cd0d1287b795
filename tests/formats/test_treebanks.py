import pytest
from reading import rows, write

from isoglot.core.errors import InputError

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
