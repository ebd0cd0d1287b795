"""Models of the order of a head and its dependents: files of galactic dependencies, and built-in models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.derivation.arrangements import arrangements, pair_names, run_names
from isoglot.formats.line_files import each, numbered_lines
from isoglot.runs.files import write_text


class Distribution(NamedTuple):
    """All orders of one group."""

    orders: NDArray[np.int64]  # (n!, n), members from left to right, 0 the head
    scores: NDArray[np.float64]  # log-linear score of each
    probabilities: NDArray[np.float64]


class OrderModel:
    r"""A log-linear model over all orders of a group.

    .. math:: P(o) \propto \exp \sum_f \theta_f \cdot \mathrm{count}_f(o)

    over features of adjacent members (``BI``), of precedence (``PRE``, and ``BFR``, ``BTW``, ``AFT`` by the side of
    the head), each over ``UPOS&deprel``, tags and relations; and runs of three to five (``HI``) over ``UPOS&deprel``.

    Args:
        weights: θ by feature name.

    Source: Wang and Eisner 2016, *The Galactic Dependencies Treebanks*, §4.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = dict(weights)

    @classmethod
    def load(cls, path: str | Path) -> OrderModel:
        """Read an ``.orm`` file: ``FEATURE value`` lines."""
        if not Path(path).is_file():
            raise InputError(
                "file not found; a galactic-dependency model (.orm) is needed: fetch it from the project of that "
                "name, or fit one to a treebank with `isoglot fit-order`",
                path=path,
            )

        def weight(line: str) -> tuple[str, float]:
            name, _, value = line.rpartition(" ")
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if not name or not math.isfinite(number):
                raise InputError(f"{line.strip()[:60]!r}; `FEATURE value` is needed: fetch the file again")
            return name, number

        lines = ((number, line) for number, line in numbered_lines(path) if line.strip())
        return cls(dict(each(weight, lines, path)))

    def save(self, path: str | Path) -> None:
        """Write an ``.orm`` file in one go."""
        write_text(path, self.text())

    def text(self) -> str:
        """The lines of an ``.orm`` file, features sorted."""
        return "".join(f"{name} {value!r}\n" for name, value in sorted(self.weights.items()))

    def mixed(self, substrate: OrderModel, rate: float) -> OrderModel:
        """``(1 − λ) θ + λ θ_substrate``; a feature that one lacks counts 0 there."""
        weights = {name: (1 - rate) * value for name, value in self.weights.items()}
        for name, value in substrate.weights.items():
            weights[name] = weights.get(name, 0.0) + rate * value
        return OrderModel(weights)

    def distribution(self, members: Sequence[str]) -> Distribution:
        """The probability of each order of a group.

        Args:
            members: ``@UPOS&@`` of the head, then ``UPOS&deprel`` of each dependent.

        Example:
            >>> model = OrderModel({"BI_ADJ_@NOUN": 1.0})
            >>> [round(p, 3) for p in model.distribution(["@NOUN&@", "ADJ&amod"]).probabilities.tolist()]
            [0.269, 0.731]
        """
        table = arrangements(len(members))
        weight_of = self.weights.get
        # The weight of a column is that of its features: three for two members, one for a run.
        columns = [sum(weight_of(name, 0.0) for name in names) for names in pair_names(members, table.pairs)]
        columns += [weight_of(name, 0.0) for name in run_names(members, table)]
        scores = table.counts @ np.array(columns)
        shifted = np.exp(scores - scores.max())  # the greatest is 1, so that none is infinite
        return Distribution(table.orders, scores, shifted / shifted.sum())


BUILT_IN = "built-in"
"""What is given in place of a folder of models."""

_PREFERENCE = 3.0
"""log-odds of two relations' usual order: neighbours of the list come the other way about 5 times in 100."""

# From left to right; `@` is the head; relations on one line have no preferred order among themselves. Both versions'
# names of a relation are there, so that `literal` labels do as well as those renamed to version 1.2.
_ENGLISH = {
    "N": (
        "discourse", "advcl", "mark cc", "nsubj nsubjpass nsubj:pass csubj expl", "aux cop", "neg advmod",
        "case", "det:predet", "det", "nmod:poss", "nummod", "amod", "compound", "@", "flat name",
        "nmod nmod:npmod nmod:tmod obl", "acl acl:relcl", "appos", "conj", "punct",
    ),
    "V": (
        "discourse", "advcl", "mark cc", "nsubj nsubjpass nsubj:pass csubj csubjpass expl", "aux auxpass aux:pass",
        "neg", "@", "iobj", "compound:prt", "dobj obj", "xcomp ccomp", "nmod nmod:npmod nmod:tmod obl advmod",
        "conj parataxis", "punct",
    ),
}  # fmt: skip
_HEAD_FINAL = {
    "N": (
        "discourse", "cc", "advcl", "nsubj nsubjpass nsubj:pass csubj expl", "acl acl:relcl appos",
        "nmod:poss nmod nmod:npmod nmod:tmod obl", "nummod", "@", "flat name compound", "amod", "conj", "det:predet",
        "det", "case", "neg advmod", "cop", "aux", "mark", "punct",
    ),
    "V": (
        "discourse", "cc", "advcl", "nsubj nsubjpass nsubj:pass csubj csubjpass expl",
        "nmod nmod:npmod nmod:tmod obl advmod", "iobj", "dobj obj", "xcomp ccomp", "compound:prt", "@", "neg",
        "aux auxpass aux:pass", "mark", "conj parataxis", "punct",
    ),
}  # fmt: skip

BUILT_IN_MODELS = {"en": _ENGLISH, "head-final": _HEAD_FINAL}
"""Made-up languages by name: for each class of head the relations from left to right."""


@lru_cache(maxsize=8)
def built_in_model(language: str, kind: str) -> OrderModel:
    """Make a built-in model: a ``PRE`` weight for each pair of relations whose order it prefers.

    Example:
        >>> model = built_in_model("head-final", "N")
        >>> found = model.distribution(["@NOUN&@", "DET&det", "ADJ&amod"])
        >>> found.orders[found.probabilities.argmax()].tolist()
        [0, 2, 1]
    """
    if language not in BUILT_IN_MODELS or kind not in BUILT_IN_MODELS[language]:
        raise ConfigurationError(
            f"no built-in model {language}@{kind}; there are {', '.join(BUILT_IN_MODELS)}, each @N and @V; "
            f"give [[syntax='en~head-final@N~head-final@V']], or [[models=FOLDER]] with {language}@{kind}.orm"
        )
    tiers = [tier.split() for tier in BUILT_IN_MODELS[language][kind]]
    weights = {}
    for earlier, later in combinations(tiers, 2):
        for first, second in product(earlier, later):
            weights[f"PRE_{first}_{second}"] = _PREFERENCE
    return OrderModel(weights)
