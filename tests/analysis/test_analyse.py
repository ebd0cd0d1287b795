"""Analyses of checkpoints end to end: what they write is what the report reads, with the numbers of the parts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import save_file

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.choice import keep_choice
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.options import Gold, scoring_of
from isoglot.aligners.score_file import score_layers
from isoglot.analysis.analyse import Job, analyse_alignment, asked_layers, corpus_rows
from isoglot.analysis.analyse_correlation import analyse_correlation
from isoglot.analysis.analyse_links import analyse_alignments, analyse_layers
from isoglot.analysis.analyse_map import analyse_map
from isoglot.analysis.analyse_vectors import analyse_geometry, analyse_similarity
from isoglot.analysis.options import (
    AlignmentRequest,
    AlignmentsRequest,
    CorrelationRequest,
    GeometryRequest,
    LayersRequest,
    MapRequest,
    ScoreOptions,
    SimilarityRequest,
    Subset,
)
from isoglot.analysis.similarity import linear_cka
from isoglot.analysis.vectors import sentence_vectors
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.corpus.read.sources import Source
from isoglot.derive.vocabulary import VocabularyCopy
from isoglot.errors import ConfigurationError, InputError
from isoglot.report.charts import draw
from isoglot.report.figure_files import EmbeddingMap, Lines, Scatter, read_figure
from isoglot.report.render import render
from isoglot.report.viewer import read_alignments
from isoglot.results import read
from isoglot.tasks import build_task
from isoglot.tasks.lexicon_induction import LexiconInductionTask
from isoglot.testing import tiny_lexicon, tiny_model, tiny_tokenizer


def figure(path: Path) -> Lines | EmbeddingMap | Scatter:
    found = read_figure(path)
    draw(found)
    return found


def test_alignment_by_lexicon_leaves_rows_once(world: Path, tmp_path: Path) -> None:
    request = AlignmentRequest(
        lexicon=str(world / "lexicon.txt"), languages=("en", "xx"), induction=True, words="0:0"
    )
    rows = analyse_alignment(Job([world / "before", world / "after"], out=tmp_path), request)
    analyse_alignment(Job([world / "before"], out=tmp_path), request)
    assert read(tmp_path / "results.jsonl") == rows
    score = next(r for r in rows if r.metric == "alignment_score" and r.run == "after")
    assert (score.task, score.language, score.seed, score.recipe_hash) == (
        "embedding_alignment",
        "en-xx",
        7,
        "r1",
    )
    assert len(score.checkpoint_hash) == 16
    drawn = request.model_copy(update={"options": ScoreOptions(subset=Subset(share=0.5), device="cpu")})
    others = analyse_alignment(Job([world / "after"], out=tmp_path / "drawn"), drawn)
    named = score.options["lexicon"]
    assert named.startswith("lexicon.txt ")
    assert others[0].options == {"subset": {"share": 0.5}, "lexicon": named}, "two measurements"
    same_name = tmp_path / "other" / "lexicon.txt"
    same_name.parent.mkdir()
    same_name.write_text("".join((world / "lexicon.txt").read_text().splitlines(keepends=True)[:-2]))
    shorter = request.model_copy(update={"lexicon": str(same_name), "words": None, "induction": False})
    again = analyse_alignment(Job([world / "after"], out=tmp_path), shorter)
    assert again[0].options["lexicon"] != named
    assert read(tmp_path / "results.jsonl") == rows + again, "another lexicon is another measurement"
    induced = {
        (r.language, r.metric): r.value for r in rows if r.task == "lexicon_induction" and r.run == "after"
    }
    assert {language for language, _ in induced} == {"en-xx", "xx-en"}
    assert {"precision_at_1", "csls_precision_at_1"} <= {metric for _, metric in induced}
    # Entries that are alike in both languages (punctuation) are right in MUSE's measure and left out of the score.
    alike = sum(e["source"] == e["target"] for e in tiny_lexicon())
    hits = induced["en-xx", "precision_at_1"] * (score.examples + alike) / 100
    assert hits - alike <= score.value * score.examples / 100 + 1e-6


def test_induction_back_accepts_every_translation_of_a_word(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lexicon.txt").write_text("river potamo\nwater potamo\nhouse spiti\n")
    seen = {}

    def measure(task: Any, checkpoint: Any, dataset: Any, *, language: str) -> Any:
        seen[language] = [tuple(row[name] for name in ("source", "target", "asked")) for row in dataset]
        return {"precision_at_1": 1.0}, ["x"]

    monkeypatch.setattr(LexiconInductionTask, "measure", measure)
    request = AlignmentRequest(
        lexicon=str(tmp_path / "lexicon.txt"), languages=("en", "xx"), induction=True, words="0:1"
    )
    analyse_alignment(Job([world / "before"], out=tmp_path / "out"), request)
    assert [asked for _, _, asked in seen["en-xx"]] == [True, False, False]
    assert seen["xx-en"] == [("potamo", "river", True), ("potamo", "water", True), ("spiti", "house", False)]


def test_alignment_of_a_copied_vocabulary_is_found_from_the_recipe(tmp_path: Path) -> None:
    copy = VocabularyCopy(tiny_tokenizer("bert"))
    model = tiny_model("bert", tokenizer=copy.tokenizer)
    with torch.no_grad():
        table = model.get_input_embeddings().weight
        table[copy.size :] = table[: copy.size]
    run, derived = tmp_path / "run", tmp_path / "derived"
    model.save_pretrained(run / "checkpoint")
    copy.tokenizer.save_pretrained(run / "checkpoint")
    copy.save(derived / "tokenizer")
    copied = sorted({*range(copy.size)} - {*copy.original.all_special_ids, *copy.unshifted, *copy.shared})
    ids = torch.tensor([[i] for i in copied[:5]])
    tensors = {"objectives.d.source_pieces": ids, "objectives.d.target_pieces": ids + copy.size}
    save_file(tensors, run / "checkpoint" / "objectives.safetensors")
    (derived / "manifest.json").write_text(json.dumps({"language": "en-x-trans"}))
    values = {"name": "align", "values": {"tokenizer": {"path": str(derived / "tokenizer")}}}
    (run / "run.json").write_text(json.dumps(values))
    rows = {r.metric: r for r in analyse_alignment(Job([run], out=tmp_path / "out"), AlignmentRequest())}
    assert rows["alignment_score"].value == rows["alignment_held_out"].value == 100
    assert rows["alignment_score"].language == "en-x-trans"
    assert rows["alignment_trained"].examples == 5
    assert rows["alignment_score"].examples == len(copied)
    half = AlignmentRequest(copied_from=copy.size, name="x", options=ScoreOptions(subset=Subset(share=0.5)))
    few = {r.metric: r for r in analyse_alignment(Job([run], out=tmp_path / "out"), half)}
    assert few["alignment_score"].examples == len(copied) // 2
    assert few["alignment_score"].language == "x"


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
    assert lines.series[3].y == pytest.approx([100 * total.aer for _, total in by_score])
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


def test_error_rates_are_of_float32_unless_a_precision_is_given(
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
    with pytest.raises(ConfigurationError, match=r"would have one name \(a-b, a-b\)"):
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


def test_alignments_are_those_of_the_chosen_layer_and_method(world: Path, tmp_path: Path) -> None:
    shutil.copytree(world / "after" / "checkpoint", tmp_path / "encoder")
    keep_choice(tmp_path / "encoder", {"method": "forward", "layer": 1})
    request = AlignmentsRequest(gold=str(world / "en-xx.jsonl"), limit=5)
    (path,) = analyse_alignments(Job([tmp_path / "encoder"], out=tmp_path, labels=["x"]), request)
    aligner = EmbeddingAligner(str(tmp_path / "encoder"), method="forward", layer=1)
    for sentence in read_alignments(path):
        links = aligner.align_words(sentence.src, sentence.tgt).links
        assert sorted(sentence.links) == links


def test_similarity_by_sentences_is_that_of_the_parts(world: Path, tmp_path: Path) -> None:
    request = SimilarityRequest(corpus=[str(world / "aligned.jsonl")], languages=("en", "xx"), neighbours=4)
    written = analyse_similarity(Job([world / "before", world / "after"], out=tmp_path), request)
    assert [p.stem for p in written] == ["similarity-cka", "similarity-neighbours", "similarity-retrieval"]
    rows = list(corpus_rows([str(world / "aligned.jsonl")], "bitext", languages=("en", "xx")))
    model, tokenizer = tiny_model("bert", seed=1), tiny_tokenizer("bert")
    sides = [
        sentence_vectors(model, tokenizer, [r[side] for r in rows], layers=[0, 1, 2, 3])
        for side in ("source", "target")
    ]
    cka = figure(written[0])
    assert [s.label for s in cka.series] == ["before", "after"]
    expected = [linear_cka(sides[0][n], sides[1][n]) for n in range(4)]
    assert cka.series[1].y == pytest.approx(expected, abs=1e-4)
    assert all(0 <= y <= 100 for path in written[1:] for s in figure(path).series for y in s.y)


def test_figures_are_of_one_pair_of_languages(world: Path, tmp_path: Path) -> None:
    path = str(world / "aligned.jsonl")
    sources = [
        Source(path=path, format="jsonl", source_language="en", target_language=code) for code in ("de", "fr")
    ]
    prepare(sources, tmp_path / "two", options=PrepareOptions(kind="aligned"))
    job = Job([world / "after"], out=tmp_path)
    corpus = [str(tmp_path / "two")]
    for analyse, request in (
        (analyse_similarity, SimilarityRequest(corpus=corpus)),
        (analyse_geometry, GeometryRequest(corpus=corpus)),
        (analyse_map, MapRequest(corpus=corpus)),
    ):
        with pytest.raises(InputError, match="holds rows of en-de and of en-fr; prepare them apart"):
            analyse(job, request)


def test_similarity_by_linked_words(world: Path, tmp_path: Path) -> None:
    request = SimilarityRequest(
        corpus=[str(world / "aligned.jsonl")],
        languages=("en", "xx"),
        level="word",
        measures=["retrieval"],
        limit=30,
    )
    (path,) = analyse_similarity(Job([world / "after"], out=tmp_path), request)
    assert "30 pairs of linked words" in figure(path).note


@pytest.mark.parametrize("unit", ["sentence", "word", "piece"])
def test_geometry_has_a_line_a_language_or_direction(world: Path, tmp_path: Path, unit: str) -> None:
    request = GeometryRequest(
        corpus=[str(world / "aligned.jsonl")],
        languages=("en", "xx"),
        unit=unit,
        neighbours=3,
        limit=40,
        layers="0,-1",
    )
    written = analyse_geometry(Job([world / "before", world / "after"], out=tmp_path), request)
    figures = {path.stem: figure(path) for path in written}
    assert list(figures) == [f"geometry-{m}" for m in ("anisotropy", "variance", "hubness", "anti-hubs")]
    assert [s.label for s in figures["geometry-anisotropy"].series] == [
        "before, en", "before, xx", "after, en", "after, xx",
    ]  # fmt: skip
    assert figures["geometry-hubness"].series[3].label == "after, xx to en"
    assert all(s.x == [0, 3] for f in figures.values() for s in f.series)
    assert all(-1 <= y <= 1 for s in figures["geometry-anisotropy"].series for y in s.y)


def test_report_draws_all_of_it(world: Path, tmp_path: Path) -> None:
    corpus = [str(world / "aligned.jsonl")]
    run = [world / "after"]
    analyse_layers(Job(run, out=tmp_path), LayersRequest(gold=[str(world / "en-xx.jsonl")]))
    analyse_alignments(Job(run, out=tmp_path), AlignmentsRequest(gold=str(world / "en-xx.jsonl")))
    similarity = SimilarityRequest(corpus=corpus, languages=("en", "xx"), measures=["cka"])
    analyse_similarity(Job(run, out=tmp_path), similarity)
    analyse_correlation([], CorrelationRequest(tasks=["pos"], with_paper=True), out=tmp_path)
    page = render([tmp_path], out=tmp_path / "report.html").read_text()
    for text in (
        "Alignment error rate by layer",
        "Linear CKA by layer",
        "Alignment and transfer: pos",
        "alignments after",
    ):
        assert text in page


def test_names_tell_checkpoints_apart(world: Path, tmp_path: Path) -> None:
    both = Job([world / "after", world / "after" / "checkpoint"], out=tmp_path).subjects
    assert [s.label for s in both] == [str(world / "after"), str(world / "after" / "checkpoint")]
    assert [s.label for s in Job([world / "after", world / "before"], out=tmp_path).subjects] == [
        "after",
        "before",
    ]
    for checkpoints, labels, message in (
        ([], [], "no checkpoint"),
        ([world / "after"], ["a", "b"], "2 labels"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            _ = Job(checkpoints, out=tmp_path, labels=labels).subjects


def test_mistakes_are_told_before_anything_is_written(world: Path, tmp_path: Path) -> None:
    run = [world / "after"]
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "bare.links").write_text("0-0 1-1\n")
    out = tmp_path / "out"
    gold = str(world / "en-xx.jsonl")
    calls = {
        "'itermx' given": lambda: analyse_layers(
            Job(run, out=out), LayersRequest(gold=[gold], methods=["itermx"])
        ),
        "layers 0": lambda: analyse_layers(Job(run, out=out), LayersRequest(gold=[gold], layers="9")),
        "`all` or numbers": lambda: analyse_layers(
            Job(run, out=out), LayersRequest(gold=[gold], layers="top")
        ),
        "--method and --layers say what": lambda: analyse_layers(
            Job(run, out=out), LayersRequest(gold=[gold], settings={"method": "argmax"})
        ),
        "has no words to align": lambda: analyse_alignments(
            Job(run, out=out), AlignmentsRequest(gold=str(tmp_path / "bare.links"))
        ),
        "the file is empty": lambda: analyse_similarity(
            Job(run, out=out), SimilarityRequest(corpus=[str(tmp_path / "empty.txt")])
        ),
        "induction and --single are for a lexicon": lambda: analyse_alignment(
            Job(run, out=out), AlignmentRequest(induction=True)
        ),
        "add --lexicon FILE": lambda: analyse_alignment(
            Job(run, out=out), AlignmentRequest(options=ScoreOptions(single=True))
        ),
        "add --induction": lambda: analyse_alignment(Job(run, out=out), AlignmentRequest(words="0:0")),
        "no special tokens": lambda: analyse_alignment(
            Job(run, out=out), AlignmentRequest(lexicon="x", options=ScoreOptions(include_special=True))
        ),
        "nothing says": lambda: analyse_alignment(Job(run, out=out), AlignmentRequest()),
        "is a file": lambda: analyse_layers(Job(run, out=tmp_path / "empty.txt"), LayersRequest(gold=[gold])),
    }
    for message, call in calls.items():
        with pytest.raises((ConfigurationError, InputError), match=message):
            call()
    assert not out.exists()


@pytest.mark.parametrize(
    ("request_of", "values"),
    [
        (LayersRequest, {"gold": ["x"], "metric": "bleu"}),
        (LayersRequest, {"gold": []}),
        (SimilarityRequest, {"corpus": ["x"], "measures": ["bleu"]}),
        (GeometryRequest, {"corpus": ["x"], "measures": ["skew"]}),
        (GeometryRequest, {"corpus": ["x"], "unit": "page"}),
        (MapRequest, {"corpus": ["x"], "pieces": "first"}),
        (MapRequest, {"corpus": ["x"], "projection": {"method": "umap"}}),
    ],
)
def test_a_request_takes_only_what_there_is(request_of: Any, values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        request_of(**values)


def test_layers_count_from_the_end_too() -> None:
    model = tiny_model("bert")
    assert asked_layers("all", model) == [0, 1, 2, 3]
    assert asked_layers("3,-4,-1", model) == [0, 3]
