"""WEAM's studies: one model a language pair, and a baseline that differs in one objective."""

from __future__ import annotations

import pytest
from shipped_studies import encoders, program, resolved, steps_of, trained, works_of

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.source import builtin_recipes, read_document
from isoglot.studies.sizes import SCALES
from isoglot.studies.training_steps import Pretrain


def test_weam_is_one_model_a_language_and_english_their_mean() -> None:
    assert len(trained("weam/table2", "mBERT+WEAM")) == 3
    own = program("weam/table2")
    places = {cell.column[0]: encoders(cell) for cell in own.parts if cell.row[0] == "mBERT+WEAM"}
    assert places["en"] == places["es"] | places["de"] | places["zh"]
    assert [len(places[language]) for language in ("en", "es", "de", "zh")] == [3, 1, 1, 1]


def test_weam_and_its_baseline_differ_in_one_objective() -> None:
    for scale in SCALES:
        sections = {c.name: c.step.sections for c in works_of("weam/table1", scale, Pretrain)}
        weam, tlm = sections["weam de s1"], sections["tlm de s1"]
        assert tlm == {**weam, "objectives": {**weam["objectives"], "word_exchange": None}}
        assert weam["views"]["pair"]["probability"] == 0.30


def test_weam_to_the_letter_is_the_recipe_of_that_name() -> None:
    (step,) = (
        s for n, s in steps_of("weam/table2", "*+WEAM*:de", variant="literal").items() if n == "weam de s1"
    )
    literal = read_document(builtin_recipes()["variants/weam_literal"], variables=False).values
    assert resolved(step)["objectives"] == literal["objectives"]
    usual = steps_of("weam/table2", "*+WEAM*:de")["weam de s1"]
    plain = read_document(builtin_recipes()["weam"], variables=False).values
    assert resolved(usual)["objectives"] == {
        **plain["objectives"],
        "masked_lm": {**plain["objectives"]["masked_lm"], "head": "model"},
    }
    with pytest.raises(
        ConfigurationError, match="WEAM's authors published no code; there is isoglot, literal"
    ):
        steps_of("weam/table2", "*+WEAM*:de", variant="authors")
