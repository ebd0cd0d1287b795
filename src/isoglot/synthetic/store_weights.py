"""Solve every built-in family of pairs and write the package's file of weights.

python -m isoglot.synthetic.store_weights
"""

from __future__ import annotations

from pathlib import Path

from isoglot.synthetic.families import entailment_families
from isoglot.synthetic.pairs import entailment_pairs, paraphrase_pairs, solve
from isoglot.synthetic.paraphrases import paraphrase_families
from isoglot.synthetic.weights import WEIGHTS_FILE, pair_key, write_weights

__all__ = ["main"]


def main(path: Path | None = None) -> None:
    """Write the weights next to this module, or to ``path``."""
    made = [(f, entailment_pairs(f)) for f in entailment_families()]
    made += [(f, paraphrase_pairs(f)) for f in paraphrase_families()]
    solved = {pair_key(pairs): solve(family, pairs) for family, pairs in made}
    write_weights(path or Path(__file__).with_name(WEIGHTS_FILE), solved)


if __name__ == "__main__":
    main()
