"""Syntax of another language, by galactic dependencies: heads and dependents put into its order."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping

import numpy as np

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.derivation.arrangements import MAX_GROUP
from isoglot.derivation.base import DerivedSentence, Sentence, Underivable
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.order_model import BUILT_IN, OrderModel, built_in_model

HEAD_CLASSES = {"NOUN": "N", "PROPN": "N", "PRON": "N", "VERB": "V"}
"""Which model orders the dependents of which heads: ``N`` of nouns, names and pronouns, ``V`` of verbs."""

# Of UD 2 in version 1.2, which the published galactic-dependency models were fit to.
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
_SPEC = re.compile(r"([\w-]+)((?:~[\w-]+@[NV])+)")


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """The substrate, and by head class the language whose order is taken, of ``en~fr@N~fr@V``."""
    match = _SPEC.fullmatch(text)
    parts = re.findall(r"~([\w-]+)@([NV])", match[2]) if match else []
    classes = {kind: language for language, kind in parts}
    if match is None or len(classes) != len(parts):
        raise ConfigurationError(
            f"syntax: expected SUBSTRATE~LANGUAGE@N~LANGUAGE@V, for example en~fr@N~fr@V or en~hi@V, got {text!r}"
        )
    return match[1], classes


def groups(heads: tuple[int, ...]) -> list[list[int]]:
    """For each word its dependents, and last those of the root, 0-based and from left to right."""
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for i, head in enumerate(heads):
        children[head - 1].append(i)  # the root's 0 becomes -1, the last list
    return children


def is_projective(heads: tuple[int, ...]) -> bool:
    """Whether every subtree is a run of words.

    Raises:
        Underivable: the heads make a circle or point outside.
    """
    size = len(heads)
    if any(not 0 <= h <= size for h in heads):
        raise Underivable("not a tree")
    dependents = groups(heads)
    order = arranged(dependents, lambda head: sorted([head, *dependents[head]]))
    if len(order) < size:
        raise Underivable("not a tree")
    return order == list(range(size))


def arranged(dependents: list[list[int]], order: Callable[[int], list[int]]) -> list[int]:
    """The words of a tree whose subtrees are runs, with each head and its dependents in an order of their own.

    ``dependents`` are those of :func:`groups`; ``order`` is asked once for each head, from the root downwards.
    """
    sequence: list[int] = []
    stack = [(root, False) for root in reversed(dependents[-1])]
    while stack:
        word, placed = stack.pop()
        if placed or not dependents[word]:
            sequence.append(word)
        else:
            stack.extend((member, member == word) for member in reversed(order(word)))
    return sequence


class Syntax:
    """The dependents of nouns and verbs in the order of another language, drawn from its model.

    Every head of a class that has a model is re-ordered with its dependents, from the root downwards:
    ``P(order) ∝ exp((1 − λ) θ_super + λ θ_sub) · counts`` over all orders. Other heads keep theirs. The distribution
    of each kind of group is computed once.

    A sentence of a head with over six dependents is skipped, as by the original, or that head's order kept
    (``oversize``).

    Args:
        models: by head class (``N``, ``V``), as mixed: see :meth:`load`.

    Raises:
        Underivable: (when called) no tree, a non-projective one, or one with too large a group.

    Source: Wang and Eisner 2016; Tang et al. 2022, App. F, ``en~fr@N~fr@V``, λ = 0.05.
    """

    def __init__(self, models: Mapping[str, OrderModel], options: TransformOptions) -> None:
        self.models, self.options = dict(models), options
        self._known: dict[tuple[str, ...], tuple[list[list[int]], list[float]]] = {}
        """Orders of the members of each kind of group, and their cumulated probabilities."""

    @classmethod
    def load(cls, options: TransformOptions) -> Syntax:
        """Read the models that options name: ``LANGUAGE@N.orm`` and ``LANGUAGE@V.orm`` in a folder, or built-in."""
        if options.syntax is None or options.models is None:
            raise ConfigurationError(
                "syn needs a specification and models; give [[syntax='en~fr@N~fr@V']] and [[models=FOLDER]], or, "
                "without any "
                "file, [[syntax='en~head-final@N~head-final@V']] and [[models='built-in']]"
            )
        folder = options.models
        substrate, superstrates = parse_spec(options.syntax)

        def model(language: str, kind: str) -> OrderModel:
            if str(folder) == BUILT_IN:
                return built_in_model(language, kind)
            return OrderModel.load(folder / f"{language}@{kind}.orm")

        models = {
            kind: model(language, kind).mixed(model(substrate, kind), options.rate)
            for kind, language in superstrates.items()
        }
        return cls(models, options)

    def __call__(self, sentence: Sentence, *, key: int = 0) -> DerivedSentence:
        """The sentence in an order drawn for ``(seed, key)``."""
        if not sentence.heads:
            raise Underivable("no dependency tree")
        tree = to_ud1(sentence) if self.options.ud_labels == "ud2" else sentence
        if not is_projective(tree.heads):
            raise Underivable("not projective")
        dependents = groups(tree.heads)
        if self.options.oversize == "skip" and any(len(d) >= MAX_GROUP for d in dependents[:-1]):
            raise Underivable(f"a head with over {MAX_GROUP - 1} dependents")
        generator = random.Random(seed_for(self.options.seed, "syntax", key))
        origin = arranged(dependents, lambda head: self._ordered(tree, head, dependents[head], generator))
        return DerivedSentence(tuple([sentence.words[o] for o in origin]), tuple(origin))

    def _ordered(
        self, tree: Sentence, node: int, dependents: list[int], generator: random.Random
    ) -> list[int]:
        """The head and its dependents in their new order."""
        upos, deprels = tree.upos, tree.deprels
        kind = HEAD_CLASSES.get(upos[node], "")
        if kind not in self.models or len(dependents) >= MAX_GROUP:
            return sorted([node, *dependents])
        # Equal dependents keep their order among the sorted ones; each of their orders is as probable.
        members = [node, *sorted(dependents, key=lambda i: (upos[i], deprels[i]))]
        names = (f"@{upos[node]}&@", *(f"{upos[i]}&{deprels[i]}" for i in members[1:]))
        if names not in self._known:  # from the most probable on; the tail below 1e-12 is cut
            distribution = self.models[kind].distribution(names)
            rank = np.argsort(-distribution.probabilities, kind="stable")
            sums = np.cumsum(distribution.probabilities[rank])
            last = int(np.searchsorted(sums, 1 - 1e-12)) + 1
            self._known[names] = distribution.orders[rank[:last]].tolist(), sums[:last].tolist()
        orders, cumulated = self._known[names]
        draw = 0 if self.options.best else bisect_right(cumulated, generator.random() * cumulated[-1])
        return [members[i] for i in orders[min(draw, len(orders) - 1)]]


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
