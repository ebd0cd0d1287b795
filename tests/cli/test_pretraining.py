from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_outcome import Isoglot
from commands import invoke

from isoglot.pretraining.recipe import BUILT
from isoglot.recipe.source import builtin_recipes
from isoglot.recipe.spec import spec_of


def test_recipes_lists_and_prints() -> None:
    listed = invoke("recipes").stdout
    for name, path in builtin_recipes().items():
        assert re.search(rf"^{re.escape(name)} +\S", listed, re.MULTILINE)
        assert invoke("recipes", name).stdout == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("section", ["views", "objectives"])
def test_recipes_lists_what_they_are_made_of(section: str) -> None:
    listed = invoke("recipes", f"--{section}").stdout
    for name, maker in BUILT[section].registry.items():
        spec = spec_of(maker)
        assert f"\n{name}: {str(spec.__doc__)[:20]}" in listed
        block = listed.partition(f"\n{name}: ")[2].partition("\n\n")[0]
        for option in spec.model_fields:
            assert re.search(rf"^    {option}=(\S+)(  \S+)?", block, re.MULTILINE), (name, option)


def test_pretrain_has_a_plain_example() -> None:
    shown = " ".join(invoke("pretrain", "--help").stdout.split())
    assert "isoglot pretrain tlm --set streams.bitext.path=en-de.tsv --out runs/tlm" in shown


def test_check_prints_the_recipe_with_everything_explicit(tiny_recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = invoke("pretrain", tiny_recipe, "--out", out, "--check", "--set", "seed=5")
    assert result.exit_code == 0
    assert "seed: 5" in result.stdout and "count: bernoulli" in result.stdout
    assert not out.exists()


def test_checking_needs_no_folder_and_training_does(isoglot: Isoglot, tiny_recipe: Path) -> None:
    checked = isoglot("pretrain", tiny_recipe, "--check")
    assert checked.returncode == 0 and "pair_template: hf" in checked.stdout
    started = isoglot("pretrain", tiny_recipe)
    assert started.returncode == 2 and "add --out runs/NAME" in started.stderr


def test_inspect_prints_tables(isoglot: Isoglot, tiny_recipe: Path) -> None:
    result = isoglot("inspect", tiny_recipe, "--count", "1", "--start", "2")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert re.match(
        r"position 2, view pair \(masked_pair\) of stream bitext: \d+ pieces, \d+ to predict", lines[0]
    )
    assert lines[1].split() == ["#", "piece", "input", "predict", "segment", "side"]
    assert "[MASK]" in result.stdout
    assert "bitext: 64 rows of 64" in result.stderr, "notes go to standard error"


def test_pretrain_prints_plain_lines_and_the_checkpoint(
    isoglot: Isoglot, tiny_recipe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    result = isoglot("pretrain", tiny_recipe, "--out", out)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == str(out / "checkpoint")
    assert re.search(r"step 6/6 loss \d", result.stderr) and "\x1b" not in result.stderr
    assert "masked_lm loss" in result.stderr and "tokens/s" in result.stderr
    quiet = isoglot("pretrain", tiny_recipe, "--out", tmp_path / "quiet", "--quiet")
    assert quiet.returncode == 0 and quiet.stderr == ""
