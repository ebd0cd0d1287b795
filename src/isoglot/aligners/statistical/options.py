"""Options of the statistical models, and the ways in which two directions become one.

The options of a method are set in Python, ``StatisticalAligner("hmm", prefix_length=3)``, and have no flags
(``flags=None``).

A model that was saved without a newer option loads with its default, so a new option does not need another
``methods.FORMAT``. But the hash of what a saved model was made from covers all options (``_key_of_model`` in
``with_statistics.py``): a command that would save over a model of an earlier release is refused, as if it had other
options, until it says ``overwrite``.

The defaults of ``DiagonalOptions`` give the links of the C++ program, so an option that the program does not have must
be off by default.
"""

from typing import Literal, NamedTuple, get_args

from isoglot.core.options import Options, option

Symmetriser = Literal[
    "forward", "reverse", "intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
]
SYMMETRISERS: tuple[str, ...] = get_args(Symmetriser)
Symmetrisation = Literal["agreement", Symmetriser]
"""``agreement``: a threshold on both directions' posteriors."""


PREFIX_STRENGTH = 100.0
"""β, how many observations the HMM's base measure counts for; 10 to 300 make little difference."""


class PositionOptions(NamedTuple):
    """The options on which p(a_j = i) depends, as the compiled loops of fast_align's model take them."""

    favour_diagonal: bool
    use_null: bool
    null_probability: float


class DiagonalOptions(Options):
    """Options of fast_align's model, those of the C++ program; the defaults are its ``-d -o -v``.

    The HMM starts from fast_align's model with these defaults and a fixed number of iterations.
    """

    iterations: int = option(5, "-I; the last one only decodes.", flags=None, ge=1)
    tension: float = option(4.0, "-T; where the optimisation of λ starts.", flags=None, gt=0)
    null_probability: float = option(0.08, "-p; probability of null, p0.", flags=None, gt=0, lt=1)
    alpha: float = option(0.01, "-a; Dirichlet prior of the translation table.", flags=None, gt=0)
    favour_diagonal: bool = option(True, "-d; a uniform prior over positions if false.", flags=None)
    optimise_tension: bool = option(True, "-o; keep tension as given if false.", flags=None)
    variational_bayes: bool = option(True, "-v; maximum likelihood if false.", flags=None)
    use_null: bool = option(True, "False is -N: every target word is linked.", flags=None)

    @property
    def position_options(self) -> PositionOptions:
        """The options that the compiled loops read."""
        return PositionOptions(self.favour_diagonal, self.use_null, self.null_probability)


class HmmOptions(Options):
    """Options of the HMM aligner."""

    iterations: int = option(6, "Updates of the HMM; more than 6 change little.", flags=None, ge=1)
    alpha: float = option(
        0.0001, "Dirichlet prior of a word pair; the smaller, the sparser the table.", flags=None, gt=0
    )
    prefix_length: int = option(
        4, "Letters of the prefixes, usually 3 to 5; 0 switches the base measure off.", flags=None, ge=0
    )

    @property
    def strength(self) -> float:
        """β, 0 where there are no prefixes."""
        return PREFIX_STRENGTH if self.prefix_length else 0.0
