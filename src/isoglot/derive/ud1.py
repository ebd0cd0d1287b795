"""UD 2 trees with the labels of version 1.2, which the published galactic-dependency models were fit to."""

from __future__ import annotations

from isoglot.derive.base import Sentence

_RELATIONS = {
    "obj": "dobj",
    "nsubj:pass": "nsubjpass",
    "csubj:pass": "csubjpass",
    "aux:pass": "auxpass",
    "obl": "nmod",
    "fixed": "mwe",
    "flat:foreign": "foreign",
    "flat:name": "name",
    "clf": "dep",
    "orphan": "dep",
}
_SUBTYPES = {
    "acl:relcl", "cc:preconj", "compound:prt", "det:predet", "nmod:npmod", "nmod:poss", "nmod:tmod",
}  # fmt: skip
_NEGATIONS = {"not", "n't", "n’t"}


def to_ud1(sentence: Sentence) -> Sentence:
    """The tree with labels of UD 1.2; its structure stays.

    ``obj → dobj``, ``nsubj:pass → nsubjpass`` (``csubj``, ``aux`` too), ``obl`` with any subtype ``→ nmod``,
    ``fixed → mwe``, ``flat → name`` of proper nouns and ``foreign`` of others, ``clf → dep``, ``advmod`` of *not*
    ``→ neg``; ``CCONJ → CONJ``, and a copula's ``AUX → VERB``. Subtypes that 1.2 did not have are cut off.

    Source: our own, from the guidelines of both versions; ALIGN-MLM's code feeds version 2 labels to the models.
    """
    upos, deprels = list(sentence.upos), list(sentence.deprels)
    for i, (tag, relation) in enumerate(zip(sentence.upos, sentence.deprels, strict=True)):
        if tag == "CCONJ":
            upos[i] = "CONJ"
        elif tag == "AUX" and relation.partition(":")[0] == "cop":
            upos[i] = "VERB"
        deprels[i] = _relation(relation, tag, sentence.words[i])
    return sentence._replace(upos=tuple(upos), deprels=tuple(deprels))


def _relation(relation: str, tag: str, word: str) -> str:
    base = relation.partition(":")[0]
    if relation in _RELATIONS:
        return _RELATIONS[relation]
    if base == "obl":
        return "nmod"
    if base == "flat":
        return "name" if tag == "PROPN" else "foreign"
    if base == "advmod" and word.lower() in _NEGATIONS:
        return "neg"
    return relation if relation in _SUBTYPES else _RELATIONS.get(base, base)


def reattach(sentence: Sentence) -> Sentence:
    """Conjunctions and punctuation before a later conjunct, hung on the first one as version 1 has it."""
    heads = list(sentence.heads)
    for i, relation in enumerate(sentence.deprels):
        head = sentence.heads[i]
        if relation.partition(":")[0] not in ("cc", "punct") or not head or head - 1 < i:
            continue
        if sentence.deprels[head - 1].partition(":")[0] == "conj" and sentence.heads[head - 1]:
            heads[i] = sentence.heads[head - 1]
    return sentence._replace(heads=tuple(heads))
