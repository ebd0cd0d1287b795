"""A callable's signature as the model of its options."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from datasets import Dataset
from pydantic import Field

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Share
from isoglot.objectives import OBJECTIVES
from isoglot.recipe.spec import require_options, spec_of
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer
from isoglot.views import VIEWS


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Base:
    """Something with a share.

    Args:
        share: a part of it.
    """

    share: float = field(default=0.5, kw_only=True)


@dataclass
class Thing(Base):
    """A thing. And more.

    Args:
        needed: a number, see :class:`Base`.
    """

    tokenizer: InitVar[object]
    needed: int = field(kw_only=True)
    mode: Literal["a", "b"] = field(default="a", kw_only=True)
    lexicon: Dataset | None = field(default=None, kw_only=True)
    max_length: Annotated[int, Field(ge=3)] | None = field(default=None, kw_only=True)

    def check_options(self) -> None:
        if self.mode == "b" and self.lexicon is not None:
            raise ConfigurationError("b takes no lexicon")


def plain(
    model: object, *, layers: tuple[int, ...] = (1,), seed: int = 0, tokenizer: object = None, **rest: object
) -> Any:
    """A function with open options."""
    return (model, layers, seed, tokenizer, rest)


def problems(maker: Any, **options: object) -> list[str]:
    try:
        spec_of(maker).of(options)
    except ConfigurationError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_options_are_the_parameters_that_isoglot_does_not_give() -> None:
    spec = spec_of(Thing)
    assert list(spec.model_fields) == ["share", "needed", "mode", "lexicon", "max_length"]
    assert list(spec_of(plain).model_fields) == ["layers", "seed"]
    assert "tokenizer" in spec_of(plain, "model").model_fields, "what is left out can be said"
    assert (spec.corpus_options, spec_of(plain).corpus_options) == ({"lexicon"}, set())
    assert spec.model_fields["share"].description == "a part of it."
    assert spec.model_fields["needed"].description == "a number, see Base."
    assert spec.__doc__ == "A thing. And more."


def test_unknown_wrong_and_missing_options() -> None:
    assert problems(Thing, needed=1) == []
    assert problems(Thing, needed=1, share=1, lexicon="words") == []
    assert problems(Thing) == ["needed: missing"]
    assert problems(Thing, needed=1, mod="a") == ["mod: unknown key; did you mean 'mode'?"]
    assert problems(Thing, needed=1, mode="c") == ["mode: got 'c'; known: a, b"]
    assert problems(Thing, needed=1, mode="b", lexicon="words") == ["b takes no lexicon"]
    assert problems(Thing, needed="1", max_length=2) == [
        "needed: got '1'; it should be a valid integer",
        "max_length: got 2; it should be greater than or equal to 3",
    ]
    assert problems(plain, anything=3, layers=[1, 2]) == []
    assert problems(plain, layers=["one"]) == ["layers.0: got 'one'; it should be a valid integer"]


@pytest.mark.parametrize(
    ("hint", "value", "fits"),
    [
        (float, 1, True),
        (float, float("nan"), False),
        (int, 1.5, False),
        (int, "1", False),
        (int | None, None, True),
        (bool, "no", False),
        (bool, 1, False),
        (tuple[int, ...], [1, 2], True),
        (tuple[int, ...] | None, [1, "b"], False),
        (list[tuple[int, int]], [[1, 2]], True),
        (list[tuple[int, int]], [[1, 2, 3]], False),
        (Literal["all"] | tuple[int, int], [1, 2], True),
        (Literal["all"] | tuple[int, int], "none", False),
        (Colour | str, "red", True),
        (Colour | str, "green", False),
        (object, "anything", True),
        (type("Opaque", (), {}), "a class of ours cannot be checked", True),
    ],
)
def test_values_are_strict_but_for_lists_and_names(hint: object, value: object, fits: bool) -> None:
    def make(model: object, *, option: Any = None) -> None: ...

    make.__annotations__["option"] = hint
    assert (problems(make, option=value) == []) is fits


def test_spec_tells_what_isoglot_fills_in_from_what_a_recipe_gives() -> None:
    words = Dataset.from_dict({"source": ["a"]})

    def made(options: dict[str, object], **supplied: object) -> Thing:
        found: Thing = spec_of(Thing).of(options).make("thing", "t", corpora={"words": words}, **supplied)
        return found

    one = made({"needed": 1, "lexicon": "words"}, max_length=9, seed=3)
    assert (one.lexicon, one.max_length) == (words, 9)
    assert made({"needed": 1, "max_length": 4}, max_length=9).max_length == 4
    spec = spec_of(plain)
    assert spec.of({"layers": [1], "x": 2}).make("plain", "m", tokenizer="t", seed=5) == (
        "m", (1,), 5, "t", {"x": 2},
    )  # fmt: skip
    assert spec.of({"seed": 7}).make("plain", "m", tokenizer="t", seed=5)[2] == 7
    with pytest.raises(ConfigurationError, match=r"own:dumps does not take these options \(TypeError"):
        spec_of(problems).of({}).make("own:dumps", 1, 2)


def test_options_in_python_are_refused_as_a_recipes_are() -> None:
    def make(
        *, pooling: Literal["mean", "first"] = "mean", side: Literal["a"] | None = None, weight: Share = 0.5
    ) -> None:
        require_options(make, pooling=pooling, side=side, weight=weight)

    make()
    make(pooling="first", side="a")
    with pytest.raises(ConfigurationError) as error:
        make(pooling="frist", side="b", weight=float("nan"))
    assert [str(problem) for problem in error.value.problems] == [
        "pooling: got 'frist'; did you mean 'first'?",
        "side: got 'b'; known: a",
        "weight: got nan; it should be a finite number",
    ]
    require_options(Thing("tokenizer", needed=3))

    def scaled(weight: float) -> float:  # all parameters are given, the first one too
        return weight

    require_options(scaled, weight=0.5)
    with pytest.raises(ConfigurationError, match="weight: got 'heavy'"):
        require_options(scaled, weight="heavy")
    with pytest.raises(ConfigurationError, match="mode: got 'c'"):
        require_options(Thing("tokenizer", needed=3, mode="c"))
    with pytest.raises(ConfigurationError, match="b takes no lexicon"):
        require_options(Thing("tokenizer", needed=3, mode="b", lexicon=Dataset.from_dict({})))


@pytest.mark.parametrize("maker", [*VIEWS.values(), *OBJECTIVES.values()])
def test_options_are_attributes(maker: Any, encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a constructor settles from a default of `None` can be shown; the contract of views and objectives."""
    tokenizer = tiny_tokenizer()
    is_view = maker in VIEWS.values()
    first = tokenizer if is_view else tiny_model("bert", tokenizer=tokenizer)
    monkeypatch.setenv("ISOGLOT_CACHE", str(encoder.parent / "cache"))
    spec, supplied = spec_of(maker), {} if is_view else {"tokenizer": tokenizer}
    asked = {"copied_vocabulary": 40, "teacher": str(encoder), "bitext": "pairs"}
    given = {name: value for name, value in asked.items() if name in spec.model_fields}
    corpora = {"pairs": tiny_bitext(2)}
    made = spec.of(given).make("it", first, corpora=corpora, **supplied, max_length=32)
    assert [option for option in spec.model_fields if not hasattr(made, option)] == []
    assert all(field.description for field in spec.model_fields.values()), "each has a meaning"
