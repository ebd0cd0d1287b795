"""XLM-Align's studies: runs that its ablations share, labels, links and options of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from labelled_files import json_lines
from shipped_studies import STUDIES, resolved, steps_of, trained, works_of

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.scoring import score
from isoglot.core.errors import ConfigurationError
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.studies.catalogue import find_studies
from isoglot.studies.program import Selection, inspect_programs
from isoglot.studies.sizes import SCALES
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext


@pytest.mark.parametrize("scale", SCALES)
def test_xlm_aligns_ablations_share_their_runs(scale: str) -> None:
    full = trained("xlm_align/table3", "XLM-Align", scale=scale)
    assert len(full) == 1
    assert full == trained("xlm_align/table4", "Layer-10", scale=scale)
    assert full == trained("xlm_align/table6", "Enable", scale=scale)
    assert full == trained("xlm_align/table7", "masked", scale=scale)
    without = trained("xlm_align/table3", "-DWA", scale=scale)
    assert without == trained("xlm_align/table7", "no-query", scale=scale) != full
    one, two = (trained(f"xlm_align/table{n}", "Layer-12", scale=scale) for n in (4, 5))
    assert one == two
    runs = {call for n in range(3, 8) for call in works_of(f"xlm_align/table{n}", scale, Pretrain)}
    assert len(runs) == 11 + (scale != "paper")  # of 16 rows; the start is trained too


@pytest.mark.parametrize("scale", SCALES)
def test_xlm_align_from_scratch_has_new_weights_of_the_same_shape_and_its_own_labels(scale: str) -> None:
    (study,) = find_studies(["xlm_align/table3"])
    only, changes = ["XLM-Align:xnli*"], {"seeds": [1], "ablation_seeds": [1], "from_scratch": True}
    (program,) = Selection([study], "nowhere", scale, changes, only).programs()
    inspect_programs([program])
    steps = {work.name: work.step for part in program.parts for work in part.steps}
    (step,) = (step for step in steps.values() if isinstance(step, Pretrain) and "scratch" in step.label)
    recipe = resolved(step)
    assert "path" not in recipe["model"] and recipe["tokenizer"]["path"]
    assert recipe["objectives"]["word_alignment"]["labels"] == "self"
    if base := steps.get("base s1"):
        shape = (
            "architecture",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
        )
        assert [recipe["model"][name] for name in shape] == [resolved(base)["model"][name] for name in shape]


def test_xlm_aligns_labels_and_links_are_those_of_the_equations_or_of_the_code() -> None:
    labels, links, trained_for = {}, {}, {}
    for variant in ("isoglot", "literal", "authors"):
        steps = steps_of("xlm_align/table2", "*Optimal*", variant=variant)
        own = steps["xlm_align s1"].sections
        labels[variant] = tuple(own["objectives"]["word_alignment"][name] for name in ("order", "filtering"))
        trained_for[variant] = own["steps"]
        task = next(step.task for step in steps.values() if isinstance(step, Evaluate))
        read = EmbeddingOptions.build(method="ot", **task.options.get("aligner", {}))
        links[variant] = (read.links, read.order, read.epsilon)
    assert labels == {
        "isoglot": ("official", "itermax"),
        "literal": ("paper", "printed"),
        "authors": ("official", "itermax"),
    }
    assert trained_for == {"isoglot": 150_000, "literal": 150_000, "authors": 200_000}
    assert links == {
        "isoglot": ("intersection", "official", 1e-6),
        "literal": ("printed", "paper", 1e-6),
        "authors": ("intersection", "official", None),
    }
    union = steps_of("xlm_align/table6", "Disable*:*", variant="literal", ablation_seeds=[1])
    assert (
        union["xlm_align filtering=union 50000 steps s1"].sections["objectives"]["word_alignment"][
            "filtering"
        ]
        == "union"
    )


def test_the_authors_aligner_has_no_floor_where_it_measures(encoder: Path, tmp_path: Path) -> None:
    """Their floor goes to a copy: links and error rate are those of the raw dot products, divided in turn."""
    source, target = (list(tiny_bitext(24)[side]) for side in ("source", "target"))
    rows = [
        {"src": a.split(), "tgt": b.split(), "sure": [[i, j] for i in range(3) for j in range(3)]}
        for a, b in zip(source, target, strict=True)
    ]
    sure = [SentencePair.of_gold(row["sure"], []) for row in rows]
    gold = json_lines(tmp_path / "en-de.jsonl", *rows)
    pairs = [(row["src"], row["tgt"]) for row in rows]
    rates, links = {}, {}
    for variant, floor in (("isoglot", 1e-6), ("authors", None)):
        steps = steps_of("xlm_align/table2", "*Optimal*", variant=variant)
        planned = next(step.task for step in steps.values() if isinstance(step, Evaluate)).options
        task = build_task("word_alignment", [gold], **{**planned, "layer": 1})
        (rate, *_) = evaluate_checkpoint(encoder, task, languages=["en-de"])
        aligner = EmbeddingAligner(encoder, method="ot", layer=1, epsilon=floor, dtype="float32")
        expected = [Alignment(frozenset(found.links)) for found in aligner.align_pairs(pairs)]
        aer = score(expected, sure).aer
        assert (rate.metric, rate.value) == ("aer", pytest.approx(aer))
        rates[variant], links[variant] = rate.value, expected
    assert links["isoglot"] != links["authors"] and rates["isoglot"] != rates["authors"]


def test_xlm_align_reads_pos_alone_as_written_and_questions_alone_in_windows() -> None:
    options = {c.step.task.kind: c.step.task.options for c in works_of("xlm_align/table1", "paper", Finetune)}
    assert options.pop("pos") == {"words": "written"}
    assert options.pop("pawsx") == {"untranslated": "keep"}
    assert set(map(str, options.values())) == {"{}"}
    for name in ("xlm_align/table1", "weam/table1", "ppa/table4"):
        for scale in SCALES:
            tuned = [
                c for c in works_of(name, scale, Finetune) if c.step.task.kind in ("xquad", "mlqa", "tydiqa")
            ]
            assert tuned and all(c.step.check()[0].windows == "advance" for c in tuned)


def test_an_option_that_a_task_does_not_have_is_found() -> None:
    import isoglot.papers.xlm_align_data as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module._OPTIONS, "ner", {"words": "written"})
        own = Selection([STUDIES["xlm_align/table14"]], "nowhere", "paper", {"seeds": [1]}).programs()
        with pytest.raises(
            ConfigurationError,
            match="evaluate xlm_align s1 ner en zero_shot s1 in 40 languages: fine-tuning on ner has no setting",
        ):
            inspect_programs(own)


def test_evaluations_of_a_model_are_one_step() -> None:
    languages = [call.step.languages for call in works_of("xlm_align/table13", "paper", Evaluate)]
    assert [len(spoken) for spoken in languages] == [33]
