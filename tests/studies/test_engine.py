"""Each call once, whatever asks for it and whoever does it; what is lost is done again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from study_steps import Add, Breaks, DiesOnce, Fails, Tuned

from isoglot.errors import ConfigurationError
from isoglot.studies.engine import Store, make_calls
from isoglot.studies.graph import Call, Step
from isoglot.studies.lab import Lab


class Work:
    """A lab whose calls log what they did."""

    def __init__(self, folder: Path) -> None:
        self.lab, self.root, self.log = Lab({"seeds": ([1], [1], [1])}), folder / "out", folder / "log"
        self.store = Store(self.root)

    def add(self, number: float, to: Call | str = "", kind: type[Add] = Add) -> Call:
        return self.lab.make(f"add {number:g}", kind, log=str(self.log), number=number, to=to)

    def done(self) -> list[str]:
        return (
            sorted(line.split()[0] for line in self.log.read_text().splitlines()) if self.log.exists() else []
        )

    def sums(self, *calls: Call) -> list[float | None]:
        return [self.store.value(call, "sum") for call in calls]


def test_each_call_is_done_once_and_a_stopped_study_goes_on(tmp_path: Path) -> None:
    work = Work(tmp_path)
    base = work.add(1)
    first, second = work.add(2, base), work.add(3, base)
    done = make_calls([first], work.root)
    assert (done.made, work.sums(first, second)) == ({"analyse": 2}, [3, None])
    assert make_calls([first, second], work.root).made == {"analyse": 1}
    assert make_calls([first, second], work.root).made == {}
    assert work.done() == ["1", "2", "3"]
    (work.store.folder(first) / "call.json").unlink()
    assert make_calls([first, second], work.root).made == {"analyse": 1}


def test_a_call_that_is_done_again_deletes_nothing_of_the_users(tmp_path: Path) -> None:
    work = Work(tmp_path)
    call = work.add(1)
    make_calls([call], work.root)
    folder = work.store.folder(call)
    (folder / "call.json").unlink()
    (folder / "notes").touch()
    assert "notes" in make_calls([call], work.root).failed[call] and (folder / "notes").exists()


def test_folders_facts_and_variables_are_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "/here")
    work = Work(tmp_path)
    base = work.add(1.5)

    class Takes(Step):
        number: float | str

    paths = work.lab.make("paths", Takes, number="train=" + base / "sum#1:2")
    assert work.store.resolved(paths) == Takes(number=f"train={work.store.folder(base).resolve()}/sum#1:2")
    outside = work.lab.make("outside", Takes, number="${HERE}/y")
    assert work.store.resolved(outside) == Takes(number="/here/y")
    assert work.store.resolved(outside, assume=True) == Takes(number="${HERE}/y")
    call = work.lab.make("takes", Takes, number=base.fact("doubled"))
    assert work.store.resolved(call, assume=True) == Takes(number=1000)
    make_calls([base], work.root)
    assert work.store.resolved(call) == Takes(number=3.0)
    wrong = work.lab.make("takes", Takes, number=base.fact("trebled"))
    with pytest.raises(ConfigurationError, match=r"analyse add 1\.5 has no fact 'trebled'"):
        work.store.resolved(wrong)


def test_weights_go_when_nothing_waits_for_them_and_come_back_when_something_does(tmp_path: Path) -> None:
    work = Work(tmp_path)
    tuned = work.add(1, kind=Tuned)
    first, second = work.add(2, tuned), work.add(3, tuned)
    make_calls([first, second], work.root)
    assert not work.store.usable(tuned) and work.store.manifest(tuned)
    third = work.add(4, tuned)
    assert make_calls([first, second, third], work.root, keep=True).made == {"finetune": 1, "analyse": 1}
    assert work.store.usable(tuned)
    assert work.sums(first, second, third) == [3, 4, 5]


def test_weights_stay_while_anything_waits_for_them_that_a_target_needs(tmp_path: Path) -> None:
    work = Work(tmp_path)
    tuned = work.add(1, kind=Tuned)
    first = work.add(2, tuned)
    between = work.add(3, tuned)
    last = work.add(4, between)
    assert make_calls([first, last], work.root).made == {"finetune": 1, "analyse": 3}
    assert work.sums(first, last) == [3, 8] and not work.store.usable(tuned)


def test_a_mistake_leaves_the_other_calls_and_names_its_own(tmp_path: Path) -> None:
    work = Work(tmp_path)
    bad = work.lab.make("bad", Fails)
    worse = work.lab.make("worse", Fails, to=bad)
    good = work.add(1)
    done = make_calls([worse, good], work.root)
    assert work.sums(good) == [1]
    assert {call.title: why for call, why in done.failed.items()} == {
        "data bad": "no such thing",
        "data worse": "needs data bad, which could not be done",
    }
    with pytest.raises(ZeroDivisionError) as caught:
        make_calls([work.lab.make("broken", Breaks)], work.root)
    assert "while doing data broken in" in "".join(caught.value.__notes__)


def test_several_processes_share_the_work(tmp_path: Path) -> None:
    work = Work(tmp_path)
    base = work.add(1)
    tops = [work.add(number, base) for number in (2, 3, 4)]
    done = make_calls(tops, work.root, workers=2)
    assert done.made == {"analyse": 4} and work.sums(*tops) == [3, 4, 5]
    assert work.done() == ["1", "2", "3", "4"]
    assert str(os.getpid()) not in work.log.read_text()
    bad = work.lab.make("bad", Fails)
    assert make_calls([bad], work.root, workers=2).failed == {bad: "no such thing"}


@pytest.mark.slow
def test_ray_does_the_calls_again_whose_worker_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    support = Path(__file__).parents[1] / "support"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(support), os.environ.get("PYTHONPATH", "")]))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        work = Work(tmp_path)
        base, other = work.add(1), work.add(10)
        killed = work.add(2, base, kind=DiesOnce)
        top, bad = work.add(3, killed), work.lab.make("bad", Fails)
        done = make_calls([top, other, bad], work.root, engine="ray")
        assert work.sums(top, other) == [6, 10]
        assert done.made == {"analyse": 4} and done.failed == {bad: "no such thing"}
        assert work.log.with_suffix(".killed").exists()
        assert work.done() == ["1", "10", "2", "3"]
        assert make_calls([top, other], work.root, engine="ray").made == {}
    finally:
        ray.shutdown()
