"""Count the pairs of rows that stand in the same order here as in a paper."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from isoglot.reports.papers import PaperRow
from isoglot.reports.stats import Score, margin

_SAME_CONDITIONS = ("transformation", "setting", "pairs", "changed")
"""Attributes that two rows must share: a zero-shot row is never ordered against a translate-train row.

``pairs`` is the number of sentence pairs trained on: ``250k``.
``changed`` is no attribute of the papers: :mod:`isoglot.reports.beside_papers` adds it, for our changes of sizes.
"""


def order_agreement(
    rows: Sequence[PaperRow], columns: Sequence[str], ours: Mapping[tuple[int, str], Score]
) -> dict[str, Counter[str]]:
    """Count, column by column, the pairs of rows that have the paper's order, the opposite one, or none.

    1. A pair counts only if both rows were run under the same conditions, and the paper and we have both values.
    2. A pair that the paper prints as equal has no order there, and is left out.
    3. "close": our two means differ by no more than the margin of Welch's t-test, so that seeds may explain it.
    4. "kept": the row that is ahead in the paper is ahead here. "broken": the other row is.

    Args:
        rows: The paper's rows.
        columns: The ids of the columns to look at.
        ours: Number of a row in ``rows`` and id of a column -> our score.

    Returns:
        Column -> counts of "kept", "broken" and "close"; without the columns that have no pair.

    Example:
        The paper prints mlm 60, tlm 65, weam 66 for German. We measure 61, 66 and 64: tlm and weam are ahead of mlm
        as in the paper, but weam is behind tlm.

        >>> rows = [PaperRow(name, {"de": value}) for name, value in [("mlm", 60), ("tlm", 65), ("weam", 66)]]
        >>> ours = {(0, "de"): Score.of([61.0]), (1, "de"): Score.of([66.0]), (2, "de"): Score.of([64.0])}
        >>> dict(order_agreement(rows, ["de"], ours)["de"])
        {'kept': 2, 'broken': 1}
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (i, first), (j, second) in combinations(enumerate(rows), 2):
        if any(first.attributes.get(name) != second.attributes.get(name) for name in _SAME_CONDITIONS):
            continue
        for column in columns:
            first_score, second_score = ours.get((i, column)), ours.get((j, column))
            first_paper, second_paper = first.values.get(column), second.values.get(column)
            if first_score is None or second_score is None:
                continue
            if not isinstance(first_paper, int | float) or not isinstance(second_paper, int | float):
                continue
            lead_in_paper = first_paper - second_paper
            lead_here = first_score.mean - second_score.mean
            if lead_in_paper == 0:
                continue
            if abs(lead_here) <= margin(first_score, second_score):
                verdict = "close"
            elif lead_in_paper * lead_here > 0:
                verdict = "kept"
            else:
                verdict = "broken"
            counts[column][verdict] += 1
    return dict(counts)
