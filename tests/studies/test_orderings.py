from __future__ import annotations

from isoglot.report.papers import paper_table
from isoglot.studies.orderings import Ordering, orderings, told

TABLE = paper_table("align_mlm:Table3")


def figures(sign: float = 1.0) -> dict[tuple[int, str], float]:
    return {
        (i, column): sign * float(str(value))
        for i, row in enumerate(TABLE.rows)
        for column, value in row.values.items()
    }


def test_the_papers_own_figures_have_all_its_orderings_and_their_negatives_none() -> None:
    columns = [c.id for c in TABLE.columns]
    own, turned = (orderings(TABLE.rows, columns, figures(sign)) for sign in (1.0, -1.0))
    assert all(o.same == o.pairs and o.clear_same == o.clear for o in own)
    assert all(o.same == o.clear_same == 0 for o in turned)
    zero_shot = next(o for o in own if o.column == "pos.zs")
    assert (
        zero_shot.pairs == 3 * 6 - 3
    )  # four systems under three transformations; three of them tie under trans


def test_rows_of_different_transformations_are_not_compared() -> None:
    inverted = [r for r in TABLE.rows if r.attributes["transformation"] == "trans+inv"]
    assert orderings([inverted[0], TABLE.rows[0]], ["pos.zs"], {(0, "pos.zs"): 1.0, (1, "pos.zs"): 2.0}) == []
    found = orderings(inverted, ["pos.zs"], {(0, "pos.zs"): 50.0, (3, "pos.zs"): 40.0})
    assert found == [Ordering("pos.zs", 0, 1, 0, 1)]
    assert "pos.zs 0 of 1 (0 of 1)" in told(found)
    assert told([]) == ""
