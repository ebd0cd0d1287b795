"""Every study that comes with isoglot, at every scale: all of its options exist, and no cell of its table is open."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from isoglot.errors import ConfigurationError
from isoglot.recipe.source import builtin_recipes, read_document
from isoglot.report.papers import PAPERS as REPORT_NAMES
from isoglot.report.papers import paper_table, paper_tables
from isoglot.studies.alignment_steps import BestLinks
from isoglot.studies.calls import Call
from isoglot.studies.catalogue import builtin_studies
from isoglot.studies.engine import Store
from isoglot.studies.lab import Place
from isoglot.studies.program import Program, build_programs, inspect_programs
from isoglot.studies.sizes import OWN, SCALES
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain

STUDIES = builtin_studies()
PAPERS = sorted({name.partition("/")[0] for name in STUDIES})
OWN_TABLES = {"align_mlm/alpha", "real/transfer", "real/word_alignment"}  # no paper prints them


@cache
def programs(paper: str, scale: str) -> tuple[Program, ...]:
    """A paper's studies with one seed: seeds change neither cells nor options."""
    own = [study for name, study in STUDIES.items() if name.startswith(f"{paper}/")]
    sizes = own[0].sizes
    return tuple(build_programs(own, scale=scale, changes={n: [1] for n in sizes if n.endswith("seeds")}))


def program(name: str, scale: str = "tiny") -> Program:
    return next(p for p in programs(name.partition("/")[0], scale) if p.study.name == name)


def encoders(place: Place) -> set[str]:
    """What is trained or given for a cell."""
    found = set()
    for call, _ in place.value.reads():
        tuned = next((n for n in call.needs if isinstance(n.step, Finetune)), call)
        found.add(str(getattr(tuned.step, "checkpoint", "")))
    return found


def trained(name: str, *labels: str, scale: str = "tiny") -> set[str]:
    """The encoders of a row."""
    table = paper_table(program(name, scale).places[0].table)
    row = table.row(*labels)
    own = [p for p in program(name, scale).places if table.row(*p.row) == row]
    assert own, labels
    return set().union(*map(encoders, own))


def calls_of(name: str, scale: str, kind: type) -> list[Call]:
    found = Store(Path("nowhere")).missing(program(name, scale).targets())
    return [call for call in found if isinstance(call.step, kind)]


def test_every_results_table_of_the_papers_has_a_study() -> None:
    wanted = {table.name for table in paper_tables() if table.kind in ("results", "cost")}
    filled = {place.table for paper in PAPERS for p in programs(paper, "tiny") for place in p.places}
    assert filled - OWN_TABLES == wanted
    assert {"weam/figure2", "xlm_align/figure2", "align_mlm/figure2", "align_mlm/figure3"} < set(STUDIES)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", PAPERS)
def test_every_cell_is_planned_or_says_why_not(paper: str, scale: str) -> None:
    for own in programs(paper, scale):
        assert own.places or own.drawings
        by_table: dict[str, set[tuple[str, str]]] = {}
        for place in own.places:
            assert bool(place.value.reads()) or place.value.unavailable
            if place.table in OWN_TABLES:
                continue
            table = paper_table(place.table)
            address = table.address(table.row(*place.row)), table.column(*place.column).id
            assert address not in by_table.setdefault(place.table, set()), "one cell for a place"
            by_table[place.table].add(address)
        for name, there in by_table.items():
            table = paper_table(name)
            rows = {table.address(row) for row in table.rows}
            columns = {c.id for c in table.columns if not c.average and c.id != "p_below"}
            if own.study.name == "align_mlm/figure2":
                columns = {column for column in columns if column.endswith(".delta")}
            assert there == {(row, column) for row in rows for column in columns}, own.study.name


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", PAPERS)
def test_every_recipe_task_and_option_exists(paper: str, scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``--dry-run`` checks: no data are needed for it."""
    for name in ("DATA", "CORPORA", "CHECKPOINTS", "ENCODER", "GALACTIC"):
        monkeypatch.delenv(f"ISOGLOT_{name}", raising=False)
    found = inspect_programs(programs(paper, scale), Store(Path("nowhere")))
    assert found.calls
    if scale == "tiny":
        assert not found.missing() and not found.blocked
    else:
        assert {c for p in programs(paper, scale) for c in p.targets()} == {
            c for c in found.blocked if c.step.kind in ("evaluate", "analyse", "figure")
        } | {c for c in found.blocked if isinstance(c.step, Pretrain) and c in set(_hours(paper, scale))}


def _hours(paper: str, scale: str) -> list[Call]:
    return [
        c
        for p in programs(paper, scale)
        for place in p.places
        for c, metric in place.value.reads()
        if metric == "hours"
    ]


@pytest.mark.parametrize("scale", ["small", "paper"])
@pytest.mark.parametrize("paper", PAPERS)
def test_in_an_empty_folder_every_file_is_missing(
    paper: str, scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATA", "CORPORA", "CHECKPOINTS", "ENCODER", "GALACTIC"):
        monkeypatch.setenv(f"ISOGLOT_{name}", str(tmp_path))
    found = inspect_programs(programs(paper, scale), Store(tmp_path / "out"), check=False)
    assert found.missing() and all("${ISOGLOT_" in path for path in found.missing())
    measured = [call for p in programs(paper, scale) for call in p.targets()]
    assert measured and not [call for call in measured if call not in found.blocked]


def test_an_option_that_a_task_does_not_have_is_found() -> None:
    import isoglot.studies.xlm_align as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module._OPTIONS, "ner", {"words": "written"})
        own = build_programs([STUDIES["xlm_align/table14"]], scale="paper", changes={"seeds": [1]})
        with pytest.raises(
            ConfigurationError,
            match="finetune xlm_align s1 ner en zero_shot s1: fine-tuning on ner has no setting",
        ):
            inspect_programs(own, Store(Path("nowhere")))


def test_only_pos_is_read_as_written_and_only_questions_in_windows() -> None:
    options = {c.step.task.kind: c.step.task.options for c in calls_of("xlm_align/table1", "paper", Finetune)}
    assert options.pop("pos") == {"words": "written"}
    assert options.pop("pawsx") == {"untranslated": "keep"}
    assert set(map(str, options.values())) == {"{}"}
    for name in ("xlm_align/table1", "weam/table1", "ppa/table4"):
        for scale in SCALES:
            tuned = [
                c for c in calls_of(name, scale, Finetune) if c.step.task.kind in ("xquad", "mlqa", "tydiqa")
            ]
            assert tuned and all(c.step.check()[0].windows == "advance" for c in tuned)


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
    runs = {call for n in range(3, 8) for call in calls_of(f"xlm_align/table{n}", scale, Pretrain)}
    assert len(runs) == 11 + (scale != "paper")  # of 16 rows; the start is trained too


def test_align_mlms_random_tokens_are_of_the_original_half() -> None:
    """The authors draw them below ``len(tokenizer)``, which is V and not 2V."""
    for call in calls_of("align_mlm/table3", "paper", Pretrain):
        views = call.step.sections["views"]
        assert set(views) == ({"text", "pair"} if call.name.startswith("xlm") else {"text"})
        assert all(view["random_pool"][0] == 0 for view in views.values())
        assert all(view["random_pool"][1].endswith(".copied_vocabulary>") for view in views.values())


def test_language_ids_are_given_by_sentence_and_the_last_checkpoint_is_kept() -> None:
    for scale in SCALES:
        for call in calls_of("align_mlm/table3", scale, Finetune):
            _, settings = call.step.check()
            assert settings.select == "last"
            has_ids = call.name.startswith(("xlm", "dict_mlm"))
            language = next(call for call in [call.step.task.data[-1]]).partition("{")[0]
            assert language and (settings.language_ids is not None) == has_ids
            if has_ids:
                assert set(settings.language_ids.values()) == {2, 3}


def steps_of(name: str, only: str, **changes: object) -> dict[str, Any]:
    """The steps of some cells at scale paper, all options checked."""
    (own,) = build_programs([STUDIES[name]], scale="paper", changes={"seeds": [1], **changes}, only=[only])
    return {call.name: call.step for call in inspect_programs([own], Store(Path("nowhere"))).calls}


def resolved(step: Pretrain, tmp_path: Path) -> Mapping[str, Any]:
    """A study's recipe with what it extends."""
    (tmp_path / "recipe.yaml").write_text(step.text(), encoding="utf-8")
    return read_document(tmp_path / "recipe.yaml", variables=False).values


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
    assert steps["xlm trans+inv s1 alignment"].options == {
        "include_special": True,
        "subset": {"share": 0.4, "seed": 42},
        "language_ids": [2, 3],
    }


def test_to_the_letter_sentences_end_at_the_period_and_all_tokens_are_scored() -> None:
    steps = steps_of("align_mlm/table8", "mlm*", variant="literal")
    inverted = steps["derived trans+inv"]
    assert inverted.options["end_marks"] == "." and "options" not in inverted.inputs["text"]
    assert inverted.inputs["pos.train"]["options"] == {"split": True}
    assert steps["mlm trans+inv s1 alignment"].options == {"include_special": True}
    usual = steps_of("align_mlm/table8", "mlm*")["derived trans+inv"]
    assert (usual.options["end_marks"], usual.inputs["pos.train"]["options"]) == (".!?", {"split": False})


def test_weam_to_the_letter_is_the_recipe_of_that_name(tmp_path: Path) -> None:
    (step,) = (
        s for n, s in steps_of("weam/table2", "*+WEAM*:de", variant="literal").items() if n == "weam de s1"
    )
    literal = read_document(builtin_recipes()["variants/weam_literal"], variables=False).values
    assert resolved(step, tmp_path)["objectives"] == literal["objectives"]
    usual = steps_of("weam/table2", "*+WEAM*:de")["weam de s1"]
    plain = read_document(builtin_recipes()["weam"], variables=False).values
    assert resolved(usual, tmp_path)["objectives"] == {
        **plain["objectives"],
        "masked_lm": {**plain["objectives"]["masked_lm"], "head": "model"},
    }
    with pytest.raises(
        ConfigurationError, match="WEAM's authors published no code; there is isoglot, literal"
    ):
        steps_of("weam/table2", "*+WEAM*:de", variant="authors")


def test_ppas_contrast_is_eq_3_or_mocos(tmp_path: Path) -> None:
    found = {}
    for variant in ("isoglot", "literal", "authors"):
        steps = steps_of("ppa/table5", "- TLM*:de", variant=variant)
        contrast = resolved(steps["ppa_no_tlm s1"], tmp_path)["objectives"]["contrast"]
        same = ("normalize_z", "bias", "positive_in_denominator", "mask_duplicates")
        found[variant] = tuple(contrast[name] for name in same)
    assert found == {
        "isoglot": (False, False, True, "none"),
        "literal": (False, False, False, "none"),
        "authors": (True, True, True, "none"),
    }


def test_xlm_aligns_labels_and_links_are_those_of_the_equations_or_of_the_code() -> None:
    labels, links, trained_for = {}, {}, {}
    for variant in ("isoglot", "literal", "authors"):
        steps = steps_of("xlm_align/table2", "*Optimal*", variant=variant)
        own = steps["xlm_align s1"].sections
        labels[variant] = tuple(own["objectives"]["word_alignment"][name] for name in ("order", "filtering"))
        trained_for[variant] = own["steps"]
        task = next(step.task for step in steps.values() if isinstance(step, Evaluate))
        links[variant] = task.options["aligner"]
    assert labels == {
        "isoglot": ("official", "itermax"),
        "literal": ("paper", "printed"),
        "authors": ("official", "itermax"),
    }
    assert trained_for == {"isoglot": 150_000, "literal": 150_000, "authors": 200_000}
    assert links == {
        "isoglot": {"links": "intersection", "order": "official", "epsilon": 1e-6},
        "literal": {"links": "printed", "order": "paper", "epsilon": 1e-6},
        "authors": {"links": "intersection", "order": "official", "epsilon": None},
    }
    union = steps_of("xlm_align/table6", "Disable*:*", variant="literal", ablation_seeds=[1])
    assert (
        union["xlm_align filtering=union 50000 steps s1"].sections["objectives"]["word_alignment"][
            "filtering"
        ]
        == "union"
    )


def test_variants_of_the_papers_code_take_batches_at_random() -> None:
    for name, only in (("weam/table2", "mBERT†*:de"), ("xlm_align/table19", "XLM-Align*:de")):
        for variant, bucket in (("isoglot", 50), ("literal", 1)):
            tuned = [s for s in steps_of(name, only, variant=variant).values() if isinstance(s, Finetune)]
            assert tuned and {step.check()[1].bucket for step in tuned} == {bucket}


def test_every_value_of_a_variant_is_documented() -> None:
    """One row a size: its name, what it is at scale paper, literal, authors, and the source."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "variants.md"
    parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    rows = {
        part.partition("\n")[0]: {
            (cells := [cell.strip() for cell in line.split("|")[1:-1]])[0].strip("`"): cells[1:4]
            for line in part.splitlines()
            if line.startswith("| `")
        }
        for part in parts
    }
    for paper, title in REPORT_NAMES.items():
        module = import_module(f"isoglot.studies.{paper}")
        named = [v for v in module.VARIANTS.values() if not isinstance(v, str)]
        assert set(rows[title]) == {size for sizes in named for size in sizes}, title
        for size, told in rows[title].items():
            usual = module.SIZES[size][2]
            for cell, variant in zip(told, (OWN, "literal", "authors"), strict=True):
                sizes = module.VARIANTS.get(variant, {})
                value = usual if isinstance(sizes, str) else sizes.get(size, (usual,) * 3)[2]
                expected = "" if isinstance(sizes, str) else f"`{str(value).lower()}`"
                assert cell == expected, (title, size, variant)


def test_weam_is_one_model_a_language_and_english_their_mean() -> None:
    assert len(trained("weam/table2", "mBERT+WEAM")) == 3
    places = {p.column[0]: encoders(p) for p in program("weam/table2").places if p.row[0] == "mBERT+WEAM"}
    assert places["en"] == places["es"] | places["de"] | places["zh"]
    assert [len(places[language]) for language in ("en", "es", "de", "zh")] == [3, 1, 1, 1]


def test_weam_and_its_baseline_differ_in_one_objective() -> None:
    for scale in SCALES:
        sections = {c.name: c.step.sections for c in calls_of("weam/table1", scale, Pretrain)}
        weam, tlm = sections["weam de s1"], sections["tlm de s1"]
        assert tlm == {**weam, "objectives": {**weam["objectives"], "word_exchange": None}}
        assert weam["views"]["pair"]["probability"] == 0.30


def test_ppas_code_switching_is_of_the_settings() -> None:
    table = paper_table("ppa:Table5")
    settings: dict[tuple[str, str], set[str]] = {}
    for place in program("ppa/table5").places:
        row = table.row(*place.row)
        for call, _ in place.value.reads():
            tuned = next(n for n in call.needs if isinstance(n.step, Finetune))
            if place.column[0] != "en":
                settings.setdefault((row.label, row.setting), set()).add(tuned.step.train["setting"])
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
            for call in calls_of("ppa/table5", scale, Pretrain)
            if call.name.startswith("ppa")
            for view in call.step.sections["views"].values()
            if "probability" in view
        } == {0.15}
    assert {call.step.check()[1].precision for call in calls_of("ppa/table2", "paper", Finetune)} == {"mixed"}


def test_a_tokenizer_that_needs_another_package_leaves_its_rows_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoglot.studies.lab.find_spec", lambda name: None)
    (own,) = build_programs([STUDIES["ppa/table2"]], scale="paper", changes={})
    lost = {p.row[0]: p.value.unavailable for p in own.places if "sacremoses" in p.value.unavailable}
    assert set(lost) == {"XLM (MLM)", "XLM (MLM + TLM)", "XLM (Conneau and Lample, 2019)"}
    assert lost["XLM (MLM)"] == "the tokenizer of xlm_mlm needs sacremoses; type `pip install sacremoses`"
    monkeypatch.setattr("isoglot.studies.lab.find_spec", lambda name: name)
    (own,) = build_programs([STUDIES["ppa/table2"]], scale="paper", changes={})
    assert {p.value.unavailable for p in own.places if "XLM" in p.row[0]} == {""}


def test_real_systems_share_encoder_pairs_and_steps_and_are_chosen_on_other_links() -> None:
    sections = {c.name: c.step.sections for c in calls_of("real/transfer", "paper", Pretrain)}
    of_links = {c.name for c in calls_of("real/word_alignment", "paper", Pretrain)}
    assert len(sections) == 13 and of_links < set(sections)
    for shared in ("model", "batch", "steps", "train"):
        assert len({json.dumps(own[shared]) for own in sections.values()}) == 1
    assert len({json.dumps(own["streams"]["bitext"]) for own in sections.values()}) == 1
    links = calls_of("real/word_alignment", "paper", BestLinks)
    assert len(links) == 9
    assert all(".dev." in path for call in links for path in call.step.dev.values())
    assert not any(".dev." in path for call in links for path in call.step.test.values())


def test_evaluations_of_a_model_are_one_call() -> None:
    languages = [call.step.languages for call in calls_of("xlm_align/table13", "paper", Evaluate)]
    assert [len(spoken) for spoken in languages] == [33]
