from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from isoglot.pipeline import finetune_train
from isoglot.pipeline.finetune import finetune
from isoglot.pipeline.finetune_options import FinetuneOptions
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


class _KilledError(Exception):
    pass


def test_a_killed_run_goes_on_as_if_nothing_had_been(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    lines = ["".join(f"{w}\tNOUN\n" for w in s.split()) for s in tiny_bitext(32)["source"]]
    (tmp_path / "en.tsv").write_text("\n".join(lines))
    task: Any = lambda: build_task("pos", [f"train={tmp_path}/en.tsv"])  # noqa: E731
    settings = FinetuneOptions.build(learning_rate=1e-3, batch_size=8, epochs=3, select="last")
    whole = finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "whole")

    original = finetune_train._Report.on_step_end

    def kill(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        original(self, args, state, control, **kwargs)
        if state.global_step == 10:
            raise _KilledError

    with monkeypatch.context() as patch:
        patch.setattr(finetune_train._Report, "on_step_end", kill)
        with pytest.raises(_KilledError):
            finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "cut")
    assert (tmp_path / "cut" / "work" / "checkpoint-8").is_dir()
    gone_on = finetune(tmp_path / "model", task(), language="en", train=settings, out=tmp_path / "cut")
    one, other = (load_file(folder / "model.safetensors") for folder in (whole, gone_on))
    assert all(torch.equal(one[name], other[name]) for name in one)
