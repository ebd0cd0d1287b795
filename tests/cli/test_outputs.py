"""Outputs: refused before the work where they cannot be written, named so that they stay in their folder, and figures
that were measured are printed even where they cannot be written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_outcome import Isoglot

from isoglot.core.errors import ConfigurationError, DiskError
from isoglot.runs.files import inside, require_writable
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

NOWHERE = "/proc/nowhere"
LANGUAGES = ("--source-lang", "en", "--target-lang", "xx")


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    tokenizer = tiny_tokenizer("bert")
    tiny_model("bert", tokenizer=tokenizer).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def bitext(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{row['source']}\t{row['target']}\n" for row in tiny_bitext(12)))
    return path


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    rows = [
        {"src": row["source"].split(), "tgt": row["target"].split(), "sure": [[0, 0]]}
        for row in tiny_bitext(4)
    ]
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize(
    "command",
    [
        "align PAIRS --out NEW/",
        "align PAIRS --method hmm --out links --lexicon NEW/",
        "score links --gold GOLD --sentences NEW/",
        "evaluate none --task pos --data x --languages de --out NEW/",
        "init PAIRS --model none --source-lang en --target-lang xx --out NEW/",
        "report page runs --out NEW/",
    ],
)
def test_a_slash_at_the_end_names_no_file(
    isoglot: Isoglot, bitext: Path, gold: Path, tmp_path: Path, command: str
) -> None:
    words = [w.replace("NEW", str(tmp_path / "new")).replace("PAIRS", str(bitext)) for w in command.split()]
    done = isoglot(*(word.replace("GOLD", str(gold)) for word in words))
    assert done.returncode == 2 and "new/ names a folder; name a file to write" in done.stderr, done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "command",
    [
        "align PAIRS --model NONE --out OUT",
        "align PAIRS --method hmm --out links --save OUT",
        "align PAIRS --method hmm --out links --lexicon OUT",
        "score NONE --gold NONE --sentences OUT",
        "tune OUT --gold NONE",
        "evaluate NONE --task pos --data x --languages de --out OUT",
        "evaluate NONE --task pos --data x --languages de --out results.jsonl --predictions OUT",
        "transfer NONE --run a --task pos --data x --languages en,de --out OUT",
        "analyse layers NONE --gold NONE --out OUT",
        "analyse correlation --paper --out OUT",
        "fit-order NONE --lang en --out OUT",
        "init NONE --model NONE --source-lang en --target-lang xx --out OUT",
        "report page NONE --out OUT",
        "report page NONE --out page.html --tables OUT",
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    isoglot: Isoglot,
    bitext: Path,
    encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    """Nothing that the work needs is there: any look at it would be another message."""
    monkeypatch.chdir(tmp_path)
    out = NOWHERE
    if command.startswith("tune"):
        out = str(encoder)
        (encoder / "aligner.json").mkdir()
    values = {"OUT": out, "NONE": "missing", "PAIRS": str(bitext)}
    done = isoglot(*(values.get(word, word) for word in command.split()))
    assert done.returncode == 2 and ("is not writable" in done.stderr or "is a folder" in done.stderr)
    assert (NOWHERE in done.stderr or "aligner.json" in done.stderr) and done.stderr.count("isoglot: ") == 1


def test_an_output_that_can_be_written_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "held").write_text("as it was")
    for path in (tmp_path / "held", tmp_path / "new", tmp_path / "deep" / "new", Path("/dev/null")):
        require_writable(path)
    require_writable(tmp_path / "deep", folder=True)
    assert [p.name for p in tmp_path.iterdir()] == ["held"]
    assert (tmp_path / "held").read_text() == "as it was"
    for path, folder in ((tmp_path / "held", True), (tmp_path, False), (tmp_path / "held" / "x", False)):
        with pytest.raises(ConfigurationError):
            require_writable(path, folder=folder)


@pytest.mark.parametrize("name", ["..", ".", "../x", "a/b", "", "a\0b", "x" * 300])
def test_a_name_is_one_component_of_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="which names a file or folder"):
        inside(tmp_path, name)
    assert inside(tmp_path, "de..en") == tmp_path / "de..en"


@pytest.mark.parametrize(
    "command",
    [
        "transfer ENCODER --run NAME --task pos --data x --languages en,de --out OUT",
        "transfer ENCODER --task pos --data DATA --languages en,NAME --out OUT",
        "evaluate ENCODER --task pos --data DATA --languages de --name NAME --out OUT",
        "fit-order trees.conllu --lang NAME --out OUT",
        "analyse layers ENCODER --gold gold --name NAME --out OUT",
    ],
)
def test_names_do_not_lead_out_of_their_folder(
    isoglot: Isoglot, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    for code in ("en", "de"):
        for split in ("train", "dev", "test"):
            (data / f"{code}-{split}.tsv").write_text("a\tNOUN\n")
    before = set(tmp_path.rglob("*"))
    for name in ("..", "../data"):
        values = {
            "ENCODER": str(encoder),
            "OUT": "out",
            "DATA": str(data),
            "NAME": name,
            "en,NAME": f"en,{name}",
        }
        done = isoglot(*(values.get(word, word) for word in command.split()))
        assert done.returncode == 2 and "Traceback" not in done.stderr
        # a slash in a run is of a hub name, and is replaced
        assert name not in done.stdout and (
            "which names a file or folder" in done.stderr or "--data" in command
        ), done.stderr
    assert set(tmp_path.rglob("*")) == before


def full(*_: object, **__: object) -> None:
    raise DiskError("results.jsonl: the disk is full")


def evaluate(encoder: Path, bitext: Path, gold: Path) -> list[str | Path]:
    for side, column in (("en", 1), ("xx", 0)):
        lines = [line.split("\t")[column] for line in bitext.read_text().splitlines()]
        (bitext.parent / f"tatoeba.xx-en.{side}").write_text("\n".join(lines) + "\n")
    return ["evaluate", encoder, "--task", "tatoeba", "--languages", "xx", "--data", bitext.parent]


def tune(encoder: Path, bitext: Path, gold: Path) -> list[str | Path]:
    return ["tune", encoder, "--gold", gold]


def score(encoder: Path, bitext: Path, gold: Path) -> list[str | Path]:
    (links := bitext.with_name("links")).write_text("0-0\n" * 4)
    return ["score", links, "--gold", gold, "--sentences", bitext.with_name("rates")]


def analyse(encoder: Path, bitext: Path, gold: Path) -> list[str | Path]:
    lexicon = bitext.with_name("lexicon.txt")
    pairs = {(r["source"].split()[0], r["target"].split()[0]) for r in tiny_bitext(12)}
    lexicon.write_text("".join(f"{source}\t{target}\n" for source, target in sorted(pairs)))
    return ["analyse", "alignment", encoder, "--lexicon", lexicon, *LANGUAGES, "--out", bitext.with_name("a")]


@pytest.mark.parametrize(
    ("given", "writer", "figure"),
    [
        (evaluate, "isoglot.evaluation.journal.append", "accuracy"),
        (tune, "isoglot.aligners.tuning.keep_choice", "mean AER  layer"),
        (score, "isoglot.aligners.scoring.write_sentences", "precision  recall"),
        (analyse, "isoglot.analysis.analyse.append", "alignment"),
    ],
)
def test_results_are_printed_even_where_they_cannot_be_written(
    isoglot: Isoglot,
    encoder: Path,
    bitext: Path,
    gold: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: Callable[[Path, Path, Path], list[str | Path]],
    writer: str,
    figure: str,
) -> None:
    monkeypatch.chdir(bitext.parent)
    monkeypatch.setattr(writer, full)
    done = isoglot(*given(encoder, bitext, gold))
    assert done.returncode == 2 and "the disk is full" in done.stderr, done.stderr
    assert figure in done.stdout
