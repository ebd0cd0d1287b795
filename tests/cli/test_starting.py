"""`isoglot init`: the written recipe passes its own check and trains; what is left out as a comment works too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_outcome import Isoglot
from safetensors.torch import load_file, save_file

from isoglot.pretraining.new_recipe import init
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

LANGUAGES = ("--source-lang", "en", "--target-lang", "xx")
SHORT = ("epochs=null", "steps=2", "batch={examples: 4}", "train.use_cpu=true", "train.logging_steps=1")


@pytest.fixture
def encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "my encoder")
    tokenizer.save_pretrained(tmp_path / "my encoder")
    return tmp_path / "my encoder"


def write(folder: Path, *names: str, heading: str = "") -> list[Path]:
    """The bitext, in one file of two columns or in one of each side."""
    rows = list(tiny_bitext(40))
    lines = [[row["source"], row["target"]] for row in rows]
    texts = ["\t".join(line) for line in lines] if len(names) == 1 else zip(*lines, strict=True)
    for name, text in zip(names, [texts] if len(names) == 1 else texts, strict=True):
        (folder / name).write_text(heading + "".join(f"{line}\n" for line in text))
    return [folder / name for name in names]


def overrides(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def test_the_written_recipe_fits_few_pairs(encoder: Path, isoglot: Isoglot) -> None:
    """Freezing, warm-up and logging follow the length of the run, so that a small run trains and shows its losses."""
    weights = load_file(encoder / "model.safetensors")
    body = {n: w for n, w in weights.items() if not n.startswith("cls.")}
    save_file(body, encoder / "model.safetensors", metadata={"format": "pt"})
    inputs = write(encoder.parent, "pairs.tsv")
    assert isoglot("init", *inputs, "--model", encoder, *LANGUAGES).returncode == 0
    done = isoglot(
        "pretrain", "recipe.yaml", "--out", "run", *overrides("batch={examples: 4}", "train.use_cpu=true")
    )
    assert done.returncode == 0, done.stderr
    assert "loss" in done.stderr and "did not change" not in done.stderr
    trained = load_file("run/checkpoint/model.safetensors")
    assert any(not trained[name].equal(weight) for name, weight in body.items() if name.startswith("bert."))


def test_the_written_recipe_is_checked_and_trains(encoder: Path, isoglot: Isoglot) -> None:
    inputs = write(encoder.parent, "pairs.tsv")
    done = isoglot("init", *inputs, "--model", encoder, *LANGUAGES)
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout == "wrote recipe.yaml; look at it, then: isoglot pretrain recipe.yaml --out runs/recipe\n"
    )
    text = Path("recipe.yaml").read_text()
    assert (
        "new_head" not in text
        and not re.search(r"[{}]{2}|{%", text)
        and max(map(len, text.splitlines())) < 130
    )
    assert isoglot("pretrain", "recipe.yaml", "--check").returncode == 0
    trained = isoglot("pretrain", "recipe.yaml", "--out", "run", *overrides(*SHORT))
    assert trained.returncode == 0, trained.stderr
    assert Path("run/checkpoint/model.safetensors").exists()


def test_lines_that_init_comments_out_train_too(encoder: Path, isoglot: Isoglot) -> None:
    write(encoder.parent, "pairs.tsv")
    assert isoglot("init", "pairs.tsv", "--model", encoder, *LANGUAGES).returncode == 0
    recipe = Path("recipe.yaml")
    text = re.sub(r"^  # (\w+: \{)", r"  \1", recipe.read_text(), flags=re.MULTILINE)
    assert text != recipe.read_text()
    recipe.write_text(text)
    trained = isoglot("pretrain", "recipe.yaml", "--out", "run", *overrides(*SHORT))
    assert trained.returncode == 0, trained.stderr
    for objective in ("masked_lm", "contrast", "word_alignment"):
        assert f"{objective} loss" in trained.stderr


def test_two_files_a_heading_and_an_encoder_without_head(encoder: Path, isoglot: Isoglot) -> None:
    sides = write(encoder.parent, "a.en", "a.xx")
    path = encoder / "model.safetensors"
    save_file({n: t for n, t in load_file(path).items() if n.startswith("bert.")}, path, {"format": "pt"})
    assert isoglot("init", *sides, "--model", encoder, *LANGUAGES, "-o", "new/two.yaml").returncode == 0
    assert "new_head: true" in Path("new/two.yaml").read_text()
    trained = isoglot("pretrain", "new/two.yaml", "--out", "run", *overrides(*SHORT))
    assert trained.returncode == 0, trained.stderr
    write(encoder.parent, "named.csv", heading="english\tother\n")
    Path("named.csv").write_text(Path("named.csv").read_text().replace("\t", ","))
    columns = ("--header", "--column", "source=english", "--column", "target=other")
    made = isoglot("init", "named.csv", "--model", encoder, *LANGUAGES, *columns, "-o", "named.yaml")
    assert made.returncode == 0, made.stderr
    assert isoglot("pretrain", "named.yaml", "--check").returncode == 0


def test_init_writes_nothing_that_cannot_run(encoder: Path, isoglot: Isoglot) -> None:
    write(encoder.parent, "pairs.tsv")
    Path("mine.yaml").write_text("kept")
    for arguments, message in (
        (("none.tsv", "--model", encoder, *LANGUAGES), "no such file"),
        (("pairs.tsv", "--model", encoder / "none", *LANGUAGES), "none"),
        (("pairs.tsv", "--model", encoder, "--source-lang", "english", "--target-lang", "xx"), "english"),
        (("pairs.tsv", "--model", encoder, *LANGUAGES, "--column", "text=1"), "did you mean 'target'?"),
        (
            ("pairs.tsv", "--model", encoder, *LANGUAGES, "--header", "--column", "target=b"),
            "no column 'source' for the source",
        ),
        (("pairs.tsv", "--model", encoder, *LANGUAGES, "-o", "mine.yaml"), "mine.yaml exists already"),
        (
            ("pairs.tsv", "--model", encoder, *LANGUAGES, "-o", "./pairs.tsv", "--overwrite"),
            "pairs.tsv: is also an input, which would be overwritten",
        ),
    ):
        done = isoglot("init", *arguments)
        assert done.returncode == 2 and message in done.stderr, done.stderr
        assert ".partial" not in done.stderr and not Path("recipe.yaml").exists()
    assert Path("mine.yaml").read_text() == "kept"


def test_the_views_of_a_short_roberta_are_as_long_as_its_input(tmp_path: Path, encoder: Path) -> None:
    """RoBERTa counts positions from behind its padding, so of 66 positions an input has 64."""
    tokenizer = tiny_tokenizer("xlm-roberta")
    short = tiny_model("xlm-roberta", tokenizer=tokenizer, max_position_embeddings=66)
    short.save_pretrained(tmp_path / "short")
    tokenizer.save_pretrained(tmp_path / "short")
    inputs = write(tmp_path, "pairs.tsv")
    recipe = init(inputs, tmp_path / "short.yaml", model=tmp_path / "short", languages="en,xx")
    assert "max_length: 64" in recipe.read_text()
