"""Models of word order that need no file: a few made-up orders of relations, for tests, demos and small studies."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from isoglot.derive.order_model import OrderModel
from isoglot.errors import ConfigurationError

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
"""Made-up languages by name: for each class of head the relations from left to right.

``en``: near English order, to serve as the substrate. ``head-final``: verbs last in their clause, postpositions,
auxiliaries and conjunctions after the verb, genitives and relative clauses before the noun, but adjectives and then
articles after it.
"""


@lru_cache(maxsize=8)
def built_in_model(language: str, kind: str) -> OrderModel:
    """A built-in model: ``PRE`` weights of all pairs of relations whose order it prefers.

    Example:
        >>> model = built_in_model("head-final", "N")
        >>> found = model.distribution(["DET&det", "ADJ&amod", "@NOUN&@"])
        >>> found.orders[found.probabilities.argmax()].tolist()
        [2, 1, 0]
    """
    if language not in BUILT_IN_MODELS or kind not in BUILT_IN_MODELS[language]:
        raise ConfigurationError(
            f"a built-in model {language}@{kind} asked for; there are {', '.join(BUILT_IN_MODELS)}, each @N and @V; "
            f"give --syntax en~head-final@N~head-final@V, or --models FOLDER with {language}@{kind}.orm"
        )
    return OrderModel(_precedence(BUILT_IN_MODELS[language][kind]))


def _precedence(tiers: Sequence[str]) -> dict[str, float]:
    """The weights of ``PRE`` features over relations that make earlier tiers come first."""
    return {
        f"PRE_{first}_{second}": _PREFERENCE
        for earlier, later in combinations([tier.split() for tier in tiers], 2)
        for first in earlier
        for second in later
    }
