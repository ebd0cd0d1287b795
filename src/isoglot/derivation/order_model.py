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
    """All orders of one group, with their scores and probabilities."""

    orders: NDArray[np.int64]  # (n!, n): members from left to right, 0 the head
    scores: NDArray[np.float64]  # (n!,): weights of the features that the order has, added up
    probabilities: NDArray[np.float64]  # (n!,): softmax of the scores


class OrderModel:
    r"""A log-linear model over all orders of a group.

    .. math:: P(o) \propto \exp \sum_f \theta_f \cdot \mathrm{count}_f(o)

    The features f are about

    - two adjacent members (``BI``), or two members of which one comes before the other (``PRE``; ``BFR``, ``BTW`` and
      ``AFT`` by the sides of the head on which they stand), named by ``UPOS&deprel``, by tags and by relations;
    - runs of three to five members (``HI``), named by ``UPOS&deprel``.

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

        def parse_line(line: str) -> tuple[str, float]:
            name, _, value = line.rpartition(" ")
            try:
                number = float(value)
            except ValueError:
                number = math.nan
            if not name or not math.isfinite(number):
                raise InputError(f"{line.strip()[:60]!r}; `FEATURE value` is needed: fetch the file again")
            return name, number

        lines = ((number, line) for number, line in numbered_lines(path) if line.strip())
        return cls(dict(each(parse_line, lines, path)))

    def save(self, path: str | Path) -> None:
        """Write an ``.orm`` file in one go."""
        write_text(path, self.text())

    def text(self) -> str:
        """The lines of an ``.orm`` file, features sorted."""
        return "".join(f"{name} {value!r}\n" for name, value in sorted(self.weights.items()))

    def mixed(self, substrate: OrderModel, rate: float) -> OrderModel:
        """Mix two models: ``(1 − λ) θ + λ θ_substrate``, where λ is ``rate``.

        A feature that one of the models lacks has weight 0 there.
        """
        weights = {name: (1 - rate) * value for name, value in self.weights.items()}
        for name, value in substrate.weights.items():
            weights[name] = weights.get(name, 0.0) + rate * value
        return OrderModel(weights)

    def distribution(self, members: Sequence[str]) -> Distribution:
        """Compute the probability of each order of a group.

        Args:
            members: ``@UPOS&@`` of the head, then ``UPOS&deprel`` of each dependent.

        In the example, the adjective (member 1) before the noun is the second order.

        Example:
            >>> model = OrderModel({"BI_ADJ_@NOUN": 1.0})
            >>> [round(p, 3) for p in model.distribution(["@NOUN&@", "ADJ&amod"]).probabilities.tolist()]
            [0.269, 0.731]
        """
        table = arrangements(len(members))
        weight_of = self.weights.get
        # A column weighs as much as its features together: three of a pair of members, one of a run.
        pair_features = pair_names(members, table.pair_columns)
        pair_weights = [sum(weight_of(name, 0.0) for name in names) for names in pair_features]
        run_weights = [weight_of(name, 0.0) for name in run_names(members, table)]
        scores = table.occurrences @ np.array([*pair_weights, *run_weights])
        exponentials = np.exp(scores - scores.max())  # the greatest is 1, so that none overflows
        return Distribution(table.orders, scores, exponentials / exponentials.sum())


BUILT_IN = "built-in"
"""Value of the option ``models`` that asks for the models below instead of a folder of files."""

_PREFERENCE = 3.0
"""Log-odds that two relations stand in their listed order: neighbours in a list are swapped about 5 times in 100."""

# Relations from left to right. `@` is the head: its member is named `@NOUN&@`, with `@` where dependents have their
# relation. Relations inside one string have no preferred order among themselves.
# Each relation is listed under its names of UD 1.2 and of UD 2, so that trees work with and without renaming
# (the option `ud_labels`).
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
"""Made-up languages: by name, and by class of head (``N``, ``V``), the relations from left to right.

The help of the option ``models`` (``options.py``) names them too.
"""


@lru_cache(maxsize=8)
def built_in_model(language: str, head_class: str) -> OrderModel:
    """Make a built-in model: a ``PRE`` weight for each two relations of which one is listed before the other.

    In the example, the most probable order of *the old house* is *house old the*.

    Example:
        >>> model = built_in_model("head-final", "N")
        >>> found = model.distribution(["@NOUN&@", "DET&det", "ADJ&amod"])
        >>> found.orders[found.probabilities.argmax()].tolist()
        [0, 2, 1]
    """
    if language not in BUILT_IN_MODELS or head_class not in BUILT_IN_MODELS[language]:
        raise ConfigurationError(
            f"no built-in model {language}@{head_class}; there are {', '.join(BUILT_IN_MODELS)}, each @N and @V; "
            f"give [[syntax='en~head-final@N~head-final@V']], or [[models=FOLDER]] with {language}@{head_class}.orm"
        )
    places = [relations.split() for relations in BUILT_IN_MODELS[language][head_class]]
    weights = {}
    for earlier, later in combinations(places, 2):  # any two places, not only neighbours
        for first, second in product(earlier, later):
            weights[f"PRE_{first}_{second}"] = _PREFERENCE
    return OrderModel(weights)
