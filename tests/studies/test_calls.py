"""Calls are named by what they do; values are numbers that are known later."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from study_steps import Add

from isoglot.errors import ConfigurationError
from isoglot.studies.calls import Call, Input, Value, expanded, leaves, mean, resolve, spearman


def step(number: float = 1, **more: object) -> Add:
    return Add(log="x", number=number, **more)  # type: ignore[arg-type]


def test_a_call_is_named_by_its_step_alone() -> None:
    one = Call(step(), "one")
    assert one == Call(step(label="a run"), "another name") == f"<{one.key}>"
    assert len({one.key, Call(step(2), "one").key, Call(step(to="y"), "one").key}) == 3
    below = Call(step(2), "below")
    above = Call(step(to=f"{below}/sum"), "above", [below])
    assert above.key != Call(step(to=f"{one}/sum"), "above", [one]).key, (
        "what an input is, is part of the name"
    )
    copy = pickle.loads(pickle.dumps(above))
    assert (copy, copy.key, copy.needs, copy.folder) == (above, above.key, (below,), above.folder)
    assert above.folder == f"analyse/above-{above.key}"


def test_values_are_subtracted_averaged_and_correlated() -> None:
    calls = [Call(step(n), str(n)) for n in range(4)]
    numbers = dict(zip(calls, (1.0, 4.0, 2.0, 8.0), strict=True))
    values = [Value(call=call, metric="m") for call in calls]

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
    assert [call for call, _ in mean([values[1], values[0] - values[2]]).reads()] == [
        calls[1],
        calls[0],
        calls[2],
    ]


def test_folders_facts_and_variables_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "/here")
    monkeypatch.delenv("NOWHERE", raising=False)
    call = Call(step(), "one")
    tree = {"a": [f"{call}/x", call.fact("size"), 3], "b": "${HERE}/y"}
    filled = resolve(tree, lambda key, fact: 7 if fact else f"/runs/{key}", variables=True)
    assert filled == {"a": [f"/runs/{call.key}/x", 7, 3], "b": "/here/y"}
    assert resolve(tree, lambda *_: 7, variables=False)["b"] == "${HERE}/y"
    assert list(leaves(tree, str)) == [f"{call}/x", call.fact("size"), "${HERE}/y"]
    with pytest.raises(ConfigurationError, match="export NOWHERE="):
        expanded("${NOWHERE}/y")


def test_what_a_step_reads_from_outside_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part-1.txt").touch()
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.delenv("NOWHERE", raising=False)
    call = Call(step(), "one")
    found = Add(log="${HERE}/part-*.txt", number=1, to=f"{call}/x", label="/no/path").files()
    assert found == [Input("${HERE}/part-*.txt", there=True)]
    assert not Input.of("${HERE}/part-2.txt").there
    assert not Input.of("${NOWHERE}/part-1.txt").there
    assert Input.of("bert-base/cased").there, "the hub's names cannot be told from here"
