from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isoglot.errors import ConfigurationError
from isoglot.pipeline.finetune_options import FinetuneOptions
from isoglot.pipeline.transfer import transfer
from isoglot.results import read
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


def test_the_gap_is_supervised_minus_zero_shot(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    pairs = tiny_bitext(40)
    for language, column in (("en", "source"), ("en-x", "target")):
        lines = [
            "".join(f"{w}\t{'DET' if len(w) < 5 else 'NOUN'}\n" for w in s.split()) for s in pairs[column]
        ]
        for split in ("train", "dev"):
            (tmp_path / f"{split}-{language}.tsv").write_text("\n".join(lines))
    task: Any = lambda: build_task("pos", [f"{tmp_path}/{{split}}-{{language}}.tsv"])  # noqa: E731
    settings = FinetuneOptions.build(learning_rate=5e-3, batch_size=8, epochs=3)
    out = tmp_path / "out"
    rows = transfer(tmp_path / "model", task, languages=("en", "en-x"), train=settings, out=out)
    values = {row.metric: row.value for row in rows}
    assert values["f1_delta"] == pytest.approx(values["f1_supervised"] - values["f1_zero_shot"])
    assert values["f1_delta"] > 0
    transfer(tmp_path / "model", task, languages=("en", "en-x"), train=settings, out=out)
    assert len(read(out / "results.jsonl")) == 3, "done once"
    with pytest.raises(ConfigurationError, match="two different"):
        transfer(tmp_path / "model", task, languages=("en", "en"), out=out)
