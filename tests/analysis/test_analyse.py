"""Analyses of checkpoints end to end: what they write is what the report reads, with the numbers of the parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from isoglot.analysis.analyse import Job, analyse_alignment, asked_layers
from isoglot.analysis.analyse_correlation import analyse_correlation
from isoglot.analysis.analyse_links import analyse_alignments, analyse_layers
from isoglot.analysis.analyse_vectors import analyse_similarity
from isoglot.analysis.options import (
    AlignmentRequest,
    AlignmentsRequest,
    CorrelationRequest,
    LayersRequest,
    ScoreOptions,
    SimilarityRequest,
    Subset,
)
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.derivation.vocabulary import VocabularyCopy
from isoglot.reports.render import report
from isoglot.results.rows import read
from isoglot.tasks.lexicon_induction import LexiconInductionTask
from isoglot.testing import tiny_lexicon, tiny_model, tiny_tokenizer


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
    assert few["alignment_score"].options["copied_from"] == copy.size, "another size is another measurement"


@pytest.mark.slow
def test_alignment_is_drawn_by_the_report(world: Path, tmp_path: Path) -> None:
    corpus = [str(world / "aligned.jsonl")]
    run = [world / "after"]
    analyse_layers(Job(run, out=tmp_path), LayersRequest(gold=[str(world / "en-xx.jsonl")]))
    analyse_alignments(Job(run, out=tmp_path), AlignmentsRequest(gold=str(world / "en-xx.jsonl")))
    similarity = SimilarityRequest(corpus=corpus, languages=("en", "xx"), measures=["cka"])
    analyse_similarity(Job(run, out=tmp_path), similarity)
    analyse_correlation([], CorrelationRequest(tasks=["pos"], with_paper=True), out=tmp_path)
    page = report([tmp_path], out=tmp_path / "report.html").read_text()
    for text in (
        "Alignment error rate by layer",
        "Linear CKA by layer",
        "Alignment and transfer: pos",
        "alignments after",
    ):
        assert text in page


def test_subjects_have_names_that_tell_them_apart(world: Path, tmp_path: Path) -> None:
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


def test_alignment_refuses_mistakes_before_it_writes(world: Path, tmp_path: Path) -> None:
    run = [world / "after"]
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "bare.links").write_text("0-0 1-1\n")
    out = tmp_path / "out"
    gold = str(world / "en-xx.jsonl")
    calls = {
        "unknown method 'itermx'": lambda: analyse_layers(
            Job(run, out=out), LayersRequest(gold=[gold], methods=["itermx"])
        ),
        "layers 0": lambda: analyse_layers(Job(run, out=out), LayersRequest(gold=[gold], layers="9")),
        "`all` or numbers": lambda: analyse_layers(
            Job(run, out=out), LayersRequest(gold=[gold], layers="top")
        ),
        "`method` and `layers` choose what": lambda: analyse_layers(
            Job(run, out=out), LayersRequest(gold=[gold], settings={"method": "argmax"})
        ),
        "has no words to align": lambda: analyse_alignments(
            Job(run, out=out), AlignmentsRequest(gold=str(tmp_path / "bare.links"))
        ),
        "the file is empty": lambda: analyse_similarity(
            Job(run, out=out), SimilarityRequest(corpus=[str(tmp_path / "empty.txt")])
        ),
        "`single`: is for a lexicon": lambda: analyse_alignment(
            Job(run, out=out), AlignmentRequest(options=ScoreOptions(single=True))
        ),
        "add lexicon=FILE": lambda: analyse_alignment(
            Job(run, out=out), AlignmentRequest(options=ScoreOptions(single=True))
        ),
        "no special tokens": lambda: analyse_alignment(
            Job(run, out=out), AlignmentRequest(lexicon="x", options=ScoreOptions(include_special=True))
        ),
        "it is unknown": lambda: analyse_alignment(Job(run, out=out), AlignmentRequest()),
        "is a file": lambda: analyse_layers(Job(run, out=tmp_path / "empty.txt"), LayersRequest(gold=[gold])),
    }
    for message, call in calls.items():
        with pytest.raises((ConfigurationError, InputError), match=message):
            call()
    assert not out.exists()


def test_asked_layers_count_from_the_end_too() -> None:
    model = tiny_model("bert")
    assert asked_layers("all", model) == [0, 1, 2, 3]
    assert asked_layers("3,-4,-1", model) == [0, 3]
