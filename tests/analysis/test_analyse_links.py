from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from figures import figure
from refusals import refused

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import keep_choice
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.score_layers import score_layers
from isoglot.aligners.options import Gold, scoring_of
from isoglot.analysis import analyse_links
from isoglot.analysis.analyse import Job
from isoglot.analysis.analyse_links import analyse_alignments, analyse_layers
from isoglot.analysis.options import (
    AlignmentsRequest,
    LayersRequest,
)
from isoglot.core.errors import ConfigurationError
from isoglot.reports.figure_files import Lines
from isoglot.reports.viewer import read_alignments
from isoglot.tasks import build_task


def test_layers_are_those_of_score_and_their_mean(world: Path, tmp_path: Path) -> None:
    gold = [str(world / "en-xx.jsonl"), str(world / "other.jsonl")]
    request = LayersRequest(gold=gold, methods=("itermax", "ot"))
    written = analyse_layers(Job([world / "before", world / "after"], out=tmp_path), request)
    assert sorted(p.name for p in written) == ["layers-en-xx.json", "layers-mean.json", "layers-other.json"]
    figures = {path.stem: figure(path) for path in written}
    lines = figures["layers-en-xx"]
    assert isinstance(lines, Lines)
    assert [s.label for s in lines.series] == ["before, itermax", "before, ot", "after, itermax", "after, ot"]
    wanted = scoring_of(model=str(world / "after" / "checkpoint"), layers="all", method="ot")
    by_score = score_layers(Gold(gold=world / "en-xx.jsonl"), wanted)
    assert lines.series[3].x == [0, 1, 2, 3]
    assert lines.series[3].y == pytest.approx([total.aer for _, total in by_score])
    other = figures["layers-other"]
    middle = [(a + b) / 2 for a, b in zip(lines.series[3].y, other.series[3].y, strict=True)]
    assert figures["layers-mean"].series[3].y == pytest.approx(middle)
    one = analyse_layers(
        Job([world / "after"], out=tmp_path / "one"),
        LayersRequest(gold=gold[:1], layers="1,-1", metric="recall"),
    )
    (path,) = one
    assert (figure(path).series[0].label, figure(path).series[0].x) == ("after", [1, 3])
    assert figure(path).better == "higher"


def test_layers_are_of_float32_unless_a_precision_is_given(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto` is bfloat16 on some processors, and the last digits would tell which one measured."""
    asked: list[str] = []

    def choose(
        aligner: EmbeddingAligner, options: EmbeddingOptions, own: Any = EmbeddingAligner._choose
    ) -> None:
        asked.append(options.dtype)
        own(aligner, options)

    monkeypatch.setattr(EmbeddingAligner, "_choose", choose)
    model, gold = str(world / "after" / "checkpoint"), str(world / "en-xx.jsonl")
    for given, wanted in (({}, "float32"), ({"dtype": "bfloat16"}, "bfloat16")):
        task = build_task("word_alignment", [gold], **({"aligner": given} if given else {}))
        task.measure(model, task.load("en-xx", "test"), language="en-xx")
        score_layers(Gold(gold=gold), scoring_of(model=model, layers="1", **given))
        analyse_layers(
            Job([world / "after"], out=tmp_path / wanted),
            LayersRequest(gold=[gold], layers="1", settings=given),
        )
        assert set(asked) == {wanted}
        asked.clear()


def test_alignments_to_look_at_hold_links_and_gold(world: Path, tmp_path: Path) -> None:
    request = AlignmentsRequest(gold=str(world / "en-xx.jsonl"), method="argmax", layer=2, limit=5)
    (path,) = analyse_alignments(Job([world / "after"], out=tmp_path, labels=["our best"]), request)
    assert path.name == "alignments_our-best.jsonl"
    with refused(ConfigurationError, "(a-b, a-b)", "label"):
        analyse_alignments(
            Job([world / "after", world / "before"], out=tmp_path, labels=["a b", "a-b"]), request
        )
    sentences = read_alignments(path)
    assert [s.id for s in sentences] == [f"s{k}" for k in range(5)]
    assert (sentences[0].src_language, sentences[0].tgt_language) == ("en", "xx")
    aligner = EmbeddingAligner(str(world / "after" / "checkpoint"), method="argmax", layer=2)
    for sentence in sentences:
        links = aligner.align_words(sentence.src, sentence.tgt).links
        assert sorted(sentence.links) == links
        assert sentence.sure


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("en-xx.jsonl", ("en", "xx")),
        ("sim-dev.en-fr.jsonl", ("en", "fr")),
        ("dev-en-fr.jsonl", ("en", "fr")),
        ("en-fr-dev.jsonl", ("en", "fr")),
        ("wmt-deu-fra.jsonl", ("deu", "fra")),
        ("en-fr-wmt.jsonl", ("en", "fr")),
        ("dev-en-xx.jsonl", ("en", "xx")),
        ("de-en.en-fr.jsonl", ("en", "fr")),
        ("dev-gold.jsonl", None),
        ("gold.jsonl", None),
    ],
)
def test_languages_of_a_gold_file_are_read_from_its_name(name: str, codes: tuple[str, str] | None) -> None:
    assert analyse_links._languages_in(name) == codes


def test_alignments_are_those_of_the_chosen_layer_and_method(world: Path, tmp_path: Path) -> None:
    shutil.copytree(world / "after" / "checkpoint", tmp_path / "encoder")
    keep_choice(tmp_path / "encoder", {"method": "forward", "layer": 1})
    request = AlignmentsRequest(gold=str(world / "en-xx.jsonl"), limit=5)
    (path,) = analyse_alignments(Job([tmp_path / "encoder"], out=tmp_path, labels=["x"]), request)
    aligner = EmbeddingAligner(str(tmp_path / "encoder"), method="forward", layer=1)
    for sentence in read_alignments(path):
        links = aligner.align_words(sentence.src, sentence.tgt).links
        assert sorted(sentence.links) == links
