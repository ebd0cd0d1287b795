"""Calls are named by what they do; values are numbers that are known later."""

from __future__ import annotations

import pickle

import pytest
from study_steps import Add

from isoglot.errors import ConfigurationError
from isoglot.studies.graph import Call, Output, Value, below, leaves, mean, resolve, spearman
from isoglot.studies.inputs import expanded


def call_of(name: str, number: float = 1, **more: object) -> Call:
    return Call(name, Add, {"log": "x", "number": number, **more})


def test_a_call_is_named_by_its_step_alone() -> None:
    one = call_of("one")
    assert one == call_of("another name", label="a run")
    assert len({one, call_of("one", 2), call_of("one", to="y")}) == 3
    below_it = call_of("below", 2)
    above = call_of("above", to=below_it / "sum")
    assert above != call_of("above", to=one / "sum"), "what an input is, is part of the name"
    copy = pickle.loads(pickle.dumps(above))
    assert (copy, copy.key, copy.needs, copy.folder) == (above, above.key, (below_it,), above.folder)
    assert above.folder == f"analyse/above-{above.key}"


def test_what_a_call_needs_is_what_its_arguments_hold() -> None:
    one, two, three = (call_of("x", n) for n in range(3))
    sources = [{"path": "train=" + one / "a" + "#0:90%"}, {"path": below("/data", "b")}]
    call = Call("top", Add, {"log": two.fact("name"), "number": 1, "to": three})
    assert call.needs == (two, three)
    assert [output.call for output in leaves(sources, Output)] == [one]

    def in_runs(leaf: object) -> object:
        return f"{leaf.before}/runs{leaf.after}" if isinstance(leaf, Output) else leaf

    assert resolve(sources, in_runs) == [
        {"path": "train=/runs/a#0:90%"},
        {"path": "/data/b"},
    ]


def test_a_call_in_a_text_is_refused() -> None:
    one = call_of("one")
    for given in (one, one / "sum"):
        with pytest.raises(TypeError, match="analyse one has no folder yet; write call / 'path'"):
            f"{given}/sum"


def test_values_are_subtracted_averaged_and_correlated() -> None:
    calls = [call_of(str(n), n) for n in range(4)]
    numbers = dict(zip(calls, (1.0, 4.0, 2.0, 8.0), strict=True))
    values = [call.value("m") for call in calls]

    def known(value: Value, *hidden: Call) -> float | None:
        return value.known(lambda call, metric: None if call in hidden or metric != "m" else numbers[call])

    assert known(values[1] - values[0]) == 3
    assert known(mean(values)) == 3.75
    assert mean(values[:1]) is values[0]
    assert known(spearman(values, values)) == 1
    assert known(spearman(values[:3], values[1:])) == pytest.approx(-0.5)
    assert known(mean(values), calls[2]) is None
    assert known(spearman(values[:2], values[2:])) is None, "two points have no correlation worth the name"
    lost = Value(unavailable="why") - values[0]
    assert lost.unavailable == "why" and mean([values[0], lost]).unavailable == "why"
    assert mean([values[1], values[0] - values[2]]).calls() == [calls[1], calls[0], calls[2]]


def test_variables_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "/here")
    monkeypatch.delenv("NOWHERE", raising=False)
    tree = {"a": [call_of("one") / "x", call_of("one").fact("size"), 3], "b": "${HERE}/y"}
    assert list(leaves(tree, str)) == ["${HERE}/y"]
    assert expanded("${HERE}/y") == "/here/y"
    with pytest.raises(ConfigurationError, match="export NOWHERE="):
        expanded("${NOWHERE}/y")
