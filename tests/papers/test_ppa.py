"""PPA's studies: what its settings, sizes and variants stand for."""

from __future__ import annotations

import pytest
from shipped_studies import STUDIES, parts, program, resolved, steps_of, trained, tunings, works_of

from isoglot.papers import ppa
from isoglot.reports.papers import paper_table
from isoglot.studies.lab import Lab
from isoglot.studies.program import Selection
from isoglot.studies.sizes import SCALES
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain


def test_ppas_code_switching_is_of_the_settings() -> None:
    table = paper_table("ppa:Table5")
    settings: dict[tuple[str, str], set[str]] = {}
    own = program("ppa/table5")
    for cell in own.parts:
        row = table.row(*cell.row)
        if cell.column[0] != "en":
            used = {tuned.train["setting"] for tuned in tunings(cell)}
            settings.setdefault((row.label, row.setting), set()).update(used)
    assert settings["- CS", "translate-train"] == {"translate_train"}
    assert settings["- TLM", "translate-train"] == {"code_switch"}
    assert settings["- TLM", "zero-shot"] == {"zero_shot"}
    sizes = ("250k", "600k", "2M")
    full = trained("ppa/table5", "Our full system (250k)", "translate-train")
    assert full == trained("ppa/table5", "- CS", "250k", "translate-train")
    assert len({trained("ppa/table5", "- MoCo", "zero-shot", size).pop() for size in sizes}) == 3


def test_ppa_masks_as_the_paper_and_fine_tunes_in_mixed_precision() -> None:
    for scale in SCALES:
        assert {
            view["probability"]
            for call in works_of("ppa/table5", scale, Pretrain)
            if call.name.startswith("ppa")
            for view in call.step.sections["views"].values()
            if "probability" in view
        } == {0.15}
    assert {call.step.check()[1].precision for call in works_of("ppa/table2", "paper", Finetune)} == {"mixed"}


@pytest.mark.parametrize(("changes", "written"), [({}, None), ({"min_pieces": 5}, 5)])
def test_ppas_minimum_of_pieces_is_read_at_scale_paper(changes: dict[str, int], written: int | None) -> None:
    """The recipe's 10 stays unwritten, because the hash of runs that exist is without it."""
    lab = Lab(ppa.SIZES, scale="paper", changes=changes)
    assert ppa._sections(lab, "ppa", "250k")["streams"]["bitext"].get("min_pieces") == written


def test_sizes_hold_what_ppas_footnotes_and_text_tried() -> None:
    """Mean pooling (footnote 1), originals beside code-switched copies (footnote 2), no shuffling (§2.1)."""
    only = "Our full system (250k):de"
    usual = steps_of("ppa/table5", only)
    tried = steps_of("ppa/table5", only, pooling="mean", shuffle=False, originals=True)
    recipes = [resolved(steps["ppa s1"]) for steps in (usual, tried)]
    assert [recipe["objectives"]["contrast"]["pooling"] for recipe in recipes] == ["cls", "mean"]
    assert [[recipe["views"][name]["order"] for name in ("pair", "sentences")] for recipe in recipes] == [
        ["shuffle", "shuffle"],
        ["source_first", "source_is_query"],
    ]
    (tuned,) = (
        step.finetune.check()[1]
        for step in tried.values()
        if isinstance(step, Evaluate) and step.finetune is not None and step.finetune.language == "de"
    )
    assert (tuned.setting, tuned.copies, tuned.batch_size) == ("code_switch_and_originals", 3, 33)


def test_ppas_contrast_is_eq_3_or_mocos() -> None:
    found = {}
    for variant in ("isoglot", "literal", "authors"):
        steps = steps_of("ppa/table5", "- TLM*:de", variant=variant)
        contrast = resolved(steps["ppa_no_tlm s1"])["objectives"]["contrast"]
        same = ("normalize_z", "bias", "positive_in_denominator", "mask_duplicates")
        found[variant] = tuple(contrast[name] for name in same)
    assert found == {
        "isoglot": (False, False, True, "none"),
        "literal": (False, False, False, "none"),
        "authors": (True, True, True, "none"),
    }


def test_a_tokenizer_that_needs_another_package_leaves_its_rows_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoglot.studies.lab.find_spec", lambda name: None)
    (own,) = Selection([STUDIES["ppa/table2"]], "nowhere", "paper").programs()
    lost = {p.row[0]: p.unavailable for p in parts(own) if "sacremoses" in p.unavailable}
    assert set(lost) == {"XLM (MLM)", "XLM (MLM + TLM)", "XLM (Conneau and Lample, 2019)"}
    assert lost["XLM (MLM)"] == "the tokenizer of xlm_mlm needs sacremoses; type `pip install sacremoses`"
    monkeypatch.setattr("isoglot.studies.lab.find_spec", lambda name: name)
    assert {p.unavailable for p in parts(own) if "XLM" in p.row[0]} == {""}


def test_lasers_row_is_a_classifier_of_the_vectors_of_a_function() -> None:
    only = "zero-shot / Artetxe*:de"
    (measured,) = steps_of("ppa/table2", only, laser="small_laser:SmallLaser").values()
    task, settings = measured.finetune.check()
    assert (measured.checkpoint, task.frozen, settings.learning_rate) == (
        "small_laser:SmallLaser",
        "vectors",
        1e-3,
    )
    assert not steps_of("ppa/table2", only), "without a function the row says what it needs"
