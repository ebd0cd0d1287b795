"""Sizes of a study note who reads them."""

from __future__ import annotations

import pytest

from isoglot.studies.sizes import Setting, SizeLog, text_of_changes


def test_sizes_that_are_looked_up_are_noted_however_they_are_read() -> None:
    values = {"steps": 10, "alpha": 1, "rate": 0.5}
    for read, expected in (
        (lambda sizes: sizes["steps"], {"steps"}),
        (lambda sizes: sizes.get("alpha"), {"alpha"}),
        (lambda sizes: sizes.get("nothing"), set()),
        (lambda sizes: {**sizes}, set(values)),
        (lambda sizes: list(sizes.items()), set(values)),
        (lambda sizes: (sizes | {"alpha": 5})["alpha"], set()),
        (lambda sizes: (sizes | {"alpha": 5})["rate"], {"rate"}),
    ):
        sizes = SizeLog(values)
        read(sizes)
        assert sizes.read == expected
    assert SizeLog(values) == values and len(SizeLog(values)) == 3
    with pytest.raises(KeyError):
        SizeLog(values)["stepps"]


def test_changes_are_those_of_the_sizes_read_and_a_variant_counts_for_the_sizes_that_it_sets() -> None:
    sizes = {"seeds": [1], "steps": (1, 2, 3), "order": "official", "rate": 1}
    changes = {"variant": "literal", "steps": 5, "seeds": [2]}
    setting = Setting.of(sizes, {"literal": {"order": "paper"}}, scale="tiny", changes=changes)
    assert text_of_changes(setting.changes_of({"steps", "order", "seeds"})) == "variant=literal, steps=5"
    assert text_of_changes(setting.changes_of({"steps", "rate"})) == "steps=5"
    assert setting.changes_of({"rate"}) == {}
    assert setting.reported({"steps", "seeds"}) == {"steps": 5}


def test_a_size_that_is_a_tuple_equals_the_list_that_a_user_gives() -> None:
    sizes = {"seeds": [1], "layers": ((1, 2), (3, 4), (5, 6))}
    setting = Setting.of(sizes, {}, scale="tiny", changes={"layers": [1, 2]})
    assert setting.changed == {} and setting.ending == ""
    as_in_the_paper = Setting.of(sizes, {}, scale="tiny", changes={"layers": [5, 6]})
    assert as_in_the_paper.changed == {"layers": [5, 6]} and as_in_the_paper.paper_where_different == {}
