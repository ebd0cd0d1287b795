"""What a folder says of itself, in the present layout and in that of earlier releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import read_json, write_json, write_text
from isoglot.runs.fingerprint import key_of
from isoglot.runs.listed import whole_folder
from isoglot.runs.record import FORMER_NAMES, MANIFEST, RUN, Record, has_manifest, versions

MADE_FROM: dict[str, Any] = {
    "recipe": {"steps": 3, "views": [{"rate": 0.15}]},
    "inputs": [{"path": "a.txt", "size": 7}],
}


def record(out: Path, made_from: dict[str, Any] = MADE_FROM, **options: Any) -> Record:
    return Record(out, made_from, what="training run", **options)


def state(out: Path, made_from: dict[str, Any] = MADE_FROM, *, resume: bool = True, **options: Any) -> str:
    return record(out, made_from, **options).state(resume=resume)


def test_a_folder_is_new_then_unfinished_then_finished(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    assert state(out, resume=False) == "new"
    out.mkdir(parents=True)
    assert state(out, resume=False) == "new", "an empty folder is as good as none"
    record(out).begin({**MADE_FROM, "seed": 1})
    with refused(ConfigurationError, "/run: ", "resume=True"):
        state(out, resume=False)
    assert state(out) == "unfinished"
    record(out).finish({"steps": 3})
    assert state(out, resume=False) == "finished"
    manifest = read_json(out / MANIFEST)
    assert manifest is not None and manifest["seed"] == 1 and manifest["steps"] == 3
    assert {"versions", "started", "finished"} <= manifest.keys()


def test_record_is_not_anothers_for_what_a_killed_writer_left(tmp_path: Path) -> None:
    (tmp_path / ".run.json.123-0-host.partial").write_text("{")
    assert state(tmp_path) == "new"


def test_the_message_names_what_differs(tmp_path: Path) -> None:
    record(tmp_path).begin(MADE_FROM)
    other = {"recipe": {"steps": 3, "views": [{"rate": 0.2}]}, "inputs": [{"path": "a.txt", "size": 8}]}
    names = "different: inputs.a.txt.size, recipe.views.0.rate"
    with refused(ConfigurationError, names, "`out`", "delete"):
        state(tmp_path, other)
    with refused(ConfigurationError, "`out`", "overwrite=True"):
        state(tmp_path, other, overwrite=False)
    assert state(tmp_path, other, overwrite=True) == "new"


def test_the_order_of_inputs_counts_and_how_often_each_is_read(tmp_path: Path) -> None:
    one, other = {"path": "a.txt", "column": 1}, {"path": "b.txt", "column": 1}
    record(tmp_path).begin({"sources": [one, other]})
    again = {**one, "column": 2}
    for sources in ([other, one], [one], [one, other, other], [one, again, other]):
        with refused(ConfigurationError, "different: sources."):
            state(tmp_path, {"sources": sources})
    assert state(tmp_path, {"sources": [one, other]}) == "unfinished"


def test_an_option_that_a_record_lacks_equals_none(tmp_path: Path) -> None:
    record(tmp_path).begin({"options": {"layer": 1}})
    assert state(tmp_path, {"options": {"layer": 1, "pooling": None}}) == "unfinished"
    with refused(ConfigurationError, "different: options.pooling)"):
        state(tmp_path, {"options": {"layer": 1, "pooling": "cls"}})


def test_a_hash_is_explained_by_values(tmp_path: Path) -> None:
    record(tmp_path).begin({"hash": "a", "values": {"seed": 1, "train": {"steps": 2}}})
    values = {"seed": 1, "train": {"steps": 3}}
    with refused(ConfigurationError, "different: train.steps)"):
        state(tmp_path, {"hash": "b"}, explained_by={"values": values})


def test_something_else_is_never_taken_or_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    for overwrite in (None, False, True):
        with refused(ConfigurationError, f"{tmp_path.name}: ", "`out`, or empty it"):
            state(tmp_path, overwrite=overwrite)
    write_json(tmp_path / MANIFEST, {"inputs": []})
    with refused(ConfigurationError, f"{tmp_path.name}: ", "`out`, or empty it"):
        state(tmp_path, overwrite=True)
    with refused(ConfigurationError, "thesis.tex: ", "`out`"):
        state(tmp_path / "thesis.tex")


def test_record_warns_of_other_versions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_json(tmp_path / RUN, {**MADE_FROM, "versions": {**versions(), "torch": "0.1"}})
    assert state(tmp_path) == "unfinished"
    assert "torch 0.1 -> " in caplog.text and "python" not in caplog.text
    caplog.clear()
    record(tmp_path).begin(MADE_FROM)
    assert state(tmp_path) == "unfinished" and not caplog.text


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def make(folder: Path) -> dict[str, Any]:
        calls.append(folder)
        (folder / "data").write_text("x")
        return {"rows": len(calls)}

    for number, made in ((1, True), (1, False)):
        manifest, now = record(tmp_path / "out", overwrite=False).make(make)
        assert (manifest["rows"], now) == (number, made)
    other = {**MADE_FROM, "inputs": []}
    with refused(ConfigurationError, "different: inputs", "overwrite=True"):
        record(tmp_path / "out", other, overwrite=False).make(make)
    manifest, now = record(tmp_path / "out", other, overwrite=True).make(make)
    assert now and manifest["rows"] == 2 and [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("resumes", [True, False])
def test_record_of_a_stopped_run_is_found_by_what_resumes_alone(tmp_path: Path, resumes: bool) -> None:
    out, seen = tmp_path / "out", list[bool]()

    def make(folder: Path) -> dict[str, Any]:
        seen.append((folder / "half").exists())
        (folder / "half").touch()
        if len(seen) == 1:
            raise KeyboardInterrupt
        return {"runs": len(seen)}

    with pytest.raises(KeyboardInterrupt):
        record(out, {}).make(make, resumes=resumes)
    assert not (out / MANIFEST).exists()
    made = [record(out, {}).make(make, resumes=resumes) for _ in range(2)]
    assert [(manifest["runs"], now) for manifest, now in made] == [(2, True), (2, False)]
    assert seen == [False, resumes]


def test_overwriting_refuses_what_was_added(tmp_path: Path) -> None:
    def make(folder: Path) -> dict[str, int]:
        write_text(folder / "rows", "1")
        return {"rows": 1}

    out = tmp_path / "out"
    record(out, {"seed": 1}).make(make)
    write_text(out / "notes", "mine")
    with refused(ConfigurationError, "/out: ", "(notes)"):
        record(out, {"seed": 2}, overwrite=True).make(make)
    assert (out / "notes").read_text() == "mine"
    (out / "notes").unlink()
    assert record(out, {"seed": 2}, overwrite=True).make(make)[1]


@pytest.mark.parametrize("name", ["rows", "manifest.json"])
@pytest.mark.parametrize("broken", ["", "2"])
def test_cache_is_made_again_where_it_is_damaged(
    tmp_path: Path, name: str, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    def make(folder: Path) -> dict[str, int]:
        write_text(folder / "rows", "1")
        return {"rows": 1}

    out = tmp_path / "out"
    record(out, {}).make(make, cached=True)
    assert not record(out, {}).make(make, cached=True)[1]
    (out / name).write_text(broken)
    assert record(out, {}).make(make, cached=True)[1] and (out / "rows").read_text() == "1"
    assert name in caplog.text and "rebuilt" in caplog.text


def test_a_key_is_the_same_in_any_order() -> None:
    assert key_of({"a": 1, "b": (2,)}) == key_of({"b": [2], "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 2})
    assert len(key_of({})) == 16


def test_versions_name_what_results_depend_on() -> None:
    assert {"python", "torch", "transformers", "isoglot"} <= set(versions())


def test_a_run_that_is_continued_under_other_versions_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record(tmp_path).begin({"key": "k"})
    assert state(tmp_path, {"key": "k"}) == "unfinished" and not caplog.text
    started = read_json(tmp_path / RUN) or {}
    write_json(tmp_path / RUN, started | {"versions": started["versions"] | {"transformers": "5.0.0"}})
    assert state(tmp_path, {"key": "k"}) == "unfinished"
    assert "transformers 5.0.0 -> " in caplog.text and "torch" not in caplog.text


@pytest.mark.parametrize("what", FORMER_NAMES)
def test_a_folder_of_an_earlier_release_is_recognised_and_not_made_again(tmp_path: Path, what: str) -> None:
    out, part = tmp_path / "out", {"aligned corpus": "alignment", "step": "step"}.get(what, "")
    with whole_folder(out) as folder:
        if part:
            write_json(folder / MANIFEST, {"of": "another maker"})
        (folder / "data").write_text("old")
        write_json(folder / FORMER_NAMES[what], {**MADE_FROM, "rows": 1, "versions": versions()})

    def make(folder: Path) -> dict[str, Any]:
        (folder / "data").write_text("new")
        return {"rows": 2}

    manifest, is_new = Record(out, MADE_FROM, what, overwrite=True, manifest_key=part).make(make)
    assert (manifest["rows"], is_new, (out / "data").read_text()) == (1, False, "old")
    other = {**MADE_FROM, "inputs": []}
    with refused(ConfigurationError, f"{what} (different: inputs", "overwrite=True"):
        Record(out, other, what, overwrite=False, manifest_key=part).make(make)
    manifest, is_new = Record(out, other, what, overwrite=True, manifest_key=part).make(make)
    assert (manifest["rows"], is_new) == (2, True)
    assert (out / MANIFEST).is_file() and not (out / FORMER_NAMES[what]).exists()


@pytest.mark.parametrize("old", [False, True])
def test_a_part_stands_beside_the_manifest_of_the_folder(tmp_path: Path, old: bool) -> None:
    step = Record(tmp_path, {}, what="step", manifest_key="step")
    record(tmp_path).begin(MADE_FROM)
    record(tmp_path).finish({"steps": 3})
    assert step.read() is None and step.state() == "unfinished", "a finished run is no finished step yet"
    if old:
        write_json(tmp_path / "call.json", {"seconds": 2.0})
    else:
        step.make(lambda _: {"seconds": 2.0}, resumes=True)
    manifest = step.read()
    assert manifest is not None and manifest["seconds"] == 2.0 and step.state() == "finished"
    assert state(tmp_path) == "finished" and (read_json(tmp_path / MANIFEST) or {})["steps"] == 3


def test_tasks_look_into_a_world_and_into_a_step_but_not_into_a_corpus(tmp_path: Path) -> None:
    for made_from, part, expected in (
        ({"layout": 1}, "", True),
        ({"world": {}}, "", False),
        ({}, "step", False),
    ):
        folder = tmp_path / f"{part}{len(made_from)}{expected}"
        assert not has_manifest(folder)
        Record(folder, made_from, what="data", manifest_key=part).make(lambda _: {})
        assert has_manifest(folder) is expected
        (folder / MANIFEST).write_text("{")
        assert has_manifest(folder), "a damaged manifest is said to be damaged"
