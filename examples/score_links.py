"""Measure links against gold links: precision, recall and alignment error rate.

python examples/score_links.py
"""

import isoglot as iso

links = ["0-0 1-1 2-2", "0-0 1-2"]
gold = ["0-0 1-1 2p2", "0-0 1-1"]  # p: a possible link
found = iso.score(links, gold)
print(f"precision {found.precision:.1f}, recall {found.recall:.1f}, AER {found.aer:.1f}")
