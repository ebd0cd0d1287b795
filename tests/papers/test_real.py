"""Studies of an encoder of one's own compare systems on equal terms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shipped_studies import works_of

from isoglot.results.rows import read_cells
from isoglot.runs.reporter import Silent
from isoglot.studies.analysis_steps import BestLinks
from isoglot.studies.making import measure
from isoglot.studies.program import Selection, inspect_programs
from isoglot.studies.projection_steps import ProjectLabels, TagPairs
from isoglot.studies.tables import write_study
from isoglot.studies.training_steps import Finetune, Pretrain


def test_real_systems_share_encoder_pairs_and_steps_and_are_chosen_on_other_links() -> None:
    sections = {c.name: c.step.sections for c in works_of("real/transfer", "paper", Pretrain)}
    of_links = {c.name for c in works_of("real/word_alignment", "paper", Pretrain)}
    assert len(sections) == 13 and of_links < set(sections)
    for shared in ("model", "batch", "steps", "train"):
        assert len({json.dumps(own[shared]) for own in sections.values()}) == 1
    assert len({json.dumps(own["streams"]["bitext"]) for own in sections.values()}) == 1
    links = works_of("real/word_alignment", "paper", BestLinks)
    assert len(links) == 9
    assert all(".dev." in path for call in links for path in call.step.dev.values())
    assert not any(".dev." in path for call in links for path in call.step.test.values())


def test_translate_train_takes_as_many_steps_as_zero_shot_on_other_sentences_than_it_is_measured_on() -> None:
    tuned = {
        (c.step.label, c.step.task.kind): c.step for c in works_of("real/translate_train", "small", Finetune)
    }
    assert set(tuned) == {(row, "pos") for row in ("zero-shot", "projected", "self-labelled")} | {
        (row, "xquad") for row in ("zero-shot", "projected", "gold")
    }
    assert {step.train["setting"] for (row, _), step in tuned.items() if row != "zero-shot"} == {
        "translate_train"
    }
    assert len({step.checkpoint for step in tuned.values()}) == 1
    tagged = works_of("real/translate_train", "small", TagPairs)
    sentences = 0.32 * 12_544  # of EWT
    added = sum(call.step.count for call in tagged)
    epochs = {key: step.train["epochs"] for key, step in tuned.items()}
    for row in ("projected", "self-labelled"):
        assert epochs[row, "pos"] * (sentences + added) == pytest.approx(
            epochs["zero-shot", "pos"] * sentences, rel=0.01
        )
    for row in ("projected", "gold"):
        assert 4 * epochs[row, "xquad"] == epochs["zero-shot", "xquad"]
    for key, step in tuned.items():
        train = [spec for spec in step.task.data if spec.startswith("train=")]
        assert not any("pud" in spec for spec in train)
        assert key[1] == "pos" or all(spec.endswith("#0:80%") for spec in train)
    projected = works_of("real/translate_train", "small", ProjectLabels)
    assert len(projected) == 9 and not any(call.step.options.get("method") for call in projected)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_every_system_of_real_runs_in_the_miniature_world(tmp_path: Path) -> None:
    few = {
        "seeds": [1],
        "base_steps": 2,
        "steps": 3,  # one frozen, one at a rate of 0, one that trains
        "head_steps": 1,
        "batch": 4,
        "dev": 6,
        "test": 6,
        "text": 200,
    }
    few |= dict.fromkeys(("pos", "ner", "nli", "paws", "qa"), 20) | {"tag_epochs": 1}
    selection = Selection(
        ["real"],
        tmp_path,
        changes=few,
        only=[
            "*:en-fr",
            "*:layer",
            "align_mlm:pos.de",
            "ppa_no_tlm:pos.de",
            "links_and_contrast:pos.de",
            "projected:*.de",
            "self-labelled:*.de",
            "gold:*.de",
        ],
    )
    programs = selection.programs()
    assert measure(programs, inspect_programs(programs), selection, progress=Silent()).failed == {}
    cells = [cell for program in programs for cell in read_cells(write_study(program).folder / "cells.jsonl")]
    unmeasured = {cell.column for cell in cells if cell.value is None}
    assert unmeasured == {("lexicon", "en-fr")}, "the miniature world has no dictionary of French"
