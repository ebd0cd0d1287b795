"""Trees that several tests read."""

from __future__ import annotations

from isoglot.derivation.base import Sentence

CONLLU = """\
1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_
2\tcat\t_\tNOUN\t_\t_\t4\tnsubj\t_\t_
3\told\t_\tADJ\t_\t_\t2\tamod\t_\t_
4\tsees\t_\tVERB\t_\t_\t0\troot\t_\t_
5\tmice\t_\tNOUN\t_\t_\t4\tobj\t_\t_

"""


SVO = Sentence(
    ("the", "old", "cat", "sees", "mice", "."),
    ("DET", "ADJ", "NOUN", "VERB", "NOUN", "PUNCT"),
    (3, 3, 4, 0, 4, 4),
    ("det", "amod", "nsubj", "root", "obj", "punct"),
)
