from __future__ import annotations

from pathlib import Path

import pytest
from commands import invoke

from isoglot.core.errors import ConfigurationError
from isoglot.results.rows import read
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


@pytest.fixture
def data(tmp_path: Path) -> str:
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    for language, column in (("en", "source"), ("en-x-trans-inv", "target")):
        sentences = ["".join(f"{w}\t{'DET' if len(w) < 5 else 'NOUN'}\n" for w in s.split())
                     for s in tiny_bitext(8)[column]]  # fmt: skip
        for split in ("train", "dev"):
            (tmp_path / f"{language}-{split}.tsv").write_text("\n".join(sentences))
    return str(tmp_path / "{language}-{split}.tsv")


@pytest.mark.slow
def test_several_checkpoints_and_seeds_and_the_report_of_them(tmp_path: Path, data: str) -> None:
    model, out = str(tmp_path / "tiny"), tmp_path / "gap"
    command = ["transfer", model, model, "--run", "mlm", "--run", "align_mlm", "--task", "pos", "--data", data, "--out",
               str(out), "--languages", "en,en-x-trans-inv", "--epochs", "1", "--set", "batch_size=4"]  # fmt: skip
    done = invoke(*command, "--seed", "1")
    assert done.exit_code == 0, done.output
    done = invoke(*command, "--seed", "1,2")  # what is there is not done again
    assert done.exit_code == 0, done.output
    assert "align_mlm/seed-2" in done.output and "already done" in done.output
    rows = read(out)
    assert len(rows) == 2 * 2 * 3
    assert {(r.run, r.seed) for r in rows} == {(run, seed) for run in ("mlm", "align_mlm") for seed in (1, 2)}
    page = tmp_path / "r.html"
    done = invoke("report", out, "--out", page)
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert ">trans+inv<" in text and "Δ = SUP − ZS" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--languages", "en"], "two or more different"),
        (["--languages", "en,xx", "--preset", "align_ml"], "did you mean 'align_mlm'"),
        (["--languages", "en,xx", "--run", "a", "--run", "b"], "got 2 names for 1"),
        (["--languages", "en,xx", "--seed", "one"], "--seed: got 'one'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, data: str, arguments: list[str], message: str) -> None:
    given = [
        "transfer",
        str(tmp_path / "tiny"),
        "--task",
        "pos",
        "--data",
        data,
        "--out",
        str(tmp_path / "o"),
    ]
    done = invoke(*given, *arguments)
    assert isinstance(done.exception, ConfigurationError)
    assert message in str(done.exception)
    assert not (tmp_path / "o").exists()
