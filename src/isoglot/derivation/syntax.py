"""The syntax of another language: each head and its dependents are put into that language's order.

A treebank of English with the order of Hindi's nouns and verbs is a *galactic* treebank (Wang and Eisner 2016). English
is its *substrate*, the language of the words and trees; Hindi is a *superstrate*, a language whose order is taken.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping

import numpy as np

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import seed_for
from isoglot.derivation.arrangements import LARGEST_GROUP
from isoglot.derivation.base import DerivedSentence, Sentence, Underivable
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.order_model import BUILT_IN, OrderModel, built_in_model

HEAD_CLASSES = {"NOUN": "N", "PROPN": "N", "PRON": "N", "VERB": "V"}
"""The class of a head by its tag, ``N`` or ``V``: which of a language's two models orders the head's dependents."""

# Relations of UD 2 under their names of UD 1.2, to which the published galactic-dependency models were fitted.
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
# Subtypes that UD 1.2 has as well.
_SUBTYPES = {
    "acl:relcl", "cc:preconj", "compound:prt", "det:predet", "nmod:npmod", "nmod:poss", "nmod:tmod",
}  # fmt: skip
_NEGATIONS = {"not", "n't", "n’t"}
_TAIL = 1e-12
"""Orders are kept until all but this probability is covered: most of up to 5,040 orders are never drawn."""
_SPEC = re.compile(r"([\w-]+)((?:~[\w-]+@[NV])+)")


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Read a specification: return the substrate, and the superstrate of each class of heads.

    Here English has the order of French around nouns, and that of Hindi around verbs.

    Example:
        >>> parse_spec("en~fr@N~hi@V")
        ('en', {'N': 'fr', 'V': 'hi'})
    """
    match = _SPEC.fullmatch(text)
    parts = re.findall(r"~([\w-]+)@([NV])", match[2]) if match else []
    superstrates = {head_class: language for language, head_class in parts}
    if match is None or len(superstrates) != len(parts):  # a class of heads was named twice
        raise ConfigurationError(
            f"syntax: expected SUBSTRATE~LANGUAGE@N~LANGUAGE@V, for example en~fr@N~fr@V or en~hi@V, got {text!r}"
        )
    return match[1], superstrates


def dependents_of_words(heads: tuple[int, ...]) -> list[list[int]]:
    """List the dependents of each word from left to right, 0-based; one more list, the last, is of the root.

    ``heads``: 1-based numbers of the words' heads, 0 for the root.

    Example:
        >>> dependents_of_words((2, 0))  # "old house": "old" depends on "house", and "house" on the root
        [[], [0], [1]]
    """
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads):
        dependents[head - 1].append(word)  # the root's 0 becomes -1, the last list
    return dependents


def is_projective(heads: tuple[int, ...]) -> bool:
    """Whether the words of every subtree stand together: no dependency crosses another.

    Raises:
        Underivable: The heads make a circle or point outside the sentence.
    """
    size = len(heads)
    if any(not 0 <= head <= size for head in heads):
        raise Underivable("not a tree")
    dependents = dependents_of_words(heads)
    # If each subtree is kept together and all else keeps its order, a projective tree does not change.
    order = arranged(dependents, lambda head: sorted([head, *dependents[head]]))
    if len(order) < size:  # words on a circle are not reached from the root
        raise Underivable("not a tree")
    return order == list(range(size))


def arranged(dependents: list[list[int]], order: Callable[[int], list[int]]) -> list[int]:
    """Put the words of a tree in order, so that each subtree stays together; return their numbers.

    ``dependents``: The lists that :func:`dependents_of_words` returns.
    ``order``: Puts a head and its dependents in order. It is called once for each head that has dependents, a head
    always before the heads below it.

    Example:
        >>> arranged([[], [0], [1]], order=lambda head: [1, 0])  # "old house" with the head first
        [1, 0]
    """
    sequence: list[int] = []
    # Words still to come, the next one at the end, each with whether its group (of which it is the head) was ordered
    # already. A stack instead of recursion, as trees can be deep.
    stack = [(root, False) for root in reversed(dependents[-1])]
    while stack:
        word, is_ordered = stack.pop()
        if is_ordered or not dependents[word]:
            sequence.append(word)
            continue
        # The head is a member of its own group: when the stack returns the head again, it is only written.
        stack.extend((member, member == word) for member in reversed(order(word)))
    return sequence


class Syntax:
    """Puts the dependents of nouns and verbs into the order of another language, drawn from its model.

    Each head of class ``N`` or ``V`` and its dependents get an order with the probability
    ``P(order) ∝ exp(((1 − λ) θ_super + λ θ_sub) · counts)`` over all orders. Heads of other classes keep their order.
    The distribution of each kind of group is computed once.

    A sentence that has a head with over six dependents is skipped, as by Wang and Eisner's program, or the order of
    that head's group is kept (``oversize``).

    Args:
        models: By class of head (``N``, ``V``), mixed already: see :meth:`load`.

    Raises:
        Underivable: (when called) The sentence has no tree, a non-projective one, or one with too large a group.

    Source: Wang and Eisner 2016; Tang et al. 2022, App. F, ``en~fr@N~fr@V``, λ = 0.05.
    """

    def __init__(self, models: Mapping[str, OrderModel], options: TransformOptions) -> None:
        self.models, self.options = dict(models), options
        self._known: dict[tuple[str, ...], tuple[list[list[int]], list[float]]] = {}
        """The results of :meth:`_probable_orders` so far, by the names of a group's members."""

    @classmethod
    def load(cls, options: TransformOptions) -> Syntax:
        """Read the models that options name, built-in or ``LANGUAGE@N.orm`` and ``LANGUAGE@V.orm`` in a folder.

        Each model of the superstrate is mixed with the substrate's.
        """
        if options.syntax is None or options.models is None:
            raise ConfigurationError(
                "syn needs a specification and models; give [[syntax='en~fr@N~fr@V']] and [[models=FOLDER]], or, "
                "without any file, [[syntax='en~head-final@N~head-final@V']] and [[models='built-in']]"
            )
        folder = options.models
        substrate, superstrates = parse_spec(options.syntax)

        def load_model(language: str, head_class: str) -> OrderModel:
            if str(folder) == BUILT_IN:
                return built_in_model(language, head_class)
            return OrderModel.load(folder / f"{language}@{head_class}.orm")

        models = {}
        for head_class, language in superstrates.items():
            superstrate_model = load_model(language, head_class)
            substrate_model = load_model(substrate, head_class)
            models[head_class] = superstrate_model.mixed(substrate_model, options.rate)
        return cls(models, options)

    def __call__(self, sentence: Sentence, *, key: int = 0) -> DerivedSentence:
        """Derive a sentence; the order is drawn for ``(seed, key)``."""
        if not sentence.heads:
            raise Underivable("no dependency tree")
        tree = to_ud1(sentence) if self.options.ud_labels == "ud2" else sentence
        if not is_projective(tree.heads):
            raise Underivable("not projective")
        dependents = dependents_of_words(tree.heads)
        *dependents_of_heads, _ = dependents  # the last list is of the root: not a group
        if self.options.oversize == "skip" and any(map(_is_too_large, dependents_of_heads)):
            raise Underivable(f"a head with over {LARGEST_GROUP - 1} dependents")
        generator = random.Random(seed_for(self.options.seed, "syntax", key))
        origin = arranged(dependents, lambda head: self._ordered(tree, head, dependents[head], generator))
        return DerivedSentence(tuple([sentence.words[old] for old in origin]), tuple(origin))

    def _ordered(
        self, tree: Sentence, head: int, dependents: list[int], generator: random.Random
    ) -> list[int]:
        """Put a head and its dependents into their new order; words are given and returned by their numbers.

        1. Heads of a class without a model, and heads with too many dependents, keep their order and draw no number.
        2. With ``best``, the most probable order is taken.
        3. Else an order is drawn by its probability.
        """
        upos, deprels = tree.upos, tree.deprels
        head_class = HEAD_CLASSES.get(upos[head], "")
        if head_class not in self.models or _is_too_large(dependents):  # 1
            return sorted([head, *dependents])
        # Sorted by name, so that groups of the same names share one distribution. Dependents of one name keep their
        # order here, which changes nothing: any order of them is as probable.
        words = [head, *sorted(dependents, key=lambda word: (upos[word], deprels[word]))]
        names = (f"@{upos[head]}&@", *(f"{upos[word]}&{deprels[word]}" for word in words[1:]))
        if names not in self._known:
            self._known[names] = self._probable_orders(head_class, names)
        orders, cumulated = self._known[names]
        if self.options.best:  # 2
            rank = 0
        else:  # 3
            rank = bisect_right(cumulated, generator.random() * cumulated[-1])
            rank = min(rank, len(orders) - 1)  # rounding can make the product equal to the last sum
        return [words[member] for member in orders[rank]]

    def _probable_orders(
        self, head_class: str, names: tuple[str, ...]
    ) -> tuple[list[list[int]], list[float]]:
        """List the orders of a group, the most probable first, without the least probable (:data:`_TAIL`).

        Returns:
            The orders, and beside each the probability of it and of all before it: 0.7, 0.9, 1.0.
        """
        distribution = self.models[head_class].distribution(names)
        ranked = np.argsort(-distribution.probabilities, kind="stable")
        cumulated = np.cumsum(distribution.probabilities[ranked])
        count = int(np.searchsorted(cumulated, 1 - _TAIL)) + 1
        return distribution.orders[ranked[:count]].tolist(), cumulated[:count].tolist()


def _is_too_large(dependents: list[int]) -> bool:
    """Whether a head with these dependents makes a group that is too large to be put into a new order."""
    members = len(dependents) + 1  # the head is one
    return members > LARGEST_GROUP


def to_ud1(sentence: Sentence) -> Sentence:
    """Rename the labels of a tree to those of UD 1.2; its structure stays.

    ``obj → dobj``, ``nsubj:pass → nsubjpass`` (``csubj``, ``aux`` too), ``obl`` with any subtype ``→ nmod``,
    ``fixed → mwe``, ``flat → name`` of proper nouns and ``foreign`` of others, ``clf → dep``, ``advmod`` of *not*
    ``→ neg``; ``CCONJ → CONJ``, and a copula's ``AUX → VERB``. Subtypes that 1.2 did not have are cut off.

    Source: our own, from the guidelines of both versions; ALIGN-MLM's code feeds version 2 labels to the models.
    """
    upos, deprels = list(sentence.upos), list(sentence.deprels)
    for number, (tag, relation) in enumerate(zip(sentence.upos, sentence.deprels, strict=True)):
        if tag == "CCONJ":
            upos[number] = "CONJ"
        elif tag == "AUX" and relation.partition(":")[0] == "cop":
            upos[number] = "VERB"
        deprels[number] = _ud1_relation(relation, tag, sentence.words[number])
    return sentence._replace(upos=tuple(upos), deprels=tuple(deprels))


def _ud1_relation(relation: str, tag: str, word: str) -> str:
    """Rename one relation, given the tag and the form of its word."""
    base = relation.partition(":")[0]
    if relation in _RELATIONS:
        return _RELATIONS[relation]
    if base == "obl":
        return "nmod"
    if base == "flat":
        return "name" if tag == "PROPN" else "foreign"
    if base == "advmod" and word.lower() in _NEGATIONS:
        return "neg"
    if relation in _SUBTYPES:
        return relation
    return _RELATIONS.get(base, base)  # without its subtype: `obj:lvc` is `dobj`
