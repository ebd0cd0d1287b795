"""Text in scripts that an encoder's vocabulary lacks, through every verb that reads an encoder, and from Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from commands import invoke
from datasets import Dataset
from unknown_text import ENGLISH, FAMILIES, KNOWN, SCRIPTS, small_encoder

import isoglot as iso
from isoglot.core.errors import UnknownWordsWarning
from isoglot.mining.align_sentences import SentenceGroup
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext

TEXTS = list(SCRIPTS.values())
LINES = 6
"""Pairs that are known, before those of each unknown script."""
SENTENCES = list(tiny_bitext(LINES)["source"])
TRANSLATIONS = list(tiny_bitext(LINES)["target"])
SOURCE = [*SENTENCES, *(f"{ENGLISH} {n}" for n in ("today", "again", "never", "slowly", "now"))]
TARGET = [*TRANSLATIONS, *(f"{text}." for text in TEXTS)]
UNKNOWN = range(LINES, len(TARGET))


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_encoder(tmp_path_factory.mktemp("encoder"), request.param)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    pairs = list(zip(SOURCE, TARGET, strict=True))
    sides = {"one.en": SOURCE, "other.ko": TARGET, "pairs.tsv": list(map("\t".join, pairs))}
    for name, lines in sides.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    gold = [
        {"src": one.split(), "tgt": other.split(), "sure": [[0, 0]], "possible": []} for one, other in pairs
    ]
    (folder / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in gold), encoding="utf-8")
    tags = ["\n".join(f"{word}\tB-PER" for word in one.split()) for one in SOURCE]
    (folder / "tags.tsv").write_text("\n\n".join(tags) + "\n", encoding="utf-8")
    return folder


def warned(*arguments: str | Path) -> tuple[str, str]:
    """Runs a command that has to warn once; what it prints, and its warning."""
    done = invoke(*arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (warning,) = (line for line in done.stderr.splitlines() if "unknown to the encoder's vocabulary" in line)
    assert warning.startswith("WARNING: ") and all(script in warning for script in SCRIPTS)
    return done.stdout, warning


@pytest.mark.parametrize("words", ["unicode", "whitespace"])
def test_align_links_none_of_it(model: Path, files: Path, words: str) -> None:
    printed, warning = warned("align", files / "pairs.tsv", "--model", model, "--words", words, "-f", "jsonl")
    assert "without a known word: 5" in warning and "first in pair 7: " in warning
    rows = [json.loads(line) for line in printed.splitlines()]
    assert all(row["links"] for row in rows[:LINES])
    for number in UNKNOWN:
        row = rows[number]
        assert {row["tgt"][j] for _, j in row["links"]} <= {"."}
        assert row["score"] <= 2 / (len(row["src"]) + len(row["tgt"]))


def test_filter_drops_it(model: Path, files: Path, tmp_path: Path) -> None:
    options = ["--aligner", model, "--out", tmp_path / "kept.tsv", "--quiet"]
    for more in (["--model", model, "--layer", "2"], []):
        _, warning = warned(
            "filter", files / "pairs.tsv", *options, *more, "--dropped", tmp_path / "no.jsonl"
        )
        assert "pair 7: " in warning
        assert len((tmp_path / "kept.tsv").read_text(encoding="utf-8").splitlines()) == LINES
        rows = [json.loads(line) for line in (tmp_path / "no.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [(row["target"], row["reasons"]) for row in rows] == [
            (t, "unknown_text") for t in TARGET[LINES:]
        ]


def test_mine_never_pairs_it(model: Path, files: Path) -> None:
    paths = files / "one.en", files / "other.ko"
    for retrieval in ("forward", "max"):
        options = "--model", model, "--layer", "2", "--retrieval", retrieval, "--quiet"
        printed, warning = warned("mine", *paths, *options)
        assert "line 7 of the target: " in warning
        targets = [line.split("\t")[1] for line in printed.splitlines()]
        assert targets and set(targets) <= set(TRANSLATIONS)


@pytest.mark.parametrize("joined", ["encode", "sum"])
def test_align_sentences_leaves_it_alone(model: Path, files: Path, joined: str) -> None:
    paths = files / "one.en", files / "other.ko"
    printed, warning = warned(
        "align-sentences", *paths, "--model", model, "--joined", joined, "--quiet", "--skip", "2"
    )
    assert "line 7 of the target: " in warning
    groups = [line.split("\t") for line in printed.splitlines()]
    alone = {group[4] for group in groups if not group[3]}
    paired = [group[4].split(",") for group in groups if group[3] and group[4]]
    assert all(any(int(line) <= LINES for line in lines) for lines in paired), "only beside a known line"
    assert alone | {line for lines in paired for line in lines} == {str(n) for n in range(1, len(TARGET) + 1)}


def test_score_and_tune_link_none_of_it(model: Path, files: Path, tmp_path: Path) -> None:
    warned("score", "--gold", files / "gold.jsonl", "--model", model, "--layers", "1,2")
    shutil.copytree(model, tmp_path / "copy")
    warned("tune", tmp_path / "copy", "--gold", files / "gold.jsonl", "--layers", "2", "--quiet")


def test_project_carries_nothing_to_it(model: Path, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    warned("project", files / "tags.tsv", files / "other.ko", "--kind", "ner", "--model", model, "--out", out)
    sentences = [block.splitlines() for block in out.read_text(encoding="utf-8").strip().split("\n\n")]
    names = [[line for line in lines if line.endswith("PER")] for lines in sentences]
    assert all(names[:LINES]) and {line[0] for lines in names[LINES:] for line in lines} <= {"."}


def test_evaluate_finds_none_of_it(model: Path, files: Path, tmp_path: Path) -> None:
    for name in ("one.en", "other.ko"):
        shutil.copy(files / name, tmp_path / f"x.{name[-2:]}")
    options = ["--data", tmp_path, "--languages", "ko", "--set", "layer=2", "--out", tmp_path / "out.jsonl"]
    done = invoke(*list(map(str, ["evaluate", model, "--task", "tatoeba", *options])))
    assert done.exit_code == 0, done.output
    assert "Hangul" in done.stderr


def test_a_sentence_without_a_known_word_is_near_to_none(model: Path) -> None:
    rows = {"source": TARGET, "target": SOURCE}
    languages = {"source_language": ["ko"] * len(TARGET), "target_language": ["en"] * len(TARGET)}
    with pytest.warns(UnknownWordsWarning):
        scores, nearest = build_task("tatoeba", [], layer=2).measure(
            model, Dataset.from_dict({**rows, **languages}), language="ko"
        )
    assert nearest[LINES:] == [-1] * len(TEXTS) and min(nearest[:LINES]) >= 0
    assert scores["accuracy"] <= 100 * LINES / len(TARGET)


def test_a_word_of_a_dictionary_that_is_unknown_has_no_translation(model: Path) -> None:
    words = {"source": ["river", "집", "garden"], "target": ["potamo", "강", "jardeno"]}
    languages = {"source_language": ["en"] * 3, "target_language": ["ko"] * 3}
    dictionary = Dataset.from_dict({**words, **languages, "asked": [True] * 3})
    with pytest.warns(UnknownWordsWarning, match=r"1 \(Hangul 1\)"):
        _, nearest = build_task("lexicon_induction", []).measure(model, dictionary, language="en-ko")
    assert nearest[1] == "" and {nearest[0], nearest[2]} <= {"potamo", "jardeno"}


@pytest.mark.parametrize(
    "options", [{}, {"pooling": "cls"}, {"layer": "static"}, {"prefix": "the river "}], ids=str
)
def test_a_text_without_a_known_word_has_a_null_vector(model: Path, options: dict[str, Any]) -> None:
    encoder = iso.TextEncoder(model, **{"layer": 2, **options})
    with pytest.warns(UnknownWordsWarning, match="take no part in vectors.* text 2: '작은'") as caught:
        vectors = encoder.encode(
            [KNOWN, f"{TEXTS[0]}.", f"ta {TEXTS[1]}", *TEXTS[2:], "집집a집"], normalise=True
        )
    assert len(caught) == 1 and caught[0].filename == __file__
    assert np.isfinite(vectors).all()
    assert vectors.any(axis=1).tolist() == [True, False, True, False, False, False, False]


def test_unknown_words_take_no_part_in_a_mean(model: Path) -> None:
    static = iso.TextEncoder(model, layer="static")
    with pytest.warns(UnknownWordsWarning):
        alone, beside = static([KNOWN, f"{KNOWN} {TEXTS[0]}"])
    torch.testing.assert_close(alone, beside)


def test_python_warns_at_the_line_that_calls(model: Path, files: Path) -> None:
    encoder = iso.TextEncoder(model, layer=2)

    def groups() -> list[SentenceGroup]:
        return iso.align_sentences(SOURCE, TARGET, encoder)

    calls = {
        "align": lambda: iso.align(ENGLISH, TEXTS[0], model=model),
        "align_many": lambda: iso.align_many(source=SOURCE, target=TARGET, model=model),
        "filter_pairs": lambda: list(iso.filter_pairs(zip(SOURCE, TARGET, strict=True), aligner=model)),
        "mine": lambda: iso.mine(SOURCE, TARGET, encoder),
        "align_sentences": groups,
        "tune": lambda: iso.tune(model, files / "gold.jsonl", layers=[1]),
        "EmbeddingAligner": lambda: iso.EmbeddingAligner(model).align(
            Dataset.from_dict(
                {
                    "source": SOURCE,
                    "target": TARGET,
                    "source_language": ["en"] * 11,
                    "target_language": ["ko"] * 11,
                }
            )
        ),
    }
    for name, call in calls.items():
        with pytest.warns(UnknownWordsWarning, match="Hangul") as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__], name


def test_the_packaged_aligner_links_no_gothic_by_its_one_letter() -> None:
    with pytest.warns(UnknownWordsWarning, match=r"\(Gothic 4\)"):
        pair = iso.align("Our father who art in heaven", "𐌰𐍄𐍄𐌰 𐌿𐌽𐍃𐌰𐍂 𐌸𐌿 𐌹𐌽 𐌷𐌹𐌼𐌹𐌽𐌰𐌼")
    assert {target for _, target in pair.links} <= {0}, "𐌰𐍄𐍄𐌰 is known by half"


def test_the_packaged_aligner_knows_no_cuneiform() -> None:
    with pytest.warns(UnknownWordsWarning, match=r"\(Cuneiform 2\)"):
        found = iso.align("The father is good.", "𒀀𒁀 𒂗.")
    assert {found.target_words[j] for _, j in found.links} <= {"."}
