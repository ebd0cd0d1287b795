"""Measure links against gold links: precision, recall and alignment error rate.

python examples/score_links.py
"""

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.scoring import GoldAlignment, score

links = [Alignment.from_pharaoh("0-0 1-1 2-2"), Alignment.from_pharaoh("0-0 1-2")]
gold = [GoldAlignment.of([(0, 0), (1, 1)], [(2, 2)]), GoldAlignment.of([(0, 0), (1, 1)], [])]
found = score(links, gold)
print(f"precision {found.precision:.3f}, recall {found.recall:.3f}, AER {found.aer:.3f}")
