"""The syntax of another language: heads and dependents are put into its order (galactic dependencies)."""

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
_TAIL = 1e-12
"""Probability of the least probable orders, which are not kept: of up to 5,040 orders most are never drawn."""
_SPEC = re.compile(r"([\w-]+)((?:~[\w-]+@[NV])+)")


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Read the substrate, and the language whose order is taken, by class of heads.

    Example:
        >>> parse_spec("en~fr@N~hi@V")
        ('en', {'N': 'fr', 'V': 'hi'})
    """
    match = _SPEC.fullmatch(text)
    parts = re.findall(r"~([\w-]+)@([NV])", match[2]) if match else []
    classes = {kind: language for language, kind in parts}
    if match is None or len(classes) != len(parts):
        raise ConfigurationError(
            f"syntax: expected SUBSTRATE~LANGUAGE@N~LANGUAGE@V, for example en~fr@N~fr@V or en~hi@V, got {text!r}"
        )
    return match[1], classes


def groups(heads: tuple[int, ...]) -> list[list[int]]:
    """List the dependents of each word from left to right, 0-based; the last list is of the root.

    Example:
        >>> groups((2, 0))  # "old house": the head of the first word is the second, that of the second the root
        [[], [0], [1]]
    """
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for i, head in enumerate(heads):
        children[head - 1].append(i)  # the root's 0 becomes -1, the last list
    return children


def is_projective(heads: tuple[int, ...]) -> bool:
    """Whether every subtree is a run of words.

    Raises:
        Underivable: The heads make a circle or point outside the sentence.
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
    """Put the words of a tree in order, so that each subtree stays together.

    ``dependents``: Those of :func:`groups`.
    ``order``: Puts a head and its dependents in order. It is asked once for each head, from the root downwards.
    """
    sequence: list[int] = []
    # A stack instead of recursion, as trees can be deep. Its end comes first, so members go onto it reversed.
    stack = [(root, False) for root in reversed(dependents[-1])]
    while stack:
        word, is_in_order = stack.pop()
        if is_in_order or not dependents[word]:
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
        """Derive a sentence; the order is drawn for ``(seed, key)``."""
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
        self, tree: Sentence, head: int, dependents: list[int], generator: random.Random
    ) -> list[int]:
        """Put a head and its dependents into their new order."""
        upos, deprels = tree.upos, tree.deprels
        kind = HEAD_CLASSES.get(upos[head], "")
        if kind not in self.models or len(dependents) >= MAX_GROUP:
            return sorted([head, *dependents])
        # Sorted by name, so that a kind of group is known again. Dependents of one name keep their order here, which
        # changes nothing: any order of them is as probable.
        members = [head, *sorted(dependents, key=lambda word: (upos[word], deprels[word]))]
        names = (f"@{upos[head]}&@", *(f"{upos[word]}&{deprels[word]}" for word in members[1:]))
        if names not in self._known:
            self._known[names] = self._probable_orders(kind, names)
        orders, cumulated = self._known[names]
        draw = 0 if self.options.best else bisect_right(cumulated, generator.random() * cumulated[-1])
        return [members[number] for number in orders[min(draw, len(orders) - 1)]]

    def _probable_orders(self, kind: str, names: tuple[str, ...]) -> tuple[list[list[int]], list[float]]:
        """The orders of a group, the most probable first, and their cumulated probabilities, without the tail."""
        distribution = self.models[kind].distribution(names)
        ranked = np.argsort(-distribution.probabilities, kind="stable")
        cumulated = np.cumsum(distribution.probabilities[ranked])
        count = int(np.searchsorted(cumulated, 1 - _TAIL)) + 1
        return distribution.orders[ranked[:count]].tolist(), cumulated[:count].tolist()


def to_ud1(sentence: Sentence) -> Sentence:
    """Rename the labels of a tree to those of UD 1.2; its structure stays.

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
