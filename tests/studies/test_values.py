from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.errors import ConfigurationError
from isoglot.studies.values import MISSING, expand_variables, lay_over, substitute, with_cases

VALUES: dict[str, Any] = {"share": 0.25, "order": "trans+inv", "steps": 7, "bf16": False}


def lookup(name: str, fact: str | None) -> Any:
    if name == "derived":
        return f"<unit:abc.{fact}>" if fact else "<unit:abc>"
    return VALUES.get(name, MISSING)


def test_a_name_alone_keeps_its_type_and_a_name_in_a_text_is_written() -> None:
    given_ = {
        "a": "<share>",
        "b": ["x-<order>", "<bf16>"],
        "c": 3,
        "d": "<derived>/xx",
        "e": "<derived.size>",
    }
    assert substitute(given_, lookup, place="here") == {
        "a": 0.25, "b": ["x-trans+inv", False], "c": 3, "d": "<unit:abc>/xx", "e": "<unit:abc.size>",
    }  # fmt: skip


def test_an_unknown_name_is_told_with_its_place() -> None:
    with pytest.raises(ConfigurationError, match=r"tasks\.pos\.data\.1: <nowhere>"):
        substitute({"data": ["a", "<nowhere>/b"]}, lookup, place="tasks.pos")


def test_templates_of_tasks_and_variables_are_left_alone() -> None:
    text = "${ISOGLOT_DATA}/{language}.{split}"
    assert substitute(text, lookup, place="x") == text


def test_null_deletes_but_stays_below_set() -> None:
    below = {"set": {"streams": {"words": {"path": "x"}}, "steps": 5}, "data": {"a": 1}}
    above = {"set": {"streams": {"words": None}, "steps": None}, "data": {"a": None}}
    assert lay_over(below, above) == {"set": {"streams": {"words": None}, "steps": None}, "data": {}}


_TREES = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), _TREES), st.dictionaries(st.sampled_from("abc"), _TREES))
def test_what_lies_above_wins_and_laying_it_over_twice_changes_nothing(below: Any, above: Any) -> None:
    once = lay_over(below, above)
    assert lay_over(once, above) == once
    assert set(once) == set(below) | set(above)
    assert all(
        once[k] == v
        for k, v in above.items()
        if not isinstance(v, dict) or not isinstance(below.get(k), dict)
    )


def test_cases_hold_in_order() -> None:
    entry = {"x": 1, "when": [
        {"if": {"order": ["trans", "trans+inv"]}, "then": {"x": 2, "y": 1}},
        {"if": {"order": "trans+inv", "steps": 8}, "then": {"x": 3}},
        {"if": {"steps": 7}, "then": {"y": 4}},
    ]}  # fmt: skip
    assert with_cases(entry, lookup, place="here") == {"x": 2, "y": 4}


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ([{"if": {"nowhere": 1}, "then": {}}], "'nowhere' is no value"),
        ([{"if": {"steps": 1}}], "`then:"),
        ({"if": {}, "then": {}}, "a list is needed"),
    ],
)
def test_bad_cases_are_told(when: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        with_cases({"when": when}, lookup, place="here")


def test_variables_are_expanded_or_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_FOLDER", "/some")
    monkeypatch.delenv("NO_FOLDER", raising=False)
    assert expand_variables("${SOME_FOLDER}/x") == "/some/x"
    with pytest.raises(ConfigurationError, match="export NO_FOLDER"):
        expand_variables("${NO_FOLDER}/x")
