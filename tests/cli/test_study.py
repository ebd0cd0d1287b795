from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import invoke

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.document import parse_value

SMALL = [
    word
    for size in ("steps=2", "warmup=0", "vocabulary=150", "batch=4", "text=60", "pos=12", "ner=0", "nli=12", "dev=6",
                 "hidden=16", "heads=2", "feed_forward=16", "tuning_epochs=1")
    for word in ("--set", size)
]  # fmt: skip
ONE_CELL = ["study", "align_mlm/table3", "--only", "MLM / trans:pos.zs", "--seeds", "1"]


def test_studies_are_listed_in_order_with_titles_and_without_libraries() -> None:
    code = (
        "import sys\nfrom isoglot.cli import app\nsys.argv[1:] = ['study', '--list']\n"
        "try:\n    app()\nexcept SystemExit:\n    pass\n"
        "assert not {'torch', 'transformers', 'datasets', 'scipy'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert names[:3] == ["align_mlm/table1", "align_mlm/table2", "align_mlm/table3"]
    assert names.index("xlm_align/table2") < names.index("xlm_align/table13")
    assert max(map(len, lines)) <= 80
    assert any(
        line.startswith("xlm_align/table13") and line.endswith("POS tagging by language.") for line in lines
    )


def test_a_dry_run_shows_steps_and_files(tmp_path: Path) -> None:
    done = invoke(*ONE_CELL, "--out", tmp_path / "o", "--dry-run")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "data english"
    assert "pretrain mlm trans s1" in lines
    assert "evaluate mlm trans s1 pos en zero_shot s1 in en-x-trans" in lines
    assert "align_mlm/table3, tiny: 1 cells; 1 can be measured, 0 lack files, 0 are unavailable" in lines
    assert lines[-1] == "every file is there; everything resolves"
    assert not (tmp_path / "o").exists()


def test_a_dry_run_counts_figures_whose_checkpoints_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At scale paper too, with variables that are unset, and set to a folder without the encoder."""
    monkeypatch.delenv("ISOGLOT_CORPORA", raising=False)
    monkeypatch.delenv("ISOGLOT_CHECKPOINTS", raising=False)
    for name, checkpoint in (
        ("weam/figure2", "bert-base-multilingual-cased"),
        ("xlm_align/figure2", "xlm-roberta-base"),
    ):
        done = invoke("study", name, "--scale", "paper", "--dry-run", "--out", tmp_path / "o")
        lacks = f"{name}, paper: 1 figures; 0 can be drawn, 1 lack files, 0 are unavailable"
        assert lacks in done.stdout.splitlines(), done.output
        assert f"missing: ${{ISOGLOT_CHECKPOINTS}}/{checkpoint}" in done.stdout
    monkeypatch.setenv("ISOGLOT_CHECKPOINTS", str(tmp_path))
    done = invoke("study", name, "--scale", "paper", "--dry-run", "--out", tmp_path / "o")
    assert (
        lacks in done.stdout.splitlines() and f"missing: ${{ISOGLOT_CHECKPOINTS}}/{checkpoint}" in done.stdout
    )


CELLS_AND_A_FIGURE = '''"""My studies."""

from isoglot.studies import UnavailableError

SIZES = {"seeds": ([1], [1], [1])}


def unavailable():
    raise UnavailableError("no data")


def mine(lab):
    """Two cells and a figure."""
    for row in ("a", "b"):
        lab.cell("mine", row=row, column="x", value=lambda: 1.0)
    lab.figure("points", unavailable)
'''


def test_a_dry_run_names_what_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(CELLS_AND_A_FIGURE)
    done = invoke("study", path, "--out", tmp_path / "o", "--dry-run")
    assert "  unavailable: no data (1 figures)" in done.stdout.splitlines(), done.output
    path = tmp_path / "none.py"
    path.write_text(CELLS_AND_A_FIGURE.replace("lambda: 1.0", "unavailable"))
    done = invoke("study", path, "--out", tmp_path / "o", "--dry-run")
    assert "  unavailable: no data (2 cells, 1 figures)" in done.output.splitlines(), done.output


def test_a_dry_run_shows_every_value_of_a_cell(tmp_path: Path) -> None:
    """The recipe with what it extends, limits of streams, and all settings of fine-tuning; nothing is trained."""
    done = invoke(*ONE_CELL, "--out", tmp_path / "o", "--dry-run", "--show")
    assert done.exit_code == 0, done.output
    steps = dict(text.split("\n", 1) for text in done.stdout.split("# ")[1:])
    recipe = parse_value(steps["pretrain mlm trans s1"])
    assert recipe["model"]["hidden_size"] == 128 and recipe["views"]["text"]["probability"] == 0.3
    assert recipe["train"]["adam_beta2"] == 0.98 and recipe["streams"]["text"]["encode"]["overlong"] == "drop"
    evaluation = parse_value(
        steps["evaluate mlm trans s1 pos en zero_shot s1 in en-x-trans"].split("\n\n")[0]
    )
    assert evaluation["finetune"]["train"]["adam_epsilon"] == 1e-8, "a default of fine-tuning"
    assert "sources" not in steps["data english"] and "world" not in evaluation
    assert not (tmp_path / "o").exists()
    alone = invoke(*ONE_CELL, "--out", tmp_path / "o", "--show")
    assert "--show: has an effect only with --dry-run" in str(alone.exception)


@pytest.mark.slow
def test_a_dry_run_invents_no_number_and_counts_figures(tmp_path: Path) -> None:
    cell = ["study", "align_mlm/table3", "--only", "ALIGN-MLM / trans:pos.zs", "--set", "seeds=[1]"]
    done = invoke(*cell, "--out", tmp_path / "o", "--dry-run", "--show")
    assert done.exit_code == 0, done.output
    assert "copied_vocabulary: known after data derived trans\n" in done.stdout
    done = invoke("study", "align_mlm/figure3", "--out", tmp_path / "o", "--dry-run")
    assert done.exit_code == 0, done.output
    assert re.search(r"([1-9]) figures; \1 can be drawn, 0 lack files, 0 are unavailable", done.stdout)


@pytest.mark.parametrize("run", [["--dry-run"], []])
def test_study_lists_the_files_where_nothing_can_be_measured(
    run: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOGLOT_CORPORA", str(tmp_path))
    monkeypatch.setenv("ISOGLOT_CHECKPOINTS", str(tmp_path))
    out = tmp_path / "out"
    done = invoke("study", "weam/table2", "--scale", "paper", "--out", out, *run)
    assert isinstance(done.exception, ConfigurationError), done.output
    for path in (
        "${ISOGLOT_CHECKPOINTS}/bert-base-multilingual-cased",
        "${ISOGLOT_CORPORA}/nli: no train data for 'en'",
    ):
        assert f"not there: {path}" in str(done.exception)
    if run:
        assert "  MISSING ${ISOGLOT_CORPORA}/xu2019.en-zh.tsv" in done.stdout
        assert "missing: ${ISOGLOT_CORPORA}/nli: no test data for 'es'\n" in done.stdout
    assert not list(out.glob("pretrain/*"))


@pytest.mark.slow
def test_one_cell_is_measured_and_the_rest_is_not(tmp_path: Path) -> None:
    done = invoke(*ONE_CELL, "--out", tmp_path, *SMALL)
    assert done.exit_code == 0, done.output
    assert "pos ZS" in done.stdout and "SUP" not in done.stdout
    assert [path.name.partition("-s1")[0] for path in tmp_path.glob("pretrain/*")] == ["mlm-trans"]
    again = invoke(*ONE_CELL, "--out", tmp_path, *SMALL, "--engine", "local")
    assert again.stdout == done.stdout and "nothing was left to do" in again.stderr
    larger = ["dev=7" if word == "dev=6" else word for word in SMALL]
    other = invoke(*ONE_CELL, "--out", tmp_path, *larger, "--dry-run")
    assert "pretrain" in other.stdout, "other sizes are other calls"


@pytest.mark.parametrize("scale", ["tiny", "paper"])
def test_tables_of_an_empty_folder_say_that_nothing_is_measured(
    scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ISOGLOT_CORPORA", raising=False)
    out = tmp_path / "out"
    done = invoke("study", "align_mlm/table2", "--scale", scale, "--out", out, "--tables-only")
    assert done.exit_code == 0, done.output
    assert not out.exists() and "wrote" not in done.stderr, "nothing is measured, so nothing is written"
    if scale == "paper":
        assert "not there: ${ISOGLOT_CORPORA}/" in done.stdout
        return
    assert "…" in done.stdout and "6.7" in done.stdout
    assert "steps 600 (500000)" in done.stdout, "what is not the paper's is said"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no study named"),
        (["align_mlm/table3"], "--out is missing"),
        (["align_mlm/table3", "--scale", "huge", "--out", "x"], "unknown scale 'huge'"),
        (["align_mlm/table3", "--only", "3/2", "--out", "x"], "K/N"),
        (["align_mlm/table3", "--only", "1/3", "--only", "2/3", "--out", "x"], "run one part at a time"),
        (["align_mlm/table3", "--only", "nowhere", "--out", "x"], "no cell matches"),
        (["align_mlm/table3", "--seeds", "a", "--out", "x"], "--seeds: got 'a'"),
        (["align_mlm/tble3", "--out", "x"], "did you mean"),
        (["align_mlm/table3", "--out", "x", "--set", "steps"], "for example --set steps=200"),
        (["align_mlm/table3", "--out", "x", "--set", "stepps=3"], "did you mean 'steps'"),
        (
            ["align_mlm/table3", "--out", "x", "--engine", "slurm"],
            "--engine: got 'slurm'; known: local, ray",
        ),
        (
            ["align_mlm/table3", "--out", "x", "--format", "word"],
            "--format: got 'word'; known: csv, latex, text",
        ),
    ],
)
def test_mistakes_are_told(arguments: list[str], message: str) -> None:
    done = invoke("study", *arguments)
    assert isinstance(done.exception, ConfigurationError)
    assert message in str(done.exception)
