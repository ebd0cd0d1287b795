"""`filter` and `mine` in parts: a stopped run goes on to the same output, here and on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.open_corpus import open_corpus
from isoglot.formats.sources import Source
from isoglot.mining import scored_windows, vectors
from isoglot.mining.filter_pairs import filter_files
from isoglot.mining.mine import mine_files
from isoglot.mining.options import FilterRequest, MineRequest
from isoglot.runs import parts
from isoglot.runs.pool import WorkPool
from isoglot.testing import tiny_aligned


class Elsewhere(WorkPool):
    """Works here, in place of a cluster, with what a worker has loaded by itself."""

    def __init__(self, workers: int | None, setup: Any, settings: Any, **_: Any) -> None:
        super().__init__(1, setup, settings)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Pairs of which some repeat, some have an empty side, and some are copies."""
    rows = tiny_aligned(150, seed=5)
    lines = [f"{s}\t{t}\n" for s, t in zip(rows["source"], rows["target"], strict=True)]
    lines[20], lines[140] = "a copy of this\ta copy of this\n", lines[3]
    lines[90] = "nothing\t\n"
    (path := tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return path


class Filtering:
    """Runs `filter` on a file of pairs, and stops it in front of a block."""

    def __init__(self, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pairs, self._patch = pairs, monkeypatch
        monkeypatch.setattr(parts, "SECONDS_OF_WORK", 0.0)

    def __call__(self, name: str, request: FilterRequest, **more: Any) -> dict[str, str]:
        folder = self._pairs.parent
        out = folder / f"{name}.tsv"
        source = Source(path=str(self._pairs), source_language="en", target_language="xx")
        beside = {"dropped": folder / f"{name}-dropped.tsv", "report": folder / f"{name}.json"}
        filter_files(open_corpus([source], "bitext"), [str(out)], request, **beside, **more)
        return {key: path.read_text() for key, path in {"kept": out, **beside}.items()}

    def stop(self, function: str, count: int) -> list[int]:
        """Interrupt the work in front of the block after so many."""
        work, done = getattr(scored_windows, function), []

        def stopping(loaded: Any, window: Any) -> Any:
            if len(done) == count:
                raise KeyboardInterrupt
            done.append(window.pairs_before)
            return work(loaded, window)

        self._patch.setattr(scored_windows, function, stopping)
        return done


def requests(encoder: str) -> dict[str, FilterRequest]:
    both: dict[str, Any] = {"model": encoder, "aligner": encoder, "dtype": "float32", "pool": 40}
    rules: dict[str, Any] = {"duplicates": "pair", "max_copied": 0.6}
    return {
        "scores": FilterRequest(**both, **rules, min_margin=0.9),
        "rules": FilterRequest(aligner=None, **rules),
    }


@pytest.mark.parametrize(("name", "work"), [("scores", "scores_of"), ("rules", "reasons_of")])
def test_filtering_goes_on(
    pairs: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch, name: str, work: str
) -> None:
    monkeypatch.setattr(scored_windows, "_CHUNK", 32)
    filtering, request = Filtering(pairs, monkeypatch), requests(str(encoder))[name]
    expected = filtering("whole", request)
    assert expected["kept"].count("\n") + expected["dropped"].count("\n") >= 150
    assert "duplicate" in expected["dropped"] and "copied" in expected["dropped"]
    with monkeypatch.context() as patch:
        stopped = Filtering(pairs, patch)
        done = stopped.stop(work, 2)
        with pytest.raises(KeyboardInterrupt):
            stopped("out", request)
        assert len(done) == 2
    assert not (pairs.parent / "out.tsv").exists()
    with pytest.raises(ConfigurationError, match="holds finished parts"):
        filtering("out", request)
    with monkeypatch.context() as patch:
        again = Filtering(pairs, patch)
        done = again.stop(work, 10**9)
        found = again("out", request, resume=True)
        assert done[0] > 0
    assert found == expected
    assert not (pairs.parent / ".out.tsv.parts").exists()


@pytest.mark.slow
def test_a_cluster_filters_as_one_machine(
    pairs: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pool in ("RayPool", "ResidentPool"):
        monkeypatch.setattr(f"isoglot.runs.cluster.{pool}", Elsewhere)
    filtering = Filtering(pairs, monkeypatch)
    for request in requests(str(encoder)).values():
        expected = filtering("whole", request)
        assert filtering("ray", request.model_copy(update={"engine": "ray"})) == expected


def test_mining_keeps_its_vectors(tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tiny_aligned(40, seed=6)
    paths = tmp_path / "a.txt", tmp_path / "b.txt"
    for path, side in zip(paths, ("source", "target"), strict=True):
        path.write_text("".join(f"{text}\n" for text in rows[side]), encoding="utf-8")
    monkeypatch.setattr(vectors, "_BATCH", 10)
    monkeypatch.setattr(parts, "SECONDS_OF_WORK", 0.0)
    monkeypatch.setattr("isoglot.runs.cluster.ResidentPool", Elsewhere)
    files = str(paths[0]), str(paths[1])
    request = MineRequest(model=str(encoder), dtype="float32")
    mine_files(files, str(tmp_path / "whole.tsv"), request)
    found, done = vectors._vectors_and_unknown, []

    def counted(encoder: Any, texts: Any) -> Any:
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(len(texts))
        return found(encoder, texts)

    with monkeypatch.context() as patch:
        patch.setattr(vectors, "_vectors_and_unknown", counted)
        with pytest.raises(KeyboardInterrupt):
            mine_files(files, str(tmp_path / "out.tsv"), request)
        assert not (tmp_path / "out.tsv").exists()
        done[:] = [0, 0]  # three are left, of eight
        mine_files(files, str(tmp_path / "out.tsv"), request, resume=True)
    expected = (tmp_path / "whole.tsv").read_text()
    assert (tmp_path / "out.tsv").read_text() == expected
    assert expected.count("\n") > 10
    mine_files(files, str(tmp_path / "ray.tsv"), request.model_copy(update={"engine": "ray"}))
    assert (tmp_path / "ray.tsv").read_text() == expected
