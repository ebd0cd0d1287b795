"""A callable's signature as the schema of its section."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import Literal

import pytest
from datasets import Dataset

from isoglot.errors import ConfigurationError
from isoglot.options import Share
from isoglot.recipe.signatures import (
    dataset_options,
    hints_of,
    mismatch,
    require_options,
)


@dataclass
class Base:
    share: float = field(default=0.5, kw_only=True)


@dataclass
class Thing(Base):
    tokenizer: InitVar[object]
    needed: int = field(kw_only=True)
    mode: Literal["a", "b"] = field(default="a", kw_only=True)
    lexicon: InitVar[Dataset | None] = field(default=None, kw_only=True)


def plain(model: object, *, layers: tuple[int, ...] = (1,), **rest: object) -> None:
    """A function with open options."""


def test_inherited_types_and_corpora_are_found() -> None:
    assert hints_of(Thing)["share"] is float
    assert dataset_options(Thing) == {"lexicon"}
    assert dataset_options(plain) == set()


@pytest.mark.parametrize(
    ("hint", "value", "fits"),
    [
        (float, 1, True),
        (int, 1.5, False),
        (int, "1", False),
        (int | None, None, True),
        (bool, "no", False),
        (bool, 1, False),
        (tuple[int, ...], [1, 2], True),
        (tuple[int, ...] | None, [1, "b"], False),
        (object, "anything", True),
        (Thing, "a class of ours cannot be checked", True),
    ],
)
def test_mismatch(hint: object, value: object, fits: bool) -> None:
    if hint is Thing:
        hint = type("Opaque", (), {})
    assert (mismatch(hint, value) is None) is fits


def test_values_that_do_not_fit_their_parameters_are_refused() -> None:
    def make(
        *, pooling: Literal["mean", "first"] = "mean", side: Literal["a"] | None = None, weight: Share = 0.5
    ) -> None:
        require_options(make, pooling=pooling, side=side, weight=weight)

    make()
    make(pooling="first", side="a")
    with pytest.raises(ConfigurationError) as error:
        make(pooling="frist", side="b", weight=float("nan"))  # type: ignore[arg-type]
    assert [str(problem) for problem in error.value.problems] == [
        "pooling: 'frist' given; did you mean 'first'?",
        "side: 'b' given; known: a",
        "weight: nan given; input should be less than or equal to 1",
    ]
