"""Every loss, objective and view says its equation, its source and a line that runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pages import ROOT
from recipe_world import build_world, smaller

from isoglot.losses import Loss, VocabularyLoss
from isoglot.objectives import OBJECTIVES, Objective
from isoglot.pretraining.build import build_model, build_trainer
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.pretrain import training_arguments
from isoglot.pretraining.streams import encoded, prepared, tokenizer_of_run
from isoglot.recipe.document import parse_value
from isoglot.runs.cache import cache_folder
from isoglot.runs.reporter import Silent
from isoglot.views import VIEWS

sys.path.insert(0, str(ROOT / "docs"))  # where the pages are made
from part_tables import Part, example_statements, listed_losses, losses_of, made_of

LOSSES = listed_losses()
MADE = [(section, part) for section in ("objectives", "views") for part in made_of(section)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in build_world(folder).items():
            patch.setenv(name, value)
        yield folder


def test_all_of_them_have_a_row() -> None:
    assert {part.name for section, part in MADE} == {*OBJECTIVES, *VIEWS}
    shown = {part.kind for part in LOSSES}
    of_objectives = {base for kind in OBJECTIVES.values() for base in kind.__mro__ if issubclass(base, Loss)}
    assert {kind for kind in of_objectives - {Loss} if not issubclass(kind, Objective)} == shown


@pytest.mark.parametrize("part", [*LOSSES, *(part for _, part in MADE)], ids=lambda part: part.name)
def test_a_row_has_a_sentence_an_equation_a_source_and_a_line(part: Part) -> None:
    assert part.summary.endswith(".") and ". " not in part.summary, "one sentence"
    assert part.equation.startswith("`") and part.equation.count("`") % 2 == 0
    assert any(sign in part.equation for sign in "=→"), "an equation"
    assert any(character.isdigit() for character in part.source), "a year"
    assert part.line


@pytest.mark.parametrize("part", LOSSES, ids=lambda part: part.name)
def test_the_line_of_a_loss_runs(part: Part) -> None:
    """After its example, which makes the tensors that the line names."""
    torch.manual_seed(1)
    names: dict[str, Any] = dict(vars(sys.modules[part.kind.__module__]))
    example = next(example_statements(part.kind))  # the whole of it, before its statements
    exec(compile(example, part.name, "exec"), names)  # type: ignore[call-overload]
    exec(part.line, names)
    assert torch.isfinite(names["loss"]) and names["loss"].requires_grad


@pytest.mark.fast_variants(8)
@pytest.mark.parametrize(("section", "part"), MADE, ids=lambda value: getattr(value, "name", value))
def test_the_line_of_a_recipe_trains(section: str, part: Part, world: Path) -> None:
    """In place of the entry of its recipe: what the line leaves out stands at its default."""
    ((key, entry),) = parse_value(part.line).items()
    small = smaller(part.recipe, world)
    of_entry = [
        change for change in small if change.startswith(f"{section}.{key}.")
    ]  # a teacher that is there
    others = [change for change in small if change not in of_entry]
    line = [f"{section}.{key}=null", f"{section}.{key}={entry}"]
    recipe = load_recipe(part.recipe, [*others, *line, *of_entry])
    corpora = prepared(recipe, cache_folder(), Silent())
    tokenizer = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
    built = build_model(recipe, tokenizer, corpora)
    streams = encoded(recipe, corpora, tokenizer, cache_folder(), Silent())
    trainer = build_trainer(recipe, built, streams, tokenizer, training_arguments(recipe, world / "unused"))
    outputs = built.model.train()(next(iter(trainer.get_train_dataloader())))
    assert torch.isfinite(outputs["loss"]) and outputs["loss"].requires_grad
    if section == "objectives":
        assert type(built.model.objectives[key]) is part.kind


def test_the_objective_of_a_loss_has_its_equation_without_repeating_it() -> None:
    rows = {part.name: part for _, part in MADE}
    (loss,) = (part for part in LOSSES if part.kind is VocabularyLoss)
    assert rows["masked_lm"].equation == loss.equation != ""
    assert "Equation:" not in (OBJECTIVES["masked_lm"].__doc__ or "")


def test_a_class_of_a_user_needs_none_of_it() -> None:
    class Bare(Loss):
        def measure(self, *tensors: Any, **named: Any) -> Any: ...

    class Inherits(VocabularyLoss):
        """Mine: :class:`~isoglot.losses.VocabularyLoss`, harder.

        Example:
            >>> values = [1, 2]
        """

    bare, inherits = losses_of({"Bare": Bare, "Inherits": Inherits, "other": 3, "Loss": Loss})
    assert [bare.equation, bare.source, bare.line, inherits.line] == [""] * 4
    assert inherits.summary == "Mine: isoglot.losses.VocabularyLoss, harder."
    assert inherits.equation.startswith("`L = ") and inherits.source.startswith("Devlin")
