"""What a folder says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isoglot.errors import ConfigurationError
from isoglot.runs import folder as run_folder
from isoglot.runs.files import read_json, write_json

WANTED: dict[str, Any] = {
    "recipe": {"steps": 3, "views": [{"rate": 0.15}]},
    "inputs": [{"path": "a.txt", "size": 7}],
}


def state(out: Path, wanted: dict[str, Any] = WANTED, **options: Any) -> str:
    return run_folder.state_of(out, wanted, what="training run", **options)


def test_a_folder_is_new_then_unfinished_then_finished(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    assert state(out, resume=False) == "new"
    out.mkdir(parents=True)
    assert state(out, resume=False) == "new", "an empty folder is as good as none"
    run_folder.begin(out, {**WANTED, "seed": 1})
    with pytest.raises(ConfigurationError, match="unfinished training run; add resume=True"):
        state(out, resume=False)
    assert state(out) == "unfinished"
    run_folder.finish(out, {"steps": 3})
    assert state(out, resume=False) == "finished"
    manifest = read_json(out / run_folder.MANIFEST)
    assert manifest is not None and manifest["seed"] == 1 and manifest["steps"] == 3
    assert {"versions", "started", "finished"} <= manifest.keys()


def test_what_a_killed_writer_left_does_not_make_a_folder_another_ones(tmp_path: Path) -> None:
    (tmp_path / ".run.json.123-0-host.partial").write_text("{")
    assert state(tmp_path) == "new"


def test_the_message_names_what_differs(tmp_path: Path) -> None:
    run_folder.begin(tmp_path, WANTED)
    other = {"recipe": {"steps": 3, "views": [{"rate": 0.2}]}, "inputs": [{"path": "a.txt", "size": 8}]}
    names = r"different: inputs\.a\.txt\.size, recipe\.views\.0\.rate"
    with pytest.raises(ConfigurationError, match=f"another training run .{names}.*or delete it"):
        state(tmp_path, other)
    with pytest.raises(ConfigurationError, match="or add overwrite"):
        state(tmp_path, other, overwrite=False)
    assert state(tmp_path, other, overwrite=True) == "new"


def test_the_order_of_inputs_counts_and_how_often_each_is_read(tmp_path: Path) -> None:
    one, other = {"path": "a.txt", "column": 1}, {"path": "b.txt", "column": 1}
    run_folder.begin(tmp_path, {"sources": [one, other]})
    again = {**one, "column": 2}
    for sources in ([other, one], [one], [one, other, other], [one, again, other]):
        with pytest.raises(ConfigurationError, match=r"different: sources\."):
            state(tmp_path, {"sources": sources})
    assert state(tmp_path, {"sources": [one, other]}) == "unfinished"


def test_a_hash_is_explained_by_values(tmp_path: Path) -> None:
    run_folder.begin(tmp_path, {"hash": "a", "values": {"seed": 1, "train": {"steps": 2}}})
    values = {"seed": 1, "train": {"steps": 3}}
    with pytest.raises(ConfigurationError, match=r"different: train\.steps\)"):
        state(tmp_path, {"hash": "b"}, told_by={"values": values})


def test_something_else_is_never_taken_or_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    for overwrite in (None, False, True):
        with pytest.raises(ConfigurationError, match="is not empty and holds no training run"):
            state(tmp_path, overwrite=overwrite)
    write_json(tmp_path / run_folder.MANIFEST, {"inputs": []})
    with pytest.raises(ConfigurationError, match="holds no training run"):
        state(tmp_path, overwrite=True)
    with pytest.raises(ConfigurationError, match="is a file"):
        state(tmp_path / "thesis.tex")


def test_other_versions_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_json(tmp_path / run_folder.RUN, {**WANTED, "versions": {**run_folder.versions(), "torch": "0.1"}})
    assert state(tmp_path) == "unfinished"
    assert "torch 0.1 -> " in caplog.text and "python" not in caplog.text
    caplog.clear()
    run_folder.begin(tmp_path, WANTED)
    assert state(tmp_path) == "unfinished" and not caplog.text


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def make(folder: Path) -> dict[str, Any]:
        calls.append(folder)
        (folder / "data").write_text("x")
        return {"rows": len(calls)}

    for number, made in ((1, True), (1, False)):
        manifest, now = run_folder.make_once(tmp_path / "out", WANTED, make, what="corpus", overwrite=False)
        assert (manifest["rows"], now) == (number, made)
    with pytest.raises(ConfigurationError, match="another corpus"):
        run_folder.make_once(tmp_path / "out", {**WANTED, "inputs": []}, make, what="corpus", overwrite=False)
    manifest, now = run_folder.make_once(
        tmp_path / "out", {**WANTED, "inputs": []}, make, what="corpus", overwrite=True
    )
    assert now and manifest["rows"] == 2 and [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("resumes", [True, False])
def test_only_what_resumes_finds_what_a_stopped_run_left(tmp_path: Path, resumes: bool) -> None:
    out, seen = tmp_path / "out", list[bool]()

    def make(folder: Path) -> dict[str, Any]:
        seen.append((folder / "half").exists())
        (folder / "half").touch()
        if len(seen) == 1:
            raise KeyboardInterrupt
        return {"runs": len(seen)}

    def made() -> tuple[dict[str, Any], bool]:
        return run_folder.make_unless(
            lambda: read_json(out / "m.json"), out, make, name="m.json", resumes=resumes
        )

    with pytest.raises(KeyboardInterrupt):
        made()
    assert not (out / "m.json").exists()
    assert [(held["runs"], now) for held, now in (made(), made())] == [(2, True), (2, False)]
    assert seen == [False, resumes]


def test_a_key_is_the_same_in_any_order() -> None:
    assert run_folder.key_of({"a": 1, "b": (2,)}) == run_folder.key_of({"b": [2], "a": 1})
    assert run_folder.key_of({"a": 1}) != run_folder.key_of({"a": 2})
    assert len(run_folder.key_of({})) == 16


def test_clearing_keeps_a_folder_that_was_there(tmp_path: Path) -> None:
    for existed in (False, True):
        (tmp_path / "run").mkdir(exist_ok=True)
        run_folder.begin(tmp_path / "run", {})
        run_folder.clear(tmp_path / "run", keep=existed)
        assert (tmp_path / "run").exists() is existed


@pytest.mark.parametrize(
    "name",
    [
        "model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
        "vocab.txt", "merges.txt", "sentencepiece.bpe.model",
    ],
)  # fmt: skip
def test_a_checkpoints_hash_is_that_of_all_it_is_read_from(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / name).write_bytes(b"one")
    first = run_folder.hash_checkpoint(tmp_path)
    # A card, and what says how the checkpoint is used.
    for other in ("README.md", "aligner.json", "isoglot_task.json"):
        (tmp_path / other).write_text("{}")
    assert run_folder.hash_checkpoint(tmp_path) == first
    (tmp_path / name).write_bytes(b"two")
    assert run_folder.hash_checkpoint(tmp_path) != first


def test_versions_name_what_results_depend_on() -> None:
    assert {"python", "torch", "transformers", "isoglot"} <= set(run_folder.versions())


def test_a_run_that_is_continued_under_other_versions_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_folder.begin(tmp_path, {"key": "k"})
    assert run_folder.state_of(tmp_path, {"key": "k"}, what="run") == "unfinished" and not caplog.text
    started = read_json(tmp_path / run_folder.RUN) or {}
    write_json(
        tmp_path / run_folder.RUN, started | {"versions": started["versions"] | {"transformers": "5.0.0"}}
    )
    assert run_folder.state_of(tmp_path, {"key": "k"}, what="run") == "unfinished"
    assert "transformers 5.0.0 -> " in caplog.text and "torch" not in caplog.text
