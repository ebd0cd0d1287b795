"""ALIGN-MLM's studies read and train what the paper, its letter or its code says."""

from __future__ import annotations

import pytest
from derived_rows import derived_row
from shipped_studies import STUDIES, steps_of, works_of

from isoglot.papers import align_mlm
from isoglot.papers.align_mlm import ORDERS
from isoglot.reports.papers import paper_table
from isoglot.studies.analysis_steps import ScoreEmbeddings
from isoglot.studies.lab import Lab
from isoglot.studies.program import Selection
from isoglot.studies.sizes import SCALES
from isoglot.studies.training_steps import Finetune, Pretrain


def test_align_mlms_random_tokens_are_of_the_original_half() -> None:
    """The authors draw them below ``len(tokenizer)``, which is V and not 2V."""
    for call in works_of("align_mlm/table3", "paper", Pretrain):
        views = call.step.sections["views"]
        assert set(views) == ({"text", "pair"} if call.name.startswith("xlm") else {"text"})
        assert all(view["random_pool"][0] == 0 for view in views.values())
        sizes = {call.lab.shown(view["random_pool"][1]) for view in views.values()}
        assert all(size.startswith("known after data derived") for size in sizes)


def test_language_ids_are_given_by_sentence_and_the_last_checkpoint_is_kept() -> None:
    for scale in SCALES:
        for call in works_of("align_mlm/table3", scale, Finetune):
            _, settings = call.step.check()
            assert settings.select == "last"
            has_ids = call.name.startswith(("xlm", "dict_mlm"))
            language = next(call for call in [call.step.task.data[-1]]).partition("{")[0]
            assert language and (settings.language_ids is not None) == has_ids
            if has_ids:
                assert set(settings.language_ids.values()) == {2, 3}


def test_the_authors_variant_reads_data_as_their_code_does() -> None:
    steps = steps_of("align_mlm/table8", "xlm*", variant="authors")
    inverted, syntax = steps["derived trans+inv"], steps["derived trans+syn"]
    assert inverted.options == {"overlap": 0.0, "with_replacement": True, "end_marks": ".!?"}
    assert inverted.inputs["nli.dev"]["options"] == {"split": False, "literal": True}
    assert inverted.inputs["ner.dev"]["options"] == {"split": False}
    assert (syntax.options["ud_labels"], syntax.rows) == (
        "literal",
        {"repair": "consistent", "labels": "first_match"},
    )
    assert syntax.inputs["nli.dev"]["first_parse_only"] and "options" not in syntax.inputs["nli.dev"]
    assert steps["xlm trans+inv s1 alignment"].options.model_dump(exclude_unset=True) == {
        "include_special": True,
        "subset": {"share": 0.4, "seed": 42},
        "language_ids": (2, 3),
    }
    assert steps["xlm trans+inv s1 alignment"].options.subset.candidates == "all"


def test_the_authors_repair_entity_tags_by_the_transformation() -> None:
    steps = steps_of("align_mlm/table8", "xlm*", variant="authors")
    row = {"words": ["Ann", "Bob", "Lee", "sing"], "tags": ["B-PER", "B-PER", "I-PER", "O"], "language": "en"}
    tags = {
        order: derived_row("tagged", row, order, **steps[f"derived {order}"].rows).row["tags"]
        for order in ("trans", "trans+inv")
    }
    assert tags == {"trans": row["tags"], "trans+inv": ["O", "B-PER", "I-PER", "B-PER"]}
    assert [steps_of("align_mlm/table8", "xlm*")[f"derived {order}"].rows["repair"] for order in ORDERS] == (
        ["entities"] * 3
    )


def test_align_mlm_to_the_letter_ends_sentences_at_the_period_and_scores_all_tokens() -> None:
    steps = steps_of("align_mlm/table8", "*", variant="literal")
    inverted = steps["derived trans+inv"]
    assert inverted.options["end_marks"] == "." and "options" not in inverted.inputs["text"]
    assert inverted.inputs["pos.train"]["options"] == {"split": True}
    scored = [step for step in steps.values() if isinstance(step, ScoreEmbeddings)]
    assert len(scored) == 12
    assert all(step.options.model_dump(exclude_unset=True) == {"include_special": True} for step in scored)
    usual = steps_of("align_mlm/table8", "mlm*")["derived trans+inv"]
    assert (usual.options["end_marks"], usual.inputs["pos.train"]["options"]) == (".!?", {"split": False})


def test_the_correlation_has_a_cell_for_p_beside_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the paper's Tables 3 and 8 the study measures what its Appendix E prints: rho, and p < .01."""

    def printed(table: str, system: str, order: str, column: str) -> float:
        paper = paper_table(table)
        row = paper.row(f"{system} / {order}")
        value = paper.value(row, paper.column(column))
        assert value is not None
        return value.value

    def alignment(lab: Lab, system: str, order: str, seed: int) -> float:
        return printed("align_mlm:8", system, order, "alignment")

    def drop(lab: Lab, system: str, order: str, task: str) -> float:
        return printed("align_mlm:3", system, order, f"{task}.delta")

    monkeypatch.setattr(align_mlm, "alignment_of", alignment)
    monkeypatch.setattr(align_mlm, "_drop", drop)
    (own,) = Selection([STUDIES["align_mlm/figure3"]], "nowhere", "paper").programs()
    found = {}
    for part in own.parts:
        part.ask()
        if part.table:
            found[part.row[0], part.column[0]] = part.content
    rhos = {task: round(found[task, "rho"], 3) for task in ("XNLI", "NER", "POS")}
    assert rhos == {"XNLI": 0.727, "NER": 0.781, "POS": 0.734}
    assert all(0 < found[task, "p"] < 0.01 for task in rhos)
