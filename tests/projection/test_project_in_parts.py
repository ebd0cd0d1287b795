"""`project` in parts: a stopped run goes on to the same labels, and a cluster links as one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import isoglot as iso
from isoglot.aligners.in_parts import BlockLinker
from isoglot.core.errors import ConfigurationError
from isoglot.runs import parts
from isoglot.runs.pool import WorkPool
from isoglot.testing import tiny_aligned


class Elsewhere(WorkPool):
    """Works here, in place of a cluster."""

    def __init__(self, workers: int | None, setup: Any, settings: Any, **_: Any) -> None:
        super().__init__(1, setup, settings)


@pytest.mark.slow
def test_a_stopped_projection_goes_on(tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tiny_aligned(700, seed=7)
    tags = ("NOUN", "VERB", "ADJ")
    sentences = [
        "".join(f"{word}\t{tags[n % 3]}\n" for n, word in enumerate(words)) for words in rows["source_words"]
    ]
    (labels := tmp_path / "en.tsv").write_text("\n".join(sentences), encoding="utf-8")
    (translation := tmp_path / "xx.txt").write_text(
        "".join(f"{' '.join(words)}\n" for words in rows["target_words"])
    )
    call: dict[str, Any] = {"kind": "pos", "target_language": "xx", "model": str(encoder), "method": "itermax",
                            "layer": 2, "dtype": "float32", "device": "cpu", "progress": False}  # fmt: skip
    expected = iso.project(labels, translation, tmp_path / "whole.tsv", **call)
    monkeypatch.setattr(parts, "SECONDS_OF_WORK", 0.0)
    monkeypatch.setattr("isoglot.runs.cluster.ResidentPool", Elsewhere)
    link, done = BlockLinker.__call__, []

    def stopping(self: BlockLinker, block: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(block.first)
        return link(self, block)

    out = tmp_path / "out.tsv"
    with monkeypatch.context() as patch:
        patch.setattr(BlockLinker, "__call__", stopping)
        with pytest.raises(KeyboardInterrupt):
            iso.project(labels, translation, out, **call)
        with pytest.raises(ConfigurationError, match="add resume=True"):
            iso.project(labels, translation, out, **call)
        done[:] = [0]  # one of three is left
        counts = iso.project(labels, translation, out, resume=True, **call)
    assert counts == expected
    assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    iso.project(labels, translation, tmp_path / "ray.tsv", engine="ray", **call)
    assert (tmp_path / "ray.tsv").read_bytes() == out.read_bytes()
